"""How a path is spelled on the disk: one file has one path, whatever it was called by.

Where a directory folds case (APFS, NTFS and the mounts of both, ext4 with `casefold`), `SRC/App.py` leads to `src/app.py`; the name
that the directory itself gives is the one that notes, git and other machines know. Whether a directory folds is asked of the
file system, by the other case of a name in it, once a directory; only one that does is ever listed, and not a huge one.

Paths of anchors are NFC text. A disk that keeps what it was given (Linux) may hold the very name decomposed: `located` finds it.
"""

import os
import threading
import unicodedata
from collections.abc import Callable
from itertools import islice
from string import ascii_letters
from typing import Final, TypeVar

from memd_daemon import limits

T = TypeVar("T")

Folds = Callable[[str, str], bool | None]
"""(a directory, a name that is in it) -> whether it folds case; None where that name cannot tell."""


_OTHER_CASE: Final = str.maketrans(ascii_letters, ascii_letters.swapcase())


def folds_case(directory: str, name: str) -> bool | None:
    """What the file system says: whether the other case of a name leads to the same file."""
    other = name.translate(_OTHER_CASE)
    if other == name:
        return None
    try:
        here = os.lstat(os.path.join(directory, name))
    except OSError:
        return None
    try:
        there = os.lstat(os.path.join(directory, other))
    except OSError:
        return False
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


class Spelling:
    """Spells paths as the disk does. Safe to call from any thread."""

    def __init__(self, folds: Folds = folds_case) -> None:
        self._folds_case = folds
        self._lock = threading.Lock()
        self._folding: dict[str, bool] = {}
        self._names: dict[str, tuple[int, dict[str, str]]] = {}
        self._plain: dict[str, bool] = {}

    def of(self, real: str) -> str:
        """A real path as the disk spells it; a part that is not there yet stays as it is."""
        if real in self._plain:
            return real
        here, is_plain = "/", True
        for name in real.split("/"):
            if name:
                folder, here = here, self.within(here, name)
                is_plain = is_plain and self._folding.get(folder) is False
        if is_plain and here == real:
            self._keep(self._plain, real, True)  # no folder on its way folds case, and that stays so
        return here

    def is_plain(self, real: str) -> bool:
        """Whether it is known of a path that no folder on its way folds case: it is spelled as it stands, and stays so."""
        return real in self._plain

    def within(self, folder: str, name: str) -> str:
        """The path of a name in a folder that is spelled so itself."""
        return os.path.join(folder, self._spelled(folder, name) if self._folds(folder, name) else name)

    def _folds(self, directory: str, name: str) -> bool:
        known = self._folding.get(directory)
        if known is None:
            known = self._folds_case(directory, name)
            if known is not None:
                self._keep(self._folding, directory, known)
        return bool(known)

    def _spelled(self, directory: str, name: str) -> str:
        try:
            at = os.stat(directory).st_mtime_ns
            found = self._names.get(directory)
            if found is None or found[0] != at:
                found = (at, _listed(directory))
                self._keep(self._names, directory, found)
        except OSError:
            return name
        return found[1].get(name) or found[1].get(_folded(name), name)

    def _keep(self, known: dict[str, T], directory: str, value: T) -> None:
        with self._lock:
            if len(known) >= limits.FOLDERS_KNOWN_MAX:
                known.clear()
            known[directory] = value


def _listed(directory: str) -> dict[str, str]:
    """Each name, by itself and folded; of a folder with too many names none."""
    with os.scandir(directory) as entries:
        names = [entry.name for entry in islice(entries, limits.FOLDER_LISTED_MAX + 1)]
    if len(names) > limits.FOLDER_LISTED_MAX:
        return {}
    return {_folded(name): name for name in names} | {name: name for name in names}


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


ON_DISK: Final = Spelling()


def located(root: str, relative: str) -> str:
    """Where a file of a checkout lies, named by its NFC path from the root; where there is none, where it would lie."""
    path = os.path.join(root, relative)
    if relative.isascii() or os.path.lexists(path):
        return path
    here = root
    for name in relative.split("/"):
        composed, decomposed = (os.path.join(here, unicodedata.normalize(form, name)) for form in ("NFC", "NFD"))
        here = decomposed if not os.path.lexists(composed) and os.path.lexists(decomposed) else composed
    return here
