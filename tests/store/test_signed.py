"""Every act that a person signs, at its writing: a signature that was made for anything else is refused, and nothing is recorded.

What comes in past the writing (another store's commit, an edit of the file) is the fold's to ignore and verify's to name.
"""

import msgspec
import pytest
from tests.store.making import (
    ANNA,
    BERT,
    MALLORY,
    NOON,
    RECOVERY,
    Pen,
    Person,
    digest_of,
    event,
    foreign_commit,
    fresh_uid,
)

from memd_daemon.errors import BadRequest, BadSignature, NotSigned
from memd_daemon.model import event as ev
from memd_daemon.model import proof, trust
from memd_daemon.model.event import Event, Stored
from memd_daemon.model.note import Note
from memd_daemon.store import keys
from memd_daemon.store.check import verify
from memd_daemon.store.log_write import encode_row
from memd_daemon.store.memory_log import MemoryStore
from memd_daemon.store.port import Draft

OTHER = b"o" * 16
REASON = digest_of("why")


@pytest.fixture
def pen() -> Pen:
    """A store in which Anna's key is enrolled, with a recovery code."""
    one = Pen(MemoryStore())
    one.enrol(ANNA, recovery=RECOVERY)
    return one


def payloads(note: Note) -> dict[str, msgspec.Struct]:
    """What a person signs on a note: everything of `proof.PERSON_ONLY`, and what needs a person whatever the note is."""
    return {
        "promoted": ev.Promoted(to="human", revision=note.revision, content=note.revisions[-1].content),
        "forgotten": ev.Nothing(),
        "amended": ev.Amended(scope="global"),
        "revoked": ev.Reasoned(reason=REASON),
        "superseded": ev.ByNote(by=OTHER),
        "absorbed": ev.ByNote(by=OTHER),
        "revised": ev.Revised(content=digest_of("y"), summary=digest_of("y"), expected_revision=note.revision),
        "archived": ev.Reasoned(),
        "closed": ev.Reasoned(),
        "conflict_resolved": ev.ConflictResolved(other=OTHER, resolution="a_wins"),
        "reinstated": ev.Reasoned(),
        "confirmed": ev.Confirmed(),
    }


TYPES = (*proof.PERSON_ONLY, "promoted", "forgotten", "reinstated", "confirmed")


def note_for(pen: Pen, type_: str) -> bytes:
    """A note on which the act is legal, endorsed unless that is the act."""
    kind = {"closed": "task", "amended": "directive"}.get(type_, "finding")
    uid = pen.record(kind=kind, level="principle" if type_ == "revised" else "")
    if type_ == "conflict_resolved":
        pen.act(uid, "conflict_opened", ev.ConflictOpened(other=OTHER))
    if type_ != "promoted":
        pen.endorse(uid, ANNA)
    return uid


def made_for(pen: Pen, uid: bytes, type_: str, **fields: object) -> Event:
    note = pen.note(uid)
    given: dict[str, object] = {"parents": note.heads, "at": NOON, "actor": "human", "key_id": ANNA.key_id}
    return event(type_, uid, payloads(note)[type_], **(given | fields))


