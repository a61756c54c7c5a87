# Sourced by scripts/memd and scripts/test, which set $root. Gives `ready run` and `ready dev`: .venv is there and up to
# date, or the script ends with the reason. When nothing is to do it starts one process (cmp) and no Python; everything
# else is scripts/_setup.py, which writes the two files read here.

# True when .venv was completed for this very folder (a venv cannot be moved), with at least the level asked for, from
# the pyproject.toml that lies here now, and its interpreter still exists (it links to one that has its version in its
# name, so an upgraded Python leaves a dangling link).
is_ready() {
    [ -x "$root/.venv/bin/python" ] && [ -r "$root/.venv/memd-ready" ] || return 1
    { IFS= read -r level && IFS= read -r where; } <"$root/.venv/memd-ready" || return 1
    [ "$where" = "$root" ] || return 1
    [ "$level" = dev ] || [ "$level" = "$1" ] || return 1
    cmp -s "$root/pyproject.toml" "$root/.venv/memd-pyproject.toml"
}

# True when $1 starts and is new enough to run _setup.py and memd.
new_enough() {
    "$1" -E -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

# Sets $python to an interpreter that will do: python3 first, then the names that systems with an older python3 use for a
# newer one, then one that uv keeps.
find_python() {
    for python in python3 python3.14 python3.13 python3.12 python3.11; do
        if new_enough "$python"; then return 0; fi
    done
    python=$(uv python find '>=3.11' 2>/dev/null) || return 1
    new_enough "$python"
}

ready() {
    if is_ready "$1"; then return 0; fi
    if ! find_python; then
        seen=$(python3 --version 2>&1) || seen="no python3 that starts"
        printf '%s\n' "memd: Python 3.11 or newer is needed, and here is ${seen:-no python3}." \
            "memd: install one from your system's packages (often called python3.11 or python3.12) and run this again;" \
            "memd: python3 itself may stay as it is." >&2
        exit 1
    fi
    "$python" -E "$root/scripts/_setup.py" "$root" "$1" || exit $?
}
