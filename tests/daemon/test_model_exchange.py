"""Stores that exchange their commits in any order, with duplicates, gaps and withheld events, fold to the same bytes.

Two to four replicas write to the same notes, each with its own clock (one of them set back on the way), and see each other's
commits now and then. At the end everybody has everything that anybody gives out.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memd_daemon.frames import recall
from memd_daemon.model import event as ev
from memd_daemon.model import fold
from memd_daemon.model.note import Note, encode_note
from memd_daemon.service.views import view_from_log
from memd_daemon.store.lmdb_log import open_store
from memd_daemon.store.memory_log import MemoryStore
from memd_daemon.store.port import Store
from tests.daemon import model_replay as replay
from tests.daemon.model_deeds import ACTS, SEEDS, STRANGERS, WHO, perform
from tests.store.making import ANNA, NOON, STORE, Commit, Pen, commits_of, digest_of, event, stored

LONG = bool(os.environ.get("MEMD_LONG"))
ROUNDS = 400 if LONG else 50
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


def replica(at: int = NOON, store: Store | None = None) -> Pen:
    return Pen(store or MemoryStore(store=STORE), at)


def give(pen: Pen, commits: list[Commit]) -> None:
    for commit in commits:
        pen.store.write(lambda txn, commit=commit: txn.receive(*commit))


def folds_of(store: Store) -> dict[bytes, bytes]:
    with store.read() as snapshot:
        return {note.uid: encode_note(note) for _, note in snapshot.notes()}


def holds_together(store: Store) -> None:
    """What the store has cached is the fold of its log, and is what the table says of it."""
    with store.read() as snapshot:
        for _, note in snapshot.notes():
            events = snapshot.events_of(note.uid)
            folded = fold.fold(events)
            assert folded is not None
            assert encode_note(folded) == encode_note(note)
            assert replay.normal(note) == replay.normal(replay.replayed(events))


def withheld(commit: Commit, gone: set[bytes]) -> Commit:
    """The commit as somebody publishes it who keeps some of its events to himself."""
    head, digests, events = commit
    kept = [None if event is None or digest in gone else event for digest, event in zip(digests, events, strict=True)]
    return head, digests, kept


def begun(count: int, data: Any) -> tuple[list[Pen], list[bytes]]:
    """Replicas of one store with the same two notes and the same person's key, clocks apart."""
    pens = [replica(NOON + n * 7 * HOUR_MS) for n in range(count)]
    pens[0].enrol(ANNA)
    level = data.draw(st.sampled_from(("", "principle")))
    uids = [pens[0].record("one", kind="task", level=level), pens[0].record("two", kind="directive")]
    for pen in pens[1:]:
        give(pen, commits_of(pens[0].store))
    return pens, uids


def live(pens: list[Pen], uids: list[bytes], data: Any) -> None:
    """Acts here and there, a commit handed over now and then, one clock set back."""
    chance = Random(data.draw(SEEDS))
    steps = data.draw(st.lists(st.tuples(st.integers(0, 9), ACTS, st.sampled_from(WHO), st.booleans()), max_size=14))
    back = data.draw(st.integers(0, 14))
    for number, (at, type_, who, blind) in enumerate(steps):
        pen = pens[at % len(pens)]
        if number == back:
            pen.at -= 30 * DAY_MS
        if chance.random() < 0.3:
            other = chance.choice(pens)
            sent = commits_of(other.store)
            give(pen, chance.sample(sent, chance.randint(0, len(sent))))
        if chance.random() < 0.25:
            with pen.store.read() as snapshot:
                note = snapshot.note(uids[0])
            if note is not None:
                to = "agent" if note.revisions[-1].provenance == "auto" else "human"
                named = ev.Promoted(to=to, revision=note.revision, content=note.revisions[-1].content)
                pen.act(uids[0], "promoted", named, by=ANNA)
        perform(chance, pen, uids[at % 2], who, type_, blind=blind)


