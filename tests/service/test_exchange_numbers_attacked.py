"""Numbers of notes and of turns that somebody wrote into an export: none takes the place of those that are to come."""

from pathlib import Path

import msgspec
import pytest

from memd_daemon import limits
from tests.service.test_exchange_attacked import refusal
from tests.store.exchanging import exported, first, imported, lines_of, opened, sealed, turn

TURN_MAX = limits.IMPORT_NUMBER_MAX + limits.IMPORT_TURNS_GONE_MAX  # of one that none near it comes before


@pytest.mark.parametrize("beyond", [1, (1 << 63) - (1 << 31)])
def test_no_number_is_so_great_that_the_next_ones_could_not_be_quoted(folder: Path, raw: bytes, beyond: int) -> None:
    """Of a note, and of a turn."""
    lines = lines_of(raw)
    last = max(n for n, line in enumerate(lines) if line["is"] == "number")
    lines[last]["id"] = limits.IMPORT_NUMBER_MAX + beyond
    assert "is no number of a note" in refusal(folder / "there", lines)
    lines = lines_of(raw)
    last = max(n for n, line in enumerate(lines) if line["is"] == "turn")
    lines[last]["turn"] = msgspec.json.decode(msgspec.json.encode(turn(TURN_MAX + beyond)))
    assert "is a turn whose number does not follow" in refusal(folder / "there", lines)


@pytest.mark.parametrize("last", [-1, limits.IMPORT_NUMBER_MAX + 1])
def test_the_last_turn_is_one_that_can_have_been(folder: Path, raw: bytes, last: int) -> None:
    """The next prompt is numbered by it."""
    lines = lines_of(raw)
    lines[0]["last_turn"] = last
    assert "line 1: gives a last turn that no store has" in refusal(folder / "there", lines)


@pytest.mark.parametrize(
    "gone", [(), (1, 2, limits.IMPORT_NUMBER_MAX + 1)], ids=["all kept", "the first ones past their time"]
)
def test_behind_the_greatest_last_turn_there_are_turns_and_exports_of_them(
    folder: Path, raw: bytes, gone: tuple[int, ...]
) -> None:
    """It is believed, so the store goes on there: its turns are numbered, found, exported and taken in again."""
    greatest = limits.IMPORT_NUMBER_MAX
    lines = lines_of(raw)
    lines[0]["last_turn"] = greatest
    imported(folder / "there", sealed(lines))
    with opened(folder / "there") as (store, _):
        given = [store.write(lambda txn, n=n: txn.add_turn(turn(n, f"Behind it: {n}."))) for n in (7, 8, 9)]
        assert given == [greatest + 1, greatest + 2, greatest + 3]
        for number in gone:
            store.write(lambda txn, number=number: txn.drop_turn(number))
        again = exported(store)
    assert (imported(folder / "there", again).relation, imported(folder / "again", again).turns) == (
        "same",
        5 - len(gone),
    )
    with opened(folder / "again") as (store, _):
        with store.read() as snapshot:
            newest = next(iter(snapshot.turns()))
            assert (newest.number, newest.text) == (greatest + 3, "Behind it: 9.")
            assert snapshot.turn(greatest + 2) is not None
        assert exported(store) == again
        assert store.write(lambda txn: txn.add_turn(turn(10))) == greatest + 4


def test_a_last_turn_beyond_the_greatest_is_borne_by_a_turn_near_it(folder: Path, raw: bytes) -> None:
    """Else it is a number that somebody wrote."""
    lines = lines_of(raw)
    at = first(lines, "turn") + 1
    lines[at]["turn"]["number"] = TURN_MAX
    lines[at]["turn"].pop("crc", None)
    lines[0]["last_turn"] = TURN_MAX + limits.IMPORT_TURNS_GONE_MAX + 1
    assert "line 1: gives a last turn that no store has" in refusal(folder / "there", lines)
    lines[0]["last_turn"] -= 1
    imported(folder / "there", sealed(lines))


@pytest.mark.parametrize("number", [0, 1, TURN_MAX + 1, 1 << 53, (1 << 64) - 1])
def test_a_turn_has_a_number_that_can_have_been_given(folder: Path, raw: bytes, number: int) -> None:
    """Behind the one before it, and not so far that nobody can have said as much."""
    lines = lines_of(raw)
    at = first(lines, "turn") + 1
    lines[at]["turn"]["number"] = number
    lines[at]["turn"].pop("crc", None)
    assert "is a turn whose number does not follow the one before it" in refusal(folder / "there", lines)
