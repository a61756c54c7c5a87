"""The rows of `memd bench all`: every bench's figures in one form, each with the base that it is a ratio of.

A **timed** row is measured in each round beside its base: `ratio` is the median over the rounds of value by base, `p25` and `p75`
its quartiles, `low` and `high` those of the value. A **judged** row is a share of cases, the same at every run with the same
parameters: it has no base, and its quartiles are the share itself.

A row of **load** is measured once, since what it is made of takes minutes; so it has no quartiles, and no change of it is called
one.

A **base** is a row too, without a bar: the bare interpreter, a raw LMDB commit and their like. What changes there has changed in
the machine. A base that is a number (`1 ms`) or several rows together is no row.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from memd_client.cli import (
    bench_all_compiled,
    bench_evidence,
    bench_load,
    bench_report,
    bench_rounds,
    bench_staleness,
    bench_writes,
)
from memd_client.cli.bench_load_calls import ECHO, ECHO_KEPT
from memd_client.cli.bench_load_phases import QUIET
from memd_client.cli.bench_report import MISSED, OK, UNMEASURED, Machine, Measure, Row
from memd_client.cli.bench_rounds import Round

FORMAT: Final = "memd-bench-all/1"
SHARE: Final = "share"
HOOKS, WRITES, SPOKEN, COMPILED, LOAD = "hooks", "writes", "spoken", "compiled", "load"
DIGITS: Final = 4


class Last(msgspec.Struct, frozen=True, kw_only=True):
    """What the row was in the run before: its value, and the ratio and quartiles that are compared."""

    value: float
    ratio: float | None
    p25: float
    p75: float


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A row; None where nothing was measured, and then ``why`` may say why. See the module's docstring.

    ``base``: the name of a row, a number with its unit, or "". ``bar`` bounds the ratio, or the value of a row without a base; from
    below where ``at_least``. ``verdict``: ok, missed, unmeasured, "" without a bar.

    ``change``: by how much of itself what is compared has moved since the last run (-0.1: a tenth less); ``changed`` in a word:
    better, worse, same (within the spread of either run), new, other (it was measured otherwise), few (too few rounds to say),
    of a base lower or higher; "" without a last run.
    """

    name: str
    says: str
    unit: str
    value: float | None
    low: float | None
    high: float | None
    base: str
    base_value: float | None
    ratio: float | None
    p25: float | None
    p75: float | None
    bar: float | None
    at_least: bool
    verdict: str
    unanswered: int
    rounds: int  # in which it was measured; 0: judged, no matter of rounds
    why: str = ""
    last: Last | None = None
    change: float | None = None
    changed: str = ""

    @property
    def is_base(self) -> bool:
        """Whether it is there for others to be measured by."""
        return self.name.startswith("base/")


class Parameters(msgspec.Struct, frozen=True, kw_only=True):
    """What decides what is measured: only runs that are alike in all of it are compared."""

    notes: int
    rounds: int
    cases: int  # of each row of evidence
    pairs: int  # of turns and notes, 0: none were given
    imagined: int  # notes, at each distance of a history
    commits: int  # of the history, at which they are imagined
    sessions: int  # at once, under load
    load_minutes: float  # 0: no load
    seed: int
    history: str  # the history's newest commit, "" where there was none


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """The run that this one was compared with, or ``why`` it was not."""

    file: str
    why: str = ""
    at: str = ""
    memd: str = ""
    python: str = ""
    system: str = ""
    load_before: float = 0.0


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """The whole of `memd bench all --json`, and what is kept of it."""

    format: str
    machine: Machine
    parameters: Parameters
    seconds: float
    rows: list[Line]
    missed: list[str]
    compared: Compared


class Base(NamedTuple):
    """A base of a part: ``says`` are the words by which the part's measures name it."""

    name: str
    says: str
    key: str  # of a round's samples


_Hooks, _Writes, _Compiled = bench_rounds.Key, bench_writes.Key, bench_all_compiled.Key
BASES: Final[Mapping[str, tuple[Base, ...]]] = {
    HOOKS: (
        Base("base/bare", "bare interpreter", _Hooks.BARE),
        Base("base/imports", "import zmq, msgspec, lmdb", _Hooks.IMPORTS),
        Base("base/embedding", "one embedding", _Hooks.EMBED),
        Base("base/commit", "one LMDB commit", _Hooks.COMMIT),
    ),
    WRITES: (
        Base("base/raw-commit", "one LMDB commit of as many bytes, one table", _Writes.RAW),
        Base("base/rows-commit", "one LMDB commit of the same rows", _Writes.ROWS),
    ),
    COMPILED: (
        Base("base/true", "/bin/true", _Compiled.TRUE),
        Base("base/bare-beside-c", "bare interpreter", _Compiled.BARE),
    ),
}


def timed(part: str, measures: Sequence[Measure], rounds: Sequence[Round]) -> list[Line]:
    """A part's rows, its bases first. ``rounds`` are the part's own."""
    bases = BASES.get(part, ())
    named = {base.says: base.name for base in bases}
    return [
        *(_base_line(base, rounds) for base in bases),
        *(_line(part, bench_report.row(measure, rounds), named) for measure in measures),
    ]


