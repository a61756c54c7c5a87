"""Which turns are to be looked at again in their transcripts, and what was found in one that has not grown since."""

import threading
from collections import OrderedDict

import msgspec

from memd_daemon import limits
from memd_hooks.harness.transcript import Finding


class Awaited(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that may turn out to have been typed. ``looks``: how often that was looked for; ``next_ms``: when it is next."""

    session: str
    next_ms: int
    looks: int = 0


class Unsettled:
    """Kept in memory: what is lost with the process is looked at when it is asked for. Safe to use from any thread.

    Each pause between two looks is twice the one before. Times are UTC, Unix milliseconds.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._awaited: OrderedDict[int, Awaited] = OrderedDict()
        self._found: OrderedDict[int, tuple[int, Finding]] = OrderedDict()

    def await_turn(self, number: int, session: str, now_ms: int) -> None:
        """Hooks of its session that come later look at it."""
        with self._lock:
            self._awaited[number] = Awaited(session=session, next_ms=now_ms + limits.LOOK_PAUSE_MS)
            if len(self._awaited) > limits.LOOKS_KEPT_MAX:
                self._awaited.popitem(last=False)

    def due(self, session: str, now_ms: int) -> list[int]:
        """The session's turns that are to be looked at now; each as often as `limits.LOOKS_MAX`."""
        with self._lock:
            due = self._due(session, now_ms)
            for number in due:
                looks = self._awaited[number].looks + 1
                pause_ms = limits.LOOK_PAUSE_MS << looks
                if looks < limits.LOOKS_MAX:
                    self._awaited[number] = Awaited(session=session, next_ms=now_ms + pause_ms, looks=looks)
                else:
                    del self._awaited[number]
        return due

    def is_due(self, session: str, now_ms: int) -> bool:
        """Whether any of them is."""
        with self._lock:
            return bool(self._due(session, now_ms))

    def _due(self, session: str, now_ms: int) -> list[int]:
        return [n for n, one in self._awaited.items() if one.session == session and one.next_ms <= now_ms]

    def done(self, number: int) -> None:
        """Nothing more is to be learnt of it."""
        with self._lock:
            self._awaited.pop(number, None)

    def known(self, number: int, size: int) -> Finding | None:
        """What was found when the transcript had this many bytes."""
        with self._lock:
            found = self._found.get(number)
        return found[1] if found is not None and found[0] == size else None

    def keep(self, number: int, size: int, finding: Finding) -> None:
        with self._lock:
            self._found[number] = (size, finding)
            if len(self._found) > limits.LOOKS_KEPT_MAX:
                self._found.popitem(last=False)
