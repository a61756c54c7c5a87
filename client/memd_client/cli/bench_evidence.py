"""`memd bench evidence`: how often what memd says of a claim's words is right (docs/evidence.md).

The judging is a daemon's own code, in a process of its own (`memd_daemon.evidenced`); here texts are cut and counted. Each **part**
is a function that yields rows; `PARTS` names them.

**sources**: a session is given half of a set's texts by a tool. Then notes are judged that stand around a run of so many words of
them, written as they are or otherwise (case, punctuation, line breaks): the share that is stamped with its source. And notes of
what it was not given: the share that is stamped, which should be none. What the set's other half has in common with the first is
shown and not judged: people do say the same things, and copy the same functions.

**guard**, with ``--pairs``: in how many pairs of turns and a note something is marked that the user did not say, and in how many of
those with the user's words all of them are, in each language and in all (bench_guard.py).

With ``--times`` it is also measured how long the user's own words take (bench_spoken.py).
"""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
import msgspec

from memd_client.cli import bench, bench_guard, bench_process, bench_report, bench_spoken, bench_texts, screen
from memd_client.cli.bench_guard import Pair
from memd_client.cli.bench_process import Child
from memd_client.cli.bench_report import MISSED, OK, Machine
from memd_client.cli.bench_scratch import Tell
from memd_client.cli.bench_spoken import Took
from memd_client.cli.bench_texts import Texts
from memd_client.cli.screen import Part
from memd_client.cli.shape import command
from memd_client.wire import EXIT_DONE, EXIT_REFUSED

CHILD = "memd_daemon.evidenced"
CASES = 500
SEED = 1
COPIED_WORDS = (20, 30, 50)
RULE_WORDS = (10, 20)
OWN_WORDS = (0, 12)  # around a copy
ELSEWHERE_WORDS = (8, 60)
COPIES_BAR = 0.99  # of copies that are found, at least
ELSEWHERE_BAR = 0.005  # of what nobody copied, at most
FALSE_BAR = 0.0  # of pairs in which anything is marked that the user did not say, at most
SHOWN_BAR = 0.90  # of pairs in which all is marked that the user said, at least
EXAMPLES = 3  # shown of each row that missed its bar

