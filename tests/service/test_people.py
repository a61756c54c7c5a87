"""A person's acts: enrolment, endorsement by signature, and what an agent cannot do to an endorsed note."""

import pytest

from memd_client import api, signing
from memd_daemon import errors
from memd_daemon.service import people
from tests.service.desk import Desk, context_of

PASSPHRASE = b"correct horse battery staple"
RULE = "Never push to main without asking."


def enrolment(desk: Desk, request: api.Enrol) -> api.Plan | None:
    """The plan that a process at a terminal of its own is given."""
    return people.enrol(desk.daemon.parts, desk.plans, request).plan


class Person:
    """Somebody with a key, as the command line would sign for them."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.key = signing.create_key(PASSPHRASE, n=1 << 10)
        recovery = signing.recovery_key(signing.new_recovery_code())
        self.enrol = api.Enrol(public=self.key.public, recovery_public=recovery.public, terminal="pts/0")
        self.seal(enrolment(desk, self.enrol))

    def signatures(self, plan: api.Plan) -> list[bytes]:
        return [
            signing.sign(self.key, PASSPHRASE, signing.signed_digest(plan.store, e.body, e.content_digest, e.revision))
            for e in plan.events
        ]

    def seal(self, plan: api.Plan | None) -> api.Sealed:
        assert plan is not None
        return self.desk.ask(api.Seal(token=plan.token, signatures=self.signatures(plan)))

    def rule(self, content: str = RULE, **words: object) -> int:
        made = self.desk.remember(content, **{"kind": "directive", "endorse": True, **words})
        return self.seal(made.plan).id


@pytest.fixture
def person(desk: Desk) -> Person:
    return Person(desk)


def shown(desk: Desk, id_: int) -> api.ShowReply:
    return desk.ask(api.Show(ref=str(id_), cwd=str(desk.repo)))


def test_an_endorsed_rule_is_a_directive_in_the_first_session(desk: Desk, person: Person) -> None:
    """Recorded and endorsed in one commit after one signature; the frame is the imperative one."""
    before = desk.ask(api.Status()).store["commits"]
    id_ = person.rule()
    assert desk.ask(api.Status()).store["commits"] == before + 1
    told = context_of(desk.start())
    assert f"[{id_}] DIRECTIVE (standing rule from the user — follow it): {RULE}" in told
    assert "\nmemd: 1 note, endorsed by the user.\n" in told


def test_asking_for_a_plan_records_nothing(desk: Desk, person: Person) -> None:
    """Only the signature does."""
    before = desk.ask(api.Status()).store["events"]
    desk.remember(RULE, kind="directive", endorse=True)
    assert desk.ask(api.Status()).store["events"] == before
    assert RULE not in desk.start()


def test_a_wrong_signature_records_nothing_and_burns_the_plan(desk: Desk, person: Person) -> None:
    """Another event's signature, another note's, a stranger's, none at all: refused, and the plan is gone."""
    other = desk.remember("Another rule.", kind="directive", endorse=True).plan
    assert other is not None
    stranger = signing.create_key(PASSPHRASE, n=1 << 10)
    for number, forge in enumerate(("other", "stranger", "none", "short", "too many")):
        plan = desk.remember(f"{RULE} {number}", kind="directive", endorse=True).plan
        assert plan is not None
        event = plan.events[0]
        digest = signing.signed_digest(plan.store, event.body, event.content_digest, event.revision)
        forged = {
            "other": person.signatures(other),
            "stranger": [signing.sign(stranger, PASSPHRASE, digest)],
            "none": [],
            "short": [b"x"],
            "too many": person.signatures(plan) * 2,
        }[forge]
        with pytest.raises(errors.BadSignature):
            desk.ask(api.Seal(token=plan.token, signatures=forged))
        with pytest.raises(errors.BadSignature):
            person.seal(plan)
    assert desk.ask(api.Status()).store["notes"] == 0


def test_a_plan_expires(desk: Desk, person: Person) -> None:
    """A plan that lay too long is refused."""
    plan = desk.remember(RULE, kind="directive", endorse=True).plan
    desk.clock.ms += 11 * 60 * 1000
    with pytest.raises(errors.BadSignature):
        person.seal(plan)


def test_promotion_to_human_is_signed_over_the_present_content(desk: Desk, person: Person) -> None:
    """agent to human through a plan; without `sign` it is refused; auto skips no rung."""
    made = desk.remember("The build needs network access.")
    with pytest.raises(errors.NotSigned):
        desk.act("promote", made.id, to="human")
    person.seal(desk.act("promote", made.id, to="human", sign=True).plan)
    assert shown(desk, made.id).note.provenance == "human"
    assert "Recorded by the user: " in shown(desk, made.id).text
    weak = desk.remember("Nobody looked at this.", provenance="auto")
    with pytest.raises(errors.NotOneRung):
        desk.act("promote", weak.id, to="human", sign=True)


