"""What Claude Code's tools give: which payloads are taken in, what text is in them, and where it says that it comes from."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_hooks.events import HookAnswer, HookEvent, Moment, ResultKind
from memd_hooks.harness import claude, claude_results

COMMON = {"session_id": "s-1", "transcript_path": "/home/u/.claude/projects/-r/s-1.jsonl", "cwd": "/r"}


def payload(tool: str, tool_input: Any, event: str = "PostToolUse", **particular: Any) -> bytes:
    said = {"hook_event_name": event, "tool_name": tool, "tool_input": tool_input, "tool_use_id": "toolu_1"}
    return json.dumps({**COMMON, **said, **particular}).encode()


def parsed(stdin: bytes) -> HookEvent | None:
    return claude.parse("tool-result", stdin, "/frame", {})


@pytest.mark.parametrize(
    ("tool", "tool_input", "response", "kind", "origin", "text"),
    [
        ("Bash", {"command": "ls"}, {"stdout": "a\nb", "stderr": "c"}, ResultKind.SHELL, "Bash", "a\nb\nc"),
        ("Grep", {"pattern": "x"}, {"mode": "content", "content": "a:1:x"}, ResultKind.SHELL, "Grep", "content\na:1:x"),
        ("WebFetch", {"url": "https://a/", "prompt": "p"}, {"result": "page"}, ResultKind.PAGE, "https://a/", "page"),
        ("WebSearch", {"query": "q r"}, {"results": ["one", {"title": "t"}]}, ResultKind.SEARCH, "q r", "one\nt"),
        ("mcp__docs__page", {"n": 1}, [{"type": "text", "text": "x"}], ResultKind.TOOL, "mcp__docs__page", "text\nx"),
        ("mcp__docs__page", {}, "Error: too long", ResultKind.TOOL, "mcp__docs__page", "Error: too long"),
        (
            "ReadMcpResourceTool",
            {"server": "docs", "uri": "docs://1"},
            {"contents": [{"uri": "docs://1", "text": "x"}]},
            ResultKind.TOOL,
            "ReadMcpResourceTool",
            "docs://1\nx",
        ),
    ],
)
def test_every_tool_that_gives_words_is_understood(
    tool: str, tool_input: Any, response: Any, kind: ResultKind, origin: str, text: str
) -> None:
    """The shapes as the client sends them: what kind of result it is, where it is from, and the words in it."""
    event = parsed(payload(tool, tool_input, tool_response=response))
    assert event is not None
    assert (event.moment, event.tool, event.result_kind, event.result_from) == (
        Moment.TOOL_RESULT,
        tool,
        kind,
        origin,
    )
    assert claude.result_text(event.result) == text


def test_a_file_that_was_read_brings_its_words_with_the_hook_that_it_has() -> None:
    """One event for a read: what is told of the file, and what was in it."""
    file = {"type": "text", "file": {"filePath": "/r/a.py", "content": "two words", "numLines": 1}}
    event = parsed(payload("Read", {"file_path": "/r/a.py"}, tool_response=file))
    assert event is not None
    assert (event.moment, event.paths, event.result_kind, event.result_from) == (
        Moment.READ,
        ("/r/a.py",),
        ResultKind.FILE,
        "/r/a.py",
    )
    assert "two words" in claude.result_text(event.result)


def test_what_a_failed_command_printed_is_a_result_too() -> None:
    """It comes with another event and in another field; a file that could not be read tells nothing."""
    failed = payload("Bash", {"command": "cat x; false"}, "PostToolUseFailure", error="Exit code 1\nwords of x")
    event = parsed(failed)
    assert event is not None
    assert claude.result_text(event.result) == "Exit code 1\nwords of x"
    assert parsed(payload("Read", {"file_path": "/r/x"}, "PostToolUseFailure", error="no such file")) is None


@pytest.mark.parametrize("tool", ["mcp__memd__recall", "mcp__memd__show", "Edit", "Glob", "Agent", "OfTomorrow", ""])
def test_what_memd_says_itself_is_no_result(tool: str) -> None:
    """Nor are tools that give none of another's words."""
    assert parsed(payload(tool, {"file_path": "/r/a.py"}, tool_response={"x": "y"})) is None


@pytest.mark.parametrize(
    ("tool", "matches"),
    [
        ("Bash", True),
        ("WebFetch", True),
        ("mcp__docs__page", True),
        ("mcp__memdocs__page", True),
        ("mcp__memd__recall", False),
        ("Read", False),
        ("Edit", False),
        ("BashOutput", False),
    ],
)
def test_the_matcher_leaves_out_memds_own_tools_and_what_has_a_hook(tool: str, matches: bool) -> None:
    """The client takes it as a regular expression that has to match the whole name."""
    assert bool(re.fullmatch(claude_results.matcher("memd"), tool)) is matches


def test_no_file_that_is_read_has_two_hooks() -> None:
    """The matchers after a tool are apart."""
    matchers = [r.matcher or "" for r in claude.REGISTRATIONS if r.client_event == "PostToolUse"]
    assert sum(bool(re.fullmatch(matcher, "Read")) for matcher in matchers) == 1


@pytest.mark.parametrize(("event", "words"), [("PostToolUse", "tool_response"), ("PostToolUseFailure", "error")])
def test_after_a_tool_a_context_is_given_under_the_very_event(event: str, words: str) -> None:
    """The client drops one that names another; nothing can be held back then."""
    heard = parsed(payload("Bash", {"command": "ls"}, event, **{words: "a"}))
    assert heard is not None
    told = json.loads(claude.render(heard, HookAnswer(context="x")))
    assert told == {"hookSpecificOutput": {"hookEventName": event, "additionalContext": "x"}}
    assert claude.render(heard, HookAnswer(hold="x")) == b""


def test_an_image_is_no_text() -> None:
    """Its bytes are left out, wherever they stand."""
    image = {"type": "image", "file": {"base64": "aGVsbG8", "type": "image/png"}}
    assert (
        claude.result_text(json.dumps([image, {"data": "aGVsbG8"}, {"text": "seen"}]).encode())
        == "image\nimage/png\nseen"
    )


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"", ""),
        (b"null", ""),
        (b"{", ""),
        (b"[" * 100_000 + b"]" * 100_000, ""),
        (b'{"stdout":"half \\ud83d of it"}', "half \ud83d of it"),
        (b'{"stdout":"not \xff utf"}', "not \ufffd utf"),
    ],
)
def test_no_result_is_hidden_by_how_it_is_written(raw: bytes, text: str) -> None:
    """Bytes that a strict reader refuses are read all the same; what is no JSON has no words."""
    assert claude.result_text(raw) == text


@given(st.binary())
def test_reading_a_result_never_fails(raw: bytes) -> None:
    """Any bytes give a text."""
    assert isinstance(claude.result_text(raw), str)


@given(
    tool=st.sampled_from(["Bash", "WebFetch", "WebSearch", "mcp__a__b", "Read"]),
    tool_input=st.none()
    | st.integers()
    | st.dictionaries(st.sampled_from(["url", "query", "file_path"]), st.integers()),
)
def test_a_strange_call_is_no_error(tool: str, tool_input: Any) -> None:
    """An input of another shape gives an event named by the tool, or none."""
    event = parsed(payload(tool, tool_input, tool_response="x"))
    assert event is None or event.result_from == tool
