"""What a change that nobody signed does to a decision: never less of what a person endorsed; for the rest it counts."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memd_daemon.model.view import TombstoneView
from memd_daemon.rules import Candidate, Decision, Gate, GateEvidence, Situation, Terms, budget_tokens, decide
from memd_hooks.events import Moment
from tests.frames.make import MARCH_4
from tests.rules.make import cost, make_now, make_one, utf16_units
from tests.rules.test_pack import candidates_of

HIGH: dict[str, Any] = {"kind": "gotcha", "priority": "high"}


def told(decision: Decision) -> list[int]:
    return [chosen.candidate.view.id for chosen in decision.chosen]


def rules(decision: Decision) -> dict[int, str]:
    return {left.id: left.rule for left in decision.left_out}


@pytest.mark.parametrize("rule", ["paused", "ignored"])
def test_a_silence_leaves_out_what_nobody_endorsed(rule: str) -> None:
    """By its own name; a note that a person endorsed, and one that a person struck through, are told."""
    own = make_one(1, kind="directive", provenance="human", frame_class="human")
    other = make_one(2, kind="directive")
    struck = [
        make_one(id_, kind="directive", tombstone=TombstoneView(revoked_at=MARCH_4, reason="x", signed=signed))
        for id_, signed in ((3, True), (4, False))
    ]
    now = make_now(rest=Terms(budget_tokens=2000, silent=rule))
    decision = decide(now, [own, other, *struck])
    assert (told(decision), rules(decision)) == ([1, 3], {2: rule, 4: rule})


def test_the_gate_of_each_is_its_own() -> None:
    """An unsigned gate shuts out what nobody endorsed, and lets in what it opens for."""
    near, far = GateEvidence(cosine=0.7, weight=20.0), GateEvidence(cosine=0.3, weight=20.0)
    human: dict[str, Any] = {"provenance": "human", "frame_class": "human"}
    notes = [
        make_one(1, gate=near, **human),
        make_one(2, gate=near),
        make_one(3, gate=far, **human),
        make_one(4, gate=far),
    ]

    def at(cosine: float) -> set[int]:
        rest = Terms(budget_tokens=800, gate=Gate(cosine=cosine))
        return set(told(decide(make_now(Moment.PROMPT_SUBMIT, rest=rest), notes)))

    assert at(0.9) == {1}
    assert at(0.25) == {1, 2, 4}
    assert set(told(decide(make_now(Moment.PROMPT_SUBMIT), notes))) == {1, 2}


def test_the_hold_of_each_is_its_own() -> None:
    """Switched off by nobody who signed, an endorsed caveat holds the edit, and another does not."""
    rest = Terms(budget_tokens=600, hold_enabled=False)
    own = make_one(1, **HIGH, provenance="human", frame_class="human")
    other = make_one(2, **HIGH)
    held = decide(make_now(Moment.PRE_EDIT, rest=rest), [own, other])
    assert held.hold is not None
    assert (held.hold.view.id, rules(held)) == (1, {2: "after-the-hold"})
    assert decide(make_now(Moment.PRE_EDIT, rest=rest), [other]).hold is None


def test_what_corrects_a_note_that_a_person_struck_through_is_as_sure_as_that() -> None:
    """Nobody endorsed it; but the tombstone does not stand without it, and an unsigned budget would silence a person's judgment."""
    struck = TombstoneView(revoked_at=MARCH_4, reason="contradicted by [2]", signed=True)
    fallen = make_one(1, kind="gotcha", tombstone=struck, replaced_by=2)
    correction, other = make_one(2, kind="gotcha"), make_one(3, kind="gotcha")
    now = make_now(Moment.READ, rest=Terms(budget_tokens=0))
    decision = decide(now, [fallen, correction, other])
    assert (told(decision), rules(decision)) == ([2, 1], {3: "budget"})


def test_a_raised_budget_takes_nobodys_place() -> None:
    """A long note that only the raised budget has room for stands behind the endorsed one that always fitted."""
    own = make_one(1, score=0.1, provenance="human", frame_class="human", content="word " * 150)
    long = make_one(2, score=0.9, content="word " * 300)
    now = make_now(Moment.PROMPT_SUBMIT, budget_tokens=300)
    assert told(decide(now, [own, long])) == [1]
    assert told(decide(msgspec.structs.replace(now, budget_tokens=450), [own, long])) == [2]
    raised = msgspec.structs.replace(now, rest=Terms(budget_tokens=450))
    assert told(decide(raised, [own, long])) == [1]


@st.composite
def under_rest(draw: st.DrawFn) -> Situation:
    """A moment in which something unsigned bears on the rest. A person's hold is on, or nobody unsigned turns it on."""
    hold = draw(st.booleans())
    rest = Terms(
        budget_tokens=draw(st.integers(0, 900)),
        gate=Gate(cosine=draw(st.floats(0, 1)), idf_share=draw(st.floats(0, 1))),
        hold_enabled=hold and draw(st.booleans()),
        silent=draw(st.sampled_from(["", "", "paused", "ignored"])),
    )
    changes: dict[str, Any] = {
        "budget_tokens": draw(st.integers(0, 900)),
        "cap_units": draw(st.integers(0, 4_000)),
        "hold_enabled": hold,
        "rest": rest,
    }
    return make_now(draw(st.sampled_from(list(Moment))), **changes)


@settings(max_examples=200, deadline=None)
@given(under_rest(), candidates_of())
def test_no_unsigned_change_keeps_an_endorsed_note_back(now: Situation, candidates: list[Candidate]) -> None:
    """Whatever is endorsed and told without the change is told with it; the block stays within the larger of the two budgets."""
    always = decide(msgspec.structs.replace(now, rest=None), candidates)
    decision = decide(now, candidates)
    endorsed = {c.candidate.view.id for c in always.chosen if c.candidate.endorsed}
    assert now.rest is not None
    if not now.rest.silent:
        assert endorsed <= set(told(decision))
    assert decision.tokens <= max(now.budget_tokens, now.rest.budget_tokens)
    assert utf16_units(decision.text) <= now.cap_units or not decision.text
    assert decision.tokens == (cost(decision.text) if decision.text else 0)
    if now.rest.silent:
        assert all(chosen.candidate.endorsed for chosen in decision.chosen)


@settings(max_examples=100, deadline=None)
@given(under_rest(), candidates_of())
def test_a_silence_makes_room_and_takes_none(now: Situation, candidates: list[Candidate]) -> None:
    """Under a silence the endorsed notes are decided as if there were no others."""
    silenced = msgspec.structs.replace(now, rest=Terms(budget_tokens=now.budget_tokens, silent="paused"))
    own = [one for one in candidates if one.endorsed]
    assert decide(silenced, candidates).text == decide(msgspec.structs.replace(now, rest=None), own).text


@pytest.mark.parametrize(
    ("trigger", "spent", "setting", "budget"),
    [
        (Moment.PROMPT_SUBMIT, 0, 100, 100),
        (Moment.SUBAGENT_START, 3_900, 600, 100),
        (Moment.SUBAGENT_START, 0, 5_000, 4_000),
        (Moment.STOP, 0, None, 0),
    ],
)
def test_a_setting_takes_the_place_of_the_default(
    trigger: Moment, spent: int, setting: int | None, budget: int
) -> None:
    """The share of all of a turn's subagents bounds it as before."""
    assert budget_tokens(trigger, spent, setting) == budget