def test_a_note_revoked_between_plan_and_signature_is_not_promoted(desk: Desk, person: Person) -> None:
    """The preconditions are checked again when the signature comes."""
    made = desk.remember("Tests run in parallel.")
    plan = desk.act("promote", made.id, to="human", sign=True).plan
    desk.act("revoke", made.id, reason="they do not")
    with pytest.raises(errors.NoteRevoked):
        person.seal(plan)
    assert shown(desk, made.id).note.provenance == "agent"


@pytest.mark.parametrize("act", ["revoke", "supersede"])
def test_an_unsigned_act_on_an_endorsed_note_is_a_proposal(desk: Desk, person: Person, act: str) -> None:
    """The note keeps its place, words and frame, gains one warning line, and stands in the queue."""
    id_ = person.rule()
    newer = desk.remember("Push whenever you like.")
    done = desk.act(act, id_, reason="it slows me down", by=str(newer.id))
    assert done.effect == "proposed"
    told = context_of(desk.start())
    assert f"[{id_}] DIRECTIVE (standing rule from the user — follow it): {RULE}" in told
    assert f"WARNING: somebody at the command line proposed to {act} this on" in told
    assert "(reason: it slows me down): ask the user." in told
    assert desk.ask(api.Status()).queue["proposals"] == 1
    assert desk.ask(api.Status()).queue["proposed"] == [id_]


def test_a_signed_act_settles_the_proposals(desk: Desk, person: Person) -> None:
    """A person keeps the note as it is by signing its confirmation; the warning and the queue's row go."""
    id_ = person.rule()
    desk.act("revoke", id_, reason="it slows me down")
    assert desk.act("confirm", id_).effect == "applied"
    assert desk.ask(api.Status()).queue["proposals"] == 1
    person.seal(desk.act("confirm", id_, sign=True).plan)
    assert desk.ask(api.Status()).queue["proposals"] == 0
    assert "WARNING" not in context_of(desk.start())
    assert desk.act("confirm", id_, sign=True).plan is None
    assert desk.ask(api.Verify()).faults == []


def test_a_wish_that_is_repeated_waits_once(desk: Desk, person: Person) -> None:
    """The queue has one row and the start the same words as before; `show` says how often, and the log has every reason."""
    id_ = person.rule()
    desk.act("revoke", id_, reason="it slows me down")
    told = context_of(desk.start("s1"))
    for n in range(5):
        assert desk.act("revoke", id_, reason=f"once more {n}").effect == "proposed"
    assert desk.ask(api.Status()).queue["proposals"] == 1
    assert context_of(desk.start("s2")) == told
    answer = shown(desk, id_)
    assert [(p.act, p.times, p.reason) for p in answer.note.proposals] == [("revoke", 6, "it slows me down")]
    assert "  proposed 6 times to revoke, first 2026-03-04 (command line): it slows me down" in answer.text
    reasons = [e.reason for e in desk.ask(api.Log(ref=str(id_))).events if e.type == "proposed"]
    assert reasons == ["it slows me down", *(f"once more {n}" for n in range(5))]
    person.seal(desk.act("confirm", id_, sign=True).plan)
    assert shown(desk, id_).note.proposals == []
    (kept,) = (e for e in desk.ask(api.Log(ref=str(id_))).events if e.type == "confirmed")
    assert "the 6 proposals before it are settled" in kept.line
    assert desk.ask(api.Verify()).faults == []


def test_a_conflict_ends_with_the_claim_on_its_other_side(desk: Desk, person: Person) -> None:
    """Once the contradicting note is revoked, the endorsed one is in conflict with nothing."""
    id_ = person.rule()
    made = desk.remember("Pushing to main is fine.", contradicts=str(id_))
    person.seal(desk.act("confirm", id_, sign=True).plan)
    desk.act("revoke", made.id, reason="it is not")
    assert "WARNING" not in context_of(desk.start())


def test_a_supersession_can_be_taken_back(desk: Desk, person: Person) -> None:
    """By a person, who endorsed it: then the older note is current again, found by a plain recall, and told."""
    id_ = person.rule()
    newer = desk.remember("Ask before a push.")
    person.seal(desk.act("supersede", id_, by=str(newer.id), sign=True).plan)
    assert RULE not in context_of(desk.start("s1"))
    with pytest.raises(errors.NotSigner):
        desk.act("unsupersede", id_)
    assert RULE not in context_of(desk.start("s2"))
    person.seal(desk.act("unsupersede", id_, sign=True).plan)
    assert RULE in context_of(desk.start("s3"))
    assert desk.act("unsupersede", id_).effect == "kept"


