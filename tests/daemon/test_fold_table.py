"""Every row of the table of events: legal when, effect, and what happens else (model.md, section 2)."""

import msgspec
import pytest

from memd_daemon import limits
from memd_daemon.model import event as ev
from memd_daemon.model import fold, proof
from memd_daemon.model.fold import Effect
from memd_daemon.model.ids import NO_UID
from tests.daemon.lives import CONTENT, OTHER, REASON, Life, axes, payload_for, states
from tests.store.making import digest_of, event, fresh_uid, recorded, stored

APPLIED, KEPT, PROPOSED, NONE = Effect.APPLIED, Effect.KEPT, Effect.PROPOSED, Effect.NONE

# (start, event type, what changes on the axes) for each legal step
LEGAL = [
    ("auto", "promoted", {"provenance": "agent"}),
    ("agent", "revoked", {"belief": "revoked"}),
    ("archived", "revoked", {"belief": "revoked", "shelf": "active"}),
    ("directive", "revoked", {"belief": "revoked"}),
    ("superseded", "revoked", {"belief": "revoked"}),
    ("revoked", "reinstated", {"belief": "held"}),
    ("human revoked", "reinstated", {"belief": "held"}),
    ("agent", "superseded", {"currency": "superseded"}),
    ("revoked", "superseded", {"currency": "superseded"}),
    ("absorbed", "superseded", {"currency": "superseded"}),
    ("superseded", "unsuperseded", {"currency": "current"}),
    ("agent", "absorbed", {"currency": "absorbed"}),
    ("superseded", "absorbed", {"currency": "absorbed"}),
    ("revoked", "absorbed", {"currency": "absorbed"}),  # what is to be held is the note that takes it in
    ("absorbed", "released", {"currency": "current"}),
    ("agent", "archived", {"shelf": "archived"}),
    ("closed", "archived", {"shelf": "archived"}),
    ("archived", "restored", {"shelf": "active"}),
    ("task", "closed", {"task": "closed"}),
    ("closed", "reopened", {"task": "open"}),
]

PERSON_ONLY = sorted(proof.PERSON_ONLY.items())

# (start, event type, what it does) for each step that changes no axis
WITHOUT_CHANGE = [
    ("human", "promoted", NONE),  # nothing stands above human
    ("agent", "promoted", NONE),  # the next rung needs a signature
    ("revoked", "promoted", NONE),
    ("revoked", "revoked", KEPT),  # a further reason
    ("human revoked", "revoked", KEPT),
    ("agent", "reinstated", KEPT),
    ("agent", "unsuperseded", NONE),
    ("absorbed", "unsuperseded", NONE),
    ("agent", "released", NONE),
    ("agent", "revised", NONE),  # only a principle or a doctrine has revisions
    ("principle", "revised", APPLIED),
    ("agent", "confirmed", APPLIED),
    ("revoked", "confirmed", NONE),
    ("agent", "corroborated", APPLIED),
    ("revoked", "corroborated", KEPT),  # as rederived: for the queue
    ("revoked", "rederived", KEPT),
    ("agent", "conflict_opened", APPLIED),
    ("in conflict", "conflict_opened", NONE),  # no second open row
    ("revoked", "conflict_opened", NONE),
    ("in conflict", "conflict_resolved", APPLIED),
    ("agent", "conflict_resolved", NONE),
    ("directive", "archived", NONE),
    ("task", "archived", NONE),
    ("revoked", "archived", NONE),
    ("agent", "restored", NONE),
    ("agent", "amended", APPLIED),
    ("agent", "closed", NONE),
    ("closed", "closed", NONE),
    ("task", "reopened", NONE),
    ("agent", "evidence_bound", APPLIED),
    ("agent", "review_flagged", APPLIED),
    ("flagged", "review_flagged", NONE),  # the same cause a second time
    ("flagged", "reviewed", APPLIED),
    ("agent", "reviewed", NONE),
    ("human", "proposed", PROPOSED),
    ("agent", "proposed", NONE),
    ("agent", "forgotten", NONE),  # needs a signature
    ("human", "forgotten", NONE),
]


