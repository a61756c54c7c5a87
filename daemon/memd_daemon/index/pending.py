"""Notes that the lexical index has been told but has not committed: searched here by the same formula. Pure.

    bm25 = Σ over query terms of field weight · term weight · tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / mean length))

Postings are kept by term, so that a search costs the query's terms and not the notes. A removed note stays as a
tombstone (None) until the next commit, since it hides a committed one. Not safe for concurrent use.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Final

import msgspec

from memd_daemon import limits

FIELDS: Final = ("stem", "exact", "gram")

Term = tuple[str, str]
"""(field, term)"""


class Told(msgspec.Struct, frozen=True, eq=False):
    """A note as it was told: its terms by field, with their repetitions; compared by identity."""

    scope: str
    terms: dict[str, list[str]]


class PendingNotes:
    """See the module's docstring."""

    def __init__(self) -> None:
        self._told: dict[int, Told | None] = {}
        self._postings: defaultdict[Term, dict[int, int]] = defaultdict(dict)
        self.lengths: Counter[str] = Counter()  # terms of all pending notes, by field
        self.notes = 0

    def __len__(self) -> int:
        return len(self._told)

    def __contains__(self, key: int) -> bool:
        return key in self._told

    def add(self, key: int, told: Told) -> None:
        """Put or replace a note."""
        self._take_out(key)
        self._told[key] = told
        self.notes += 1
        for field, found in told.terms.items():
            self.lengths[field] += len(found)
            for term, often in Counter(found).items():
                self._postings[field, term][key] = often

    def remove(self, key: int) -> None:
        """Leave a tombstone."""
        self._take_out(key)
        self._told[key] = None

    def snapshot(self) -> dict[int, Told | None]:
        """What a commit has to say."""
        return dict(self._told)

    def without(self, committed: Mapping[int, Told | None]) -> "PendingNotes":
        """What was not committed, or has been told anew since: little, so that a search waits for no more than that."""
        left = PendingNotes()
        for key, told in self._told.items():
            if key not in committed or committed[key] is not told:
                left.remove(key) if told is None else left.add(key, told)
        return left

    def spread(self, term: Term) -> int:
        """In how many pending notes the term stands."""
        return len(self._postings.get(term, ()))

    def scores(
        self, weights: Mapping[Term, float], means: Mapping[str, float], scopes: frozenset[str]
    ) -> list[tuple[int, float]]:
        """(key, BM25) of every pending note of these scopes that has one of the terms."""
        scored: defaultdict[int, float] = defaultdict(float)
        least = limits.BM25_K1 * (1 - limits.BM25_B)
        for term, weight in weights.items():
            field = term[0]
            most = limits.WORD_FIELD_WEIGHTS[field] * weight * (limits.BM25_K1 + 1)
            by_length = limits.BM25_K1 * limits.BM25_B / means[field]
            for key, often in self._postings.get(term, {}).items():
                told = self._told[key]
                if told is not None and told.scope in scopes:
                    scored[key] += most * often / (often + least + by_length * len(told.terms[field]))
        return list(scored.items())

    def _take_out(self, key: int) -> None:
        told = self._told.get(key)
        if told is None:
            return
        self.notes -= 1
        for field, found in told.terms.items():
            self.lengths[field] -= len(found)
            for term in set(found):
                postings = self._postings[field, term]
                del postings[key]
                if not postings:
                    del self._postings[field, term]