_WORD = re.compile(r"\S+")
_UNIT = re.compile(r"[^\W_](?:\w*[^\W_])?")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A share of cases. ``bar`` None: shown, not judged; ``at_least`` says on which side of it the share has to be."""

    part: str
    set: str
    name: str
    cases: int
    share: float
    bar: float | None
    at_least: bool
    verdict: str  # ok, missed; "" without a bar
    examples: list[str]  # of what was judged wrongly


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The whole of `memd bench evidence --json`."""

    machine: Machine
    seed: int
    rows: list[Row]
    missed: list[str]
    times: list[Took] = []  # where they were asked for


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a part goes by."""

    child: Child
    texts: Sequence[Texts]
    cases: int
    seed: int
    tell: Tell
    pairs: Sequence[Pair] = ()


@command(short_help="How often what memd says of a claim's words is right.")
@click.option("--strict", is_flag=True, help="Exit 1 where a bar is missed.")
@click.option("--seed", type=int, default=SEED, show_default=True, help="Another one draws other cases.")
@click.option("--cases", type=click.IntRange(1), default=CASES, show_default=True, help="How many, for each row.")
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder with public sets (cosqa, locomo, devmembench); without it texts are made.",
)
@click.option(
    "--pairs",
    "pairs_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Also whether what is marked as the user's words is: a file of JSON Lines.",
)
@click.option("--times", "with_times", is_flag=True, help="Also how long the user's own words take.")
def evidence(
    data: Path | None,
    cases: int,
    seed: int,
    strict: bool,
    pairs_file: Path | None,
    with_times: bool,
    as_json: bool,
) -> int:
    """Copy texts, and write others, and see what memd makes of them.

    Your own home and daemon are not touched. Takes about a minute.
    """
    pairs = bench_guard.pairs(pairs_file) if pairs_file else []
    report = bench.reported(lambda tell: measure(data, cases, seed, tell, with_times, pairs), tell_report, as_json)
    return EXIT_REFUSED if strict and report.missed else EXIT_DONE


def measure(
    data: Path | None, cases: int, seed: int, tell: Tell, with_times: bool = False, pairs: Sequence[Pair] = ()
) -> Report:
    """The whole measurement. Raises click.UsageError where the folder has no set, OSError."""
    texts = list(bench_texts.sets(data, seed))
    if not texts:
        raise click.UsageError(f"there is no set in {data}")
    with bench_process.child("-m", CHILD) as child:
        asked = Asked(child=child, texts=texts, cases=cases, seed=seed, tell=tell, pairs=pairs)
        rows = [row for part in PARTS for row in part(asked)]
    took = bench_spoken.times(tell) if with_times else []
    missed = [f"{row.set}/{row.name}" for row in rows if row.verdict == MISSED]
    missed += [one.name for one in took if one.verdict == MISSED]
    return Report(machine=bench_report.machine(""), seed=seed, rows=rows, missed=missed, times=took)


def row(part: str, of: str, name: str, cases: int, wrong: Sequence[str], *, at_least: bool, bar: float | None) -> Row:
    """A row of which ``wrong`` cases were judged wrongly: what was not found where a bar is a least share, else what was."""
    share = 1 - len(wrong) / cases if at_least else len(wrong) / cases
    is_met = bar is None or (share >= bar if at_least else share <= bar)
    verdict = "" if bar is None else OK if is_met else MISSED
    return Row(
        part=part,
        set=of,
        name=name,
        cases=cases,
        share=share,
        bar=bar,
        at_least=at_least,
        verdict=verdict,
        examples=list(wrong[:EXAMPLES]),
    )


# --- where words come from


class Heap:
    """Texts, and where their words stand, as memd counts them."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [(text, [match.span() for match in _UNIT.finditer(text)]) for text in texts]

    def run(self, chance: random.Random, words: int) -> str:
        """So many words in a row, and what stands between them; "" where no text has as many."""
        long_enough = [one for one in self._texts if len(one[1]) >= words]
        if not words or not long_enough:
            return ""
        text, units = chance.choice(long_enough)
        first = chance.randrange(len(units) - words + 1)
        return text[units[first][0] : units[first + words - 1][1]]


def sources(asked: Asked) -> Iterator[Row]:
    """See the module's docstring."""
    for texts in asked.texts:
        asked.tell(f"{texts.name}: a session is given {len(texts.read):,} texts")
        asked.child.ask(do="read", session=texts.name, texts=texts.read)
        yield from _copies(asked, texts)
        yield from _others(asked, texts)


def _copies(asked: Asked, texts: Texts) -> Iterator[Row]:
    chance = random.Random(asked.seed)  # noqa: S311 -- the same cases for the same seed
    read, own = Heap(texts.read), Heap(texts.elsewhere)

    def around(run: str) -> str:
        """A note that has the run between words of its own."""
        before, after = (own.run(chance, chance.randint(*OWN_WORDS)) for _ in range(2))
        return f"{before} {run} {after}".strip()

    for words in COPIED_WORDS:
        runs = [read.run(chance, words) for _ in range(asked.cases)]
        as_it_is = [around(run) for run in runs]
        yield _found(asked, texts.name, f"{words} words copied", as_it_is)
        rewritten = [around(otherwise(chance, run)) for run in runs]
        yield _found(asked, texts.name, f"{words} words copied, written otherwise", rewritten)
    for words in RULE_WORDS:
        rules = [read.run(chance, words) for _ in range(asked.cases)]
        yield _found(asked, texts.name, f"a rule of {words} words copied", rules, "directive")


def _others(asked: Asked, texts: Texts) -> Iterator[Row]:
    """Notes of what nobody gave the session: texts about other things, and for comparison the set's other half."""
    chance = random.Random(asked.seed)  # noqa: S311 -- the same cases for the same seed
    others = [text for one in asked.texts if one is not texts for text in (*one.read, *one.elsewhere)]
    heaps = [("other words", Heap(others or texts.elsewhere), True)]
    heaps += [("words of the same kind", Heap(texts.elsewhere), False)] if others else []
    for name, heap, is_judged in heaps:
        cases = [heap.run(chance, chance.randint(*ELSEWHERE_WORDS)) for _ in range(asked.cases)]
        yield _alien(asked, texts.name, f"{name} stamped", cases, is_judged=is_judged)
        yield _alien(asked, texts.name, f"a rule of {name} refused", cases, "directive", is_judged=is_judged)


