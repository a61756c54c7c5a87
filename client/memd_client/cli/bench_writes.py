"""`memd bench writes`: what a write costs beside a raw LMDB commit, in one run (docs/benchmarks.md).

Two daemons with equal stores are measured in turn: one that serves a socket, and one without (`memd_daemon.measured`), whose
figures are those of the work alone. Each waits for its vectors before anything is timed, and gives way to writers meanwhile.
"""

import contextlib
import itertools
import shutil
import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from memd_client import api
from memd_client.cli import bench, bench_notes, bench_process, bench_report, bench_scratch, screen
from memd_client.cli.bench_notes import Said
from memd_client.cli.bench_process import NS_PER_MS, Child
from memd_client.cli.bench_report import Machine, Measure, Row, fixed, key
from memd_client.cli.bench_rounds import Round
from memd_client.cli.bench_scratch import WRITERS, Scratch, Tell, record, settle
from memd_client.cli.shape import command
from memd_client.memd import Memd
from memd_client.wire import EXIT_DONE, EXIT_REFUSED

REPEATS = 15  # notes and commits in turn, of one round: a burst, so that no vector is computed in between
EACH = 6  # notes of one writer
FOLDS = 5
VERIFIED_PER_S = 20_000  # events
FOLD_MS = 5.0  # of a note with 1,000 events
GROUND_MS = 1.0  # of 20 notes with 3 anchors each, where nothing moved
CHANGED_MS = 5.0  # likewise where 5 of their files changed
GROUNDS = 7
INSIDE = "memd_daemon.measured"


class Key(StrEnum):
    """What is measured, in milliseconds."""

    RAW = "raw"  # one commit of a note's bytes in one table, in a process of its own, same disk
    ROWS = "rows"  # one commit of a note's very rows, in tables of the store's size
    INSIDE = "inside"  # one note, without the socket
    SOCKET = "socket"  # one note, over the socket
    INSIDE_ONE = "inside_one"  # a note's share of the time, one writer
    INSIDE_ALL = "inside_all"  # WRITERS at once
    SOCKET_ONE = "socket_one"
    SOCKET_ALL = "socket_all"
    VERIFY = "verify"  # an event's share of `memd verify`
    FOLD = "fold"  # of a note with 1,000 events
    GROUND = "ground"  # of 20 notes with 3 anchors each
    CHANGED = "ground_changed"


_RAW = "one LMDB commit of as many bytes, one table"
_ROWS = "one LMDB commit of the same rows"
_ONE = "a note, one writer"
MEASURES = (
    Measure("remember", "one note, durable, in the daemon", Key.INSIDE, key(Key.RAW), _RAW, 2.0),
    Measure("remember-socket", "the same over the socket", Key.SOCKET, key(Key.RAW), _RAW),
    Measure("remember-rows", "one note, durable, in the daemon", Key.INSIDE, key(Key.ROWS), _ROWS),
    Measure("rows", "what LMDB takes for a note's rows", Key.ROWS, key(Key.RAW), _RAW),
    Measure("writers", f"a note, {WRITERS} writers, in the daemon", Key.INSIDE_ALL, key(Key.INSIDE_ONE), _ONE, 1 / 3),
    Measure("writers-socket", f"a note, {WRITERS} writers, over the socket", Key.SOCKET_ALL, key(Key.SOCKET_ONE), _ONE),
    Measure("verify", "an event", Key.VERIFY, fixed(1_000 / VERIFIED_PER_S), f"{VERIFIED_PER_S:,} events a second", 1.0),
    Measure("fold", "a note of 1,000 events", Key.FOLD, fixed(FOLD_MS), f"{FOLD_MS:g} ms", 1.0),
    Measure("ground-still", "the ground of 20 notes", Key.GROUND, fixed(GROUND_MS), f"{GROUND_MS:g} ms", 1.0),
    Measure("ground-changed", "the same, 5 files changed", Key.CHANGED, fixed(CHANGED_MS), f"{CHANGED_MS:g} ms", 1.0),
)  # fmt: skip


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured on."""

    notes: int
    note_rows: int  # that one note puts into the store
    note_bytes: int  # of these, keys and values
    events: int  # verified in the last round
    faults: int  # that `memd verify` found: 0, or the figures are of something else
    record_seconds: float
    embed_seconds: float


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The whole of `memd bench writes --json`."""

    machine: Machine
    store: Written
    rounds: int
    rows: list[Row]
    missed: list[str]


@command(short_help="What a write costs beside a raw LMDB commit.")
@bench.options
def writes(notes: int, rounds: int, strict: bool, at: Path, as_json: bool) -> int:
    """Fill a scratch home with notes, and measure writes, verify and fold beside raw commits in the same rounds.

    Your own home, settings and daemon are not touched. Recording and embedding 10,000 notes takes some minutes, 1,000 half a one.
    """
    report = bench.reported(lambda progress: measure(notes, rounds, at, progress), tell, as_json)
    return EXIT_REFUSED if strict and report.missed else EXIT_DONE


