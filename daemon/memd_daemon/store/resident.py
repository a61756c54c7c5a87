"""Pages of a mapped file that a look through all of it has left in memory.

They are the system's cache of the file, which it takes back where memory is short. Until then they count as the process's, so
that a daemon with a store of 300 MB seems to hold 300 MB for good. `let_go` unmaps them: the next read of one finds it in the
system's cache again, which takes a fraction of a microsecond. Nothing is lost by it, as the file is mapped shared and never written
through the map.
"""

import ctypes
import errno
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

MADV_DONTNEED: Final = 4  # of Linux
_MAPS: Final = Path("/proc/self/maps")


def let_go(file: Path) -> None:
    """Gives back the pages of every map of this file; where the system is not Linux nothing happens.

    The caller makes sure that the file stays mapped where it is meanwhile: what is mapped there next would lose what it holds.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    for start, end in maps_of(file):
        if libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), MADV_DONTNEED):
            code = ctypes.get_errno()
            if code != errno.EINVAL:  # a locked map keeps its pages
                raise OSError(code, "madvise")


def maps_of(file: Path) -> Iterator[tuple[int, int]]:
    """(first address, first address behind it) of every map of a file in this process."""
    name = str(file.resolve())
    for line in _MAPS.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        fields = line.split(maxsplit=5)  # addresses, rights, offset, device, inode, path
        if len(fields) == 6 and fields[5] == name:
            start, _, end = fields[0].partition("-")
            yield int(start, 16), int(end, 16)