def _found(asked: Asked, of: str, name: str, cases: list[str], kind: str = "finding") -> Row:
    judged = _judged(asked, of, name, cases, kind)
    wrong = [case for case, how in zip(cases, judged, strict=True) if how == "own"]
    return row("sources", of, name, len(cases), wrong, at_least=True, bar=COPIES_BAR)


def _alien(asked: Asked, of: str, name: str, cases: list[str], kind: str = "finding", *, is_judged: bool) -> Row:
    judged = _judged(asked, of, name, cases, kind)
    wrong = [case for case, how in zip(cases, judged, strict=True) if how != "own"]
    return row("sources", of, name, len(cases), wrong, at_least=False, bar=ELSEWHERE_BAR if is_judged else None)


def _judged(asked: Asked, session: str, name: str, cases: list[str], kind: str) -> list[str]:
    asked.tell(f"{session}: {name}")
    return list(asked.child.ask(do="judge", session=session, texts=cases, kind=kind)["judged"])


def otherwise(chance: random.Random, run: str) -> str:
    """The same words in other case, with other punctuation, on other lines."""
    words = [match.group() for match in _WORD.finditer(run)]
    marks = (" ", " ", " ", "\n", ", ", "; ", " — ", "\n> ", ". ")
    cases: tuple[Callable[[str], str], ...] = (str, str, str.upper, str.title)
    return "".join(chance.choice(cases)(word) + chance.choice(marks) for word in words).strip()


def guard(asked: Asked) -> Iterator[Row]:
    """See the module's docstring."""
    if not asked.pairs:
        return
    asked.tell(f"{len(asked.pairs):,} pairs: what is marked as the user's own words")
    for language, judged in bench_guard.by_language(list(bench_guard.asked(asked.child, asked.pairs))):
        false = [f"{one.pair.name}: {one.false}" for one in judged if one.false]
        yield row("guard", language, "marked, not the user's", len(judged), false, at_least=False, bar=FALSE_BAR)
        stated = [one for one in judged if one.pair.stated]
        missing = [f"{one.pair.name}: {one.missing}" for one in stated if one.missing]
        if stated:
            yield row("guard", language, "the user's, marked", len(stated), missing, at_least=True, bar=SHOWN_BAR)


PARTS: tuple[Callable[[Asked], Iterator[Row]], ...] = (sources, guard)


# --- telling


def tell_report(report: Report) -> None:
    """The report as a table for a person."""
    bench.tell_machine(report.machine)
    columns = ("set", "what", "cases", "share", "bar", "verdict")
    screen.table(columns, [_cells(one) for one in report.rows])
    screen.table(("what", "ms", "bar", "verdict", "what it stands beside takes"), [_timed(one) for one in report.times])
    for one in report.rows:
        if one.verdict == MISSED:
            screen.say(
                (f"{one.set}, {one.name}:", "bold red"), *(f"\n  {' '.join(case.split())}" for case in one.examples)
            )


def _timed(one: Took) -> list[Part]:
    bar = "-" if one.bar_ms is None else f"<= {one.bar_ms:g}"
    verdict = (one.verdict or "-", bench.VERDICT_STYLES.get(one.verdict, "dim"))
    return [one.name, f"{one.ms:.2f}", bar, verdict, f"{one.beside_ms:.2f} ms"]


def _cells(one: Row) -> list[Part]:
    bar = "-" if one.bar is None else f"{'>=' if one.at_least else '<='} {one.bar:.3g}"
    verdict = (one.verdict or "-", bench.VERDICT_STYLES.get(one.verdict, "dim"))
    return [(one.set, "bold"), one.name, f"{one.cases:,}", f"{one.share:.2%}", bar, verdict]
