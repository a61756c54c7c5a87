"""Vector indexes: the contract for both adapters, and scopes over them."""

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_daemon import limits
from memd_daemon.index.exact import FLOAT16_IN_FLOAT32_SCALE, ExactIndex, shifted
from memd_daemon.index.port import VectorIndex
from memd_daemon.index.vectors import ScopedVectors, UsearchIndex, file_name
from tests.index.contract import DIM, Shelf, VectorIndexContract, unit_rows


class TestExactIndex(VectorIndexContract):
    """Comparing with everything."""

    def make(self, shelf: Shelf) -> VectorIndex:
        return ExactIndex(DIM)


class TestUsearchIndex(VectorIndexContract):
    """A graph, mapped once it was saved."""

    def make(self, shelf: Shelf) -> VectorIndex:
        return UsearchIndex(DIM, shelf.fetch)

    def test_a_graph_finds_nearly_what_comparing_finds(self, shelf: Shelf) -> None:
        """Recall at 10 over 20 queries on 3,000 vectors is at least .97 of the exact answer."""
        large, small = UsearchIndex(DIM, shelf.fetch), ExactIndex(DIM)
        rows = unit_rows(3000, seed=1)
        self.fill(small, shelf, rows, 0)
        large.add_all(small)
        hits = [
            len({key for key, _ in large.search(query, 10)} & {key for key, _ in small.search(query, 10)})
            for query in unit_rows(20, seed=2)
        ]
        assert sum(hits) >= 194


@given(
    st.lists(
        st.tuples(st.sampled_from(["add", "remove"]), st.integers(0, 12), st.integers(0, 5)), min_size=1, max_size=60
    )
)
def test_an_exact_index_is_a_dictionary_with_a_search(steps: list[tuple[str, int, int]]) -> None:
    """Any sequence of changes leaves exactly the last vector of each key that was not removed."""
    rows = unit_rows(6)
    index, truth = ExactIndex(DIM), dict[int, int]()
    for act, key, row in steps:
        if act == "add":
            index.add(key, rows[row])
            truth[key] = row
        else:
            index.remove(key)
            truth.pop(key, None)
    found = dict(index.search(rows[0], 100))
    assert found.keys() == truth.keys() == set(index)
    assert found == {key: pytest.approx(float(rows[row] @ rows[0]), abs=0.002) for key, row in truth.items()}


@given(st.lists(st.floats(-1, 1, width=16), min_size=1, max_size=40))
def test_moved_bits_are_the_number_itself(numbers: list[float]) -> None:
    """Every float16 of a unit vector, zeros and the smallest ones included: scaled back, exactly the float32."""
    halves = np.array(numbers, np.float16)
    assert (shifted(halves) * np.float32(FLOAT16_IN_FLOAT32_SCALE)).tolist() == halves.astype(np.float32).tolist()


# --- scopes

