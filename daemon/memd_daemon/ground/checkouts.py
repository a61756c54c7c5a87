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
from memd_daemon.ground.repository import Checkout, find_checkout, is_there, marks_below

Shape = tuple[tuple[int, int, int, int] | None, ...]
"""(inode, size, mtime, ctime in ns) of each file, of a directory the inode alone; None where there is none."""


class Checkouts:
    """Finds checkouts, reading each again only when a file that decides has changed. Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, tuple[tuple[str, ...], Shape, Checkout]] = {}  # what was looked at, what it was like

    def at(self, directory: str) -> Checkout:
        """The checkout that ``directory``, a real path, lies in, or the directory itself outside git."""
        found = self.known_at(directory)
        if found is not None:
            return found
        found = find_checkout(directory)
        looked_at = _that_decide(directory, found)
        shape = tuple(map(_of, looked_at))
        # Looked at once more: a change between look and shape would be taken for what was before it, and for ever.
        if _says_all(directory, found) and find_checkout(directory) == found:
            self._keep(directory, looked_at, shape, found)
        return found

    def known_at(self, directory: str) -> Checkout | None:
        """Likewise, the very same as it was found before; None where it is not known, or no longer so."""
        with self._lock:
            known = self._known.get(directory)
        if known is None:
            return None
        is_so = all(not is_there(path) if of is None else _of(path) == of for path, of in zip(*known[:2], strict=True))
        return known[2] if is_so else None

    def _keep(self, directory: str, looked_at: tuple[str, ...], shape: Shape, found: Checkout) -> None:
        with self._lock:
            if len(self._known) >= limits.CHECKOUTS_KNOWN_MAX:
                self._known.clear()
            self._known[directory] = (looked_at, shape, found)


def _says_all(directory: str, found: Checkout) -> bool:
    if not found.common or found.remote.startswith("/"):
        return False
    return not any(map(is_there, marks_below(directory, found.root)))


def _that_decide(directory: str, found: Checkout) -> tuple[str, ...]:
    own = (os.path.join(found.git_dir, name) for name in ("HEAD", "commondir"))
    files = (os.path.join(found.root, ".git"), *own, os.path.join(found.common, "config"))
    return (*marks_below(directory, found.root), *files)


def _of(path: str) -> tuple[int, int, int, int] | None:
    try:
        seen = os.stat(path)
    except OSError:
        return None
    if stat.S_ISDIR(seen.st_mode):
        return seen.st_ino, 0, 0, 0
    return seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns
