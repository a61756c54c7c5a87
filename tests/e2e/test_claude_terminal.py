"""The same promises in the client's terminal interface, which is where people are."""

import pytest

from .lab import Lab
from .memd import Memd, bundles, eventually

pytestmark = pytest.mark.e2e

RULE = "Run the tests with tox, never with pytest alone."


def test_a_whole_session_in_the_terminal(lab: Lab, memd: Memd) -> None:
    """The rule is in the first prompt's request, not again in the second's, back after /compact, and there for the new
    session that /clear begins; every prompt typed is stored."""
    memd.remember(RULE, kind="directive")
    with lab.tui() as terminal:
        terminal.trust_folder()
        first = terminal.prompt("hello there")
        assert first.news.count(RULE) == 1
        second = terminal.prompt("hello again")
        assert second.text.count(RULE) == 1
        assert bundles(second.news) == []
        terminal.compact()
        assert terminal.prompt("hello after").text.count(RULE) == 1
        terminal.clear()
        assert terminal.prompt("hello anew").text.count(RULE) == 1
        terminal.exit()
    prompts = ["hello there", "hello again", "hello after", "hello anew"]
    eventually(lambda: len(memd.turns()) == len(prompts), "every prompt is stored")
    stored = {turn["text"]: turn["session"] for turn in memd.turns()}
    assert sorted(stored) == sorted(prompts)
    assert stored["hello there"] == stored["hello after"] != stored["hello anew"]
