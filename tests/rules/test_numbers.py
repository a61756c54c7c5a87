"""The numbers that the page gives (delivery.md, "Budget" and the table of kinds), written down from it and not from the code."""

import pytest

from memd_daemon import limits
from memd_daemon.frames.envelope import closing
from memd_daemon.rules import budget_tokens, decide
from memd_hooks.events import Moment
from memd_hooks.harness import claude
from tests.rules.make import cost, make_now, make_one

BUDGETS = {
    Moment.SESSION_START: 2_000,
    Moment.POST_COMPACTION: 2_000,
    Moment.PROMPT_SUBMIT: 800,
    Moment.READ: 600,
    Moment.PRE_EDIT: 600,
    Moment.SUBAGENT_START: 600,
}


@pytest.mark.parametrize("moment", Moment)
def test_each_moment_has_its_budget(moment: Moment) -> None:
    """A moment that the page does not name has none."""
    assert budget_tokens(moment) == BUDGETS.get(moment, 0)


@pytest.mark.parametrize(("spent", "left"), [(0, 600), (3_400, 600), (3_401, 599), (3_999, 1), (4_000, 0), (9_000, 0)])
def test_all_subagents_of_a_turn_have_four_thousand(spent: int, left: int) -> None:
    """The last one what the others left of it."""
    assert budget_tokens(Moment.SUBAGENT_START, spent) == left


def test_revoked_directives_have_three_hundred() -> None:
    """Their lines alone, with the ends; one more would go beyond."""
    fallen = [make_one(i, kind="directive", revoked="because " * 4) for i in range(1, 40)]
    decision = decide(make_now(), fallen)
    taken = [cost(chosen.text) + 1 for chosen in decision.chosen]
    assert sum(taken) <= 300 < sum(taken) + taken[-1]


def test_ten_are_named_and_the_client_takes_so_much() -> None:
    """Of each client that memd has; where it may be late, a status waits no longer than a person notices."""
    assert closing(list(range(1, 13))).count("[") == 10
    assert claude.CAP_UNITS == 9_500
    assert claude.cost_units("a👍\u4e2d") == 4
    assert limits.LEFT_OUT_IDS_MAX == 10
