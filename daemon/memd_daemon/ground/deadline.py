"""The moment by which a look at the ground is over, on the way of a hook: past it nothing is known, rather than waited for."""

import time


class OutOfTime(Exception):
    """The deadline passed before the ground was looked at."""


def in_time(deadline_ns: int | None, work_ns: int = 0) -> None:
    """Raises OutOfTime past a deadline (monotonic ns), or where so much work would pass it; None is none."""
    if deadline_ns is not None and time.monotonic_ns() + work_ns > deadline_ns:
        raise OutOfTime
