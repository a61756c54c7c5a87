"""Work that an answer does not wait for: one piece after the other, on a thread that stays for a while when there is no more.

A hook that comes meanwhile goes first: whatever Python does at the same time takes the interpreter from it. So each piece waits
until no hook is on its way, though not for long: under a load that never ends, or beside a hook that never does, it has its turn as
well. A long piece gives way between its parts too (`Behind.give_way`); neither does once many wait.
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
        self._deferred_at = 0.0  # monotonic seconds: the first of them

    def begin(self) -> None:
        with self._changed:
            self._count += 1

    def end(self) -> None:
        with self._changed:
            self._count -= 1
            if self._count and not (self._wakes and _have_passed(self._deferred_at)):
                return
            self._changed.notify_all()
            wakes, self._wakes = self._wakes, []
        for wake in wakes:
            wake()

    def defer(self, wake: Callable[[], None]) -> bool:
        """Has ``wake`` called when the last of them is through, or any of them once it has waited for long; False where none is
        on its way."""
        with self._changed:
            if self._count and wake not in self._wakes:
                self._deferred_at = self._deferred_at if self._wakes else time.monotonic()
                self._wakes.append(wake)
            return self._count > 0

    def let_pass(self) -> None:
        """Waits until there is none, `limits.BEHIND_YIELDS_MS` at most."""
        if self._count:
            with self._changed:
                self._changed.wait_for(lambda: not self._count, limits.BEHIND_YIELDS_MS / limits.MS_PER_S)


def _have_passed(since: float) -> bool:
    """Whether hooks have gone first for as long as they may; ``since``: monotonic seconds."""
    return time.monotonic() - since > limits.BEHIND_YIELDS_MS / limits.MS_PER_S


class Behind:
    """A queue. Safe to call from any thread. ``underway``: the hooks that go first; ``most``: so many pieces wait in it."""

    def __init__(self, underway: Underway | None = None, most: int = limits.BEHIND_WAITING_MAX) -> None:
        self._underway = underway or Underway()
        self._most = most
        self._changed = threading.Condition()
        self._waiting: deque[tuple[Callable[[], object], int]] = deque()
        self._bytes = 0
        self._added = self._done = 0
        self._is_at_work = False
        self._has_thread = False
        self._waits_since = 0.0  # monotonic seconds: when something began to wait
        self._awaiting = 0  # how many wait for what was added

    def add(self, work: Callable[[], object], size: int = 0) -> bool:
        """Does ``work``, which holds ``size`` bytes, later. Where too much waits already, never, and gives False."""
        with self._changed:
            has_room = self._has_room(size)
            if has_room:
                self._put(work, size)
            has_waited = _have_passed(self._waits_since)
        if has_waited or not self._underway.defer(self._wake):  # a thread that wakes up takes its time from the hook
            self._wake()  # also where there was no room: what waits may have found no thread
        return has_room

    def _has_room(self, size: int) -> bool:
        is_over = bool(self._waiting) and self._bytes + size > limits.BEHIND_WAITING_MAX_BYTES
        return len(self._waiting) < self._most and not is_over

    def _put(self, work: Callable[[], object], size: int) -> None:
        if not self._waiting:
            self._waits_since = time.monotonic()
        self._waiting.append((work, size))
        self._bytes += size
        self._added += 1
        self._is_at_work = True

    def _wake(self) -> None:
        with self._changed:
            if not self._waiting:
                return
            self._is_at_work = True
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
        with self._awaited():
            self._changed.wait_for(lambda: not self._is_at_work, patience_s)

    def join_added(self, patience_s: float) -> None:
        """Waits until all is done that had been added by now, or so long: what others go on adding holds nobody up."""
        with self._awaited():
            until = self._added
            self._changed.wait_for(lambda: self._done >= until or not self._is_at_work, patience_s)

    @contextlib.contextmanager
    def _awaited(self) -> Iterator[None]:
        """Under the lock. What is at work, or begins by this, gives nobody else precedence meanwhile."""
        with self._changed:
            self._awaiting += 1
            self._changed.notify_all()
        try:
            self._wake()
            with self._changed:
                yield
        finally:
            with self._changed:
                self._awaiting -= 1

    def hold_until(self, when: float) -> None:
        """For the work itself: nothing happens before ``when`` (monotonic seconds), unless somebody waits for it."""
        with self._changed:
            self._changed.wait_for(lambda: self._awaiting, max(when - time.monotonic(), 0.0))

    def give_way(self) -> None:
        """For the work itself, between its parts: hooks that are on their way pass, unless somebody waits for it, or many others
        wait behind it."""
        if not self._awaiting and len(self._waiting) < limits.BEHIND_CROWDED:
            self._underway.let_pass()

    def _run(self) -> None:
        with contextlib.ExitStack() as fallen:
            fallen.callback(self._take_off)
            while (work := self._next()) is not None:
                self.give_way()
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
                work, size = self._waiting.popleft()
                self._bytes -= size
                return work
            self._has_thread = False
            return None

    def _did_one(self) -> None:
        with self._changed:
            self._done += 1
            self._changed.notify_all()

    def _take_off(self) -> None:
        """This thread ends by what it was given to do; what waits, or comes next, begins another."""
        with self._changed:
            self._done += 1
            self._has_thread = False
            self._is_at_work = bool(self._waiting)
            self._changed.notify_all()
        self._wake()
