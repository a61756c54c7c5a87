"""How the derived indexes are asked, whichever of them are in by now; what is not in is not used (service/search.py loads them)."""

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from memd_daemon import limits
from memd_daemon.index.fuse import fuse
from memd_daemon.service.embedding import EmbedQueue, of_key

if TYPE_CHECKING:
    from memd_daemon.index.embed import Embedder, QueryTable
    from memd_daemon.index.vectors import ScopedVectors
    from memd_daemon.index.words import WordIndex

COLD: Final = "cold "
"""Prefix of the scope under which notes that are out of the working set are indexed."""


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """One candidate. ``relevance`` is the fused score, 0 to 1."""

    id: int
    relevance: float
    lexical: float = 0.0  # share of the best one's BM25
    cosine: float | None = None
    by_table: bool = False  # the cosine is of the token table's vector


class ByWords(msgspec.Struct, frozen=True, eq=False):
    """What a query's words bring up, and what is known of that before the query has a vector."""

    ranked: Sequence[tuple[int, float]]  # (id, score), best first
    rows: Mapping[int, Any] = {}  # float32 [dim] of the first wording of each, None where it has no vector
    unmeasured: frozenset[int] = frozenset()  # those that no vector index of these scopes has


class Match(msgspec.Struct, frozen=True, kw_only=True):
    """How far a query's words stand in a text, unnormalized: what the gate reads (delivery.md; index/words.py, "Evidence")."""

    idf_share: float = 0.0
    terms: int = 0
    identifiers: int = 0
    weight: float = 0.0


def _by_note(near: Iterable[tuple[int, float]]) -> list[tuple[int, float]]:
    """(id, cosine) of each note once, by the wording that is nearest; best first as they came."""
    best: dict[int, float] = {}
    for key, cosine in near:
        best.setdefault(of_key(key)[0], cosine)
    return list(best.items())


def _looked_at(query: str) -> str:
    """What is searched for of a query: of one that is mostly a pasted log its beginning and its end, where the question stands."""
    if len(query) <= limits.QUERY_BEGINNING_CHARS + limits.QUERY_END_CHARS:
        return query
    return f"{query[: limits.QUERY_BEGINNING_CHARS]}\n{query[-limits.QUERY_END_CHARS :]}"


