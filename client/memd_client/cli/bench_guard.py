"""Whether what memd marks as the user's own words are: pairs of what a user wrote and a note, each with the right answer.

Pairs come from a file of JSON Lines, one `Pair` each, and are judged by what a daemon would show (`memd_daemon.evidenced`). White
space and punctuation that touch a mark are nobody's words and judged neither way.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click
import msgspec

from memd_client.cli.bench_process import Child

BATCH = 100  # pairs that the child is asked about at once
_TRIFLES = "PZ"  # categories of Unicode: punctuation and separators


class Pair(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``stated`` is what of ``note`` the user said in one of ``turns``, in the note's order, and ``why`` says so of what kind."""

    name: str
    language: str
    turns: list[str]
    note: str
    stated: list[str]
    why: str


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a pair: text marked that is not the user's, and text of the user's without a mark. "" is right."""

    pair: Pair
    false: str
    missing: str


def pairs(file: Path) -> list[Pair]:
    """The pairs of a file; empty lines are none. Raises click.UsageError where it holds none or something else, OSError."""
    lines = enumerate(file.read_bytes().splitlines(), 1)
    found = [_pair(f"{file}, line {number}", line) for number, line in lines if line.strip()]
    if not found:
        raise click.UsageError(f"there is no pair in {file}")
    return found


def _pair(where: str, line: bytes) -> Pair:
    try:
        pair = msgspec.json.decode(line, type=Pair)
        places(pair)
    except (ValueError, msgspec.MsgspecError) as error:
        raise click.UsageError(f"{where} is no pair: {error}") from error
    return pair


def places(pair: Pair) -> set[int]:
    """Where in the note the stated texts stand, one behind the other. Raises ValueError where one does not."""
    found: set[int] = set()
    at = 0
    for text in pair.stated:
        at = pair.note.find(text, at)
        if at < 0 or not text:
            raise ValueError("`stated` does not stand in `note`")
        found.update(range(at, at + len(text)))
        at += len(text)
    return found


def judged(pair: Pair, marked: Iterable[Sequence[int]]) -> Judged:
    """What became of a pair of which a daemon shows these stretches (first, end) as the user's own words."""
    stated, shown = places(pair), {at for first, end in marked for at in range(first, end)}
    false = sorted(shown - _with_trifles(stated, pair.note))
    missing = sorted(at for at in stated - shown if not _is_trifle(pair.note[at]))
    return Judged(pair=pair, false=_of(pair.note, false), missing=_of(pair.note, missing))


def _of(note: str, places: Sequence[int]) -> str:
    return "".join(note[at] for at in places)


def _is_trifle(char: str) -> bool:
    return char.isspace() or unicodedata.category(char)[0] in _TRIFLES


def _with_trifles(places: set[int], note: str) -> set[int]:
    """With the trifles that touch them on either side."""
    wide = set(places)
    for step, order in ((1, range(len(note))), (-1, range(len(note) - 1, -1, -1))):
        for at in order:
            if at - step in wide and _is_trifle(note[at]):
                wide.add(at)
    return wide


def asked(child: Child, given: Sequence[Pair]) -> Iterator[Judged]:
    """What becomes of each pair in a daemon's own code. Raises OSError."""
    for at in range(0, len(given), BATCH):
        some = given[at : at + BATCH]
        told = child.ask(do="mark", pairs=[{"turns": pair.turns, "note": pair.note} for pair in some])
        yield from (judged(pair, marked) for pair, marked in zip(some, told["marked"], strict=True))


def by_language(all_of_them: Sequence[Judged]) -> Iterator[tuple[str, list[Judged]]]:
    """Each language in order, then all together under the name `all`."""
    for language in sorted({one.pair.language for one in all_of_them}):
        yield language, [one for one in all_of_them if one.pair.language == language]
    yield "all", list(all_of_them)
