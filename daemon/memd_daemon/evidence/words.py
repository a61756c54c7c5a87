"""The words of folded texts, and the runs of them that are long enough to be no chance: three words, or what weighs as much.

Where no space parts words, each character stands for itself and weighs less (`limits.EVIDENCE_UNSPACED_WEIGHT`).
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from memd_daemon import limits
from memd_daemon.evidence.signs import IS_UNSPACED, MARKS, UNSPACED
from memd_daemon.pattern import pattern

_ASCII: Final = pattern(r"\w+(?:['./-]\w+)*", re.ASCII)
_SPACED: Final = pattern(rf"[\w{MARKS}]+(?:['./-][\w{MARKS}]+)*")
_LETTERS: Final = rf"(?:[{MARKS}]|[^\W{UNSPACED}])+"
_ANY: Final = pattern(rf"[{UNSPACED}]|{_LETTERS}(?:['./-]{_LETTERS})*")


def is_spaced(flat: str) -> bool:
    """Whether spaces part all of its words."""
    return flat.isascii() or IS_UNSPACED.search(flat) is None


def _pattern(flat: str) -> re.Pattern[str]:
    if flat.isascii():
        return _ASCII
    return _SPACED if is_spaced(flat) else _ANY


@lru_cache(maxsize=limits.EVIDENCE_CHARS_KNOWN_MAX)
def _weight(word: str) -> int:
    is_unspaced = len(word) == 1 and IS_UNSPACED.match(word) is not None
    return limits.EVIDENCE_UNSPACED_WEIGHT if is_unspaced else limits.EVIDENCE_WORD_WEIGHT


def weight(flat: str) -> int:
    """What a folded text weighs, against `limits.EVIDENCE_MATCH_WEIGHT`."""
    words = _pattern(flat).findall(flat)
    return len(words) * limits.EVIDENCE_WORD_WEIGHT if is_spaced(flat) else sum(map(_weight, words))


def runs(flat: str) -> Iterable[tuple[str, ...]]:
    """From each word of a folded text the shortest run that is a match."""
    words: list[str] = _pattern(flat).findall(flat)
    if is_spaced(flat):
        return zip(words, words[1:], words[2:], strict=False)
    return (tuple(words[first:last]) for first, last in _windows(words))


def _windows(words: list[str]) -> Iterator[tuple[int, int]]:
    weights = [_weight(word) for word in words]
    total, last = 0, 0
    for first, own in enumerate(weights):
        while last < len(words) and total < limits.EVIDENCE_MATCH_WEIGHT:
            total += weights[last]
            last += 1
        if total < limits.EVIDENCE_MATCH_WEIGHT:
            return
        yield first, last
        total -= own