@given(st.integers(2, 4), st.data())
@settings(deadline=None, max_examples=ROUNDS)
def test_in_any_order_with_duplicates(count: int, data: Any) -> None:
    """Everybody gets everything, shuffled and some of it twice; one who had nothing gets the same."""
    pens, uids = begun(count, data)
    live(pens, uids, data)
    chance = Random(data.draw(SEEDS))
    everything = [commit for pen in pens for commit in commits_of(pen.store)]
    for pen in (*pens, fresh := replica()):
        mixed = everything + chance.sample(everything, len(everything) // 2)
        chance.shuffle(mixed)
        give(pen, mixed)
    due = folds_of(fresh.store)
    assert set(due) == set(uids)
    for pen in (*pens, fresh):
        assert folds_of(pen.store) == due
        holds_together(pen.store)


@given(st.data())
@settings(deadline=None, max_examples=ROUNDS)
def test_with_gaps_and_withheld_events(data: Any) -> None:
    """Who has the same part of the log has the same notes; what was withheld or missing and comes after all is not too late."""
    pens, uids = begun(3, data)
    live(pens, uids, data)
    chance = Random(data.draw(SEEDS))
    everything = list({commit[0]: commit for pen in pens for commit in commits_of(pen.store)}.values())
    gone = {digest for _, digests, _ in everything for digest in digests if chance.random() < 0.25}
    part = [withheld(commit, gone) for commit in everything if chance.random() < 0.85]
    readers = [replica(), replica(NOON - DAY_MS)]
    for reader in readers:
        chance.shuffle(part)
        give(reader, part)
        holds_together(reader.store)
    assert folds_of(readers[0].store) == folds_of(readers[1].store)
    whole = replica()
    give(whole, everything)
    for reader in readers:
        chance.shuffle(everything)
        give(reader, everything)
        assert folds_of(reader.store) == folds_of(whole.store)
        holds_together(reader.store)


@given(st.data())
@settings(deadline=None, max_examples=60 if LONG else 6)
def test_a_store_on_disk_and_one_in_memory(data: Any) -> None:
    """The adapters agree: the same commits make the same notes in both."""
    pens, uids = begun(2, data)
    live(pens, uids, data)
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    try:
        disk = replica(store=open_store(folder / "home", store=STORE))
        memory = replica()
        everything = [commit for pen in pens for commit in commits_of(pen.store)]
        Random(data.draw(SEEDS)).shuffle(everything)
        give(disk, everything)
        give(memory, everything[::-1])
        assert folds_of(disk.store) == folds_of(memory.store)
        holds_together(disk.store)
        disk.store.close()
    finally:
        shutil.rmtree(folder)


def test_a_clock_set_back_changes_no_order() -> None:
    """What was written after something is folded after it, whatever the writer's clock says."""
    pen = replica()
    uid = pen.record()
    pen.revoke(uid, "wrong")
    pen.at -= 365 * DAY_MS
    pen.act(uid, "reinstated", ev.Reasoned())
    pen.at -= 365 * DAY_MS
    pen.revoke(uid, "wrong after all")
    other = replica(NOON - 10 * DAY_MS)
    give(other, commits_of(pen.store)[::-1])
    other.act(uid, "reinstated", ev.Reasoned())
    give(pen, commits_of(other.store))
    assert (pen.note(uid).belief, len(pen.note(uid).past_revocations)) == ("held", 2)
    assert folds_of(pen.store) == folds_of(other.store)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.lists(st.integers(0, 11), max_size=3)), max_size=12),
    SEEDS,
)
@settings(deadline=None, max_examples=ROUNDS * 4)
def test_parents_come_first_and_then_the_place(given_events: list[tuple[int, int, list[int]]], seed: int) -> None:
    """Whatever times stand on them, in whatever order they come: the order is the page's, and who misses a parent waits.

    Some name parents that are not here, some each other; some come twice.
    """
    uids = [bytes([n]) * 16 for n in range(12)]
    events = [
        stored(event("confirmed", b"n" * 16, uid=uids[n], parents=tuple(uids[p] for p in parents)), hlc=hlc, seq=seq)
        for n, (hlc, seq, parents) in enumerate(given_events)
    ]
    mixed = events + events[::2]
    Random(seed).shuffle(mixed)
    done, waiting = fold.order(mixed)
    assert done == replay.in_order(events)
    assert sorted(s.event.uid for s in (*done, *waiting)) == sorted(s.event.uid for s in events)


