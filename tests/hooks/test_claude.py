"""Claude Code's contract: what its payloads become, and the exact bytes it is answered with."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_hooks.events import HookAnswer, HookEvent, Moment, StartSource
from memd_hooks.harness import BY_NAME, claude

COMMON = {"session_id": "s-1", "transcript_path": "/home/u/.claude/projects/-r/s-1.jsonl", "cwd": "/r"}
EDIT = {
    "tool_name": "Edit",
    "tool_input": {"file_path": "/r/a.py", "old_string": "a", "new_string": "b"},
    "tool_use_id": "toolu_1",
}


def payload(client_event: str, **particular: Any) -> bytes:
    return json.dumps({**COMMON, "hook_event_name": client_event, **particular}).encode()


def parsed(stdin: bytes, event: str = "pre-edit", **env: str) -> HookEvent | None:
    return claude.parse(event, stdin, "/frame", env)


@pytest.mark.parametrize(
    ("stdin", "expected"),
    [
        (payload("SessionStart", source="startup"), {"moment": Moment.SESSION_START, "source": StartSource.STARTUP}),
        (
            payload("SessionStart", source="resume", context_tokens=3, estimated_cache_write_usd=0.1),
            {"moment": Moment.SESSION_START, "source": StartSource.RESUME},
        ),
        (payload("SessionStart", source="clear"), {"moment": Moment.SESSION_START, "source": StartSource.CLEAR}),
        (payload("SessionStart", source="fork"), {"moment": Moment.SESSION_START, "source": StartSource.FORK}),
        (payload("SessionStart", source="compact"), {"moment": Moment.POST_COMPACTION, "source": StartSource.COMPACT}),
        (payload("SessionStart", source="of tomorrow"), {"moment": Moment.SESSION_START, "source": None}),
        (
            payload("UserPromptSubmit", prompt="hi", prompt_id="p", permission_mode="plan"),
            {"moment": Moment.PROMPT_SUBMIT, "prompt": "hi", "prompt_id": "p", "permission_mode": "plan"},
        ),
        (
            payload("PreToolUse", **EDIT),
            {
                "moment": Moment.PRE_EDIT,
                "tool": "Edit",
                "tool_use_id": "toolu_1",
                "paths": ("/r/a.py",),
                "tool_input": b'{"file_path":"/r/a.py","new_string":"b","old_string":"a"}',
            },
        ),
        (
            payload("PreToolUse", tool_name="Write", tool_input={"file_path": "n.txt", "content": "x"}, agent_id="a1"),
            {"moment": Moment.PRE_EDIT, "tool": "Write", "paths": ("n.txt",), "agent": "a1"},
        ),
        (
            payload("PreToolUse", tool_name="NotebookEdit", tool_input={"notebook_path": "/r/n.ipynb"}),
            {"moment": Moment.PRE_EDIT, "paths": ("/r/n.ipynb",)},
        ),
        (
            payload(
                "PostToolUse",
                tool_name="Read",
                tool_input={"file_path": "/r/a.py"},
                tool_response={"file": {"content": "x"}},
            ),
            {"moment": Moment.READ, "tool": "Read", "paths": ("/r/a.py",)},
        ),
        (
            payload("SubagentStart", agent_id="a1", agent_type="general-purpose"),
            {"moment": Moment.SUBAGENT_START, "agent": "a1", "agent_type": "general-purpose"},
        ),
        (payload("Stop", stop_hook_active=False), {"moment": Moment.STOP}),
        (
            payload("SessionEnd", reason="prompt_input_exit"),
            {"moment": Moment.SESSION_END, "reason": "prompt_input_exit"},
        ),
    ],
)
def test_every_event_of_interest_is_understood(stdin: bytes, expected: dict[str, Any]) -> None:
    """A payload as the client sends it becomes the event it tells of, with the common fields filled in."""
    event = parsed(stdin)
    assert event is not None
    assert {name: getattr(event, name) for name in expected} == expected
    assert (event.harness, event.session, event.cwd) == ("claude", "s-1", "/r")
    assert event.transcript_path == COMMON["transcript_path"]


@pytest.mark.parametrize(
    "stdin",
    [
        payload("PreToolUse", tool_name="Read", tool_input={"file_path": "/r/a.py"}),
        payload("PreToolUse", tool_name="Bash", tool_input={"command": "ls"}),
        payload("PostToolUse", **EDIT),
        payload("SubagentStop", agent_id="", agent_type=""),
        payload("PreCompact", trigger="auto", custom_instructions=None),
        payload("PostCompact", trigger="auto"),
        payload("MessageDisplay", index=0),
        payload("OfTomorrow"),
    ],
)
def test_what_memd_has_no_use_for_is_no_event(stdin: bytes) -> None:
    """Other events and other tools are nobody's business."""
    assert parsed(stdin) is None


