"""Makes .venv in the checkout, or brings it up to date. Called by scripts/_env.sh: _setup.py ROOT run|dev

In .venv it keeps three files of its own:

    memd-building         there while packages are being put in. Found at the start of a later run it means that one was
                          cut off, and then the whole .venv is made anew: half a package can look like a whole one
    memd-pyproject.toml   the pyproject.toml that was installed from
    memd-ready            two lines, the level (run or dev) and ROOT. Written last, by a rename; _env.sh believes only it

One set-up at a time: an flock on ROOT itself, so there is no lock file to go stale. The installers inherit it: were
this process killed, the lock lasts until its orphans end too.

Everything is said on stderr, for stdout belongs to the command that is about to run. Exit 0 ready, 1 not possible (the
last lines say why and what to do), 130 interrupted.
"""

import fcntl
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LEVELS = ("run", "dev")  # each holds all of the one before
PIP_WITH_PYTHON_OPTION = (22, 3)  # the first pip that can install into another interpreter
# What would send pip or the new interpreter elsewhere than into .venv.
MISLEADING = ("PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "VIRTUAL_ENV")


class SetupError(Exception):
    """The set-up cannot go on; the text says why and what to do."""


class Checkout:
    """One checkout and its .venv."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.venv = root / ".venv"
        self.python = self.venv / "bin" / "python"
        self.building = self.venv / "memd-building"
        self.pyproject_copy = self.venv / "memd-pyproject.toml"
        self.stamp = self.venv / "memd-ready"
        self.pyproject = (root / "pyproject.toml").read_bytes()

    def stamped(self) -> tuple[str, str]:
        """The level and the root of the last complete set-up, both empty when there was none."""
        try:
            level, root = self.stamp.read_text().splitlines()
        except (OSError, ValueError):
            return "", ""
        return level, root

    def is_ready(self, level: str) -> bool:
        """The same question as is_ready in _env.sh, asked again once the lock is held."""
        have, root = self.stamped()
        same = self.pyproject_copy.exists() and self.pyproject_copy.read_bytes() == self.pyproject
        return (
            same
            and root == str(self.root)
            and have in LEVELS[LEVELS.index(level) :]
            and os.access(self.python, os.X_OK)
        )

    def is_usable(self) -> bool:
        """Whether .venv can be brought up to date where it lies, be it made by this script or by hand."""
        if self.building.exists() or self.stamped()[1] not in ("", str(self.root)):
            return False
        ask = "import sys; print(sys.version_info >= (3, 11) and sys.prefix)"
        try:
            answer = subprocess.run(
                [self.python, "-c", ask], capture_output=True, text=True, env=environment(), check=True
            )
        except (OSError, subprocess.CalledProcessError):
            return False
        return answer.stdout.strip() == str(self.venv)

    def remove_venv(self) -> None:
        """Take .venv away, whatever it is: a folder, a link to one, the rest of one."""
        if self.venv.is_symlink() or self.venv.is_file():
            self.venv.unlink()
        elif self.venv.exists():
            shutil.rmtree(self.venv)

    def requirements(self, level: str) -> list[str]:
        """What pip is to install beside the checkout itself: the dev group as a list, which any pip understands."""
        return list(tomllib.loads(self.pyproject.decode())["dependency-groups"]["dev"]) if level == "dev" else []

    def finish(self, level: str) -> None:
        """Declare .venv complete."""
        self.pyproject_copy.write_bytes(self.pyproject)
        fresh = self.stamp.with_suffix(".new")
        fresh.write_text(f"{level}\n{self.root}\n")
        self.building.unlink()
        fresh.replace(self.stamp)


def say(text: str) -> None:
    print(f"memd: {text}", file=sys.stderr, flush=True)


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in MISLEADING}


def run(command: list[str | Path], lock: int) -> None:
    """Run one installer with its stdout on our stderr, so that its progress shows on a terminal and stdout stays clean.

    Raises CalledProcessError when it fails, after it said why itself.
    """
    subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=sys.stderr, env=environment(), pass_fds=(lock,), check=True
    )


def has_venv_pip(checkout: Checkout) -> bool:
    return any(checkout.venv.glob("lib/python3*/site-packages/pip/__main__.py"))


def outer_pip_will_do() -> bool:
    """Whether the pip beside the interpreter that runs this can install into .venv."""
    try:
        version = importlib.metadata.version("pip")
    except importlib.metadata.PackageNotFoundError:
        return False
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2]) >= PIP_WITH_PYTHON_OPTION


def base_python() -> str:
    """The interpreter outside any venv, by its real name (python3.11, say): its absence is seen when it goes away."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def make_venv(checkout: Checkout, uv: str | None, lock: int) -> None:
    """Make an empty .venv, in a folder that is marked as unfinished before anything else is in it."""
    checkout.remove_venv()
    checkout.venv.mkdir()
    checkout.building.touch()
    python = base_python()
    if uv:
        run([uv, "venv", "--quiet", "--allow-existing", "--python", python, checkout.venv], lock)
    elif importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip"):
        run([python, "-m", "venv", checkout.venv], lock)
    elif importlib.util.find_spec("venv") and outer_pip_will_do():
        run([python, "-m", "venv", "--without-pip", checkout.venv], lock)
    else:
        major, minor = sys.version_info[:2]
        raise SetupError(
            f"this Python ({python}) comes without its venv module. Install your system's package for it"
            f" (on Debian and Ubuntu: apt install python{major}.{minor}-venv), or uv, and run this again."
        )


def installer(checkout: Checkout, uv: str | None) -> list[str | Path]:
    """The command that installs packages into .venv, without the packages."""
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    if uv:
        return [uv, "pip", "install", *quiet, "--python", checkout.python]
    options = [*quiet, "--no-input", "--disable-pip-version-check"]
    if has_venv_pip(checkout):
        return [checkout.python, "-m", "pip", "install", *options]
    return [sys.executable, "-m", "pip", "--python", checkout.python, "install", *options]


def set_up(checkout: Checkout, level: str, uv: str | None, lock: int) -> None:
    """Bring .venv to `level` with uv or, when that is None, with venv and pip.

    Raises SetupError, or CalledProcessError of the installer that failed.
    """
    tool = "uv" if uv else "pip"
    if checkout.is_usable() and (uv or has_venv_pip(checkout) or outer_pip_will_do()):
        say("bringing .venv up to date")
        checkout.building.touch()
        checkout.stamp.unlink(missing_ok=True)
    else:
        say(f"making .venv with Python {sys.version.split()[0]}")
        make_venv(checkout, uv, lock)
    what = (
        "memd, the packages it needs and the tools for its tests"
        if level == "dev"
        else "memd and the packages it needs"
    )
    say(f"installing {what} with {tool} (the first time this takes a minute or two)")
    run([*installer(checkout, uv), "--editable", checkout.root, *checkout.requirements(level)], lock)
    run([checkout.python, "-c", "import memd_client, memd_hooks, memd_daemon"], lock)
    checkout.finish(level)


def set_up_somehow(checkout: Checkout, level: str, lock: int) -> None:
    """Try uv where there is one, then pip: a uv that does not know this machine's package index is no reason to stop.

    Raises SetupError when neither could do it.
    """
    uv = shutil.which("uv")
    for tool in [uv, None] if uv else [None]:
        try:
            set_up(checkout, level, tool, lock)
        except subprocess.CalledProcessError:
            if tool:
                say("uv could not do it (its own message is above); trying pip")
        else:
            return
    raise SetupError(
        "the packages could not be installed (the reason is above). What was half made is not used;"
        " run this again when it is mended, it starts over."
    )


@contextmanager
def one_at_a_time(checkout: Checkout) -> Iterator[int]:
    """Hold the lock on the checkout and give its descriptor. A file system without locks is worked on without one."""
    lock = os.open(checkout.root, os.O_RDONLY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another set-up of this checkout is at work, waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError as error:
            say(f"this file system gives no lock ({error.strerror}); going on without")
        yield lock
    finally:
        os.close(lock)


def main(root: str, level: str) -> int:
    began = time.monotonic()
    try:
        checkout = Checkout(Path(root))
        with one_at_a_time(checkout) as lock:
            if not checkout.is_ready(level):
                # A checkout that was set up for its tests stays so when only memd is called.
                set_up_somehow(checkout, "dev" if checkout.stamped()[0] == "dev" else level, lock)
                say(f"ready after {time.monotonic() - began:.0f} s")
    except SetupError as refused:
        say(str(refused))
        return 1
    except OSError as error:
        say(f"{error.filename or root}: {error.strerror}. The checkout must be writable and its disk have room.")
        return 1
    except KeyboardInterrupt:
        say("interrupted; the next run starts the set-up over")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
