"""File anchors: what is compared, and what can be said of one in the checkout that asks (staleness.md).

The digest of a file is the first 16 bytes of SHA-256 over its content with line ends normalized (CRLF and CR become LF), so that
a checkout with other line ends is the same file. Size, mtime and inode screen: a file whose three did not move since it was last
hashed is not read again, unless it had been written in the same instant as it was hashed.
"""

import contextlib
import hashlib
import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from memd_daemon import limits
from memd_daemon.ground.deadline import OutOfTime, in_time
from memd_daemon.ground.spelling import located
from memd_daemon.model.event import Anchor
from memd_daemon.model.view import GroundStatus

_Stat = tuple[int, int, int]

RACY_NS: Final = limits.RACY_MTIME_MS * limits.NS_PER_MS

_OPENING: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
"""A FIFO that has come in the place of a file opens at once and is then seen for what it is."""


def content_digest(blocks: Iterable[bytes]) -> bytes:
    """The anchor digest of a content that comes in blocks, cut anywhere."""
    digest, held = hashlib.sha256(), b""
    for block in blocks:
        text = held + block
        held = b"\r" if text.endswith(b"\r") else b""  # its line feed may begin the next block
        digest.update(text.removesuffix(held).replace(b"\r\n", b"\n").replace(b"\r", b"\n"))
    digest.update(b"\n" if held else b"")
    return digest.digest()[: limits.ANCHOR_DIGEST_BYTES]


class FileGround:
    """Hashes anchored files, each once per state of the file. Safe to call from any thread."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[_Stat, bytes]] = {}
        self._seen: dict[bytes, tuple[str, ...]] = {}

    def digest(self, path: Path, deadline_ns: int | None = None) -> bytes | None:
        """The digest of a regular file, or None where there is none that can be read.

        Raises OutOfTime where the deadline (monotonic ns) passes before that.
        """
        with contextlib.suppress(OSError):
            seen = path.stat()
            known = self._known.get(str(path))
            if known is not None and known[0] == _shape(seen):
                return known[1]
            if stat.S_ISREG(seen.st_mode):
                return self._hash(path, deadline_ns)
        return None

    def _hash(self, path: Path, deadline_ns: int | None) -> bytes | None:
        began_ns = time.time_ns()
        with os.fdopen(os.open(path, _OPENING), "rb", buffering=0) as file:
            seen = os.fstat(file.fileno())
            if not stat.S_ISREG(seen.st_mode):
                return None
            shape = _shape(seen)
            if seen.st_size > limits.ANCHOR_FILE_MAX_BYTES:
                return hashlib.sha256(repr(shape[:2]).encode()).digest()[: limits.ANCHOR_DIGEST_BYTES]
            value = content_digest(_blocks(file, deadline_ns))
            is_same = _shape(os.fstat(file.fileno())) == shape
        if is_same:
            self._saw(str(path), value)
        if is_same and shape[1] + RACY_NS < began_ns:
            self._keep(str(path), shape, value)
        return value

    def learn(self, root: Path, anchors: Iterable[Anchor]) -> None:
        """Reads the files of anchors for which there was no time, so that the next look at them finds them known.

        Takes as long as it takes, and up to RACY_MTIME_MS for a file that was written just now: before that nothing is known of it.
        """
        for path in dict.fromkeys(located(str(root), anchor.path) for anchor in anchors):
            with contextlib.suppress(OSError):
                written_ns = os.stat(path).st_mtime_ns
                early_ns = min(written_ns + RACY_NS - time.time_ns(), RACY_NS)
                time.sleep(max(0, early_ns // limits.NS_PER_MS + 1) / limits.MS_PER_S)
                self.digest(Path(path))

    def seen_at(self, digest: bytes) -> tuple[str, ...]:
        """Where files of this content were seen, the latest last."""
        return self._seen.get(digest, ())

    def _saw(self, key: str, value: bytes) -> None:
        if len(self._seen) >= limits.GROUND_FILES_KNOWN_MAX:
            self._seen.clear()
        others = (path for path in self._seen.get(value, ()) if path != key)
        self._seen[value] = (*others, key)[-limits.GROUND_PATHS_OF_CONTENT_MAX :]

    def _keep(self, key: str, shape: _Stat, value: bytes) -> None:
        if len(self._known) >= limits.GROUND_FILES_KNOWN_MAX:
            self._known.clear()
        self._known[key] = (shape, value)

    def statuses(
        self, root: Path | None, branch: str, anchors: Sequence[Anchor], deadline_ns: int | None = None
    ) -> tuple[GroundStatus, ...]:
        """What is known of each anchor in the checkout at ``root``; past the deadline (monotonic ns) `unknown`."""
        if root is None:
            return ()
        return tuple(self._status(root, branch, a, deadline_ns) for a in anchors)

    def _status(self, root: Path, branch: str, anchor: Anchor, deadline_ns: int | None) -> GroundStatus:
        signal, unknown = "", False
        try:
            in_time(deadline_ns)
            signal = self._signal(root, branch, anchor, deadline_ns)
        except OutOfTime:
            unknown = True
        return GroundStatus(path=anchor.path, part=anchor.part, proxy=anchor.proxy, signal=signal, unknown=unknown)

    def _signal(self, root: Path, branch: str, anchor: Anchor, deadline_ns: int | None) -> str:
        path = Path(located(str(root), anchor.path))
        now = self.digest(path, deadline_ns)
        if now is None and not os.path.lexists(path):
            elsewhere = anchor.checkout_branch and branch and branch != anchor.checkout_branch
            return "absent" if elsewhere else "anchor_missing"
        return "" if now == anchor.digest else "anchor_changed"


def _shape(seen: os.stat_result) -> _Stat:
    return seen.st_size, seen.st_mtime_ns, seen.st_ino


def _blocks(file: BinaryIO, deadline_ns: int | None) -> Iterator[bytes]:
    while block := file.read(limits.FILE_BLOCK_BYTES):
        yield block
        if len(block) == limits.FILE_BLOCK_BYTES:  # else it was the last
            in_time(deadline_ns)
