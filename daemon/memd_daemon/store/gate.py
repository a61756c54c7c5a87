"""A gate for snapshots: they come and go, and what needs to be alone waits until none is open."""

import contextlib
import threading
from collections.abc import Iterator

from memd_daemon.errors import StoreFull
from memd_daemon.limits import MAP_GROW_WAIT_S


class Gate:
    """Of one environment: its map changes only while no snapshot is open."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._shut = False

    def enter(self) -> None:
        """A snapshot opens; `leave` has to follow."""
        with self._changed:
            if self._shut:
                self._changed.wait_for(lambda: not self._shut)
            self._inside += 1

    def leave(self) -> None:
        with self._changed:
            self._inside -= 1
            if self._shut:
                self._changed.notify_all()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Raises StoreFull where a snapshot is held for too long."""
        with self._changed:
            self._shut = True
            try:
                if not self._changed.wait_for(lambda: self._inside == 0, MAP_GROW_WAIT_S):
                    raise StoreFull
                yield
            finally:
                self._shut = False
                self._changed.notify_all()
