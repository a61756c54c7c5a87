"""What a signature covers, which keys count, and where (trust-boundary.md)."""

import msgspec
import pytest

from memd_client import signing
from memd_daemon.model import event as ev
from memd_daemon.model import fold, trust
from memd_daemon.model.event import GENESIS, Event, Stored
from memd_daemon.model.note import Note
from tests.daemon.lives import CONTENT, Life, payload_for, states
from tests.store.making import (
    ANNA,
    BERT,
    MALLORY,
    ORIGIN,
    RECOVERY,
    STORE,
    Person,
    digest_of,
    event,
    fresh_uid,
    recorded,
)


def proof(public: bytes, body: bytes, content: bytes, revision: int, sig: bytes) -> bool:
    return signing.verify(public, signing.signed_digest(STORE, body, content, revision), sig)


class Log:
    """Events at growing places, signed by whoever is named."""

    def __init__(self) -> None:
        self.events: list[Stored] = []

    def add(self, made: Event, by: Person | None = None, note: Note | None = None, store: bytes = STORE) -> Stored:
        at = len(self.events) + 1
        if by is None:
            body, sig = ev.encode_event(made), b""
        else:
            draft = by.draft(store, made, note)
            body, sig = draft.body, draft.sig
        placed = Stored(
            event=ev.decode_event(body), body=body, sig=sig, hlc=at, origin=ORIGIN, seq=at, index=0, store=store
        )
        self.events.append(placed)
        return placed

    def enrol(self, person: Person, by: Person | None = None, recovery: Person | None = None) -> Stored:
        return self.add(event("key_enrolled", STORE, person.enrolment(recovery)), by)

    def reject(self, person: Person, by: Person | None = None) -> Stored:
        return self.add(event("key_rejected", STORE, ev.KeyRejected(key_id=person.key_id)), by)

    def identity(self) -> trust.Identity:
        return trust.identity_of(STORE, self.events, proof)


def enrolled(log: Log) -> set[str]:
    people = {"anna": ANNA, "bert": BERT, "mallory": MALLORY}
    identity = log.identity()
    return {name for name, person in people.items() if identity.public_now(person.key_id) == person.public}


def test_the_first_key_stands_by_itself() -> None:
    """Unsigned or signed by itself; where it carries another signature it does not count, and the next may be the first."""
    plain, itself, forged = Log(), Log(), Log()
    plain.enrol(ANNA)
    itself.enrol(ANNA, by=ANNA)
    forged.enrol(ANNA, by=MALLORY)
    assert [enrolled(log) for log in (plain, itself, forged)] == [{"anna"}, {"anna"}, set()]
    forged.enrol(BERT)
    assert enrolled(forged) == {"bert"}


@pytest.mark.parametrize(
    ("by", "stands"),
    [(None, {"anna"}), (BERT, {"anna"}), (MALLORY, {"anna"}), (ANNA, {"anna", "bert"}), (RECOVERY, {"anna", "bert"})],
)
def test_a_later_key_needs_an_enrolled_or_a_recovery_key(by: Person | None, stands: set[str]) -> None:
    """Nobody enrols himself behind the first."""
    log = Log()
    log.enrol(ANNA, recovery=RECOVERY)
    log.enrol(BERT, by=by)
    assert enrolled(log) == stands


@pytest.mark.parametrize(("by", "stands"), [(None, {"anna"}), (MALLORY, {"anna"}), (ANNA, set()), (RECOVERY, set())])
def test_a_rejection_needs_the_same(by: Person | None, stands: set[str]) -> None:
    """It ends the key from its place on."""
    log = Log()
    log.enrol(ANNA, recovery=RECOVERY)
    log.reject(ANNA, by=by)
    assert enrolled(log) == stands