class Lookup:
    """The indexes of one store as far as they are in. Safe to call from any thread."""

    def __init__(self, queue: EmbedQueue) -> None:
        self._queue = queue
        self._words: WordIndex | None = None
        self._table: QueryTable | None = None
        self._vectors: ScopedVectors | None = None
        self._embedder: Embedder | None = None
        self._embedding = threading.Lock()
        self._names: Mapping[str, tuple[str, ...]] = {}  # of scopes: those under which other stores' notes are of them

    @property
    def ready(self) -> bool:
        """Whether the model is in."""
        return self._embedder is not None

    @property
    def model_id(self) -> str:
        return self._vectors.model_id if self._vectors is not None else ""

    @property
    def vector_count(self) -> int:
        return len(self._vectors) if self._vectors is not None else 0

    def embed(self, text: str) -> Any:
        """The full vector of a text, or None while the model is not in. One model run at a time."""
        if self._embedder is None:
            return None
        with self._embedding:
            return self._embedder.embed(_looked_at(text))

    def table_vector(self, text: str) -> Any:
        """The token table's vector of a text, or None while it is not in."""
        return self._table.vector(_looked_at(text)) if self._table is not None else None

    def by_words(self, query: str, scopes: Iterable[str]) -> list[tuple[int, float]]:
        """(id, score) of the notes of these scopes that the query's words find, best first: `find`'s half without a vector."""
        words = self._words
        if words is None:
            return []
        return words.search(_looked_at(query), self._everywhere(scopes), limits.FUSION_CANDIDATES)

    def ahead(self, query: str, scopes: Iterable[str]) -> ByWords:
        """`by_words`, with all of `find` and `with_cosines` that needs no vector of the query."""
        asked = self._everywhere(scopes)
        ranked = self.by_words(query, asked)
        ids = [id_ for id_, _ in ranked]
        if self._vectors is None:
            return ByWords(ranked, unmeasured=frozenset(ids))
        return ByWords(ranked, self._rows(ids), frozenset(self._vectors.without(asked, ids)))

    def by_rarest(self, text: str, scopes: Iterable[str]) -> list[int]:
        """Ids of the notes of these scopes that share the rarest words of a text, best first: all that may say nearly the same."""
        words = self._words
        found = words.by_rarest(text, self._everywhere(scopes), limits.NEAR_CANDIDATES) if words is not None else []
        return [id_ for id_, _ in found]

    def _everywhere(self, scopes: Iterable[str]) -> list[str]:
        """The scopes, and those under which notes lie that were indexed before it was known that they are of them."""
        return list(dict.fromkeys(name for scope in scopes for name in (scope, *self._names.get(scope, ()))))

    def find(
        self,
        query: str,
        scopes: Iterable[str],
        k: int,
        *,
        vector: Any = None,
        cold: bool = False,
        ahead: ByWords | None = None,
    ) -> list[Hit]:
        """The k best of these scopes, best first; by the table's vector where none is given.

        ``ahead``: what `ahead` gave for this very query and these scopes, where that was asked.
        """
        asked = self._everywhere(scopes)
        asked += [COLD + s for s in asked] if cold else []
        ranked = self.by_words(query, asked) if ahead is None else ahead.ranked
        if vector is None:
            vector = self.table_vector(query)
        near: list[tuple[int, float]] = []
        if self._vectors is not None and vector is not None and vector.any():
            near = _by_note(self._vectors.search(asked, vector, limits.FUSION_CANDIDATES))
        cosines = dict(near)
        unmeasured: Collection[int] = ()
        if ahead is not None:
            unmeasured = ahead.unmeasured.difference(cosines)
        elif near and self._vectors is not None:
            unmeasured = self._vectors.without(asked, [key for key, _ in ranked if key not in cosines])
        return [
            Hit(id=one.key, relevance=one.score, lexical=one.lexical, cosine=cosines.get(one.key))
            for one in fuse(ranked, near, k, unmeasured=unmeasured)
        ]

    def with_cosines(self, hits: Sequence[Hit], vector: Any, ahead: ByWords, *, by_table: bool) -> list[Hit]:
        """The hits of a vector, each with its cosine, also those that only words brought up; None for a note without a vector.

        Where a note is not among the nearest, that says how far it is only to who knows how far the others are.
        ``ahead``: what is known of them.
        """
        far = [hit.id for hit in hits if hit.cosine is None]
        if vector is None or not vector.any() or not far or self._vectors is None:
            return [msgspec.structs.replace(hit, by_table=by_table) for hit in hits]
        rows = dict(ahead.rows)
        if others := [id_ for id_ in far if id_ not in rows]:
            rows |= self._rows(others)
        found = {id_: float(row @ vector) for id_ in far if (row := rows[id_]) is not None}
        return [msgspec.structs.replace(h, cosine=found.get(h.id, h.cosine), by_table=by_table) for h in hits]

    def matcher(self, query: str) -> Callable[[str], Match]:
        """A function that says how far the query's words stand in a text; all zero while the words are not in."""
        words = self._words
        if words is None:
            return lambda text: Match()
        weighed = words.weigh(_looked_at(query))

        def match(text: str) -> Match:
            found = words.evidence(weighed, text)
            return Match(
                idf_share=found.idf_share, terms=found.terms, identifiers=found.identifiers, weight=found.weight
            )

        return match

    def _rows(self, ids: Sequence[int]) -> dict[int, Any]:
        """float32 [dim] of each note's first wording, None where it has no vector."""
        rows = self._fetch(ids).astype("f4")
        there = rows.any(axis=1).tolist()
        return {id_: row if is_there else None for id_, row, is_there in zip(ids, rows, there, strict=True)}

    def _fetch(self, keys: Sequence[int]) -> Any:
        return self._queue.rows(self.model_id, keys, self._vectors.dim if self._vectors is not None else 0)
