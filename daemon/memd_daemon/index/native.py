"""The one place that decides in which order the native libraries enter the process.

usearch carries a libstdc++ of its own, some of whose symbols are unique to the process whoever loads them first. If
usearch comes in before the libstdc++ that onnxruntime needs, onnxruntime's initialization crashes the process
(docs/adr/0002). onnxruntime first is safe. So nothing else imports either; both come in on demand, since together they
cost about 120 ms and 35 MB, and the daemon answers before.

The names are imported as strings: no type of either library crosses this module.

The C heap that they all share is set here too: by default glibc gives each thread an arena of its own, lets what counts as
a large block grow with use, and keeps what was freed. In a process that lives for days and commits an index now and then,
that is about 40 MB of nothing.
"""

import ctypes
import os
from importlib import import_module
from types import ModuleType
from typing import Final

from memd_daemon import limits

M_TRIM_THRESHOLD: Final = -1  # glibc's names and numbers, from malloc.h
M_MMAP_THRESHOLD: Final = -3
M_ARENA_MAX: Final = -8

NO_TELEMETRY: Final = ("ORT_DISABLE_TELEMETRY", "ORT_TELEMETRY_DISABLED")
"""What onnxruntime's versions read to leave everything out: uploader, device id, cache. Latched when it is imported."""


def keep_heap_small() -> bool:
    """Make the allocator give memory back. Early, before there are threads; False where it is not glibc's."""
    allocator = getattr(ctypes.CDLL(None), "mallopt", None)
    if allocator is None:
        return False
    wanted = (
        (M_ARENA_MAX, limits.HEAP_ARENAS_MAX),
        (M_MMAP_THRESHOLD, limits.HEAP_LARGE_BLOCK_BYTES),
        (M_TRIM_THRESHOLD, limits.HEAP_LARGE_BLOCK_BYTES),
    )
    return all(allocator(parameter, value) == 1 for parameter, value in wanted)


def give_heap_back() -> None:
    """What was freed in the middle of the allocator's heaps goes back to the system: some 50 ms for half a gigabyte."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def onnxruntime() -> ModuleType:
    """The module ``onnxruntime``, its telemetry off before it is in: no event, no device id, no file, no look-up of a host.

    Its Linux builds report to their maker unless they are told otherwise before they are imported.
    """
    os.environ.update(dict.fromkeys(NO_TELEMETRY, "1"))
    runtime = import_module("onnxruntime")
    runtime.disable_telemetry_events()
    return runtime


def usearch() -> ModuleType:
    """The module ``usearch.index``; onnxruntime is in before it."""
    onnxruntime()
    return import_module("usearch.index")
