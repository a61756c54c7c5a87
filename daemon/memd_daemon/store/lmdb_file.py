"""The head of an LMDB file (0.9 layout), read without LMDB: whether the file is as long as it says.

LMDB maps the file; a read behind its end is a SIGBUS, which no Python code can catch. So a file that was cut short is found first.
Whether what the head leads to can be followed is lmdb_pages.py's.
"""

import struct
from pathlib import Path
from typing import Final

import msgspec

from memd_daemon.errors import StoreDamaged


class Head(msgspec.Struct, frozen=True):
    """One of the two heads of an LMDB file. ``free`` and ``main``: what it says of the free pages and of the list of tables."""

    txn: int
    pages: int
    page_bytes: int
    free: bytes
    main: bytes


_HEAD: Final = struct.Struct("=16xII8x8x48s48sQQ")  # page header, magic, version, …, free, main, last page, transaction
_PAGE_BYTES: Final = struct.Struct("=I")  # first in what it says of the free pages
_MAGIC: Final = 0xBEEFC0DE
_DATA_VERSION: Final = 1  # of LMDB 0.9; a file of another layout is left to LMDB itself
_PAGE_SIZES: Final = frozenset(1 << n for n in range(9, 17))  # what LMDB takes


def _head_at(raw: bytes) -> Head | None:
    if len(raw) < _HEAD.size:
        return None
    magic, version, free, main, last_page, txn = _HEAD.unpack(raw[: _HEAD.size])
    (page_bytes,) = _PAGE_BYTES.unpack_from(free)
    if magic != _MAGIC or version != _DATA_VERSION or page_bytes not in _PAGE_SIZES:
        return None
    return Head(txn=txn, pages=last_page + 1, page_bytes=page_bytes, free=free, main=main)


def heads(file: Path) -> tuple[Head | None, Head | None]:
    """Both heads, None for one that cannot be read; the first, or the system, says where the second is. Raises OSError."""
    with file.open("rb") as stream:
        first = _head_at(stream.read(_HEAD.size))
        stream.seek(first.page_bytes if first is not None else _USUAL_PAGE_BYTES)
        return first, _head_at(stream.read(_HEAD.size))


_USUAL_PAGE_BYTES: Final = 4096


def refuse_cut(file: Path) -> None:
    """Raises StoreDamaged where the file is shorter than it says it is: a read behind its end would kill the process."""
    size = file.stat().st_size
    known = [head for head in heads(file) if head is not None]
    if size == 0 or not known:
        return
    newest = max(known, key=lambda head: head.txn)
    if size < newest.pages * newest.page_bytes:
        raise StoreDamaged(f"{file} has {size} of its {newest.pages * newest.page_bytes} bytes")
