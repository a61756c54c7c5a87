"""Nearest notes, one index per scope: the one user of usearch.

``UsearchIndex`` is the index of a large scope: an approximate graph over int8 vectors finds RERANK_VECTORS neighbours,
which are ranked again by the exact float16 vectors that the store holds. Saved, it is mapped, not read; a mapped graph
refuses changes, so later vectors lie in an ``ExactIndex`` beside it, and what they replace or what was removed is skipped
in the results until the next ``save`` folds all of it in.

``ScopedVectors`` holds the indexes of one model by scope. A search over some scopes asks each of them and merges, so no
filter ever runs after the k best are taken. A scope starts exact; the first ``save`` past EXACT_MAX_NOTES moves it to
usearch, and it never moves back. Every method may be called from any thread. ``save`` works on a copy, beside readers and
writers, and then catches up with what was said meanwhile: no search waits for a graph to be built.

On disk: a folder with one sealed file per scope and `scopes.json`, written last: {format, model, dim, mark, scopes}. The
mark is the caller's own number of the last write that the files hold. Files may be newer than `scopes.json` after a crash,
never older, so whoever loads and then says again everything after the mark ends with the right content. If any of it is
missing or broken, ``load`` answers None and the caller rebuilds from the store.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from memd_daemon import limits
from memd_daemon.index import native
from memd_daemon.index.exact import ExactIndex, cosines, nearest
from memd_daemon.index.port import Fetch, Unreadable
from memd_daemon.index.sealed import read_sealed, write_sealed, write_sealed_bytes

if TYPE_CHECKING:
    from memd_daemon.index.port import AnyVector

FORMAT: Final = 1


class UsearchIndex:
    """A ``port.VectorIndex`` over a usearch graph; `fetch` gives the exact vectors to rank by."""

    def __init__(self, dim: int, fetch: Fetch) -> None:
        self.dim = dim
        self._fetch = fetch
        self._graph = self._empty_graph()
        self._mapped: memoryview | None = None
        self._recent, self._hidden = ExactIndex(dim), set[int]()

    def __len__(self) -> int:
        return len(self._graph) - len(self._hidden) + len(self._recent)

    def __contains__(self, key: int) -> bool:
        return key in self._recent or (key in self._graph and key not in self._hidden)

    def __iter__(self) -> Iterator[int]:
        yield from self._recent
        yield from (key for key in map(int, self._graph.keys) if key not in self._hidden)

    def add(self, key: int, vector: AnyVector) -> None:
        import numpy as np

        self.remove(key)
        if self._mapped is None:
            self._graph.add(key, np.asarray(vector, np.float32), threads=1)
        else:
            self._recent.add(key, vector)

    def add_all(self, small: ExactIndex) -> None:
        """Everything of another index, none of whose keys is in this one's graph."""
        import numpy as np

        for keys, rows in small.blocks(limits.GRAPH_BLOCK_ROWS):
            self._graph.add(np.array(keys, np.uint64), rows.astype(np.float32), threads=1)

    def remove(self, key: int) -> None:
        self._recent.remove(key)
        if key not in self._graph:
            return
        if self._mapped is None:
            self._graph.remove(key)
        else:
            self._hidden.add(key)

    def search(self, vector: AnyVector, k: int) -> list[tuple[int, float]]:
        if k < 1:
            return []
        found = self._search_graph(vector, k) + self._recent.search(vector, k)
        return sorted(found, key=lambda one: (-one[1], one[0]))[:k]

    def save(self, path: Path) -> None:
        self._fold()
        write_sealed(path, lambda aside: self._graph.save(str(aside)))
        self.load(path)

    def load(self, path: Path) -> None:
        self._graph, self._mapped = self._empty_graph(), None
        self._recent, self._hidden = ExactIndex(self.dim), set()
        payload = read_sealed(path)
        self._graph = self._view(payload)
        self._mapped = payload

    def copy(self) -> UsearchIndex:
        """Another index on the same mapped graph with the same changes beside it. Only for one that was saved or loaded.

        :raises ValueError: the graph is not mapped
        """
        if self._mapped is None:
            raise ValueError("only a mapped graph is shared")
        twin = UsearchIndex(self.dim, self._fetch)
        twin._graph, twin._mapped = self._view(self._mapped), self._mapped
        twin._recent, twin._hidden = self._recent.copy(), set(self._hidden)
        return twin

    def _empty_graph(self) -> Any:
        return native.usearch().Index(ndim=self.dim, metric="cos", dtype="i8")

    def _view(self, payload: memoryview) -> Any:
        try:
            graph = native.usearch().Index.restore(payload, view=True)
        except (RuntimeError, ValueError) as problem:
            raise Unreadable(str(problem)) from problem
        if graph is None or graph.ndim != self.dim:
            raise Unreadable("a graph of another shape")
        return graph

    def _search_graph(self, vector: AnyVector, k: int) -> list[tuple[int, float]]:
        import numpy as np

        if not len(self._graph):
            return []
        wanted = max(limits.RERANK_VECTORS, k) + len(self._hidden)
        wide = np.asarray(vector, np.float32)
        found = self._graph.search(wide, min(wanted, len(self._graph)), threads=1)
        keys = [key for key in map(int, found.keys) if key not in self._hidden]
        return nearest(keys, cosines(self._fetch(keys), wide), k) if keys else []

    def _fold(self) -> None:
        """Bring a mapped graph into memory and put the changes beside it into it."""
        if self._mapped is None:
            return
        graph = self._empty_graph()
        graph.load(self._mapped)
        for key in self._hidden:
            graph.remove(key)
        recent = self._recent
        self._graph, self._mapped = graph, None
        self._recent, self._hidden = ExactIndex(self.dim), set()
        self.add_all(recent)