def test_the_founders_recovery_key_outlives_every_key() -> None:
    """Somebody who stole a key, enrolled his own and rejected the owner's is rejected with the code on paper."""
    log = Log()
    log.enrol(ANNA, recovery=RECOVERY)
    thief_code = Person("thief's code")
    log.enrol(MALLORY, by=ANNA, recovery=thief_code)
    log.reject(ANNA, by=MALLORY)
    log.reject(MALLORY, by=RECOVERY)
    log.enrol(MALLORY, by=thief_code)
    log.enrol(BERT, by=RECOVERY)
    assert enrolled(log) == {"bert"}


def test_a_key_can_be_enrolled_again() -> None:
    """After a rejection by mistake."""
    log = Log()
    log.enrol(ANNA, recovery=RECOVERY)
    log.reject(ANNA, by=RECOVERY)
    log.enrol(ANNA, by=RECOVERY)
    assert enrolled(log) == {"anna"}


def test_keys_count_from_their_place_to_their_end() -> None:
    """What lies before the enrolment or behind the rejection is not signed; what lies between is, and stays so."""
    log = Log()
    note = Life().now

    def promote() -> Stored:
        return log.add(event("promoted", note.uid, payload_for("promoted", note)), ANNA, note)

    early = promote()
    log.enrol(ANNA, recovery=RECOVERY)
    between = promote()
    log.reject(ANNA, by=RECOVERY)
    late = promote()
    signed = [trust.is_signed(stored, note, log.identity(), proof) for stored in (early, between, late)]
    assert signed == [False, True, False]


def test_keys_of_another_store_prove_nothing_here() -> None:
    """Who can write the file could found a store of his own and endorse with its key."""
    other = b"X" * 16
    log = Log()
    log.enrol(ANNA)
    foreign = event("key_enrolled", other, MALLORY.enrolment())
    log.add(foreign, MALLORY, store=other)
    note = Life().now
    made = event("promoted", note.uid, payload_for("promoted", note))
    assert not trust.is_signed(log.add(made, MALLORY, note, store=other), note, log.identity(), proof)
    assert not trust.is_signed(log.add(made, ANNA, note, store=other), note, log.identity(), proof)
    assert trust.is_signed(log.add(made, ANNA, note), note, log.identity(), proof)


@pytest.mark.parametrize(
    ("made", "note", "covered"),
    [
        (event("promoted", b"n" * 16, ev.Promoted(to="human", revision=7, content=digest_of("x"))), None, (digest_of("x"), 7)),
        (event("recorded", b"n" * 16, recorded()), None, (CONTENT, 1)),
        (event("recorded", b"n" * 16, recorded()), states()["revised"].now, (CONTENT, 1)),
        (event("revoked", b"n" * 16, ev.Reasoned()), states()["agent"].now, (CONTENT, 1)),
        (event("revised", b"n" * 16, ev.Nothing()), states()["human revised"].now, (digest_of("new"), 2)),
        (event("key_enrolled", STORE, ANNA.enrolment()), None, (GENESIS, 0)),
        (event("setting_changed", STORE, ev.SettingChanged(key="k", value="v")), None, (GENESIS, 0)),
    ],
)  # fmt: skip
def test_what_a_signature_covers(made: Event, note: Note | None, covered: tuple[bytes, int]) -> None:
    """Promotions and recordings name it themselves, other events cover the newest wording, and the store has none."""
    assert trust.what_is_signed(made, note) == covered


def test_a_signature_covers_what_its_writer_saw() -> None:
    """A revision that arrives later from elsewhere, earlier by the clock, spoils no signature."""
    log = Log()
    log.enrol(ANNA)
    uid = fresh_uid()
    begun = log.add(event("recorded", uid, recorded(level="principle")))
    note = fold.fold([begun])
    fallen = log.add(event("revoked", uid, ev.Reasoned(reason=digest_of("r")), parents=(begun.event.uid,)), ANNA, note)
    new = ev.Revised(content=digest_of("new"), summary=digest_of("new"), expected_revision=1)
    made = event("revised", uid, new, parents=(begun.event.uid,))
    meanwhile = Stored(
        event=made, body=ev.encode_event(made), sig=b"", hlc=begun.hlc, origin=b"Z" * 16, seq=1, index=0, store=STORE
    )
    known = trust.judged([fallen, meanwhile, begun], log.identity(), proof)
    assert [(s.event.type, s.signed) for s in known] == [("recorded", False), ("revised", False), ("revoked", True)]
    folded = fold.fold(known)
    assert folded is not None
    assert (folded.revision, folded.revoked) == (2, True)


