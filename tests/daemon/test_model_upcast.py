"""Events that this memd cannot read: of a later version, of a type that nobody knows, with a payload that does not fit.

They have no effect and raise nothing, they are not lost, and what comes after them goes on.
"""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memd_daemon.model import event as ev
from memd_daemon.model import fold
from memd_daemon.store.memory_log import MemoryStore
from tests.daemon import model_oracle as oracle
from tests.daemon import model_replay as replay
from tests.daemon.test_model_table import DEED, HEAD, LATER, NOTE, PAYLOADS, moved, states
from tests.store.making import ANNA, Pen, commits_of, digest_of, event, foreign_commit, fresh_uid, recorded, stored

EVERY = sorted(ev.PAYLOADS)
SOME_STATES = [pair for sort in ("directive", "finding", "task") for pair in list(states(sort))[::41]]

FIELDS = sorted({field for shape in ev.PAYLOADS.values() for field in shape.__struct_fields__})

MISFITS: dict[str, bytes] = {
    "empty": b"",
    "nil": b"\xc0",
    "cut short": b"\x81\xa2",
    "a number": b"\x07",
    "a list": b"\x93\x01\x02\x03",
    "every field a list": msgspec.msgpack.encode({field: [None] for field in FIELDS}),
    "not UTF-8": b"\xde"
    + len(FIELDS).to_bytes(2, "big")
    + b"".join(msgspec.msgpack.encode(field) + b"\xa2\xff\xfe" for field in FIELDS),
}


def raw_event(type_: str, raw: bytes, *, v: int = 1, **fields: Any) -> ev.Stored:
    made = event(type_, NOTE, uid=DEED, at=LATER, parents=(HEAD,), v=v, **fields)
    return stored(msgspec.structs.replace(made, payload=msgspec.Raw(raw)), hlc=9)


@pytest.mark.parametrize("misfit", sorted(MISFITS))
@pytest.mark.parametrize("type_", [t for t in EVERY if oracle.ROWS.get(t) and ev.PAYLOADS[t] is not ev.Nothing])
def test_a_payload_that_does_not_fit_has_no_effect(type_: str, misfit: str) -> None:
    """Whatever bytes stand where the payload should: nothing moves, nothing is raised, the event is counted."""
    made = raw_event(type_, MISFITS[misfit])
    for name, note in SOME_STATES:
        after, effect = fold.step(note, made)
        assert (effect, moved(note, after)) == ("without effect", {}), name
        assert after is not None
        assert (after.heads, after.events) == ((DEED,), note.events + 1)


@given(st.sampled_from(EVERY), st.binary(max_size=40), st.integers(-3, 4), st.sampled_from(SOME_STATES))
@settings(deadline=None, max_examples=300)
def test_no_bytes_raise(type_: str, raw: bytes, v: int, state: tuple[str, Any]) -> None:
    """Any type, any version, any bytes: the fold gives a note and a word, never an exception."""
    after, effect = fold.step(state[1], raw_event(type_, raw, v=v))
    assert after is not None
    assert effect in ("applied", "kept", "proposed", "without effect")


@pytest.mark.parametrize("v", [-1, 0, 2, 3, 1 << 40])
@pytest.mark.parametrize("type_", [t for t in EVERY if oracle.ROWS.get(t)])
def test_a_version_that_nobody_knows_has_no_effect(type_: str, v: int) -> None:
    """An event of a later memd, or of none, waits in the log for somebody who can read it."""
    for payload in PAYLOADS[type_]:
        made = raw_event(type_, bytes(ev.make_payload(payload)), v=v)
        for name, note in SOME_STATES[::5]:
            after, effect = fold.step(note, made)
            assert (effect, moved(note, after)) == ("without effect", {}), name


@pytest.mark.parametrize("type_", ["", "annotated", "Revoked", "revoked ", "turn_stored", "delivered", "stale_raised"])
def test_a_type_that_nobody_knows_has_no_effect(type_: str) -> None:
    """Nor has a local one, which never stands in a commit."""
    for name, note in SOME_STATES:
        after, effect = fold.step(note, raw_event(type_, b"\x80"))
        assert (effect, moved(note, after)) == ("without effect", {}), name


BAD_BEGINNINGS: dict[str, dict[str, Any]] = {
    "human": {"provenance": "human"},
    "no class": {"provenance": ""},
    "a class of no ladder": {"provenance": "system"},
    "no kind": {"kind": ""},
    "a kind that nobody knows": {"kind": "rule"},
    "no priority": {"priority": ""},
    "a priority that nobody knows": {"priority": "urgent"},
    "a level that nobody knows": {"level": "law"},
    "a source that nobody knows": {"source": ev.Source("rumour")},
}


@pytest.mark.parametrize("case", sorted(BAD_BEGINNINGS))
def test_a_note_does_not_begin_with_words_of_no_vocabulary(case: str) -> None:
    """Kinds, priorities, classes, levels and sources are closed; a note begins below `human`."""
    made = event("recorded", NOTE, recorded(**BAD_BEGINNINGS[case]))
    assert fold.step(None, stored(made)) == (None, "without effect")


