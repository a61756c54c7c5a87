"""Work that an answer does not wait for: one piece after the other, on a thread that lives while there is some."""

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

from memd_daemon import errors, limits

log: Final = logging.getLogger("memd.behind")


class Behind:
    """A short queue. Safe to call from any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[Callable[[], None]] = deque()
        self._added = self._done = 0
        self._is_at_work = False

    def add(self, work: Callable[[], None]) -> None:
        """Does ``work`` later. Where too much waits already, never: it must be nothing that anybody relies on."""
        with self._changed:
            if len(self._waiting) >= limits.BEHIND_WAITING_MAX:
                return
            self._waiting.append(work)
            self._added += 1
            begins, self._is_at_work = not self._is_at_work, True
        if begins:
            threading.Thread(target=self._run, name="memd-behind", daemon=True).start()

    def join(self, patience_s: float | None = None) -> None:
        """Waits until nothing is left to do, or so long."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_at_work, patience_s)

    def join_added(self, patience_s: float) -> None:
        """Waits until all is done that had been added by now, or so long: what others go on adding holds nobody up."""
        with self._changed:
            until = self._added
            self._changed.wait_for(lambda: self._done >= until or not self._is_at_work, patience_s)

    def _run(self) -> None:
        with contextlib.ExitStack() as fallen:
            fallen.callback(self._take_off)
            while (work := self._next()) is not None:
                try:
                    work()
                except (errors.MemdError, OSError) as error:  # the store is full, or closing
                    log.warning("work behind an answer failed: %s", type(error).__name__)
                self._did_one()
            fallen.pop_all()

    def _next(self) -> Callable[[], None] | None:
        with self._changed:
            if self._waiting:
                return self._waiting.popleft()
            self._is_at_work = False
            self._changed.notify_all()
            return None

    def _did_one(self) -> None:
        with self._changed:
            self._done += 1
            self._changed.notify_all()

    def _take_off(self) -> None:
        """This thread ends by what it was given to do; the next work begins another."""
        with self._changed:
            self._done += 1
            self._is_at_work = False
            self._changed.notify_all()
