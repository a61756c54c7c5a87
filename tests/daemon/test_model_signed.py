"""Signed events (trust-boundary.md): an act of a person is an event signed, over what the person saw; the fold believes no other.

Everything comes in as another store's commit, past whatever refuses to write it: the fold alone must hold.
"""

import itertools
from typing import Any

import msgspec
import pytest

from memd_daemon.model import event as ev
from memd_daemon.model import trust
from memd_daemon.model.event import Event
from memd_daemon.model.note import Note
from memd_daemon.store.memory_log import MemoryStore
from tests.daemon.test_model_table import moved
from tests.store.making import (
    ANNA,
    BERT,
    MALLORY,
    RECOVERY,
    Pen,
    Person,
    digest_of,
    event,
    foreign_commit,
    fresh_uid,
    stored,
)

OTHER = b"o" * 16


@pytest.fixture
def pen() -> Pen:
    """A store in which Anna's key is enrolled."""
    one = Pen(MemoryStore())
    one.enrol(ANNA, recovery=RECOVERY)
    return one


def acts_on(note: Note) -> dict[str, tuple[str, msgspec.Struct]]:
    """What only a person does: endorse and forget any note, and everything else on one that is endorsed."""
    newest = note.revisions[-1]
    return {
        "endorse": ("promoted", ev.Promoted(to="human", revision=note.revision, content=newest.content)),
        "forget": ("forgotten", ev.Nothing()),
        "revoke": ("revoked", ev.Reasoned(reason=digest_of("x"))),
        "supersede": ("superseded", ev.ByNote(by=OTHER)),
        "absorb": ("absorbed", ev.ByNote(by=OTHER)),
        "archive": ("archived", ev.Reasoned()),
        "change": ("amended", ev.Amended(priority="low", tags=("t",))),
        "revise": (
            "revised",
            ev.Revised(content=digest_of("y"), summary=digest_of("y"), expected_revision=note.revision),
        ),
    }


ACTS = ("endorse", "forget", "revoke", "supersede", "absorb", "archive", "change", "revise")


def arrive(pen: Pen, body: bytes, sig: bytes, *, store: bytes | None = None) -> None:
    """The event comes in as another origin's first commit."""
    commit = foreign_commit(
        [(ev.decode_event(body), sig)],
        origin=fresh_uid(),
        seq=1,
        hlc=pen.tick() << 16,
        store=store or pen.store.info.store,
    )
    pen.store.write(lambda txn: txn.receive(*commit))


def made_by(pen: Pen, uid: bytes, act: str, key: Person, **fields: Any) -> Event:
    type_, payload = acts_on(pen.note(uid))[act]
    given = {"parents": pen.note(uid).heads, "at": pen.tick(), "actor": "human", "key_id": key.key_id} | fields
    return event(type_, uid, payload, **given)


def note_for(pen: Pen, act: str) -> bytes:
    """A note on which the act needs a person: endorsed, unless it is to be endorsed."""
    uid = pen.record("a claim", level="principle")
    if act != "endorse":
        pen.endorse(uid, ANNA)
    return uid


@pytest.mark.parametrize("act", ACTS)
def test_a_good_signature_counts(pen: Pen, act: str) -> None:
    """The same act, signed by the person whose key is enrolled, does what it says."""
    uid = note_for(pen, act)
    before = pen.note(uid)
    draft = ANNA.draft(pen.store.info.store, made_by(pen, uid, act, ANNA), before)
    arrive(pen, draft.body, draft.sig)
    assert moved(before, pen.note(uid)) != {}
    assert pen.note(uid).proposals == ()


FORGERIES = (
    "no signature",
    "noise",
    "a key that nobody enrolled",
    "a stranger under Anna's name",
    "another store",
    "another note's words",
    "another revision",
    "another event",
    "one bit off",
    "agent",
    "a foreign commit",
)


def forged(pen: Pen, made: Event, before: Note, how: str) -> tuple[bytes, bytes, bytes]:
    """(body, signature, store of the commit) of an event that claims to be a person's and is not."""
    store = pen.store.info.store
    content, revision = trust.what_is_signed(made, before)
    body = ev.encode_event(made)
    good = ANNA.sign(store, body, content, revision)
    match how:
        case "no signature":
            return body, b"", store
        case "noise":
            return body, b"s" * 64, store
        case "a key that nobody enrolled":
            body = ev.encode_event(msgspec.structs.replace(made, key_id=MALLORY.key_id))
            return body, MALLORY.sign(store, body, content, revision), store
        case "a stranger under Anna's name":
            return body, MALLORY.sign(store, body, content, revision), store
        case "another store":
            return body, ANNA.sign(b"z" * 16, body, content, revision), store
        case "another note's words":
            return body, ANNA.sign(store, body, digest_of("other words"), revision), store
        case "another revision":
            return body, ANNA.sign(store, body, content, revision + 1), store
        case "another event":
            return ev.encode_event(msgspec.structs.replace(made, uid=fresh_uid())), good, store
        case "one bit off":
            return body, bytes([good[0] ^ 1]) + good[1:], store
        case "agent":
            body = ev.encode_event(msgspec.structs.replace(made, actor="agent"))
            return body, ANNA.sign(store, body, content, revision), store
        case _:
            return body, ANNA.sign(b"z" * 16, body, content, revision), b"z" * 16


