"""Policy files on disk: which there are, what stands in one, and whether this user could change it.

A file is **out of reach** where another user owns it and every folder on the way to it, from the root down, and none of them can be
written by this one: by no permission bit of group or others, and by no answer of ``access(2)`` for the real or the effective user,
which knows access lists too. The owner of a folder or of a symbolic link on the way could put another file there, whatever its
mode, so none may be this user's. Looked at from the root down, what was looked at cannot be changed by this user meanwhile. The
user 0 can change everything, so nothing is out of its reach.

Nothing here waits: what is no plain file is not opened, and no more is read than a policy file may have.
"""

import os
import stat
from collections.abc import Collection, Iterable, Iterator
from typing import Final

import msgspec

from memd_client.policy_signing import CONTENT_MAX_BYTES, NAME, SUFFIX
from memd_daemon import limits
from memd_daemon.ground.repository import unawaited
from memd_daemon.model.policy import Why

SYSTEM_FOLDER: Final = "/etc/memd/policy.d"
HOME_FOLDER: Final = "policy"
"""Under the home."""

_ENDS: Final = (".toml", f".toml{SUFFIX}")
_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH

Mark = tuple[int, ...]
"""What a file's or folder's state shows of a change: equal while nothing was done to it; the last is when. () for nothing there."""


class Unfit(Exception):
    """A file that cannot be read as one: why, and for people where."""

    def __init__(self, why: Why, detail: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.detail = detail


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """The policy files of a folder by name, in order. ``over``: those beyond the bound; ``mark``: of all that was looked at."""

    names: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    mark: tuple[Mark, ...] = ()


def mark_of(path: str) -> Mark:
    """The state of what stands at a path, and of what a link there leads to."""
    try:
        seen = os.lstat(path)
        there = os.stat(path) if stat.S_ISLNK(seen.st_mode) else seen
    except OSError:
        return ()
    return (*_who(seen), *_who(there), there.st_size, there.st_mtime_ns, there.st_ctime_ns)


def _who(seen: os.stat_result) -> Mark:
    """What decides who may change it."""
    return (seen.st_ino, seen.st_dev, seen.st_mode, seen.st_uid, seen.st_gid)


def _mark_of_folder(path: str) -> Mark:
    """Of a folder on the way, in which other things may come and go."""
    try:
        return _who(os.lstat(path))
    except OSError:
        return ()


def listed(folder: str, known: Collection[str]) -> Listing:
    """What a folder holds. ``known``: names of files that have counted, which no number of others keeps from being looked at."""
    found = {name for name in _entries(folder) if name.endswith(_ENDS[0])}
    names = sorted({*found, *known}, key=lambda name: (name not in known, name))
    taken = sorted(names[: limits.POLICY_FILES_MAX])
    beside = (os.path.join(folder, one) for name in taken for one in (name, name + SUFFIX))
    return Listing(
        names=tuple(taken),
        over=tuple(names[limits.POLICY_FILES_MAX :]),
        mark=(*map(_mark_of_folder, (*_above(folder), folder)), *map(mark_of, beside)),
    )


def _entries(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            for _, entry in zip(range(limits.POLICY_ENTRIES_MAX), entries, strict=False):
                yield entry.name
    except OSError:  # no such folder, or none that this user may look into
        return


def _above(path: str) -> Iterable[str]:
    """The folders above a path, the root first."""
    parts = path.strip("/").split("/")
    return ("/" + "/".join(parts[:count]) for count in range(len(parts)))


def read(path: str, max_bytes: int = CONTENT_MAX_BYTES) -> bytes:
    """The bytes of a plain file. Raises Unfit."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe or a device is not even opened
            raise Unfit(Why.NO_FILE)
        with open(path, "rb", opener=unawaited) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Unfit(Why.NO_FILE)
            content = file.read(max_bytes + 1)
    except FileNotFoundError:
        raise Unfit(Why.GONE) from None
    except (OSError, ValueError) as error:
        raise Unfit(Why.UNREADABLE, getattr(error, "strerror", None) or "") from None
    if len(content) > max_bytes:
        raise Unfit(Why.TOO_LARGE, f"{max_bytes} bytes are allowed")
    return content


def is_plain_name(name: str) -> bool:
    """Whether the name is one that memd's words can hold."""
    return NAME.fullmatch(name) is not None


def why_in_reach(path: str) -> str:
    """Where this user could change the file, or what is read under its name, for people; "" where it is out of reach."""
    if 0 in (os.getuid(), os.geteuid()):
        return "memd runs as root"
    todo = path.strip("/").split("/")[::-1]
    here, links = "/", 0
    while True:
        try:
            seen = os.lstat(here)
            if fault := _fault(here, seen):
                return fault
            if stat.S_ISLNK(seen.st_mode):
                links += 1
                if links > limits.POLICY_LINKS_MAX:
                    return f"{path} lies behind too many links"
                here = _followed(here, todo)
        except OSError:
            return f"{here} cannot be looked at"
        while todo and todo[-1] in ("", "."):
            todo.pop()
        if not todo:
            return ""
        name = todo.pop()
        here = os.path.dirname(here) if name == ".." else os.path.join(here, name)


def _followed(link: str, todo: list[str]) -> str:
    """Where a link's way goes on: its parts come before those that are left. Raises OSError."""
    target = os.readlink(link)
    todo += target.strip("/").split("/")[::-1]
    return "/" if target.startswith("/") else os.path.dirname(link)


def _fault(path: str, seen: os.stat_result) -> str:
    """Why what stands at a path is in this user's reach. A link's own mode allows nothing: it is replaced in its folder, or not."""
    if seen.st_uid in (os.getuid(), os.geteuid()):
        return f"{path} belongs to this user"
    if stat.S_ISLNK(seen.st_mode):
        return ""
    if seen.st_mode & _OTHERS:
        return f"{path} can be written by a group or by everybody"
    effective = os.access in os.supports_effective_ids and os.access(path, os.W_OK, effective_ids=True)
    return f"{path} can be written by this user" if effective or os.access(path, os.W_OK) else ""
