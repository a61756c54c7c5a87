"""What is offered and never arrives stays owed, whatever comes between (delivery.md, "Once")."""

import json
import os
import time
from pathlib import Path
from typing import Any

from memd_client import api, wire
from tests.service.desk import Desk, context_of, git, reason_of

RULE = "Always run the tests with the project's own virtual environment."
GOTCHA = "add() is called with strings by the importer: keep it duck-typed."


def test_a_hook_in_between_does_not_pay_what_a_lost_start_owes(desk: Desk) -> None:
    """While the offer of a start is open the next hook is silent; when no receipt ever came, a later one brings the rules."""
    desk.remember(RULE, kind="directive")
    desk.start(receipt=False)
    assert desk.prompt("at once") == ""
    desk.clock.ms += 60_000
    assert RULE in context_of(desk.prompt("a minute later", prompt_id="p2"))
    assert desk.prompt("and on", prompt_id="p3") == ""


def test_what_a_prompt_lost_comes_within_the_same_turn(desk: Desk) -> None:
    """An offer that never arrived is not what this turn was told."""
    desk.remember(RULE, kind="directive")
    assert RULE in context_of(desk.prompt("the first thing heard", receipt=False))
    desk.clock.ms += 60_000
    assert RULE in context_of(desk.read("app.py"))
    assert desk.read("other.py") == ""


def test_a_gotcha_told_before_a_compaction_comes_again_in_the_same_turn(desk: Desk) -> None:
    """A compaction in mid-turn takes the caveat out of the context, and the next read of the file brings it back."""
    desk.remember(GOTCHA, kind="gotcha", anchors=["app.py"])
    desk.start()
    assert GOTCHA in context_of(desk.read("app.py"))
    desk.start(source="compact")
    assert GOTCHA in context_of(desk.read("app.py"))
    assert desk.read("app.py") == ""


def test_a_cleared_context_gets_the_rules_of_the_turn_before(desk: Desk) -> None:
    """What the last turn was told before a clear does not stand after it."""
    desk.remember(RULE, kind="directive")
    assert RULE in context_of(desk.prompt("the first thing heard"))
    assert RULE in context_of(desk.start(source="clear"))


def test_a_held_edit_carries_the_bundle_that_was_owed(desk: Desk) -> None:
    """The reason of the denial is all that arrives, so the rules stand in it, before the caveat."""
    desk.remember(RULE, kind="directive")
    desk.remember(GOTCHA, kind="gotcha", priority="high", anchors=["app.py"])
    held = reason_of(desk.edit("app.py"))
    assert 0 <= held.find(RULE) < held.find(GOTCHA)
    assert held.endswith("repeat the same call to make it.")
    assert desk.edit("app.py") == ""


def test_an_answer_that_is_too_late_is_not_offered(desk: Desk) -> None:
    """A hook whose deadline has passed gets nothing, records no delivery, and the very next one brings the rules."""
    desk.remember(RULE, kind="directive")
    payload: dict[str, Any] = desk.payload("SessionStart", "s1", source="startup")
    late = wire.Hook(
        os.urandom(16),
        time.monotonic_ns() - 1,
        0,
        "claude",
        "session-start",
        os.fsencode(desk.repo),
        b"",
        json.dumps(payload).encode(),
    )
    assert desk.daemon.hook(late, 0) == b""
    assert desk.ask(api.Deliveries()).deliveries == []
    assert RULE in context_of(desk.prompt("at once"))


def test_the_name_of_a_rule_that_did_not_fit_is_owed_too(desk: Desk) -> None:
    """A directive that is left out is always named: where that line alone was the bundle, and was lost, it comes again."""
    desk.ask(api.ChangeSetting(key="budget.session_start", values=["500"], cwd=str(desk.repo)))
    desk.start()
    large = desk.remember(
        "Keep the importer's stages apart from each other, whatever they share. " * 26, kind="directive"
    )
    desk.clock.ms += 60_000
    named = f"[{large.id}]"
    assert named in context_of(desk.start(source="resume", receipt=False))
    desk.clock.ms += 60_000
    assert named in context_of(desk.prompt("a minute later"))
    desk.clock.ms += 60_000
    assert desk.prompt("and on", prompt_id="p3") == ""