MODEL = "model/1"


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def few_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scope is large from 51 notes on."""
    monkeypatch.setattr(limits, "EXACT_MAX_NOTES", 50)


def put(vectors: ScopedVectors, shelf: Shelf, scope: str, first: int, rows: npt.NDArray[np.float32]) -> None:
    for key, row in enumerate(rows, first):
        shelf.rows[key] = row
        vectors.add(scope, key, row)


def keys(found: list[tuple[int, float]]) -> list[int]:
    return [key for key, _ in found]


def test_a_small_scope_is_searched_whole_beside_a_large_one(shelf: Shelf) -> None:
    """One note among 400 of another scope, none of them nearer than it is far: it is found, since the scope comes first."""
    vectors = ScopedVectors(MODEL, DIM, shelf.fetch)
    query = unit_rows(1, seed=3)[0]
    put(vectors, shelf, "repo:large", 0, np.tile(query, (400, 1)))
    put(vectors, shelf, "repo:small", 1000, -query[np.newaxis])
    assert keys(vectors.search(["repo:small"], query, 5)) == [1000]
    assert keys(vectors.search(["repo:large", "repo:small"], query, 500))[-1] == 1000


def test_scopes_are_merged_by_cosine(shelf: Shelf) -> None:
    """The best of several scopes together, each note once though a scope is named twice; unknown scopes are empty."""
    vectors = ScopedVectors(MODEL, DIM, shelf.fetch)
    rows = unit_rows(20)
    put(vectors, shelf, "global", 0, rows[:10])
    put(vectors, shelf, "repo:a", 10, rows[10:])
    query = unit_rows(1, seed=6)[0]
    best = np.argsort(-(rows @ query))[:7].tolist()
    assert keys(vectors.search(["global", "repo:a", "global", "none"], query, 7)) == best
    assert vectors.search([], query, 7) == []
    assert (len(vectors), vectors.count("repo:a"), vectors.count("none")) == (20, 10, 0)


def test_a_scope_that_has_grown_moves_to_a_graph_and_answers_the_same(shelf: Shelf, few_are_exact: None) -> None:
    """50 are exact, 51 are a graph after the next save; the answers do not change and changes go on being taken."""
    vectors = ScopedVectors(MODEL, DIM, shelf.fetch)
    rows = unit_rows(51)
    query = unit_rows(1, seed=2)[0]
    put(vectors, shelf, "s", 0, rows[:50])
    vectors.save(1)
    assert isinstance(vectors._by_scope["s"], ExactIndex)
    put(vectors, shelf, "s", 50, rows[50:])
    before = vectors.search(["s"], query, 10)
    vectors.save(2)
    assert isinstance(vectors._by_scope["s"], UsearchIndex)
    assert vectors.search(["s"], query, 10) == before
    vectors.remove("s", before[0][0])
    assert keys(vectors.search(["s"], query, 9)) == keys(before)[1:]


def test_what_was_saved_comes_back_with_its_mark(shelf: Shelf, tmp_path: Path, few_are_exact: None) -> None:
    """A small and a large scope: the same answers after a load, and the mark of the save."""
    vectors = ScopedVectors(MODEL, DIM, shelf.fetch, tmp_path / "v")
    put(vectors, shelf, "small", 0, unit_rows(10))
    put(vectors, shelf, "large", 100, unit_rows(60, seed=1))
    vectors.save(41)
    put(vectors, shelf, "large", 200, unit_rows(3, seed=4))
    vectors.save(42)
    again = ScopedVectors(MODEL, DIM, shelf.fetch, tmp_path / "v")
    query = unit_rows(1, seed=5)[0]
    assert again.load() == 42
    assert (again.unsaved, vectors.unsaved) == (0, 0)
    assert again.search(["small", "large"], query, 30) == vectors.search(["small", "large"], query, 30)


def test_saying_again_what_the_files_hold_already_changes_nothing(
    shelf: Shelf, tmp_path: Path, few_are_exact: None
) -> None:
    """After a crash the files may be newer than their mark: the same writes again lead to the same content."""
    vectors = ScopedVectors(MODEL, DIM, shelf.fetch, tmp_path / "v")
    put(vectors, shelf, "s", 0, unit_rows(60))
    vectors.save(1)
    again = ScopedVectors(MODEL, DIM, shelf.fetch, tmp_path / "v")
    again.load()
    put(again, shelf, "s", 0, unit_rows(60))
    query = unit_rows(1, seed=5)[0]
    assert len(again) == 60
    assert again.search(["s"], query, 60) == vectors.search(["s"], query, 60)


def test_an_emptied_scope_is_gone_after_a_save(shelf: Shelf, tmp_path: Path) -> None:
    """Its file too, so that nothing of a forgotten note stays behind."""
    vectors = ScopedVectors(MODEL, DIM, shelf.fetch, tmp_path)
    put(vectors, shelf, "s", 1, unit_rows(1))
    put(vectors, shelf, "t", 2, unit_rows(1))
    vectors.save(1)
    vectors.remove("s", 1)
    vectors.remove("s", 1)
    vectors.save(2)
    assert not (tmp_path / file_name("s")).exists()
    assert ScopedVectors(MODEL, DIM, shelf.fetch, tmp_path).load() == 2


@pytest.mark.parametrize(
    "harm", ["no folder", "no list", "no scope", "flipped scope", "other model", "other dimension"]
)
def test_nothing_whole_means_nothing_loaded(shelf: Shelf, tmp_path: Path, harm: str) -> None:
    """Every kind of damage: no mark and no vectors, and a rebuild from the store leads back to the same answers."""
    folder = tmp_path / "v"
    vectors = ScopedVectors(MODEL, DIM, shelf.fetch, folder)
    put(vectors, shelf, "s", 0, unit_rows(9))
    if harm != "no folder":
        vectors.save(5)
    scope = folder / file_name("s")
    if harm == "no list":
        (folder / "scopes.json").unlink()
    elif harm == "no scope":
        scope.unlink()
    elif harm == "flipped scope":
        content = bytearray(scope.read_bytes())
        content[40] ^= 1
        scope.write_bytes(content)
    model, dim = ("model/2" if harm == "other model" else MODEL), (DIM + 1 if harm == "other dimension" else DIM)
    again = ScopedVectors(model, dim, shelf.fetch, folder)
    assert (again.load(), len(again)) == (None, 0)
    if dim == DIM:
        again.rebuild(("s", key, row) for key, row in shelf.rows.items())
        query = unit_rows(1, seed=5)[0]
        assert again.search(["s"], query, 9) == vectors.search(["s"], query, 9)


def test_a_rebuild_replaces_what_was_there_on_disk_too(shelf: Shelf, tmp_path: Path) -> None:
    """A scope that the store no longer knows is gone after the next save."""
    vectors = ScopedVectors(MODEL, DIM, shelf.fetch, tmp_path)
    put(vectors, shelf, "old", 1, unit_rows(1))
    vectors.save(1)
    vectors.rebuild([("new", 2, unit_rows(1)[0])])
    vectors.save(2)
    again = ScopedVectors(MODEL, DIM, shelf.fetch, tmp_path)
    again.load()
    assert (again.count("old"), again.count("new")) == (0, 1)
    assert not (tmp_path / file_name("old")).exists()


def test_changes_said_while_a_graph_is_built_are_in_it(shelf: Shelf, tmp_path: Path, few_are_exact: None) -> None:
    """A save that stands still in the middle lets others read and write; it then holds what they wrote, and says it is
    not saved."""
    building, go_on = threading.Event(), threading.Event()

    class Halting(ScopedVectors):
        def _moved(self, small: ExactIndex) -> UsearchIndex:
            building.set()
            assert go_on.wait(30)
            return super()._moved(small)

    vectors = Halting(MODEL, DIM, shelf.fetch, tmp_path)
    put(vectors, shelf, "s", 0, unit_rows(60))
    saving = threading.Thread(target=vectors.save, args=(1,))
    saving.start()
    assert building.wait(30)
    put(vectors, shelf, "s", 500, unit_rows(1, seed=9))
    vectors.remove("s", 3)
    assert keys(vectors.search(["s"], shelf.rows[500], 1)) == [500]
    go_on.set()
    saving.join(30)
    assert isinstance(vectors._by_scope["s"], UsearchIndex)
    assert keys(vectors.search(["s"], shelf.rows[500], 1)) == [500]
    assert 3 not in keys(vectors.search(["s"], shelf.rows[3], 100))
    assert (len(vectors), vectors.unsaved) == (60, 2)


def test_a_failed_save_loses_nothing(shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full in mid-save: the error comes out, the answers stay, the next save writes all of it."""

    def full(index: ExactIndex, path: Path) -> None:
        raise OSError(28, "no space")

    vectors = ScopedVectors(MODEL, DIM, shelf.fetch, tmp_path)
    put(vectors, shelf, "s", 1, unit_rows(5))
    with monkeypatch.context() as broken:
        broken.setattr(ExactIndex, "save", full)
        with pytest.raises(OSError, match="no space"):
            vectors.save(1)
    vectors.save(2)
    again = ScopedVectors(MODEL, DIM, shelf.fetch, tmp_path)
    assert (again.load(), len(again)) == (2, 5)


def test_only_exact_vectors_rank(few_are_exact: None) -> None:
    """A graph ranks by the store's vectors, not by its own rounded ones: a vector that the store has changed moves."""
    rows = unit_rows(60)

    def none(asked: Sequence[int]) -> npt.NDArray[np.float16]:
        return np.zeros((len(asked), DIM), np.float16)

    vectors = ScopedVectors(MODEL, DIM, none)
    vectors.rebuild(("s", key, row) for key, row in enumerate(rows))
    vectors.save(1)
    assert {cosine for _, cosine in vectors.search(["s"], rows[0], 10)} == {0.0}