@pytest.mark.parametrize("how", FORGERIES)
@pytest.mark.parametrize("act", ACTS)
def test_a_forged_one_does_nothing(pen: Pen, act: str, how: str) -> None:
    """Unsigned, noise, somebody else's key, a signature made for something else: nothing moves.

    An event of an agent that carries a signature is an agent's: at most a proposal on an endorsed note, and what renders stays.
    """
    uid = note_for(pen, act)
    before = pen.note(uid)
    arrive_store = forged(pen, made_by(pen, uid, act, ANNA), before, how)
    arrive(pen, *arrive_store[:2], store=arrive_store[2])
    after = pen.note(uid)
    proposing = {"proposals", "revisions"} if act == "revise" else {"proposals"}
    assert set(moved(before, after)) <= (proposing if how == "agent" else set())
    assert after.shown == before.shown
    assert after.events == before.events + 1


@pytest.mark.parametrize("act", ACTS)
def test_a_replay_on_another_note_does_nothing(pen: Pen, act: str) -> None:
    """The bytes that a person signed for one note, sent again, stay with that note; under another's name they verify no more."""
    uid, target = note_for(pen, act), note_for(pen, act)
    made = made_by(pen, uid, act, ANNA)
    draft = ANNA.draft(pen.store.info.store, made, pen.note(uid))
    before = pen.note(target)
    stolen = msgspec.structs.replace(ev.decode_event(draft.body), note=target, parents=before.heads)
    arrive(pen, ev.encode_event(stolen), draft.sig)
    assert moved(before, pen.note(target)) == {}
    arrive(pen, draft.body, draft.sig)
    assert moved(before, pen.note(target)) == {}


def test_the_same_signed_event_twice_counts_once(pen: Pen) -> None:
    """A replay of a reinstatement after a second revocation does not lift that one."""
    uid = note_for(pen, "revoke")
    pen.revoke(uid, by=ANNA)
    draft = ANNA.draft(
        pen.store.info.store,
        event("reinstated", uid, ev.Reasoned(), parents=pen.note(uid).heads, at=pen.tick()),
        pen.note(uid),
    )
    arrive(pen, draft.body, draft.sig)
    pen.revoke(uid, by=ANNA)
    assert pen.note(uid).revoked
    arrive(pen, draft.body, draft.sig)
    assert pen.note(uid).revoked


def test_a_rejected_key_signs_nothing_more_and_what_it_signed_stands(pen: Pen) -> None:
    """From the place of the rejection on."""
    pen.enrol(BERT, by=ANNA)
    signed, later = pen.record("one"), pen.record("two")
    pen.endorse(signed, BERT)
    pen.act(pen.store.info.store, "key_rejected", ev.KeyRejected(key_id=BERT.key_id), by=RECOVERY)
    before = pen.note(later)
    draft = BERT.draft(pen.store.info.store, made_by(pen, later, "endorse", BERT), before)
    arrive(pen, draft.body, draft.sig)
    assert moved(before, pen.note(later)) == {}
    assert pen.note(signed).provenance == "human"


def test_a_key_that_nobody_vouched_for_enrols_nobody(pen: Pen) -> None:
    """A later key is signed by an enrolled one or by the recovery key; the fold ignores others."""
    store = pen.store.info.store
    uid = pen.record()
    for key in (MALLORY, BERT):
        enrolment = event("key_enrolled", store, key.enrolment(), at=pen.tick(), actor="human", key_id=key.key_id)
        body = ev.encode_event(enrolment)
        arrive(pen, body, MALLORY.sign(store, body, *trust.NO_CONTENT))
        before = pen.note(uid)
        draft = key.draft(store, made_by(pen, uid, "endorse", key), before)
        arrive(pen, draft.body, draft.sig)
        assert moved(before, pen.note(uid)) == {}


@pytest.mark.parametrize(("actor", "act"), list(itertools.product(("system", "agent"), ACTS)))
def test_nobody_but_a_person_is_counted_as_signed(actor: str, act: str) -> None:
    """An act of `human` is an event signed; a signature under another actor makes no person of him."""
    pen = Pen(MemoryStore())
    pen.enrol(ANNA)
    uid = note_for(pen, act)
    note = pen.note(uid)
    made = msgspec.structs.replace(made_by(pen, uid, act, ANNA), actor=actor)
    body = ev.encode_event(made)
    sig = ANNA.sign(pen.store.info.store, body, *trust.what_is_signed(made, note))
    with pen.store.read() as snapshot:
        known = snapshot.events_of(uid)
        identity = trust.identity_of(pen.store.info.store, snapshot.events_of(pen.store.info.store), lambda *_: True)
    claimed = msgspec.structs.replace(
        stored(made, hlc=known[-1].hlc + 1), body=body, sig=sig, signed=True, store=pen.store.info.store
    )
    judged = trust.judged([*known, claimed], identity, lambda *_: True)
    assert [s.signed for s in judged if s.event.uid == made.uid] == [False]