# --- two sides that did not see each other

REVOKED = ("revoked", ev.Reasoned(reason=digest_of("wrong")))
PAIRS: dict[str, tuple[tuple[str, msgspec.Struct], tuple[str, msgspec.Struct], Callable[[Note], bool]]] = {
    "two revocations": (REVOKED, REVOKED, lambda n: n.revoked and len(n.revocations) == 2),
    "revoked and confirmed": (REVOKED, ("confirmed", ev.Confirmed()), lambda n: n.revoked),
    "revoked and archived": (REVOKED, ("archived", ev.Reasoned()), lambda n: n.revoked and n.shelf == "active"),
    "revoked and superseded": (
        REVOKED,
        ("superseded", ev.ByNote(by=STRANGERS[0])),
        lambda n: n.revoked and n.currency == "superseded",
    ),
    "revoked and in conflict": (
        REVOKED,
        ("conflict_opened", ev.ConflictOpened(other=STRANGERS[0])),
        lambda n: n.revoked and n.conflicts == (),
    ),
    "revised and revised": (
        ("revised", ev.Revised(content=digest_of("a"), summary=digest_of("a"), expected_revision=1)),
        ("revised", ev.Revised(content=digest_of("b"), summary=digest_of("b"), expected_revision=1)),
        lambda n: n.revision == 2,
    ),
}


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("pair", sorted(PAIRS))
def test_concurrent_acts_come_to_one_note(pair: str, first: int) -> None:
    """Whoever was earlier by the clock: both stores end the same, and a revocation stands."""
    one, two, holds = PAIRS[pair]
    pens = [replica(NOON), replica(NOON + HOUR_MS)]
    uid = pens[0].record(level="principle")
    give(pens[1], commits_of(pens[0].store))
    pens[first].act(uid, *one)
    pens[1 - first].act(uid, *two)
    for pen in pens:
        give(pen, [commit for other in pens for commit in commits_of(other.store)])
    assert folds_of(pens[0].store) == folds_of(pens[1].store)
    assert holds(pens[0].note(uid))


def test_words_that_were_written_meanwhile_take_nothing_from_an_endorsement() -> None:
    """A person signs revision 1 while elsewhere, earlier by the clock, revision 2 was written, unseen: it is proposed."""
    here, there = replica(NOON + HOUR_MS), replica(NOON)
    here.enrol(ANNA)
    uid = here.record(level="principle")
    there.at = here.at + 1
    give(there, commits_of(here.store))
    here.at += HOUR_MS
    revised = ev.Revised(content=digest_of("b"), summary=digest_of("b"), expected_revision=1)
    there.act(uid, "revised", revised)
    here.endorse(uid, ANNA)
    assert here.note(uid).provenance == "human"
    give(here, commits_of(there.store))
    give(there, commits_of(here.store))
    assert folds_of(here.store) == folds_of(there.store)
    note = here.note(uid)
    assert [r.provenance for r in note.revisions] == ["human", "agent"]
    assert (note.shown.content, [p.act for p in note.proposals]) == (note.revisions[0].content, ["revise"])


def test_an_unsigned_act_that_was_written_before_the_endorsement_was_seen_waits_for_the_person() -> None:
    """A person endorses; elsewhere, later by the clock and in ignorance of it, a session supersedes: a proposal everywhere."""
    here, there = replica(NOON), replica(NOON + HOUR_MS)
    here.enrol(ANNA)
    uid = here.record()
    give(there, commits_of(here.store))
    there.act(uid, "superseded", ev.ByNote(by=STRANGERS[0]))
    assert there.note(uid).currency == "superseded"
    here.endorse(uid, ANNA)
    give(there, commits_of(here.store))
    give(here, commits_of(there.store))
    for pen in (here, there):
        note = pen.note(uid)
        assert (note.currency, [p.act for p in note.proposals]) == ("current", ["supersede"])


