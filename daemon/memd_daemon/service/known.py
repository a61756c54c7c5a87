"""What was made of the log before: edits ask for the gotchas of the same few files again and again, starts for the same rules.

A view without its ground depends on the log alone, and the log only grows; so views are taken again while the snapshot counts as
many commits and events as the one they were made from, and the first write after that forgets them all. What is made of views and
of something else is kept beside them, under a key that says what else.
"""

import threading
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from memd_daemon import limits
from memd_daemon.model.view import NoteView
from memd_daemon.store.port import Snapshot

T = TypeVar("T")

Views = tuple[NoteView, ...]
Key = tuple[object, ...]
Version = tuple[int, int]


class Known(Protocol):
    """What is known at one snapshot: ``known(key, made)`` gives the rows of a key, by ``made`` where they are not known.

    ``made`` makes them from that very snapshot and from what the key says, and from nothing else.
    """

    def __call__(self, key: Key, made: Callable[[], tuple[T, ...]]) -> tuple[T, ...]: ...


class KnownViews:
    """Rows by what they were asked for with. Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._version: Version = (-1, -1)
        self._known: dict[Key, tuple[Any, ...]] = {}
        self._count = 0

    def forget(self) -> None:
        """The rows that they were made from were made anew, without a write to the log."""
        with self._lock:
            self._forget((-1, -1))

    def at(self, snapshot: Snapshot) -> Known:
        """What is known at this snapshot."""
        version = snapshot.version()

        def known(key: Key, made: Callable[[], tuple[T, ...]]) -> tuple[T, ...]:
            return self._of(version, key, made)

        return known

    def _of(self, version: Version, key: Key, made: Callable[[], tuple[T, ...]]) -> tuple[T, ...]:
        with self._lock:
            if version != self._version:
                self._forget(version)
            known = self._known.get(key)
        if known is None:
            known = made()
            self._keep(version, key, known)
        return known

    def _keep(self, version: Version, key: Key, rows: tuple[Any, ...]) -> None:
        with self._lock:
            if version != self._version:  # another thread has come with a later snapshot
                return
            if self._count + len(rows) > limits.VIEWS_KNOWN_MAX:
                self._forget(version)
            self._count += len(rows) - len(self._known.get(key, ()))
            self._known[key] = rows

    def _forget(self, version: Version) -> None:
        self._version, self._known, self._count = version, {}, 0
