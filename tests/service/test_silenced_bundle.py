"""A start's bundle that a silence nobody signed cuts short: its part is told once, and the rest once that is over."""

from collections.abc import Callable
from pathlib import Path

import pytest

from memd_client import api
from memd_daemon import limits
from tests.service.desk import Desk, context_of, make_repo
from tests.service.test_people import Person
from tests.service.test_settings import HUNCH, RULE, change, endorsed, signed

CAVEAT = "add() is called with strings by the importer: keep it duck-typed."
MANY = 14  # of which two thousand tokens have room for some


@pytest.fixture
def person(desk: Desk) -> Person:
    made = Person(desk)
    desk.clock.ms += (limits.ENROLMENT_TOLD_DAYS + 1) * limits.TIME_MS_PER_DAY  # no start tells of the key any more
    return made


def by_pause(desk: Desk) -> Callable[[], object]:
    change(desk, "pause", "on")
    return lambda: change(desk, "pause", how="unset")


def by_list(desk: Desk) -> Callable[[], object]:
    change(desk, "ignore", ".", how="add")
    return lambda: change(desk, "ignore", ".", how="remove")


def by_other_list(desk: Desk) -> Callable[[], object]:
    change(desk, "only", str(make_repo(desk.repo.parent / "elsewhere")))
    return lambda: change(desk, "only", how="unset")


SILENCES = pytest.mark.parametrize("silence", [by_pause, by_list, by_other_list])
Silence = Callable[[Desk], Callable[[], object]]


def many_rules(person: Person) -> list[int]:
    return [person.rule(f"Rule {n}: " + "never touch the generated files of the build. " * 25) for n in range(MANY)]


def later(desk: Desk) -> None:
    desk.clock.ms += limits.OFFER_OPEN_MS + 1


def said_later(desk: Desk, number: int, session: str = "s1") -> list[str]:
    """What a prompt, a read, a command and an edit of a turn bring, each after the time in which a receipt may come."""
    turn, told = f"later-{number}", []
    for ask in (
        lambda: desk.prompt(f"and on with {number}", session=session, prompt_id=turn),
        lambda: desk.read("other.py", session=session, prompt_id=turn),
        lambda: desk.result("Bash", {"command": "make"}, {"stdout": "all good", "stderr": ""}, session, prompt_id=turn),
        lambda: desk.edit("other.py", session=session, prompt_id=turn),
    ):
        later(desk)
        told.append(ask())
    return told


@SILENCES
def test_what_had_no_room_does_not_come_with_every_hook(desk: Desk, person: Person, silence: Silence) -> None:
    """As in a start that nobody silenced: one budget, and what did not fit is named once."""
    many_rules(person)
    desk.remember(HUNCH, kind="directive")
    silence(desk)
    told = context_of(desk.start())
    assert "more qualified and did not fit" in told
    assert HUNCH not in told
    assert said_later(desk, 1) == said_later(desk, 2) == [""] * 4
    assert len(desk.ask(api.Deliveries()).deliveries) == 1


def test_the_name_of_a_rule_that_can_never_fit_comes_once(desk: Desk, person: Person) -> None:
    """Where that line is all that the start is told."""
    signed(desk, person, "budget.session_start", "500")
    id_ = person.rule("Keep the importer's stages apart from each other, whatever they share. " * 26)
    by_pause(desk)
    assert f"[{id_}]" in context_of(desk.start())
    assert said_later(desk, 1) == [""] * 4


@SILENCES
def test_the_rest_comes_once_it_is_over_and_no_more_than_once(desk: Desk, person: Person, silence: Silence) -> None:
    """What was told stands, so the first hook after it brings what was kept back alone."""
    person.rule(RULE)
    desk.remember(HUNCH, kind="directive")
    end = silence(desk)
    assert RULE in context_of(desk.start())
    assert said_later(desk, 1) == [""] * 4
    end()
    desk.clock.ms += 2 * limits.TIME_MS_PER_DAY  # nothing is told of it any more
    told = context_of(desk.prompt("after", prompt_id="p9"))
    assert HUNCH in told
    assert RULE not in told
    assert said_later(desk, 2) == [""] * 4


def test_a_command_brings_what_is_owed_after_a_pause(desk: Desk, person: Person) -> None:
    """Any hook that can inject, also where the start itself had nothing to tell."""
    desk.remember(HUNCH, kind="directive")
    end = by_pause(desk)
    desk.prompt("during")
    end()
    later(desk)
    assert HUNCH in context_of(desk.result("Bash", {"command": "make"}, {"stdout": "all good", "stderr": ""}))
    assert said_later(desk, 1) == [""] * 4


def test_a_part_that_was_lost_is_told_as_it_was(desk: Desk, person: Person) -> None:
    """Under the pause; while its receipt may still come, nothing is."""
    many_rules(person)
    by_pause(desk)
    first = context_of(desk.start(receipt=False))
    assert desk.prompt("at once") == ""
    later(desk)
    assert context_of(desk.prompt("later", prompt_id="p2")) == first
    assert said_later(desk, 1) == [""] * 4


