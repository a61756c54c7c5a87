"""Lanes of requests: so many in hand at a time, the others in a queue with a turn for each peer (fair.py).

`begin` hands one on and returns at once; whoever has it calls `Finish`, once and from any thread.
"""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Generic, TypeVar

from memd_daemon import limits
from memd_daemon.fair import FairQueue

log: Final = logging.getLogger("memd.server")

Work = Callable[[], list[bytes] | None]
"""One request being done on a worker: the frames of its answer, None where there is none to send. Raises nothing."""
Finish = Callable[[list[bytes] | None], None]
"""Takes a request's answer and is called once, from any thread."""
Carry = Callable[[Finish], None]
"""Hands a carried message on; whoever has it finishes it."""
T = TypeVar("T")


class Lane(Generic[T]):
    """Requests in hand, so many at a time, and those that wait, in a queue that is fair. ``begin`` returns at once;
    ``each``: of one peer so many are in hand."""

    def __init__(self, hands: int, begin: Callable[[T, Finish], object], each: int = limits.WAITING_MAX) -> None:
        self.begin = begin
        self.waiting: FairQueue[tuple[bytes, bytes, T]] = FairQueue(each)  # identity, verb, what it asks for
        self.free = hands
        self._hands = hands

    @property
    def is_idle(self) -> bool:
        return not self.waiting and self.free == self._hands


def on_thread_of(pool: ThreadPoolExecutor) -> Callable[[Work, Finish], object]:
    """Begins work on one of the pool's threads. Raises RuntimeError where it has none, and the system gives none."""
    begun = threading.Event()

    def do(work: Work, finish: Finish) -> None:
        begun.set()
        frames = None
        try:
            frames = work()
        finally:
            finish(frames)

    def begin(work: Work, finish: Finish) -> None:
        try:
            pool.submit(do, work, finish)
        except RuntimeError:
            if not begun.is_set():
                raise
            log.warning("no thread could begin")  # it waits for those that there are: the pool has taken it

    return begin
