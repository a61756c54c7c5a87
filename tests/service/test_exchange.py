"""Export and import: everything comes back, nothing comes twice, and no line is believed for what it says of itself."""

import contextlib
import io
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memd_daemon.model import event as ev
from memd_daemon.service.exchange_place import take_in
from memd_daemon.store import keys
from memd_daemon.store.backup_refused import ImportWrong
from memd_daemon.store.check import verify
from memd_daemon.store.memory_log import MemoryStore
from tests.store.exchanging import (
    REDACT,
    exported,
    imported,
    lived_in,
    notes_of,
    notes_of_open,
    opened,
    place,
    quick_folder,
    rows_of,
    turn,
)
from tests.store.making import (
    BERT,
    NOON,
    STORE,
    Pen,
    commits_of,
)
from tests.store.test_exchange import PEOPLE, act, folds_of, step


def withheld(commits: list[Any], chance: random.Random) -> list[Any]:
    """Commits as another store may publish them: some without an event or two, some not at all."""
    shown = [
        (head, digests, [pair if chance.random() < 0.7 else None for pair in pairs]) for head, digests, pairs in commits
    ]
    return [commit for commit in shown if chance.random() < 0.9]


@given(st.lists(step, max_size=10), st.lists(step, max_size=5), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=12)
def test_an_export_into_an_empty_home_is_the_same_store(
    steps: list[tuple[int, str, str, bool]], others: list[tuple[int, str, str, bool]], chance: random.Random
) -> None:
    """Endorsed, revoked and forgotten notes, acts of several people, another store's commits with events withheld: every row is
    the same, verify says the same of it, and exported again it is the same to the byte."""
    pen, other = Pen(MemoryStore(store=STORE)), Pen(MemoryStore(store=b"X" * 16), NOON + 77)
    lived_in(pen.store)
    uids = [pen.record(kind="task", level="principle"), pen.record(kind="gotcha", anchors=(ev.Anchor(path="x"),))]
    for at, type_, who, blind in steps:
        act(pen, uids[at % 2], type_, PEOPLE[who], blind)
    other.enrol(BERT)
    theirs = other.record()
    for _, type_, who, blind in others:
        act(other, theirs, type_, PEOPLE[who], blind)
    for commit in withheld(commits_of(other.store), chance):
        pen.store.write(lambda txn, commit=commit: txn.receive(*commit))
    raw = exported(pen.store)
    with quick_folder() as made:
        home = made / "home"
        reply = imported(home, raw)
        assert (reply.relation, reply.wrong, reply.withheld) == ("new", [], [])
        with opened(home) as (store, ledger):
            assert rows_of(store) == rows_of(pen.store)
            assert verify(store) == verify(pen.store)
            assert exported(store, ledger) == raw


def test_importing_twice_changes_nothing(folder: Path, raw: bytes) -> None:
    """The second time finds everything there, and leaves the store where it lies."""
    home = folder / "there"
    first = imported(home, raw)
    inode = (home / "store").stat().st_ino
    second = imported(home, raw)
    assert (first.relation, first.notes, first.turns) == ("new", 4, 2)
    assert (second.relation, second.events, second.texts, second.turns, second.kept) == ("same", 0, 0, 0, "")
    assert (home / "store").stat().st_ino == inode
    with opened(home) as (store, ledger):
        assert exported(store, ledger) == raw


def test_an_older_home_takes_what_is_missing_of_its_own_store(folder: Path, raw: bytes) -> None:
    """It goes on where it stood: commits, texts and the numbers that people quote."""
    old, here = folder / "old", folder / "here"
    imported(old, raw)
    with opened(here) as (store, ledger):
        pen = Pen(store, NOON + 10_000_000)
        pen.revoke(pen.record("Known only to the newer one."))
        newer, rows = exported(store, ledger), rows_of(store)
    reply = imported(old, newer)
    assert (reply.relation, reply.commits, reply.notes, reply.turns_left) == ("same", 2, 1, 2)
    assert reply.kept
    with opened(old) as (store, _):
        assert rows_of(store) == rows
        assert verify(store) == []
    assert imported(old, raw).events == 0  # an older export brings nothing back, and takes nothing away


