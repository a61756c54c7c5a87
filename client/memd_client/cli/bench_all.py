"""`memd bench all`: every bench in one run and one table, beside the run before (docs/benchmarks.md, "All at once").

A run is one scratch home for all that is timed. In each round every timed part has its turn, with its own bases: hooks
(bench_rounds.py), writes (bench_writes.py), the user's own words (bench_spoken.py), a hook in C (bench_all_compiled.py). What is
judged and not timed comes first, since it is soon done and names what was typed wrongly: staleness on a history that is made in the
run, or on `--repo`'s, and evidence, with `--pairs` its guard too. Last comes load (bench_load.py), once, in a home of its own.
A further part is one more entry in `_parts`.

The run is kept as JSON, `bench/last.json` in memd's home (`bench/quick.json` with `--quick`), and the next one is told beside it
(bench_compare.py). No other file of the home is touched; where there is no home, none is made.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import click

from memd_client.cli import (
    bench,
    bench_all_compiled,
    bench_all_history,
    bench_all_rows,
    bench_compare,
    bench_evidence,
    bench_guard,
    bench_load,
    bench_notes,
    bench_process,
    bench_report,
    bench_rounds,
    bench_scratch,
    bench_spoken,
    bench_staleness,
    bench_stock,
    bench_writes,
    screen,
)
from memd_client.cli.bench_all_compiled import Compiled, NotCompiled
from memd_client.cli.bench_all_rows import COMPILED, HOOKS, LOAD, SPOKEN, WRITES, Compared, Line, Parameters, Run
from memd_client.cli.bench_report import Measure, fixed
from memd_client.cli.bench_rounds import Round
from memd_client.cli.bench_scratch import Scratch, Tell
from memd_client.cli.screen import Part
from memd_client.cli.shape import command
from memd_client.reach import home_of
from memd_client.wire import EXIT_DONE, EXIT_REFUSED

CASES: Final = 500
IMAGINED: Final = 300
COMMITS: Final = 60
SEED: Final = 1
SESSIONS: Final = 50
LOAD_MINUTES: Final = 2.0
QUICK_SESSIONS: Final = 5
QUICK_LOAD_MINUTES: Final = 0.1
QUICK_NOTES: Final = 300
QUICK_ROUNDS: Final = 3
QUICK_CASES: Final = 50
QUICK_IMAGINED: Final = 60
QUICK_COMMITS: Final = 12
SPOKEN_REPEATS: Final = 6
FOLDER: Final = "bench"
LAST: Final = "last.json"
QUICK_LAST: Final = "quick.json"

_CHANGE_STYLES: Final = {bench_compare.BETTER: "green", bench_compare.WORSE: "bold red"}


class Asked(NamedTuple):
    """What a run is to be of."""

    at: Path
    notes: int
    rounds: int
    cases: int
    imagined: int
    commits: int
    sessions: int
    load_minutes: float
    repo: Path | None
    pairs: Path | None


class Timed(NamedTuple):
    """A part that has its turn in each round."""

    name: str
    measures: Sequence[Measure]
    round: Callable[[int], Round]


@command("all", short_help="All benches in one table, beside the last run.")
@click.option(
    "--last",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where the run is kept, and the one before stands.  [default: bench/last.json in memd's home]",
)
@click.option(
    "--pairs",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Turns and notes for evidence's guard: a file of JSON Lines.",
)
@click.option(
    "--repo",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Staleness on this repository's history in place of one that is made. Nothing in it is written.",
)
@click.option(
    "--at",
    type=click.Path(exists=True, file_okay=False, writable=True, path_type=Path),
    default=Path("/tmp"),  # noqa: S108 -- a folder of its own is made in it; a socket's path has to be short
    show_default=True,
    help="Where the scratch home lies: on the disk to be measured.",
)
@click.option(
    "--load-minutes",
    type=click.FloatRange(0),
    help=f"How long the load lasts, 0: none.  [default: {LOAD_MINUTES:g}; quick: {QUICK_LOAD_MINUTES:g}]",
)
@click.option("--strict", is_flag=True, help="Exit 1 where a bar is missed.")
@click.option("--quick", is_flag=True, help="A small store and few rounds: whether all runs, not how fast.")
@click.option(
    "--rounds",
    type=click.IntRange(1),
    help=f"How often all is measured.  [default: {bench.ROUNDS}; quick: {QUICK_ROUNDS}]",
)
@click.option(
    "--notes",
    type=click.IntRange(10),
    help=f"How many notes the store holds.  [default: {bench.NOTES}; quick: {QUICK_NOTES}]",
)
def all_(
    notes: int | None,
    rounds: int | None,
    quick: bool,
    strict: bool,
    load_minutes: float | None,
    at: Path,
    repo: Path | None,
    pairs: Path | None,
    last: Path | None,
    as_json: bool,
) -> int:
    """Run every bench in the same rounds, and show each figure beside its base, its bar and what it was in the run before.

    Your own home is not touched but for the file that keeps the run. Takes about a quarter of an hour, with --quick two minutes.
    """
    asked = Asked(
        at=at,
        notes=notes or (QUICK_NOTES if quick else bench.NOTES),
        rounds=rounds or (QUICK_ROUNDS if quick else bench.ROUNDS),
        cases=QUICK_CASES if quick else CASES,
        imagined=QUICK_IMAGINED if quick else IMAGINED,
        commits=QUICK_COMMITS if quick else COMMITS,
        sessions=QUICK_SESSIONS if quick else SESSIONS,
        load_minutes=(QUICK_LOAD_MINUTES if quick else LOAD_MINUTES) if load_minutes is None else load_minutes,
        repo=repo,
        pairs=pairs,
    )
    file = last or home_of() / FOLDER / (QUICK_LAST if quick else LAST)
    run = bench.reported(lambda tell: _beside(measure(asked, tell), file), tell_run, as_json)
    return EXIT_REFUSED if strict and run.missed else EXIT_DONE


def _beside(run: Run, file: Path) -> Run:
    """The run beside the one in the file, in whose place it is kept."""
    before = bench_compare.read(file)
    told = bench_compare.beside(run, before, file)
    if gone := bench_compare.gone(told, before):
        screen.warn(f"rows of the last run that this one does not have: {', '.join(gone)}")
    try:
        bench_compare.keep(file, told)
    except OSError as error:  # no home, a full disk: the figures are there all the same
        screen.warn(f"this run is not kept for the next one: {error}")
    return told


# --- measuring


def measure(asked: Asked, tell: Tell) -> Run:
    """The whole measurement. Raises MemdError, OSError, click.UsageError."""
    began, machine = time.monotonic(), bench_report.machine(bench_process.file_system(asked.at))
    given = bench_guard.pairs(asked.pairs) if asked.pairs else []
    with bench_scratch.scratch(asked.at) as made:
        judged, history = _staleness(made, asked, tell)
        judged += _evidence(asked, given, tell)
        rows = _timed(made, asked, tell) + judged
    rows += _load(asked, tell)
    parameters = Parameters(
        notes=asked.notes,
        rounds=asked.rounds,
        cases=asked.cases,
        pairs=len(given),
        imagined=asked.imagined,
        commits=asked.commits,
        sessions=asked.sessions,
        load_minutes=asked.load_minutes,
        seed=SEED,
        history=history,
    )
    return Run(
        format=bench_all_rows.FORMAT,
        machine=machine,
        parameters=parameters,
        seconds=round(time.monotonic() - began, 1),
        rows=rows,
        missed=[line.name for line in rows if line.verdict == bench_report.MISSED],
        compared=Compared(file="", why="not compared yet"),
    )


def _staleness(made: Scratch, asked: Asked, tell: Tell) -> tuple[list[Line], str]:
    repo = asked.repo or bench_all_history.make(made.folder / "history")
    shown = (bench_staleness.SYMBOL, 0)
    report = bench_staleness.measure(repo, asked.imagined, asked.commits, SEED, shown, tell)
    return bench_all_rows.of_staleness(report.rows), report.head


def _evidence(asked: Asked, pairs: Sequence[bench_guard.Pair], tell: Tell) -> list[Line]:
    report = bench_evidence.measure(None, asked.cases, SEED, tell, pairs=pairs)
    lines = [bench_all_rows.of_evidence(row) for row in report.rows]
    if not pairs:
        lines.append(
            bench_all_rows.not_measured("guard", "what is marked as the user's words", "no --pairs were given")
        )
    return lines


def _load(asked: Asked, tell: Tell) -> list[Line]:
    if not asked.load_minutes:
        return [bench_all_rows.not_measured(LOAD, "many sessions at once", "--load-minutes 0")]
    phases = bench_load.planned(asked.load_minutes, bench_load.THINK_S, 0)
    report = bench_load.measure(asked.at, asked.sessions, asked.notes, phases, tell)
    return bench_all_rows.of_load(report, is_long=asked.load_minutes >= LOAD_MINUTES)


def _timed(made: Scratch, asked: Asked, tell: Tell) -> list[Line]:
    """The rows of what is timed: the scratch is filled, and all parts have their turns."""
    bench_stock.stock(made, bench_notes.said(asked.notes), bench_notes.rules(), tell)
    bench_scratch.settle(made, tell)
    with _parts(made, asked.notes, tell) as (parts, absent):
        done = _rounds(parts, asked.rounds, tell)
    lines = [line for part in parts for line in bench_all_rows.timed(part.name, part.measures, done[part.name])]
    return lines + absent


def _rounds(parts: Sequence[Timed], rounds: int, tell: Tell) -> dict[str, list[Round]]:
    done: dict[str, list[Round]] = {part.name: [] for part in parts}
    began = time.monotonic()
    for number in range(rounds):
        tell(f"round {number + 1} of {rounds}{bench_scratch.left(began, number, rounds)}")
        for part in parts:
            done[part.name].append(part.round(number + 1))
    return done


@contextmanager
def _parts(made: Scratch, notes: int, tell: Tell) -> Iterator[tuple[list[Timed], list[Line]]]:
    """What is timed, with all its processes; and rows of what cannot be had here."""
    absent: list[Line] = []
    with ExitStack() as stack:
        writes = stack.enter_context(bench_writes.measuring(made, tell))
        memory_mb = bench_report.memory_mb(notes)
        hooks = stack.enter_context(bench_rounds.measuring(made, memory_mb, tell))
        words = stack.enter_context(bench_process.child("-m", bench_spoken.CHILD))
        parts = [
            Timed(HOOKS, bench_report.MEASURES, hooks.round),
            Timed(WRITES, bench_writes.MEASURES, writes.round),
            Timed(SPOKEN, SPOKEN_MEASURES, lambda number: _spoken(words, number, tell)),
        ]
        try:
            parts.append(Timed(COMPILED, bench_all_compiled.MEASURES, Compiled(made).round))
        except NotCompiled as why:
            absent.append(bench_all_rows.not_measured(COMPILED, "a hook in C", str(why)))
        yield parts, absent


SPOKEN_MEASURES: Final = tuple(
    Measure(do.replace("_", "-"), says, do, fixed(bar_ms or 1.0), f"{bar_ms or 1:g} ms", bar_ms and 1.0)
    for says, do, _, bar_ms in bench_spoken.ROWS
)


def _spoken(child: bench_process.Child, number: int, tell: Tell) -> Round:
    """What the user's own words take beyond what they are compared with."""
    tell(f"round {number}, the user's words")
    done = Round()
    for _ in range(bench_spoken.WARM_ROUNDS if number == 1 else 0):
        bench_spoken.measured(child)
    for _ in range(SPOKEN_REPEATS):
        took = bench_spoken.measured(child)
        for _, do, beside, _ in bench_spoken.ROWS:
            done.samples[do].append(took[do] - took[beside])
    return done