@pytest.mark.parametrize(("start", "type_", "change"), LEGAL)
def test_a_legal_event_moves_its_own_axis_alone(start: str, type_: str, change: dict[str, object]) -> None:
    """The axes that the table names move; every other one stands still."""
    life = states()[start]
    before = axes(life.now)
    life.then(type_)
    assert life.effect == APPLIED
    assert axes(life.now) == before | change


@pytest.mark.parametrize(("start", "type_", "effect"), WITHOUT_CHANGE)
def test_other_events_are_recorded_and_say_what_they_did(start: str, type_: str, effect: Effect) -> None:
    """An event without effect changes nothing but the heads; one that is kept or proposed moves no axis."""
    life = states()[start]
    before = life.now
    life.then(type_)
    assert life.effect == effect
    assert axes(life.now) == axes(before)
    assert life.now.events == before.events + 1
    if effect == NONE:
        assert msgspec.structs.replace(life.now, heads=before.heads, events=before.events) == before


@pytest.mark.parametrize("type_", sorted(fold.TRANSITIONS))
def test_every_type_has_its_rows(type_: str) -> None:
    """A transition that no row of this file speaks of is a transition that nobody has checked."""
    rows = {row[1] for row in (*LEGAL, *WITHOUT_CHANGE)} | {"recorded"}
    assert type_ in rows


ENDORSED = {
    "human": {"closed", "conflict_resolved", "revised"},
    "human directive": {"archived", "closed", "conflict_resolved", "revised"},
    "human task": {"archived", "conflict_resolved", "revised"},
    "human principle": {"closed", "conflict_resolved"},
    "human in conflict": {"closed", "revised"},
}
"""Endorsed notes, and which acts on each are nobody's, a person's neither."""


@pytest.mark.parametrize(
    ("start", "type_"), [(start, type_) for start, acts in ENDORSED.items() for type_ in sorted(acts)]
)
def test_what_no_person_could_do_is_not_proposed(start: str, type_: str) -> None:
    """An act whose precondition does not hold has no effect, whoever takes it."""
    life = states()[start]
    before = life.now
    assert life.then(type_).effect == NONE
    assert life.now.proposals == before.proposals == ()


@pytest.mark.parametrize(
    ("start", "type_", "act"),
    [(start, *pair) for start, nobodys in ENDORSED.items() for pair in PERSON_ONLY if pair[0] not in nobodys],
)
def test_an_unsigned_act_on_an_endorsed_note_is_a_proposal(start: str, type_: str, act: str) -> None:
    """It stands for the person to decide, with its word and its reason, and the note keeps its place and words."""
    life = states()[start]
    before = life.now
    life.then(type_)
    assert life.effect == PROPOSED
    assert axes(life.now) == axes(before)
    assert life.now.shown == before.shown
    assert life.now.conflicts == before.conflicts
    (proposal,) = life.now.proposals
    assert (proposal.act, proposal.event) == (act, life.events[-1].event.uid)
    assert proposal.reason == getattr(payload_for(type_, before), "reason", b"")


def test_what_is_proposed_again_is_counted_with_the_first() -> None:
    """Six hundred wishes make a note no larger than one; each has its place in the log, and a person settles all of them."""
    life = states()["human"].then("revoked")
    (first,), size = life.now.proposals, len(msgspec.msgpack.encode(life.now))
    for n in range(600):
        life.then("revoked", ev.Reasoned(reason=digest_of(f"reason {n}")))
        assert life.effect == PROPOSED
    assert life.now.proposals == (msgspec.structs.replace(first, times=601),)
    assert len(msgspec.msgpack.encode(life.now)) < size + 20
    assert life.now.events == 602 + 1
    life.then("confirmed", actor="human", signed=True)
    assert life.now.proposals == ()


def test_other_acts_and_other_notes_are_proposals_of_their_own() -> None:
    """Up to a bound; past it a proposal counts with the first for its act, so that no number of notes makes one grow."""
    life = states()["human"].then("revoked")
    bound = limits.PROPOSALS_APART_MAX
    others = [fresh_uid() for _ in range(bound + 50)]
    for other in others:
        life.then("superseded", ev.ByNote(by=other))
    assert [p.act for p in life.now.proposals] == ["revoke", *["supersede"] * (bound - 1)]
    assert [p.by for p in life.now.proposals[1:]] == others[: bound - 1]
    assert [p.times for p in life.now.proposals] == [1, 52, *[1] * (bound - 2)]
    for type_, act in PERSON_ONLY:
        if type_ not in ENDORSED["human"]:
            life.then(type_)
            assert life.effect == PROPOSED
            assert act in {p.act for p in life.now.proposals}
    assert len(life.now.proposals) <= bound + len(set(proof.PERSON_ONLY.values()))


