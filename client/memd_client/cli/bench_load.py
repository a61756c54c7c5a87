"""`memd bench load`: what many sessions at once take, and whether anything of it is lost (docs/benchmarks.md, "Load").

A scratch home with a daemon of its own is put under the load of so many sessions at once (bench_load_session.py), in phases
(bench_load_phases.py), while it is looked at from outside (bench_load_daemon.py). In the end all that was acknowledged is looked up
again (bench_load_check.py). The exit code is 1 where a call failed or something acknowledged is not there exactly once; with
``--strict`` also where a bar is missed.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click
import msgspec

from memd_client.cli import (
    bench,
    bench_load_daemon,
    bench_load_phases,
    bench_notes,
    bench_process,
    bench_report,
    bench_scratch,
    bench_stock,
    screen,
)
from memd_client.cli.bench_load_calls import ECHO, ECHO_KEPT, LATE_MS, Samples, percentile
from memd_client.cli.bench_load_check import Checked, check
from memd_client.cli.bench_load_daemon import Sample, growth
from memd_client.cli.bench_load_phases import FLOOD, QUIET, REINDEX, SATURATE, SHARES, SWEEP, WARM, Measured, Phase
from memd_client.cli.bench_report import MISSED, OK, UNMEASURED, Machine
from memd_client.cli.bench_scratch import Scratch, Tell
from memd_client.cli.screen import Part
from memd_client.cli.shape import command
from memd_client.wire import EXIT_DONE, EXIT_REFUSED
from memd_hooks.events import Moment

SESSIONS: Final = 50
MINUTES: Final = 10.0
NOTES: Final = 10_000
THINK_S: Final = 1.0
IDLE_S: Final = 10.0
HALF, TAIL = 0.5, 0.99
BESIDE_RATIO: Final = 2.0  # of a prompt's median, while something else goes on, to its quiet one
BESIDE_TAIL_MS: Final = 150.0
GROWTH_MB: Final = 1.0  # for 10,000 events
IDLE_PERCENT: Final = 1.0
VERBS: Final = ("remember", "recall", "mcp-recall")  # over a connection that is kept; all others are hooks
JUDGED: Final = (str(Moment.PROMPT_SUBMIT), str(Moment.PRE_EDIT))


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of call in one phase, milliseconds; the echo's are the bare way's meanwhile. None where nothing was measured."""

    phase: str
    name: str
    count: int
    errors: int
    late: int  # that took longer than a hook may
    p50: float | None
    p99: float | None
    most: float | None
    echo_p50: float | None
    echo_p99: float | None


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """One figure and what it may be at most; ``bar`` None: shown, not judged."""

    name: str
    value: float | None
    unit: str
    bar: float | None
    verdict: str  # ok, missed, unmeasured; "" without a bar


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The whole of `memd bench load --json`."""

    machine: Machine
    sessions: int
    notes: int
    think_ms: float
    seconds: dict[str, float]  # of each phase
    beside: dict[str, int]  # reindexes made, hooks of the flood answered
    events: int
    errors: int
    trouble: list[str]
    logged: list[str]  # errors that the daemon wrote down
    behind: int  # steps that began more than 50 ms late: the machine could not keep up, or an answer was waited for
    rows: list[Row]
    daemon: list[Sample]
    checked: Checked
    judged: list[Judged]
    missed: list[str]

    @property
    def is_whole(self) -> bool:
        """Whether no call failed and nothing acknowledged is missing or there twice."""
        return not self.errors and self.checked.is_clean


@command(short_help="What many sessions at once take, and whether anything is lost.")
@click.option("--sessions", type=click.IntRange(1), default=SESSIONS, show_default=True, help="How many at once.")
@click.option(
    "--minutes", type=click.FloatRange(0, min_open=True), default=MINUTES, show_default=True, help="How long."
)
@click.option(
    "--events", type=click.IntRange(0), default=0, help="Then on without thinking, until so many were answered."
)
@click.option(
    "--notes", type=click.IntRange(10), default=NOTES, show_default=True, help="How many the store begins with."
)
@click.option(
    "--think-ms",
    type=click.FloatRange(0),
    default=THINK_S * 1_000,
    show_default=True,
    help="Before each step, the mean.",
)
@click.option("--saturate", is_flag=True, help="Nobody thinks: as much as the machine gives.")
@click.option("--strict", is_flag=True, help="Exit 1 where a bar is missed, too.")
@click.option(
    "--at",
    type=click.Path(exists=True, file_okay=False, writable=True, path_type=Path),
    default=Path("/tmp"),  # noqa: S108 -- a folder of its own is made in it; a socket's path has to be short
    show_default=True,
    help="Where the scratch home lies.",
)
def load(
    sessions: int,
    minutes: float,
    events: int,
    notes: int,
    think_ms: float,
    saturate: bool,
    strict: bool,
    at: Path,
    as_json: bool,
) -> int:
    """Put a scratch daemon under the load of many sessions, and measure each kind of call beside a bare echo.

    Your own home, settings and daemon are not touched. In the end everything that was acknowledged is looked up again; what is not
    there, or a call that failed, is exit code 1.
    """
    phases = planned(minutes, 0.0 if saturate else think_ms / 1_000, events)
    report = bench.reported(lambda tell: measure(at, sessions, notes, phases, tell), tell_report, as_json)
    return EXIT_DONE if report.is_whole and not (strict and report.missed) else EXIT_REFUSED


def planned(minutes: float, think_s: float, events: int) -> list[Phase]:
    """The phases of so many minutes, and one more for the events that are still wanted then."""
    phases = [Phase(name, share * minutes * 60, 0, think_s) for name, share in SHARES.items()]
    return [*phases, Phase(SATURATE, 0.0, events, 0.0)] if events else phases


def measure(at: Path, sessions: int, notes: int, phases: Sequence[Phase], tell: Tell, idle_s: float = IDLE_S) -> Report:
    """The whole measurement. Raises MemdError, OSError."""
    machine = bench_report.machine(bench_process.file_system(at))
    with bench_scratch.scratch(at) as made:
        bench_stock.stock(made, bench_notes.said(notes), (), tell)
        with bench_load_daemon.serving(made) as served:
            bench_scratch.settle(made, tell)
            bench_load_phases.touch(made)
            before = bench_load_daemon.seen(served.pid)
            measured = bench_load_phases.run(made, served, sessions, phases, tell)
            bench_scratch.settle(made, tell)
            tell(f"idle for {idle_s:g} s")
            idle = served.idle_percent(idle_s)
            after = served.left(before)
            tell("looking up what was acknowledged")
            checked = _checked(made, measured)
            logged = bench_load_daemon.faults_logged(made.home)
    judged = judge(measured, before, after, idle, bench_report.memory_mb(notes))
    return Report(
        machine=machine,
        sessions=sessions,
        notes=notes,
        think_ms=phases[0].think_s * 1_000,
        seconds={name: round(took, 1) for name, took in measured.seconds.items()},
        beside=measured.beside,
        events=measured.samples.answered,
        errors=sum(measured.samples.errors.values()),
        trouble=measured.samples.trouble,
        logged=logged,
        behind=measured.behind,
        rows=rows_of(measured.samples),
        daemon=measured.watch.samples,
        checked=checked,
        judged=judged,
        missed=[one.name for one in judged if one.verdict == MISSED],
    )


def _checked(made: Scratch, measured: Measured) -> Checked:
    with made.memd() as memd:
        return check(memd, measured.acknowledged)


# --- figures


def rows_of(samples: Samples) -> list[Row]:
    """A row for each kind of call in each phase, echoes last."""
    keys = sorted(
        {*samples.took, *samples.errors}, key=lambda key: (_phase_at(key[0]), key[1] in (ECHO, ECHO_KEPT), key[1])
    )
    return [_row(samples, *key) for key in keys]


def _phase_at(name: str) -> int:
    order = (WARM, QUIET, REINDEX, SWEEP, FLOOD, SATURATE)
    return order.index(name) if name in order else len(order)


def _row(samples: Samples, phase: str, name: str) -> Row:
    took = samples.of(phase, name)
    echo = samples.of(phase, ECHO_KEPT if name in (*VERBS, ECHO_KEPT) else ECHO)
    return Row(
        phase=phase,
        name=name,
        count=len(took),
        errors=samples.errors[phase, name],
        late=sum(one > LATE_MS for one in took),
        p50=_ms(took, HALF),
        p99=_ms(took, TAIL),
        most=round(took[-1], 2) if took else None,
        echo_p50=_ms(echo, HALF),
        echo_p99=_ms(echo, TAIL),
    )


def _ms(took: list[float], share: float) -> float | None:
    found = percentile(took, share)
    return None if found is None else round(found, 2)


def judge(
    measured: Measured, before: dict[str, float], after: dict[str, float], idle: float | None, memory_mb: float
) -> list[Judged]:
    """Every figure that has a bar, and how much a flood slows the others down."""
    samples, seen = measured.samples, measured.watch.samples
    grown = {
        name: after[name] - before[name] for name in ("descriptors", "threads") if name in before and name in after
    }
    judged = [
        _judged("errors", float(sum(samples.errors.values())), "calls", 0.0),
        _judged("memory", max((one.memory_mb for one in seen), default=None), "MB", memory_mb),
        _judged("growth", growth(seen, lambda one: one.memory_mb), "MB / 10,000 events", GROWTH_MB),
        _judged("growth-anonymous", growth(seen, lambda one: one.anonymous_mb), "MB / 10,000 events", None),
        _judged("descriptors", grown.get("descriptors"), "more than before", 0.0),
        _judged("threads", grown.get("threads"), "more than before", None),
        _judged("idle", idle, "% of a core", IDLE_PERCENT),
    ]
    for phase in (REINDEX, SWEEP):
        name = str(Moment.PROMPT_SUBMIT)
        judged.append(_judged(f"{phase}-prompt-ratio", _ratio(samples, phase, name, HALF), "x quiet", BESIDE_RATIO))
        judged.append(_judged(f"{phase}-prompt-p99", _ms(samples.of(phase, name), TAIL), "ms", BESIDE_TAIL_MS))
    for name in (*JUDGED, ECHO):
        judged.append(_judged(f"flood-{name}-p50", _ratio(samples, FLOOD, name, HALF), "x quiet", None))
        judged.append(_judged(f"flood-{name}-p99", _ratio(samples, FLOOD, name, TAIL), "x quiet", None))
    return judged


def _judged(name: str, value: float | None, unit: str, bar: float | None) -> Judged:
    verdict = "" if bar is None else UNMEASURED if value is None else OK if value <= bar else MISSED
    return Judged(name=name, value=None if value is None else round(value, 3), unit=unit, bar=bar, verdict=verdict)


def _ratio(samples: Samples, phase: str, name: str, share: float) -> float | None:
    """What a phase makes of it, as a multiple of what it is when nothing else goes on."""
    quiet, other = (percentile(samples.of(one, name), share) for one in (QUIET, phase))
    return None if not quiet or other is None else other / quiet


# --- for a person


def tell_report(report: Report) -> None:
    """The report as a table, and below it what is judged."""
    bench.tell_machine(report.machine)
    took = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in report.seconds.items())
    screen.say(
        f"{report.sessions} sessions, {report.notes:,} notes to begin with, {report.think_ms:g} ms of thinking; {took}; "
        f"{report.events:,} events, {report.errors} errors, {report.behind} began late; beside: "
        f"{', '.join(f'{count:,} {name}' for name, count in report.beside.items()) or 'nothing'}"
    )
    columns = ("ms", *(phase for phase in _phases(report)))
    screen.table(columns, [_line(report, name) for name in dict.fromkeys(row.name for row in report.rows)])
    screen.say(
        "each: p50 / p99 of how many; echo: a ping on a new connection, as a hook's; echo-kept: on a kept one, as a verb's"
    )
    for one in report.judged:
        style = bench.VERDICT_STYLES.get(one.verdict, "dim")
        value = "-" if one.value is None else f"{one.value:g}"
        bar = "" if one.bar is None else f", at most {one.bar:g}"
        screen.say(f"{one.name}: {value} {one.unit}{bar}  ", (one.verdict, style))
    _tell_checked(report)


def _tell_checked(report: Report) -> None:
    checked = report.checked
    screen.say(
        f"acknowledged: {checked.notes:,} notes, {checked.prompts:,} prompts, {checked.commits:,} commits; "
        f"{checked.missing} missing, {checked.twice} twice; {checked.told:,} notes told; "
        f"{checked.events:,} events verified, {len(checked.faults)} faults"
    )
    for what in (*report.trouble, *report.logged, *checked.missing_first, *checked.twice_first, *checked.faults):
        screen.say((what, "bold red"))


def _phases(report: Report) -> list[str]:
    return [name for name in report.seconds if name != WARM]


def _line(report: Report, name: str) -> list[Part]:
    found = {row.phase: row for row in report.rows if row.name == name}
    return [(name, "bold"), *(_cell(found.get(phase)) for phase in _phases(report))]


def _cell(row: Row | None) -> str:
    if row is None or row.p50 is None or row.p99 is None:
        return "-"
    return f"{row.p50:.1f} / {row.p99:.1f} of {row.count:,}" + (f", {row.late} late" if row.late else "")
