"""Whether an LMDB file (0.9 layout, little-endian, 64 bits) can be followed: every page that its newest head leads to, read
without LMDB.

LMDB believes the numbers in its pages. One that was changed on the disk has it read behind the file's end or beside its map, which
ends the process by a signal that no Python code can catch, or write a row into a page that another table has. So a file of which it
is not known that the last daemon left it so is gone through first, with reads that can only fail:

- the two heads are of two commits in a row, each in its own place;
- a page says its own number and its kind, its nodes lie inside it, and its keys go up;
- what leads to it says how deep it lies, how many rows a table has, how long a value on pages of its own is;
- no page belongs to two, and none of those that are free to any.

What the rows say is `memd verify`'s. All numbers are from LMDB's `mdb.c`, "Page header", "node", "meta".
"""

import struct
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from memd_daemon.store.lmdb_file import Head, heads

Row = tuple[bytes, bytes, int]
"""A key, its value and the node's flags."""

Found = Callable[[Row], object]
"""Is given each row of a table."""

_PAGE: Final = struct.Struct("<QHHHH")  # number, -, kind, where the pointers end, where the nodes begin
_NODE: Final = struct.Struct("<HHHH")  # size or page (low, high), flags, length of the key
_TABLE: Final = struct.Struct("<IHHQQQQQ")  # -, flags, depth, pages of three kinds, rows, root
_U64: Final = struct.Struct("<Q")
_U32: Final = struct.Struct("<I")
_BRANCH: Final = 0x01
_LEAF: Final = 0x02
_OVERFLOW: Final = 0x04
_KINDS: Final = 0x6F  # all but "dirty", which is the process's own
_BIG: Final = 0x01  # flags of a node: its value has pages of its own,
_SUB: Final = 0x02  # or is a table
_INTEGER_KEYS: Final = 0x08  # a flag of a table: the list of free pages
_NOTHING: Final = (1 << 64) - 1  # the root of an empty table
_HEADS: Final = 2  # pages
_KEY_MAX: Final = 511
_DEPTH_MAX: Final = 32
_NAMELESS: Final = "the list of tables"
_FREE: Final = "the list of free pages"


class Flaw(NamedTuple):
    """A page that cannot be followed, of which table, and why."""

    page: int
    table: str
    what: str

    def __str__(self) -> str:
        return f"page {self.page} ({self.table}) {self.what}"


class _Broken(Exception):
    """This page leads nowhere."""

    def __init__(self, page: int, what: str) -> None:
        super().__init__()
        self.page, self.what = page, what


class _Table(NamedTuple):
    """One table as the page above it tells of it."""

    name: str
    flags: int
    depth: int
    rows: int
    root: int


