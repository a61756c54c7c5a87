"""Measures the reading of evidence on the final set: `python -m tests.evidence.run_final_set`."""

import sys
import unicodedata
from collections import Counter
from typing import NamedTuple

from memd_daemon.evidence import Said, read
from tests.evidence.final_pair import Pair
from tests.evidence.final_set import PAIRS

FIRST_TURN = 4401
# The page leaves open whether a note that is `User:` and the user's words counts as covered as a whole. The first run
# took the label for false text in all of these (its spans were right): the measure's own mistake, so it is told apart.
LABEL = "User:"


class Outcome(NamedTuple):
    """What reading one pair gave, trifles (outer white space and punctuation) left aside."""

    pair: Pair
    got: tuple[str, ...]
    false_text: str
    missing_text: str
    false_whole: bool
    label_in_whole: bool


def is_trifle(char: str) -> bool:
    return char.isspace() or unicodedata.category(char)[0] in "PZ"


def expected_marks(pair: Pair) -> set[int]:
    marks: set[int] = set()
    start = 0
    for text in pair.stated:
        at = pair.note.index(text, start)
        start = at + len(text)
        marks.update(range(at, start))
    return marks


def with_trifles(marks: set[int], note: str) -> set[int]:
    """The marks and the trifles that touch them on either side."""
    wide = set(marks)
    for step, order in ((1, range(len(note))), (-1, range(len(note) - 1, -1, -1))):
        for at in order:
            if is_trifle(note[at]) and at - step in wide:
                wide.add(at)
    return wide


def judge(pair: Pair) -> Outcome:
    turns = [Said(number, text) for number, text in enumerate(pair.turns, FIRST_TURN)]
    reading = read(pair.note, turns)
    expected = expected_marks(pair)
    marked = {at for span in reading.spans for at in range(span.start, span.end)}
    label: set[int] = set(range(len(LABEL))) - marked if pair.note.startswith(LABEL) else set()
    if reading.whole:
        marked = set(range(len(pair.note)))
    wide = with_trifles(expected, pair.note)
    false_marks = sorted(marked - wide - label)
    missing = sorted(at for at in expected - marked if not is_trifle(pair.note[at]))
    return Outcome(
        pair=pair,
        got=tuple(pair.note[span.start : span.end] for span in reading.spans),
        false_text="".join(pair.note[at] for at in false_marks),
        missing_text="".join(pair.note[at] for at in missing),
        false_whole=bool(reading.whole) and bool(false_marks),
        label_in_whole=bool(reading.whole) and bool(label),
    )


def share(part: int, total: int) -> str:
    return f"{part}/{total}" + (f" ({100 * part / total:.1f} %)" if total else "")


def table(outcomes: list[Outcome], keys: list[str]) -> list[str]:
    pairs: Counter[str] = Counter(keys)
    stated: Counter[str] = Counter(key for key, out in zip(keys, outcomes, strict=True) if out.pair.stated)
    shown: Counter[str] = Counter(
        key for key, out in zip(keys, outcomes, strict=True) if out.pair.stated and not out.missing_text
    )
    false: Counter[str] = Counter(key for key, out in zip(keys, outcomes, strict=True) if out.false_text)
    return [
        f"  {key:14} pairs {pairs[key]:3}  false {false[key]:3}  true ones shown {share(shown[key], stated[key])}"
        for key in sorted(pairs)
    ]


def report(outcomes: list[Outcome]) -> list[str]:
    stated = [out for out in outcomes if out.pair.stated]
    false = [out for out in outcomes if out.false_text]
    lines = [
        f"pairs: {len(outcomes)} (with stated text {len(stated)}, without {len(outcomes) - len(stated)})",
        f"pairs with false user-stated text: {len(false)} (framed as a whole: {sum(o.false_whole for o in outcomes)})",
        f"taken as a whole with the label {LABEL} before (open by the page): {sum(o.label_in_whole for o in outcomes)}",
        f"true ones shown: {share(sum(not out.missing_text for out in stated), len(stated))}",
        "by language:",
        *table(outcomes, [out.pair.language for out in outcomes]),
        "by kind:",
        *table(outcomes, [out.pair.name.split(":")[0] for out in outcomes]),
        "misses:",
    ]
    for out in outcomes:
        if out.false_text or out.missing_text:
            kind = "FALSE" if out.false_text else "MISSING"
            lines += [
                f"  {kind} [{out.pair.language}] {out.pair.name} ({out.pair.why})",
                f"    turns:    {[turn[:300] for turn in out.pair.turns]!r}",
                f"    note:     {out.pair.note!r}",
                f"    expected: {out.pair.stated!r}",
                f"    got:      {out.got!r}",
            ]
    return lines


def main() -> None:
    sys.stdout.write("\n".join(report([judge(pair) for pair in PAIRS])) + "\n")


if __name__ == "__main__":
    main()
