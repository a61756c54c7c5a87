"""Readings of contents against turns that were made before (spoken.py), by all that decides them; and which turns were looked at
just now, so that none is looked at for each note that is told."""

import threading
import time
from typing import Final

from memd_daemon import limits
from memd_daemon.model.event import Evidence
from memd_daemon.model.view import SpokenView

Key = tuple[bytes, tuple[Evidence, ...], tuple[str, ...]]
"""The content's digest, the evidence, and what is known of each of its turns ("" for one that is not here)."""


class Readings:
    """A bounded table. Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._known: dict[Key, SpokenView] = {}
        self._looked_at: dict[int, float] = {}  # turn -> when, by the monotonic clock

    def get(self, key: Key) -> SpokenView | None:
        with self._lock:
            return self._known.get(key)

    def put(self, key: Key, made: SpokenView) -> SpokenView:
        """The reading that is kept under this key, which is always the same object as long as it is."""
        with self._lock:
            if len(self._known) >= limits.READINGS_KNOWN_MAX:
                self._known.clear()
            return self._known.setdefault(key, made)

    def is_due(self, turn: int) -> bool:
        """Whether the turn may be looked at again, which is then taken as done."""
        now = time.monotonic()
        with self._lock:
            if now - self._looked_at.get(turn, -limits.TURN_LOOKED_AT_EVERY_S) < limits.TURN_LOOKED_AT_EVERY_S:
                return False
            if len(self._looked_at) >= limits.READINGS_KNOWN_MAX:
                self._looked_at.clear()
            self._looked_at[turn] = now
            return True
