"""Views that were made before: edits ask for the gotchas of the same few files again and again, starts for the same rules.

A view without its ground depends on the log alone, and the log only grows; so views are taken again while the snapshot counts as
many commits and events as the one they were made from, and the first write after that forgets them all.
"""

import threading
from collections.abc import Callable
from functools import partial

from memd_daemon import limits
from memd_daemon.model.view import NoteView
from memd_daemon.store.port import Snapshot

Views = tuple[NoteView, ...]
Key = tuple[str, ...]
Known = Callable[[Key, Callable[[], Views]], Views]


class KnownViews:
    """Views by what they were asked for with. Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._version = (-1, -1)
        self._known: dict[Key, Views] = {}
        self._count = 0

    def forget(self) -> None:
        """The rows that they were made from were made anew, without a write to the log."""
        with self._lock:
            self._forget((-1, -1))

    def at(self, snapshot: Snapshot) -> Known:
        """What is known at this snapshot: ``known(key, made)`` gives the views of a key.

        ``made`` makes them from the very snapshot where they are not known; their ground must not have been looked at.
        """
        return partial(self._of, snapshot.version())

    def _of(self, version: tuple[int, int], key: Key, made: Callable[[], Views]) -> Views:
        with self._lock:
            if version != self._version:
                self._forget(version)
            known = self._known.get(key)
        if known is None:
            known = made()
            self._keep(version, key, known)
        return known

    def _keep(self, version: tuple[int, int], key: Key, views: Views) -> None:
        with self._lock:
            if version != self._version:  # another thread has come with a later snapshot
                return
            if self._count + len(views) > limits.VIEWS_KNOWN_MAX:
                self._forget(version)
            self._count += len(views) - len(self._known.get(key, ()))
            self._known[key] = views

    def _forget(self, version: tuple[int, int]) -> None:
        self._version, self._known, self._count = version, {}, 0