def test_a_session_whose_worktree_was_removed_is_told_its_rules_again(desk: Desk, tmp_path: Path) -> None:
    """It works on in a directory that is there no more, and stays of its repository: after a compaction, and in an agent."""
    desk.remember(RULE, kind="directive")
    desk.remember(GOTCHA, kind="gotcha", priority="high", anchors=["app.py"])
    main, tree = desk.repo, tmp_path / "tree"
    git(main, "worktree", "add", "-q", str(tree))
    desk.repo = tree
    assert RULE in context_of(desk.start())
    git(main, "worktree", "remove", "--force", str(tree))
    assert RULE in context_of(desk.start(source="compact"))
    agent = desk.payload("SubagentStart", "s1", agent_id="a1", agent_type="general-purpose")
    assert RULE in context_of(desk.hook("subagent-start", agent))
    assert GOTCHA in reason_of(desk.edit(str(main / "app.py")))
    assert desk.prompt("on with it", prompt_id="p2") == ""


def test_a_directory_that_is_gone_is_nobodys_else(desk: Desk, tmp_path: Path) -> None:
    """Where the repository is gone with it, and in a session that was never heard of, nothing is told of another."""
    desk.remember(RULE, kind="directive")
    desk.repo = tmp_path / "never"
    assert desk.start() == ""
    assert desk.start(source="compact") == ""


def test_news_that_a_turn_lost_comes_within_the_same_turn(desk: Desk) -> None:
    """The note stands from before, as it was: that its caveat fell was offered at the read, and never arrived."""
    note = desk.remember(GOTCHA, kind="gotcha", priority="high", anchors=["app.py"]).id
    assert GOTCHA in context_of(desk.read("app.py"))
    desk.act("revoke", note, reason="the importer is gone")
    assert "Previously believed" in context_of(desk.read("app.py", prompt_id="p2", receipt=False))
    assert desk.edit("app.py", prompt_id="p2") == "", "its receipt may still come"
    desk.clock.ms += 60_000
    assert "Previously believed" in context_of(desk.edit("app.py", prompt_id="p2"))
    assert desk.edit("app.py", prompt_id="p2") == ""


def test_a_start_that_lost_what_fell_is_owed_it(desk: Desk) -> None:
    """An agent that is taken up again knows the rule, and was to be told that it fell."""
    rule = desk.remember(RULE, kind="directive").id
    agent = desk.payload("SubagentStart", "s1", agent_id="a1", agent_type="general-purpose")
    assert RULE in context_of(desk.hook("subagent-start", {**agent, "prompt_id": "p1"}))
    desk.act("revoke", rule, reason="not any more")
    lost = desk.hook("subagent-start", {**agent, "prompt_id": "p2"}, receipt=False)
    assert "Previously believed" in context_of(lost)
    desk.clock.ms += 60_000
    assert "Previously believed" in context_of(desk.read("other.py", prompt_id="p2", agent_id="a1"))


def test_any_hook_that_can_inject_carries_what_is_owed(desk: Desk) -> None:
    """A compaction in mid-turn whose answer was lost, and from then on the agent runs commands alone, also ones that fail."""
    desk.remember(RULE, kind="directive")
    desk.start()
    desk.prompt("go")
    assert RULE in context_of(desk.start(source="compact", receipt=False))
    desk.clock.ms += 60_000
    told = desk.result("Bash", {"command": "make check"}, {"stdout": "all good", "stderr": ""})
    assert RULE in context_of(told)
    assert '"PostToolUse"' in told
    assert desk.result("Bash", {"command": "make more"}, {"stdout": "all good", "stderr": ""}) == ""
