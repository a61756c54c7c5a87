"""Numbers that the page gives beside the budgets (delivery.md), written down from it and not from the code."""

from memd_daemon.frames.envelope import closing
from memd_daemon.rules import decide
from memd_hooks.harness import claude
from tests.rules.make import cost, make_now, make_one


def test_revoked_directives_have_three_hundred() -> None:
    """Their lines alone, with the ends; one more would go beyond."""
    fallen = [make_one(i, kind="directive", revoked="because " * 4) for i in range(1, 40)]
    decision = decide(make_now(), fallen)
    taken = [cost(chosen.text) + 1 for chosen in decision.chosen]
    assert sum(taken) <= 300 < sum(taken) + taken[-1]


def test_ten_are_named() -> None:
    """The others are counted."""
    assert closing(list(range(1, 13))).count("[") == 10


def test_the_client_takes_so_many_of_its_units() -> None:
    """UTF-16: two for an emoji."""
    assert claude.CAP_UNITS == 9_500
    assert claude.cost_units("a👍\u4e2d") == 4
