"""One LMDB transaction as a keeper of tables (store/kv.py). The transaction is lmdb_log.py's, which alone knows the library."""

from collections.abc import Callable, Iterator
from typing import Any

from memd_daemon.store import keys


class LmdbTables:
    """See the module's docstring. ``dbs``: LMDB's handle of each table; ``size`` gives the bytes on disk."""

    def __init__(self, txn: Any, dbs: dict[str, Any], size: Callable[[], int]) -> None:
        self._txn = txn
        self._dbs = dbs
        self.bytes_on_disk = size

    @property
    def transaction(self) -> Any:
        """For a copy of what this transaction sees."""
        return self._txn

    def get(self, table: str, key: bytes) -> bytes | None:
        found: bytes | None = self._txn.get(key, db=self._dbs[table])
        return found

    def scan(self, table: str, prefix: bytes = b"", *, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        with self._txn.cursor(self._dbs[table]) as cursor:
            found = self._to_last(cursor, prefix) if reverse else cursor.set_range(prefix) if prefix else cursor.first()
            if not found:
                return
            if not prefix:
                yield from cursor.iterprev() if reverse else cursor.iternext()
                return
            for key, value in cursor.iterprev() if reverse else cursor.iternext():
                if not key.startswith(prefix):
                    return
                yield key, value

    @staticmethod
    def _to_last(cursor: Any, prefix: bytes) -> bool:
        beyond = keys.after(prefix)
        found: bool = cursor.prev() if beyond and cursor.set_range(beyond) else cursor.last()
        return found

    def last(self, table: str, prefix: bytes = b"") -> tuple[bytes, bytes] | None:
        with self._txn.cursor(self._dbs[table]) as cursor:
            there = self._to_last(cursor, prefix) and cursor.key().startswith(prefix)
            row: tuple[bytes, bytes] | None = cursor.item() if there else None
            return row

    def seek(self, table: str, key: bytes) -> tuple[bytes, bytes] | None:
        with self._txn.cursor(self._dbs[table]) as cursor:
            return cursor.item() if (cursor.set_range(key) if key else cursor.first()) else None

    def before(self, table: str, key: bytes) -> tuple[bytes, bytes] | None:
        with self._txn.cursor(self._dbs[table]) as cursor:
            found = cursor.prev() if cursor.set_range(key) else cursor.last()
            return cursor.item() if found else None

    def moment(self) -> int:
        """The number of LMDB's commit that this transaction sees, as the file's heads tell it."""
        number: int = self._txn.id()
        return number

    def count(self, table: str) -> int:
        entries: int = self._txn.stat(self._dbs[table])["entries"]
        return entries

    def put(self, table: str, key: bytes, value: bytes) -> None:
        self._txn.put(key, value, db=self._dbs[table])

    def delete(self, table: str, key: bytes) -> bool:
        was_there: bool = self._txn.delete(key, db=self._dbs[table])
        return was_there

    def clear(self, table: str) -> None:
        self._txn.drop(self._dbs[table], delete=False)