@pytest.mark.parametrize(
    "stdin",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b"\xff\xfe",
        b'{"a":' * 100_000,
        payload("Stop")[:-1] + b',"deep":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        payload("UserPromptSubmit", prompt="x").replace(b'"x"', b"\xff"),
        payload("UserPromptSubmit"),
        payload("UserPromptSubmit", prompt=None),
        payload("UserPromptSubmit", prompt=["x"]),
        payload("SessionStart", source=1),
        payload("PreToolUse", tool_name="Edit"),
        payload("PreToolUse", tool_name="Edit", tool_input="a.py"),
        payload("PreToolUse", tool_name="Edit", tool_input={"file_path": 7}),
        payload("PreToolUse", tool_name="Edit", tool_input={}),
        payload("SubagentStart"),
        payload("Stop", session_id=""),
        payload("Stop", session_id=3),
        payload("Stop", transcript_path=7),
    ],
)
def test_what_is_not_well_formed_is_no_event(stdin: bytes) -> None:
    """Garbage, wrong types, missing fields, bad UTF-8 and bottomless nesting are None, never an exception."""
    assert parsed(stdin) is None


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=())),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=8,
)


@given(
    event=st.sampled_from(
        ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStart", "Stop", "SessionEnd"]
    ),
    changed=st.dictionaries(
        st.sampled_from(
            [
                "session_id",
                "transcript_path",
                "cwd",
                "prompt",
                "prompt_id",
                "source",
                "tool_name",
                "tool_input",
                "agent_id",
                "reason",
            ]
        ),
        JSON,
        max_size=4,
    ),
    word=st.sampled_from([*Moment, "", "nonsense"]),
)
def test_parse_is_total_over_payloads(event: str, changed: dict[str, Any], word: str) -> None:
    """Whatever stands in a payload's fields, the answer is an event of text alone, or None."""
    found = parsed(payload(event, **{"prompt": "x", **EDIT, "agent_id": "a", **changed}), word)
    if found is not None:
        assert found.session
        assert found.session == changed.get("session_id", "s-1")
        found.prompt.encode()


@given(st.binary(max_size=200))
def test_parse_is_total_over_bytes(stdin: bytes) -> None:
    """Bytes that are no payload are None."""
    assert parsed(stdin) is None


def test_half_an_emoji_does_not_lose_the_turn() -> None:
    """A prompt cut inside a surrogate pair is kept, the half replaced, a backslash that only looks like one left alone."""
    event = parsed(payload("UserPromptSubmit", prompt="fix \ud83d it \\ud83d 😀"))
    assert event is not None
    assert event.prompt == "fix \ufffd it \\ud83d 😀"


def test_the_payload_goes_before_the_command_line() -> None:
    """A compaction handed to session_start is a compaction; but no payload of Claude Code is a git commit."""
    for word in Moment:
        event = parsed(payload("SessionStart", source="compact"), word)
        assert (event and event.moment) == (None if word is Moment.GIT_COMMIT else Moment.POST_COMPACTION)


def test_equal_calls_have_equal_bytes() -> None:
    """The order of keys and the blanks of a tool's input do not make it another call; another value does."""
    orders = [
        '{"file_path": "a", "content": "x"}',
        '{"content":"x","file_path":"a"}',
        '{"content":"y","file_path":"a"}',
    ]
    calls = [
        payload("PreToolUse", tool_name="Write", tool_input="@").replace(b'"@"', order.encode()) for order in orders
    ]
    first, second, third = (event.tool_input for event in map(parsed, calls) if event)
    assert first == second != third


def test_a_number_beyond_the_machine_is_kept_as_sent() -> None:
    """A tool's input with an integer of 30 digits is still a call that can be recognized."""
    raw = b'{"file_path":"a","n":' + b"1" * 30 + b"}"
    event = parsed(payload("PreToolUse", tool_name="Write", tool_input="@").replace(b'"@"', raw))
    assert event is not None
    assert event.tool_input == raw


