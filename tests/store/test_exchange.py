"""Stores that exchange their commits in any order, with duplicates, come to the same notes, byte for byte."""

import contextlib
import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.daemon.lives import payload_for
from tests.store.making import (
    ANNA,
    BERT,
    MALLORY,
    NOON,
    RECOVERY,
    STORE,
    Commit,
    Pen,
    Person,
    commits_of,
    digest_of,
    event,
    foreign_commit,
    fresh_uid,
    recorded,
)

from memd_daemon import errors
from memd_daemon.model import event as ev
from memd_daemon.model import fold
from memd_daemon.model.note import encode_note
from memd_daemon.store import keys
from memd_daemon.store.check import RESTORE, verify
from memd_daemon.store.memory_log import MemoryStore
from memd_daemon.store.port import Store

TYPES = sorted(set(fold.TRANSITIONS) - {"recorded"})
PEOPLE: dict[str, Person | None] = {"nobody": None, "anna": ANNA, "bert": BERT}


def replica(ticks: int = 0) -> Pen:
    """An empty store of the one that all replicas are of, with a clock of its own."""
    return Pen(MemoryStore(store=STORE), NOON + ticks)


def give(source: Store, target: Store, commits: list[Commit] | None = None) -> None:
    """Sends commits, and the texts that they name."""
    with source.read() as snapshot:
        texts = [raw for _, raw in snapshot.kv.scan(keys.BLOBS)]  # type: ignore[attr-defined]  # stands on tables
    for commit in commits_of(source) if commits is None else commits:
        target.write(lambda txn, commit=commit: txn.receive(*commit))
    for raw in texts:
        target.write(lambda txn, raw=raw: txn.put_text(raw[16:].decode(), raw[:16]))


def folds_of(store: Store) -> dict[bytes, bytes]:
    with store.read() as snapshot:
        return {note.uid: encode_note(note) for _, note in snapshot.notes()}


def faults_of(store: Store) -> list[str]:
    return [f"{fault.where}: {fault.what}" for fault in verify(store)]


step = st.tuples(st.integers(0, 2), st.sampled_from(TYPES), st.sampled_from(sorted(PEOPLE)), st.booleans())


def act(pen: Pen, uid: bytes, type_: str, by: Person | None, blind: bool) -> None:
    """One event on a note, if this pen's store has it and takes it; ``blind``: as somebody who saw only its beginning."""
    with pen.store.read() as snapshot:
        note = snapshot.note(uid)
        signer = by if by is not None and snapshot.enrolled(by.key_id) else None
        begun = next((s.event.uid for s in snapshot.events_of(uid) if s.event.type == "recorded"), None)
    if note is None or begun is None or (type_ == "forgotten" and signer is None):
        return
    first = msgspec.structs.replace(note, heads=(begun,), revisions=note.revisions[:1])
    payload = payload_for(type_, first if blind else note)
    payload = _without_texts(payload) if type_ != "promoted" else payload
    with contextlib.suppress(errors.NotSigned):  # a store writes no unsigned act that only a person can take
        if blind and signer is None:
            pen.act(uid, type_, payload, parents=(begun,))
        else:
            pen.act(uid, type_, payload, by=signer)


def _without_texts(payload: msgspec.Struct) -> msgspec.Struct:
    """The payload with no reason, so that no text is missing; revocations name a note instead."""
    if isinstance(payload, ev.Reasoned):
        return ev.Reasoned(by=b"B" * 16)
    return payload


def texts_left(store: Store) -> set[str]:
    """What verify may say of these lives: they bind evidence and revise without storing the texts."""
    return {line for line in faults_of(store) if "names a text that is not here" not in line}