# --- telling


def tell_run(run: Run) -> None:
    """The run as a table for a person."""
    bench.tell_machine(run.machine)
    given = run.parameters
    screen.say(
        f"{given.notes:,} notes, {screen.count(given.rounds, 'round')}; {given.cases:,} cases of evidence, "
        f"{screen.count(given.pairs, 'pair')}; {given.imagined:,} notes imagined at each distance of a history "
        f"(to {given.history[:12]}); {given.sessions} sessions for {given.load_minutes:g} min; {run.seconds / 60:.1f} min in all"
    )
    _tell_compared(run.compared)
    columns = ("what", "value", "of", "ratio", "p25-p75", "bar", "verdict", "last", "change", "how")
    screen.table(columns, [_cells(line) for line in run.rows if _is_told(line)], spare=("p25-p75", "last"))
    for word in (bench_compare.BETTER, bench_compare.WORSE, bench_compare.LOWER, bench_compare.HIGHER):
        if changed := bench_compare.named(run.rows, word):
            screen.say((f"{word} than in the last run: {', '.join(changed)}", _CHANGE_STYLES.get(word, "")))
    if run.missed:
        screen.say((f"missed: {', '.join(run.missed)}", "bold red"))


def _tell_compared(compared: Compared) -> None:
    if compared.why:
        screen.say(f"Compared with nothing: {compared.why}.")
        return
    screen.say(
        f"Compared with the run of {compared.at}: memd {compared.memd}, Python {compared.python}, {compared.system}, "
        f"load {compared.load_before:g} before"
    )


