"""The launchers under ``<home>/bin`` that every settings file and every starter names, and the words that name them.

- ``bin/hook EVENT HARNESS``: what a client runs. It maps EVENT to one of the five hook scripts, starts the bare interpreter
  on ``bin/hook.pyc`` (program.py), or on the script where that is missing or stale, and **always exits 0** with nothing on
  stderr. It waits for the interpreter instead of becoming it: Python exits 2 for a script that is gone and 1 for one that
  crashes, and in some clients either would erase a prompt or deny a tool.
- ``bin/mcp``: what a client starts to speak to memd's MCP server. It becomes the carrier (memd_client.mcp), so that the client is
  the carrier's own parent: by that memd knows whose calls come through it.
- ``bin/memd-daemon``: what starts the daemon; its text is memd_client.spawn's, which can write it without an install.

Settings hold only the paths of ``bin/hook`` and ``bin/mcp``, so what stands in them never changes (a client that trusts a hash
of the command line need not be asked again), and what a launcher does may change with every version. The home is written into
each: into the default home's launchers as a default that ``MEMD_HOME`` overrides, into any other home's as a fact.

``word`` quotes for ``$SHELL -c``, whose shell may be sh, dash, bash, zsh, fish or csh. They agree on three things only: inside
single quotes nothing is special but the quote itself (fish: also a backslash; csh: also ``!``), outside them a backslash
protects any one character, and adjacent pieces are one word. So ``'``, ``\\`` and ``!`` stand outside behind a backslash, all
else inside.
"""

import compileall
import os
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

import memd_client
from memd_client import spawn
from memd_hooks.events import Moment
from memd_hooks.files import missing_folders, replace_file
from memd_hooks.program import PROGRAM, STALE, refresh

HOOK = "bin/hook"
MCP = "bin/mcp"

SCRIPTS: Mapping[Moment, str] = {
    Moment.SESSION_START: "session_start",
    Moment.SUBAGENT_START: "session_start",
    Moment.PROMPT_SUBMIT: "prompt_submit",
    Moment.STOP: "prompt_submit",
    Moment.SESSION_END: "prompt_submit",
    Moment.READ: "pre_edit",
    Moment.TOOL_RESULT: "pre_edit",
    Moment.PRE_EDIT: "pre_edit",
    Moment.POST_COMPACTION: "post_compaction",
    Moment.GIT_COMMIT: "git_commit",
}

# What a hook and a carrier import; compiled ahead, or each start would parse it again where the folder is not writable later.
_CLIENT_MODULES = ("__init__", "wire", "zmtp", "address", "link", "spawn", "carried", "mcp")
_HOOK_MODULES = ("__init__", "carry", *sorted(set(SCRIPTS.values())))
_MODE = 0o755
_PRIVATE = 0o700
_HARNESS = re.compile("[a-z]+")
_PYTHON_LINE = re.compile(r"\bpython=(.+)$", re.MULTILINE)
_OUTSIDE = re.compile(r"(['\\!])")


class UnspeakableHome(ValueError):
    """The home cannot be named in a command line: it is not UTF-8, or holds a line break or another control character."""


def word(text: str) -> str:
    """``text`` as one word for every common shell; raises UnspeakableHome for what none of them can be told safely."""
    if not text.isprintable() and any(ord(c) < 32 or ord(c) == 127 or 0xD800 <= ord(c) < 0xE000 for c in text):
        raise UnspeakableHome(text)
    pieces = (f"\\{piece}" if _OUTSIDE.fullmatch(piece) else f"'{piece}'" for piece in _OUTSIDE.split(text) if piece)
    return "".join(pieces) or "''"


def hook_command(home: Path, event: str, harness: str) -> str:
    """The very line that stands in a client's settings: silent, exit status 0, whether or not the launcher is there.

    Raises UnspeakableHome; ValueError for an event or a harness that is none.
    """
    if not _HARNESS.fullmatch(harness):
        raise ValueError(f"not a harness: {harness!r}")
    launcher = word(str(home / HOOK))
    if event not in SCRIPTS:
        raise ValueError(f"not an event: {event!r}")
    return f"[ ! -x {launcher} ] || {launcher} {Moment(event)} {harness}"


def default_home(environ: Mapping[str, str]) -> Path:
    """``~/.local/share/memd`` of this user, whatever XDG says."""
    return Path(environ.get("HOME") or Path.home()) / ".local/share/memd"


