"""What cannot be told at a prompt takes no place of what can: a prompt weighs so many findings, and no more."""

from collections.abc import Callable

import pytest

from tests.service.bulk import Planted, plant
from tests.service.desk import Desk, context_of
from tests.service.matrix import told

ASKING = "why are zq_alpha() and zq_beta() and zq_gamma() retried?"
NEAR = "zq_alpha() and zq_beta() and zq_gamma() are retried, number {}."
FARTHER = (
    "There is a queue, and it is where zq_alpha() and zq_beta() and zq_gamma() wait before they are retried by the worker of "
    "the night."
)


def built_on_a_hunch(desk: Desk) -> None:
    """Of class auto by what they are built on."""
    source = desk.remember("Nobody reviewed this.", provenance="auto").id
    for number in range(25):
        desk.remember(NEAR.format(number), derived_from=[str(source)])


def a_burst(desk: Desk) -> None:
    """Held from push until somebody looks."""
    for number in range(25):
        desk.remember(NEAR.format(number), env={"CLAUDE_CODE_SESSION_ID": "s1"})


def told_soon(desk: Desk) -> None:
    """After two prompts about them all of them stand in the context."""
    plant(desk, (Planted(content=NEAR.format(number)) for number in range(20)))


@pytest.mark.parametrize("others", [built_on_a_hunch, a_burst, told_soon])
def test_what_cannot_be_told_takes_no_place(desk: Desk, others: Callable[[Desk], None]) -> None:
    """Twenty that are nearer, none of which may be told any more: the one behind them is told, as it would be alone; once."""
    for session in ("s1", "s2"):
        desk.start(session)
    id_ = desk.remember(FARTHER).id
    others(desk)
    came = [told(context_of(desk.prompt(ASKING, "s2", f"prompt {number}"))) for number in range(3)]
    assert sum(ids.count(id_) for ids in came) == 1
