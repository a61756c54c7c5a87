"""`memd bench staleness`: how often a note is flagged on a real history, and how often rightly (docs/staleness.md).

A process of the daemon's package (`memd_daemon.historied`) imagines notes on functions along a repository's history, and says of
each what the product would flag some steps later and whether the function had changed. Here that is counted and shown.

Of each kind of anchor and distance:

    notes      that were looked at; ``changed``: of these, whose function had changed or was no longer there
    alerts     notes that were flagged; ``caught``: of these, the changed ones
    precision  caught of alerts; recall: caught of changed; ``per_catch``: alerts for each caught one
"""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import click
import msgspec

from memd_client.cli import bench, bench_process, screen
from memd_client.cli.bench_scratch import Tell, left
from memd_client.cli.screen import Part
from memd_client.cli.shape import command
from memd_client.wire import EXIT_DONE, EXIT_REFUSED

CHILD = "memd_daemon.historied"
NOTES = 600  # for each distance
COMMITS = 120
SYMBOL = "symbol"
OR_RENAMED = "symbol or renamed"
KINDS: tuple[str, ...] = ("file", "mtime", "lines", SYMBOL, OR_RENAMED)
BAR = 0.98  # of precision and of recall, for symbols at all distances together
ALL = 0


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """A note and what became of it, as the process says it. ``truth``: "" for unchanged, else changed, moved or gone."""

    distance: int
    commit: str
    later: str
    path: str
    name: str
    language: str
    now_path: str
    truth: str
    signals: dict[str, str]
    left_out: str

    def alert(self, kind: str) -> str:
        """The signal that a kind of anchor raises, "" for none. A file's new path alone is one where the kind says so."""
        if kind != OR_RENAMED:
            return self.signals[kind]
        is_renamed = self.now_path not in ("", self.path)
        return self.signals[SYMBOL] or ("anchor_renamed" if is_renamed else "")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of anchor at a distance; ``distance`` 0: at all of them. See the module's docstring."""

    distance: int
    kind: str
    notes: int
    changed: int
    alerts: int
    caught: int
    precision: float | None
    recall: float | None
    per_catch: float | None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The whole of `memd bench staleness --json`."""

    repo: str
    head: str
    steps: int  # commits along first parents
    seed: int
    rows: list[Row]
    written: dict[str, float]  # by distance: the share of source bytes in files that were written until then
    languages: dict[str, int]  # notes that count
    left_out: dict[str, int]
    disagreements: list[Observed]  # truth and the symbol's flag; as many as were asked for
    missed: list[str]


@command(short_help="How often notes are flagged on a real history, and how often rightly.")
@click.option("--show", type=click.IntRange(0), default=0, help="Show as many notes whose flag and truth differ.")
@click.option(
    "--of", type=click.Choice(KINDS[:-1]), default=SYMBOL, show_default=True, help="For which anchors to show them."
)
@click.option("--strict", is_flag=True, help="Exit 1 where a bar is missed.")
@click.option("--seed", type=int, default=1, show_default=True, help="Another one draws other notes.")
@click.option(
    "--commits", type=click.IntRange(1), default=COMMITS, show_default=True, help="At how many, for each distance."
)
@click.option("--notes", type=click.IntRange(1), default=NOTES, show_default=True, help="How many, for each distance.")
@click.option(
    "--repo",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    required=True,
    help="The repository whose history is read; it may be bare. Nothing in it is written.",
)
def staleness(repo: Path, notes: int, commits: int, seed: int, strict: bool, of: str, show: int, as_json: bool) -> int:
    """Imagine notes on functions along a repository's history, and compare what is flagged later with what has changed.

    Notes are looked at 1, 5, 20 and 100 commits later, along first parents. Takes a minute or some.
    """
    report = bench.reported(lambda tell: measure(repo, notes, commits, seed, (of, show), tell), tell_report, as_json)
    return EXIT_REFUSED if strict and report.missed else EXIT_DONE


def measure(repo: Path, notes: int, commits: int, seed: int, show: tuple[str, int], tell: Tell) -> Report:
    """The whole measurement. Raises click.UsageError where there is no history, OSError."""
    observed: list[Observed] = []
    sources: Counter[int] = Counter()
    written: Counter[int] = Counter()
    with bench_process.child("-m", CHILD) as child:
        tell("history: git compares every commit with the one before")
        found = child.ask(repo=str(repo.absolute()), notes=notes, commits=commits, seed=seed)
        if "error" in found:
            raise click.UsageError(f"there is no git history that can be read at {repo}")
        began = time.monotonic()
        for number in range(found["rounds"]):
            tell(f"notes: {number:,} of {found['rounds']:,} rounds{left(began, number, found['rounds'])}")
            done = child.ask(round=number)
            seen = msgspec.convert(done["observed"], list[Observed])
            observed += seen
            distance = int(done["distance"])
            sources[distance] += done["source_bytes"]
            written[distance] += done["written_bytes"]
    rows = rows_of(observed, found["distances"])
    counted = [one for one in observed if not one.left_out]
    return Report(
        repo=repo.absolute().name,
        head=found["head"],
        steps=found["steps"],
        seed=seed,
        rows=rows,
        written={str(one): round(written[one] / sources[one], 3) for one in found["distances"] if sources[one]},
        languages=dict(Counter(one.language for one in counted).most_common()),
        left_out=dict(Counter(one.left_out for one in observed if one.left_out).most_common()),
        disagreements=[one for one in counted if bool(one.truth) != bool(one.alert(show[0]))][: show[1]],
        missed=missed(rows),
    )


def rows_of(observed: Sequence[Observed], distances: Iterable[int]) -> list[Row]:
    """Every kind at every distance and at all of them; what was left out counts nowhere."""
    counted = [one for one in observed if not one.left_out]
    return [
        row(distance, kind, [one for one in counted if distance in (ALL, one.distance)])
        for distance in (*distances, ALL)
        for kind in KINDS
    ]


def row(distance: int, kind: str, observed: Sequence[Observed]) -> Row:
    """One kind on these notes."""
    alerts = [one for one in observed if one.alert(kind)]
    changed = sum(1 for one in observed if one.truth)
    caught = sum(1 for one in alerts if one.truth)
    return Row(
        distance=distance,
        kind=kind,
        notes=len(observed),
        changed=changed,
        alerts=len(alerts),
        caught=caught,
        precision=_share(caught, len(alerts)),
        recall=_share(caught, changed),
        per_catch=_share(len(alerts), caught),
    )


def _share(part: int, of: int) -> float | None:
    return round(part / of, 4) if of else None


def missed(rows: Iterable[Row]) -> list[str]:
    """Which bars the symbols' total misses; one that cannot be told is missed."""
    (total,) = (one for one in rows if one.kind == SYMBOL and one.distance == ALL)
    measured = {"precision": total.precision, "recall": total.recall}
    return [name for name, value in measured.items() if value is None or value < BAR]


