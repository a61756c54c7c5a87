"""Settings at the moments they are named for: each budget at its own, and a file that memd was kept out of."""

from collections.abc import Callable

import pytest

from memd_daemon import limits
from tests.service.desk import Desk, context_of, reason_of
from tests.service.test_people import Person
from tests.service.test_settings import CAVEAT, HUNCH, OWN_CAVEAT, RULE, change, endorsed, signed


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


def test_an_unsigned_budget_does_not_touch_what_was_endorsed(desk: Desk, person: Person) -> None:
    """At 500 tokens a start still brings every endorsed rule that 2,000 bring; of the others what fits."""
    rules = [person.rule(f"Rule {n}: " + "never touch the generated files of the build. " * 6) for n in range(12)]
    desk.remember("Also: " + "look at the other generated files of the build. " * 6, kind="directive")
    always = context_of(desk.start("s1"))
    change(desk, "budget.session_start", "500")
    small = context_of(desk.start("s2"))
    assert all((f"[{id_}]" in always) == (f"[{id_}]" in small) for id_ in rules)
    assert "Also: look" in always
    assert "Also: look" not in small
    change(desk, "budget.session_start", how="unset")
    signed(desk, person, "budget.session_start", "500")
    smallest = context_of(desk.start("s3"))
    assert sum(f"[{id_}] DIRECTIVE" in smallest for id_ in rules) < sum(f"[{id_}] DIRECTIVE" in always for id_ in rules)


def test_an_unsigned_budget_raised_lets_nothing_crowd_out_an_endorsed_note(desk: Desk, person: Person) -> None:
    """A rule of an AI session that fits only the raised budget takes nobody's place."""
    person.rule(RULE)
    for n in range(6):
        desk.remember(
            f"{n}: " + "look at the generated files of the build before anything else. " * 25, kind="directive"
        )
    change(desk, "budget.session_start", "8000")
    told = context_of(desk.start())
    assert RULE in told


@pytest.mark.parametrize(("key", "value"), [("budget.edit", "0"), ("hold", "off")])
def test_an_endorsed_caveat_holds_its_edit_all_the_same(desk: Desk, person: Person, key: str, value: str) -> None:
    """The unendorsed one does not any more."""
    endorsed(desk, person, OWN_CAVEAT, kind="gotcha", priority="high", anchors=["app.py"])
    desk.remember(CAVEAT, kind="gotcha", priority="high", anchors=["other.py"])
    desk.start()
    change(desk, key, value)
    assert OWN_CAVEAT in reason_of(desk.edit("app.py"))
    assert reason_of(desk.edit("other.py", prompt_id="p2")) == ""


def test_a_signed_hold_off_holds_nothing(desk: Desk, person: Person) -> None:
    """The caveat then comes with the edit's result."""
    endorsed(desk, person, OWN_CAVEAT, kind="gotcha", priority="high", anchors=["app.py"])
    signed(desk, person, "hold", "off")
    desk.start()
    out = desk.edit("app.py")
    assert reason_of(out) == ""
    assert OWN_CAVEAT in context_of(out)


@pytest.mark.parametrize(("entry", "is_held"), [("cli", True), ("", True), ("sdk-cli", False)])
def test_an_interactive_hold_leaves_headless_runs_alone(desk: Desk, entry: str, is_held: bool) -> None:
    """A run without a person would only lose a turn by it."""
    desk.remember(CAVEAT, kind="gotcha", priority="high", anchors=["app.py"])
    change(desk, "hold", "interactive")
    env = f"CLAUDE_CODE_ENTRYPOINT={entry}\n".encode() if entry else b""
    desk.start(env=env)
    assert bool(reason_of(desk.edit("app.py"))) is is_held


@pytest.mark.parametrize(("value", "is_told"), [("0.3", True), ("1", False)])
def test_the_gate_is_a_setting(desk: Desk, value: str, is_told: bool) -> None:
    """Where few words are enough the prompt brings the finding, where all are needed it does not."""
    desk.remember("The nightly import of the ledger is slow because of the disk of the staging server.")
    change(desk, "gate.cosine", "1")
    change(desk, "gate.idf_share", value)
    desk.start()
    told = desk.prompt("is the nightly import of the ledger slow because of a disk, or of the weather in Lisbon?")
    assert ("nightly import" in told) is is_told
