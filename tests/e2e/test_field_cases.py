"""Field cases whose truth is in what the real client sends: AT18 (the cached prefix), AT25 (each subagent once)."""

import json

import pytest

from .lab import Lab
from .memd import Memd, bundles
from .model import answer, text, tool

pytestmark = pytest.mark.e2e

RULE = "Run the tests with tox, never with pytest alone."
FINDING = "The importer retries three times on a locked database."


def test_at18_the_block_goes_after_the_cached_prefix_and_is_the_same_bytes(lab: Lab, memd: Memd) -> None:
    """Neither the system prompt nor a tool's definition holds a word of it; two sessions are told one block; a resume adds none."""
    memd.remember(RULE, kind="directive")
    first, second = lab.claude("say hello"), lab.claude("say hello")
    blocks = [bundles(turn.requests[0].text) for turn in (first, second)]
    assert blocks[0] == blocks[1]
    assert len(blocks[0]) == 1
    for turn in (first, second):
        body = turn.requests[0].body
        prefix = json.dumps([body["system"], body["tools"]])
        assert RULE not in prefix
        assert blocks[0][0].split("\n")[0] not in prefix
    resumed = lab.claude("go on", resume=first.session).requests[0]
    assert bundles(resumed.text) == blocks[0]


def test_at25_two_subagents_have_the_rule_once_each(lab: Lab, memd: Memd) -> None:
    """In the first request of each, verbatim; a finding is in none of them."""
    memd.remember(RULE, kind="directive")
    memd.remember(FINDING, kind="finding")
    send = [
        tool(
            "Agent", description="look", prompt=f"SUBTASK {n}", subagent_type="general-purpose", run_in_background=False
        )
        for n in (1, 2)
    ]
    looked = answer(text("looked"), asks="subagent")
    lab.model.script(answer(send[0]), looked, answer(send[1]), looked)
    turn = lab.claude("send somebody to look, twice")
    subagents = [request for request in turn.sent if request.kind == "subagent"]
    assert [request.text.count(RULE) for request in subagents] == [1, 1]
    assert not any(FINDING in request.text for request in turn.sent)
    assert turn.requests[-1].text.count(RULE) == 1
