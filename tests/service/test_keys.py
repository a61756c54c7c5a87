"""Further keys, recovery and rejection, as the daemon plans and records them."""

from collections.abc import Sequence

import pytest

from memd_client import api, signing
from memd_daemon import errors
from memd_daemon.model import event as ev
from memd_daemon.service import people
from memd_daemon.store.port import Draft
from tests.service.desk import Desk
from tests.store.making import event, foreign_commit

PASSPHRASE = b"correct horse battery staple"


class Holder:
    """Somebody with a key and its recovery code."""

    def __init__(self) -> None:
        self.key = signing.create_key(PASSPHRASE, n=1 << 10)
        self.recovery = signing.recovery_key(signing.new_recovery_code())

    @property
    def fingerprint(self) -> str:
        return signing.fingerprint(self.key.public)

    def sign(self, digest: bytes) -> bytes:
        return signing.sign(self.key, PASSPHRASE, digest)


def digests(plan: api.Plan) -> list[bytes]:
    return [signing.signed_digest(plan.store, e.body, e.content_digest, e.revision) for e in plan.events]


def asked(desk: Desk, **words: object) -> api.EnrolReply:
    """The daemon's answer to a process at a terminal of its own."""
    return people.enrol(desk.daemon.parts, desk.plans, api.Enrol(**words))  # type: ignore[arg-type]  # the struct's own


def key_act(
    desk: Desk, by: Holder, *, code: bool = False, new: Holder | None = None, rejects: Sequence[Holder] = ()
) -> None:
    """One commit of enrolment and rejections, signed by a key or by its code."""
    signer = by.recovery.public if code else by.key.public
    enrols = {"public": new.key.public, "recovery_public": new.recovery.public, "terminal": "pts/7"} if new else {}
    plan = asked(desk, signer=signer, rejects=[one.key.key_id for one in rejects], **enrols).plan
    assert plan is not None
    signed = [by.recovery.sign(d) if code else by.sign(d) for d in digests(plan)]
    desk.ask(api.Seal(token=plan.token, signatures=signed))


@pytest.fixture
def anna(desk: Desk) -> Holder:
    holder = Holder()
    key_act(desk, holder, new=holder)
    return holder


def endorse(desk: Desk, by: Holder, content: str) -> int:
    note = desk.remember(content)
    plan = desk.act("promote", note.id, to="human", sign=True).plan
    assert plan is not None
    assert plan.key_id == by.key.key_id
    desk.ask(api.Seal(token=plan.token, signatures=[by.sign(d) for d in digests(plan)]))
    return note.id


def standing(desk: Desk) -> list[str]:
    return list(desk.ask(api.Enrol()).enrolled)


@pytest.mark.parametrize("code", [False, True])
def test_a_key_that_stands_or_its_code_enrols_another(desk: Desk, anna: Holder, code: bool) -> None:
    """And is told as who did."""
    bert = Holder()
    key_act(desk, anna, code=code, new=bert)
    assert standing(desk) == [bert.fingerprint, anna.fingerprint]
    told = desk.ask(api.Enrol(acts=True)).keys
    assert [key.by for key in told] == ["itself", "a recovery code" if code else anna.fingerprint]
    assert desk.ask(api.Verify()).faults == []


def test_a_code_replaces_a_lost_key_in_one_commit(desk: Desk, anna: Holder) -> None:
    """The founder's; and that of a later key, which ends with it: the key that it enrolled in its last act stands."""
    bert, carl = Holder(), Holder()
    commits = desk.ask(api.Status()).store["commits"]
    key_act(desk, anna, code=True, new=bert, rejects=[anna])
    assert standing(desk) == [bert.fingerprint]
    key_act(desk, bert, code=True, new=carl, rejects=[bert])
    assert standing(desk) == [carl.fingerprint]
    assert desk.ask(api.Status()).store["commits"] == commits + 2
    with pytest.raises(errors.SignerUnknown):
        key_act(desk, bert, code=True, new=Holder())
    key_act(desk, anna, code=True, rejects=[carl])
    assert standing(desk) == []
    assert desk.ask(api.Verify()).faults == []