@pytest.mark.parametrize(
    "change",
    [{"actor": "agent"}, {"key_id": BERT.key_id}, {"key_id": b""}, {"surface": "hook"}, {"note": b"m" * 16}, {"at": 5}],
)
def test_a_changed_body_is_not_signed(change: dict[str, object]) -> None:
    """The signature is over the bytes as stored."""
    log = Log()
    log.enrol(ANNA)
    note = Life().now
    good = log.add(event("promoted", note.uid, payload_for("promoted", note)), ANNA, note)
    made = msgspec.structs.replace(good.event, **change)
    bad = msgspec.structs.replace(good, event=made, body=ev.encode_event(made))
    assert trust.is_signed(good, note, log.identity(), proof)
    assert not trust.is_signed(bad, note, log.identity(), proof)


def test_a_signed_event_that_waits_is_not_signed_yet() -> None:
    """What it covers is not known before its parents are here."""
    log = Log()
    log.enrol(ANNA)
    uid = fresh_uid()
    begun = event("recorded", uid, recorded())
    promoted = event("promoted", uid, ev.Promoted(to="human", revision=1, content=CONTENT), parents=(begun.uid,))
    late = log.add(promoted, ANNA)
    assert [s.signed for s in trust.judged([late], log.identity(), proof)] == [False]
    early = log.add(begun)
    assert [s.signed for s in trust.judged([late, early], log.identity(), proof)] == [False, True]


@pytest.mark.parametrize("type_", ["promoted", "recorded"])
def test_a_signed_event_with_a_broken_payload_is_not_signed(type_: str) -> None:
    """What it covers cannot be read from it."""
    log = Log()
    log.enrol(ANNA)
    made = msgspec.structs.replace(event(type_, fresh_uid(), ev.Nothing()), actor="human", key_id=ANNA.key_id)
    stored = log.add(made)
    broken = msgspec.structs.replace(stored, sig=b"s" * 64)
    assert not trust.is_signed(broken, None, log.identity(), proof)


@pytest.mark.parametrize(("content", "revision"), [(CONTENT, -1), (CONTENT, 1 << 63), (b"", 1), (CONTENT + b"x", 1)])
def test_what_a_signature_has_no_room_for_is_not_signed(content: bytes, revision: int) -> None:
    """A forged number or digest of another size is answered, not raised at whoever folds."""
    log = Log()
    log.enrol(ANNA)
    promoted = ev.Promoted(to="human", revision=revision, content=content)
    made = event("promoted", fresh_uid(), promoted, actor="human", key_id=ANNA.key_id)
    stored = msgspec.structs.replace(log.add(made), sig=b"s" * 64)
    assert not trust.is_signed(stored, None, log.identity(), proof)


THIEF = b"T" * 16  # an origin that somebody makes up


def slipped(log: Log, made: Event, by: Person, *, hlc: int, seq: int = 1, note: Note | None = None) -> Stored:
    """An event that was put into the file afterwards, as the commit of another origin, at whatever time."""
    placed = log.add(made, by, note)
    log.events[-1] = msgspec.structs.replace(placed, hlc=hlc, origin=THIEF, seq=seq)
    return log.events[-1]


def rejection(person: Person, seen: tuple[tuple[bytes, int], ...]) -> Event:
    return event("key_rejected", STORE, ev.KeyRejected(key_id=person.key_id, seen=seen))


