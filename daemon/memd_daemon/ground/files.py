"""File anchors: what is compared, and what can be said of one in the checkout that asks (staleness.md).

The digest of a file is the first 16 bytes of SHA-256 over its content with line ends normalized (CRLF and CR become LF), so that
a checkout with other line ends is the same file. Size, mtime and inode screen: a file whose three did not move since it was last
hashed is not read again, unless it had been written in the same instant as it was hashed.
"""

import hashlib
import os
import stat
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from memd_daemon import limits
from memd_daemon.model.event import Anchor
from memd_daemon.model.view import GroundStatus

_Stat = tuple[int, int, int]

RACY_NS: Final = limits.RACY_MTIME_MS * limits.NS_PER_MS


def content_digest(content: bytes) -> bytes:
    """The anchor digest of a file's content."""
    normal = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return hashlib.sha256(normal).digest()[: limits.ANCHOR_DIGEST_BYTES]


class FileGround:
    """Hashes anchored files, each once per state of the file. Not thread-safe: it lives on the daemon's loop."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[_Stat, bytes]] = {}

    def digest(self, path: Path) -> bytes | None:
        """The digest of a regular file, or None where there is none that can be read."""
        try:
            seen = path.stat()
        except OSError:
            return None
        if not stat.S_ISREG(seen.st_mode):
            return None
        key, shape = str(path), (seen.st_size, seen.st_mtime_ns, seen.st_ino)
        known = self._known.get(key)
        if known is not None and known[0] == shape:
            return known[1]
        return self._hash(path, key, shape)

    def _hash(self, path: Path, key: str, shape: _Stat) -> bytes | None:
        if shape[0] > limits.ANCHOR_FILE_MAX_BYTES:
            return hashlib.sha256(repr(shape[:2]).encode()).digest()[: limits.ANCHOR_DIGEST_BYTES]
        try:
            value = content_digest(path.read_bytes())
        except OSError:
            return None
        if shape[1] + RACY_NS < time.time_ns():
            if len(self._known) >= limits.GROUND_FILES_KNOWN_MAX:
                self._known.clear()
            self._known[key] = (shape, value)
        return value

    def statuses(
        self, root: Path | None, branch: str, anchors: Sequence[Anchor], deadline_ns: int | None = None
    ) -> tuple[GroundStatus, ...]:
        """What is known of each anchor in the checkout at ``root``; past the deadline (monotonic ns) `unknown`."""
        if root is None:
            return ()
        return tuple(self._status(root, branch, a, deadline_ns) for a in anchors)

    def _status(self, root: Path, branch: str, anchor: Anchor, deadline_ns: int | None) -> GroundStatus:
        if deadline_ns is not None and time.monotonic_ns() > deadline_ns:
            return GroundStatus(path=anchor.path, part=anchor.part, proxy=anchor.proxy, unknown=True)
        return GroundStatus(
            path=anchor.path, part=anchor.part, proxy=anchor.proxy, signal=self._signal(root, branch, anchor)
        )

    def _signal(self, root: Path, branch: str, anchor: Anchor) -> str:
        path = root / anchor.path
        now = self.digest(path)
        if now is None and not os.path.lexists(path):
            elsewhere = anchor.checkout_branch and branch and branch != anchor.checkout_branch
            return "absent" if elsewhere else "anchor_missing"
        return "" if now == anchor.digest else "anchor_changed"