@pytest.mark.parametrize(
    ("particular", "env"),
    [
        ({}, {"COPILOT_CLI": "1"}),
        ({}, {"COPILOT_CLI": "1", "CLAUDE_CODE_SESSION_ID": "the session of a Claude Code that started Copilot"}),
        ({}, {"GEMINI_SESSION_ID": "g"}),
        ({"conversation_id": "c", "cursor_version": "2"}, {}),
        ({"workspace_roots": ["/r"]}, {"CLAUDE_CODE_SESSION_ID": "s-1"}),
        ({"transcript_path": "/home/u/.copilot/session-state/x/events.jsonl"}, {}),
        ({"transcript_path": "/home/u/.codex/sessions/2026/11/29/rollout-1.jsonl"}, {}),
        ({"transcript_path": "", "timestamp": "2026-11-29T21:12:58.145Z"}, {}),
        ({"transcript_path": ""}, {"COPILOT_CLI": "1"}),
    ],
)
def test_another_client_gets_no_event(particular: dict[str, Any], env: dict[str, str]) -> None:
    """Copilot and Cursor run Claude Code's hooks too; for them memd neither answers nor records."""
    assert parsed(payload("UserPromptSubmit", prompt="x", **particular), **env) is None


def test_copilots_imitation_is_told_by_its_missing_transcript() -> None:
    """Copilot's payload under a PascalCase event has no transcript path."""
    stdin = json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/r", "prompt": "x"}).encode()
    assert parsed(stdin) is None


@pytest.mark.parametrize(
    "transcript",
    [
        None,
        "",
        "/home/u/.claude/projects/-home-u/.codex/x.jsonl",
        "/w/.cursor/home/.claude/projects/-r/s-1.jsonl",
        "/w/.gemini/.copilot/x.jsonl",
    ],
)
def test_a_prompt_is_kept_whatever_its_transcript_is_called(transcript: str | None) -> None:
    """No transcript yet, or a folder that merely has another client's name, loses no turn."""
    event = parsed(payload("UserPromptSubmit", prompt="x", transcript_path=transcript))
    assert event is not None
    assert (event.prompt, event.transcript_path) == ("x", transcript or "")


def test_bytes_that_are_no_text_lose_no_turn() -> None:
    """Each of them becomes a replacement character; the rest of the prompt stays."""
    event = parsed(payload("UserPromptSubmit", prompt="@").replace(b'"@"', b'"caf\xe9 \xc3\xa9"'))
    assert event is not None
    assert event.prompt == "caf\ufffd é"


@pytest.mark.parametrize(
    ("told", "frame", "cwd"),
    [
        ("/r/caf\ufffd", "/r/caf\udce9", "/r/caf\udce9"),
        ("/r/other\ufffd", "/r/caf\udce9", "/r/other\ufffd"),
        ("/r", "/elsewhere", "/r"),
        ("", "/frame", "/frame"),
        (None, "/frame", "/frame"),
        ("/" + "a/" * 5_000, "/frame", "/frame"),
    ],
)
def test_a_directory_that_is_no_text_is_taken_from_the_hook_itself(told: str | None, frame: str, cwd: str) -> None:
    """JSON cannot hold such a path, the hook's own frame can; otherwise the payload says it."""
    event = claude.parse("prompt-submit", payload("UserPromptSubmit", prompt="x", cwd=told), frame, {})
    assert event is not None
    assert event.cwd == cwd


def test_claude_code_under_another_client_is_claude_code() -> None:
    """A session in the environment that is the payload's outweighs marks inherited from the client around it."""
    event = parsed(
        payload("UserPromptSubmit", prompt="x"),
        CLAUDE_CODE_SESSION_ID="s-1",
        COPILOT_CLI="1",
        CLAUDE_CODE_ENTRYPOINT="sdk-cli",
    )
    assert event is not None
    assert event.entry_point == "sdk-cli"


def test_a_person_is_told_from_a_program_by_the_entry_point() -> None:
    """The terminal and the IDE are a person's; -p and the SDKs are not."""
    assert {"cli", "claude-vscode", "claude-desktop"} <= set(claude.PERSON_ENTRY_POINTS)
    assert not {"sdk-cli", "sdk-ts", "sdk-py", "mcp", "local-agent", ""} & set(claude.PERSON_ENTRY_POINTS)


# --- answers


def event_at(moment: Moment) -> HookEvent:
    return HookEvent(moment=moment, harness="claude", session="s", cwd="/r")


@pytest.mark.parametrize(
    ("moment", "client_event"),
    [
        (Moment.SESSION_START, "SessionStart"),
        (Moment.POST_COMPACTION, "SessionStart"),
        (Moment.PROMPT_SUBMIT, "UserPromptSubmit"),
        (Moment.READ, "PostToolUse"),
        (Moment.PRE_EDIT, "PreToolUse"),
        (Moment.SUBAGENT_START, "SubagentStart"),
    ],
)
def test_context_is_nested_under_the_clients_event(moment: Moment, client_event: str) -> None:
    """The answer holds the event's own name and the text, and no other key."""
    stdout = claude.render(event_at(moment), HookAnswer(context="a “note”\n"))
    assert json.loads(stdout) == {
        "hookSpecificOutput": {"hookEventName": client_event, "additionalContext": "a “note”\n"}
    }
    assert stdout.isascii()
    assert claude.is_answer(moment, stdout)


