"""A session that is forked, branched or cleared goes on with the notes of the session that it comes from."""

import shlex

import pytest

from .lab import Lab, Terminal
from .memd import Memd, bundles, eventually
from .model import JSON, answer, text, tool

pytestmark = pytest.mark.e2e

RULE = "Run the tests with tox, never with pytest alone."
ASKED = "leave the generated files alone"
OWN = "In this session, leave the generated files alone."
FINDING = "The importer retries three times on a locked database."
ALLOWED = ("--allowedTools", "Bash")


def record(lab: Lab) -> JSON:
    """The model records a rule for its own session."""
    line = f"{lab.memd_binary} remember {shlex.quote(OWN)} --kind directive --scope session"
    return tool("Bash", command=line, description="remember")


def test_a_finding_comes_with_the_prompt_that_it_is_about(lab: Lab, memd: Memd) -> None:
    """In that prompt's own request, once in the session; a prompt about something else brings nothing."""
    note = memd.remember(FINDING, kind="finding")
    first = lab.claude("say hello").requests[0]
    assert bundles(first.text) == []
    asked = lab.claude("why does the importer retry three times when the database is locked?")
    (bundle,) = bundles(asked.requests[0].news)
    assert f"[{note}] [agent, command line]" in bundle
    assert FINDING in bundle
    again = lab.claude("so how often does the importer retry on a locked database?", resume=asked.session)
    assert bundles(again.requests[0].news) == []
    assert again.requests[0].text.count(FINDING) == 1


def test_a_fork_is_told_the_rules_and_its_sessions_own(lab: Lab, memd: Memd) -> None:
    """In its first request; the session that it came from stays as it was, and a stranger hears nothing of it."""
    memd.remember(RULE, kind="directive")
    lab.model.script(answer(record(lab)), answer(text("noted")))
    first = lab.claude(ASKED, *ALLOWED)
    forked = lab.claude("go on", "--fork-session", resume=first.session)
    assert forked.session != first.session
    (bundle,) = bundles(forked.requests[0].news)
    assert (bundle.count(RULE), bundle.count(OWN)) == (1, 1)
    (stranger,) = bundles(lab.claude("hello").requests[0].news)
    assert (stranger.count(RULE), stranger.count(OWN)) == (1, 0)


def test_a_clear_and_a_branch_in_the_terminal_go_on_with_the_sessions_own(lab: Lab, memd: Memd) -> None:
    """Each begins another session in the same client, and in each both rules stand, once.

    The note is bound to the prompt by its words, and changes how it is told once that prompt is known to have been typed: so that
    is waited for first.
    """
    memd.remember(RULE, kind="directive")
    with lab.tui(*ALLOWED) as terminal:
        terminal.trust_folder()
        lab.model.script(answer(record(lab)), answer(text("noted it")))
        terminal.prompt(ASKED)
        terminal.wait_for_text("noted it")
        eventually(
            lambda: [turn["attestation"] for turn in memd.turns()] == ["typed"], "the prompt is known to be typed"
        )
        terminal.clear()
        assert_both(terminal, "hello anew")
        terminal.enter("/branch")
        terminal.wait_for_text("Branched session")
        assert_both(terminal, "hello from the branch")
        terminal.exit()
    assert len({turn["session"] for turn in memd.turns()}) == 3


def assert_both(terminal: Terminal, prompt: str) -> None:
    """This prompt's request has both rules once. A branch takes its conversation along, and the client adds no text that stands
    in it word for word."""
    request = terminal.prompt(prompt)
    assert (request.text.count(RULE), request.text.count(OWN)) == (1, 1)
