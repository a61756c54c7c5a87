"""What LMDB would die of, looked for before it opens a file: pages that lead nowhere, and a lock file without room on the disk.

**Pages.** A file that is as the last daemon closed it is opened at once; `closed` beside it says which that was, by its inode, size
and time of change. Any other (after a kill, a copy, a restore, an edit) is looked through first (lmdb_pages.py), as long as that
takes no longer than a start may; a larger one only where the last daemon was ended by a fault.

**Room.** LMDB maps its lock file and writes into it. A page of it that has no place on a full disk is a SIGBUS, so all of them are
asked for beforehand.
"""

import contextlib
import os
from collections.abc import Collection, Iterable
from itertools import islice
from pathlib import Path
from typing import Final

from memd_daemon import limits
from memd_daemon.errors import StoreDamaged
from memd_daemon.store import fs
from memd_daemon.store.lmdb_file import heads
from memd_daemon.store.lmdb_pages import flaws

CLOSED: Final = "closed"


def stamp(file: Path) -> tuple[int, int] | None:
    """Device and inode; None where there is no such file."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def boot_id() -> str:
    """What names this run of the machine; "" where the system does not tell."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text()
    except OSError:
        return ""


def set_aside(folder: Path, names: Iterable[str]) -> None:
    """What lies there under these names is kept under others, out of the way of a new file."""
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            (folder / name).replace(folder / f"{name}.unsynced")


def note_closed(folder: Path, name: str) -> None:
    """Says how the file is left. Without room for it the next start looks the file through, and that is all."""
    with contextlib.suppress(OSError):
        fs.make_private(folder / CLOSED)
        (folder / CLOSED).write_text(_shape(folder / name))


def is_as_closed(folder: Path, name: str) -> bool:
    """Whether nobody has written to the file since it was closed."""
    try:
        return (folder / CLOSED).read_text() == _shape(folder / name)
    except (OSError, UnicodeDecodeError):
        return False


def _shape(file: Path) -> str:
    seen = file.stat()
    return f"{seen.st_ino} {seen.st_size} {seen.st_mtime_ns}\n"


def refuse_flawed(file: Path, tables: Collection[str], *, whole: bool) -> None:
    """Raises StoreDamaged with the first pages that cannot be followed. ``whole``: also where the file is too large for a start."""
    pages = max((head.pages for head in heads(file) if head is not None), default=0)
    if pages > limits.START_PAGES_MAX and not whole:
        return
    found = list(islice(flaws(file, tables), limits.FLAWS_NAMED_MAX))
    if found:
        raise StoreDamaged(f"{file}: " + "; ".join(map(str, found)))


def make_room(lock: Path) -> None:
    """Has the disk keep a place for every page of LMDB's lock file. Raises OSError where it has none."""
    if not hasattr(os, "posix_fallocate"):
        return
    descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
    try:
        os.posix_fallocate(descriptor, 0, limits.LOCK_FILE_BYTES)
    finally:
        os.close(descriptor)
