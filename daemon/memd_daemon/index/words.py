"""The lexical index: BM25 over stems, exact words and character pairs; the one user of tantivy.

Fields: `key` (the note's id), `scope` (raw), and the three kinds of term of terms.py as text that is split at spaces only:
`stem` (words, stemmed), `exact`, `gram`. Score = Σ over fields of weight · BM25. The scopes are a clause of the query, so
the k best are the k best of those scopes.

**Findable at once.** ``add`` and ``remove`` only note the change in memory; a search asks the committed index without the
changed notes, scores the pending ones by the same formula over the statistics of both, and merges. ``flush`` commits what
is pending and costs 30 to 150 ms, so the caller runs it in the background; searches go on meanwhile. A writer lives for
one flush: between flushes there are no threads, no buffers and no half-merged files.

**Whole or rebuilt.** After each commit the digest of every file goes into the sealed `memd.json` with the caller's mark.
A folder that does not match (killed in mid-commit, altered, of another format) is emptied, ``mark`` is None, and the caller
adds everything again. With a mark, it says again everything after it; adding a note twice is adding it once.

**Evidence** for the gate is absolute where a score is relative: of what a query speaks of (terms.py, units), what has a note,
how much does that weigh, and what part of the whole query is it. A unit weighs as much as the rarest word in it, an identifier
IDENTIFIER_WEIGHT times that, of which its words without it carry a word's worth at most, and a pair of characters PAIR_WEIGHT of a
word. For these weights the corpus is taken as IDF_PRIOR_NOTES notes larger than it is, so that a store of 20 weighs words about
like a store of 10,000.

All methods may be called from any thread.
"""

from __future__ import annotations

import math
import shutil
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, Final

import msgspec

from memd_daemon import limits
from memd_daemon.index.pending import FIELDS, PendingNotes, Term, Told
from memd_daemon.index.port import Unreadable
from memd_daemon.index.sealed import checksum, read_sealed, write_sealed_bytes
from memd_daemon.index.terms import STOP_WORDS, Terms, Unit, terms_of, units_of

FORMAT: Final = 1
SEAL: Final = "memd.json"


class QueryUnit(msgspec.Struct, frozen=True):
    """One thing that a query speaks of, with its weight in the corpus."""

    terms: frozenset[Term]
    names: frozenset[str]  # the forms of an identifier
    weight: float

    def matched(self, terms: Set[Term], names: Set[str]) -> float:
        """How much of the weight is carried by a text of these terms and identifiers."""
        if not self.names.isdisjoint(names):
            return self.weight
        share = len(self.terms & terms) / len(self.terms)
        return self.weight * share / (limits.IDENTIFIER_WEIGHT if self.names else 1)


class QueryWords(msgspec.Struct, frozen=True):
    """What a query speaks of."""

    units: tuple[QueryUnit, ...]
    weight: float  # of them all


class Evidence(msgspec.Struct, frozen=True):
    """What a note shares with a query. ``weight``: of what both speak of; ``idf_share``: that over the whole query's, 0…1."""

    idf_share: float
    terms: int  # units of which any word is shared
    identifiers: int
    weight: float


class Sealed(msgspec.Struct, frozen=True):
    """`memd.json`: the mark, notes ever committed and their terms by field, the CRC-32 of each file of the index."""

    format: int
    mark: int
    notes: int
    lengths: dict[str, int]
    files: dict[str, int]