def _is_told(line: Line) -> bool:
    """Not what is as it should be in one language of eleven: that stands in the row of all of them, and in the JSON."""
    is_language = line.name.startswith("guard/") and not line.name.startswith("guard/all/")
    return not is_language or line.verdict != bench_report.OK or line.changed not in ("", bench_compare.SAME)


def _cells(line: Line) -> list[Part]:
    is_share = line.unit == bench_all_rows.SHARE
    bar = "-" if line.bar is None else f"{'>=' if line.at_least else '<='} {line.bar:.3g}"
    unanswered = f"; {line.unanswered} not answered in time" if line.unanswered else ""
    return [
        (line.name, "bold"),
        _told(line.value, line.unit, is_share),
        line.base or "-",
        _told(line.ratio),
        "-" if line.p25 is None else f"{_told(line.p25, '', is_share)}-{_told(line.p75, '', is_share)}",
        bar,
        (line.verdict or "-", bench.VERDICT_STYLES.get(line.verdict, "dim")),
        _last(line, is_share),
        (_change(line), _CHANGE_STYLES.get(line.changed, "dim")),
        f"{line.says}{f': {line.why}' if line.why else ''}{unanswered}",
    ]


def _told(value: float | None, unit: str = "", is_share: bool = False) -> str:
    if value is None:
        return "-"
    return f"{value:.2%}" if is_share else f"{value:.2f} {unit}".rstrip()


def _last(line: Line, is_share: bool) -> str:
    """What is compared, as it was: the ratio where there is one."""
    if line.last is None:
        return "-"
    return _told(line.last.value, line.unit, is_share) if line.last.ratio is None else _told(line.last.ratio)


def _change(line: Line) -> str:
    if not line.changed:
        return "-"
    return line.changed if line.change is None else f"{line.change:+.0%} {line.changed}"
