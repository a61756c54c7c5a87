"""What the sections of a report look at, and the one way in which each of them may fail."""

import os
import pwd
import re
import socket
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from memd_client import address, wire
from memd_client.cli import status
from memd_client.cli.bundle_clean import Clean, folders_named, vocabulary
from memd_client.memd import MemdError
from memd_hooks.registry import RegistryDamaged

Section = Mapping[str, Any]
"""Numbers, words and times under names of memd's own; maps and lists of these."""

# What a home, a client's settings or a daemon of another version can do to whoever looks at it. A fault of memd's own is a report's
# subject too, so the wrong shapes count: every other section has to come all the same.
TROUBLE = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RuntimeError,
    MemdError,
    RegistryDamaged,
    msgspec.MsgspecError,
    subprocess.SubprocessError,
)
PRIVATE_MIN_CHARS = 3  # shorter names are part of too many words; no section tells a name anyway
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]*")
_SESSIONS = tuple(name.decode() for name in wire.ENVIRONMENT_NAMES if b"SESSION" in name or b"THREAD" in name)


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """A home, what is known of it, and how to speak of it.

    ``home`` is None where no variable names one. ``status`` is that of `memd status`, or None with ``trouble`` saying why.
    ``owner`` of the home: `you`, `root`, `another user`, `nobody`: there is none, or `unknown`: it cannot be looked at.
    """

    home: Path | None
    owner: str
    cwd: Path
    environ: Mapping[str, str]
    clean: Clean
    status: Mapping[str, Any] | None
    trouble: str
    verifies: bool

    @property
    def is_yours(self) -> bool:
        """Whether memd would work with this home: it is yours, or not there yet."""
        return self.owner in ("you", "nobody")

    @property
    def is_running(self) -> bool:
        """Whether a daemon answered."""
        return self.status is not None and self.status["daemon"].get("state") == "running"


def scene(*, verifies: bool) -> Scene:
    """What there is to look at. Raises nothing that a broken home can cause."""
    environ = dict(os.environ)
    raw = address.home()
    home = None if raw is None else Path(os.fsdecode(raw))
    owner, cwd = whose(home), _cwd()
    told, trouble = _status() if owner in ("you", "nobody") else (None, f"not asked: the home is of {owner}")
    repositories = _repositories(home, cwd)
    user_home = environ.get("HOME") or _person().pw_dir
    return Scene(
        home=home,
        owner=owner,
        cwd=cwd,
        environ=environ,
        clean=Clean(folders_named(home, user_home, repositories), _private(environ, repositories, told)),
        status=told,
        trouble=trouble,
        verifies=verifies,
    )


def failed(error: BaseException) -> str:
    """Kind and place of an error, never its words: they may hold a path, or what a file says."""
    place, trace = "", error.__traceback__
    while trace is not None:
        place = f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    number = f" {error.errno}" if isinstance(error, OSError) and error.errno else ""
    code = (
        f" {error.code}" if isinstance(error, MemdError) and error.code in vocabulary() else ""
    )  # a peer's may be anything
    return f"not known: {type(error).__name__}{number}{code}{place}"


def tried(look: Callable[..., Any], *given: Any) -> Any:
    """What ``look`` gives for ``given``, or in a sentence what kept it from that."""
    try:
        return look(*given)
    except TROUBLE as error:
        return failed(error)


def whose(path: Path | None) -> str:
    """The owner of a file, by what it is to the person who asks."""
    if path is None:
        return "nobody"
    try:
        uid = path.stat().st_uid
    except (FileNotFoundError, NotADirectoryError):
        return "nobody"
    except (OSError, ValueError):  # kept out, or a name that no system takes
        return "unknown"
    return owner_of(uid)


def owner_of(uid: int) -> str:
    """`you`, `root` or `another user`."""
    return "you" if uid == os.geteuid() else "root" if uid == 0 else "another user"


def _cwd() -> Path:
    try:
        return Path.cwd()
    except OSError:  # the directory is gone, or kept from this user
        return Path("/")


def _status() -> tuple[Mapping[str, Any] | None, str]:
    try:
        return status.gathered(), ""
    except TROUBLE as error:
        return None, failed(error)


def _repositories(home: Path | None, cwd: Path) -> list[str]:
    """Where memd has hooks, and where the person stands: folders that get a number in the place of their name."""
    found = [] if home is None else tried(status.installed, home)
    hooks = [Path(one["path"]) for one in found if one["level"] == "project"] if isinstance(found, list) else []
    tops = [next((up.parent for up in hook.parents if up.name in (".git", ".claude")), hook.parent) for hook in hooks]
    here = next((folder for folder in (cwd, *cwd.parents) if _has_git(folder)), None)
    return [str(folder) for folder in (*tops, *([here] if here else []))]


def _has_git(folder: Path) -> bool:
    try:
        return (folder / ".git").exists()
    except OSError:
        return False


def _person() -> pwd.struct_passwd:
    try:
        return pwd.getpwuid(os.geteuid())
    except KeyError:  # a container's user without a row
        return pwd.struct_passwd(("", "", os.geteuid(), 0, "", "/nonexistent", ""))


def _private(environ: Mapping[str, str], repositories: Iterable[str], told: Mapping[str, Any] | None) -> set[str]:
    """Names that must not stand in a report: the person, the machine, the repositories with branch and remotes, sessions."""
    person = _person()
    texts = [person.pw_name, person.pw_gecos, environ.get("USER", ""), environ.get("LOGNAME", ""), socket.gethostname()]
    texts += [environ.get(name, "") for name in _SESSIONS]
    texts += [str(one.get("session", "")) for one in (told or {}).get("sessions", ())]
    for repository in repositories:
        texts.append(Path(repository).name)
        texts += [_text(Path(repository, ".git", name)) for name in ("HEAD", "config")]
    texts.append(_text(Path(environ.get("HOME", "/"), ".gitconfig")))
    return {word for text in texts for word in _NAME.findall(text) if len(word) >= PRIVATE_MIN_CHARS}


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