def tell_report(report: Report) -> None:
    """The report as a table for a person."""
    screen.say(f"{report.repo} at {report.head[:12]}, {report.steps:,} commits along first parents, seed {report.seed}")
    columns = ("commits later", "anchor", "notes", "changed", "alerts", "caught", "precision", "recall", "per catch")
    screen.table(columns, [_cells(one) for one in report.rows])
    said = ", ".join(f"{float(share):.0%} after {distance}" for distance, share in report.written.items())
    screen.say(f"notes are in files that were written meanwhile: of the source {said}")
    screen.say(f"languages: {_counts(report.languages)}; left out: {_counts(report.left_out) or 'none'}")
    for one in report.disagreements:
        _tell_disagreement(one)
    if report.missed:
        screen.say((f"missed: {', '.join(report.missed)} of {SYMBOL}, bar {BAR}", "bold red"))


def _tell_disagreement(one: Observed) -> None:
    signals = ", ".join(f"{kind} {signal or '-'}" for kind, signal in one.signals.items())
    at = f"{one.commit[:12]}..{one.later[:12]} (+{one.distance})"
    screen.say(
        f"{at} {one.path}::{one.name}", f" -> {one.now_path or 'gone'}: truth {one.truth or 'unchanged'}; {signals}"
    )


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


def _cells(one: Row) -> list[Part]:
    return [
        str(one.distance) if one.distance else "all",
        (one.kind, "bold" if one.kind == SYMBOL else ""),
        *(f"{count:,}" for count in (one.notes, one.changed, one.alerts, one.caught)),
        *("-" if value is None else f"{value:.3f}" for value in (one.precision, one.recall)),
        "-" if one.per_catch is None else f"{one.per_catch:.2f}",
    ]
