"""Lanes of requests: so many in hand at a time, the others in a queue with a turn for each peer (fair.py).

`begin` hands one on and returns at once; whoever has it calls `Finish`, once and from any thread.
"""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Generic, TypeVar

from memd_daemon.fair import FairQueue

log: Final = logging.getLogger("memd.server")

Work = Callable[[], list[bytes] | None]
"""One request being done on a worker: the frames of its answer, None where there is none to send. Raises nothing."""
Finish = Callable[[list[bytes] | None], None]
"""Takes a request's answer and is called once, from any thread."""
Carry = Callable[[Finish], None]
"""Hands a carried message on; whoever has it finishes it."""
T = TypeVar("T")
R = TypeVar("R")


class Lane(Generic[T]):
    """Requests in hand, so many at a time, and those that wait, in a queue that is fair. ``begin`` returns at once;
    ``each``: of one peer so many are in hand, all of them where it is not given."""

    def __init__(self, hands: int, begin: Callable[[T, Finish], object], each: int | None = None) -> None:
        self.begin = begin
        self.waiting: FairQueue[tuple[bytes, bytes, T]] = FairQueue(each or hands)  # identity, verb, what it asks for
        self.free = hands
        self._hands = hands

    @property
    def is_idle(self) -> bool:
        return not self.waiting and self.free == self._hands


def tried(failed: str, do: Callable[[], R]) -> R | None:
    """What is done, or None, and a line in the log that says what failed: whatever befalls one request, the daemon lives on."""
    try:
        return do()
    except Exception:  # the daemon lives on, whatever befalls one request
        log.exception("%s", failed)
        return None


def on_thread_of(pool: ThreadPoolExecutor) -> Callable[[Callable[[], R], Callable[[R | None], None]], object]:
    """Begins work on one of the pool's threads; what begins is finished, with None where it raised. To be called from one thread.

    Raises RuntimeError where the pool has none, and the system gives none; never once a first has begun.
    """
    has_thread = False

    def do(work: Callable[[], R], finish: Callable[[R | None], None]) -> None:
        came = None
        try:
            came = work()
        finally:
            finish(came)

    def begin(work: Callable[[], R], finish: Callable[[R | None], None]) -> None:
        nonlocal has_thread
        try:
            pool.submit(do, work, finish)
        except RuntimeError:
            if not has_thread:
                raise
            log.warning("no thread could begin")  # it waits for those that there are: the pool has taken it
        has_thread = True

    return begin
