"""Derived files that prove they are whole: written atomically, read back only if no byte changed.

    payload | payload length u64 | CRC-32 of payload u32 | b"memdidx1"        (little endian)

A native library that maps a file trusts it; a flipped bit would crash the daemon in place of an error. The seal costs
one pass over the file at load (60 MB: 30 ms) and an unknown or missing one raises ``Unreadable``. The trailer comes last
so that a payload can be streamed and its reader can map the file as it is.
"""

import contextlib
import mmap
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

from memd_daemon import limits
from memd_daemon.index.port import Unreadable

TRAILER: Final = struct.Struct("<QI8s")
MAGIC: Final = b"memdidx1"


def write_sealed(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` make the payload at a temporary path; seal it, sync it and rename it to `path`."""
    aside = path.with_name(path.name + ".new")
    try:
        write(aside)
        with aside.open("r+b") as file:
            length, crc = checksum(file.fileno())
            file.seek(length)
            file.write(TRAILER.pack(length, crc, MAGIC))
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
        sync_folder(path.parent)
    finally:
        aside.unlink(missing_ok=True)


def write_sealed_bytes(path: Path, content: bytes) -> None:
    """Seal `content` as the payload at `path`."""

    def put(aside: Path) -> None:
        aside.write_bytes(content)

    write_sealed(path, put)


def read_sealed(path: Path) -> memoryview:
    """The payload, mapped read-only for as long as the view lives.

    :raises Unreadable: missing, cut short or altered
    """
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as problem:  # ValueError: an empty file cannot be mapped
        raise Unreadable(str(problem)) from problem
    length = len(mapped) - TRAILER.size
    if length < 0 or TRAILER.unpack_from(mapped, length) != (length, crc_of(mapped, length), MAGIC):
        mapped.close()
        raise Unreadable(f"{path.name} is not whole")
    return memoryview(mapped)[:length]


def checksum(descriptor: int) -> tuple[int, int]:
    """(length, CRC-32) of an open file."""
    length = crc = 0
    while block := os.pread(descriptor, limits.FILE_BLOCK_BYTES, length):
        length, crc = length + len(block), zlib.crc32(block, crc)
    return length, crc


def crc_of(mapped: mmap.mmap, length: int) -> int:
    """CRC-32 of the first `length` bytes of a map."""
    crc = 0
    with memoryview(mapped) as whole:
        for start in range(0, length, limits.FILE_BLOCK_BYTES):
            with whole[start : min(start + limits.FILE_BLOCK_BYTES, length)] as block:
                crc = zlib.crc32(block, crc)
    return crc


def sync_folder(folder: Path) -> None:
    """Make a rename in the folder durable, where the file system can."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some file systems refuse fsync on a folder; the file itself is synced
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
