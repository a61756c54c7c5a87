"""By what a text is known again in another: hashes of its runs of words, and how much of a text such hashes cover. Pure.

A text's **units** are its words after NFKC, case folding and without what is not seen; in scripts that put no spaces between words
each character is one. So case, punctuation, line breaks and markup between words make no difference. Each run of
`limits.SHINGLE_UNITS` units is hashed (xxh3, 64 bits). Of a document's hashes the smallest of each `limits.SHINGLE_WINDOW`
neighbours are kept (winnowing): which they are depends on the words alone, so the same words give the same ones wherever they
stand. Of a note all are looked up.

**What is found.** Of `SHINGLE_UNITS + SHINGLE_WINDOW - 1` words in a row that a document has too one hash at least is kept, and of
L words in a row all but `2 * (SHINGLE_WINDOW - 1)` at most lie within one stretch of neighbours that match. Hence `sure_words`: so
many in a row are found, whatever stands around them. Nothing here can tell a copy from words that two people happened to write.
"""

import sys
import unicodedata
from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

import xxhash

from memd_daemon import limits
from memd_daemon.index.terms import UNSPACED_SIGNS
from memd_daemon.pattern import pattern

_WORD: Final = pattern(r"[^\W_](?:\w*[^\W_])?")  # an underscore at an end is markup
_UNSPACED_ONE: Final = pattern(f"([{UNSPACED_SIGNS}])")
_UNSEEN: Final = dict.fromkeys((0xAD, *range(0x200B, 0x2010), 0x2060, *range(0xFE00, 0xFE10), 0xFEFF))
"""Soft hyphen, zero-width characters and marks of direction, variation selectors."""


class Units(NamedTuple):
    """A text's units in order, and what each counts: a word 1, a character of a script without spaces a half."""

    words: list[str]
    weights: list[float]


class Stretch(NamedTuple):
    """Units of a text that stand in another in the same order: from ``first`` to before ``end``."""

    first: int
    end: int


def units_of(text: str) -> Units:
    """Linear in the text's length."""
    if text.isascii():
        words = _WORD.findall(text.casefold())
        return Units(words, [1.0] * len(words))
    plain = unicodedata.normalize("NFKC", text.translate(_UNSEEN)).casefold()
    words = _WORD.findall(_UNSPACED_ONE.sub(r" \1 ", plain))
    return Units(words, [limits.UNSPACED_UNIT_WEIGHT if _UNSPACED_ONE.fullmatch(word) else 1.0 for word in words])


def hashes_of(words: Sequence[str]) -> list[int]:
    """The hash of each run of `limits.SHINGLE_UNITS` units, by where it begins; none of a shorter text."""
    size, digest = limits.SHINGLE_UNITS, xxhash.xxh3_64_intdigest
    return [digest(" ".join(words[at : at + size]).encode("utf-8", "replace")) for at in range(len(words) - size + 1)]


def kept_of(hashes: Sequence[int]) -> set[int]:
    """Those of a document's hashes that are kept: the smallest of each `limits.SHINGLE_WINDOW` neighbours."""
    window = min(limits.SHINGLE_WINDOW, len(hashes))
    return {min(hashes[at : at + window]) for at in range(len(hashes) - window + 1)} if hashes else set()


def packed(hashes: Iterable[int]) -> bytes:
    """Hashes as they are stored: 8 bytes each, little-endian, in order."""
    return _little(array("Q", sorted(hashes))).tobytes()


def unpacked(raw: bytes) -> "array[int]":
    """The hashes that were stored."""
    found = array("Q")
    found.frombytes(raw)
    return _little(found)


def _little(hashes: "array[int]") -> "array[int]":
    if sys.byteorder == "big":
        hashes.byteswap()
    return hashes


def stretches(matched: Sequence[int]) -> list[Stretch]:
    """The stretches that matching runs make, ``matched`` being where they begin, ascending.

    Within words that a document has in a row, two neighbours that match are `limits.SHINGLE_WINDOW` apart at most.
    """
    found: list[Stretch] = []
    for at in matched:
        if found and at - (found[-1].end - limits.SHINGLE_UNITS) <= limits.SHINGLE_WINDOW:
            found[-1] = Stretch(found[-1].first, at + limits.SHINGLE_UNITS)
        else:
            found.append(Stretch(at, at + limits.SHINGLE_UNITS))
    return found


class Cover(NamedTuple):
    """How much of a text some stretches of it are: the words of the longest, and their share of the text together."""

    longest: float = 0.0
    share: float = 0.0


def cover(found: Sequence[Stretch], weights: Sequence[float]) -> Cover:
    """What ``found`` covers of a text whose units count ``weights``. Two stretches may share a few units."""
    upto = [0.0, *accumulate(weights)]
    longest = max((upto[one.end] - upto[one.first] for one in found), default=0.0)
    covered, before = 0.0, 0
    for first, end in found:
        covered += upto[end] - upto[max(first, before)]
        before = end
    return Cover(longest, covered / upto[-1]) if found else Cover()


def sure_words(stretch_words: float) -> int:
    """How many words in a row are sure to give a stretch of ``stretch_words``."""
    return int(stretch_words) + 2 * (limits.SHINGLE_WINDOW - 1)