def _base_line(base: Base, rounds: Sequence[Round]) -> Line:
    values = [value for one in rounds if (value := one.value(base.key)) is not None]
    low, middle, high = _rounded(bench_report.quartiles(values))
    return Line(
        name=base.name,
        says=base.says,
        unit="ms",
        value=middle,
        low=low,
        high=high,
        base="",
        base_value=None,
        ratio=None,
        p25=low,
        p75=high,
        bar=None,
        at_least=False,
        verdict="",
        unanswered=0,
        rounds=len(values),
    )


def _line(part: str, row: Row, named: Mapping[str, str]) -> Line:
    low, _, high = _rounded(bench_report.quartiles([value for value, _ in row.rounds]))
    p25, ratio, p75 = _rounded((row.p25, row.ratio, row.p75))
    return Line(
        name=f"{part}/{row.name}",
        says=row.says,
        unit=row.unit,
        value=row.median,
        low=low,
        high=high,
        base=named.get(row.reference_says, row.reference_says),
        base_value=row.reference,
        ratio=ratio,
        p25=p25,
        p75=p75,
        bar=row.bar,
        at_least=False,
        verdict=row.verdict,
        unanswered=row.unanswered,
        rounds=len(row.rounds),
    )


def _rounded(values: Sequence[float | None]) -> list[float | None]:
    return [None if value is None else round(value, DIGITS) for value in values]


def judged(name: str, says: str, share: float | None, bar: float | None, *, at_least: bool, verdict: str) -> Line:
    """A share of cases."""
    (value,) = _rounded([share])
    return Line(
        name=name,
        says=says,
        unit=SHARE,
        value=value,
        low=value,
        high=value,
        base="",
        base_value=None,
        ratio=None,
        p25=value,
        p75=value,
        bar=bar,
        at_least=at_least,
        verdict=verdict,
        unanswered=0,
        rounds=0,
    )


def not_measured(name: str, says: str, why: str) -> Line:
    """A row, or a part of them, that could not be had here, and why."""
    line = judged(name, says, None, None, at_least=False, verdict=UNMEASURED)
    return msgspec.structs.replace(line, unit="", why=why)


def of_evidence(row: bench_evidence.Row) -> Line:
    """A row of `memd bench evidence`."""
    says = f"of {row.cases:,} cases of {row.set}"
    name = f"{row.part}/{row.set}/{row.name}"
    return judged(name, says, row.share, row.bar, at_least=row.at_least, verdict=row.verdict)


def of_load(report: bench_load.Report, *, is_long: bool) -> list[Line]:
    """Rows of `memd bench load`: what it judges, what of the acknowledged is not there once, and each kind of call beside the echo.

    What grows with the events is told of a run that ``is_long`` alone: a short one is all beginning.
    """
    checked = report.checked
    lost = checked.missing + checked.twice + len(checked.faults)
    lines = [_once("load/lost", "acknowledged, and not there exactly once", "", lost, 0.0, MISSED if lost else OK)]
    for one in report.judged:
        if is_long or not one.name.startswith("growth"):
            lines.append(_once(f"load/{one.name}", "under load", one.unit, one.value, one.bar, one.verdict))
    echoes: dict[str, Line] = {}
    for row in report.rows:
        if row.phase == QUIET and row.name not in (ECHO, ECHO_KEPT):
            way = ECHO_KEPT if row.name in bench_load.VERBS else ECHO
            for share, value, beside in (("p50", row.p50, row.echo_p50), ("p99", row.p99, row.echo_p99)):
                base = _once(f"base/{way}-{share}", _ECHOES[way], "ms", beside, None, "")
                line = _once(f"load/{row.name}-{share}", f"{report.sessions} sessions at once", "ms", value, None, "")
                lines.append(_over(line, echoes.setdefault(base.name, base)))
    return [*echoes.values(), *lines]


_ECHOES: Final = {ECHO: "a ping as a hook's, under load", ECHO_KEPT: "a ping on a connection that is kept, under load"}


def _over(line: Line, base: Line) -> Line:
    """The row as a ratio of another one that was measured once, too."""
    ratio = line.value / base.value if line.value is not None and base.value else None
    (ratio,) = _rounded([ratio])
    return msgspec.structs.replace(line, base=base.name, base_value=base.value, ratio=ratio, p25=ratio, p75=ratio)


def _once(name: str, says: str, unit: str, value: float | None, bar: float | None, verdict: str) -> Line:
    line = judged(name, says, value, bar, at_least=False, verdict=verdict)
    return msgspec.structs.replace(line, unit=unit, rounds=1)


def of_staleness(rows: Sequence[bench_staleness.Row]) -> list[Line]:
    """What `memd bench staleness` judges: precision and recall of symbols' flags, at all distances together."""
    (total,) = (one for one in rows if (one.kind, one.distance) == (bench_staleness.SYMBOL, bench_staleness.ALL))
    missed, bar = bench_staleness.missed(rows), bench_staleness.BAR
    figures = {
        "precision": (total.precision, f"of {total.alerts:,} flags, rightly raised"),
        "recall": (total.recall, f"of {total.changed:,} functions that changed, flagged"),
    }
    return [
        judged(f"staleness/{name}", says, share, bar, at_least=True, verdict=MISSED if name in missed else OK)
        for name, (share, says) in figures.items()
    ]
