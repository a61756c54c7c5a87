"""What every adapter keeps of the log: who may have acted, and the commits of others. The other half is contract.py."""

import msgspec
import pytest
from tests.store.making import (
    ANNA,
    BERT,
    HERE,
    MALLORY,
    NOON,
    RECOVERY,
    Pen,
    event,
    foreign_commit,
    fresh_uid,
    recorded,
)

from memd_daemon.errors import BadRequest, BadSignature, CommitForked, NotSigned
from memd_daemon.model import event as ev
from memd_daemon.store.check import verify
from memd_daemon.store.port import Draft, Txn


class LogContract:
    """Proof of a person, and exchange."""

    # --- proof of a person

    def test_a_signed_endorsement_makes_a_note_human(self, pen: Pen) -> None:
        """Recorded, enrolled, signed: the note's class is human and names the key."""
        uid = pen.record()
        pen.enrol(ANNA)
        pen.endorse(uid, ANNA)
        note = pen.note(uid)
        assert (note.provenance, note.shown.key_id) == ("human", ANNA.key_id)
        with pen.store.read() as snapshot:
            assert [s.signed for s in snapshot.events_of(uid)] == [False, True]
            assert snapshot.enrolled(ANNA.key_id) == ANNA.public
        assert verify(pen.store) == []

    def test_recording_and_endorsing_fit_in_one_commit(self, pen: Pen) -> None:
        """The signature covers a note that stands only in the same commit."""
        pen.enrol(ANNA)
        uid = fresh_uid()

        def work(txn: Txn) -> None:
            content = txn.put_text("always run the linter")
            begun = event("recorded", uid, recorded(content=content, summary=content))
            promoted = ev.Promoted(to="human", revision=1, content=content)
            signed = ANNA.draft(pen.store.info.store, event("promoted", uid, promoted, parents=(begun.uid,)), None)
            txn.append([Draft(body=ev.encode_event(begun)), signed], at=pen.tick())

        pen.store.write(work)
        assert pen.note(uid).provenance == "human"

    def test_an_unproved_act_of_a_person_is_refused(self, pen: Pen) -> None:
        """Unsigned, signed by a stranger, over another content or for another store: nothing is recorded."""
        uid = pen.record()
        pen.enrol(ANNA)
        note, store = pen.note(uid), pen.store.info.store
        newest = note.revisions[-1].content
        promoted = event("promoted", uid, ev.Promoted(to="human", revision=1, content=newest), parents=note.heads)
        good = ANNA.draft(store, promoted, note)
        forged = [
            (NotSigned, Draft(body=good.body)),
            (BadSignature, Draft(body=good.body, sig=b"x" * 64)),
            (BadSignature, MALLORY.draft(store, promoted, note)),
            (BadSignature, ANNA.draft(fresh_uid(), promoted, note)),
            (BadSignature, Draft(body=good.body, sig=ANNA.sign(store, good.body, newest, 2))),
            (BadSignature, Draft(body=ev.encode_event(promoted), sig=good.sig)),
        ]
        for error, draft in forged:
            with pytest.raises(error):
                pen.store.write(lambda txn, draft=draft: txn.append([draft], at=NOON))
        assert pen.note(uid).provenance == "agent"
        pen.store.write(lambda txn: txn.append([good], at=NOON))
        assert pen.note(uid).provenance == "human"

    @pytest.mark.parametrize(
        "act", ["forgotten", "promoted", "amended", "restored", "unsuperseded", "released", "reopened"]
    )
    def test_what_only_a_signature_can_do_is_not_written_without_one(self, pen: Pen, act: str) -> None:
        """Not as anybody's: the fold would ignore it, so it is refused. Signed it stands."""
        uid = pen.record(kind={"amended": "directive", "reopened": "task"}.get(act, "finding"))
        pen.enrol(ANNA)
        put_away = {
            "restored": ("archived", ev.Reasoned()),
            "unsuperseded": ("superseded", ev.ByNote(by=b"o" * 16)),
            "released": ("absorbed", ev.ByNote(by=b"o" * 16)),
            "reopened": ("closed", ev.Reasoned()),
        }
        if act in put_away:
            pen.endorse(uid, ANNA)
            pen.act(uid, *put_away[act], by=ANNA)
        newest = pen.note(uid).revisions[-1].content
        payload = {
            "forgotten": ev.Nothing(),
            "promoted": ev.Promoted(to="human", revision=1, content=newest),
            "amended": ev.Amended(scope="global"),
            "restored": ev.Reasoned(),
            "unsuperseded": ev.ByNote(),
            "released": ev.ByNote(),
            "reopened": ev.Reasoned(),
        }[act]
        before = pen.note(uid)
        with pytest.raises(NotSigned):
            pen.act(uid, act, payload)
        assert pen.note(uid) == before
        pen.act(uid, act, payload, by=ANNA)
        assert pen.note(uid) != before
        assert verify(pen.store) == []

    def test_a_signature_is_not_used_twice(self, pen: Pen) -> None:
        """Replayed on another note, or again on the same one, it proves nothing."""
        first, second = pen.record("same words"), pen.record("same words")
        pen.enrol(ANNA)
        made = pen.endorse(first, ANNA)
        with pen.store.read() as snapshot:
            stored = snapshot.event(made.uid)
        assert stored is not None
        other = msgspec.structs.replace(made, note=second, uid=fresh_uid(), parents=pen.note(second).heads)
        for body in (stored.body, ev.encode_event(other)):
            with pytest.raises((BadRequest, BadSignature)):
                pen.store.write(lambda txn, body=body: txn.append([Draft(body=body, sig=stored.sig)], at=NOON))
        assert pen.note(second).provenance == "agent"

    def test_further_keys_need_a_key_that_stands(self, pen: Pen) -> None:
        """The first key signs itself; later ones, and rejections, need an enrolled or a recovery key."""
        for person in (ANNA, MALLORY):
            with pytest.raises(NotSigned):
                pen.act(pen.store.info.store, "key_enrolled", person.enrolment())
            with pytest.raises(BadSignature):
                pen.enrol(person, by=BERT)
            with pen.store.read() as snapshot:
                assert snapshot.key_in_use() == (None if person is ANNA else ANNA.key_id)
            if person is ANNA:
                pen.enrol(ANNA, recovery=RECOVERY)
        with pytest.raises(BadSignature):
            pen.enrol(MALLORY)
        pen.enrol(BERT, by=ANNA)
        pen.act(pen.store.info.store, "key_rejected", ev.KeyRejected(key_id=ANNA.key_id), by=RECOVERY)
        with pen.store.read() as snapshot:
            assert snapshot.enrolled(ANNA.key_id) is snapshot.enrolled(MALLORY.key_id) is None
            assert snapshot.enrolled(BERT.key_id) == BERT.public
        with pytest.raises(BadSignature):
            pen.act(pen.store.info.store, "key_rejected", ev.KeyRejected(key_id=BERT.key_id), by=ANNA)
        assert verify(pen.store) == []

    def test_a_rejected_key_endorses_nothing_more(self, pen: Pen) -> None:
        """What it signed before stands; what it signs afterwards is refused."""
        before, after = pen.record(), pen.record()
        pen.enrol(ANNA, recovery=RECOVERY)
        pen.endorse(before, ANNA)
        pen.act(pen.store.info.store, "key_rejected", ev.KeyRejected(key_id=ANNA.key_id), by=RECOVERY)
        with pytest.raises(BadSignature):
            pen.endorse(after, ANNA)
        assert (pen.note(before).provenance, pen.note(after).provenance) == ("human", "agent")

    def test_forgetting_takes_texts_and_vectors(self, pen: Pen) -> None:
        """A signed `forgotten` drops every blob of the note and its vectors; the log still verifies."""
        uid = pen.record(slug="secret")
        pen.enrol(ANNA)
        pen.store.write(lambda txn: [txn.put_vector(model, uid, b"v") for model in ("m", "n")])
        pen.revoke(uid, "a reason")
        note = pen.note(uid)
        pen.act(uid, "forgotten", by=ANNA)
        with pen.store.read() as snapshot:
            for digest in (note.shown.content, note.shown.summary, note.revocations[0].reason):
                assert snapshot.text(digest) is None
            assert snapshot.vector("m", uid) is snapshot.vector("n", uid) is snapshot.uid_of_slug("secret") is None
            assert list(snapshot.notes_of_kind(HERE, "finding")) == []
        assert verify(pen.store) == []

    # --- commits of others

    def test_a_foreign_commit_is_taken_once(self, pen: Pen) -> None:
        """It folds like an own one, a repetition changes nothing, and own time goes on behind it."""
        uid = fresh_uid()
        commit = foreign_commit(
            [(event("recorded", uid, recorded()), b"")], origin=b"F" * 16, seq=7, hlc=(NOON + 10**9) << 16
        )
        before = pen.store.additions
        assert pen.store.write(lambda txn: txn.receive(*commit)) is True
        after = pen.store.additions
        assert pen.store.write(lambda txn: txn.receive(*commit)) is False
        assert before != after == pen.store.additions
        assert pen.note(uid).events == 1
        pen.revoke(uid)
        assert pen.note(uid).revoked

    def test_withheld_events_are_filled_in_later(self, pen: Pen) -> None:
        """A commit whose events are withheld stands in its chain; the events follow when they come."""
        uid = fresh_uid()
        commit = foreign_commit([(event("recorded", uid, recorded()), b"")], origin=b"F" * 16, seq=1, hlc=5)
        pen.store.write(lambda txn: txn.receive(commit[0], commit[1], [None]))
        with pen.store.read() as snapshot:
            assert snapshot.note(uid) is None
        assert verify(pen.store) == []
        before = pen.store.additions
        assert pen.store.write(lambda txn: txn.receive(*commit)) is True
        assert pen.store.additions != before
        assert pen.note(uid).events == 1

    def test_a_foreign_commit_that_does_not_hold_together_is_refused(self, pen: Pen) -> None:
        """Another event than the digest says, a wrong count, a header that is none, and a second commit of one number."""
        good = foreign_commit([(event("recorded", fresh_uid(), recorded()), b"")], origin=b"F" * 16, seq=1, hlc=5)
        other = foreign_commit([(event("recorded", fresh_uid(), recorded()), b"")], origin=b"F" * 16, seq=1, hlc=5)
        late = foreign_commit([(event("recorded", fresh_uid(), recorded()), b"")], origin=b"F" * 16, seq=1, hlc=1 << 63)
        for bad in (
            (good[0], good[1], other[2]),
            (good[0], (), []),
            (b"\x00", *good[1:]),
            (good[0], (b"d",), [None]),
            late,
        ):
            with pytest.raises(BadRequest):
                pen.store.write(lambda txn, bad=bad: txn.receive(*bad))
        pen.store.write(lambda txn: txn.receive(*good))
        with pytest.raises(CommitForked):
            pen.store.write(lambda txn: txn.receive(*other))

    def test_an_event_waits_for_its_parents(self, pen: Pen) -> None:
        """A revocation that arrives before what it revokes takes effect when that has come."""
        begun = event("recorded", fresh_uid(), recorded())
        fallen = event("revoked", begun.note, ev.Reasoned(by=b"b" * 16), parents=(begun.uid,))
        origin = b"F" * 16
        late = foreign_commit([(fallen, b"")], origin=origin, seq=2, hlc=9)
        pen.store.write(lambda txn: txn.receive(*late))
        with pen.store.read() as snapshot:
            assert snapshot.note(begun.note) is None
        early = foreign_commit([(begun, b"")], origin=origin, seq=1, hlc=8)
        pen.store.write(lambda txn: txn.receive(*early))
        assert pen.note(begun.note).revoked

    def test_what_waited_is_folded_when_its_parent_comes_late_by_the_clock(self, pen: Pen) -> None:
        """A clock that was set back gives a child a smaller time than its parent; the parent still comes first."""
        begun = event("recorded", fresh_uid(), recorded())
        parent = event("confirmed", begun.note, ev.Confirmed(), parents=(begun.uid,))
        child = event("archived", begun.note, ev.Reasoned(), parents=(parent.uid,))
        for made, origin, hlc in ((begun, b"1" * 16, 5), (child, b"2" * 16, 10), (parent, b"3" * 16, 20)):
            commit = foreign_commit([(made, b"")], origin=origin, seq=1, hlc=hlc)
            pen.store.write(lambda txn, commit=commit: txn.receive(*commit))
        assert pen.note(begun.note).shelf == "archived"
        assert pen.note(begun.note).heads == (child.uid,)

    def test_a_signature_over_what_its_writer_saw_holds(self, pen: Pen) -> None:
        """A revision that lands between the signing and the write does not spoil the person's act."""
        pen.enrol(ANNA)
        uid = pen.record(level="principle")
        seen = pen.note(uid)
        made = event("revoked", uid, ev.Reasoned(by=b"B" * 16), parents=seen.heads)
        draft = ANNA.draft(pen.store.info.store, made, seen)
        content = pen.store.write(lambda txn: txn.put_text("a new wording"))
        pen.act(uid, "revised", ev.Revised(content=content, summary=content, expected_revision=1))
        pen.store.write(lambda txn: txn.append([draft], at=pen.tick()))
        note = pen.note(uid)
        assert (note.revision, note.revoked, note.revocations[0].signed) == (2, True, True)
        assert verify(pen.store) == []