def test_a_rest_that_was_lost_is_owed(desk: Desk, person: Person) -> None:
    """It comes again with what of it does not stand."""
    person.rule(RULE)
    desk.remember(HUNCH, kind="directive")
    end = by_pause(desk)
    desk.start()
    end()
    later(desk)
    assert HUNCH in context_of(desk.prompt("lost", prompt_id="p2", receipt=False))
    later(desk)
    told = context_of(desk.prompt("and again", prompt_id="p3"))
    assert HUNCH in told
    assert RULE not in told
    assert said_later(desk, 1) == [""] * 4


def test_a_pause_that_ends_while_the_part_is_under_way_loses_nothing(desk: Desk, person: Person) -> None:
    """The next hook waits for the receipt; where none comes, both parts are told together."""
    person.rule(RULE)
    desk.remember(HUNCH, kind="directive")
    end = by_pause(desk)
    desk.start(receipt=False)
    end()
    assert desk.prompt("at once") == ""
    later(desk)
    told = context_of(desk.prompt("later", prompt_id="p2"))
    assert RULE in told
    assert HUNCH in told


def test_a_pause_that_begins_after_the_start_leaves_nothing_owed(desk: Desk, person: Person) -> None:
    """What was told in full is told in full."""
    many_rules(person)
    assert "did not fit" in context_of(desk.start())
    end = by_pause(desk)
    assert said_later(desk, 1) == [""] * 4
    end()
    assert said_later(desk, 2) == [""] * 4


def test_a_signed_pause_over_it_keeps_the_rest_until_both_are_over(desk: Desk, person: Person) -> None:
    """Nothing in between."""
    person.rule(RULE)
    desk.remember(HUNCH, kind="directive")
    by_list(desk)
    assert RULE in context_of(desk.start())
    signed(desk, person, "pause", "on")
    assert said_later(desk, 1) == [""] * 4
    signed(desk, person, "pause", how="unset")
    assert said_later(desk, 2) == [""] * 4
    change(desk, "ignore", ".", how="remove")
    later(desk)
    assert HUNCH in context_of(desk.prompt("after both", prompt_id="p9"))


def test_a_compaction_in_the_silence_brings_its_part_again(desk: Desk, person: Person) -> None:
    """A new epoch is owed the whole, and told its part."""
    many_rules(person)
    by_pause(desk)
    first = context_of(desk.start())
    assert context_of(desk.start(source="compact")) == first
    assert said_later(desk, 1) == [""] * 4


def test_a_subagent_is_told_its_part_once_too(desk: Desk, person: Person) -> None:
    """In its own context, with a budget of its own."""
    many_rules(person)
    desk.remember(HUNCH, kind="directive")
    end = by_pause(desk)
    desk.start()
    agent = desk.payload("SubagentStart", "s1", agent_id="a1", agent_type="general-purpose", prompt_id="p1")
    assert "did not fit" in context_of(desk.hook("subagent-start", agent))
    later(desk)
    assert desk.read("other.py", agent_id="a1") == ""
    end()
    later(desk)
    assert "memd: " in context_of(desk.read("other.py", agent_id="a1"))
    later(desk)
    assert desk.read("other.py", agent_id="a1", prompt_id="p2") == ""


def test_a_daemon_that_starts_again_knows_what_it_kept_back(tmp_path: Path) -> None:
    """What was told of the bundle, and that there is a rest."""
    desk = Desk(tmp_path / "home", make_repo(tmp_path / "repo"))
    many_rules(Person(desk))
    desk.clock.ms += (limits.ENROLMENT_TOLD_DAYS + 1) * limits.TIME_MS_PER_DAY
    desk.remember(HUNCH, kind="directive")
    by_pause(desk)
    desk.start()
    repo, now_ms = desk.repo, desk.clock.ms
    desk.close()
    again = Desk(tmp_path / "home", repo)
    again.clock.ms = now_ms
    try:
        assert said_later(again, 1) == [""] * 4
        change(again, "pause", how="unset")
        later(again)
        assert "memd: " in context_of(again.prompt("after", prompt_id="p9"))
    finally:
        again.close()


def test_why_says_what_the_pause_keeps_back(desk: Desk, person: Person) -> None:
    """Of the rule of an AI session that memd is paused; of an endorsed one that had no room, that this is no moment for it."""
    rules = many_rules(person)
    hunch = desk.remember(HUNCH, kind="directive").id
    by_pause(desk)
    left = context_of(desk.start())
    out = next(id_ for id_ in rules if f"[{id_}] DIRECTIVE" not in left)
    later(desk)

    def rule_of(id_: int) -> str:
        (one,) = desk.ask(api.Why(ref=str(id_), cwd=str(desk.repo), at=("read",), paths=("other.py",))).foreseen
        return one.rule

    assert rule_of(hunch) == "paused"
    assert rule_of(out) == "other-moment"


def test_an_edit_in_the_silence_still_brings_what_was_endorsed(desk: Desk, person: Person) -> None:
    """The bundle is settled; a file's own caveats come at their own moment."""
    many_rules(person)
    endorsed(desk, person, CAVEAT, kind="gotcha", priority="high", anchors=["app.py"])
    by_pause(desk)
    desk.start()
    later(desk)
    told = context_of(desk.read("app.py"))
    assert CAVEAT in told
    assert "Rule " not in told
