"""One redactor for every text that comes in: turns, notes, reasons, tags, excerpts, commits, transcripts, imports, logs.

What is found becomes `[redacted:{name}]`; all other text stays as it was, to the byte. Blocks marked private come first and
swallow what is in them, then keys in armour, then the rows of the table from left to right, then assignments. Where spans
meet they become one, under the more specific name.

Cost: every anchor is looked for as a literal before any pattern runs; the anchors of TOKENS only in words long enough to hold
a credential. A pattern runs where its anchor stands, and nowhere else, and reads on only as far as rule.py allows. So the
work grows with the length of the text, whatever the text is.

``redact`` repeats until nothing is found, so a second call changes nothing. Each round takes away at least one character
that stands in no marker, so it ends; a second round looks at texts that held something, and a third is rare.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable
from functools import cache
from typing import Final, NamedTuple, Self

from memd_daemon import limits
from memd_daemon.redact import blocks, judge, table
from memd_daemon.redact.assignments import assignments
from memd_daemon.redact.rule import Rule

_MARKER: Final = re.compile(r"\[redacted:[a-z0-9-]{1,40}\]")
_PUNCTUATION: Final = ".,:;"  # at the end: of the sentence or the list around a credential
_ESCAPED: Final = re.compile(r"\\[nrtbf]|%[0-9A-Fa-f]{2}")


class Span(NamedTuple):
    """A part of a text that must not be stored: offsets in characters, and the name for its marker."""

    start: int
    end: int
    name: str


class _Row(NamedTuple):
    rule: Rule
    anchor: str
    pattern: str
    flags: int
    back: int

    def match(self, text: str, at: int) -> re.Match[str] | None:
        return _compiled(self.pattern, self.flags).match(text, at + len(self.anchor))


@cache
def _compiled(pattern: str, flags: int) -> re.Pattern[str]:
    # at first use: compiling them all takes longer than a start may take, and most stores never see most kinds
    return re.compile(pattern, flags)


def fold(text: str) -> str:
    """Lower case with every offset kept: one letter alone grows when it is lowered, and it is no part of any anchor."""
    return text.replace("\u0130", "I").lower()


class Redactor:
    """Finds and replaces credentials. Holds no state that a text changes; safe to share between threads."""

    def __init__(self, tokens: Iterable[Rule], headers: Iterable[Rule]) -> None:
        self._tokens = _rows(tokens, re.ASCII)
        self._headers = _rows(headers, re.ASCII | re.IGNORECASE)

    @classmethod
    def default(cls) -> Self:
        """The redactor over the packaged rules."""
        return cls(table.TOKENS, table.HEADERS)

    def redact(self, text: str) -> str:
        """``text`` with every credential and every private block replaced. Idempotent."""
        while spans := self.find(text):
            text = _replaced(text, spans)
        return text

    def redact_lines(self, text: str) -> str:
        """Likewise with every line in its place: a credential of several lines leaves a marker on each of them."""
        while spans := self.find(text):
            text = _replaced(text, spans, keeps_lines=True)
        return text

    def find(self, text: str) -> list[Span]:
        """What one round finds in ``text``, in order and without overlaps."""
        if not text:
            return []
        folded = fold(text)
        specific: list[Span] = []
        if "private" in folded:
            specific += (Span(*block, "private") for block in blocks.private_blocks(text))
        if "PRIVATE KEY" in text:
            specific += (Span(*block, "private-key") for block in blocks.key_blocks(text))
        if blocks.ENCODED_BEGIN in text:
            specific += (Span(*block, "private-key") for block in blocks.encoded_key_blocks(text))
        specific += self._credentials(text, folded)
        found = _merged(specific, (Span(*f) for f in assignments(text, folded)))
        return _outside_markers(text, found) if found and "[redacted:" in text else found

    def _credentials(self, text: str, folded: str) -> list[Span]:
        spans: list[Span] = []
        end = 0
        refused: dict[Rule, int] = {}  # up to where a rule's last match went that was none: no part of it is read again
        for at, row in self._hits(text, folded):
            if at - row.back < max(end, refused.get(row.rule, 0)):
                continue
            span = _span(text, at, row, end)
            if span and judge.accepts(row.rule.check, _judged(text, at, row, span)):
                spans.append(span)
                end = span.end
            elif span:
                refused[row.rule] = span.end
        return spans

    def _hits(self, text: str, folded: str) -> list[tuple[int, _Row]]:
        """Where anchors stand, from left to right, the longest first where several begin at one place."""
        longest = "\n".join(word for word in text.split() if len(word) >= limits.REDACT_WORD_MIN_CHARS)
        hits = [(at, row) for row in self._tokens if row.anchor in longest for at in _places(text, row.anchor)]
        hits += ((at, row) for row in self._headers if row.anchor in folded for at in _places(folded, row.anchor))
        hits.sort(key=lambda hit: (hit[0], -len(hit[1].anchor)))
        return hits


def _rows(rules: Iterable[Rule], flags: int) -> tuple[_Row, ...]:
    return tuple(_row(rule, anchor, flags) for rule in rules for anchor in rule.anchors)


def _row(rule: Rule, anchor: str, flags: int) -> _Row:
    if not rule.back:
        return _Row(rule, anchor, rule.pattern, flags, 0)
    count = int(rule.back.rpartition("{")[2].rstrip("}"))
    return _Row(rule, anchor, f"(?<={rule.back}{re.escape(anchor)}){rule.pattern}", flags, count)


def _places(text: str, anchor: str) -> Iterable[int]:
    at = text.find(anchor)
    while at >= 0:
        yield at
        at = text.find(anchor, at + len(anchor))


def _span(text: str, at: int, row: _Row, last: int) -> Span | None:
    if row.rule.guard and not _may_begin(text, at, last):
        return None
    match = row.match(text, at)
    if match is None:
        return None
    start, end = match.span(1) if match.re.groups else (at - row.back, match.end())
    kept = len(text[start:end].rstrip(_PUNCTUATION))
    return Span(start, start + kept, row.rule.name) if kept else None


def _judged(text: str, at: int, row: _Row, span: Span) -> str:
    """The part of a span that chance should have made: the anchor is no sign of it, what stands before the anchor is."""
    return text[span.start if span.start < at else max(span.start, at + len(row.anchor)) : span.end]


def _may_begin(text: str, at: int, last: int) -> bool:
    """No letter or digit before it, save the end of an escape or of the credential found before it."""
    if at in (0, last):
        return True
    before = text[at - 1]
    if not (before.isascii() and before.isalnum()):
        return True
    return _ESCAPED.fullmatch(text, at - 2, at) is not None or _ESCAPED.fullmatch(text, max(0, at - 3), at) is not None


def _merged(specific: Iterable[Span], general: Iterable[Span]) -> list[Span]:
    """Spans that meet become one: a private block names it, else the specific kind, else the one that began first."""
    ranked = [(s.start, s.end, 0 if s.name == "private" else 1, s.name) for s in specific]
    ranked += ((s.start, s.end, 2, s.name) for s in general)
    ranked.sort()
    merged: list[tuple[int, int, int, str]] = []
    for start, end, rank, name in ranked:
        if merged and start < merged[-1][1]:
            first, last, best, called = merged[-1]
            merged[-1] = (first, max(last, end), *min((best, called), (rank, name), key=lambda pair: pair[0]))
        else:
            merged.append((start, end, rank, name))
    return [Span(start, end, name) for start, end, _, name in merged]


def _outside_markers(text: str, spans: list[Span]) -> list[Span]:
    """Without the spans that lie inside a marker: what is gone is not found again, and every round takes something."""
    markers = [m.span() for m in _MARKER.finditer(text)]
    starts = [start for start, _ in markers]

    def inside(span: Span) -> bool:
        before = bisect_right(starts, span.start) - 1
        return before >= 0 and span.end <= markers[before][1]

    return [span for span in spans if not inside(span)]


def _replaced(text: str, spans: list[Span], *, keeps_lines: bool = False) -> str:
    parts: list[str] = []
    kept = 0
    for span in spans:
        marker = f"[redacted:{span.name}]"
        further = text.count("\n", span.start, span.end) if keeps_lines else 0
        parts += (text[kept : span.start], "\n".join([marker] * (1 + further)))
        kept = span.end
    parts.append(text[kept:])
    return "".join(parts)
