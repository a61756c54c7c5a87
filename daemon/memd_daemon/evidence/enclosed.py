"""What stands inside quotation marks, brackets and code of one paragraph: no sentence ends in there, and none begins.

Which way a straight quotation mark points is told by the white space around it, guillemets by the first one of the text
(`«…»` or `»…«`), and German and English marks by what is open already. Marks that do not pair up are read for the worse: one
that opens and never closes quotes all that follows, to the end of the text; one that closes what was never opened quotes all
before it in its paragraph, save after a digit (inches) and after a letter where it is an apostrophe.
"""

from bisect import bisect_left, bisect_right
from operator import itemgetter
from typing import Final, NamedTuple

from memd_daemon import limits
from memd_daemon.evidence.signs import (
    ALWAYS_CLOSE,
    ALWAYS_OPEN,
    CLOSING,
    DOUBLE,
    ENCLOSING,
    GUILLEMETS,
    IS_UNSPACED,
    OPENING,
    SINGLE,
)
from memd_daemon.pattern import pattern

_BACKTICKS: Final = pattern("`+")
_BEFORE_OPENING: Final = frozenset("([{（［｛【〔-–—/:=,;*_~>«»‹›「『《〈“„‘‚\"'、，：。！？")
BRACKET, QUOTE, CODE = "bracket", "quote", "code"


class Enclosed(NamedTuple):
    """The outermost stretches of a paragraph that are enclosed, in order, and what was read for the worse."""

    stretches: tuple[tuple[int, int, str], ...]  # start, end behind the closing sign, what it is
    torn: int  # where a quotation begins that never ends; -1 where none does
    stray: int  # behind the last mark that ends a quotation that never began; -1 where none does

    def around(self, at: int) -> tuple[int, int, str] | None:
        """The stretch that ``at`` lies in; None where it lies in none."""
        before = bisect_right(self.stretches, at, key=itemgetter(0)) - 1
        return self.stretches[before] if before >= 0 and at < self.stretches[before][1] else None

    def begun_at(self, at: int) -> tuple[int, str]:
        """The end of the stretch that begins at ``at`` and what it is; (0, "") where none does."""
        found = bisect_left(self.stretches, at, key=itemgetter(0))
        if found < len(self.stretches) and self.stretches[found][0] == at:
            return self.stretches[found][1:]
        return 0, ""


NOTHING: Final = Enclosed((), -1, -1)


def opens_with(text: str) -> dict[str, bool]:
    """Which guillemets open in ``text``: the first of each size does."""
    opens: dict[str, bool] = {}
    for small, pair in (("«", "»"), ("‹", "›")):
        left, right = text.find(small), text.find(pair)
        opens[small] = right < 0 or 0 <= left < right
        opens[pair] = not opens[small]
    return opens


