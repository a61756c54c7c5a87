"""Which files of a checkout git has: a repository's own, as against what only lies in it (dependencies, downloads, drafts)."""

import os
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from itertools import islice

from memd_daemon import limits
from memd_daemon.ground.contents import Unreadable, read_below
from memd_daemon.ground.repository import Checkout, clean, from_root, git, led


class Tracked:
    """Remembers those that git had: one that it gives up soon after was the repository's all the same. Off the hook path only."""

    def __init__(self) -> None:
        self._known: set[tuple[str, str]] = set()

    def among(self, checkout: Checkout, paths: Collection[str]) -> frozenset[str]:
        """Those of ``paths``, from the checkout's root, that git has; outside git all of them."""
        if not checkout.common:
            return frozenset(paths)
        unknown = [path for path in paths if (checkout.root, path) not in self._known]
        if unknown:
            self._learn(checkout.root, unknown)
        return frozenset(path for path in paths if (checkout.root, path) in self._known)

    def _learn(self, root: str, paths: Collection[str]) -> None:
        told = git(root, "--literal-pathspecs", "ls-files", "-z", "--", *paths) or ""
        if len(self._known) + len(paths) > limits.FILES_TRACKED_KNOWN_MAX:
            self._known.clear()
        listed = {unicodedata.normalize("NFC", clean(path)) for path in told.split("\0")}
        self._known.update((root, path) for path in paths if path in listed)


def folders_named(cwd: str, names: Iterable[str]) -> Iterator[str]:
    """The folders among ``names``, as seen from ``cwd``."""
    return (folder for name in names if "\0" not in name and os.path.isdir(folder := os.path.join(cwd, name)))


def files_named(root: str, folders: Collection[str], names: Iterable[str]) -> list[str]:
    """Regular files below ``root`` that ``names`` name as seen from one of the folders, from the root; so many at most."""
    places = ((folder, name) for name in names if name and "\0" not in name for folder in folders)
    reals = (led(folder, name).real for folder, name in places if os.path.isfile(os.path.join(folder, name)))
    inside = (from_root(root, real) for real in reals)
    return list(islice(dict.fromkeys(path for path in inside if path), limits.RESULT_FILES_MAX))


def content_of(root: str, path: str) -> str:
    """The text of a file; "" of one that cannot be read, or is larger than what is looked at."""
    try:
        content = read_below(root, os.path.join(root, path), limits.RESULT_FILE_MAX_BYTES)
    except (OSError, ValueError, Unreadable):
        return ""
    return (content or b"").decode("utf-8", "replace")
