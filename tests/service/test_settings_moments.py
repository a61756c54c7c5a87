"""Settings at the moments they are named for: each budget at its own, and a file that memd was kept out of."""

from collections.abc import Callable

import pytest

from memd_daemon import limits
from tests.service.desk import Desk, context_of
from tests.service.test_people import Person
from tests.service.test_settings import CAVEAT, HUNCH, RULE, change, signed


@pytest.fixture
def person(desk: Desk) -> Person:
    made = Person(desk)
    desk.clock.ms += (limits.ENROLMENT_TOLD_DAYS + 1) * limits.TIME_MS_PER_DAY  # no start tells of the key any more
    return made


def begun(desk: Desk) -> str:
    payload = desk.payload("SubagentStart", "s1", agent_id="a1", agent_type="general-purpose", prompt_id="p1")
    return context_of(desk.hook("subagent-start", payload))


MOMENTS: dict[str, Callable[[Desk], str]] = {
    "budget.prompt": lambda desk: context_of(desk.prompt("why is the importer slow, is it because of the locale?")),
    "budget.edit": lambda desk: context_of(desk.read("app.py")),
    "budget.subagent": begun,
}


@pytest.mark.parametrize("named", MOMENTS)
@pytest.mark.parametrize("asked", MOMENTS)
def test_a_budget_is_that_of_its_moment(desk: Desk, person: Person, named: str, asked: str) -> None:
    """With none, the moment tells nothing, or names the rule that it has no room for; the others tell as ever."""
    desk.start()
    desk.remember(RULE, kind="directive")
    desk.remember(CAVEAT, kind="gotcha", anchors=["app.py"])
    desk.remember(HUNCH)
    signed(desk, person, named, "0")
    told = MOMENTS[asked](desk)
    assert any(content in told for content in (RULE, CAVEAT, HUNCH)) == (named != asked)


def test_a_file_that_was_read_in_a_signed_silence_was_not_seen(desk: Desk, person: Person) -> None:
    """Kept out of the repository, memd does not know afterwards which files were worked at there: no agent is told of them."""
    desk.remember(CAVEAT, kind="gotcha", priority="high", anchors=["app.py"])
    signed(desk, person, "ignore", ".", how="add")
    desk.start()
    desk.read("app.py")
    signed(desk, person, "ignore", ".", how="remove")
    context = desk.daemon.parts.ledger.context("s1", "")
    assert context is not None
    assert (context.read, context.edited) == ((), ())
    assert CAVEAT not in begun(desk)


def test_where_work_goes_on_under_an_unsigned_silence_files_are_seen(desk: Desk) -> None:
    """What nobody signed hides nothing from what a person endorsed later on."""
    desk.remember(CAVEAT, kind="gotcha", priority="high", anchors=["app.py"])
    change(desk, "ignore", ".", how="add")
    desk.start()
    desk.read("app.py")
    change(desk, "ignore", ".", how="remove")
    assert CAVEAT in begun(desk)
