"""How often, when and how fast hooks were answered: what `status` and `doctor` judge them by. In memory, per (harness, event).

A harness or an event that memd does not know counts as `unknown`: whoever calls can say anything there.
"""

import threading
from collections import defaultdict, deque
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Final

from memd_daemon import limits
from memd_hooks.events import Moment
from memd_hooks.harness import BY_NAME

UNKNOWN: Final = "unknown"
_EVENTS: Final = frozenset(Moment)


class HookCounts:
    """Counters and the latest durations. Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._took_us: dict[str, deque[int]] = defaultdict(lambda: deque(maxlen=limits.HOOK_SAMPLES_KEPT))
        self._last_ms: dict[str, int] = {}
        self._failures: dict[str, int] = defaultdict(int)

    def fired(self, harness: str, event: str, now_ms: int, took_us: int) -> None:
        key = named(harness, event)
        with self._lock:
            self._took_us[key].append(took_us)
            self._last_ms[key] = now_ms

    def failure_of(self, harness: str, event: str) -> AbstractContextManager[None]:
        """Counts a failure where the block raises."""
        return _Counted(self, harness, event)

    def failed(self, harness: str, event: str) -> None:
        key = named(harness, event)
        with self._lock:
            self._failures[key] += 1

    def last(self) -> dict[str, int]:
        """Unix ms of the last answer by "harness event"."""
        with self._lock:
            return dict(self._last_ms)

    def latest_us(self) -> dict[str, int]:
        """Microseconds of the last answer by "harness event"."""
        with self._lock:
            return {key: took[-1] for key, took in self._took_us.items() if took}

    def told(self) -> dict[str, dict[str, int]]:
        """Per "harness event": count in the window, median and 99th percentile in microseconds, failures, last (Unix ms)."""
        with self._lock:
            return {
                key: {
                    "sampled": len(took),
                    "p50_us": percentile(sorted(took), limits.MEDIAN),
                    "p99_us": percentile(sorted(took), limits.TAIL),
                    "failures": self._failures.get(key, 0),
                    "last_ms": self._last_ms.get(key, 0),
                }
                for key in sorted({*self._took_us, *self._failures})
                for took in (self._took_us.get(key, ()),)
            }


class _Counted:
    """Counts a failure where its block raises. Each hook enters one, and a generator with a stack of callbacks takes longer."""

    __slots__ = ("_counts", "_event", "_harness")

    def __init__(self, counts: HookCounts, harness: str, event: str) -> None:
        self._counts, self._harness, self._event = counts, harness, event

    def __enter__(self) -> None:
        return None

    def __exit__(self, raised: type[BaseException] | None, *_: object) -> None:
        if raised is not None:
            self._counts.failed(self._harness, self._event)


def named(harness: str, event: str) -> str:
    """ "harness event" as it may be counted and logged."""
    known = (harness if harness in BY_NAME else UNKNOWN, event if event in _EVENTS else UNKNOWN)
    return " ".join(known)


def percentile(ordered: Sequence[int], share: float) -> int:
    """The value below which ``share`` of the ordered samples lie; 0 where there are none."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0
