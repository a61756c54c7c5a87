"""Two texts with LF at their line ends, and what differs between them: a unified diff, bounded. Pure.

What both have at their beginnings and ends is left out first; where too much is left to compare line by line in a moment, nothing
is told but that.
"""

from collections.abc import Callable
from difflib import SequenceMatcher
from itertools import islice

import msgspec

from memd_daemon import limits

CONTEXT_LINES = 3

_Group = list[tuple[str, int, int, int, int]]
"""What becomes of lines a..b of the one text in lines c..d of the other: neighbours of one change."""


class Diff(msgspec.Struct, frozen=True):
    """``lines`` as `diff -u` has them, without the names; ``more``: how many further ones there are."""

    lines: tuple[str, ...] = ()
    more: int = 0
    too_different: bool = False


def differing(
    old: str, new: str, first_old: int = 1, first_new: int = 1, shown: Callable[[str], str] | None = None
) -> Diff:
    """What differs. ``first_old``, ``first_new``: the numbers of the texts' first lines in their files.

    ``shown``: a text as it may be told, line for line; what differs is decided without it.
    """
    was, now = _lines(old), _lines(new)
    head, tail = _alike(was, now), 0
    while tail < min(len(was), len(now)) - head and was[-1 - tail] == now[-1 - tail]:
        tail += 1
    if (len(was) - head - tail) * (len(now) - head - tail) > limits.DIFF_PAIRS_MAX:
        return Diff(too_different=True)
    skip, keep = max(0, head - CONTEXT_LINES), max(0, tail - CONTEXT_LINES)
    was, now = was[skip : len(was) - keep], now[skip : len(now) - keep]
    groups = list(SequenceMatcher(None, was, now, autojunk=False).get_grouped_opcodes(CONTEXT_LINES))
    if shown is not None:
        was, now = _lines(shown(old))[skip : skip + len(was)], _lines(shown(new))[skip : skip + len(now)]
    told = _told(groups, was, now, first_old + skip, first_new + skip)
    lines = tuple(_cut(line) for line in islice(told, limits.DIFF_LINES_MAX))
    return Diff(lines=lines, more=len(told) - len(lines))


def _lines(text: str) -> list[str]:
    """Broken at line feeds alone: what else may break a line is a character of it, and is to be seen."""
    return text.removesuffix("\n").split("\n") if text else []


def _alike(was: list[str], now: list[str]) -> int:
    """How many lines both have in common at their beginnings."""
    count = 0
    for one, other in zip(was, now, strict=False):
        if one != other:
            break
        count += 1
    return count


def _told(groups: list[_Group], was: list[str], now: list[str], first_old: int, first_new: int) -> list[str]:
    found: list[str] = []
    for group in groups:
        before, after = (group[0][1], group[-1][2]), (group[0][3], group[-1][4])
        found.append(f"@@ -{_span(before, first_old)} +{_span(after, first_new)} @@")
        for how, a, b, c, d in group:
            if how == "equal":
                found += [f" {line}" for line in was[a:b]]
                continue
            found += [f"-{line}" for line in was[a:b]]
            found += [f"+{line}" for line in now[c:d]]
    return found


def _span(part: tuple[int, int], first: int) -> str:
    """``first,count`` of some lines; of none the line before them."""
    start, count = part[0] + first, part[1] - part[0]
    return f"{start - (count == 0)},{count}"


def _cut(line: str) -> str:
    """A line of a program's making is as long as its file."""
    return line if len(line) <= limits.DIFF_LINE_MAX_CHARS else line[: limits.DIFF_LINE_MAX_CHARS - 1] + "…"