def test_a_held_edit_is_denied_with_its_reason() -> None:
    """Deny and the reason: no allow, no ask, no other input, no context."""
    stdout = claude.render(event_at(Moment.PRE_EDIT), HookAnswer(hold="look"))
    assert json.loads(stdout) == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "look",
        }
    }


@pytest.mark.parametrize("moment", [m for m in Moment if m is not Moment.PRE_EDIT])
def test_only_an_edit_can_be_held(moment: Moment) -> None:
    """A hold at any other moment is not said."""
    assert claude.render(event_at(moment), HookAnswer(hold="look")) == b""


@pytest.mark.parametrize("moment", [Moment.STOP, Moment.SESSION_END, Moment.GIT_COMMIT])
def test_where_a_word_would_do_harm_none_is_said(moment: Moment) -> None:
    """At Stop a context would make the turn go on; a session end has no output."""
    assert claude.render(event_at(moment), HookAnswer(context="x")) == b""


@pytest.mark.parametrize("moment", list(Moment))
def test_nothing_to_say_is_no_byte(moment: Moment) -> None:
    """An empty answer is empty."""
    assert claude.render(event_at(moment), HookAnswer()) == b""


@pytest.mark.parametrize(("text", "units"), [("", 0), ("a", 1), ("ä", 1), ("—", 1), ("😀", 2), ("\ud83d", 1)])
def test_size_is_counted_in_utf16_units(text: str, units: int) -> None:
    """The client cuts by UTF-16 code units."""
    assert claude.cost_units(text) == units


@pytest.mark.parametrize("text", ["a" * claude.CAP_UNITS, "😀" * (claude.CAP_UNITS // 2)])
def test_a_text_over_the_cap_is_not_sent(text: str) -> None:
    """At the cap the whole text goes; one unit more and the client would cut it, so nothing does."""
    read = event_at(Moment.READ)
    assert len(
        json.loads(claude.render(read, HookAnswer(context=text)))["hookSpecificOutput"]["additionalContext"]
    ) == len(text)
    assert claude.render(read, HookAnswer(context=text + "a")) == b""


@given(st.sampled_from(list(Moment)), st.text(st.characters(exclude_categories=())), st.booleans())
def test_what_is_rendered_is_always_an_answer(moment: Moment, text: str, is_hold: bool) -> None:
    """Any text, halves of surrogate pairs too, gives bytes that the client takes, with valid Unicode in them."""
    stdout = claude.render(event_at(moment), HookAnswer(hold=text) if is_hold else HookAnswer(context=text))
    assert claude.is_answer(moment, stdout)
    if stdout:
        json.loads(stdout)["hookSpecificOutput"]["hookEventName"].encode()
        json.dumps(json.loads(stdout), ensure_ascii=False).encode()


@pytest.mark.parametrize(
    "stdout",
    [
        b"x",
        b"{}",
        b'{"hookSpecificOutput":{"hookEventName":"PostToolUse"}}',
        b'{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":"x"}}',
        b'{"continue":"x","hookSpecificOutput":{"hookEventName":"PreToolUse"}}',
    ],
)
def test_what_the_client_would_not_take_is_no_answer(stdout: bytes) -> None:
    """Plain text, other events, other keys."""
    assert not claude.is_answer(Moment.PRE_EDIT, stdout)


def test_every_registered_hook_has_a_sample_that_is_understood() -> None:
    """The payload a hook is fired with is one that Claude Code could have sent."""
    for moment in (*(registration.event for registration in claude.REGISTRATIONS), Moment.MEMD_CALL):
        word = Moment.PRE_EDIT if moment is Moment.MEMD_CALL else moment
        event = parsed(claude.sample(moment, "/r"), word)
        assert event is not None
        assert event.moment is moment


def test_the_client_waits_longer_than_a_hook_takes() -> None:
    """Each registered timeout is at least three deadlines, and SessionEnd's is said, since 1.5 s is its default."""
    from memd_client import wire

    for registration in claude.REGISTRATIONS:
        deadline = wire.STARTING_DEADLINE_MS if registration.timeout_s > 5 else wire.HOOK_DEADLINE_MS
        assert registration.timeout_s * 1_000 >= 3 * deadline


def test_the_table_of_harnesses_goes_by_name() -> None:
    """The command line's word finds the module that has it as its name."""
    assert all(name == harness.NAME for name, harness in BY_NAME.items())
