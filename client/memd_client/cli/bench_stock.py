"""How a measurement of hooks fills its store: by a process of the daemon's package, without a socket (`memd_daemon.stocked`).

Recording over the socket, with every index told of each note and a run of the model for each, takes an hour for 100,000 notes.
Here notes are recorded by the same code with no index beside it, TRULY of them are given their vectors by the model and the others
by the token table, and the indexes are made once at the end.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from memd_client import api
from memd_client.cli.bench_notes import Said
from memd_client.cli.bench_process import Child, child
from memd_client.cli.bench_scratch import RULES_REPOSITORY, Scratch, Tell, left

STOCKED = "memd_daemon.stocked"
PORTION = 1_000  # in one request: between two of them it is told how far it is
TRULY = 1_000  # vectors by the model


class Stocked(NamedTuple):
    """Seconds that the parts of it took, and how many vectors are the model's."""

    record_s: float
    embed_s: float
    index_s: float
    truly: int


def stock(made: Scratch, said: Sequence[Said], rules: Sequence[Said], tell: Tell) -> Stocked:
    """Fills the scratch home, which no daemon serves yet. Raises OSError."""
    notes = [*_requests(made, said), *_requests(made.within(RULES_REPOSITORY), rules)]
    truly = min(TRULY, len(notes))
    with child("-m", STOCKED, str(made.home)) as stocking:
        recorded_s = _timed(lambda: _record(stocking, notes, tell))
        embedded_s = _timed(lambda: _embed(stocking, len(notes), truly, tell))
        tell("indexing")
        indexed_s = _timed(lambda: stocking.ask(do="index"))
    return Stocked(recorded_s, embedded_s, indexed_s, truly)


def _requests(made: Scratch, said: Sequence[Said]) -> list[Any]:
    return [
        msgspec.to_builtins(
            api.Remember(
                content=note.content,
                kind=note.kind,
                priority=note.priority,
                anchors=list(note.anchors),
                cwd=str(made.repository),
            )
        )
        for note in said
    ]


def _record(stocking: Child, notes: Sequence[Any], tell: Tell) -> None:
    began = time.monotonic()
    for at in range(0, len(notes), PORTION):
        stocking.ask(do="record", notes=notes[at : at + PORTION])
        done = min(at + PORTION, len(notes))
        tell(f"recording: {done:,} of {len(notes):,}{left(began, done, len(notes))}")


def _embed(stocking: Child, count: int, truly: int, tell: Tell) -> None:
    began, done = time.monotonic(), 0
    while done < count:
        by, until = ("model", truly) if done < truly else ("table", count)
        made = int(stocking.ask(do="embed", by=by, count=min(PORTION, until - done))["done"])
        if not made:
            raise OSError(f"{count - done} notes of the measurement were not recorded")
        done += made
        tell(f"embedding: {done:,} of {count:,}{left(began, done, count)}")


def _timed(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began