def ensure_launchers(home: Path, environ: Mapping[str, str] | None = None) -> bool:
    """Writes the launchers and the program, and compiles the hooks' path; True when one was new or other than it should be.

    Raises OSError when the home cannot be written, UnspeakableHome when no shell could name it.
    """
    is_default = home == default_home(os.environ if environ is None else environ)
    texts = {
        HOOK: hook_text(home, is_default, *interpreters(), Path(__file__).parent),
        MCP: mcp_text(home, is_default, *interpreters(), Path(memd_client.__file__).parent),
    }
    _compile()
    for folder in missing_folders(home / HOOK):
        folder.mkdir(mode=_PRIVATE)
    raw_home = os.fsencode(home)
    daemon = Path(os.fsdecode(spawn.launcher_path(raw_home)))
    before = _content(daemon)
    spawn.write_launcher(raw_home)
    changed = refresh(home) or _content(daemon) != before
    for name, text in texts.items():
        if _content(home / name) != text.encode() or not os.access(home / name, os.X_OK):
            replace_file(home / name, text.encode(), mode=_MODE)
            changed = True
    return changed


def interpreters() -> tuple[str, str]:
    """(the one the hooks start, the one to fall back to).

    A virtual environment's python looks for its settings file at each start; the base it points to does not, and being the
    very same binary it takes the same compiled modules. The base's name is not resolved further, so that a package manager
    that moves its folders under a stable link does not silence the hooks.
    """
    base = getattr(sys, "_base_executable", None) or sys.executable
    same = (
        os.path.isabs(base) and os.access(base, os.X_OK) and os.path.realpath(base) == os.path.realpath(sys.executable)
    )
    return (base if same else sys.executable), sys.executable


def named_interpreters(text: str) -> tuple[str, ...]:
    """The interpreters that a launcher's text names, in the order they are tried in."""
    return tuple(piece for line in _PYTHON_LINE.findall(text) for piece in shlex.split(line)[:1])


def hook_text(home: Path, is_default: bool, python: str, fallback: str, scripts: Path) -> str:
    """The text of ``bin/hook``; ``scripts`` is the folder of the five hook scripts."""
    cases = "\n".join(f"    {'|'.join(events)}) script={script} ;;" for script, events in _by_script().items())
    return f"""#!/bin/sh
# memd's hook launcher, written by memd: {HOOK} EVENT HARNESS. Whatever happens it is silent and exits 0.
exec 2>/dev/null
case $1 in
{cases}
    *) exit 0 ;;
esac
script={word(str(scripts))}/$script.py
python={word(python)}
[ -x "$python" ] || python={word(fallback)}
[ -x "$python" ] && [ -f "$script" ] || exit 0
{_home_line(home, is_default)}
program={word(str(home / PROGRAM))}
if [ -f "$program" ]; then
    "$python" -I -S "$program" "$1" "$2"
    [ $? -eq {STALE} ] || exit 0
fi
"$python" -I -S "$script" "$1" "$2"
exit 0
"""


def mcp_text(home: Path, is_default: bool, python: str, fallback: str, package: Path) -> str:
    """The text of ``bin/mcp``; ``package`` is the folder of memd_client. Where nothing can be started it ends at once."""
    carry = "import sys; sys.path.insert(0, sys.argv.pop(1)); from memd_client.{} import main; sys.exit(main())"
    return f"""#!/bin/sh
# memd's MCP launcher, written by memd: what it starts carries the client's messages to the daemon and back.
package={word(str(package))}
python={word(python)}
[ -x "$python" ] || python={word(fallback)}
[ -x "$python" ] && [ -f "$package/mcp.py" ] || exit 0
{_home_line(home, is_default)}
case $MEMD_OFF in
    ''|0) exec "$python" -I -S -c {word(carry.format("mcp"))} "${{package%/*}}" ;;
    *) exec "$python" -I -S -c {word(carry.format("mcp_off"))} "${{package%/*}}" ;;
esac
"""


def _home_line(home: Path, is_default: bool) -> str:
    where = word(str(home))
    if is_default:
        return f'[ -n "$MEMD_HOME" ] || MEMD_HOME={where}\nexport MEMD_HOME'
    return f"MEMD_HOME={where}\nexport MEMD_HOME"


def _by_script() -> dict[str, list[str]]:
    by_script: dict[str, list[str]] = {}
    for moment, script in SCRIPTS.items():
        by_script.setdefault(script, []).append(moment.value)
    return by_script


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:  # absent or unreadable: to be written anew
        return None


def _compile() -> None:
    """Byte code for what a hook imports; where the folder is not writable there is none, and that is no fault."""
    client = Path(memd_client.__file__).parent
    hooks = Path(__file__).parent
    files = [client / f"{name}.py" for name in _CLIENT_MODULES] + [hooks / f"{name}.py" for name in _HOOK_MODULES]
    for file in files:
        if file.is_file():
            compileall.compile_file(file, quiet=2)