def test_what_comes_from_elsewhere_after_a_forgetting_has_no_effect() -> None:
    """A store that did not know it goes on writing; both agree that nothing of it counts, and the log says so."""
    here, there = replica(NOON), replica(NOON + HOUR_MS)
    here.enrol(ANNA)
    uid = here.record()
    give(there, commits_of(here.store))
    here.act(uid, "forgotten", ev.Nothing(), by=ANNA)
    there.revoke(uid, "wrong")
    there.act(uid, "reinstated", ev.Reasoned())
    give(there, commits_of(here.store))
    give(here, commits_of(there.store))
    assert folds_of(here.store) == folds_of(there.store)
    note = here.note(uid)
    assert (note.forgotten, note.belief, note.past_revocations) == (True, "held", ())
    with here.store.read() as snapshot:
        told = [str(effect) for _, effect in fold.trace(snapshot.events_of(uid))]
    assert told == ["applied", "applied", "without effect", "without effect"]


# --- what is rendered: forgotten > revoked > absorbed > superseded > archived > stale


def shown(pen: Pen, uid: bytes) -> str:
    with pen.store.read() as snapshot:
        note = snapshot.note(uid)
        assert note is not None
        return recall.recalled(view_from_log(snapshot, note, None), pen.at, ("system-reminder",))


SIGNS = {
    "forgotten": "Forgotten:",
    "revoked": "Previously believed",
    "absorbed": "absorbed into",
    "superseded": "Superseded by",
    "archived": "archived:",
}
"""What each state puts into a recall."""

STATES = tuple(SIGNS)


def acts_to(state: str, by: bytes) -> tuple[str, msgspec.Struct]:
    return {
        "forgotten": ("forgotten", ev.Nothing()),
        "revoked": ("revoked", ev.Reasoned(reason=digest_of("wrong"))),
        "absorbed": ("absorbed", ev.ByNote(by=by)),
        "superseded": ("superseded", ev.ByNote(by=by)),
        "archived": ("archived", ev.Reasoned()),
    }[state]


def subsets() -> Iterator[tuple[str, ...]]:
    for mask in range(1, 1 << len(STATES)):
        yield tuple(state for n, state in enumerate(STATES) if mask >> n & 1)


@pytest.mark.parametrize("together", list(subsets()), ids="+".join)
def test_the_strongest_state_is_what_is_rendered(together: tuple[str, ...]) -> None:
    """Stores that each did one of the acts, unknown to the others, show the same note, and it says the strongest thing.

    Absorbed and superseded are one axis, on which the latest wins, so the strongest of the states that stand counts.
    """
    pens = [replica(NOON + n * HOUR_MS) for n in range(len(together))]
    pens[0].enrol(ANNA)
    uid, other = pens[0].record("the old claim"), pens[0].record("the other one")
    for pen in pens[1:]:
        give(pen, commits_of(pens[0].store))
    # the weakest first by the clock: an archive after a revocation has no effect, and nothing has one after a forgetting
    for pen, state in zip(pens, reversed(together), strict=True):
        type_, payload = acts_to(state, other)
        pen.act(uid, type_, payload, by=ANNA if state == "forgotten" else None)
    everything = [commit for pen in pens for commit in commits_of(pen.store)]
    Random(7).shuffle(everything)
    for pen in pens:
        give(pen, everything)
    texts = {shown(pen, uid) for pen in pens[:1]}  # only the first has the texts; the folds are the same
    assert len({folds_of(pen.store)[uid] for pen in pens}) == 1
    text = texts.pop()
    assert SIGNS[together[0]] in text
    if together[0] in ("forgotten", "revoked"):
        assert "the old claim" not in text or together[0] == "revoked"
        assert not any(SIGNS[state] in text for state in together[1:])
    elif together[0] == "absorbed":
        assert SIGNS["superseded"] not in text
