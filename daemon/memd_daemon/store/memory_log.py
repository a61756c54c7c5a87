"""The store and the ledger in memory, for tests: the same log over a dict for each table. Nothing of it outlives the process.

A snapshot shares the tables that stand; a write that meets a shared table works on a copy of it.
"""

import bisect
import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from memd_daemon.errors import MemdError, Stopping
from memd_daemon.limits import NS_PER_MS, STORE_FORMAT
from memd_daemon.model.ids import uuid7
from memd_daemon.store import keys
from memd_daemon.store.anew import rebuild
from memd_daemon.store.kv import Writing
from memd_daemon.store.ledger import TableLedger
from memd_daemon.store.log_read import LogSnapshot
from memd_daemon.store.log_write import LogTxn
from memd_daemon.store.port import StoreInfo
from memd_daemon.store.trusted import Trusted

T = TypeVar("T")
R = TypeVar("R")


class _Table:
    """Rows, and their keys in order."""

    def __init__(self, rows: dict[bytes, bytes], order: list[bytes]) -> None:
        self.rows = rows
        self.order = order
        self.snapshots = 0

    def copy(self) -> "_Table":
        return _Table(dict(self.rows), list(self.order))


class MemoryTables:
    """A keeper of tables (store/kv.py); ``undo`` remembers what a write has replaced."""

    def __init__(self, tables: dict[str, _Table], moment: int) -> None:
        self._tables = tables
        self._moment = moment
        self._undo: list[tuple[str, bytes, bytes | None]] = []

    def get(self, table: str, key: bytes) -> bytes | None:
        return self._tables[table].rows.get(key)

    def scan(self, table: str, prefix: bytes = b"", *, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        rows, order = self._tables[table].rows, self._tables[table].order
        start, end = bisect.bisect_left(order, prefix), self._end(order, prefix)
        for at in range(end - 1, start - 1, -1) if reverse else range(start, end):
            yield order[at], rows[order[at]]

    @staticmethod
    def _end(order: list[bytes], prefix: bytes) -> int:
        beyond = keys.after(prefix)
        return bisect.bisect_left(order, beyond) if beyond else len(order)

    def _at(self, table: str, at: int) -> tuple[bytes, bytes] | None:
        order = self._tables[table].order
        return (order[at], self._tables[table].rows[order[at]]) if 0 <= at < len(order) else None

    def last(self, table: str, prefix: bytes = b"") -> tuple[bytes, bytes] | None:
        row = self._at(table, self._end(self._tables[table].order, prefix) - 1)
        return row if row is not None and row[0].startswith(prefix) else None

    def seek(self, table: str, key: bytes) -> tuple[bytes, bytes] | None:
        return self._at(table, bisect.bisect_left(self._tables[table].order, key))

    def before(self, table: str, key: bytes) -> tuple[bytes, bytes] | None:
        return self._at(table, bisect.bisect_left(self._tables[table].order, key) - 1)

    def moment(self) -> int:
        return self._moment

    def count(self, table: str) -> int:
        return len(self._tables[table].rows)

    def bytes_on_disk(self) -> int:
        return sum(len(k) + len(v) for table in self._tables.values() for k, v in table.rows.items())

    def put(self, table: str, key: bytes, value: bytes) -> None:
        if not 0 < len(key) <= keys.KEY_MAX_BYTES:
            raise ValueError(f"a key of {len(key)} bytes")
        own = self._own(table)
        self._undo.append((table, key, own.rows.get(key)))
        if key not in own.rows:
            bisect.insort(own.order, key)
        own.rows[key] = value

    def delete(self, table: str, key: bytes) -> bool:
        own = self._own(table)
        if key not in own.rows:
            return False
        self._undo.append((table, key, own.rows.pop(key)))
        del own.order[bisect.bisect_left(own.order, key)]
        return True

    def clear(self, table: str) -> None:
        for key in list(self._tables[table].order):
            self.delete(table, key)

    def _own(self, table: str) -> _Table:
        if self._tables[table].snapshots:
            self._tables[table] = self._tables[table].copy()
        return self._tables[table]

    def revert(self) -> None:
        """Takes back every change, the newest first."""
        for table, key, value in reversed(list(self._undo)):
            if value is None:
                self.delete(table, key)
            else:
                self.put(table, key, value)


class MemoryEnvironment:
    """What an LMDB environment is to `LmdbTables`."""

    def __init__(self, tables: Sequence[str]) -> None:
        self._tables = {name: _Table({}, []) for name in tables}
        self._lock = threading.RLock()
        self._writes = 0

    @contextlib.contextmanager
    def reading(self) -> Iterator[MemoryTables]:
        with self._lock:
            shared, moment = dict(self._tables), self._writes
            for table in shared.values():
                table.snapshots += 1
        try:
            yield MemoryTables(shared, moment)
        finally:
            with self._lock:
                for table in shared.values():
                    table.snapshots -= 1

    def writing(self, work: Callable[[Writing], T]) -> T:
        with self._lock, contextlib.ExitStack() as undo:
            self._writes += 1
            tables = MemoryTables(self._tables, self._writes)
            undo.callback(tables.revert)
            result = work(tables)
            undo.pop_all()
            return result


class MemoryStore:
    """`memd_daemon.store.port.Store`; each work is done when the call returns."""

    def __init__(self, *, clock: Callable[[], int] | None = None, store: bytes | None = None) -> None:
        at = clock() if clock is not None else time.time_ns() // NS_PER_MS
        self._environment = MemoryEnvironment(keys.STORE_TABLES)
        self.trusted = Trusted()
        self.trusted.complete.set()  # a new store has no rows to look at
        self._closed = False
        self.additions = 0
        self.info = StoreInfo(
            store=store or uuid7(at, os.urandom(10)), origin=uuid7(at, os.urandom(10)), format=STORE_FORMAT, path=""
        )

    @property
    def doubt(self) -> threading.Event:
        return self.trusted.doubt

    def fallen(self, since: int) -> list[bytes]:
        return self.trusted.fallen[since:]

    def signed(self) -> list[bytes]:
        return self.trusted.signed_subjects()

    def await_look(self) -> None:
        """There is nothing that another process could have changed."""

    @contextlib.contextmanager
    def read(self) -> Iterator[LogSnapshot]:
        if self._closed:
            raise Stopping
        additions = self.additions
        with self._environment.reading() as tables:
            yield LogSnapshot(tables, self.info, self.trusted, additions)

    def write(self, work: Callable[[LogTxn], T]) -> T:
        if self._closed:
            raise Stopping

        def inside(tables: Writing) -> T:
            txn = LogTxn(tables, self.info, self.trusted)
            try:
                return work(txn)
            finally:
                self.additions += txn.adds  # one thread at a time is in here

        return self._environment.writing(inside)

    def write_beside(self, work: Callable[[LogTxn], T], beside: Callable[[], R]) -> tuple[T, R]:
        written = self.write(work)
        return written, beside()

    def submit(self, work: Callable[[LogTxn], T]) -> "Future[T]":
        with ThreadPoolExecutor(max_workers=1) as pool:  # done when this returns; what the work raises is in the future
            return pool.submit(self.write, work)

    def let_go(self) -> None:
        """Nothing is mapped."""

    def flaws(self) -> Sequence[tuple[int, str, str]]:
        """There is no file."""
        return ()

    trouble: MemdError | None = None

    def in_place(self) -> bool:
        return True

    def rebuild(self, progress: Callable[[int, int], None] | None = None) -> int:
        return rebuild(self.write, lambda: None, progress)

    def close(self) -> None:
        self._closed = True


class MemoryLedger(TableLedger):
    """`memd_daemon.store.ledger_port.Ledger`."""

    def __init__(self) -> None:
        super().__init__(MemoryEnvironment(keys.LEDGER_TABLES))

    def let_go(self) -> None:
        """There is no file."""

    def close(self) -> None:
        """Nothing is to be put away."""