class Pages:
    """The pages of one file, from one of its heads. ``own``: tables that memd keeps the plain way; others may be a later one's."""

    def __init__(self, file: Path, head: Head, own: Collection[str]) -> None:
        self._file = file
        self._own = own
        self._head = head
        self._owner: dict[int, str] = {}  # page -> its table
        self._free: list[int] = []

    def flaws(self) -> Iterator[Flaw]:
        """Every table that cannot be followed to its end, once; none says that all can. Raises OSError."""
        with self._file.open("rb", buffering=0) as stream:
            self._stream = stream
            tables: list[Row] = []
            yield from self._table(_table_of(_FREE, self._head.free), self._free_pages)
            yield from self._table(_table_of(_NAMELESS, self._head.main), tables.append)
            for key, value, _ in tables:
                name = key.decode("ascii", "backslashreplace")
                if len(value) != _TABLE.size:
                    yield Flaw(_HEADS, name, "is not told of as a table is")
                    continue
                one = _table_of(name, value)
                if not one.flags:
                    yield from self._table(one, _no_value)
                elif one.name in self._own:
                    yield Flaw(one.root, one.name, "is said to be kept otherwise")
        yield from self._freed()

    def _table(self, table: _Table, found: Found) -> Iterator[Flaw]:
        if table.root == _NOTHING:
            if table.rows:
                yield Flaw(table.root, table.name, "is empty and should hold rows")
            return
        try:
            rows = self._below(table, table.root, table.depth, found)
        except _Broken as broken:
            yield Flaw(broken.page, table.name, broken.what)
        except (struct.error, UnicodeDecodeError):
            yield Flaw(table.root, table.name, "holds what cannot be read")
        else:
            if rows != table.rows:
                yield Flaw(table.root, table.name, f"leads to {rows} of its {table.rows} rows")

    def _below(self, table: _Table, number: int, depth: int, found: Found) -> int:
        """How many rows lie under a page. Raises _Broken."""
        if not 0 < depth <= _DEPTH_MAX:
            raise _Broken(number, "lies too deep")
        page = self._page(number, table.name)
        itself, _, kind, lower, upper = _PAGE.unpack_from(page)
        is_leaf = depth == 1
        if itself != number:
            raise _Broken(number, "says that it is another page")
        if kind & _KINDS != (_LEAF if is_leaf else _BRANCH):
            raise _Broken(number, "is of another kind")
        if not _PAGE.size <= lower <= upper <= len(page) or lower % 2:
            raise _Broken(number, "has no room for what it says it holds")
        places = struct.unpack_from(f"<{(lower - _PAGE.size) // 2}H", page, _PAGE.size)
        if not places:
            raise _Broken(number, "is empty")
        return sum(self._nodes(table, number, depth, page, upper, places, found))

    def _nodes(
        self,
        table: _Table,
        number: int,
        depth: int,
        page: bytes,
        upper: int,
        places: tuple[int, ...],
        found: Found,
    ) -> Iterator[int]:
        before: bytes | int | None = None
        end = len(page)
        for at in places:
            if not upper <= at <= end - _NODE.size:
                raise _Broken(number, "names a row outside of itself")
            low, high, flags, size = _NODE.unpack_from(page, at)
            key = page[at + _NODE.size : at + _NODE.size + size]
            if size > _KEY_MAX or len(key) != size:
                raise _Broken(number, "has a key that is not inside of it")
            is_first_branch = depth > 1 and at == places[0]  # its key is empty, and never compared
            order = _U64.unpack(key)[0] if table.flags & _INTEGER_KEYS and not is_first_branch else key
            if before is not None and not before < order:  # type: ignore[operator]  # keys of one table are of one kind
                raise _Broken(number, "has its keys out of order")
            before = None if is_first_branch else order
            if depth > 1:
                yield self._below(table, low | high << 16 | flags << 32, depth - 1, found)
                continue
            found((key, self._value(table, number, page, at + _NODE.size + size, low | high << 16, flags), flags))
            yield 1

    def _value(self, table: _Table, number: int, page: bytes, at: int, size: int, flags: int) -> bytes:
        if flags & _BIG:
            return self._apart(table, number, page[at : at + _U64.size], size)
        if at + size > len(page):
            raise _Broken(number, "has a value that is not inside of it")
        if bool(flags & _SUB) != (table.name == _NAMELESS) or flags & ~_SUB:
            raise _Broken(number, "has a value of another kind")
        return page[at : at + size]

    def _apart(self, table: _Table, number: int, at: bytes, size: int) -> bytes:
        """A value on pages of its own; its bytes are read only for the list of free pages."""
        if len(at) != _U64.size:
            raise _Broken(number, "has a value that is not inside of it")
        (first,) = _U64.unpack(at)
        count = -(-(size + _PAGE.size) // self._head.page_bytes)
        page = self._page(first, table.name, count)
        itself, _, kind, *_ = _PAGE.unpack_from(page)
        (pages,) = _U32.unpack_from(page, _PAGE.size - _U32.size)
        if itself != first or kind & _KINDS != _OVERFLOW or pages != count:
            raise _Broken(first, "is not the value that is said to be there")
        return page[_PAGE.size : _PAGE.size + size] if table.name == _FREE else b""

    def _page(self, number: int, table: str, count: int = 1) -> bytes:
        """A page that belongs to nobody yet; with ``count`` those behind it too. Raises _Broken."""
        if number < _HEADS or number + count > self._head.pages:
            raise _Broken(number, "is none of the file's")
        for one in range(number, number + count):
            if one in self._owner:
                raise _Broken(one, f"belongs to {self._owner[one]} as well")
            self._owner[one] = table
        size = self._head.page_bytes
        self._stream.seek(number * size)
        read = self._stream.read(size * (count if table == _FREE else 1))
        if len(read) < size:
            raise _Broken(number, "is behind the end of the file")
        return read

    def _free_pages(self, row: Row) -> None:
        key, value, _ = row
        numbers = struct.unpack(f"<{len(value) // _U64.size}Q", value)
        if len(key) != _U64.size or not numbers or numbers[0] != len(numbers) - 1:
            raise struct.error("a list that does not say how long it is")
        self._free += numbers[1:]

    def _freed(self) -> Iterator[Flaw]:
        known: set[int] = set()
        for number in self._free:
            if not _HEADS <= number < self._head.pages or number in known:
                yield Flaw(number, _FREE, "is free twice, or none of the file's")
                return
            if number in self._owner:
                yield Flaw(number, self._owner[number], "is also said to be free")
                return
            known.add(number)


def _no_value(_: Row) -> None:
    """What the rows of a table say is not looked at here."""


def _table_of(name: str, raw: bytes) -> _Table:
    _, flags, depth, _, _, _, rows, root = _TABLE.unpack(raw)
    return _Table(name, flags, depth, rows, root)


def flaw_in_heads(file: Path) -> Flaw | None:
    """What is wrong with the two heads of a file that no process has open. Raises OSError."""
    found = heads(file)
    for place, head in enumerate(found):
        if head is None:
            return Flaw(place, "a head of the file", "cannot be read")
    first, second = (head.txn for head in found if head is not None)
    if (first, second) == (0, 0):  # a new file
        return None
    if abs(first - second) != 1 or first % 2 or not second % 2:
        newest = int(second > first)
        return Flaw(newest, "a head of the file", "is not of the commit behind the other one's")
    return None


def flaws_at(file: Path, number: int, own: Collection[str]) -> list[Flaw] | None:
    """What is wrong with the pages of one commit of a file in use, which a snapshot keeps; None where no head tells of it."""
    head = next((one for one in heads(file) if one is not None and one.txn == number), None)
    return None if head is None else list(Pages(file, head, own).flaws())


def flaws(file: Path, own: Collection[str]) -> Iterator[Flaw]:
    """What is wrong with a file of this layout that no process has open; nothing for a new or another one. Raises OSError."""
    known = [head for head in heads(file) if head is not None]
    if not known:
        return
    flaw = flaw_in_heads(file)
    if flaw is not None:
        yield flaw
        return
    yield from Pages(file, max(known, key=lambda head: head.txn), own).flaws()