def test_nobody_else_enrols_or_rejects(desk: Desk, anna: Holder) -> None:
    """A stranger, a stranger's code, a rejected key: refused before there is a plan, and with another's signature at its seal."""
    mallory, bert = Holder(), Holder()
    for code in (False, True):
        with pytest.raises(errors.SignerUnknown):
            key_act(desk, mallory, code=code, new=bert)
        with pytest.raises(errors.SignerUnknown):
            key_act(desk, mallory, code=code, rejects=[anna])
    plan = asked(desk, signer=anna.key.public, rejects=[anna.key.key_id]).plan
    assert plan is not None
    with pytest.raises(errors.BadSignature):
        desk.ask(api.Seal(token=plan.token, signatures=[mallory.sign(d) for d in digests(plan)]))
    key_act(desk, anna, new=bert)
    key_act(desk, anna, rejects=[bert])
    with pytest.raises(errors.SignerUnknown):
        key_act(desk, bert, rejects=[anna])
    assert standing(desk) == [anna.fingerprint]


def test_what_is_no_key_of_this_store_is_not_rejected(desk: Desk, anna: Holder) -> None:
    """One that was never enrolled, one that is rejected already, a name of another length."""
    bert = Holder()
    key_act(desk, anna, new=bert)
    key_act(desk, anna, rejects=[bert])
    for key_id in (Holder().key.key_id, bert.key.key_id, b"", b"short", b"x" * 99):
        with pytest.raises(errors.NoSuchKey):
            asked(desk, signer=anna.key.public, rejects=[key_id])


def test_a_store_whose_keys_were_all_rejected_is_nobodys_to_found_again(desk: Desk, anna: Holder) -> None:
    """Nothing can be endorsed, and who comes next needs the code, as the first one's file says."""
    note = endorse(desk, anna, "Endorsed once.")
    key_act(desk, anna, code=True, rejects=[anna])
    with pytest.raises(errors.NoKey):
        desk.act("promote", desk.remember("Another claim.").id, to="human", sign=True)
    stranger = Holder()
    with pytest.raises(errors.SignerUnknown):
        asked(desk, public=stranger.key.public, recovery_public=stranger.recovery.public)
    assert desk.ask(api.Show(ref=str(note), cwd=str(desk.repo))).note.provenance == "human"
    key_act(desk, anna, code=True, new=stranger)
    assert endorse(desk, stranger, "A third claim.")


def test_two_plans_of_one_moment_leave_one_outcome(desk: Desk, anna: Holder) -> None:
    """A key that was rejected while its own plan lay open signs nothing with it."""
    bert = Holder()
    key_act(desk, anna, new=bert)
    plan = asked(desk, signer=bert.key.public, rejects=[anna.key.key_id]).plan
    assert plan is not None
    key_act(desk, anna, rejects=[bert])
    with pytest.raises(errors.BadSignature):
        desk.ask(api.Seal(token=plan.token, signatures=[bert.sign(d) for d in digests(plan)]))
    assert standing(desk) == [anna.fingerprint]


def test_the_key_that_signs_is_one_whose_file_is_here(desk: Desk, anna: Holder) -> None:
    """The newest of them; a key that lives on another machine does not keep this one from signing."""
    bert = Holder()
    key_act(desk, anna, new=bert)
    assert endorse(desk, bert, "No file is here, so the newest.")
    signing.write_key(signing.key_path(desk.home, anna.key.key_id), anna.key)
    assert endorse(desk, anna, "Only Anna's is here.")
    signing.write_key(signing.key_path(desk.home, bert.key.key_id), bert.key)
    assert endorse(desk, bert, "Both are here.")


def test_what_a_key_signed_is_told_until_it_is_taken_back(desk: Desk, anna: Holder) -> None:
    """Acts by type and note; and the notes that are `human` by its signature today, of a rejected key too."""
    mallory = Holder()
    kept = endorse(desk, anna, "A rule of Anna's.")
    key_act(desk, anna, new=mallory)
    strange = endorse(desk, mallory, "A rule of nobody's.")
    revoked = desk.act("revoke", kept, reason="I say so", sign=True).plan
    assert revoked is not None
    desk.ask(api.Seal(token=revoked.token, signatures=[mallory.sign(d) for d in digests(revoked)]))
    key_act(desk, anna, rejects=[mallory])
    first, second = desk.ask(api.Enrol(acts=True)).keys
    assert [(a.type, a.id) for a in second.acts] == [("promoted", strange), ("revoked", kept)]
    assert (first.endorses, second.endorses) == ([], [strange])
    assert (second.rejected != "", second.rejected_by) == (True, anna.fingerprint)
    assert desk.ask(api.Enrol()).keys[1].acts == []
    plan = desk.act("revoke", strange, reason="not mine", sign=True).plan
    assert plan is not None
    desk.ask(api.Seal(token=plan.token, signatures=[anna.sign(d) for d in digests(plan)]))
    assert desk.ask(api.Enrol(acts=True)).keys[1].endorses == []


