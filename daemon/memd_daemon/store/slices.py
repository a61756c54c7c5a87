"""Tables read in slices: a snapshot is held for a moment, then the reader rests and goes on with a fresh one.

A snapshot that is held keeps LMDB from using freed pages again, and a thread that computes without a pause makes every other wait
for its turn. So who looks through a whole store behind the hooks does it in slices. What he sees is not of one moment: what he
finds wrong may be a write that came between, and has to be found twice.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from memd_daemon.limits import CHECK_SLICE_MS, MS_PER_S
from memd_daemon.store.kv import Reading


class Slices:
    """`memd_daemon.store.kv.Reading`, for one thread. ``rest`` is called between two snapshots; what it raises ends the reading."""

    def __init__(self, opened: Callable[[], AbstractContextManager[Reading]], rest: Callable[[], None]) -> None:
        self._opened = opened
        self._rest = rest
        self._open = contextlib.ExitStack()
        self._kv: Reading | None = None
        self._until = 0.0

    def __enter__(self) -> "Slices":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def _now(self) -> Reading:
        if self._kv is None or time.monotonic() >= self._until:
            self._open.close()
            if self._kv is not None:
                self._kv = None
                self._rest()
            self._kv = self._open.enter_context(self._opened())
            self._until = time.monotonic() + CHECK_SLICE_MS / MS_PER_S
        return self._kv

    def get(self, table: str, key: bytes) -> bytes | None:
        return self._now().get(table, key)

    def scan(self, table: str, prefix: bytes = b"", *, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        """Each row is looked up anew from the one before it, since the snapshot may be another by then."""
        row = self.last(table, prefix) if reverse else self.seek(table, prefix)
        while row is not None and row[0].startswith(prefix):
            yield row
            row = self.before(table, row[0]) if reverse else self.seek(table, row[0] + b"\0")

    def last(self, table: str, prefix: bytes = b"") -> tuple[bytes, bytes] | None:
        return self._now().last(table, prefix)

    def seek(self, table: str, key: bytes) -> tuple[bytes, bytes] | None:
        return self._now().seek(table, key)

    def before(self, table: str, key: bytes) -> tuple[bytes, bytes] | None:
        return self._now().before(table, key)

    def moment(self) -> int:
        return self._now().moment()

    def count(self, table: str) -> int:
        return self._now().count(table)

    def bytes_on_disk(self) -> int:
        return self._now().bytes_on_disk()