class _Reader:
    """Reads one paragraph from left to right."""

    def __init__(self, text: str, start: int, end: int, opens: dict[str, bool]) -> None:
        self.text, self.start, self.end, self.opens = text, start, end, opens
        self.open: list[tuple[str, int]] = []  # family, where
        self.found: list[tuple[int, int, str]] = []
        self.quoted: dict[bool, int] = {}  # whether by single marks: where the first quotation of the paragraph begins
        self.stray = -1

    def read(self, first: int) -> Enclosed:
        at, torn = first, -1
        while len(self.open) < limits.EVIDENCE_NESTED_MAX and (sign := ENCLOSING.search(self.text, at, self.end)):
            at = self._take(sign.start(), sign.group())
        if self.open:
            kind = self._kind(self.open[0][0])
            self.found.append((self.open[0][1], self.end, kind))
            is_lost = len(self.open) >= limits.EVIDENCE_NESTED_MAX
            torn = min((where for family, where in self.open if is_lost or self._kind(family) == QUOTE), default=-1)
        return Enclosed(tuple(_outermost(self.found)), torn, self.stray)

    @staticmethod
    def _kind(family: str) -> str:
        return BRACKET if family in OPENING else QUOTE

    def _take(self, at: int, char: str) -> int:
        if char == "`":
            return self._code(at)
        if char in OPENING:
            self.open.append((char, at))
        elif char in CLOSING:
            self._close(CLOSING[char], at, may_stray=False)
        elif char in ALWAYS_OPEN:
            self.open.append((char, at))
        elif char in ALWAYS_CLOSE:
            self._close(ALWAYS_CLOSE[char], at, may_stray=True)
        elif char in GUILLEMETS:
            family = GUILLEMETS[char]
            if self.opens[char]:
                self.open.append((family, at))
            else:
                self._close(family, at, may_stray=True)
        elif char in DOUBLE:
            self._double(at, char)
        elif char in SINGLE:
            self._single(at, char)
        return at + 1

    def _code(self, at: int) -> int:
        ticks = _BACKTICKS.match(self.text, at, self.end)
        size = ticks.end() - at if ticks else 1
        for other in _BACKTICKS.finditer(self.text, at + size, self.end):
            if other.end() - other.start() == size:
                self.found.append((at, other.end(), CODE))
                return other.end()
        self.found.append((at, self.end, CODE))
        return self.end

    def _before(self, at: int) -> str:
        return self.text[at - 1] if at > self.start else " "

    def _after(self, at: int) -> str:
        return self.text[at + 1] if at + 1 < self.end else " "

    def _is_open(self, family: str) -> bool:
        return any(mark == family for mark, _ in self.open)

    def _double(self, at: int, char: str) -> None:
        before, after = self._before(at), self._after(at)
        if char == "„":
            self.open.append(("d", at))
        elif char == "“":
            german = any(family == "d" and self.text[where] == "„" for family, where in self.open)
            if german:
                self._close("d", at, may_stray=True)
            else:
                self.open.append(("d", at))
        elif self._is_open("d") and (char == "”" or not _may_open(before, after)):
            self._close("d", at, may_stray=True)
        elif _may_open(before, after) or (before.isspace() and after.isspace()) or IS_UNSPACED.match(before):
            self.open.append(("d", at))
        elif not before.isdigit():
            self._close("d", at, may_stray=True)

    def _single(self, at: int, char: str) -> None:
        before, after = self._before(at), self._after(at)
        if before.isalnum() and after.isalnum() and not IS_UNSPACED.match(before):
            return  # an apostrophe
        if char in "‚‛" or (char == "‘" and not self._is_low_open()) or _may_open(before, after):
            if not after.isspace():
                self.open.append(("s", at))
        elif not before.isspace():
            self._close("s", at, may_stray=False)

    def _is_low_open(self) -> bool:
        return any(family == "s" and self.text[where] == "‚" for family, where in self.open)

    def _close(self, family: str, at: int, *, may_stray: bool) -> None:
        for depth in range(len(self.open) - 1, -1, -1):
            if self.open[depth][0] == family:
                where = self.open[depth][1]
                lost = [mark for mark, _ in self.open[depth + 1 :]]
                if family in OPENING and any(self._kind(mark) == QUOTE for mark in lost):
                    return  # a quotation that is open outlasts a bracket
                del self.open[depth:]
                self.found.append((where, at + 1, self._kind(family)))
                if self._kind(family) == QUOTE:
                    self.quoted.setdefault(family == "s", where)
                return
        if self._kind(family) == BRACKET or (family == "s" and True not in self.quoted):
            return
        self._stray(family, at, may_stray)

    def _stray(self, family: str, at: int, may_stray: bool) -> None:
        """A mark too many: the quotation before it went on up to here, or began before its paragraph."""
        begun = self.quoted.get(family == "s", -1)
        if begun >= 0:
            self.found.append((begun, at + 1, QUOTE))
            return
        if may_stray:
            self.stray = at + 1


def _may_open(before: str, after: str) -> bool:
    return (before.isspace() or before in _BEFORE_OPENING) and not after.isspace()


def _outermost(found: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Stretches that overlap become one, and what it is is what begins it."""
    out: list[tuple[int, int, str]] = []
    for start, end, kind in sorted(found, key=lambda stretch: (stretch[0], -stretch[1])):
        if out and start < out[-1][1]:
            first, last, what = out[-1]
            out[-1] = (first, max(last, end), what)
        else:
            out.append((start, end, kind))
    return out


def enclosed(text: str, start: int, end: int, opens: dict[str, bool]) -> Enclosed:
    """What is enclosed between ``start`` and ``end`` of ``text``, which is one paragraph."""
    first = ENCLOSING.search(text, start, end)
    return NOTHING if first is None else _Reader(text, start, end, opens).read(first.start())