def test_the_log_begins_with_this_stores_own_chain() -> None:
    """A commit under another name, dated before the first key, founds nothing; where the own chain has no key, the first does."""
    log = Log()
    log.add(event("recorded", fresh_uid(), recorded()))
    log.enrol(ANNA, by=ANNA, recovery=RECOVERY)
    slipped(log, event("key_enrolled", STORE, MALLORY.enrolment()), MALLORY, hlc=0)
    found = trust.identity_of(STORE, log.events, proof, ORIGIN)
    assert [e.public for e in found.enrolments] == [ANNA.public]
    elsewhere = trust.identity_of(STORE, log.events, proof, b"another replica.")
    assert [e.public for e in elsewhere.enrolments] == [MALLORY.public]


@pytest.mark.parametrize(("seq", "stands"), [(1, True), (2, True), (3, False)])
def test_a_rejected_key_dates_nothing_back(seq: int, stands: bool) -> None:
    """Of what it signed before its rejection counts what whoever rejected it knew: other chains up to where they were seen."""
    log = Log()
    note = Life().now
    log.enrol(ANNA, recovery=RECOVERY)
    made = event("promoted", note.uid, payload_for("promoted", note))
    early = slipped(log, made, ANNA, hlc=2, seq=seq, note=note)
    log.add(rejection(ANNA, ((ORIGIN, 2), (THIEF, 2))), RECOVERY)
    assert trust.is_signed(early, note, log.identity(), proof) is stands


@pytest.mark.parametrize("seen", [((ORIGIN, 3),), ()])
def test_what_a_rejected_key_enrolled_behind_everybodys_back_is_taken_back(seen: tuple[tuple[bytes, int], ...]) -> None:
    """With all that rests on it: a strange key, its rejection of Bert, and so Carl stays whom Bert enrolled afterwards.

    A rejection that does not say what was seen ends the key and no more.
    """
    carl, log = Person("carl"), Log()
    log.enrol(ANNA, by=ANNA, recovery=RECOVERY)
    log.enrol(BERT, by=ANNA)
    log.enrol(carl, by=BERT)
    slipped(log, event("key_enrolled", STORE, MALLORY.enrolment()), ANNA, hlc=2, seq=1)
    slipped(log, rejection(BERT, ((ORIGIN, 1),)), MALLORY, hlc=2, seq=2)
    log.add(rejection(ANNA, seen), RECOVERY)
    standing = {e.public for e in log.identity().standing()}
    assert standing == ({BERT.public, carl.public} if seen else {MALLORY.public})


def test_a_rejection_takes_back_nothing_that_it_stands_on() -> None:
    """Whoever was enrolled by the key that he rejects has not, by saying he knew of nothing, enrolled nobody."""
    log = Log()
    log.enrol(ANNA, recovery=RECOVERY)
    log.enrol(MALLORY, by=ANNA)
    log.add(rejection(ANNA, ((ORIGIN, 1),)), MALLORY)
    assert enrolled(log) == {"mallory"}
    log.add(rejection(MALLORY, ((ORIGIN, 3),)), RECOVERY)
    assert enrolled(log) == set()


def test_a_later_recovery_code_ends_with_its_key_and_dates_nothing_back() -> None:
    """The founder's stands for ever; that of a rejected key enrols nobody behind everybody's back."""
    code, log = Person("another code"), Log()
    log.enrol(ANNA, by=ANNA, recovery=RECOVERY)
    log.enrol(BERT, by=ANNA, recovery=code)
    assert log.identity().recovery_now() == (RECOVERY.public, code.public)
    slipped(log, event("key_enrolled", STORE, MALLORY.enrolment()), code, hlc=2, seq=9)
    assert enrolled(log) == {"anna", "bert", "mallory"}
    log.add(rejection(BERT, ((ORIGIN, 2),)), ANNA)
    assert enrolled(log) == {"anna"}
    assert log.identity().recovery_now() == (RECOVERY.public,)
