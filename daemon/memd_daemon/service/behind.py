"""Work that an answer does not wait for: one piece after the other, on a thread that stays for a while when there is no more.

A hook that comes meanwhile goes first: whatever Python does at the same time takes the interpreter from it. So each piece waits
until no hook is on its way, though not for long: under a load that never ends it has its turn as well. A long piece gives way
between its parts too (`Behind.give_way`).
"""

import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from memd_daemon import errors, limits

log: Final = logging.getLogger("memd.behind")


class Underway:
    """Hooks on their way, from their arrival until their processes have ended. Safe to call from any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._count = 0
        self._wakes: list[Callable[[], None]] = []

    def begin(self) -> None:
        with self._changed:
            self._count += 1

    def end(self) -> None:
        with self._changed:
            self._count -= 1
            if self._count:
                return
            self._changed.notify_all()
            wakes, self._wakes = self._wakes, []
        for wake in wakes:
            wake()

    def defer(self, wake: Callable[[], None]) -> bool:
        """Has ``wake`` called when the last of them is through; False where none is on its way."""
        with self._changed:
            if self._count and wake not in self._wakes:
                self._wakes.append(wake)
            return self._count > 0

    def let_pass(self) -> None:
        """Waits until there is none, `limits.BEHIND_YIELDS_MS` at most."""
        if self._count:
            with self._changed:
                self._changed.wait_for(lambda: not self._count, limits.BEHIND_YIELDS_MS / limits.MS_PER_S)


class Behind:
    """A short queue. Safe to call from any thread. ``underway``: the hooks that go first."""

    def __init__(self, underway: Underway | None = None) -> None:
        self._underway = underway or Underway()
        self._changed = threading.Condition()
        self._waiting: deque[Callable[[], object]] = deque()
        self._added = self._done = 0
        self._is_at_work = False
        self._has_thread = False
        self._waits_since = 0.0  # monotonic seconds: when something began to wait
        self._awaiting = 0  # how many wait for what was added

    def add(self, work: Callable[[], object]) -> None:
        """Does ``work`` later. Where too much waits already, never: it must be nothing that anybody relies on."""
        with self._changed:
            if len(self._waiting) >= limits.BEHIND_WAITING_MAX:
                return
            now = time.monotonic()
            if not self._waiting:
                self._waits_since = now
            self._waiting.append(work)
            self._added += 1
            self._is_at_work = True
            has_waited = now - self._waits_since > limits.BEHIND_YIELDS_MS / limits.MS_PER_S
        if has_waited or not self._underway.defer(self._wake):  # a thread that wakes up takes its time from the hook
            self._wake()

    def _wake(self) -> None:
        with self._changed:
            if not self._waiting:
                return
            begins, self._has_thread = not self._has_thread, True
            self._changed.notify_all()
        if begins:  # it costs a millisecond
            self._begin()

    def _begin(self) -> None:
        """Where the system has no thread to give, what waits is done when the next work is added: whoever adds it goes on."""
        try:
            threading.Thread(target=self._run, name="memd-behind", daemon=True).start()
        except RuntimeError:
            log.warning("no thread could begin")
            with self._changed:
                self._is_at_work = self._has_thread = False
                self._changed.notify_all()

    def join(self, patience_s: float | None = None) -> None:
        """Waits until nothing is left to do, or so long."""
        self._wake()
        with self._changed, self._awaited():
            self._changed.wait_for(lambda: not self._is_at_work, patience_s)

    def join_added(self, patience_s: float) -> None:
        """Waits until all is done that had been added by now, or so long: what others go on adding holds nobody up."""
        self._wake()
        with self._changed, self._awaited():
            until = self._added
            self._changed.wait_for(lambda: self._done >= until or not self._is_at_work, patience_s)

    @contextlib.contextmanager
    def _awaited(self) -> Iterator[None]:
        """Under the lock: what is at work gives nobody else precedence meanwhile."""
        self._awaiting += 1
        self._changed.notify_all()
        try:
            yield
        finally:
            self._awaiting -= 1

    def hold_until(self, when: float) -> None:
        """For the work itself: nothing happens before ``when`` (monotonic seconds), unless somebody waits for it."""
        with self._changed:
            self._changed.wait_for(lambda: self._awaiting, max(when - time.monotonic(), 0.0))

    def give_way(self) -> None:
        """For the work itself, between its parts: hooks that are on their way pass, unless somebody waits for it."""
        if not self._awaiting:
            self._underway.let_pass()

    def _run(self) -> None:
        with contextlib.ExitStack() as fallen:
            fallen.callback(self._take_off)
            while (work := self._next()) is not None:
                self._underway.let_pass()
                try:
                    work()
                except (errors.MemdError, OSError) as error:  # the store is full, or closing
                    log.warning("work behind an answer failed: %s", type(error).__name__)
                self._did_one()
            fallen.pop_all()

    def _next(self) -> Callable[[], object] | None:
        with self._changed:
            if not self._waiting:
                self._is_at_work = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._waiting, limits.BEHIND_LINGERS_S)
            if self._waiting:
                return self._waiting.popleft()
            self._has_thread = False
            return None

    def _did_one(self) -> None:
        with self._changed:
            self._done += 1
            self._changed.notify_all()

    def _take_off(self) -> None:
        """This thread ends by what it was given to do; the next work begins another."""
        with self._changed:
            self._done += 1
            self._is_at_work = self._has_thread = False
            self._changed.notify_all()
