"""Whether a call that `claude.parse` makes nothing of was a prompt that the user typed into Claude Code, and is lost.

`parse` gives nothing for two reasons that it does not tell apart: the call is none of Claude Code's (another client runs these
settings), or what came is not written as Claude Code writes it, be it that it was cut or that the client has changed. Of a call
that was kept for later the second is a loss, and is counted.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from memd_hooks.events import Moment
from memd_hooks.harness import claude

_EVENT: Final = "UserPromptSubmit"
_TELLS_NOTHING: Final = ("cwd", "prompt_id", "permission_mode", "agent_id", "agent_type")
"""Fields by which no client is known."""


def is_unread(event: str, stdin: bytes, cwd: str, env: Mapping[str, str]) -> bool:
    """Whether these bytes, of which `claude.parse` makes nothing, may be a prompt of this client's. Total.

    They are, where the same fields around a prompt that can be read would be.
    """
    if event != Moment.PROMPT_SUBMIT:
        return False
    try:
        told = json.loads(stdin.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return True
    if not isinstance(told, dict):
        return True
    name = told.get("hook_event_name", _EVENT)
    return name == _EVENT and claude.parse(event, json.dumps(_readable(told)).encode(), cwd, env) is not None


def _readable(told: dict[str, Any]) -> dict[str, Any]:
    session = told.get("session_id")
    named = session if isinstance(session, str) and session else claude.SAMPLE_SESSION
    kept = {field: value for field, value in told.items() if field not in _TELLS_NOTHING}
    return {**kept, "hook_event_name": _EVENT, "session_id": named, "prompt": ""}