def forged(pen: Pen, type_: str, how: str) -> tuple[bytes, Draft]:
    """(note, an act on it) whose signature was made for something else."""
    uid, store = note_for(pen, type_), pen.store.info.store
    note, made = pen.note(uid), made_for(pen, uid, type_)
    content, revision = trust.what_is_signed(made, note)
    body = ev.encode_event(made)
    match how:
        case "nobody":
            return uid, Draft(body=body)
        case "another event":
            sig = ANNA.sign(store, ev.encode_event(msgspec.structs.replace(made, uid=fresh_uid())), content, revision)
        case "another note":
            sig = ANNA.sign(store, ev.encode_event(msgspec.structs.replace(made, note=OTHER)), content, revision)
        case "another store":
            sig = ANNA.sign(fresh_uid(), body, content, revision)
        case "another content":
            sig = ANNA.sign(store, body, digest_of("other words"), revision)
        case "another revision":
            sig = ANNA.sign(store, body, content, revision + 1)
        case "a stranger":
            sig = MALLORY.sign(store, body, content, revision)
        case "a stranger under his own name":
            body = ev.encode_event(msgspec.structs.replace(made, key_id=MALLORY.key_id))
            sig = MALLORY.sign(store, body, content, revision)
        case "an agent under a person's":
            body = ev.encode_event(msgspec.structs.replace(made, actor="agent"))
            sig = ANNA.sign(store, body, content, revision)
        case "the recovery code":
            body = ev.encode_event(msgspec.structs.replace(made, key_id=RECOVERY.key_id))
            sig = RECOVERY.sign(store, body, content, revision)
        case "a key that is enrolled later":
            body = ev.encode_event(msgspec.structs.replace(made, key_id=BERT.key_id))
            sig = BERT.sign(store, body, content, revision)
        case "a rejected key":
            pen.enrol(BERT, by=ANNA)
            pen.act(store, "key_rejected", ev.KeyRejected(key_id=BERT.key_id), by=ANNA)
            body = ev.encode_event(msgspec.structs.replace(made, key_id=BERT.key_id))
            sig = BERT.sign(store, body, content, revision)
        case _:
            raise AssertionError(how)
    return uid, Draft(body=body, sig=sig)


FORGERIES = (
    "nobody",
    "another event",
    "another note",
    "another store",
    "another content",
    "another revision",
    "a stranger",
    "a stranger under his own name",
    "an agent under a person's",
    "the recovery code",
    "a key that is enrolled later",
    "a rejected key",
)


@pytest.mark.parametrize("how", FORGERIES)
@pytest.mark.parametrize("type_", TYPES)
def test_a_signature_for_something_else_is_refused_at_the_writing(pen: Pen, type_: str, how: str) -> None:
    """Nothing is recorded, not even as a proposal."""
    uid, draft = forged(pen, type_, how)
    before = pen.note(uid)
    with pytest.raises(NotSigned if how == "nobody" else BadSignature):
        pen.store.write(lambda txn: txn.append([draft], at=pen.tick()))
    assert pen.note(uid) == before
    if how == "a key that is enrolled later":  # and is no better once it is
        pen.enrol(BERT, by=ANNA)
        assert pen.note(uid) == before


@pytest.mark.parametrize("type_", TYPES)
def test_the_same_act_signed_by_the_person_is_written(pen: Pen, type_: str) -> None:
    """So the refusals above are for their signatures; and it is written once: the same bytes again are refused."""
    uid = note_for(pen, type_)
    note = pen.note(uid)
    draft = ANNA.draft(pen.store.info.store, made_for(pen, uid, type_), note)
    pen.store.write(lambda txn: txn.append([draft], at=pen.tick()))
    after = pen.note(uid)
    assert (after.events, after.proposals) == (note.events + 1, ())
    with pytest.raises(BadRequest):
        pen.store.write(lambda txn: txn.append([draft], at=pen.tick()))
    assert [f for f in verify(pen.store) if "names a text that is not here" not in f.what] == []


@pytest.mark.parametrize("how", FORGERIES)
@pytest.mark.parametrize("type_", TYPES)
def test_the_same_forgery_in_the_file_is_ignored_and_named(pen: Pen, type_: str, how: str) -> None:
    """As the commit of an origin that somebody made up: what renders stays as it was, and verify says where it lies."""
    uid, draft = forged(pen, type_, how)
    before = pen.note(uid)
    commit = foreign_commit(
        [(ev.decode_event(draft.body), draft.sig)],
        origin=b"F" * 16,
        seq=1,
        hlc=pen.tick() << 16,
        store=pen.store.info.store,
    )
    pen.store.write(lambda txn: txn.receive(*commit))
    after = pen.note(uid)
    assert (after.shown, after.belief, after.currency, after.shelf, after.task, after.forgotten, after.scope) == (
        before.shown,
        before.belief,
        before.currency,
        before.shelf,
        before.task,
        before.forgotten,
        before.scope,
    )
    named = {fault.uid for fault in verify(pen.store) if "sign" in fault.what}
    assert named == {ev.decode_event(draft.body).uid}
    if how == "a key that is enrolled later":
        pen.enrol(BERT, by=ANNA)
        assert pen.note(uid).shown == before.shown