@pytest.mark.parametrize(
    ("start", "type_", "change"),
    [
        ("agent", "promoted", {"provenance": "human"}),
        ("human", "revoked", {"belief": "revoked"}),
        ("human", "superseded", {"currency": "superseded"}),
        ("human", "absorbed", {"currency": "absorbed"}),
        ("human", "archived", {"shelf": "archived"}),
        ("human task", "closed", {"task": "closed"}),
        ("human", "forgotten", {"forgotten": True}),
    ],
)
def test_a_person_changes_what_a_person_endorsed(start: str, type_: str, change: dict[str, object]) -> None:
    """The same act, signed, has its effect."""
    life = states()[start]
    before = axes(life.now)
    life.then(type_, actor="human", signed=True)
    assert life.effect == APPLIED
    assert axes(life.now) == before | change


@pytest.mark.parametrize("type_", sorted(fold.TRANSITIONS))
def test_what_says_human_and_is_not_signed_has_no_effect(type_: str) -> None:
    """An edited store can claim an actor, not a signature."""
    for life in states().values():
        before = life.now
        life.then(type_, actor="human")
        assert life.effect == NONE
        assert axes(life.now) == axes(before)


@pytest.mark.parametrize(
    "fields",
    [{"provenance": "human"}, {"provenance": "owner"}, {"kind": "song"}, {"priority": "urgent"}],
)
def test_a_note_is_not_recorded_with_a_word_that_is_none(fields: dict[str, object]) -> None:
    """Nobody records as human, and vocabularies are closed."""
    made = stored(event("recorded", fresh_uid(), recorded(**fields)))
    assert fold.step(None, made) == (None, NONE)


def test_only_recorded_begins_a_note() -> None:
    """Whatever else comes first begins nothing."""
    note = states()["agent"].now
    for type_ in sorted(set(fold.TRANSITIONS) - {"recorded"}):
        made = stored(event(type_, note.uid, payload_for(type_, note)))
        assert fold.step(None, made) == (None, NONE)


def test_recorded_again_is_idempotent_or_refused() -> None:
    """The same content again is kept; another content does not replace what stands."""
    assert Life().then("recorded", recorded()).effect == KEPT
    life = Life().then("recorded", recorded(content=digest_of("another")))
    assert life.effect == NONE
    assert life.now.shown.content == CONTENT


@pytest.mark.parametrize(
    "payload",
    [
        ev.Promoted(to="human", revision=1, content=CONTENT),  # two rungs
        ev.Promoted(to="auto", revision=1, content=CONTENT),  # not up
        ev.Promoted(to="owner", revision=1, content=CONTENT),
        ev.Promoted(to="agent", revision=2, content=CONTENT),  # another revision
        ev.Promoted(to="agent", revision=1, content=digest_of("x")),  # another content
    ],
)
def test_a_promotion_is_one_rung_of_the_current_revision(payload: ev.Promoted) -> None:
    """Skipping, lowering and endorsing what does not stand have no effect, signed or not."""
    for signed in (False, True):
        life = Life(provenance="auto").then("promoted", payload, actor="human" if signed else "agent", signed=signed)
        assert (life.effect, life.now.provenance) == (NONE, "auto")


def test_a_revocation_needs_a_reason_and_is_never_the_systems() -> None:
    """A reason in words or the note that put it right; memd itself calls nothing wrong, endorsed or not."""
    assert Life().then("revoked", ev.Reasoned()).effect == NONE
    assert Life().then("revoked", ev.Reasoned(by=OTHER)).now.revoked
    for start in ("agent", "human", "revoked"):
        life = states()[start].then("revoked", actor="system")
        assert (life.effect, life.now.proposals) == (NONE, ())


