"""Texts as they are compared: NFKC, case, white space, quotation marks and dashes folded, and nothing else (evidence.md).

A folded text knows where each of its characters stood. NFKC is taken of a whole cluster, since a letter and the marks behind
it, or the parts of a Hangul syllable, become one. Superscripts, subscripts and fractions stay: `10²` is not `102`.
"""

import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from memd_daemon import limits
from memd_daemon.pattern import pattern

_SINGLE: Final = "‘’‚‛‹›"
_DOUBLE: Final = "“”„‟«»"
_DASHES: Final = "‐‑‒–—―−﹘﹣－"
_FULL_WIDTH: Final = {ord("！") + i: ord("!") + i for i in range(ord("~") - ord("!") + 1)}  # of printable ASCII
_SAME_LENGTH: Final = (
    _FULL_WIDTH
    | dict.fromkeys(map(ord, _SINGLE), "'")
    | dict.fromkeys(map(ord, _DOUBLE), '"')
    | dict.fromkeys(map(ord, _DASHES), "-")
    | dict.fromkeys(map(ord, "\u00a0\u3000\u2002\u2003\u2007\u2009\u202f"), " ")
)
_KEPT_AS_THEY_ARE: Final = ("<super>", "<sub>", "<fraction>")
_LOOSE: Final = pattern(r"\s{2,}|[^\S ]")
_ASCII: Final = pattern(r"[\x00-\x7f]+")
_VOWELS_AND_TAILS: Final = ("\u1160", "\u11ff")  # of Hangul, from and to: they join what stands before them


class Folded(NamedTuple):
    """A folded text, and for each of its characters the first and the last but one offset of what it was."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def place(self, offset: int) -> int:
        """Where the character at ``offset`` of the original begins here."""
        return bisect_left(self.starts, offset)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """What the characters from ``start`` up to ``end`` (at least one) were in the original."""
        return self.starts[start], self.ends[end - 1]


def folded(text: str) -> Folded:
    """``text`` as it is compared, with the way back."""
    flat = _flat(text)
    whole = _by_clusters(text) if flat is None else Folded(flat, range(len(flat)), range(1, len(flat) + 1))
    return whole if _is_close(whole.text) else _closed_up(whole)


def plain(text: str) -> str:
    """``text`` as it is compared, without the way back."""
    flat = _flat(text)
    if flat is None:
        flat = _by_clusters(text).text
    return flat if _is_close(flat) else _LOOSE.sub(" ", flat)


def find_excerpt(turn: str, excerpt: str) -> tuple[int, int] | None:
    """Where ``excerpt`` stands in ``turn``, as character offsets of the stored text; None where it does not."""
    needle = plain(excerpt).strip()
    there = folded(turn)
    at = there.text.find(needle) if needle else -1
    return there.span(at, at + len(needle)) if at >= 0 else None


def _is_close(flat: str) -> bool:
    """Whether all white space is single spaces: told without a pattern, since no other white space is printable."""
    return flat.isprintable() and "  " not in flat


def _flat(text: str) -> str | None:
    """The text but for its white space, where each character becomes one; None where that is not so."""
    if text.isascii():
        return text.lower()
    simple = text.translate(_SAME_LENGTH)
    if not unicodedata.is_normalized("NFKC", simple):
        return None
    cased = simple.casefold()
    # folding case never shortens a character, so equal lengths are character for character
    return cased if len(cased) == len(text) and unicodedata.is_normalized("NFKC", cased) else None


def _by_clusters(text: str) -> Folded:
    out: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for start, end in _clusters(text):
        piece = text[start:end]
        if piece.isascii():
            out.append(piece.lower())
            starts += range(start, end)
            ends += range(start + 1, end + 1)
            continue
        piece = _cluster(piece)
        out.append(piece)
        starts += [start] * len(piece)
        ends += [end] * len(piece)
    return Folded("".join(out), starts, ends)


def _clusters(text: str) -> list[tuple[int, int]]:
    """Runs of ASCII, and between them each character with what joins it."""
    found: list[tuple[int, int]] = []
    at = 0
    while at < len(text):
        run = _ASCII.match(text, at)
        if run:
            end = run.end()
            if end < len(text) and _joins(text[end]):
                if end - at > 1:
                    found.append((at, end - 1))
                at, end = end - 1, _joined_end(text, end)
            found.append((at, end))
        else:
            end = _joined_end(text, at + 1)
            found.append((at, end))
        at = end
    return found


def _joined_end(text: str, at: int) -> int:
    while at < len(text) and _joins(text[at]):
        at += 1
    return at


@lru_cache(maxsize=limits.EVIDENCE_CHARS_KNOWN_MAX)
def _joins(char: str) -> bool:
    """Whether normalizing may make one character of this one and the one before it."""
    if char < "\u0300":
        return False
    first = unicodedata.normalize("NFKC", char)[:1] or char
    return unicodedata.category(first)[0] == "M" or _VOWELS_AND_TAILS[0] <= first <= _VOWELS_AND_TAILS[1]


@lru_cache(maxsize=limits.EVIDENCE_CHARS_KNOWN_MAX)
def _cluster(piece: str) -> str:
    if unicodedata.decomposition(piece[0]).startswith(_KEPT_AS_THEY_ARE):
        return piece
    simple = unicodedata.normalize("NFKC", piece.translate(_SAME_LENGTH)).translate(_SAME_LENGTH)
    return unicodedata.normalize("NFKC", simple.casefold()).translate(_SAME_LENGTH)


def _closed_up(loose: Folded) -> Folded:
    """With one space for each run of white space."""
    flat, starts, ends = loose
    out: list[str] = []
    firsts: list[int] = []
    lasts: list[int] = []
    at = 0
    for run in _LOOSE.finditer(flat):
        start, end = run.span()
        out += (flat[at:start], " ")
        firsts += starts[at : start + 1]
        lasts += ends[at:start]
        lasts.append(ends[end - 1])
        at = end
    out.append(flat[at:])
    firsts += starts[at:]
    lasts += ends[at:]
    return Folded("".join(out), firsts, lasts)