@pytest.mark.parametrize("word", ["contradicts", "supersedes"])
def test_a_contradiction_of_an_endorsed_note_opens_a_conflict(desk: Desk, person: Person, word: str) -> None:
    """The new note is recorded, the endorsed one stands, and each names the other."""
    id_ = person.rule()
    made = desk.remember("Pushing to main is fine.", **{word: str(id_)})
    assert any("endorsed by the user" in told for told in made.told)
    assert shown(desk, id_).note.tombstone is None
    assert f"WARNING: in conflict with [{made.id}], unresolved: weigh both." in shown(desk, id_).text
    assert f"WARNING: in conflict with [{id_}], unresolved: weigh both." in shown(desk, made.id).text
    assert RULE in context_of(desk.start())


def test_what_a_person_revoked_comes_back_only_with_a_warning(desk: Desk, person: Person) -> None:
    """A signed revocation strikes through; an agent's reinstatement brings the words back without the imperative."""
    id_ = person.rule()
    person.seal(desk.act("revoke", id_, reason="we changed our minds", sign=True).plan)
    assert "Previously believed" in context_of(desk.start("s1"))
    desk.act("reinstate", id_)
    told = context_of(desk.start("s2"))
    assert "DIRECTIVE (standing rule" not in told
    assert f"Recorded by the user: {RULE}" in told
    assert "WARNING: revoked by the user" in told
    assert "reinstated at the command line 2026-03-04, unsigned" in told


def test_a_global_rule_needs_a_person_and_then_holds_everywhere(desk: Desk, person: Person) -> None:
    """Signed, a global directive is told in other repositories too."""
    person.rule("Write commit messages in English.", scope="global")
    desk.repo = desk.repo.parent
    assert "Write commit messages in English." in context_of(desk.start("elsewhere"))


def test_a_second_key_is_refused_and_the_first_is_told(desk: Desk, person: Person) -> None:
    """Enrolment happens once; `status` tells who."""
    stranger = signing.create_key(PASSPHRASE, n=1 << 10)
    with pytest.raises(errors.KeyKnown):
        enrolment(desk, api.Enrol(public=stranger.public, recovery_public=stranger.public, terminal="pts/1"))
    told = desk.ask(api.Status()).people
    assert [p["fingerprint"] for p in told] == [signing.fingerprint(person.key.public)]
    assert told[0]["recent"]


def test_an_enrolment_is_told_for_seven_days(desk: Desk) -> None:
    """With its fingerprint, time and terminal; on the eighth day it is old."""

    def told() -> list[people.RecentEnrolment]:
        with desk.daemon.parts.store.read() as snapshot:
            return people.recent_enrolments(desk.daemon.parts, snapshot, desk.clock.ms)

    assert told() == []
    at, key = desk.clock.ms, Person(desk).key
    wanted = people.RecentEnrolment(
        fingerprint=signing.fingerprint(key.public), at_ms=at, terminal="pts/0", rejected=False
    )
    assert told() == [wanted]
    desk.clock.ms += 7 * 24 * 3_600_000
    assert told() == [wanted]
    desk.clock.ms += 1
    assert told() == []


def test_what_derives_from_an_auto_note_is_framed_as_auto_until_endorsed(desk: Desk, person: Person) -> None:
    """Summarizing is not reviewing: the frame is the lowest of its living sources', and so it is never pushed."""
    weak = desk.remember("The cache key ignores the locale.", provenance="auto")
    made = desk.remember("So translations can be served wrongly.", kind="directive", derived_from=[str(weak.id)])
    assert shown(desk, made.id).note.frame_class == "auto"
    assert "translations" not in desk.start()
    person.seal(desk.act("promote", made.id, to="human", sign=True).plan)
    assert shown(desk, made.id).note.frame_class == "human"
    assert "translations can be served wrongly" in context_of(desk.start(source="clear"))


def test_verify_is_clean_and_the_log_tells_who_did_what(desk: Desk, person: Person) -> None:
    """Every act stands in the note's history with actor, surface and effect."""
    id_ = person.rule()
    desk.act("revoke", id_, reason="an agent's wish")
    person.seal(desk.act("revoke", id_, reason="a person's act", sign=True).plan)
    desk.act("reinstate", id_)
    events = desk.ask(api.Log(ref=str(id_))).events
    assert [(e.type, e.actor, e.signed, e.effect) for e in events] == [
        ("recorded", "agent", False, "applied"),
        ("promoted", "human", True, "applied"),
        ("proposed", "agent", False, "proposed"),
        ("revoked", "human", True, "applied"),
        ("reinstated", "agent", False, "applied"),
    ]
    assert all(e.surface == "cli" and e.line for e in events)
    assert desk.ask(api.Verify()).faults == []