def test_a_key_that_was_enrolled_again_has_two_stretches(desk: Desk, anna: Holder) -> None:
    """What it signed belongs to the one in which it was signed."""
    bert = Holder()
    key_act(desk, anna, new=bert)
    one = endorse(desk, bert, "In the first stretch.")
    key_act(desk, anna, rejects=[bert])
    key_act(desk, anna, new=bert)
    two = endorse(desk, bert, "In the second.")
    told = desk.ask(api.Enrol(acts=True)).keys
    assert [(key.rejected != "", key.endorses) for key in told] == [(False, []), (True, [one]), (False, [two])]


def test_what_somebody_wrote_into_the_file_is_no_key_and_is_not_told(desk: Desk, anna: Holder) -> None:
    """An enrolment and a rejection that nobody signed who may: named by verify, and in no status and no list of keys."""
    mallory = Holder()
    store = desk.daemon.parts.store
    uid = store.info.store
    payloads = {
        "key_enrolled": ev.KeyEnrolled(key_id=mallory.key.key_id, public=mallory.key.public),
        "key_rejected": ev.KeyRejected(key_id=anna.key.key_id),
    }
    made = [event(type_, uid, payload, key_id=mallory.key.key_id) for type_, payload in payloads.items()]
    pairs = [
        (one, mallory.sign(signing.signed_digest(uid, ev.encode_event(one), signing.NO_CONTENT, 0))) for one in made
    ]
    commit = foreign_commit(pairs, origin=b"F" * 16, seq=1, hlc=1, store=uid)
    store.write(lambda txn: txn.receive(*commit))
    assert standing(desk) == [anna.fingerprint]
    assert [person["fingerprint"] for person in desk.ask(api.Status()).people] == [anna.fingerprint]
    with store.read() as snapshot:
        told = people.recent_enrolments(desk.daemon.parts, snapshot, desk.clock.ms)
    assert [one.fingerprint for one in told] == [anna.fingerprint]
    assert len({fault.where for fault in desk.ask(api.Verify()).faults}) == 2
    assert endorse(desk, anna, "Anna signs on.")


def test_status_tells_when_a_key_was_rejected(desk: Desk, anna: Holder) -> None:
    """And the word for a session says that it was."""
    bert = Holder()
    key_act(desk, anna, new=bert)
    desk.clock.ms += 60_000
    key_act(desk, anna, rejects=[bert])
    told = desk.ask(api.Status()).people
    assert [(p["fingerprint"], p["terminal"], p["rejected"] != "") for p in told] == [
        (anna.fingerprint, "pts/7", False),
        (bert.fingerprint, "pts/7", True),
    ]
    with desk.daemon.parts.store.read() as snapshot:
        recent = people.recent_enrolments(desk.daemon.parts, snapshot, desk.clock.ms)
    assert [one.rejected for one in recent] == [False, True]


def test_a_rejection_is_possible_while_the_log_is_damaged(desk: Desk, anna: Holder) -> None:
    """A gap may hide somebody's enrolment, so none is made; but a thief is not kept by it."""
    bert, carl = Holder(), Holder()
    key_act(desk, anna, new=bert)
    commit = foreign_commit(
        [(event("setting_changed", b"n" * 16, ev.SettingChanged(key="k", value="v")), b"")],
        origin=b"F" * 16,
        seq=2,
        hlc=1,
        store=desk.daemon.parts.store.info.store,
    )
    desk.daemon.parts.store.write(lambda txn: txn.receive(*commit))
    with pytest.raises(errors.StoreDamaged):
        key_act(desk, anna, new=carl)
    key_act(desk, anna, rejects=[bert])
    assert standing(desk) == [anna.fingerprint]


def test_an_unsigned_key_event_is_refused_at_the_writing(desk: Desk, anna: Holder) -> None:
    """Whatever calls the store."""
    store = desk.daemon.parts.store
    bodies = [
        ev.encode_event(event("key_enrolled", store.info.store, ev.KeyEnrolled(key_id=b"k" * 16, public=b"p" * 32))),
        ev.encode_event(event("key_rejected", store.info.store, ev.KeyRejected(key_id=anna.key.key_id))),
    ]
    for body in bodies:
        with pytest.raises(errors.NotSigned):
            store.write(lambda txn, body=body: txn.append([Draft(body=body)], at=desk.clock.ms))
    assert standing(desk) == [anna.fingerprint]
