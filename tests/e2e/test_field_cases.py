"""Field cases whose truth is in what the real client sends: AT18 (the cached prefix), AT25 (each subagent once)."""

import json
from itertools import pairwise

import pytest

from .lab import Lab
from .memd import Memd, bundles
from .model import JSON, answer, text, tool

pytestmark = pytest.mark.e2e

RULE = "Run the tests with tox, never with pytest alone."
FINDING = "The importer retries three times on a locked database."


def test_at18_the_block_goes_after_the_cached_prefix_and_is_the_same_bytes(lab: Lab, memd: Memd) -> None:
    """Neither the system prompt nor a tool's definition holds a word of it; two sessions are told one block; a resume adds none."""
    memd.remember(RULE, kind="directive")
    first, second = lab.claude("say hello"), lab.claude("say hello")
    told = [bundles(turn.requests[0].text) for turn in (first, second)]
    assert told[0] == told[1]
    assert len(told[0]) == 1
    for turn in (first, second):
        body = turn.requests[0].body
        prefix = json.dumps([body["system"], body["tools"]])
        assert RULE not in prefix
        assert told[0][0].split("\n")[0] not in prefix
    resumed = lab.claude("go on", resume=first.session).requests[0]
    assert bundles(resumed.text) == told[0]


def unmarked(messages: list[JSON]) -> list[tuple[str, list[JSON]]]:
    """Messages without the marks that say up to where a request is to be cached: they move along with it, and make a block of a
    message that is a string elsewhere."""
    return [(message["role"], [block | {"cache_control": None} for block in blocks(message)]) for message in messages]


def blocks(message: JSON) -> list[JSON]:
    content = message["content"]
    return [text(content)] if isinstance(content, str) else content


def test_at18_what_is_told_is_put_behind_what_was_sent(lab: Lab, memd: Memd) -> None:
    """At the start, with a prompt, by a hold, with an edit, and in a session that is resumed: each request of the loop
    begins with the one before it, message by message, so nothing that was cached is made anew."""
    memd.remember(RULE, kind="directive")
    memd.remember(FINDING, kind="finding")
    title = lab.repository / "README.md"
    for path, priority in ((lab.app, "high"), (title, "medium")):
        memd.remember(f"{path.name} is generated.", kind="gotcha", priority=priority, anchor=path.name)
    swap = tool("Edit", file_path=str(lab.app), old_string="a + b", new_string="b + a")
    retitle = tool("Edit", file_path=str(title), old_string="# A scratch", new_string="# Another")
    again = swap | {"id": "toolu_again"}
    lab.model.script(answer(swap), answer(again), answer(retitle), answer(text("done")))
    first = lab.claude("how often does the importer retry on a locked database? then swap the operands")
    second = lab.claude("go on", resume=first.session)
    requests = [*first.requests, *second.requests]
    told = [len(bundles(request.news)) for request in requests]
    assert told == [2, 1, 0, 1, 0]
    for before, after in pairwise(requests):
        sent = unmarked(before.messages)
        assert unmarked(after.messages)[: len(sent)] == sent
        assert [after.body["system"], after.body["tools"]] == [before.body["system"], before.body["tools"]]


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
