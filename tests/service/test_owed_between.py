"""A bundle that is owed where receipts, clocks, places and rooms change in between (delivery.md, "Once", "Budget")."""

import json
import os
import time
from pathlib import Path

from memd_client import api, wire
from memd_daemon import limits
from memd_hooks.harness import claude
from tests.frames.grammar import read_block
from tests.service.desk import Desk, context_of, make_repo, reason_of

RULE = "Always run the tests with the project's own virtual environment."
OF_THE_SECOND = "Deploys of the second go through staging first."
GOTCHA = "add() is called with strings by the importer: keep it duck-typed."
LONG_WORDS = "documentation instructions administration requirements implementation "
"""As much room as a token's cost allows: four characters of one each."""


def fired(desk: Desk, event: str, source: str) -> tuple[str, bytes]:
    """A start's answer, and the name under which its receipt may come later."""
    request, until = os.urandom(16), time.monotonic_ns() + 30_000_000_000
    stdin = json.dumps(desk.payload("SessionStart", "s1", source=source)).encode()
    call = wire.Hook(request, until, 0, "claude", event, os.fsencode(desk.repo), b"", stdin)
    return context_of(desk.daemon.hook(call, 0).decode()), request


def lost(desk: Desk) -> None:
    """No receipt comes any more."""
    desk.clock.ms += limits.OFFER_OPEN_MS + 1


def test_a_late_receipt_of_before_a_compaction_pays_nothing_after_it(desk: Desk) -> None:
    """It says that the start's block arrived; the compaction has taken that out, and its own block was lost."""
    desk.remember(RULE, kind="directive")
    before, receipt = fired(desk, "session-start", "startup")
    after, _ = fired(desk, "post-compaction", "compact")
    assert before == after != ""
    desk.daemon.receipt(receipt)
    lost(desk)
    assert context_of(desk.prompt("and on")) == after


def test_a_receipt_pays_what_was_told_and_not_what_has_come_to_be_owed(desk: Desk, tmp_path: Path) -> None:
    """The session went to another repository while the receipt of its start was under way: the rules there are owed even so."""
    first, second = desk.repo, make_repo(tmp_path / "second")
    desk.remember(RULE, kind="directive")
    desk.repo = second
    desk.remember(OF_THE_SECOND, kind="directive")
    desk.repo = first
    _, receipt = fired(desk, "session-start", "startup")
    desk.repo = second
    desk.hook("stop", desk.payload("Stop", "s1", stop_hook_active=False))
    desk.daemon.receipt(receipt)
    assert OF_THE_SECOND in context_of(desk.prompt("now over here"))


def test_a_session_that_comes_to_another_repository_is_owed_its_rules(desk: Desk, tmp_path: Path) -> None:
    """With the next hook there; back where it was, what stands is not said again."""
    first, second = desk.repo, make_repo(tmp_path / "second")
    desk.remember(RULE, kind="directive")
    desk.repo = second
    desk.remember(OF_THE_SECOND, kind="directive")
    desk.repo = first
    assert RULE in context_of(desk.start())
    desk.repo = second
    came = context_of(desk.prompt("now over here", prompt_id="p2"))
    assert OF_THE_SECOND in came
    assert RULE not in came
    assert desk.prompt("and on", prompt_id="p3") == ""
    desk.repo = first
    assert desk.prompt("and back", prompt_id="p4") == ""


def test_a_clock_that_was_set_back_keeps_no_lost_bundle(desk: Desk) -> None:
    """By it the offer is of a time to come, and would wait for its receipt until then."""
    desk.remember(RULE, kind="directive")
    assert RULE in context_of(desk.start(receipt=False))
    desk.clock.ms -= 3_600_000
    assert RULE in context_of(desk.prompt("an hour before"))
    assert desk.prompt("and on", prompt_id="p2") == ""


def test_a_bundle_and_the_prompts_own_notes_share_what_the_client_takes(desk: Desk) -> None:
    """Each has a budget of its own; both together would be more than goes through, and then nothing would."""
    for number in range(30):
        desk.remember(f"Rule {number}: {LONG_WORDS * 6}", kind="directive")
    for number in range(20):
        desk.remember(f"The importer retries three times on a locked database, {number}. {LONG_WORDS * 5}")
    out = context_of(desk.prompt("why does the importer retry three times when the database is locked?"))
    assert 9_000 < claude.cost_units(out) <= claude.CAP_UNITS
    lines = out.split("\n")
    cut = next(number for number, line in enumerate(lines, 1) if line.startswith("memd: end"))
    bundle, own = "\n".join(lines[:cut]), "\n".join(lines[cut:])
    assert limits.BUDGET_START_TOKENS - 200 < desk.daemon.parts.cost(bundle) <= limits.BUDGET_START_TOKENS
    assert desk.daemon.parts.cost(own) < limits.BUDGET_PROMPT_TOKENS
    assert all(read_block(block)[0] for block in (bundle, own))
    left = {one.rule for one in desk.ask(api.Deliveries()).deliveries[0].left_out}
    assert {"budget", "harness-cap"} <= left


def test_without_a_prompts_id_turns_are_counted(desk: Desk) -> None:
    """One hold in each: what comes between two prompts is of one turn."""
    turns = []
    for number in range(3):
        desk.prompt("go on", prompt_id="")
        for of_turn in range(2):
            desk.remember(f"{GOTCHA} {number} {of_turn}", kind="gotcha", priority="high", anchors=["app.py"])
            edited = desk.edit("app.py", prompt_id="")
            assert bool(reason_of(edited)) == (of_turn == 0)
            assert f"{number} {of_turn}" in reason_of(edited) + context_of(edited)
        turns += [one.turn for one in desk.ask(api.Deliveries(limit=2)).deliveries]
    assert turns == ["1", "1", "2", "2", "3", "3"]
