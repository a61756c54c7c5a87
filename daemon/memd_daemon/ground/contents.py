"""Contents of files: each is read and hashed once per state of its file, and what was found out about it is kept with it.

Size, mtime, inode and ctime screen: while a file's four are those at which it was read last, its content is the one known from
then. Of a file written in the same instant as it was read nothing is kept: it may be written again under the same mtime. Where
the four have moved, the content is named by its xxh3: a file that was only touched, or that holds what it held before, is known by
it. Only a content that is new is hashed for anchors, by the first 16 bytes of SHA-256 with line ends normalized (CRLF and CR become
LF), so that a checkout with other line ends is the same file.

A file that is written to while it is read is read again: what is half of one content and half of another is neither what a note is
about nor a change of it.

Nothing here waits: what is no regular file is not read. Nor is what a path leads to outside its checkout: a folder or file of a
repository may have become a link to anywhere, and what was found there would be told as the repository's. A file over
`SOURCE_MAX_BYTES` is hashed in pieces and never held, one over `ANCHOR_FILE_MAX_BYTES` is compared by size and time alone.
"""

import errno
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, Final, NamedTuple, TypeVar

from memd_daemon import limits
from memd_daemon.ground.deadline import in_time
from memd_daemon.ground.digests import lasting, named
from memd_daemon.ground.repository import opened_as, resolved, unawaited
from memd_daemon.model.event import Anchor

K = TypeVar("K")
V = TypeVar("V")

RACY_NS: Final = limits.RACY_MTIME_MS * limits.NS_PER_MS

_GONE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG})

Opener = Callable[[str, int], int]
"""As `open` takes one."""

_Shape = tuple[int, int, int, int]
"""(size, mtime in ns, inode, ctime in ns): an mtime can be set back to what it was, and a ctime cannot."""


class Unreadable(Exception):
    """There may be a file, and it cannot be read; or it cannot be taken apart."""


def content_digest(blocks: Iterable[bytes]) -> bytes:
    """The anchor digest of a content that comes in blocks, cut anywhere."""
    digest, held = hashlib.sha256(), b""
    for block in blocks:
        text = held + block
        held = b"\r" if text.endswith(b"\r") else b""  # its line feed may begin the next block
        digest.update(text.removesuffix(held).replace(b"\r\n", b"\n").replace(b"\r", b"\n"))
    digest.update(b"\n" if held else b"")
    return digest.digest()[: limits.ANCHOR_DIGEST_BYTES]


class Answer(NamedTuple):
    """What a content says of an anchor: `GroundStatus`'s fields of these names."""

    signal: str = ""
    detail: str = ""
    to: str = ""
    unknown: bool = False


class Content:
    """One content. ``answers``: what it was found to say of parts of it."""

    __slots__ = ("answers", "digest", "size")

    def __init__(self, size: int, digest: bytes) -> None:
        self.size, self.digest = size, digest
        self.answers: dict[Anchor, Answer] = {}


class Read(NamedTuple):
    """A file's content. ``text``: its bytes where they were read just now and are few enough to be taken apart."""

    content: Content
    text: bytes | None = None


