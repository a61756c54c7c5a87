"""A file of a person's own, written whole or not at all, and never over another one.

It is written under a hidden name beside where it is to lie, made known to the disk, and takes its name only then; where something
has that name by now, nothing is touched. Mode 0600: what memd gives out is as private as what it keeps."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

MODE = 0o600
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


@contextlib.contextmanager
def placed(path: Path) -> Iterator[int]:
    """The descriptor of a new file, which lies under its name once the block has ended well. Raises FileExistsError, OSError."""
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE)
    try:
        os.fchmod(descriptor, MODE)
        yield descriptor
        os.fsync(descriptor)
        _give_name(draft, path)
        _sync_folder(path.parent)
    finally:
        os.close(descriptor)
        with contextlib.suppress(OSError):
            draft.unlink()


def _give_name(draft: Path, path: Path) -> None:
    """A link fails where the name is taken; a disk without links (a stick) is looked at first, and then renamed on."""
    try:
        os.link(draft, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from error
        draft.rename(path)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
