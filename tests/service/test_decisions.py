"""A decision that was taken before is told again only where it would be taken again."""

from typing import Any

import pytest

from memd_daemon.rules import Decision, decide
from memd_daemon.service.decisions import Decisions
from memd_hooks.events import Moment
from tests.rules.make import make_now, make_one

FOUND = tuple(make_one(n, kind="gotcha") for n in (1, 2, 3))
UIDS = tuple(one.view.note.uid for one in FOUND)

OTHERWISE: list[dict[str, Any]] = [
    {"standing": {UIDS[0]: b"another rendering"}},
    {"sent_this_turn": frozenset(UIDS[:1])},
    {"held_for": frozenset(UIDS)},
    {"held_this_turn": True},
    {"budget_tokens": 1},
    {"cap_units": 10},
    {"trigger": Moment.READ},
    {"paths": ("other.py",)},
    {"with_person": False},
]
"""What a decision depends on beside its candidates."""


def told(decision: Decision) -> tuple[Any, ...]:
    return decision.text, decision.hold, decision.left_out


@pytest.mark.parametrize("otherwise", OTHERWISE, ids=lambda one: "".join(one))
def test_nothing_that_counts_is_overlooked(otherwise: dict[str, Any]) -> None:
    """Asked about the very same notes in one moment, another, and the first again: each time what `decide` says."""
    decisions = Decisions()
    for changes in ({}, otherwise, {}, otherwise):
        now = make_now(**{"trigger": Moment.PRE_EDIT, **changes})
        assert told(decisions.of("claude", now, FOUND)) == told(decide(now, FOUND))


def test_a_mapping_in_another_ones_place_is_another() -> None:
    """What stands is known by being the same object; an equal one is looked through, and gives the same decision."""
    decisions, standing = Decisions(), {UIDS[0]: b"r"}
    first = decisions.of("claude", make_now(trigger=Moment.PRE_EDIT, standing=standing), FOUND)
    assert decisions.of("claude", make_now(trigger=Moment.PRE_EDIT, standing=standing), FOUND) is first
    assert decisions.of("claude", make_now(trigger=Moment.PRE_EDIT, standing=dict(standing)), FOUND) is first
    assert decisions.of("claude", make_now(trigger=Moment.PRE_EDIT, standing=standing), list(FOUND)) is first
    assert decisions.of("claude", make_now(trigger=Moment.PRE_EDIT, standing={}), FOUND) is not first