@given(st.lists(step, max_size=12), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=40)
def test_three_stores_come_to_the_same_bytes(steps: list[tuple[int, str, str, bool]], chance: random.Random) -> None:
    """Concurrent acts on one note by three origins, signed and not; exchanged shuffled and doubled."""
    pens = [replica(n) for n in (0, 500, 900)]
    pens[0].enrol(ANNA, recovery=RECOVERY)
    pens[0].enrol(BERT, by=ANNA)
    uid = pens[0].record(kind="task", level="principle")
    for pen in pens[1:]:
        give(pens[0].store, pen.store)
    for at, type_, who, blind in steps:
        act(pens[at], uid, type_, PEOPLE[who], blind)
    everything = [commit for pen in pens for commit in commits_of(pen.store)]
    for pen in (*pens, fourth := replica()):
        mixed = everything + chance.sample(everything, len(everything) // 2)
        chance.shuffle(mixed)
        give(pens[0].store, pen.store, mixed)
    expected = folds_of(fourth.store)
    for pen in (*pens, fourth):
        assert folds_of(pen.store) == expected
        assert texts_left(pen.store) == set()


@given(st.lists(step, max_size=14))
@settings(deadline=None, max_examples=40)
def test_the_cached_fold_is_the_fold_of_the_log_after_anything(steps: list[tuple[int, str, str, bool]]) -> None:
    """Any sequence of events on two notes, concurrent and signed ones among them, leaves the cache right."""
    pen = replica()
    pen.enrol(ANNA)
    uids = [pen.record(kind="gotcha", anchors=(ev.Anchor(path="x"),)), pen.record(kind="task")]
    for at, type_, who, blind in steps:
        act(pen, uids[at % 2], type_, PEOPLE[who], blind)
    with pen.store.read() as snapshot:
        for uid in uids:
            folded = fold.fold(snapshot.events_of(uid))
            assert folded is not None
            assert encode_note(folded) == snapshot.kv.get(keys.FOLDS, uid)  # type: ignore[attr-defined]
    assert texts_left(pen.store) == set()


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_a_key_that_arrives_late_counts_from_its_place(order: tuple[int, int, int]) -> None:
    """Endorsement, enrolment and note in any order of arrival: the note is human at the end, everywhere."""
    pen = replica()
    pen.enrol(ANNA)
    uid = pen.record()
    pen.endorse(uid, ANNA)
    commits = commits_of(pen.store)
    other = replica()
    give(pen.store, other.store, [commits[at] for at in order])
    assert other.note(uid).provenance == "human"
    assert folds_of(other.store) == folds_of(pen.store)
    assert faults_of(other.store) == []


def test_a_rejection_that_arrives_late_takes_back_what_was_signed_after_it() -> None:
    """The key was rejected on one machine before it was used on another: once both know, the endorsement is none."""
    here, there = replica(), replica(5)
    here.enrol(ANNA, recovery=RECOVERY)
    uid = here.record()
    give(here.store, there.store)
    here.act(STORE, "key_rejected", ev.KeyRejected(key_id=ANNA.key_id), by=RECOVERY)
    there.at += 60_000
    there.endorse(uid, ANNA)
    assert there.note(uid).provenance == "human"
    give(here.store, there.store)
    give(there.store, here.store)
    assert there.note(uid).provenance == here.note(uid).provenance == "agent"
    assert folds_of(here.store) == folds_of(there.store)
    assert {fault.what for fault in verify(there.store)} == {"has a signature that no key enrolled here made"}


def test_a_store_that_somebody_founded_endorses_nothing() -> None:
    """A whole foreign store, its key and its signature, put into the file: the note stays what it was."""
    pen = replica()
    uid = pen.record()
    note = pen.note(uid)
    other, origin = b"X" * 16, b"F" * 16
    promoted = ev.Promoted(to="human", revision=1, content=note.shown.content)
    enrolment = event("key_enrolled", other, MALLORY.enrolment())
    draft = MALLORY.draft(other, event("promoted", uid, promoted, parents=note.heads), note)
    pairs = [(enrolment, b""), (ev.decode_event(draft.body), draft.sig)]
    commit = foreign_commit(pairs, origin=origin, seq=1, hlc=1, store=other)
    pen.store.write(lambda txn: txn.receive(*commit))
    assert pen.note(uid).provenance == "agent"
    with pen.store.read() as snapshot:
        assert snapshot.enrolled(MALLORY.key_id) is None


def test_a_gap_in_a_foreign_chain_is_kept_and_named() -> None:
    """Commit 2 of 3 has not come yet: the others stand, and verify says what is missing."""
    pen, other = replica(), replica()
    uids = [pen.record(f"claim {n}") for n in range(3)]
    commits = commits_of(pen.store)
    give(pen.store, other.store, [commits[2], commits[0]])
    assert set(folds_of(other.store)) == {uids[0], uids[2]}
    (fault,) = verify(other.store)
    assert (fault.origin, fault.seq, fault.remedy) == (pen.store.info.origin, 2, RESTORE)
    give(pen.store, other.store, [commits[1]])
    assert faults_of(other.store) == []


def test_two_copies_of_one_event_count_once() -> None:
    """The same event in two commits of two origins: one event, at its first place, in whatever order they come."""
    begun = event("recorded", fresh_uid(), recorded(content=digest_of("c"), summary=digest_of("c")))
    fallen = event("revoked", begun.note, ev.Reasoned(by=b"B" * 16), parents=(begun.uid,))
    first = foreign_commit([(begun, b""), (fallen, b"")], origin=b"1" * 16, seq=1, hlc=10)
    second = foreign_commit([(begun, b""), (fallen, b"")], origin=b"2" * 16, seq=1, hlc=5)
    made = []
    for commits in ((first, second), (second, first)):
        pen = replica()
        for commit in commits:
            pen.store.write(lambda txn, commit=commit: txn.receive(*commit))
        made.append(folds_of(pen.store))
        assert pen.note(begun.note).events == 2
        assert texts_left(pen.store) == set()
        before = made[-1]
        pen.store.rebuild()
        assert folds_of(pen.store) == before
    assert made[0] == made[1]