def test_a_revocation_touches_nothing_else() -> None:
    """valid_until, content, evidence, tags and anchors stand; open conflicts are closed."""
    life = Life(tags=("t",), anchors=(ev.Anchor(path="p"),)).then("superseded").then("conflict_opened")
    before = life.now
    life.then("revoked")
    changed = {"belief", "shelf", "revocations", "conflicts", "heads", "events"}
    for field in msgspec.structs.fields(before):
        if field.name not in changed:
            assert getattr(life.now, field.name) == getattr(before, field.name)
    assert life.now.conflicts == ()


def test_the_first_reason_of_a_fall_comes_first() -> None:
    """Further reasons are kept behind it; after a reinstatement the next fall begins anew."""
    first, second, third = (digest_of(words) for words in ("first", "second", "third"))
    life = Life().then("revoked", ev.Reasoned(reason=first)).then("revoked", ev.Reasoned(reason=second))
    assert [r.reason for r in life.now.revocations] == [first, second]
    life.then("reinstated").then("revoked", ev.Reasoned(reason=third))
    assert [r.reason for r in life.now.revocations] == [third]
    assert [r.reason for r in life.now.past_revocations] == [first, second]


def test_a_reinstatement_remembers_whose_revocation_it_lifted() -> None:
    """So that a person's revocation that an agent lifted can be told."""
    by_agent = states()["human revoked"].then("reinstated").now.reinstated
    assert by_agent is not None
    assert by_agent.revoked_by_person_at > 0
    assert not by_agent.signed
    plain = states()["revoked"].then("reinstated").now.reinstated
    assert plain is not None
    assert plain.revoked_by_person_at == 0


def test_superseding_opens_and_closes_validity() -> None:
    """valid_until is set with the currency and cleared with it; whatever stood on the axis before is gone."""
    life = Life().then("absorbed").then("superseded")
    assert (life.now.superseded_by, life.now.absorbed_by) == (OTHER, NO_UID)
    assert life.now.valid_until == life.events[-1].event.at
    life.then("absorbed")
    assert (life.now.superseded_by, life.now.absorbed_by, life.now.valid_until) == (NO_UID, OTHER, 0)
    life.then("superseded").then("unsuperseded")
    assert (life.now.superseded_by, life.now.valid_until) == (NO_UID, 0)


@pytest.mark.parametrize("type_", ["superseded", "absorbed", "corroborated", "conflict_opened"])
def test_a_note_does_nothing_to_itself(type_: str) -> None:
    """No note supersedes, absorbs, corroborates or contradicts itself, nor does nobody."""
    life = Life()
    whole = {"conflict_opened": ev.ConflictOpened(other=life.uid)}.get(type_, ev.ByNote(by=life.uid))
    assert life.then(type_, whole).effect == NONE
    if type_ != "conflict_opened":
        assert life.then(type_, ev.ByNote()).effect == NONE


def test_the_endorsed_wording_renders_until_the_new_one_is_signed() -> None:
    """A revision has its own class; the person's stays in place and the new one is proposed."""
    life = states()["human revised"]
    assert (life.now.revision, life.now.shown.content, life.now.provenance) == (2, CONTENT, "human")
    assert [p.act for p in life.now.proposals] == ["revise"]
    life.then("promoted", actor="human", signed=True)
    assert (life.now.shown.content, life.now.provenance) == (digest_of("new"), "human")


@pytest.mark.parametrize(
    "change", [{"expected_revision": 0}, {"expected_revision": 2}, {"provenance": "human"}, {"provenance": "owner"}]
)
def test_a_revision_starts_from_the_one_that_stands(change: dict[str, object]) -> None:
    """Two that start from one: the second has no effect; none is recorded as endorsed."""
    given: dict[str, object] = {"content": digest_of("x"), "summary": digest_of("x"), "expected_revision": 1}
    life = states()["principle"].then("revised", ev.Revised(**(given | change)))  # type: ignore[arg-type]
    assert (life.effect, life.now.revision) == (NONE, 1)


