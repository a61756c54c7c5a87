"""What the daemon's main thread does while others serve: it sleeps until it is time to leave, and looks around now and then.

A pipe wakes it, into which the system itself writes of signals. asyncio could do all of this, but importing that was a sixth of
what a start costs.
"""

import contextlib
import logging
import math
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from memd_daemon import limits
from memd_daemon.bell import Bell

log: Final = logging.getLogger("memd.lifecycle")

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

Look = Callable[[], float | None]
"""Looks once, and says in how many seconds it is to look again; None: never."""


@contextlib.contextmanager
def heeding() -> Iterator[Bell]:
    """A bell that SIGNALS ring too, in place of what they do else. For the main thread."""
    bell = Bell()
    # First the bell: a signal that no longer ends the process and rings nobody would be lost.
    woken_before = signal.set_wakeup_fd(bell.writes, warn_on_full_buffer=False)
    before = {number: signal.signal(number, lambda *_: None) for number in SIGNALS}
    try:
        yield bell
    finally:
        signal.set_wakeup_fd(woken_before)
        for number, handler in before.items():
            signal.signal(number, handler)
        bell.close()


def sleep(bell: Bell, seconds: float) -> bool:
    """Until it rings, or so long (``inf``: for ever); whether one of SIGNALS has come.

    The system writes the number of each signal that anybody here heeds: of another one who heeds it hears.
    """
    timeout_ms = None if math.isinf(seconds) else max(int(seconds * limits.MS_PER_S) + 1, 0)
    sleeping = select.poll()
    sleeping.register(bell.descriptor, select.POLLIN)
    rang = bell.heard() if sleeping.poll(timeout_ms) else b""
    return any(number in SIGNALS for number in rang)


def attend(bell: Bell, leaving: threading.Event, leave: Callable[[], None], looks: Sequence[Look]) -> None:
    """Takes each look at once and whenever it is due, until ``leaving`` is set, which ``leave`` does; so does a signal."""
    due = dict.fromkeys(looks, 0.0)
    while not leaving.is_set():
        for look in [look for look, when in due.items() if when <= time.monotonic()]:
            again_s = _taken(look)
            due[look] = math.inf if again_s is None else time.monotonic() + again_s
        if not leaving.is_set() and sleep(bell, min(due.values(), default=math.inf) - time.monotonic()):
            leave()


def _taken(look: Look) -> float | None:
    try:
        return look()
    except Exception:  # whatever befalls a look, the daemon serves on; it may pass, and the log must not fill
        log.exception("a look has failed")
        return limits.LOOK_FAILED_S
