"""A compaction drops what a session was told, so the standing rules come again with the next request, once."""

import pytest

from .lab import Lab
from .memd import Memd, bundles
from .model import SUMMARY

pytestmark = pytest.mark.e2e

RULE = "Run the tests with tox, never with pytest alone."
TASK = "Rename add() to plus() before the release."
LATER = "Give the scratch repository a licence."
FINDING = "The importer retries three times on a locked database."


def test_the_rule_is_back_after_a_manual_compaction(lab: Lab, memd: Memd) -> None:
    """After /compact the next prompt's request holds the summary and, exactly once, the rule; the one after it no more."""
    memd.remember(RULE, kind="directive")
    first = lab.claude("one")
    lab.claude("/compact", resume=first.session)
    after = lab.claude("two", resume=first.session).requests[0]
    assert SUMMARY in after.text
    assert after.text.count(RULE) == 1
    assert len(bundles(after.text)) == 1
    later = lab.claude("three", resume=first.session).requests[0]
    assert later.text.count(RULE) == 1


def test_what_a_start_brings_is_back_after_a_compaction_in_mid_turn(lab: Lab, memd: Memd) -> None:
    """When the client compacts on its own, no prompt follows: the very next request of the same turn holds the rule and the task
    that cannot wait, once, in the bytes of the start's block; neither a task that can nor a finding comes along."""
    memd.remember(RULE, kind="directive")
    memd.remember(TASK, kind="task", priority="high")
    memd.remember(LATER, kind="task")
    memd.remember(FINDING, kind="finding")
    turn = lab.compacted_turn("read it all")
    kinds = [request.kind for request in turn.sent]
    assert kinds.count("summary") == 1
    before, after = turn.sent[kinds.index("summary") - 1], turn.sent[kinds.index("summary") + 1]
    assert after.kind == "main"
    assert bundles(after.text) == bundles(before.text)
    assert [turn.requests[-1].text.count(said) for said in (RULE, TASK, LATER, FINDING)] == [1, 1, 0, 0]
