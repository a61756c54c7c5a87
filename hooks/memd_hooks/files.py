"""Replace a file that belongs to somebody else: whole or not at all, through its links, its mode and owner kept."""

import contextlib
import os
import tempfile
from pathlib import Path


def replace_file(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """Puts ``content`` in the place of ``path`` atomically: a temporary file beside it, synced, renamed over it.

    A symbolic link stays one: the file it leads to is replaced. ``mode`` None keeps the mode that is there (0600 for a new
    file). The folder must exist. Raises OSError, and then nothing has changed.
    """
    target = Path(os.path.realpath(path))
    before = _status(target)
    if before is not None and not os.access(target, os.W_OK):
        raise PermissionError(
            f"{target} may not be written"
        )  # a rename would not ask, but a person who said so is obeyed
    descriptor, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".memd")
    with contextlib.ExitStack() as undo:
        undo.callback(_remove, draft)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if before is not None and before.st_uid != os.geteuid():
                os.fchown(file.fileno(), before.st_uid, before.st_gid)
            kept = 0o600 if before is None else before.st_mode & 0o7777
            os.fchmod(file.fileno(), kept if mode is None else mode)
            os.fsync(file.fileno())
        os.replace(draft, target)
        undo.pop_all()
    sync_folder(target.parent)


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def sync_folder(folder: Path) -> None:
    """Makes a rename or removal in ``folder`` last through a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def missing_folders(path: Path) -> tuple[Path, ...]:
    """The folders above ``path`` that are not there yet, outermost first."""
    missing: list[Path] = []
    for folder in path.parents:
        if folder.exists():
            break
        missing.insert(0, folder)
    return tuple(missing)


def remove_folders(folders: tuple[Path, ...]) -> None:
    """Takes away those of ``folders`` (outermost first) that are empty."""
    for folder in reversed(folders):
        with contextlib.suppress(OSError):
            folder.rmdir()


def _status(target: Path) -> os.stat_result | None:
    try:
        return target.stat()
    except FileNotFoundError:
        return None
