"""The head of an LMDB file (0.9 layout), read without LMDB: whether the file is as long as it says.

LMDB maps the file; a read behind its end is a SIGBUS, which no Python code can catch. So a file that was cut short is found first.
"""

import struct
from pathlib import Path
from typing import Final

import msgspec

from memd_daemon.errors import StoreDamaged


class _Meta(msgspec.Struct, frozen=True):
    """One of the two heads of an LMDB file."""

    txn: int
    pages: int
    page_bytes: int


_HEAD: Final = struct.Struct("=16xII8x8xI92xQQ")  # page header, magic, version, …, page size, …, last page, transaction
_MAGIC: Final = 0xBEEFC0DE
_DATA_VERSION: Final = 1  # of LMDB 0.9; a file of another layout is left to LMDB itself


def _head_at(raw: bytes) -> _Meta | None:
    if len(raw) < _HEAD.size:
        return None
    magic, version, page_bytes, last_page, txn = _HEAD.unpack(raw[: _HEAD.size])
    if magic != _MAGIC or version != _DATA_VERSION:
        return None
    return _Meta(txn=txn, pages=last_page + 1, page_bytes=page_bytes)


def refuse_cut(file: Path) -> None:
    """Raises StoreDamaged where the file is shorter than it says it is: a read behind its end would kill the process."""
    size = file.stat().st_size
    if size == 0:
        return
    with file.open("rb") as stream:
        first = _head_at(stream.read(_HEAD.size))
        if first is None:
            return
        stream.seek(first.page_bytes)
        second = _head_at(stream.read(_HEAD.size))
    newest = max((m for m in (first, second) if m is not None), key=lambda m: m.txn)
    if size < newest.pages * newest.page_bytes:
        raise StoreDamaged(f"{file} has {size} of its {newest.pages * newest.page_bytes} bytes")
