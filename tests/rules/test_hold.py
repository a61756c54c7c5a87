"""An edit is held once, for a gotcha worth it, and never twice."""

from typing import Any

import pytest

from memd_daemon.frames.hold import HELD
from memd_daemon.rules import decide
from memd_hooks.events import Moment
from tests.rules.make import make_now, make_one

HIGH: dict[str, Any] = {"kind": "gotcha", "priority": "high"}


def test_a_high_gotcha_holds_the_edit_and_says_so() -> None:
    """The reason is the block with the note, closed by memd's own line and the sentence."""
    decision = decide(make_now(Moment.PRE_EDIT), [make_one(**HIGH), make_one(48, kind="gotcha")])
    assert decision.hold == make_one(**HIGH)
    assert [chosen.candidate.view.id for chosen in decision.chosen] == [47]
    assert decision.text.startswith("memd: 1 note of unendorsed memory")
    assert decision.text.endswith(f"\nmemd: end.{HELD}")
    assert [(left.id, left.rule) for left in decision.left_out] == [(48, "after-the-hold")]


def test_all_high_gotchas_come_before_the_edit() -> None:
    """One hold carries each of them; the first is the one it is held for."""
    decision = decide(make_now(Moment.PRE_EDIT), [make_one(1, **HIGH), make_one(2, **HIGH)])
    assert [chosen.candidate.view.id for chosen in decision.chosen] == [2, 1]
    assert decision.hold is not None
    assert decision.hold.view.id == 2


@pytest.mark.parametrize(
    ("note", "now"),
    [
        ({"priority": "medium"}, {}),
        ({"revoked": "x"}, {}),
        ({}, {"held_this_turn": True}),
        ({}, {"permission_mode": "plan"}),
        ({}, {"hold_enabled": False}),
        ({}, {"trigger": Moment.READ}),
        ({}, {"standing": {(47).to_bytes(16, "big"): bytes(16)}}),
    ],
)
def test_otherwise_the_note_comes_with_the_result(note: dict[str, Any], now: dict[str, Any]) -> None:
    """Not high, revoked, a second hold of the turn, plan mode, switched off, a read, known here in an older rendering."""
    decision = decide(make_now(**{"trigger": Moment.PRE_EDIT, **now}), [make_one(**{**HIGH, **note})])
    assert decision.hold is None
    assert len(decision.chosen) == 1
    assert HELD not in decision.text


@pytest.mark.parametrize("now", [{"with_person": False}, {"sent_this_turn": frozenset({(47).to_bytes(16, "big")})}])
def test_some_edits_are_left_alone(now: dict[str, Any]) -> None:
    """Without a person, or where the note was said in this turn, nothing comes at all."""
    decision = decide(make_now(Moment.PRE_EDIT, **now), [make_one(**HIGH)])
    assert (decision.hold, decision.text) == (None, "")


def test_the_very_next_same_call_passes() -> None:
    """What was held for has been said, so the repeated call gets the rest, as context."""
    first = decide(make_now(Moment.PRE_EDIT), [make_one(**HIGH), make_one(48, kind="gotcha")])
    said = {chosen.candidate.view.note.uid: chosen.digest for chosen in first.chosen}
    again = make_now(Moment.PRE_EDIT, held_this_turn=True, sent_this_turn=frozenset(said), standing=said)
    second = decide(again, [make_one(**HIGH), make_one(48, kind="gotcha")])
    assert second.hold is None
    assert [chosen.candidate.view.id for chosen in second.chosen] == [48]
    next_turn = decide(make_now(Moment.PRE_EDIT, standing=said), [make_one(**HIGH)])
    assert next_turn == decide(make_now(Moment.PRE_EDIT, standing=said), [make_one(**HIGH)])
    assert (next_turn.hold, next_turn.text) == (None, "")


def test_a_note_that_does_not_fit_holds_nothing() -> None:
    """No edit is held for something that cannot be said."""
    decision = decide(make_now(Moment.PRE_EDIT, budget_tokens=20), [make_one(**HIGH)])
    assert (decision.hold, decision.text) == (None, "")
    assert [left.rule for left in decision.left_out] == ["budget"]