def test_two_homes_that_were_one_store_are_not_mixed(folder: Path, raw: bytes) -> None:
    """Both have gone on: their chains fork, which is named by its line, and nothing is taken."""
    here, there = folder / "here", folder / "there"
    imported(there, raw)
    for home, words in ((here, "One went this way."), (there, "The other that way.")):
        with opened(home) as (store, _):
            pen = Pen(store, NOON + 10_000_000)
            pen.record(words)
            pen.record(words)
    with opened(here) as (store, ledger):
        forked = exported(store, ledger)
    before = notes_of(there)
    with pytest.raises(ImportWrong, match="both homes went on from one store"):
        imported(there, forked)
    assert notes_of(there) == before


def test_another_stores_notes_are_taken_and_its_keys_endorse_nothing(folder: Path, raw: bytes) -> None:
    """The notes come under numbers of their own, as an agent's; turns, facts and numbers stay with their store."""
    home = folder / "mine"
    with opened(home) as (store, _):
        Pen(store).record("My own.")
    reply = imported(home, raw)
    assert (reply.relation, reply.notes, reply.turns, reply.turns_left) == ("other", 4, 0, 2)
    found = notes_of(home)
    assert sorted(found) == [1, 2, 3, 4, 5]
    assert {note.provenance for note in found.values()} == {"agent"}
    assert [note.revoked for _, note in sorted(found.items())] == [False, False, True, False, False]
    assert not any(note.forgotten for note in found.values())  # that was signed by a key that counts for nothing here
    with opened(home) as (store, _), store.read() as snapshot:
        assert list(snapshot.turns()) == []
        assert snapshot.setting("repo/common/x") is None
        assert snapshot.identity().enrolments == ()
    assert imported(home, raw).events == 0


def test_a_home_with_turns_of_its_own_becomes_no_other_store(folder: Path, raw: bytes) -> None:
    """Its turns' numbers are quoted: what comes is another store's."""
    home = folder / "mine"
    with opened(home) as (store, _):
        store.write(lambda txn: txn.add_turn(turn(1, "Mine.")))
    assert imported(home, raw).relation == "other"
    with opened(home) as (store, _), store.read() as snapshot:
        assert [one.text for one in snapshot.turns()] == ["Mine."]


def test_notes_that_were_held_stay_held(folder: Path) -> None:
    """A burst's notes are not let loose by an export."""
    from memd_daemon.model.burst import BurstNote

    with opened(folder / "here") as (store, ledger):
        uid = Pen(store).record()
        held = BurstNote(note=uid, at=1, others=4, sessions=("s1",))
        ledger.put_bursts([held])
        raw = exported(store, ledger)
    imported(folder / "there", raw)
    with opened(folder / "there") as (_, ledger):
        assert ledger.bursts() == [held]


def test_a_damaged_store_exports_what_is_left(folder: Path) -> None:
    """A text that is not the one that was recorded stays out and is counted; the rest is taken."""
    from memd_daemon.store.exchange_out import Outgoing

    with opened(folder / "here") as (store, _):
        uid = Pen(store).record("As it was.")
        digest = notes_of_open(store)[1].shown.content
        store.write(lambda txn: txn.kv.put(keys.BLOBS, digest, b"s" * 16 + b"As it never was."))
        with store.read() as snapshot:
            outgoing = Outgoing(snapshot, [])
            raw = b"".join(outgoing.lines())
    assert outgoing.damaged == 1  # content and summary are one text here
    assert imported(folder / "there", raw).notes == 1
    assert uid


def test_a_killed_import_leaves_the_old_store(folder: Path, raw: bytes) -> None:
    """The stream breaks in the middle: nothing is taken, and the next import takes all of it."""

    class Breaks(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            if self.tell() > len(raw) // 2:
                raise OSError(5, "Input/output error")
            return super().readline(size)

    home = folder / "mine"
    with opened(home) as (store, _):
        Pen(store).record("My own.")
    before = notes_of(home)
    with pytest.raises(Exception, match="Input/output error"), contextlib.closing(Breaks(raw)) as stream:
        take_in(place(home), stream, REDACT)
    assert notes_of(home) == before
    assert imported(home, raw).notes == 4


def test_the_folds_of_an_import_are_those_of_the_store(folder: Path, raw: bytes) -> None:
    """Byte for byte, before and after a rebuild."""
    imported(folder / "there", raw)
    with opened(folder / "there") as (store, _):
        before = folds_of(store)
        store.rebuild()
        assert folds_of(store) == before