def measure(notes: int, rounds: int, at: Path, progress: Tell) -> Report:
    """The whole measurement. Raises MemdError, OSError."""
    machine = bench_report.machine(bench_process.file_system(at))
    with bench_scratch.scratch(at) as made:
        recorded_s = bench_scratch.fill(made, bench_notes.said(notes), progress)
        began = time.monotonic()
        settle(made, progress)
        embedded_s = time.monotonic() - began
        with measuring(made, progress) as writes:
            done = [writes.round(number + 1) for number in range(rounds)]
    rows = bench_report.rows_of(MEASURES, done)
    store = Written(
        notes=notes,
        note_rows=int(writes.told["rows"]),
        note_bytes=int(writes.told["bytes"]),
        events=int(writes.told["events"]),
        faults=int(writes.told["faults"]),
        record_seconds=round(recorded_s, 1),
        embed_seconds=round(embedded_s, 1),
    )
    return Report(machine=machine, store=store, rounds=len(done), rows=rows, missed=bench_report.missed(rows))


@contextlib.contextmanager
def measuring(made: Scratch, tell: Tell) -> Iterator["Writes"]:
    """The two daemons: the scratch's, and one that stands on a copy of its store and indexes."""
    made.stop()
    for name in ("store", "index"):
        shutil.copytree(made.home / name, made.folder / "inside" / name)
    (made.folder / "inside").chmod(0o700)
    committing = bench_process.child("-c", bench_process.COMMITTING, str(made.folder / "raw"))
    with committing as raw, bench_process.child("-m", INSIDE, str(made.folder / "inside")) as inside:
        yield Writes(made, inside, raw, tell)


class Writes:
    """Measures one filled home. ``inside`` and ``raw`` are measuring children."""

    def __init__(self, made: Scratch, inside: Child, raw: Child, tell: Tell) -> None:
        self._made = made
        self._inside = inside
        self._raw = raw
        self._tell = tell
        self._count = itertools.count(1)
        self.told: dict[str, float] = {}  # what else the children said last

    def round(self, number: int) -> Round:
        """One round. Raises MemdError, OSError."""
        done = Round()
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(self._made.memd()) for _ in range(WRITERS)]
            for client in clients:
                client.ping()  # connects
            self._tell(f"round {number}, notes and commits")
            self._rest()
            for _ in range(REPEATS):
                self._one_by_one(done, clients[0])
            self._tell(f"round {number}, writers")
            self._writers(done, clients)
        self._tell(f"round {number}, verify and fold")
        self._rest()
        self._looks(done)
        return done

    def _rest(self) -> None:
        """Until no note waits for its vector, in either daemon."""
        settle(self._made, self._tell)
        self._inside.ask(do="settle")

    def _one_by_one(self, done: Round, memd: Memd) -> None:
        rows = self._inside.ask(do="rows", notes=self._notes(1))
        self.told |= rows
        done.samples[Key.ROWS].append(rows["ms"])
        done.samples[Key.RAW].append(self._raw.ask(bytes=int(rows["bytes"]))["ms"])
        done.samples[Key.INSIDE].append(self._inside.ask(do="remember", notes=self._notes(1))["ms"])
        done.samples[Key.SOCKET].append(self._over_socket([memd], [self._said()]))

    def _writers(self, done: Round, clients: Sequence[Memd]) -> None:
        for writers, inside, socket in ((1, Key.INSIDE_ONE, Key.SOCKET_ONE), (WRITERS, Key.INSIDE_ALL, Key.SOCKET_ALL)):
            count = EACH * writers
            self._rest()
            took = self._inside.ask(do="remember", notes=self._notes(count), writers=writers)["ms"]
            done.samples[inside].append(took / count)
            self._rest()
            took = self._over_socket(clients[:writers], [self._said() for _ in range(count)])
            done.samples[socket].append(took / count)

    def _over_socket(self, clients: Sequence[Memd], notes: Sequence[Said]) -> float:
        """Milliseconds until the last note is durable, each client with its share of them."""

        def write_all(client: Memd, share: Sequence[Said]) -> None:
            for note in share:
                record(client, note)

        shares = [notes[one :: len(clients)] for one in range(len(clients))]
        with ThreadPoolExecutor(len(clients)) as threads:
            list(threads.map(len, shares))  # they are there
            began = time.perf_counter_ns()
            list(threads.map(write_all, clients, shares))
            return (time.perf_counter_ns() - began) / NS_PER_MS

    def _looks(self, done: Round) -> None:
        verified = self._inside.ask(do="verify")
        self.told |= verified
        done.samples[Key.VERIFY].append(verified["ms"] / verified["events"])
        folds = [self._inside.ask(do="fold")["ms"] for _ in range(FOLDS)]
        done.samples[Key.FOLD].append(statistics.median(folds))
        for what, asked in ((Key.GROUND, "ground"), (Key.CHANGED, "ground-changed")):
            looks = [self._inside.ask(do=asked)["ms"] for _ in range(GROUNDS)]
            done.samples[what].append(statistics.median(looks))

    def _said(self) -> Said:
        return bench_notes.one_more(next(self._count))

    def _notes(self, count: int) -> list[Any]:
        """Further notes, as a child takes them."""
        said = [self._said() for _ in range(count)]
        cwd = str(self._made.repository)
        return [
            msgspec.to_builtins(
                api.Remember(content=s.content, kind=s.kind, priority=s.priority, anchors=list(s.anchors), cwd=cwd)
            )
            for s in said
        ]


def tell(report: Report) -> None:
    """The report as a table for a person."""
    store = report.store
    bench.tell_machine(report.machine)
    screen.say(
        f"{store.notes:,} notes, recorded in {store.record_seconds:.0f} s, embedded {store.embed_seconds:.0f} s later; a note is "
        f"{store.note_rows} rows of {store.note_bytes:,} bytes; {store.events:,} events verified, {store.faults} faults; "
        f"{report.rounds} rounds, the median of each"
    )
    bench.tell_rows(report.rows, report.missed)
