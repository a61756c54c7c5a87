"""A decision that was taken before is told again only where it would be taken again."""

from typing import Any

import pytest

from memd_daemon.frames.digest import rendering_digest
from memd_daemon.rules import Decision, Gate, GateEvidence, Situation, Terms, decide
from memd_daemon.service.decisions import Decisions
from memd_hooks.events import Moment
from tests.frames.make import TAGS
from tests.rules.make import make_now, make_one

FOUND = (
    *(make_one(n, kind="gotcha") for n in (1, 2, 3)),
    make_one(4, kind="gotcha", priority="high", changed="a.py", matched_path="a.py"),
    make_one(5, kind="gotcha", under="lib"),
    make_one(6, kind="gotcha", scope="session:s2"),
    make_one(7, kind="gotcha", scope="repo:inner"),
    make_one(8, kind="finding", gate=GateEvidence(cosine=0.9, weight=100.0)),
    make_one(9, kind="directive", under="lib"),
)
UIDS = tuple(one.view.note.uid for one in FOUND)

OTHERWISE: dict[str, dict[str, Any]] = {
    "standing": {"standing": {UIDS[0]: rendering_digest(FOUND[0].view, TAGS)}},
    "sent_this_turn": {"sent_this_turn": frozenset(UIDS[:1])},
    "held_for": {"held_for": frozenset(UIDS)},
    "held_this_turn": {"held_this_turn": True},
    "hold_enabled": {"hold_enabled": False},
    "permission_mode": {"permission_mode": "plan"},
    "budget_tokens": {"budget_tokens": 1},
    "cap_units": {"cap_units": 10},
    "rest": {"rest": Terms(budget_tokens=600, silent="paused")},
    "trigger": {"trigger": Moment.READ},
    "gate": {"gate": Gate(cosine=0.95)},
    "paths": {"paths": ("lib/a.py",)},
    "directory": {"directory": "src"},
    "repo": {"repo": "repo:elsewhere"},
    "around": {"around": ("repo:inner",)},
    "session": {"session": "s2"},
    "continues": {"continues": ("s2",)},
    "with_person": {"with_person": False},
    "edited_here": {"edited_here": frozenset({"a.py"})},
}
"""What a decision depends on beside its candidates, each made so that it counts."""

AT = {"gate": Moment.PROMPT_SUBMIT, "directory": Moment.SESSION_START}
"""When, where it counts at no edit."""

OF_ITS_CLIENT = {"tags", "cost", "units"}
"""The client's name, by which decisions are known apart, stands for its units; the others are the daemon's, and never change."""


def told(decision: Decision) -> tuple[Any, ...]:
    digests = tuple(chosen.digest for chosen in decision.chosen)
    return decision.text, decision.hold, digests, set(decision.left_out)


def test_all_that_a_moment_is_made_of_is_looked_at_here() -> None:
    """A rule that comes to look at more has to say so in the key, and a row below tries it."""
    assert {*OTHERWISE, *OF_ITS_CLIENT} == set(Situation.__struct_fields__)


@pytest.mark.parametrize("name", OTHERWISE)
def test_nothing_that_counts_is_overlooked(name: str) -> None:
    """Asked about the very same notes in one moment, another, and the first again: each time what `decide` says."""
    decisions, said = Decisions(), []
    for changes in ({}, OTHERWISE[name], {}, OTHERWISE[name]):
        now = make_now(**{"trigger": AT.get(name, Moment.PRE_EDIT), **changes})
        said.append(told(decide(now, FOUND)))
        assert told(decisions.of("claude", now, FOUND)) == said[-1]
    assert said[0] != said[1], "the row changes nothing"


def test_two_clients_share_no_decision() -> None:
    """Their units differ: what one takes is too much for the other."""
    decisions = Decisions()
    for name, units in (("claude", len), ("other", lambda text: 100 * len(text))):
        now = make_now(trigger=Moment.READ, units=units, cap_units=2_000)
        assert told(decisions.of(name, now, FOUND)) == told(decide(now, FOUND))


def test_a_mapping_in_another_ones_place_is_another() -> None:
    """What stands is known by being the same object; an equal one is looked through, and gives the same decision."""
    decisions, standing = Decisions(), {UIDS[0]: b"r"}
    first = decisions.of("claude", make_now(trigger=Moment.PRE_EDIT, standing=standing), FOUND)
    assert decisions.of("claude", make_now(trigger=Moment.PRE_EDIT, standing=standing), FOUND) is first
    assert decisions.of("claude", make_now(trigger=Moment.PRE_EDIT, standing=dict(standing)), FOUND) is first
    assert decisions.of("claude", make_now(trigger=Moment.PRE_EDIT, standing=standing), list(FOUND)) is first
    assert decisions.of("claude", make_now(trigger=Moment.PRE_EDIT, standing={}), FOUND) is not first