@pytest.mark.parametrize("type_", sorted(set(oracle.ROWS) - {"recorded"}))
def test_nothing_but_a_recording_begins_a_note(type_: str) -> None:
    """Every other event on a uid that nobody recorded has no effect."""
    for payload in PAYLOADS[type_]:
        for signed in (False, True):
            made = event(type_, NOTE, payload, actor="human" if signed else "agent")
            assert fold.step(None, stored(made, signed=signed)) == (None, "without effect")


def test_all_that_a_recording_says_stands_in_the_note() -> None:
    """The initial axes, and every field as it was recorded."""
    bound = ev.Evidence(turn=4, turn_uid=b"u" * 16, excerpt=digest_of("x"), start=1, end=2, attestation="typed")
    fields: dict[str, Any] = {
        "kind": "task",
        "priority": "high",
        "provenance": "auto",
        "source": ev.Source("document", "https://example.invalid"),
        "scope": "global",
        "under": "pkg",
        "tags": ("b", "a"),
        "anchors": (ev.Anchor(path="x", digest=b"1" * 16),),
        "evidence": (bound,),
        "derived_from": (b"1" * 16,),
        "informed_by": (b"2" * 16,),
        "corrects": (b"3" * 16,),
        "process": True,
        "level": "atom",
        "slug": "s",
        "turn": 4,
        "harness": "claude",
    }
    made = event("recorded", NOTE, recorded(**fields), session="s", agent="a", surface="cli", actor="agent", at=77)
    note, effect = fold.step(None, stored(made))
    assert effect == "applied"
    assert note == oracle.expected(None, replay.deed_of(stored(made)))[0]
    assert note is not None
    assert {field: getattr(note, field) for field in fields} == fields
    assert (note.belief, note.currency, note.shelf, note.task, note.forgotten) == (
        "held",
        "current",
        "active",
        "open",
        False,
    )
    assert (note.created_at, note.valid_until, note.last_confirmed_at, note.revision) == (77, 0, 0, 1)


def test_an_event_of_a_later_memd_is_kept_and_given_on() -> None:
    """It comes in, changes nothing, stands in the log, goes out as it came, and what names it as a parent goes on."""
    pen = Pen(MemoryStore())
    uid = pen.record()
    before = pen.note(uid)
    later = event("revoked", uid, ev.Reasoned(reason=digest_of("x")), v=2, parents=before.heads)
    strange = event("annotated", uid, parents=(later.uid,))
    commit = foreign_commit(
        [(later, b""), (strange, b"")], origin=fresh_uid(), seq=1, hlc=pen.tick() << 16, store=pen.store.info.store
    )
    pen.store.write(lambda txn: txn.receive(*commit))
    note = pen.note(uid)
    assert moved(before, note) == {}
    assert (note.heads, note.events) == ((strange.uid,), 3)
    assert commit in commits_of(pen.store)
    pen.revoke(uid)
    assert pen.note(uid).revoked
    with pen.store.read() as snapshot:
        told = [(s.event.type, str(effect)) for s, effect in fold.trace(snapshot.events_of(uid))]
    assert told == [
        ("recorded", "applied"),
        ("revoked", "without effect"),
        ("annotated", "without effect"),
        ("revoked", "applied"),
    ]


def test_an_old_version_is_taken_up_one_version_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Version 1 of a type whose newest is 3 goes through both steps; one without a step has no effect."""
    monkeypatch.setitem(ev.VERSIONS, "revoked", 3)
    monkeypatch.setitem(ev.UPCASTERS, ("revoked", 1), lambda p: {"why": p["because"]})
    monkeypatch.setitem(ev.UPCASTERS, ("revoked", 2), lambda p: {"reason": p["why"]})
    note = next(note for name, note in states("finding") if "/agent/held/current" in name)
    old = raw_event("revoked", msgspec.msgpack.encode({"because": digest_of("x")}))
    after, effect = fold.step(note, old)
    assert effect == "applied"
    assert after is not None
    assert after.revocations[0].reason == digest_of("x")
    for raw in (msgspec.msgpack.encode({"since": 1}), msgspec.msgpack.encode({"because": 1})):
        assert fold.step(note, raw_event("revoked", raw))[1] == "without effect"
    monkeypatch.delitem(ev.UPCASTERS, ("revoked", 2))
    assert fold.step(note, old)[1] == "without effect"


def test_an_event_waits_for_its_parent_and_then_counts() -> None:
    """Out of order: the child first. It is not lost, has no effect alone, and has its effect once the parent is there."""
    pen = Pen(MemoryStore())
    pen.enrol(ANNA)
    uid = pen.record()
    pen.endorse(uid, ANNA)
    pen.revoke(uid, by=ANNA)
    reader = Pen(MemoryStore(store=pen.store.info.store))
    enrolled, first, endorsed, fell = commits_of(pen.store)
    for commit in (enrolled, first, fell):
        reader.store.write(lambda txn, commit=commit: txn.receive(*commit))
    assert not reader.note(uid).revoked
    with reader.store.read() as snapshot:
        assert [str(effect) for _, effect in fold.trace(snapshot.events_of(uid))] == ["applied", "waits"]
    reader.store.write(lambda txn: txn.receive(*endorsed))
    assert reader.note(uid) == pen.note(uid)
    assert reader.note(uid).revoked
