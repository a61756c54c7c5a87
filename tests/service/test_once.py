"""A note that qualifies twice arrives once: over triggers, hook entries, processes and restarts (delivery.md, "Once")."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memd_client import api
from memd_daemon import limits
from tests.service.desk import Desk, context_of, desk_at, reason_of

RULE = "Always run the tests with the project's own virtual environment."
GOTCHA = "add() is called with strings by the importer: keep it duck-typed."
FINDING = "The importer retries three times on a locked database."
QUESTION = "why does the importer retry three times when the database is locked?"


def many_rules(desk: Desk, count: int = 60) -> None:
    """More than one start has room for."""
    for number in range(count):
        words = f"Rule number {number}: keep module {number} free of cycles, and say so in its docstring at length."
        desk.remember(words, kind="directive")


def told(out: str) -> str:
    return reason_of(out) + context_of(out)


# --- over triggers, turns, epochs, restarts


def test_one_budget_a_start_while_its_receipt_is_under_way(desk: Desk) -> None:
    """The next hook does not go on where the start's block ended."""
    many_rules(desk)
    assert "did not fit" in context_of(desk.start(receipt=False))
    assert desk.prompt("at once") == ""
    assert desk.read("app.py") == ""


def test_a_lost_start_is_told_as_it_was(desk: Desk) -> None:
    """Not what it left out."""
    many_rules(desk)
    first = context_of(desk.start(receipt=False))
    desk.clock.ms += limits.OFFER_OPEN_MS + 1
    assert context_of(desk.prompt("later")) == first


def test_a_finding_comes_once_in_a_context_unless_its_rendering_changed(desk: Desk) -> None:
    """Revoked, it comes as its tombstone, once."""
    note = desk.remember(FINDING).id
    assert FINDING in context_of(desk.prompt(QUESTION, prompt_id="p1"))
    assert desk.prompt(QUESTION, prompt_id="p2") == ""
    desk.act("revoke", note, reason="it never did")
    assert "Previously believed" in context_of(desk.prompt(QUESTION, prompt_id="p3"))
    assert desk.prompt(QUESTION, prompt_id="p4") == ""


def test_a_restart_in_mid_turn_tells_nothing_again(tmp_path: Path) -> None:
    """Start, prompt and read stand in the ledger."""
    with desk_at(tmp_path) as desk:
        desk.remember(RULE, kind="directive")
        desk.remember(FINDING)
        desk.remember(GOTCHA, kind="gotcha", priority="high", anchors=["app.py"])
        assert RULE in context_of(desk.start())
        assert FINDING in context_of(desk.prompt(QUESTION))
        assert GOTCHA in context_of(desk.read("app.py"))
        repo = desk.repo
    again = Desk(tmp_path / "home", repo)
    assert again.edit("app.py") == again.read("app.py") == again.prompt(QUESTION, prompt_id="p2") == ""
    assert again.start(source="resume") == ""
    again.close()


def test_the_contexts_own_edit_is_no_news_and_somebody_elses_is(desk: Desk) -> None:
    """The status of its anchor changed in both."""
    desk.remember(GOTCHA, kind="gotcha", anchors=["app.py"])
    assert GOTCHA in told(desk.edit("app.py"))
    (desk.repo / "app.py").write_text("def add(a, b, c):\n    return a + b + c\n")
    assert desk.edit("app.py", prompt_id="p2") == ""
    assert "changed since — verify" in told(desk.read("app.py", session="s2"))
    assert GOTCHA in told(desk.read("app.py", session="s3"))
    (desk.repo / "app.py").write_text("def add(a, b):\n    return a + b\n")
    back = told(desk.read("app.py", session="s3", prompt_id="p2"))
    assert "status: matches current state" in back, "another session's edit brought it back"


def test_a_file_that_the_context_brought_back_itself_is_no_news(desk: Desk) -> None:
    """It was told that somebody had changed it, and undid that."""
    desk.remember(GOTCHA, kind="gotcha", anchors=["app.py"])
    before = (desk.repo / "app.py").read_text()
    (desk.repo / "app.py").write_text("def add(a, b, c):\n    return a + b + c\n")
    assert "changed since — verify" in told(desk.edit("app.py"))
    (desk.repo / "app.py").write_text(before)
    assert desk.read("app.py", prompt_id="p2") == desk.edit("app.py", prompt_id="p3") == ""


