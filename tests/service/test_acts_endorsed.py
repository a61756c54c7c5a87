"""Acts on what a person endorsed: who may carry them out, what is proposed instead, and what a signature brings back."""

import pytest

from memd_client import api
from memd_daemon import errors
from tests.service.desk import Desk, context_of
from tests.service.test_acts import REASON, commits, endorsed, note, sound
from tests.service.test_people import Person


@pytest.fixture
def person(desk: Desk) -> Person:
    return Person(desk)


PERSON_ONLY = [
    ("revoke", {"reason": REASON}, "revoke", {"belief": "revoked"}),
    ("supersede", {"by": "{other}"}, "supersede", {"currency": "superseded"}),
    ("absorb", {"by": "{other}"}, "absorb", {"currency": "absorbed"}),
    ("archive", {"reason": REASON}, "archive", {"shelf": "archived"}),
    ("amend", {"priority": "high"}, "change", {}),
    ("done", {}, "close", {"task": "closed"}),
]


@pytest.mark.parametrize(("act", "words", "proposal", "change"), PERSON_ONLY, ids=[row[0] for row in PERSON_ONLY])
def test_what_a_person_endorsed_only_a_person_changes(
    desk: Desk, person: Person, act: str, words: dict[str, str], proposal: str, change: dict[str, str]
) -> None:
    """Unsigned it is one proposal and one warning, and nothing else of it; signed it is done and settles the proposal."""
    kind = "task" if act == "done" else "finding"
    made = endorsed(desk, person, "Deploys go out on Tuesdays.", kind=kind)
    other = desk.remember("Deploys go out on any day.").id
    words = {name: value.format(other=other) for name, value in words.items()}
    before = note(desk, made)
    done = desk.act(act, made, **words)
    assert done.effect == "proposed"
    assert any("endorsed by the user" in told for told in done.told)
    after = note(desk, made)
    assert [(p.act, p.by) for p in after.proposals] == [(proposal, other if "by" in words else 0)]
    if act == "amend":
        assert [p.reason for p in after.proposals] == ["priority medium -> high"]  # what a person is asked about
    assert (after.state, after.conflicts, after.priority, after.content) == (
        before.state, before.conflicts, before.priority, before.content,
    )  # fmt: skip
    told = desk.recall("deploys on tuesdays").text
    assert f"WARNING: somebody at the command line proposed to {proposal} this on" in told
    planned = desk.act(act, made, sign=True, **words)
    assert planned.effect == "planned"
    assert planned.plan is not None
    assert all(event.change and event.act == act for event in planned.plan.events)
    person.seal(planned.plan)
    signed = note(desk, made)
    assert signed.proposals == []
    state = {"belief": signed.state.belief, "currency": signed.state.currency, "shelf": signed.state.shelf}
    state["task"] = signed.state.task
    assert change.items() <= state.items()
    assert signed.provenance == "human"
    assert sound(desk)


@pytest.mark.parametrize(
    ("before", "act", "kind"),
    [
        ("archive", "restore-note", "finding"),
        ("supersede", "unsupersede", "finding"),
        ("absorb", "release", "finding"),
        ("done", "reopen", "task"),
    ],
)
def test_what_a_person_put_away_only_a_person_brings_back(
    desk: Desk, person: Person, before: str, act: str, kind: str
) -> None:
    """Refused unsigned, with what to do, and nothing is recorded; signed it stands as it stood before."""
    made = endorsed(desk, person, "Deploys go out on Tuesdays.", kind=kind)
    other = str(desk.remember("Deploys go out on any day.").id)
    stood = note(desk, made).state
    person.seal(desk.act(before, made, sign=True, **({"by": other} if before in ("supersede", "absorb") else {})).plan)
    away, count = note(desk, made).state, commits(desk)
    with pytest.raises(errors.NotSigner):
        desk.act(act, made)
    assert (note(desk, made).state, commits(desk)) == (away, count)
    person.seal(desk.act(act, made, sign=True).plan)
    assert away != stood == note(desk, made).state
    assert sound(desk)


@pytest.mark.parametrize(("before", "act"), [("supersede", "unsupersede"), ("absorb", "release")])
def test_what_nobody_endorsed_anybody_brings_back(desk: Desk, before: str, act: str) -> None:
    """What a session put away, a session takes back."""
    made, other = desk.remember("Deploys go out on Tuesdays.").id, desk.remember("Deploys go out on any day.").id
    desk.act(before, made, by=str(other))
    assert desk.act(act, made).effect == "applied"
    assert note(desk, made).state.currency == "current"


