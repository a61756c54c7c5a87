"""Work that an answer does not wait for: one piece after the other, on a thread that lives while there is some."""

import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from memd_daemon import errors, limits

log: Final = logging.getLogger("memd.behind")


class Behind:
    """A short queue. Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Callable[[], None]] = deque()
        self._thread: threading.Thread | None = None

    def add(self, work: Callable[[], None]) -> None:
        """Does ``work`` later. Where too much waits already, never: it must be nothing that anybody relies on."""
        with self._lock:
            if len(self._waiting) >= limits.BEHIND_WAITING_MAX:
                return
            self._waiting.append(work)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="memd-behind", daemon=True)
                self._thread.start()

    def join(self, patience_s: float | None = None) -> None:
        """Waits until nothing is left to do, or so long."""
        end = None if patience_s is None else time.monotonic() + patience_s
        while (thread := self._thread) is not None and (end is None or time.monotonic() < end):
            thread.join(None if end is None else max(0.0, end - time.monotonic()))

    def _run(self) -> None:
        with contextlib.ExitStack() as fallen:
            fallen.callback(self._take_off)
            while (work := self._next()) is not None:
                try:
                    work()
                except (errors.MemdError, OSError) as error:  # the store is full, or closing
                    log.warning("work behind an answer failed: %s", type(error).__name__)
            fallen.pop_all()

    def _next(self) -> Callable[[], None] | None:
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            self._thread = None
            return None

    def _take_off(self) -> None:
        """This thread ends by what it was given to do; the next work begins another."""
        with self._lock:
            self._thread = None