class SavedScope(msgspec.Struct, frozen=True):
    """One scope of `scopes.json`."""

    file: str
    kind: Literal["exact", "usearch"]


class SavedScopes(msgspec.Struct, frozen=True):
    """`scopes.json`."""

    format: int
    model: str
    dim: int
    mark: int
    scopes: dict[str, SavedScope]


class ScopedVectors:
    """The vectors of one model by scope; see the module's docstring. `folder` None keeps them in memory alone."""

    def __init__(self, model_id: str, dim: int, fetch: Fetch, folder: Path | None = None) -> None:
        self.model_id = model_id
        self.dim = dim
        self._fetch = fetch
        self._folder = folder
        self._lock = threading.Lock()  # the indexes
        self._saving = threading.Lock()  # one save or load at a time; taken before the other
        self._by_scope: dict[str, ExactIndex | UsearchIndex] = {}
        self._changed: dict[str, dict[int, AnyVector | None]] = {}  # since the copy that the last save took
        self._saved: dict[str, SavedScope] = {}

    def __len__(self) -> int:
        with self._lock:
            return sum(len(index) for index in self._by_scope.values())

    def count(self, scope: str) -> int:
        """Vectors in one scope."""
        with self._lock:
            return len(self._by_scope.get(scope, ()))

    @property
    def unsaved(self) -> int:
        """Changes since the last save; past UNSAVED_VECTORS_MAX it is time for one."""
        with self._lock:
            return sum(len(changes) for changes in self._changed.values())

    def add(self, scope: str, key: int, vector: AnyVector) -> None:
        """Put or replace one vector: any float type [dim], unit length."""
        with self._lock:
            self._by_scope.setdefault(scope, ExactIndex(self.dim)).add(key, vector)
            self._changed.setdefault(scope, {})[key] = vector

    def remove(self, scope: str, key: int) -> None:
        """Take one vector out, if it is in."""
        with self._lock:
            index = self._by_scope.get(scope)
            if index is not None and key in index:
                index.remove(key)
                self._changed.setdefault(scope, {})[key] = None

    def place(self, scope: str, key: int, vector: AnyVector | None) -> None:
        """The vector lies in this scope and in no other one; with None in none at all."""
        with self._lock:
            holding = [name for name, index in self._by_scope.items() if key in index]
        for name in holding:
            if name != scope or vector is None:
                self.remove(name, key)
        if vector is not None:
            self.add(scope, key, vector)

    def search(self, scopes: Iterable[str], vector: AnyVector, k: int) -> list[tuple[int, float]]:
        """The `k` nearest notes of all these scopes together: (key, cosine), best first."""
        with self._lock:
            asked = [self._by_scope[scope] for scope in dict.fromkeys(scopes) if scope in self._by_scope]
            found = [one for index in asked for one in index.search(vector, k)]
        return sorted(found, key=lambda one: (-one[1], one[0]))[: max(k, 0)]

    def without(self, scopes: Iterable[str], keys: Iterable[int]) -> set[int]:
        """Those of these keys that have no vector in any of these scopes."""
        with self._lock:
            asked = [self._by_scope[scope] for scope in dict.fromkeys(scopes) if scope in self._by_scope]
            return {key for key in keys if not any(key in index for index in asked)}

    def rebuild(self, rows: Iterable[tuple[str, int, AnyVector]]) -> None:
        """Start anew from (scope, key, vector)."""
        with self._saving:
            with self._lock:
                self._by_scope.clear()
                self._changed = {scope: {} for scope in self._saved}
            for scope, key, vector in rows:
                self.add(scope, key, vector)

    def save(self, mark: int) -> None:
        """Write every scope that changed, then `scopes.json` with the mark; move what has grown large to usearch."""
        with self._saving:
            if self._folder is not None:
                self._folder.mkdir(parents=True, exist_ok=True)
            for scope in list(self._changed):
                self._save_scope(scope)
            if self._folder is not None:
                card = SavedScopes(FORMAT, self.model_id, self.dim, mark, self._saved)
                write_sealed_bytes(self._folder / "scopes.json", msgspec.json.encode(card))

    def load(self) -> int | None:
        """Take in what was saved and return its mark; None (and nothing held) if there is nothing whole of this model."""
        with self._saving, self._lock:
            self._by_scope, self._changed, self._saved = {}, {}, {}
            try:
                return None if self._folder is None else self._load(self._folder)
            except (Unreadable, msgspec.DecodeError):
                self._by_scope, self._saved = {}, {}
                return None

    def _load(self, folder: Path) -> int:
        card = msgspec.json.decode(read_sealed(folder / "scopes.json"), type=SavedScopes)
        if (card.format, card.model, card.dim) != (FORMAT, self.model_id, self.dim):
            raise Unreadable("saved for another model")
        for scope, saved in card.scopes.items():
            index = ExactIndex(self.dim) if saved.kind == "exact" else UsearchIndex(self.dim, self._fetch)
            index.load(folder / saved.file)
            self._by_scope[scope] = index
        self._saved = card.scopes
        return card.mark

    def _save_scope(self, scope: str) -> None:
        """Copy, build and write beside the others' work, then say the changes since the copy again to what was built."""
        with self._lock:
            index = self._by_scope.get(scope)
            if index is None or not len(index):
                self._drop(scope)
                return
            grows = isinstance(index, ExactIndex) and len(index) > limits.EXACT_MAX_NOTES
            if self._folder is None and not grows:
                del self._changed[scope]
                return
            built = index.copy()
            self._changed[scope] = {}
        if isinstance(built, ExactIndex) and grows:
            built = self._moved(built)
        if self._folder is not None:
            built.save(self._folder / file_name(scope))
            self._saved = {**self._saved, scope: SavedScope(file_name(scope), kind_of(built))}
        with self._lock:
            self._take_over(scope, built)

    def _take_over(self, scope: str, built: ExactIndex | UsearchIndex) -> None:
        meanwhile = self._changed[scope]
        for key, vector in meanwhile.items():
            built.remove(key) if vector is None else built.add(key, vector)
        self._by_scope[scope] = built
        if not meanwhile:
            del self._changed[scope]

    def _drop(self, scope: str) -> None:
        """An emptied scope goes, its file after it."""
        self._by_scope.pop(scope, None)
        self._changed.pop(scope, None)
        self._saved = {name: saved for name, saved in self._saved.items() if name != scope}
        if self._folder is not None:
            (self._folder / file_name(scope)).unlink(missing_ok=True)

    def _moved(self, small: ExactIndex) -> UsearchIndex:
        large = UsearchIndex(self.dim, self._fetch)
        large.add_all(small)
        return large


def file_name(scope: str) -> str:
    """A scope's file: a digest, since a scope may hold a path."""
    return hashlib.sha256(scope.encode()).hexdigest()[: limits.NAME_DIGEST_CHARS] + ".vec"


def kind_of(index: ExactIndex | UsearchIndex) -> Literal["exact", "usearch"]:
    return "exact" if isinstance(index, ExactIndex) else "usearch"