@pytest.mark.parametrize("known", [True, False])
def test_a_rejected_key_dates_nothing_back_in_the_file(pen: Pen, known: bool) -> None:
    """An endorsement and an enrolment slipped in with a date before the rejection, which says what was seen."""
    store, uid = pen.store.info.store, pen.record()
    pen.enrol(BERT, by=ANNA)
    before, at = pen.note(uid), pen.tick()
    with pen.store.read() as snapshot:
        seen = tuple(snapshot.chains()) if known else ()
    pen.tick()
    pen.act(store, "key_rejected", ev.KeyRejected(key_id=BERT.key_id, seen=seen), by=ANNA)
    promoted = made_for(pen, uid, "promoted", key_id=BERT.key_id)
    enrolment = event("key_enrolled", store, MALLORY.enrolment(), actor="human", key_id=BERT.key_id)
    drafts = [BERT.draft(store, promoted, before), BERT.draft(store, enrolment, None)]
    pairs = [(ev.decode_event(draft.body), draft.sig) for draft in drafts]
    commit = foreign_commit(pairs, origin=b"F" * 16, seq=1, hlc=at << 16, store=store)
    pen.store.write(lambda txn: txn.receive(*commit))
    with pen.store.read() as snapshot:
        strange = snapshot.enrolled(MALLORY.key_id)
    assert (pen.note(uid).provenance, strange) == (("agent", None) if known else ("human", MALLORY.public))
    assert len(verify(pen.store)) == (2 if known else 0)


def slip_in(pen: Pen, draft: Draft) -> None:
    """A row that no commit names, under the first commit of the store's own chain, entered like the others."""

    def work(txn) -> None:  # type: ignore[no-untyped-def]  # whoever edits the file has the tables
        row = encode_row(draft.body, draft.sig)
        header = txn.header_of(pen.store.info.origin, 1)
        stored = Stored(
            event=ev.decode_event(draft.body),
            body=draft.body,
            sig=draft.sig,
            hlc=header.hlc,
            origin=header.origin,
            seq=1,
            index=1,
            store=header.store,
        )
        txn.kv.put(keys.EVENTS, keys.event_key(header.origin, 1, 1), row)
        txn.kv.put(keys.SUBJECTS, stored.event.note + keys.place_bytes(stored.place), b"")
        txn.kv.put(keys.EVENT_UIDS, stored.event.uid, keys.place_bytes(stored.place))

    pen.store.write(work)
    pen.store.rebuild()


def enrolling(person: Person, store: bytes) -> Draft:
    return person.draft(store, event("key_enrolled", store, person.enrolment()), None)


def test_a_row_that_no_commit_names_is_nobodys_act() -> None:
    """An enrolment before the first one, and an endorsement by it: neither counts, though every index holds them."""
    pen = Pen(MemoryStore())
    uid, store = pen.record(), pen.store.info.store
    pen.enrol(ANNA)
    slip_in(pen, enrolling(MALLORY, store))
    with pen.store.read() as snapshot:
        assert [e.public for e in snapshot.identity().enrolments] == [ANNA.public]
    assert any("was added to a commit that does not name it" in fault.what for fault in verify(pen.store))
    signed = ANNA.draft(store, made_for(pen, uid, "promoted"), pen.note(uid))
    slip_in(pen, signed)
    assert pen.note(uid).provenance == "agent"
