"""What the log asks of a keeper of tables: ordered bytes, named tables, nothing else. LMDB is one (lmdb_log), a dict another."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar, cast

T = TypeVar("T")


class Reading(Protocol):
    """A consistent view of all tables (store/keys.py names them)."""

    def get(self, table: str, key: bytes) -> bytes | None: ...
    def scan(self, table: str, prefix: bytes = b"", *, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        """Lazily, in the order of the keys. Nothing may be written to the table while it is scanned."""
        ...

    def last(self, table: str, prefix: bytes = b"") -> tuple[bytes, bytes] | None:
        """The row with the greatest key that begins with ``prefix``."""
        ...

    def seek(self, table: str, key: bytes) -> tuple[bytes, bytes] | None:
        """The first row whose key is ``key`` or sorts behind it."""
        ...

    def before(self, table: str, key: bytes) -> tuple[bytes, bytes] | None:
        """The last row whose key sorts before ``key``."""
        ...

    def moment(self) -> int:
        """Which state of all tables this is: an equal number is the very same state, as long as the keeper is open."""
        ...

    def count(self, table: str) -> int:
        """The number of rows, without a scan."""
        ...

    def bytes_on_disk(self) -> int: ...


class Writing(Reading, Protocol):
    """A write in progress; reads see what it has written."""

    def put(self, table: str, key: bytes, value: bytes) -> None: ...
    def delete(self, table: str, key: bytes) -> bool: ...
    def clear(self, table: str) -> None: ...


class Keeper(Protocol):
    """An environment of tables."""

    def reading(self) -> AbstractContextManager[Reading]: ...
    def writing(self, work: Callable[[Writing], T]) -> T: ...


class WhenAsked:
    """A snapshot that is opened when the first thing is asked of it, and is then of that moment. Ends with its ``with``: what is
    asked after that raises RuntimeError, and opens none that nobody would end."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._reading: AbstractContextManager[Reading] | None = None  # most answers are known, and open none
        self._kv: Reading | None = None
        self._has_ended = False

    def __enter__(self) -> Reading:
        return cast("Reading", self)

    def __exit__(self, *raised: Any) -> None:
        reading, self._kv, self._has_ended = self._reading, None, True
        if reading is not None:
            reading.__exit__(*raised)

    def __getattr__(self, name: str) -> Any:
        if self._kv is None:
            if self._has_ended:
                raise RuntimeError("a snapshot that has ended")
            reading = self._keeper.reading()
            self._kv = reading.__enter__()
            self._reading = reading
        return getattr(self._kv, name)
