"""Copies of an environment that is in use: compacted, of one moment, while others read and write."""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from memd_daemon.store.lmdb_tables import LmdbTables

Copy = Callable[[int], None]
"""Writes the copy to a descriptor, from where that stands."""


class Copying:
    """What an environment (lmdb_log.py) can do beside reading and writing."""

    _env: Any

    def reading(self) -> AbstractContextManager[LmdbTables]:
        """Told by the environment itself."""
        raise NotImplementedError

    @contextlib.contextmanager
    def copying(self) -> Iterator[tuple[LmdbTables, Copy]]:
        """A snapshot, and what copies that very snapshot. LMDB does it without the interpreter's lock. Raises StoreFull,
        StoreDamaged."""
        with self.reading() as tables:
            yield tables, partial(self._copy, tables)

    def _copy(self, tables: LmdbTables, descriptor: int) -> None:
        self._env.copyfd(descriptor, compact=True, txn=tables.transaction)
