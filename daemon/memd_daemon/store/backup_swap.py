"""One store put in the place of another, whole or not at all, whatever befalls the process in between.

The new store is made ready in ``<home>/replaced/<when>.staged/store``; then, while nobody has either open:

1. the derived indexes are moved out of the home: they are of the old store, and each start makes what is missing anew;
2. the two stores change places by one system call (``RENAME_EXCHANGE``; a rename where there was none), and the disk is told;
3. ``<when>.staged`` becomes ``<when>``: from now on it is what was there before, kept until somebody removes it.

A new store holds the empty file ``incoming`` while it is not in use. So after a kill, which may come between any two of these
steps, a staged folder can be told from one whose store was exchanged already: `settle` removes the one and finishes the other.
Either way the home has the old store or the new one, never a part of either.

Whoever makes a store ready holds a lock on the folder that it is made in, which ends with him: what another is at work in is let
be.

Whoever calls has the daemon's locks (memd_daemon/holder.py).
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from memd_daemon import limits
from memd_daemon.store import fs
from memd_daemon.store.backup_refused import CannotSwap, SwapUnfinished

KEPT: Final = "replaced"
STAGED: Final = ".staged"
INCOMING: Final = "incoming"

_EXCHANGE: Final = 2  # RENAME_EXCHANGE of linux/fs.h
_HERE: Final = -100  # AT_FDCWD

Step = Callable[[str], None]
"""Told what was just done."""


def _no_word(step: str) -> None:
    """Nobody follows the steps."""


def staging(home: Path, now_ms: int, whole: contextlib.ExitStack | None = None) -> Path:
    """A new folder for what is to be put in place, this process's own as long as ``whole``.

    Raises OSError, FolderUnsafe, StoreFull, StoreReadOnly.
    """
    kept = fs.prepare(home, KEPT)
    when = time.strftime("%Y-%m-%dT%H-%M-%SZ", time.gmtime(now_ms // limits.MS_PER_S))
    for further in ("", *(f"-{n}" for n in range(1, limits.KEPT_STORES_OF_A_SECOND_MAX))):
        folder = kept / f"{when}{further}{STAGED}"
        if not (kept / folder.name.removesuffix(STAGED)).exists():
            with contextlib.suppress(
                FileExistsError, FileNotFoundError
            ):  # another has it, or saw nobody's and dropped it
                folder.mkdir(mode=fs.DIRECTORY_MODE)
                with contextlib.ExitStack() as own:
                    own.enter_context(_claimed(folder))
                    _mark(folder)
                    if whole is not None:
                        whole.push(own.pop_all())
                return folder
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(kept / when))


@contextlib.contextmanager
def _claimed(folder: Path, how: int = 0) -> Iterator[None]:
    """The lock of the folder, whatever it is called by the end. ``how``: LOCK_NB raises BlockingIOError where another has it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | how)
        yield
    finally:
        os.close(descriptor)


def _is_claimed(folder: Path) -> bool:
    try:
        with _claimed(folder, fcntl.LOCK_NB):
            return False
    except BlockingIOError:
        return True


def drop(folder: Path) -> None:
    """Removes what was staged and is not wanted, and the folder of kept ones where that is then empty."""
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        folder.parent.rmdir()


def drop_staged(folder: Path) -> None:
    """Removes what was staged, unless it has changed places by now: then the folder has what was there before, and `settle`
    names it so."""
    if _is_staged(folder):
        drop(folder)


def _is_staged(folder: Path) -> bool:
    return (folder / "store" / INCOMING).exists() or not (folder / "store" / "log").exists()


def settle(home: Path, own: Path | None = None) -> list[Path]:
    """Finishes or takes back what was broken off before; gives the folders that were kept by it. ``own``: the caller's, let be."""
    found: list[Path] = []
    for folder in sorted(set((home / KEPT).glob(f"*{STAGED}")) - {own}):
        if _is_claimed(folder):
            continue
        if _is_staged(folder):
            drop(folder)
        else:
            found.append(_named(folder))
    (home / "store" / INCOMING).unlink(missing_ok=True)
    return found


def _mark(folder: Path) -> None:
    """Says of a staged store that it is the one to come, before there is anything of it."""
    fs.make_own(folder / "store")
    fs.make_private(folder / "store" / INCOMING)
    fs.sync_folder(folder / "store")
    fs.sync_folder(folder)
    fs.sync_folder(folder.parent)


def swap(home: Path, folder: Path, step: Step = _no_word) -> Path | None:
    """Puts the store in ``folder`` in place. Gives the folder with what was there; None where nothing was.

    Raises CannotSwap: then nothing was done that a start of memd does not mend; SwapUnfinished: then the new store is in place,
    and `settle` does the rest.
    """
    try:
        (home / "store" / INCOMING).unlink(missing_ok=True)
        fs.make_private(folder / "store" / INCOMING)
        fs.sync_folder(folder / "store")
        step("marked")
        _put_indexes_aside(home, folder)
        step("indexes aside")
        had_one = (home / "store").exists()
        _exchange(folder / "store", home / "store", had_one=had_one)
    except OSError as error:
        raise CannotSwap(home, error.strerror or error) from error
    try:
        step("exchanged")
        fs.sync_folder(home)
        fs.sync_folder(folder)
        return _finished(home, folder, step, had_one=had_one)
    except OSError as error:
        kept = f"What was there is in {folder}. " if had_one else ""
        raise SwapUnfinished(home, error.strerror or error, kept) from error


def _finished(home: Path, folder: Path, step: Step, *, had_one: bool) -> Path | None:
    """What follows an exchange that the disk has."""
    (home / "store" / INCOMING).unlink(missing_ok=True)
    step("unmarked")
    shutil.rmtree(folder / "index", ignore_errors=True)
    if not had_one:
        drop(folder)
        step("dropped")
        return None
    kept = _named(folder)
    step("named")
    return kept


def _named(folder: Path) -> Path:
    kept = folder.with_name(folder.name.removesuffix(STAGED))
    folder.rename(kept)
    fs.sync_folder(folder.parent)
    return kept


def _put_indexes_aside(home: Path, folder: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        (home / "index").rename(folder / "index")
    fs.sync_folder(home)


def _exchange(new: Path, old: Path, *, had_one: bool) -> None:
    if not had_one:
        new.rename(old)
        return
    libc = ctypes.CDLL(None, use_errno=True)
    paths = (ctypes.c_int(_HERE), os.fsencode(new), ctypes.c_int(_HERE), os.fsencode(old))
    try:
        failed = libc.renameat2(*paths, ctypes.c_uint(_EXCHANGE))
    except AttributeError as missing:  # a system without it
        raise OSError(errno.ENOSYS, "this system exchanges no folders in one step") from missing
    if failed:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