def test_a_status_that_becomes_known_is_no_news(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """There was no time to look at first."""
    desk.remember(GOTCHA, kind="gotcha", anchors=["app.py"])
    with monkeypatch.context() as hurried:
        hurried.setattr(limits, "GROUND_DEADLINE_MS", -1)
        assert "changed since — verify" in told(desk.read("app.py"))
    assert desk.read("app.py", prompt_id="p2") == ""
    assert desk.edit("app.py", prompt_id="p3") == ""


def test_a_resume_sends_what_changed_and_no_more(desk: Desk) -> None:
    """A new rule, and one that is struck through; what stands as it was is not said again."""
    kept = desk.remember(RULE, kind="directive").id
    fallen = desk.remember("Deploys go through staging first.", kind="directive").id
    desk.start()
    desk.act("revoke", fallen, reason="not any more")
    desk.remember("Never touch the generated files.", kind="directive")
    desk.clock.ms += 60_000
    resumed = context_of(desk.start(source="resume"))
    assert "Never touch the generated files." in resumed
    assert "Previously believed" in resumed
    assert f"[{kept}]" not in resumed
    desk.clock.ms += 60_000
    assert desk.start(source="resume") == ""


def test_a_resume_is_of_no_turn_that_was(desk: Desk) -> None:
    """What the last turn was told may have changed since: the rule that a prompt brought is struck through when it is resumed."""
    rule = desk.remember(RULE, kind="directive").id
    assert RULE in context_of(desk.prompt("the first thing heard"))
    desk.act("revoke", rule, reason="not any more")
    desk.clock.ms += 60_000
    assert "Previously believed" in context_of(desk.start(source="resume"))
    desk.act("reinstate", rule)
    desk.clock.ms += 60_000
    assert RULE in context_of(desk.start(source="resume"))
    desk.clock.ms += 60_000
    assert desk.start(source="resume") == ""


def test_every_delivery_is_told_with_what_it_left_out(desk: Desk) -> None:
    """Note, rendering, moment, session, agent, turn, tokens; and the rule for each that stayed out."""
    rule, gotcha = desk.remember(RULE, kind="directive").id, desk.remember(GOTCHA, kind="gotcha", anchors=["app.py"]).id
    desk.remember(FINDING, kind="task", priority="low")
    desk.start()
    desk.read("app.py")
    read, start = desk.ask(api.Deliveries()).deliveries
    seen: list[tuple[Any, ...]] = [
        (one.trigger, one.session, one.agent, one.turn, [n.id for n in one.notes]) for one in (read, start)
    ]
    assert seen == [("read", "s1", "", "p1", [gotcha]), ("session-start", "s1", "", "", [rule])]
    assert start.tokens > 0
    assert all(one.state == "delivered" for one in (read, start))


def test_that_a_context_was_heard_of_is_written_now_and_then(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit that tells nothing and changes nothing else of its context waits for no write; a turn, a file, and time do."""
    desk.start()
    desk.prompt("please go on")
    desk.edit("app.py")
    ledger, written = desk.daemon.parts.ledger, []
    put = ledger.put_context
    monkeypatch.setattr(ledger, "put_context", lambda context: (written.append(context), put(context)))

    def writes(ask: Callable[[], object]) -> int:
        before = len(written)
        ask()
        return len(written) - before

    assert writes(lambda: desk.edit("app.py")) == 0
    assert writes(lambda: desk.edit("other.py")) == 1
    assert writes(lambda: desk.edit("app.py", prompt_id="p2")) == 1
    assert writes(lambda: desk.edit("app.py", prompt_id="p2")) == 0
    desk.clock.ms += limits.CONTEXT_HEARD_MS
    assert writes(lambda: desk.edit("app.py", prompt_id="p2")) == 1
    context = ledger.context("s1", "")
    assert context is not None
    assert (context.edited, context.last_at) == (("app.py", "other.py"), desk.clock.ms)


def test_of_too_many_files_the_oldest_go(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is edited again is among the newest."""
    monkeypatch.setattr(limits, "CONTEXT_PATHS_MAX", 4)
    desk.start()
    for name in ("a.py", "b.py", "c.py", "a.py", "c.py", "d.py", "e.py"):
        desk.edit(name)
    context = desk.daemon.parts.ledger.context("s1", "")
    assert context is not None
    assert set(context.edited) == {"a.py", "c.py", "d.py", "e.py"}
