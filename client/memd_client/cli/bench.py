"""`memd bench`: what memd costs on this machine, measured beside references in the same rounds (docs/benchmarks.md)."""

import contextlib
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from memd_client.cli import bench_notes, bench_process, bench_report, bench_rounds, bench_scratch, bench_stock, screen
from memd_client.cli.bench_report import MISSED, OK, Machine, Report, Row
from memd_client.cli.screen import Part
from memd_client.cli.shape import command
from memd_client.wire import EXIT_DONE, EXIT_REFUSED

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")

NOTES = 10_000
ROUNDS = 7  # a bar is judged by the median of at least five
TOLD_EVERY_S = 10.0  # into a pipe; on a terminal the line is rewritten
REWRITTEN_EVERY_S = 0.2
VERDICT_STYLES = {OK: "green", MISSED: "bold red"}


class Progress:
    """How far it is, on stderr: one line that is rewritten on a terminal, now and then a line elsewhere. Safe from any thread."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._stage = ""
        self._told = 0.0

    def __call__(self, text: str) -> None:
        now, stage = time.monotonic(), text.partition(":")[0]
        if stage == self._stage and now - self._told < (REWRITTEN_EVERY_S if self._is_terminal else TOLD_EVERY_S):
            return
        self._stage, self._told = stage, now
        click.echo(f"\r\x1b[K{text}" if self._is_terminal else text, err=True, nl=not self._is_terminal)

    def end(self) -> None:
        """Leaves a terminal's line empty."""
        if self._is_terminal:
            click.echo("\r\x1b[K", err=True, nl=False)


def options(function: F) -> F:
    """What both measurements take."""
    for option in (
        click.option(
            "--at",
            type=click.Path(exists=True, file_okay=False, writable=True, path_type=Path),
            default=Path("/tmp"),  # noqa: S108 -- a folder of its own is made in it; a socket's path has to be short
            show_default=True,
            help="Where the scratch home lies: on the disk to be measured.",
        ),
        click.option("--strict", is_flag=True, help="Exit 1 where a bar is missed."),
        click.option(
            "--rounds", type=click.IntRange(1), default=ROUNDS, show_default=True, help="How often all is measured."
        ),
        click.option(
            "--notes", type=click.IntRange(10), default=NOTES, show_default=True, help="How many notes the store holds."
        ),
    ):
        function = option(function)
    return function


def reported(measured: Callable[[Progress], R], tell: Callable[[R], None], as_json: bool) -> R:
    """Measures, showing how far it has come, and tells what came of it."""
    progress = Progress()
    try:
        with ended_in_order():
            report = measured(progress)
    finally:
        progress.end()
    if as_json:
        screen.emit(report)
    else:
        tell(report)
    return report


@command(short_help="What a hook costs beside a bare interpreter.")
@options
def hooks(notes: int, rounds: int, strict: bool, at: Path, as_json: bool) -> int:
    """Fill a scratch home with notes, and measure hooks, daemon and writes beside references in the same rounds.

    Your own home, settings and daemon are not touched. Filling the store takes half a minute for 10,000 notes, five for 100,000.
    """
    report = reported(lambda progress: measure(notes, rounds, at, progress), tell, as_json)
    return EXIT_REFUSED if strict and report.missed else EXIT_DONE


@contextlib.contextmanager
def ended_in_order() -> Iterator[None]:
    """A signal that would end the process at once counts as Ctrl-C here: the scratch's daemon and files go first."""
    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, signal.default_int_handler) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def measure(notes: int, rounds: int, at: Path, progress: bench_scratch.Tell) -> Report:
    """The whole measurement. Raises MemdError, OSError."""
    machine = bench_report.machine(bench_process.file_system(at))
    said = bench_notes.said(notes)
    with bench_scratch.scratch(at) as made:
        stocked = bench_stock.stock(made, said, bench_notes.rules(), progress)
        vectors = bench_scratch.settle(made, progress)
        with bench_rounds.measuring(made, bench_report.memory_mb(notes), progress) as bench:
            done = [bench.round(number + 1) for number in range(rounds)]
    store = bench_report.Filled(
        notes=notes,
        vectors=vectors,
        rules=bench_notes.RULES,
        by_model=stocked.truly,
        hot_gotchas=sum(bench_notes.HOT_FILE in note.anchors for note in said),
        record_seconds=round(stocked.record_s, 1),
        embed_seconds=round(stocked.embed_s, 1),
        index_seconds=round(stocked.index_s, 1),
        prompt_tokens=done[-1].prompt_tokens,
    )
    return bench_report.report(machine, store, done)


def tell_machine(machine: Machine) -> None:
    """Where it was measured, in a line."""
    screen.say(
        f"memd {machine.memd}, {machine.at[:10]}: {machine.cpu}, {machine.cores} cores, {machine.system}, "
        f"Python {machine.python}, {machine.file_system or 'unknown file system'}, load {machine.load_before:g} before"
    )


def tell(report: Report) -> None:
    """The report as a table for a person."""
    machine, store = report.machine, report.store
    tell_machine(machine)
    screen.say(
        f"{store.notes:,} notes and {store.rules} rules of another repository; {store.vectors:,} vectors, {store.by_model:,} of "
        f"them the model's; {store.hot_gotchas} gotchas on one file; recorded in {store.record_seconds:.0f} s, embedded in "
        f"{store.embed_seconds:.0f} s, indexed in {store.index_seconds:.0f} s; a prompt of {store.prompt_tokens} tokens; "
        f"{report.rounds} rounds, the median of each"
    )
    tell_rows(report.rows, report.missed)


def tell_rows(rows: Sequence[Row], missed: Sequence[str]) -> None:
    """The rows as a table, and which of them missed their bar."""
    columns = ("what", "median", "reference", "ratio", "p25-p75", "bar", "verdict", "how")
    screen.table(columns, [_cells(row) for row in rows])
    if missed:
        screen.say((f"missed: {', '.join(missed)}", "bold red"))


def _cells(row: Row) -> list[Part]:
    unanswered = f"; {row.unanswered} not answered in time" if row.unanswered else ""
    return [
        (row.name, "bold"),
        _number(row.median, row.unit),
        _number(row.reference, row.unit),
        _number(row.ratio),
        f"{_number(row.p25)}-{_number(row.p75)}",
        "-" if row.bar is None else f"<= {row.bar:.3g}",
        (row.verdict or "-", VERDICT_STYLES.get(row.verdict, "dim")),
        f"{row.says}; against: {row.reference_says}{unanswered}",
    ]


def _number(value: float | None, unit: str = "") -> str:
    return "-" if value is None else f"{value:.2f} {unit}".rstrip()
