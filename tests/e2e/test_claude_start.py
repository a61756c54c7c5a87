"""Standing rules reach a session's first request, whatever state the daemon is in, and are not said twice."""

import pytest

from .lab import CURRENT_MODEL, OLDER_MODEL, Lab
from .memd import Memd, bundles, eventually
from .model import DONE, answer, text, tool

pytestmark = pytest.mark.e2e

RULE = "Run the tests with tox, never with pytest alone."
AGENTS = f"Memory to verify (recorded at the command line, not human-endorsed): {RULE}"
ENDORSED = f"DIRECTIVE (standing rule from the user — follow it): {RULE}"


@pytest.mark.parametrize("model", [CURRENT_MODEL, OLDER_MODEL])
def test_a_directive_is_in_the_first_request(lab: Lab, memd: Memd, model: str) -> None:
    """One bundle stands in the first request: opening line, the rule with its frame, closing line; the prompt is whole."""
    rule = memd.remember(RULE, kind="directive")
    first = lab.claude("say hello", model=model).requests[0]
    (bundle,) = bundles(first.news)
    opening, line, closing = bundle.split("\n")
    assert opening == "memd: 1 note of unendorsed memory: verify against the code before relying on it."
    assert line == f"[{rule}] {AGENTS}"
    assert closing == "memd: end."
    assert "say hello" in first.news


def test_an_endorsed_directive_is_an_imperative(lab: Lab, memd: Memd) -> None:
    """What a person endorsed at a terminal, with the passphrase, is told as the user's standing rule."""
    memd.answer_at_terminal("human", "init")
    memd.answer_at_terminal("remember", RULE, "--kind", "directive", "--endorse")
    (note,) = memd.notes()
    assert note["provenance"] == "human"
    first = lab.claude("say hello").requests[0]
    (bundle,) = bundles(first.news)
    assert bundle.startswith("memd: 1 note, endorsed by the user.\n")
    assert f"[{note['id']}] {ENDORSED}\n" in bundle


@pytest.mark.parametrize("end", ["stop", "KILL"])
def test_a_cold_daemon_still_tells_the_rule(lab: Lab, memd: Memd, end: str) -> None:
    """After a stop, and after a kill -9, the session's own start brings the daemon up in time for its first request."""
    memd.remember(RULE, kind="directive")
    if end == "stop":
        lab.memd("stop")
    else:
        lab.send_signal(memd.daemon, end)
    eventually(lambda: memd.daemon is None, "no daemon")
    turn = lab.claude("say hello")
    assert turn.requests[0].news.count(RULE) == 1
    assert memd.daemon


def test_a_resumed_session_is_not_told_again(lab: Lab, memd: Memd) -> None:
    """What stands in the session's history is not sent a second time; a rule made since then is."""
    memd.remember(RULE, kind="directive")
    first = lab.claude("one")
    second = lab.claude("two", resume=first.session).requests[0]
    assert second.text.count(RULE) == 1
    assert bundles(second.news) == []
    memd.remember("Never touch the generated files.", kind="directive")
    third = lab.claude("three", resume=first.session).requests[0]
    assert third.text.count(RULE) == 1
    assert third.news.count("Never touch the generated files.") == 1


def test_a_subagent_is_told_at_its_start(lab: Lab, memd: Memd) -> None:
    """A subagent gets nothing of its session's context, so the rule is in its own first request."""
    memd.remember(RULE, kind="directive")
    sub = tool("Agent", description="look", prompt="SUBTASK", subagent_type="general-purpose", run_in_background=False)
    lab.model.script(answer(sub), answer(text("looked"), asks="subagent"))
    turn = lab.claude("send somebody to look")
    (request,) = [request for request in turn.sent if request.kind == "subagent"]
    assert request.text.count(RULE) == 1
    assert turn.requests[-1].text.count(RULE) == 1, "the session itself was told once, at its own start"


def test_a_wedged_daemon_harms_no_turn_and_loses_none(lab: Lab, memd: Memd) -> None:
    """With the daemon stopped by a signal the turn completes untouched; once it goes on, the session is owed the rule,
    and each prompt is stored once."""
    memd.remember(RULE, kind="directive")
    pid = memd.daemon
    lab.send_signal(pid, "STOP")
    first = lab.claude("say hello")
    assert first.result["result"] == DONE
    assert "say hello" in first.requests[0].news
    assert RULE not in first.requests[0].text
    assert bundles(first.requests[0].text) == []
    lab.send_signal(pid, "CONT")
    second = lab.claude("say it again", resume=first.session).requests[0]
    assert second.news.count(RULE) == 1
    eventually(lambda: len(memd.turns()) == 2, "both prompts are stored")
    assert sorted(turn["text"] for turn in memd.turns()) == ["say hello", "say it again"]


def test_memd_off_is_silence(lab: Lab, memd: Memd) -> None:
    """With MEMD_OFF=1 nothing is told, no tool is offered, and nothing is stored."""
    memd.remember(RULE, kind="directive")
    turn = lab.claude("say hello", env={"MEMD_OFF": "1"})
    assert "memd" not in turn.requests[0].text
    assert memd.turns() == []
    assert memd.deliveries() == []


def test_what_was_told_can_be_looked_up(lab: Lab, memd: Memd) -> None:
    """`memd deliveries` answers which note the session was given, and that it arrived."""
    rule = memd.remember(RULE, kind="directive")
    turn = lab.claude("say hello")
    eventually(lambda: [d["state"] for d in memd.deliveries()] == ["delivered"], "the receipt is in")
    (delivery,) = memd.deliveries()
    assert delivery["session"] == turn.session
    assert [note["id"] for note in delivery["notes"]] == [rule]
