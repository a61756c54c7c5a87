"""A number that somebody has seen names no other note: not after a restore, not after an export of what was restored."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_daemon import limits
from memd_daemon.frames import exchanged
from memd_daemon.store import keys, numbers
from memd_daemon.store.backup_refused import ImportWrong
from memd_daemon.store.check import verify
from memd_daemon.store.memory_log import MemoryStore
from tests.store.exchanging import (
    backed_up,
    exported,
    imported,
    lines_of,
    notes_of,
    opened,
    restore_into,
    sealed,
    turn,
)
from tests.store.making import NOON, Pen


def says(home: Path, *words: str, at: int = 0) -> list[int]:
    """Notes recorded in a home; their numbers."""
    with opened(home) as (store, _):
        pen = Pen(store, NOON + at)
        uids = [pen.record(one) for one in words]
        with store.read() as snapshot:
            return [snapshot.id_of(uid) or 0 for uid in uids]


def goes_on(home: Path, backup: Path) -> list[int]:
    """A home with two notes, backed up, which then has three more."""
    says(home, "One.", "Two.")
    backed_up(home, backup)
    return says(home, "Three.", "Four.", "Five.", at=1_000)


def faults(home: Path) -> list[object]:
    with opened(home) as (store, _):
        return [*verify(store)]


def test_a_number_is_given_once_across_restores(folder: Path) -> None:
    """Each restore goes back to two notes, and each time the next note has a number that nobody has seen."""
    home, backup = folder / "home", folder / "a.backup"
    assert goes_on(home, backup) == [3, 4, 5]
    seen = {1, 2, 3, 4, 5}
    for at in range(2, 5):
        told = " ".join(restore_into(home, backup).told)
        assert "No number that was given there is given again" in told
        new = says(home, f"New {at}.", f"Newer {at}.", at=at * 100_000)
        assert seen.isdisjoint(new)
        seen.update(new)
        assert faults(home) == []
    assert max(seen) == 5 + 3 * 2


def test_the_store_that_was_replaced_comes_back_behind_them_too(folder: Path) -> None:
    """Its own numbers are as they were; the next one is behind what the other gave meanwhile."""
    home, backup = folder / "home", folder / "a.backup"
    goes_on(home, backup)
    kept = restore_into(home, backup).kept
    assert says(home, "Meanwhile.", at=100_000) == [6]
    restore_into(home, Path(kept))
    assert sorted(notes_of(home)) == [1, 2, 3, 4, 5]
    assert says(home, "Afterwards.", at=200_000) == [7]
    assert faults(home) == []


def test_numbers_that_are_not_known_any_more_are_not_vouched_for(folder: Path) -> None:
    """What the store that is replaced had passed over cannot be read."""
    home, backup = folder / "home", folder / "a.backup"
    goes_on(home, backup)
    restore_into(home, backup)
    with opened(home) as (store, _):
        store.write(lambda txn: txn.kv.put(keys.META, keys.META_PASSED, b"junk"))
    says(home, "Meanwhile.", at=100_000)
    told = restore_into(home, backup).told
    assert exchanged.NUMBERS_UNKNOWN in told
    assert not any("No number that was given there" in one for one in told)


def test_a_turns_number_is_given_once_too(folder: Path) -> None:
    """Evidence quotes it."""
    home, backup = folder / "home", folder / "a.backup"

    def typed(words: str) -> int:
        with opened(home) as (store, _):
            return store.write(lambda txn: txn.add_turn(turn(0, words)))

    assert typed("One.") == 1
    backed_up(home, backup)
    assert typed("Two.") == 2
    restore_into(home, backup)
    assert typed("Three.") == 3


def test_another_stores_backup_has_its_own_numbers(folder: Path) -> None:
    """They name other notes anyway."""
    goes_on(folder / "home", folder / "a.backup")
    says(folder / "other", "Another's.")
    backed_up(folder / "other", folder / "b.backup")
    restore_into(folder / "home", folder / "b.backup")
    assert says(folder / "home", "Next.", at=100_000) == [2]


def test_an_export_tells_what_is_passed_over(folder: Path) -> None:
    """So a home that was restored and then moved gives no number twice either; exported again it is the same to the byte."""
    home, backup = folder / "home", folder / "a.backup"
    goes_on(home, backup)
    restore_into(home, backup)
    for words, number in (("", 6), ("Six.", 7)):
        if words:
            says(home, words, at=100_000)
        with opened(home) as (store, ledger):
            raw = exported(store, ledger)
        assert (lines_of(raw)[0]["format"], lines_of(raw)[0]["passed"]) == (2, [[3, 5]])
        moved = folder / f"moved {number}"
        assert imported(moved, raw).faults == 0
        with opened(moved) as (store, ledger):
            assert exported(store, ledger) == raw
        assert says(moved, "Next.", at=200_000) == [number]
        assert imported(moved, raw).kept == ""


def test_an_older_home_of_the_same_store_passes_over_them_too(folder: Path) -> None:
    """What it takes of the newer one are the numbers behind the gap."""
    home, backup, old = folder / "home", folder / "a.backup", folder / "old"
    goes_on(home, backup)
    restore_into(old, backup)
    restore_into(home, backup)
    says(home, "Six.", at=100_000)
    with opened(home) as (store, ledger):
        raw = exported(store, ledger)
    assert imported(old, raw).faults == 0
    assert sorted(notes_of(old)) == [1, 2, 6]


def test_an_export_without_a_gap_is_one_that_older_memds_read(folder: Path, raw: bytes) -> None:
    """Nothing in it came with the second format."""
    head = lines_of(raw)[0]
    assert (head["format"], "passed" in head) == (1, False)


@pytest.mark.parametrize(
    "passed",
    [
        [[0, 1]],
        [[5, 4]],
        [[3, 5], [5, 6]],
        [[8, 9], [3, 5]],
        [[-1, 2]],
        [[1, limits.IMPORT_NUMBER_MAX + 1]],
        [[2 * n, 2 * n] for n in range(1, limits.IMPORT_STRETCHES_MAX + 2)],
    ],
)
def test_stretches_that_no_store_has_are_a_wrong_line(folder: Path, raw: bytes, passed: list[list[int]]) -> None:
    """The next note is numbered by them."""
    lines = lines_of(raw)
    lines[0] |= {"format": 2, "passed": passed}
    with pytest.raises(ImportWrong, match="line 1: passes over numbers as no store does"):
        imported(folder / "there", sealed(lines))


def test_another_stores_gaps_are_its_own(folder: Path, raw: bytes) -> None:
    """Its notes get numbers of this store."""
    lines = lines_of(raw)
    lines[0] |= {"format": 2, "passed": [[100, 200]]}
    says(folder / "mine", "Mine.")
    imported(folder / "mine", sealed(lines))
    assert sorted(notes_of(folder / "mine")) == [1, 2, 3, 4, 5]


def test_a_number_that_is_gone_otherwise_is_still_named(folder: Path) -> None:
    """A gap that no restore has left is damage."""
    home, backup = folder / "home", folder / "a.backup"
    goes_on(home, backup)
    restore_into(home, backup)
    says(home, "Six.", at=100_000)
    with opened(home) as (store, _):
        store.write(lambda txn: txn.kv.delete(keys.IDS, keys.number(1)))
        assert [fault.where for fault in verify(store) if fault.what == "stands for no note"] == ["id [1]"]


@pytest.mark.parametrize("raw_row", [b"", b"\xc0", b"\x91\x91\x01", b"junk"])
def test_a_damaged_row_stops_no_write_and_is_named(raw_row: bytes) -> None:
    """The next number is behind the newest note, though it may be one that a store which was replaced had given."""
    store = MemoryStore()
    pen = Pen(store)
    pen.record("One.")
    store.write(lambda txn: txn.kv.put(keys.META, keys.META_PASSED, raw_row))
    uid = pen.record("Two.")
    with store.read() as snapshot:
        assert snapshot.id_of(uid) == 2
    assert "the numbers that are passed over" in [fault.where for fault in verify(store)]


stretch = st.tuples(st.integers(1, 60), st.integers(0, 8)).map(lambda one: (one[0], one[0] + one[1]))


@given(st.lists(st.lists(stretch, max_size=4), max_size=4))
def test_stretches_are_joined(parts: list[list[tuple[int, int]]]) -> None:
    """They hold the very numbers that were put in, in order and apart, in whatever portions they came."""
    store = MemoryStore()
    for part in parts:
        store.write(lambda txn, part=part: numbers.pass_over(txn.kv, part))  # type: ignore[misc]  # mypy infers no default
    with store.read() as snapshot:
        found = numbers.passed(snapshot.kv)
    assert numbers.are_in_order(found, 100)
    assert all(b[0] > a[1] + 1 for a, b in itertools.pairwise(found))
    held = {n for first, last in found for n in range(first, last + 1)}
    assert held == {n for part in parts for first, last in part for n in range(first, last + 1)}
