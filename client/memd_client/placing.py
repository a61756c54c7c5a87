"""A file of a person's own, written whole or not at all, and never over another one.

It is written without a name where it is to lie, made known to the disk, and takes its name only then; so nothing is left of one
that was broken off, whatever ended its writer. Where something has that name by now, nothing is touched. A disk that knows no files
without names has it under a hidden one meanwhile. Mode 0600: what memd gives out is as private as what it keeps."""

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

MODE = 0o600
_DESCRIPTORS = "/proc/self/fd"
_TMPFILE = getattr(os, "O_TMPFILE", 0)  # Linux alone has it
_NO_NAMELESS = (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL)
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


@contextlib.contextmanager
def placed(path: Path) -> Iterator[int]:
    """The descriptor of a new file, which lies under its name once the block has ended well. Raises FileExistsError, OSError."""
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    nameless = _nameless(path.parent)
    descriptor = (
        os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE) if nameless is None else nameless
    )
    try:
        os.fchmod(descriptor, MODE)
        yield descriptor
        os.fsync(descriptor)
        if nameless is None:
            _give_name(draft, path)
        else:
            _name(nameless, draft, path)
        _sync_folder(path.parent)
    finally:
        os.close(descriptor)
        with contextlib.suppress(OSError):
            draft.unlink()


def _nameless(folder: Path) -> int | None:
    """A new file without a name in ``folder``; None where its disk has none such, or none that could be named later."""
    if not os.path.isdir(_DESCRIPTORS):
        return None
    try:
        return os.open(folder, os.O_RDWR | _TMPFILE | os.O_CLOEXEC, MODE)
    except OSError as error:
        if error.errno in _NO_NAMELESS:
            return None
        raise


def _name(descriptor: int, draft: Path, path: Path) -> None:
    """Gives a file without a name one (open(2), `O_TMPFILE`); by way of a copy on a disk without links."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.link(f"{_DESCRIPTORS}/{descriptor}", path.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=True)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _copy(descriptor, draft)
        _give_name(draft, path)
    finally:
        os.close(folder)


def _copy(descriptor: int, draft: Path) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    with open(descriptor, "rb", closefd=False) as source, open(draft, "xb") as target:
        os.fchmod(target.fileno(), MODE)
        shutil.copyfileobj(source, target)
        target.flush()
        os.fsync(target.fileno())


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
