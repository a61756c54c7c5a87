"""`memd why` and `memd deliveries` as a person reads them, over hooks that really ran."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

import memd_hooks
from memd_client import api
from tests.cli.world import WAIT_S, World

SCRIPTS = Path(memd_hooks.__file__).parent
SESSION = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
RULE = "Always run the tests with tox."
GOTCHA = "add() is called with strings by the importer."


def hook(world: World, script: str, event: str, name: str, **more: Any) -> str:
    """The text that Claude Code's hook prints."""
    payload = {
        "session_id": SESSION,
        "transcript_path": "/nowhere/t.jsonl",
        "cwd": str(world.repository),
        "hook_event_name": name,
        **more,
    }
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(SCRIPTS / script), event, "claude"],
        cwd=world.repository,
        env=world.environ,
        input=json.dumps(payload).encode(),
        capture_output=True,
        timeout=WAIT_S,
        check=True,
    )
    return done.stdout.decode()


def start(world: World) -> str:
    return hook(world, "session_start.py", "session-start", "SessionStart", source="startup")


def read(world: World, path: str) -> str:
    return hook(
        world,
        "pre_edit.py",
        "read",
        "PostToolUse",
        prompt_id="p1",
        tool_name="Read",
        tool_input={"file_path": str(world.repository / path)},
        tool_use_id="t1",
    )


@pytest.fixture(scope="module")
def told(world: World) -> World:
    """A session that was told a rule and a caveat, and was kept from a guess."""
    world.note(RULE, "--kind", "directive")
    world.note(GOTCHA, "--kind", "gotcha", "--anchor", "app.py", "--priority", "high")
    world.note("app.py may be slow.", "--kind", "gotcha", "--anchor", "app.py", "--provenance", "auto")
    assert RULE in start(world)
    assert GOTCHA in read(world, "app.py")
    return world


def test_before_any_session_it_says_so(fresh: World) -> None:
    """And what would be decided then, each moment once."""
    note = str(fresh.note(GOTCHA, "--kind", "gotcha", "--anchor", "app.py"))
    head, none, now, *rows = fresh.memd("why", note).out.decode().splitlines()
    assert head == f"[{note}] gotcha: held, current, active, revision 1, class agent"
    assert none.startswith("no session was heard of here yet: `memd status`")
    assert now == "what would be decided now:"
    assert rows[0] == (
        "  a session starts here, after a compaction, a prompt comes: left out, since its kind does not arrive at this moment "
        "(a gotcha arrives when its file is read or about to be edited, a high one at a subagent's start too)  (other-moment)"
    )
    assert rows[1].startswith("  app.py is read, app.py is about to be edited: arrives, ")
    assert rows[2].startswith("  a subagent starts: left out, since none of its anchors is a file")


def test_what_was_told_and_what_would_be(told: World) -> None:
    """The ledger's row with its moment, then the rule that keeps the note back now."""
    lines = told.memd("why", "2").out.decode().splitlines()
    assert lines[1] == f"in session {SESSION} (claude):"
    assert lines[2].split("  ")[2].startswith("read: told, ")
    assert (
        "  app.py is read, app.py is about to be edited: left out, since it was told in this turn already  (sent-this-turn)"
        in lines
    )
    auto = told.memd("why", "3").out.decode()
    assert "read: left out, since a note of class auto is never told unasked  (auto)" in auto


def test_a_prompt_is_tried_and_not_kept(told: World) -> None:
    """A finding depends on the prompt until one is given; no turn and no delivery comes of it."""
    note = str(told.note("The importer retries three times on a locked database."))
    before = told.memd("deliveries", "--json").json
    assert "a prompt comes: it depends on the prompt: --prompt TEXT tries one" in told.memd("why", note).out.decode()
    near = told.memd(
        "why", note, "--at", "prompt-submit", "--prompt", "how often does the importer retry on a locked database?"
    )
    assert "a prompt comes: arrives, " in near.out.decode()
    far = told.memd("why", note, "--at", "prompt-submit", "--prompt", "what colour is the logo?").out.decode()
    assert "left out, since the prompt gives too little reason for it (cosine " in far
    assert told.memd("turns", "--json").json == []
    assert told.memd("deliveries", "--json").json == before


