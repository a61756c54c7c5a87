"""A client's transcript as a file: found where the client keeps such files, opened without trust, and read in bounds.

Its path comes from a hook's input, which is anybody's. It is read only below the folder of that client's transcripts, through no
link below that folder, and only where it is a regular file of this user's that nobody else may write. A FIFO is not waited for.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath

import msgspec

from memd_daemon import limits
from memd_daemon.model.turn import UNKNOWN_BYTES, Why

_FOLDER = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY
_FILE = os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK | os.O_NOFOLLOW


class Refused(Exception):
    """The transcript is not read; ``why`` says what it is about."""

    def __init__(self, why: Why) -> None:
        super().__init__(why)
        self.why = why


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """Whole lines around a point of a transcript, and to its end. ``size``: of the file then, in bytes."""

    before: list[bytes]
    after: list[bytes]
    first: bytes
    from_start: bool
    size: int


def length(path: str) -> tuple[int, int]:
    """(bytes, inode) of a transcript as it stands; (0, 0) where there is none yet. One look at it, nothing is read."""
    try:
        seen = os.stat(path, follow_symlinks=False)
    except (OSError, ValueError):
        return 0, 0
    return seen.st_size, seen.st_ino


def inside(folder: str, path: str) -> PurePosixPath | None:
    """The path from the folder; None where it does not lie below it by its very words."""
    try:
        below = PurePosixPath(path).relative_to(folder)
    except ValueError:
        return None
    return below if below.parts and ".." not in below.parts and "\0" not in path else None


def stretch(folder: str, below: PurePosixPath, since: int, inode: int) -> Stretch:
    """The lines of the transcript ``below`` ``folder`` that were written since it had ``since`` bytes, and some before.

    ``since`` UNKNOWN_BYTES: as much of its end as is read at all. ``inode`` 0: any. Raises Refused.
    """
    with _opened(folder, below) as descriptor:
        seen = os.fstat(descriptor)
        if not _fits(seen) or (inode and seen.st_ino != inode) or seen.st_size < since:
            raise Refused(Why.UNFIT)
        point = max(0, seen.st_size - limits.TRANSCRIPT_READ_BYTES) if since == UNKNOWN_BYTES else since
        if seen.st_size - point > limits.TRANSCRIPT_READ_BYTES:
            raise Refused(Why.GROWN)
        begin = max(0, point - limits.TRANSCRIPT_LEAD_BYTES)
        try:
            content = _read(descriptor, begin, seen.st_size - begin)
            head = content if begin == 0 else _read(descriptor, 0, limits.TRANSCRIPT_FIRST_BYTES)
        except OSError as error:
            raise Refused(Why.UNFIT) from error
    return _cut(content, head, begin, point, seen.st_size)


def _cut(content: bytes, head: bytes, begin: int, point: int, size: int) -> Stretch:
    """A line that began before the point counts as before it; what does not end in a line break is not there yet."""
    start = content.find(b"\n") + 1 if begin else 0
    whole = content[start : content.rfind(b"\n") + 1]
    to_point = point - begin - start
    border = whole.find(b"\n", to_point - 1) + 1 or len(whole) if to_point > 0 else 0
    first, end, _ = head.partition(b"\n")
    return Stretch(
        before=whole[:border].split(b"\n"),
        after=whole[border:].split(b"\n"),
        first=first if end else b"",
        from_start=begin == 0,
        size=size,
    )


def _fits(seen: os.stat_result) -> bool:
    is_own = (
        stat.S_ISREG(seen.st_mode) and seen.st_uid == os.getuid() and not seen.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )
    return is_own and seen.st_nlink == 1 and seen.st_size <= limits.TRANSCRIPT_MAX_BYTES


@contextmanager
def _opened(folder: str, below: PurePosixPath) -> Iterator[int]:
    """The transcript's descriptor, each step from the folder down taken without a link. Raises Refused."""
    opened: list[int] = []
    try:
        opened.append(os.open(folder, _FOLDER))
        for part in below.parts[:-1]:
            opened.append(os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=opened[-1]))
        if not stat.S_ISREG(os.stat(below.name, dir_fd=opened[-1], follow_symlinks=False).st_mode):
            raise Refused(Why.UNFIT)  # a device would do something when it is opened
        opened.append(os.open(below.name, _FILE, dir_fd=opened[-1]))
    except FileNotFoundError as error:
        _close(opened)
        raise Refused(Why.MISSING) from error
    except (OSError, ValueError) as error:
        _close(opened)
        raise Refused(Why.UNFIT) from error
    except Refused:
        _close(opened)
        raise
    try:
        yield opened[-1]
    finally:
        _close(opened)


def _close(opened: list[int]) -> None:
    for descriptor in opened:
        os.close(descriptor)


def _read(descriptor: int, begin: int, size: int) -> bytes:
    pieces = []
    while size > 0 and (piece := os.pread(descriptor, size, begin)):
        pieces.append(piece)
        begin, size = begin + len(piece), size - len(piece)
    return b"".join(pieces)
