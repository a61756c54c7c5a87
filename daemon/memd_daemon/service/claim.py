"""Whether two texts make one claim, as far as words can tell: what recording and finding repetitions go by. Pure.

Words that two wordings have in common do not make them one claim: "retries three times" is no repetition of "retries 5 times", it
may be its correction (recall.md, "Corroboration"). So a claim is its content words and, apart from them, its sense: the numbers and
identifiers in it, and whether it says no.
"""

from typing import Final

import msgspec

from memd_daemon import limits
from memd_daemon.index.terms import STOP_WORDS, identifiers_of
from memd_daemon.service import text

NEGATIONS: Final = frozenset(
    ("not", "no", "never", "none", "without", "cannot", "nor", "t")
)  # "t" is what isn't leaves
"""Words that turn a claim round."""

_COUNTED: Final = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
NUMBERS: Final = {
    **{word: str(number) for number, word in enumerate(_COUNTED, 2)},
    **{
        "twenty": "20",
        "thirty": "30",
        "forty": "40",
        "fifty": "50",
        "sixty": "60",
        "hundred": "100",
        "thousand": "1000",
    },
}
"""Words that are numbers, and as which one they count: "three times" is "3 times". Not "one", which mostly counts nothing."""

Sense = tuple[frozenset[str], int]
"""What turns a claim into another one: its marks, and how often it says no, modulo 2."""


class Claim(msgspec.Struct, frozen=True):
    """What two wordings of one claim have in common."""

    words: frozenset[str]  # all of them
    content: frozenset[str]  # words that say something
    bare: frozenset[str]  # of these, what is no mark and no part of one
    marks: frozenset[str]  # numbers and identifiers
    negations: int  # how often it says no, modulo 2

    @property
    def sense(self) -> Sense:
        """What turns a claim into another one."""
        return self.marks, self.negations

    @classmethod
    def of(cls, said: str, words: frozenset[str] | None = None) -> "Claim":
        """The claim of a text; ``words``: its words (text.words_of) where they are known."""
        words = text.words_of(said) if words is None else words
        counted = words & NUMBERS.keys()
        numbers = frozenset(w for w in words if not w.isalpha() and any(map(str.isdigit, w))) | {
            NUMBERS[w] for w in counted
        }
        negations = len(words & NEGATIONS)
        content, marks = (words - STOP_WORDS - NEGATIONS - counted) | numbers, numbers | identifiers_of(said)
        parts_of_marks = frozenset(w for mark in marks for w in text.words_of(mark))
        return cls(words, content, content - parts_of_marks, marks, negations % 2)


def is_same(mine: Claim, its: Claim) -> bool:
    """Whether two claims are one: the one's content words are in the other's, most of them, and the sense is the same."""
    return mine.sense == its.sense and same_words(mine.content, its.content)


def is_other(mine: Claim, its: Claim) -> bool:
    """Whether two claims say different things of the same matter: the bare words are the same, most of them, the sense is not."""
    return mine.sense != its.sense and same_words(mine.bare, its.bare)


def may_be_other(mine: Claim, words: frozenset[str]) -> bool:
    """Whether a text of these words may be `is_other`: cheap, and never wrong where it says no."""
    shared = len(mine.bare & words)
    return shared > 0 and shared >= limits.SAME_CLAIM_SHARE * len(mine.bare)


def same_words(mine: frozenset[str], its: frozenset[str]) -> bool:
    """Whether the one has all of the other's, and most of them are the same."""
    return (mine <= its or its <= mine) and text.likeness(mine, its) >= limits.SAME_CLAIM_SHARE