def test_a_session_is_named_as_it_is_shown(told: World) -> None:
    """By the eight characters of the table, in `why`, `deliveries` and `turns`; one that is not there is refused, or empty."""
    row = told.memd("deliveries").out.decode().splitlines()[0]
    shown = SESSION[:8]
    assert shown in row
    whole = told.memd("why", "1", "--session", SESSION, "--json").json
    assert told.memd("why", "1", "--session", shown, "--json").json == whole
    assert len(told.memd("deliveries", "--session", shown, "--json").json) == 2
    refused = told.memd("why", "1", "--session", "zz", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (1, "no-such-session")
    assert told.memd("why", "1", "--at", "noon", "--json").json["error"]["code"] == "unknown-word"


def test_deliveries_name_the_rule_and_its_sentence(told: World) -> None:
    """The table has the rule's name, `--why` the sentence, `--json` both."""
    table = told.memd("deliveries").out.decode().splitlines()
    assert table[0].endswith("[2] left out: [3] auto")
    lines = told.memd("deliveries", "--why").out.decode().splitlines()
    assert lines[1:3] == ["  told [2]", "  left out [3], since a note of class auto is never told unasked  (auto)"]
    left = told.memd("deliveries", "--json").json[0]["left_out"]
    assert left == [{"id": 3, "rule": "auto", "says": "a note of class auto is never told unasked"}]


def test_what_is_printed_is_what_the_client_gives(told: World) -> None:
    """`Memd.why` and `--json` are one contract."""
    with told.client() as memd:
        reply = memd.why("2", at=("read",), paths=("app.py",), limit=0)
    assert isinstance(reply, api.WhyReply)
    printed = told.memd("why", "2", "--at", "read", "--path", "app.py", "--all", "--json").json
    assert printed == msgspec.to_builtins(reply)


def test_of_a_session_that_has_ended_it_says_whose_now_it_is(fresh: World) -> None:
    """What its last turn was told comes again in a new session; that nothing came to a note is told as such."""
    note = str(fresh.note(GOTCHA, "--kind", "gotcha", "--anchor", "app.py"))
    other = str(fresh.note("The logo is blue.", "--kind", "decision"))
    start(fresh)
    assert GOTCHA in read(fresh, "app.py")
    hook(fresh, "prompt_submit.py", "session-end", "SessionEnd", reason="exit")
    lines = fresh.memd("why", note, "--at", "read", "--at", "resume").out.decode().splitlines()
    assert lines[1] == f"in session {SESSION} (claude, ended):"
    assert lines[3] == "what would be decided now, in a new session here:"
    assert lines[4].startswith("  app.py is read: arrives, ")
    assert lines[5].startswith("  that session is resumed: left out, since ")
    lines = fresh.memd("why", other).out.decode().splitlines()
    assert lines[2] == "  memd heard of no moment in it at which the note could have been told unasked"


def test_where_memd_is_off_it_says_so(told: World) -> None:
    """The daemon cannot know of a variable in a client's environment; the command sees its own."""
    assert "MEMD_OFF is set here" in told.memd("why", "1", MEMD_OFF="1").err
    assert "MEMD_OFF" not in told.memd("why", "1", MEMD_OFF="0").err


def test_what_an_agent_asked_for_is_told_apart(fresh: World) -> None:
    """From its session's shell: who asked is marked in the deliveries, in the log and in the answer to why."""
    note = str(fresh.note("The importer retries three times on a locked database."))
    start(fresh)
    fresh.memd("recall", "how often does the importer retry?", CLAUDE_CODE_SESSION_ID=SESSION)
    fresh.memd("show", note)  # by a person at a terminal
    (row,) = fresh.memd("deliveries").out.decode().splitlines()
    assert "  recall  " in row
    assert "  asked  " in row
    assert "recall: shown, since it was asked for, " in fresh.memd("why", note).out.decode()
    log = fresh.memd("log", note).out.decode()
    assert f"  local  shown by recall, session {SESSION[:8]}…" in log
    assert "shown by show" not in log


def test_a_moment_at_which_nothing_was_told_is_no_delivery(told: World) -> None:
    """It is listed where it is asked for, under a name of its own, and status names the last that told something."""
    hook(told, "pre_edit.py", "read", "PostToolUse", prompt_id="p2", tool_name="Read", tool_use_id="t2",
         tool_input={"file_path": str(told.repository / "app.py")})  # fmt: skip
    hook(
        told,
        "prompt_submit.py",
        "prompt-submit",
        "UserPromptSubmit",
        prompt_id="p3",
        prompt="how long does the importer lock?",
    )
    every = told.memd("deliveries", "--silent", "--json").json
    silent = [one for one in every if not one["notes"]]
    assert silent
    assert {one["state"] for one in silent} == {"silent"}
    shown = told.memd("deliveries", "--json").json
    assert shown == [one for one in every if one["notes"]]
    assert "silent" not in told.memd("deliveries").out.decode()
    assert "  silent  0 tokens  left out: " in told.memd("deliveries", "--silent").out.decode()
    assert "  silent  0 tokens" in told.memd("deliveries", "--why").out.decode()
    assert told.memd("status", "--json").json["last_delivery"] == shown[0]
    assert "told last" in told.memd("status").out.decode()
    assert "--silent has what was left out" in told.memd("deliveries", "--session", "abc").err