def test_a_confirmation_brings_dates_and_digests() -> None:
    """Anchors that the note has get their new digest, others are not added; only a person's date counts as a person's."""
    fresh = (ev.Anchor(path="p", digest=b"2" * 16), ev.Anchor(path="other", digest=b"3" * 16))
    life = Life(anchors=(ev.Anchor(path="p", digest=b"1" * 16),)).then("confirmed", ev.Confirmed(anchors=fresh))
    assert life.now.anchors == fresh[:1]
    assert (life.now.last_confirmed_at > 0, life.now.person_confirmed_at) == (True, 0)
    assert life.then("confirmed", actor="human", signed=True).now.person_confirmed_at > 0


def test_corroborations_count_each_note_once() -> None:
    """The same note again is no second voice."""
    life = Life().then("corroborated").then("corroborated")
    assert (life.effect, life.now.corroborations) == (NONE, (OTHER,))


def test_amended_fields_are_the_named_ones() -> None:
    """What an amendment does not name stands; an empty list is a list."""
    life = Life(tags=("t",), under="a", anchors=(ev.Anchor(path="p"),)).then("amended", ev.Amended(tags=(), under="b"))
    assert (life.now.tags, life.now.under, life.now.priority, len(life.now.anchors)) == ((), "b", "medium", 1)
    assert life.then("amended", ev.Amended(priority="urgent")).effect == NONE


@pytest.mark.parametrize(
    ("scope", "under", "new_scope", "new_under", "wider"),
    [
        ("repo:r", "", "global", "", True),
        ("repo:r", "", "repo:q", "", True),
        ("session:s", "", "repo:r", "", True),
        ("session:s", "", "session:t", "", True),
        ("repo:r", "a", "repo:r", "", True),
        ("repo:r", "a", "repo:r", "b", True),
        ("repo:r", "a", "repo:r", "ab", True),
        ("repo:r", "a", "repo:r", "a/b", False),
        ("repo:r", "", "repo:r", "a", False),
        ("repo:r", "", "session:s", "", False),
        ("global", "", "repo:r", "", False),
        ("global", "", "session:s", "", False),
    ],
)
def test_a_directive_widens_by_signature_alone(
    scope: str, under: str, new_scope: str, new_under: str, wider: bool
) -> None:
    """Narrowing is anybody's; holding somewhere new is a person's. Other kinds move freely."""
    change = ev.Amended(scope=new_scope, under=new_under)
    assert proof.widens(scope, under, new_scope, new_under) is wider
    life = Life(kind="directive", scope=scope, under=under).then("amended", change)
    assert life.effect == (NONE if wider else APPLIED)
    assert life.then("amended", change, actor="human", signed=True).now.scope == new_scope
    assert Life(scope=scope, under=under).then("amended", change).effect == APPLIED


def test_evidence_is_bound_once() -> None:
    """The same stretch again adds nothing."""
    life = Life().then("evidence_bound").then("evidence_bound")
    assert (life.effect, len(life.now.evidence)) == (NONE, 1)


def test_a_review_clears_the_causes_it_saw() -> None:
    """A flag raised meanwhile by another cause stays."""
    other = ev.ReviewFlagged(ancestor=OTHER, cause=b"D" * 16, what="superseded")
    life = states()["flagged"].then("review_flagged", other).then("reviewed")
    assert [flag.cause for flag in life.now.flags] == [b"D" * 16]


def test_forgotten_is_the_end() -> None:
    """Nothing that comes afterwards has an effect, signed or not."""
    for type_ in sorted(fold.TRANSITIONS):
        life = states()["forgotten"]
        before = life.now
        life.then(type_, actor="human", signed=True)
        assert life.effect == NONE
        assert axes(life.now) == axes(before)


def test_unknown_types_and_payloads_have_no_effect() -> None:
    """A newer memd's event, or a broken one, is kept and does nothing; it counts among the heads."""
    life = Life()
    for made in (
        event("levitated", life.uid, ev.Nothing()),
        event("revoked", life.uid, ev.Reasoned(reason=REASON), v=2),
        event("revoked", life.uid, ev.Reasoned(reason=REASON), v=0),
        event("promoted", life.uid, ev.Nothing()),
        event("key_enrolled", life.uid, ev.KeyEnrolled(key_id=b"k", public=b"p")),
    ):
        note, effect = fold.step(life.now, stored(made, hlc=9))
        assert effect == NONE
        assert note is not None
        assert axes(note) == axes(life.now)
        assert made.uid in note.heads
