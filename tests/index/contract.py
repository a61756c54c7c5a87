"""What every vector index must do, whatever it is made of. An adapter's test class inherits this and makes the index."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from memd_daemon.index.port import Unreadable, VectorIndex

DIM = 32

Row = npt.NDArray[np.float32]


def unit_rows(count: int, seed: int = 0) -> Row:
    """float32 [count, DIM], each of length 1."""
    rows = np.random.default_rng(seed).standard_normal((count, DIM)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class Shelf:
    """The exact vectors that a store would hold; what an index is told is put here too."""

    def __init__(self) -> None:
        self.rows: dict[int, Row] = {}

    def fetch(self, keys: Sequence[int]) -> npt.NDArray[np.float16]:
        """float16 [len(keys), DIM]; zeros for an unknown key."""
        return np.array([self.rows.get(key, np.zeros(DIM)) for key in keys], np.float16).reshape(len(keys), DIM)


class VectorIndexContract:
    """Inherit and override `make`. `settle` brings an index into its saved form, where it has one."""

    def make(self, shelf: Shelf) -> VectorIndex:
        raise NotImplementedError

    @pytest.fixture
    def shelf(self) -> Shelf:
        return Shelf()

    @pytest.fixture(params=["in memory", "saved"])
    def index(self, request: pytest.FixtureRequest, shelf: Shelf, tmp_path: Path) -> VectorIndex:
        """An index of 300 vectors, keys 1000…1299: as it was filled, or saved and loaded."""
        index = self.make(shelf)
        self.fill(index, shelf, unit_rows(300), 1000)
        if request.param == "saved":
            index.save(tmp_path / "saved")
            index = self.make(shelf)
            index.load(tmp_path / "saved")
        return index

    def fill(self, index: VectorIndex, shelf: Shelf, rows: Row, first: int) -> None:
        for key, row in enumerate(rows, first):
            shelf.rows[key] = row
            index.add(key, row)

    def test_an_empty_index_finds_nothing(self, shelf: Shelf) -> None:
        """No vectors: length 0, no keys, no results."""
        index = self.make(shelf)
        assert (len(index), list(index), index.search(unit_rows(1)[0], 5)) == (0, [], [])

    def test_the_nearest_come_first_with_their_cosine(self, index: VectorIndex, shelf: Shelf) -> None:
        """The ten best of 300 are the exact ten best, in order, and each cosine is right to 0.002."""
        query = unit_rows(1, seed=9)[0]
        exact = sorted(((float(row @ query), key) for key, row in shelf.rows.items()), reverse=True)[:10]
        found = index.search(query, 10)
        assert [key for key, _ in found] == [key for _, key in exact]
        assert [cosine for _, cosine in found] == pytest.approx([cosine for cosine, _ in exact], abs=0.002)

    @pytest.mark.parametrize(("k", "results"), [(-1, 0), (0, 0), (1, 1), (299, 299), (300, 300), (301, 300)])
    def test_no_more_than_k_and_no_fewer_than_there_are(self, index: VectorIndex, k: int, results: int) -> None:
        """Every boundary of k around nothing and around all."""
        assert len(index.search(unit_rows(1)[0], k)) == results

    def test_adding_a_key_again_replaces_its_vector(self, index: VectorIndex, shelf: Shelf) -> None:
        """The new vector is found, the old one is gone, the length stays."""
        old, new = shelf.rows[1005], unit_rows(1, seed=5)[0]
        self.fill(index, shelf, new[np.newaxis], 1005)
        assert index.search(new, 1) == [(1005, pytest.approx(1.0, abs=0.002))]
        assert index.search(old, 1)[0][0] != 1005
        assert len(index) == 300

    def test_a_removed_key_is_found_no_more(self, index: VectorIndex, shelf: Shelf) -> None:
        """Not by its own vector, not in the keys; the others are all still there; absent keys are no error."""
        index.remove(1007)
        index.remove(1007)
        index.remove(4)
        assert 1007 not in index
        assert 1008 in index
        assert {key for key, _ in index.search(shelf.rows[1007], 300)} == set(index) == set(shelf.rows) - {1007}

    def test_a_removed_key_can_come_back(self, index: VectorIndex, shelf: Shelf) -> None:
        """Removed and added again with another vector: found by the new one, once."""
        index.remove(1007)
        self.fill(index, shelf, unit_rows(1, seed=7), 1007)
        found = index.search(shelf.rows[1007], 300)
        assert found[0][0] == 1007
        assert [key for key, _ in found].count(1007) == 1

    def test_equal_vectors_come_by_smaller_key(self, index: VectorIndex, shelf: Shelf) -> None:
        """Three copies of one vector, told out of order."""
        copy = unit_rows(1, seed=3)
        for key in (30, 10, 20):
            self.fill(index, shelf, copy, key)
        assert [key for key, _ in index.search(copy[0], 3)] == [10, 20, 30]

    def test_what_is_saved_is_what_is_loaded(self, index: VectorIndex, shelf: Shelf, tmp_path: Path) -> None:
        """After changes on top of a loaded index too: same keys, same answers; and saving leaves the index usable."""
        self.fill(index, shelf, unit_rows(3, seed=4), 2000)
        index.remove(1001)
        index.save(tmp_path / "again")
        loaded = self.make(shelf)
        loaded.load(tmp_path / "again")
        query = unit_rows(1, seed=8)[0]
        assert loaded.search(query, 20) == index.search(query, 20)
        assert set(loaded) == set(index) == set(shelf.rows) - {1001}

    def test_a_saved_empty_index_loads(self, shelf: Shelf, tmp_path: Path) -> None:
        """Nothing in, nothing out, and it takes vectors afterwards."""
        self.make(shelf).save(tmp_path / "empty")
        loaded = self.make(shelf)
        loaded.load(tmp_path / "empty")
        self.fill(loaded, shelf, unit_rows(1), 1)
        assert [key for key, _ in loaded.search(shelf.rows[1], 5)] == [1]

    @pytest.mark.parametrize("harm", ["missing", "empty", "cut", "flipped", "longer", "garbage"])
    def test_a_harmed_file_is_refused_and_leaves_an_empty_index(
        self, index: VectorIndex, shelf: Shelf, tmp_path: Path, harm: str
    ) -> None:
        """Whatever happened to the file: ``Unreadable``, never a crash or a wrong answer."""
        path = tmp_path / "harmed"
        index.save(path)
        whole = path.read_bytes()
        middle = len(whole) // 2
        harmed = {
            "empty": b"",
            "cut": whole[:middle],
            "flipped": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
            "longer": whole + b"\0",
            "garbage": bytes(range(256)) * 8,
        }
        path.unlink()
        if harm in harmed:
            path.write_bytes(harmed[harm])
        loaded = self.make(shelf)
        with pytest.raises(Unreadable):
            loaded.load(path)
        assert (len(loaded), loaded.search(unit_rows(1)[0], 5)) == (0, [])
