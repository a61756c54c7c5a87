"""What Claude Code says just before it calls a tool of memd's own."""

import json

import pytest

from memd_hooks.events import HookEvent, Moment
from memd_hooks.harness import claude

PAYLOAD = {
    "session_id": "s-1",
    "transcript_path": "/t/s-1.jsonl",
    "cwd": "/r",
    "prompt_id": "p-1",
    "agent_id": "a-1",
    "hook_event_name": "PreToolUse",
    "tool_name": "mcp__memd__remember",
    "tool_input": {"text": "caf\u00e9", "n": 3, "anchor": ["b", "a"]},
    "tool_use_id": "toolu_1",
    "mcp_server": {"name": "memd", "source": "user"},
}


def parsed(**changes: object) -> HookEvent | None:
    return claude.parse("pre-edit", json.dumps(PAYLOAD | changes).encode(), "/r", {})


def test_a_call_is_understood() -> None:
    """By memd's own name of the tool, with its input in the one order that a request is compared in."""
    event = parsed()
    assert event is not None
    assert (event.moment, event.tool, event.tool_use_id, event.agent) == (
        Moment.MEMD_CALL,
        "remember",
        "toolu_1",
        "a-1",
    )
    assert event.tool_input == '{"anchor":["b","a"],"n":3,"text":"caf\u00e9"}'.encode()
    assert event.paths == ()


@pytest.mark.parametrize("tool", ["mcp__memdx__remember", "mcp__other__memd__remember", "remember", "mcp__memd"])
def test_a_call_of_another_servers_tool_is_none(tool: str) -> None:
    """A name that only looks like one."""
    assert parsed(tool_name=tool) is None
