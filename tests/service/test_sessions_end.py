"""A session that has ended takes its subagents along; a resume brings back what is heard of again (delivery.md, "Once")."""

from pathlib import Path

import msgspec
import pytest

from memd_client import api
from memd_daemon import limits
from memd_daemon.model.delivery import HoldOutcome
from tests.service.desk import Desk, reason_of
from tests.service.processes import client
from tests.service.test_search import abandoned, opened
from tests.service.test_subagents import begin


def end(desk: Desk, pid: int = 0, reason: str = "other") -> None:
    desk.hook("session-end", desk.payload("SessionEnd", "s1", reason=reason), pid=pid)


def listed(desk: Desk) -> set[tuple[str, str]]:
    """(session, agent) of what a status lists as live."""
    return {(one["session"], one["agent"]) for one in desk.ask(api.Status()).sessions}


def ended(desk: Desk) -> set[str]:
    """The agents of s1 that are written down as over."""
    return {one.agent for one in desk.daemon.parts.ledger.contexts_of("s1") if one.ended}


@pytest.mark.parametrize("reason", ["other", "clear", "logout", "prompt_input_exit"])
def test_a_session_that_ends_takes_its_subagents_along(desk: Desk, reason: str) -> None:
    """However it ends; another session's are none of its own."""
    desk.start()
    begin(desk, "a1")
    desk.read("app.py", agent_id="a2")
    desk.start("s2")
    desk.read("app.py", "s2", agent_id="a1")
    assert listed(desk) == {("s1", ""), ("s1", "a1"), ("s1", "a2"), ("s2", ""), ("s2", "a1")}
    end(desk, reason=reason)
    assert listed(desk) == {("s2", ""), ("s2", "a1")}
    assert ended(desk) == {"", "a1", "a2"}


def test_the_end_of_a_session_that_only_its_subagent_was_heard_of(desk: Desk) -> None:
    """The daemon was started by the agent's hook: no context of the session itself is there to end."""
    begin(desk, "a1")
    end(desk)
    assert listed(desk) == set()


def test_a_subagents_hook_that_comes_late_brings_it_back_no_more(desk: Desk) -> None:
    """It was on its way when the session ended; also where it is the first that is heard of that agent."""
    desk.start()
    begin(desk, "a1")
    end(desk)
    desk.read("app.py", agent_id="a1")
    begin(desk, "a2")
    assert listed(desk) == set()


def test_a_resume_brings_back_the_session_and_not_its_subagents(desk: Desk) -> None:
    """Until one of them is taken up again, which is told by a hook of its own."""
    desk.start()
    begin(desk, "a1")
    begin(desk, "a2")
    end(desk)
    desk.start(source="resume")
    assert listed(desk) == {("s1", "")}
    desk.read("app.py", agent_id="a2", prompt_id="p2")
    assert listed(desk) == {("s1", ""), ("s1", "a2")}


@pytest.mark.parametrize("back", ["resume", "prompt"])
def test_what_an_older_version_left_is_over(desk: Desk, back: str) -> None:
    """An ended session whose subagents were never ended: they are not listed, and a session that comes back ends them."""
    desk.start()
    begin(desk, "a1")
    ledger = desk.daemon.parts.ledger
    main = ledger.context("s1", "")
    assert main is not None
    ledger.put_context(msgspec.structs.replace(main, ended=True))
    assert listed(desk) == set()
    if back == "resume":
        desk.start(source="resume")
    else:
        desk.prompt("go on", prompt_id="p2")
    assert listed(desk) == {("s1", "")}
    assert ended(desk) == {"a1"}


def test_a_client_that_is_gone_without_a_word_lives_no_more(desk: Desk, tmp_path: Path) -> None:
    """Killed: no hook told of an end. The session and its agents are not listed; who resumes it in another client gets it alone."""
    with client(tmp_path) as one:
        desk.start(pid=one.hook)
        begin(desk, "a1", pid=one.hook)
        desk.read("app.py", agent_id="a2")
        assert listed(desk) == {("s1", ""), ("s1", "a1"), ("s1", "a2")}
    assert listed(desk) == set()
    with client(tmp_path) as two:
        desk.start(source="resume", pid=two.hook)
        assert listed(desk) == {("s1", "")}
        assert ended(desk) == {"a1", "a2"}


def test_a_hook_from_another_client_ends_no_subagent(desk: Desk, tmp_path: Path) -> None:
    """A session that its own client holds is not taken away by who says its id; so its agents are not ended either."""
    with client(tmp_path) as own, client(tmp_path) as other:
        desk.start(pid=own.hook)
        begin(desk, "a1", pid=own.hook)
        end(desk, pid=other.hook)
        desk.start(source="resume", pid=other.hook)
        assert listed(desk) == {("s1", ""), ("s1", "a1")}


def test_a_compaction_and_the_next_turn_leave_subagents_alone(desk: Desk) -> None:
    """One works in the background while its session goes on."""
    desk.start()
    begin(desk, "a1")
    desk.start(source="compact")
    desk.prompt("and now?", prompt_id="p2")
    desk.start(source="resume")
    assert listed(desk) == {("s1", ""), ("s1", "a1")}


def test_a_daemon_that_is_killed_leaves_no_half_an_end(tmp_path: Path) -> None:
    """Session and agents end in one write: before it all of them are there, after it none."""
    desk = opened(tmp_path)
    desk.start()
    begin(desk, "a1")
    abandoned(desk)
    desk = opened(tmp_path)
    assert listed(desk) == {("s1", ""), ("s1", "a1")}
    end(desk)
    abandoned(desk)
    again = opened(tmp_path)
    assert listed(again) == set()
    assert ended(again) == {"", "a1"}
    again.close()


def test_what_an_agent_had_held_is_abandoned_by_the_end(desk: Desk, tmp_path: Path) -> None:
    """Also where its client has gone without a word: nothing comes of it any more."""
    desk.remember("Keep add() duck-typed.", kind="gotcha", priority="high", anchors=["app.py"])
    with client(tmp_path) as one:
        desk.start(pid=one.hook)
        begin(desk, "a1", pid=one.hook)
        assert reason_of(desk.edit("app.py", agent_id="a1"))
        assert desk.ask(api.Status()).holds[HoldOutcome.OPEN] == 1
    assert desk.ask(api.Status()).holds[HoldOutcome.OPEN] == 0


def test_nobody_lists_who_was_not_heard_of_for_a_day(desk: Desk) -> None:
    """A subagent by its own last hook, whatever its session does."""
    desk.start()
    begin(desk, "a1")
    desk.clock.ms += limits.SESSION_LIVE_MS + 1
    desk.prompt("good morning", prompt_id="p2")
    assert listed(desk) == {("s1", "")}


def test_ended_subagents_are_let_go_with_age(desk: Desk) -> None:
    """Their rows pin nothing of the ledger."""
    desk.remember("Always run the tests.", kind="directive")
    desk.start()
    begin(desk, "a1")
    end(desk)
    ledger = desk.daemon.parts.ledger
    assert len(list(ledger.deliveries())) == 2
    ledger.prune(desk.clock.ms + 1, lambda _: False, lambda: None)
    assert ledger.contexts_of("s1") == []
    assert list(ledger.deliveries()) == []
