"""Checkouts that were looked at before: a hook comes from the same directory as the one before it.

What a checkout is made of is read from a few files (repository.py). A known one is taken again while each of them has the
inode, size and times that it had: git writes HEAD and config beside and renames, so no change keeps all of these. Only what
those files say whole is kept: not a directory outside git, not one below a further `.git` that led nowhere, and not a clone of a
path, whose remote is also named by what lies at that path.
"""

import os
import stat
import threading

from memd_daemon import limits
from memd_daemon.ground.repository import Checkout, find_checkout

Shape = tuple[tuple[int, int, int, int] | None, ...]
"""(inode, size, mtime, ctime in ns) of each file, of a directory the inode alone; None where there is none."""


class Checkouts:
    """Finds checkouts, reading each again only when a file that decides has changed. Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, tuple[Shape, Checkout]] = {}

    def at(self, directory: str) -> Checkout:
        """The checkout that ``directory``, a real path, lies in, or the directory itself outside git."""
        with self._lock:
            known = self._known.get(directory)
        if known is not None and _shape(directory, known[1]) == known[0]:
            return known[1]
        found = find_checkout(directory)
        shape = _shape(directory, found)
        # Looked at once more: a change between look and shape would be taken for what was before it, and for ever.
        if _says_all(directory, found) and find_checkout(directory) == found:
            self._keep(directory, shape, found)
        return found

    def _keep(self, directory: str, shape: Shape, found: Checkout) -> None:
        with self._lock:
            if len(self._known) >= limits.CHECKOUTS_KNOWN_MAX:
                self._known.clear()
            self._known[directory] = (shape, found)


def _says_all(directory: str, found: Checkout) -> bool:
    return bool(found.common) and not found.remote.startswith("/") and not any(_below(directory, found.root))


def _shape(directory: str, found: Checkout) -> Shape:
    own = (os.path.join(found.git_dir, name) for name in ("HEAD", "commondir"))
    files = (os.path.join(found.root, ".git"), *own, os.path.join(found.common, "config"))
    return (*_below(directory, found.root), *map(_of, files))


def _below(directory: str, root: str) -> Shape:
    """What stands as `.git` at each place from the directory up to its checkout's root, the root left out."""
    places = []
    while len(directory) > len(root):
        places.append(_of(os.path.join(directory, ".git")))
        directory = os.path.dirname(directory)
    return tuple(places)


def _of(path: str) -> tuple[int, int, int, int] | None:
    try:
        seen = os.stat(path)
    except OSError:
        return None
    if stat.S_ISDIR(seen.st_mode):
        return seen.st_ino, 0, 0, 0
    return seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns
