"""How long the user's own words take: what they add to a recall, and what capturing a prompt takes beyond its commit.

Each is timed inside a daemon's own code (`memd_daemon.spoken_timed`), in turn with what it is compared with, so that a busy machine
tells the same of both. A row is the median over the rounds of the difference.
"""

import statistics
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from memd_client.cli import bench_process
from memd_client.cli.bench_process import Child
from memd_client.cli.bench_report import MISSED, OK
from memd_client.cli.bench_scratch import Tell

CHILD: Final = "memd_daemon.spoken_timed"
ROUNDS: Final = 40
WARM_ROUNDS: Final = 3  # not counted


class Took(msgspec.Struct, frozen=True, kw_only=True):
    """Milliseconds that ``name`` takes beyond what it is compared with, which takes ``beside_ms``; ``bar_ms`` None: not judged."""

    name: str
    ms: float
    beside_ms: float
    bar_ms: float | None
    verdict: str  # ok, missed; "" without a bar


ROWS: Final[Sequence[tuple[str, str, str, float | None]]] = (
    ("recall of 20 notes in the user's words, beyond that of 20 others", "recall_bound", "recall", 1.0),
    ("the same where none was read before", "recall_unread", "recall", None),
    ("a prompt of 10,000 bytes, beyond its commit", "capture", "commit", 3.0),
)
"""(what, what is timed, what it is compared with, the bar in ms)."""


def times(tell: Tell, rounds: int = ROUNDS) -> list[Took]:
    """The rows. Raises OSError where the daemon's code cannot be run."""
    tell("the time that the user's words take")
    with bench_process.child("-m", CHILD) as child:
        samples = [measured(child) for _ in range(WARM_ROUNDS + rounds)][WARM_ROUNDS:]
    return [_row(samples, *one) for one in ROWS]


def measured(child: Child) -> dict[str, float]:
    """Each thing once, beside what it is compared with."""
    asked: dict[str, dict[str, Any]] = {do: child.ask(do=do) for _, *pair, _ in ROWS for do in reversed(pair)}
    return {do: float(told["ms"]) for do, told in asked.items()}


def _row(samples: Sequence[dict[str, float]], name: str, do: str, beside: str, bar_ms: float | None) -> Took:
    ms = statistics.median(one[do] - one[beside] for one in samples)
    verdict = "" if bar_ms is None else OK if ms <= bar_ms else MISSED
    beside_ms = statistics.median(one[beside] for one in samples)
    return Took(name=name, ms=ms, beside_ms=beside_ms, bar_ms=bar_ms, verdict=verdict)