def test_a_revocation_is_taken_back_signed_or_not(desk: Desk, person: Person) -> None:
    """Anybody may reinstate; a person's signature is asked for where one can be given, and says who did it."""
    made = endorsed(desk, person, "Deploys go out on Tuesdays.")
    for sign in (False, True):
        person.seal(desk.act("revoke", made, reason=REASON, sign=True).plan)
        answer = desk.act("reinstate", made, sign=sign)
        if sign:
            person.seal(answer.plan)
        assert note(desk, made).state.belief == "held"
    last = desk.ask(api.Log(ref=str(made))).events[-1]
    assert (last.signed, last.actor) == (True, "human")
    assert sound(desk)


def test_a_person_who_reinstates_gives_the_rule_its_imperative_back(desk: Desk, person: Person) -> None:
    """An agent's reinstatement brings the words back with a warning; a signed one brings back the rule."""
    rule = person.rule()
    person.seal(desk.act("revoke", rule, reason=REASON, sign=True).plan)
    person.seal(desk.act("reinstate", rule, sign=True).plan)
    told = context_of(desk.start())
    assert "DIRECTIVE (standing rule from the user" in told
    assert "WARNING" not in told


def test_an_act_that_was_overtaken_is_not_signed(desk: Desk, person: Person) -> None:
    """Between the plan and the signature the note was changed by another act of the person: nothing is recorded."""
    made = endorsed(desk, person, "Deploys go out on Tuesdays.", tags=["a"])
    plan = desk.act("amend", made, tags=["b"], sign=True).plan
    person.seal(desk.act("amend", made, tags=["c"], sign=True).plan)
    before = commits(desk)
    with pytest.raises(errors.ChangedMeanwhile):
        person.seal(plan)
    assert commits(desk) == before
    assert note(desk, made).tags == ["a", "c"]


def test_what_was_built_meanwhile_is_flagged_too(desk: Desk, person: Person) -> None:
    """A descendant that came between the plan and the signature."""
    made = endorsed(desk, person, "Deploys go out on Tuesdays.")
    plan = desk.act("revoke", made, reason=REASON, sign=True).plan
    leaf = desk.remember("So freeze on Mondays.", derived_from=[str(made)]).id
    person.seal(plan)
    assert [(f.id, f.what) for f in note(desk, leaf).review] == [(made, "revoked")]


@pytest.mark.parametrize(("how", "mark"), [("a_wins", "revoked"), ("merged", "absorbed")])
def test_a_conflict_that_a_person_settles_is_signed_on_both_sides(
    desk: Desk, person: Person, how: str, mark: str
) -> None:
    """What befalls the other note is that person's decision too, whatever its class: nothing says that an agent did it."""
    made = endorsed(desk, person, "Deploys go out on Tuesdays.")
    other = desk.remember("Deploys go out on any day.", contradicts=str(made)).id
    plan = desk.act("resolve", made, by=str(other), resolution=how, reason=REASON, sign=True).plan
    assert plan is not None
    assert sorted(event.id for event in plan.events) == [made, other, other]
    assert {event.scope_name for event in plan.events} == {str(desk.repo)}
    person.seal(plan)
    events = desk.ask(api.Log(ref=str(other))).events
    assert [(e.actor, e.signed) for e in events if e.type == mark] == [("human", True)]
    if how == "a_wins":
        assert f"  revoked 2026-03-04 by [{made}] (human, signed): {REASON}" in desk.ask(api.Show(ref=str(other))).text
    assert sound(desk)


def test_a_revocation_beside_an_endorsement_says_so(desk: Desk, person: Person) -> None:
    """Endorsed and contradicting an agent's note in one commit: the revocation is unsigned, and what is beside it is told."""
    old = desk.remember("Deploys go out on any day.").id
    made = endorsed(desk, person, "Deploys go out on Tuesdays.", contradicts=str(old))
    told = desk.ask(api.Show(ref=str(old))).text
    who = f"command line, in one commit with what the user signed on [{made}]"
    assert f"  revoked 2026-03-04 by [{made}] ({who}): " in told
    third = desk.remember("The lamp is green.").id
    desk.remember("The lamp is red.", contradicts=str(third))
    assert "in one commit" not in desk.ask(api.Show(ref=str(third))).text