class WordIndex:
    """See the module's docstring. `path` None keeps the index in memory."""

    def __init__(self, path: Path | None = None) -> None:
        import tantivy

        self._library = tantivy
        self._path = path
        self._lock = threading.Lock()  # pending, searcher, statistics
        self._flushing = threading.Lock()  # one writer at a time; taken before the other
        english = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
        self._stemmer = english.filter(tantivy.Filter.ascii_fold()).filter(tantivy.Filter.stemmer("english")).build()
        self._schema = self._make_schema()
        self._index: Any = None
        self._searcher: Any = None
        self._pending = PendingNotes()
        self._mark: int | None = None
        self._notes = 0
        self._lengths: Counter[str] = Counter()
        self._files: dict[str, int] = {}
        self._open()

    @property
    def mark(self) -> int | None:
        """The mark of the last flush that this index holds; None if it starts empty."""
        return self._mark

    @property
    def pending(self) -> int:
        """Changes that are not committed; past WORDS_PENDING_MAX it is time to flush."""
        with self._lock:
            return len(self._pending)

    def add(self, key: int, scope: str, text: str) -> None:
        """Put or replace a note."""
        self.put(key, self.told(scope, text))

    def told(self, scope: str, text: str) -> Told:
        """A note as `put` takes it: most of the work of `add`, which can be done before the note has a key."""
        return Told(scope, self._fields(terms_of(text)))

    def put(self, key: int, told: Told) -> None:
        """Put or replace a note, in no time."""
        with self._lock:
            self._pending.add(key, told)

    def remove(self, key: int) -> None:
        """Take a note out, if it is in."""
        with self._lock:
            self._pending.remove(key)

    def search(self, text: str, scopes: Iterable[str], k: int) -> list[tuple[int, float]]:
        """The `k` best notes of these scopes: (key, score > 0), best first, equal scores by smaller key."""
        return self._ranked(self._content(terms_of(text)), frozenset(scopes), k, limits.QUERY_TERMS_MAX)

    def by_rarest(self, text: str, scopes: Iterable[str], k: int) -> list[tuple[int, float]]:
        """As `search`, by the rarest NEAR_TERMS words of a text as they stand: a third of its cost."""
        found = terms_of(text)
        words = [word for word in found.exact if word not in STOP_WORDS] or found.exact
        content = [*(("exact", word) for word in words), *(("gram", pair) for pair in found.grams)]
        return self._ranked(list(dict.fromkeys(content)), frozenset(scopes), k, limits.NEAR_TERMS)

    def _ranked(self, content: Sequence[Term], scopes: frozenset[str], k: int, terms: int) -> list[tuple[int, float]]:
        if not scopes or k < 1:
            return []
        with self._lock:
            total = self._searcher.num_docs + self._pending.notes
            weights = weigh_rarest(total, self._spread(content), terms)
            if not weights:
                return []
            found = self._pending.scores(weights, self._mean_lengths(), scopes)
            committed = self._search_committed(weights, scopes, k)
        return sorted(found + committed, key=lambda one: (-one[1], one[0]))[:k]

    def weigh(self, query: str) -> QueryWords:
        """What the query speaks of, with its weight: made once, compared with many notes."""
        units = {unit.words: unit for unit in units_of(query)}.values()
        grams = dict.fromkeys(terms_of(query).grams)
        with self._lock:
            total = self._searcher.num_docs + self._pending.notes + limits.IDF_PRIOR_NOTES
            said = [self._weighed(unit, total) for unit in units]
            said += [self._weighed_pair(("gram", pair), total) for pair in grams]
        found = {unit.terms: unit for unit in said}
        return QueryWords(tuple(found.values()), sum(unit.weight for unit in found.values()))

    def _weighed(self, unit: Unit, total: int) -> QueryUnit:
        stems: set[Term] = {("stem", stem) for stem in self._stems(unit.words)}
        counts = self._spread({*stems, *(("exact", name) for name in unit.names)}).values()
        weight = idf(total, min(counts)) * (limits.IDENTIFIER_WEIGHT if unit.names else 1)
        return QueryUnit(frozenset(stems), unit.names, weight)

    def _weighed_pair(self, pair: Term, total: int) -> QueryUnit:
        return QueryUnit(frozenset({pair}), frozenset(), idf(total, self._spread([pair])[pair]) * limits.PAIR_WEIGHT)

    def evidence(self, query: QueryWords, text: str) -> Evidence:
        """What a note's text shares with the query."""
        terms = terms_of(text)
        own = {("stem", stem) for stem in self._stems(terms.words)} | {("gram", pair) for pair in terms.grams}
        matched = [weight for unit in query.units if (weight := unit.matched(own, terms.identifiers))]
        identifiers = sum(not unit.names.isdisjoint(terms.identifiers) for unit in query.units)
        share = min(1.0, sum(matched) / query.weight) if matched else 0.0
        return Evidence(share, len(matched), identifiers, sum(matched))

    def flush(self, mark: int = 0) -> None:
        """Commit what is pending; `mark` is the caller's number of the last write that was said before.

        :raises OSError: the files cannot be written; everything stays pending
        """
        with self._flushing:
            with self._lock:
                pending = self._pending.snapshot()
            if pending:
                self._commit(pending)
            with self._lock:
                self._index.reload()
                self._searcher = self._index.searcher()
                self._pending = self._pending.without(pending)
            self._seal(mark)

    def rebuild(self, notes: Iterable[tuple[int, str, str]], mark: int = 0) -> None:
        """Start anew from (key, scope, text), committed in portions so that they never all wait in memory."""
        self.clear()
        for key, scope, text in notes:
            self.add(key, scope, text)
            if self.pending >= limits.WORDS_REBUILD_NOTES:
                self.flush(mark)
        self.flush(mark)

    def clear(self) -> None:
        """Forget everything, on disk too."""
        with self._flushing:
            self._wipe()
            self._open()

    def close(self) -> None:
        """Let go of the files. What was not flushed is lost."""
        with self._flushing, self._lock:
            self._pending = PendingNotes()
            self._index = self._searcher = None

    # --- opening and committing

    def _make_schema(self) -> Any:
        schema = self._library.SchemaBuilder()
        schema.add_unsigned_field("key", indexed=True, fast=True)
        schema.add_text_field("scope", tokenizer_name="raw", index_option="basic")
        for field in FIELDS:
            schema.add_text_field(field, tokenizer_name="whitespace", index_option="freq")
        return schema.build()

    def _open(self) -> None:
        sealed = self._read_seal()
        if sealed is None:
            self._wipe()
        try:
            index = self._opened()
        except ValueError:  # tantivy's only exception, here for what no seal covers: its list of its own files
            sealed = None
            self._wipe()
            index = self._opened()
        with self._lock:
            self._pending = PendingNotes()
            self._mark = sealed.mark if sealed else None
            self._notes = sealed.notes if sealed else 0
            self._lengths = Counter(sealed.lengths if sealed else {})
            self._files = dict(sealed.files if sealed else {})
            self._index = index
            self._searcher = index.searcher()

    def _opened(self) -> Any:
        return self._library.Index(self._schema, path=str(self._path) if self._path else None)

    def _read_seal(self) -> Sealed | None:
        """What the folder holds, if all of it is as it was written."""
        if self._path is None:
            return None
        try:
            sealed = msgspec.json.decode(read_sealed(self._path / SEAL), type=Sealed)
            whole = all(crc_of(self._path / name) == crc for name, crc in sealed.files.items())
        except (Unreadable, msgspec.DecodeError, OSError):
            return None
        return sealed if whole and sealed.format == FORMAT else None

    def _wipe(self) -> None:
        if self._path is not None:
            shutil.rmtree(self._path, ignore_errors=True)
            self._path.mkdir(parents=True, exist_ok=True)

    def _commit(self, pending: Mapping[int, Told | None]) -> None:
        try:
            writer = self._index.writer(heap_size=limits.WORDS_WRITER_BYTES, num_threads=1)
            # by a query: a deletion by term takes an unsigned key for a signed one and deletes nothing
            writer.delete_documents_by_query(self._library.Query.term_set_query(self._schema, "key", list(pending)))
            for key, told in pending.items():
                if told is not None:
                    writer.add_document(self._document(key, told))
            writer.commit()
            writer.wait_merging_threads()
        except ValueError as problem:  # tantivy's only exception, for a full disk as for a broken file
            raise OSError(str(problem)) from problem
        with self._lock:
            for told in pending.values():
                if told is not None:
                    self._notes += 1
                    self._lengths.update({field: len(found) for field, found in told.terms.items()})

    def _document(self, key: int, told: Told) -> Any:
        document = self._library.Document()
        document.add_unsigned("key", key)
        document.add_text("scope", told.scope)
        for field, found in told.terms.items():
            document.add_text(field, " ".join(found))
        return document

    def _seal(self, mark: int) -> None:
        if self._path is not None:
            names = [path.name for path in self._path.iterdir() if is_of_index(path.name)]
            known = {name: crc for name, crc in self._files.items() if name != "meta.json"}  # the others never change
            self._files = {name: known.get(name) or crc_of(self._path / name) for name in names}
            sealed = Sealed(FORMAT, mark, self._notes, dict(self._lengths), self._files)
            write_sealed_bytes(self._path / SEAL, msgspec.json.encode(sealed))
        self._mark = mark

    # --- searching

    def _fields(self, terms: Terms) -> dict[str, list[str]]:
        return {"stem": self._stems(terms.words), "exact": terms.exact, "gram": terms.grams}

    def _stems(self, words: Sequence[str]) -> list[str]:
        found: list[str] = self._stemmer.analyze(" ".join(words))
        return found

    def _content(self, terms: Terms) -> list[Term]:
        """The distinct terms of a query; without the words that every text has, unless there are no others."""
        words = [word for word in terms.words if word not in STOP_WORDS]
        exact = [word for word in terms.exact if word not in STOP_WORDS]
        if not (words or terms.grams):
            words, exact = terms.words, terms.exact
        content = {"stem": self._stems(words), "exact": exact, "gram": terms.grams}
        return list(dict.fromkeys((field, term) for field, found in content.items() for term in found))

    def _spread(self, content: Iterable[Term]) -> dict[Term, int]:
        """In how many notes each term stands, committed and pending."""
        return {term: self._searcher.doc_freq(*term) + self._pending.spread(term) for term in content}

    def _mean_lengths(self) -> dict[str, float]:
        count = max(self._notes + self._pending.notes, 1)
        return {field: (self._lengths[field] + self._pending.lengths[field]) / count or 1.0 for field in FIELDS}

    def _search_committed(self, weights: Iterable[Term], scopes: frozenset[str], k: int) -> list[tuple[int, float]]:
        """The best committed notes that nothing pending replaces."""
        query, occur = self._library.Query, self._library.Occur
        clauses = [
            (occur.Should, query.boost_query(self._term_query(term), limits.WORD_FIELD_WEIGHTS[term[0]]))
            for term in weights
        ]
        # a union of postings, which is skipped through; a set of terms would look at every note of these scopes first
        homes = [(occur.Should, query.term_query(self._schema, "scope", scope, "basic")) for scope in sorted(scopes)]
        within = query.const_score_query(query.boolean_query(homes), 0.0)
        asked = query.boolean_query([(occur.Must, within), (occur.Must, query.boolean_query(clauses))])
        found, hidden = self._standing(asked, k)
        return self._standing(asked, k + len(self._pending))[0][:k] if hidden else found  # few replace a committed one

    def _standing(self, asked: Any, k: int) -> tuple[list[tuple[int, float]], int]:
        """(those of the `k` best committed notes that nothing pending replaces, how many others there were)."""
        hits = self._best(asked, k)
        keys = self._searcher.fast_field_values("key", [address for _, address in hits])
        ranked = sorted(zip(keys, (score for score, _ in hits), strict=True), key=lambda one: (-one[1], one[0]))[:k]
        found = [one for one in ranked if one[0] not in self._pending]
        return found, len(ranked) - len(found)

    def _best(self, asked: Any, k: int) -> Any:
        """The `k` best, with all that are as good as the last of them: which of these come first is a matter of segments, and an
        index that was made anew has others."""
        wanted = k + 1
        hits = self._searcher.search(asked, wanted, count=False).hits
        while len(hits) == wanted <= limits.WORDS_TIES_MAX and hits[-1][0] == hits[k - 1][0]:
            wanted *= 4
            hits = self._searcher.search(asked, wanted, count=False).hits
        return hits

    def _term_query(self, term: Term) -> Any:
        return self._library.Query.term_query(self._schema, *term, "freq")


def weigh_rarest(total: int, spread: Mapping[Term, int], terms: int) -> dict[Term, float]:
    """The terms that occur at all, the rarest `terms` of them, with their weights."""
    there = sorted((term for term, count in spread.items() if count), key=lambda term: spread[term])
    return {term: idf(total, spread[term]) for term in there[:terms]}


def idf(total: int, count: int) -> float:
    """BM25's weight of a term that `count` of `total` notes have; positive also when a deleted note still counts."""
    return math.log1p((max(total, count) - count + 0.5) / (count + 0.5))


def is_of_index(name: str) -> bool:
    """Whether a file of the folder belongs to a commit, rather than being a lock, a list for clean-up or the seal."""
    return not name.startswith(".") and not name.startswith(SEAL)


def crc_of(path: Path) -> int:
    """CRC-32 of a file."""
    with path.open("rb") as file:
        return checksum(file.fileno())[1]