class Contents:
    """Reads files, each once per state of it. Safe to call from any thread."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[_Shape, Content]] = {}
        self._contents: dict[bytes, Content] = {}
        self._seen: dict[bytes, tuple[str, ...]] = {}

    def at(self, path: str, until_ns: int | None, root: str, sizes: range | None = None) -> Read | None:
        """What a path below ``root``, a real path, holds, read where it is not known; None where it has no regular file there, or
        none of these ``sizes`` (bytes).

        Raises Unreadable, and OutOfTime where the deadline (monotonic ns) passes before it is read.
        """
        try:
            seen = os.stat(path)
        except (OSError, ValueError) as error:
            _refuse_unseen(error)
            return None
        if sizes is not None and seen.st_size not in sizes:
            return None
        known = self._files.get(path)
        if known is not None and known[0] == _shape(seen):
            return Read(known[1])
        return self._whole(path, until_ns, root) if stat.S_ISREG(seen.st_mode) else None

    def read(self, path: str, until_ns: int | None, root: str) -> Read | None:
        """Likewise, read in any case. Raises Unreadable too for one that is written to each time it is read."""
        return self._whole(path, until_ns, root) if is_below(root, path) else None

    def _whole(self, path: str, until_ns: int | None, root: str) -> Read | None:
        for _ in range(limits.FILE_READ_TRIES):
            in_time(until_ns)
            found, is_whole = self._read(path, until_ns, root)
            if is_whole:
                return found
        raise Unreadable

    def _read(self, path: str, until_ns: int | None, root: str) -> tuple[Read | None, bool]:
        """What was read, and whether the file held just that: it may have been written to meanwhile."""
        began_ns = time.time_ns()
        try:
            with open(path, "rb", buffering=0, opener=unawaited) as file:
                seen = os.fstat(file.fileno())
                if not stat.S_ISREG(seen.st_mode) or not is_opened_below(root, path, file.fileno()):
                    return None, True
                found = self._taken(file, seen, until_ns)
                if _shape(os.fstat(file.fileno())) != _shape(seen):
                    return found, False
        except (OSError, ValueError) as error:
            if is_below(root, path):
                _refuse_unseen(error)
            return None, True
        if seen.st_size <= limits.ANCHOR_FILE_MAX_BYTES:
            self._saw(path, found.content.digest)
        if seen.st_mtime_ns + RACY_NS < began_ns:
            bounded(self._files, limits.GROUND_FILES_KNOWN_MAX)[path] = (_shape(seen), found.content)
        return found, True

    def _taken(self, file: BinaryIO, seen: os.stat_result, until_ns: int | None) -> Read:
        size = seen.st_size
        if size > limits.ANCHOR_FILE_MAX_BYTES:
            return Read(Content(size, lasting(repr(_shape(seen)[:2]).encode())))
        if size > limits.SOURCE_MAX_BYTES:
            return Read(Content(size, content_digest(_blocks(file, until_ns))))
        text = b"".join(_blocks(file, until_ns, size + 1))
        name = named(text)
        known = self._contents.get(name)
        if known is None:
            known = Content(len(text), content_digest([text]))
            bounded(self._contents, limits.GROUND_CONTENTS_KNOWN_MAX)[name] = known
        return Read(known, text)

    def seen_at(self, digest: bytes) -> tuple[str, ...]:
        """Where files of this content were seen, the latest last."""
        return self._seen.get(digest, ())

    def _saw(self, path: str, digest: bytes) -> None:
        others = (other for other in self._seen.get(digest, ()) if other != path)
        kept = (*others, path)[-limits.GROUND_PATHS_OF_CONTENT_MAX :]
        bounded(self._seen, limits.GROUND_FILES_KNOWN_MAX)[digest] = kept


def bounded(known: dict[K, V], most: int) -> dict[K, V]:
    """The very same, emptied where it has grown so large."""
    if len(known) >= most:
        known.clear()
    return known


def _refuse_unseen(error: OSError | ValueError) -> None:
    """Raises Unreadable, unless the error says that no file is there. A ValueError is of a name that no path can have."""
    if isinstance(error, OSError) and error.errno not in _GONE:
        raise Unreadable from error


def read_below(root: str, path: str, most: int, opener: Opener = unawaited) -> bytes | None:
    """What the regular file at a path below ``root`` holds; None where there is none, or it has become something else since it was
    looked at. Raises Unreadable for one of more than ``most`` bytes, and OSError and ValueError as `open`."""
    with open(path, "rb", opener=opener) as file:
        seen = os.fstat(file.fileno())
        if not stat.S_ISREG(seen.st_mode) or not is_opened_below(root, path, file.fileno()):
            return None
        if seen.st_size > most:
            raise Unreadable
        return file.read(most)


def is_below(root: str, path: str) -> bool:
    """Whether a path leads to a place below ``root``, whatever links are on its way."""
    return _stands_below(root, resolved(path))


def is_opened_below(root: str, path: str, descriptor: int) -> bool:
    """Likewise, of what was opened there: what the path leads to by now may be something else, also where that was removed."""
    return _stands_below(root, opened_as(descriptor) or _still_at(path, descriptor))


def _still_at(path: str, descriptor: int) -> str:
    """The real path of what was opened at ``path``, where the system does not say it; "" where something else is there by now.

    Raises OSError where nothing is.
    """
    real = os.path.realpath(path, strict=True)  # `resolved` always has an answer
    return real if os.path.samestat(os.lstat(real), os.fstat(descriptor)) else ""


def _stands_below(root: str, real: str) -> bool:
    return real.startswith(root.rstrip("/") + "/") or real.startswith(resolved(root).rstrip("/") + "/")


def _shape(seen: os.stat_result) -> _Shape:
    return seen.st_size, seen.st_mtime_ns, seen.st_ino, seen.st_ctime_ns


def _blocks(file: BinaryIO, until_ns: int | None, at_once: int = limits.FILE_BLOCK_BYTES) -> Iterator[bytes]:
    """The rest of a file. Raises OutOfTime between two blocks."""
    while block := file.read(at_once):
        yield block
        if len(block) == at_once:  # else it was the last
            in_time(until_ns)
