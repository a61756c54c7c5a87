"""Claude Code: what it sends to hooks, what it takes from them, where its settings stand. Measured on 2.1.332.

**In.** One JSON object on stdin; every one holds ``session_id``, ``transcript_path``, ``cwd`` and ``hook_event_name``. What the
payload says of itself goes before the EVENT of the command line, since the client rejects an answer that names another event:
a SessionStart whose source is ``compact`` is a post-compaction wherever it was sent, and one of any other source is not.

**Out.** ``{"hookSpecificOutput": {"hookEventName": …, "additionalContext": …}}``, or for a held edit ``permissionDecision``
``deny`` with its reason; nothing else, ever: no ``allow``, ``ask``, ``updatedInput`` or ``continue``. Nothing at Stop, where a
context would make the turn go on, nor at SessionEnd, which has no output. The bytes are ASCII: a client that decodes a pipe
piece by piece cannot break a character that was cut in two.

**Another client** that runs these settings (Copilot and Cursor read a repository's, Cursor the user's too) gets no event at
all: it would be recorded as Claude Code's, and its own hook comes as well. It is told by its own fields, by its transcript's folder
or by its environment. A payload of Claude Code's names its transcript, be it with nothing: one without that key is an imitation.

**No turn may be lost** for how it is written: bytes that are no UTF-8, and halves of surrogate pairs, become U+FFFD.
"""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from memd_hooks.events import HookAnswer, HookEvent, Moment, ResultKind, StartSource
from memd_hooks.harness import claude_results
from memd_hooks.harness.claude_tags import TAGS as TAGS

NAME: str = "claude"

# UTF-16 code units of one hook's text. Above 10,000 the client writes the text to a file and shows the first 2 KB of it;
# 500 are left for what it may come to count along.
CAP_UNITS: int = 9_500

# Process names of the client. The npm package's program is called claude.exe on every system.
CLIENT_NAMES: tuple[str, ...] = ("claude", "claude.exe")

# CLAUDE_CODE_ENTRYPOINT where a person types: terminal (JetBrains' plugin too), VS Code, the desktop application. Not those:
# sdk-cli (-p), sdk-ts, sdk-py, mcp, claude-code-github-action, local-agent, remote*, claude-in-slack, claude-in-teams.
PERSON_ENTRY_POINTS: tuple[str, ...] = ("cli", "claude-vscode", "claude-desktop", "claude-desktop-3p")

# What forks a session of another process names it here, and nowhere else: neither its events nor its environment do.
RESUME_FLAGS: tuple[str, ...] = ("--resume", "-r")
SESSION_NAMES: tuple[str, ...] = ("CLAUDE_CODE_SESSION_ID",)  # variables that name the session in the shells it starts

SAMPLE_SESSION = "memd-probe"  # the session that `sample` speaks of

EDIT_TOOLS = ("Edit", "Write", "NotebookEdit")

# The name under which memd's MCP server is registered, and what the client puts before the names of its tools.
MCP_SERVER = "memd"
MCP_PREFIX = f"mcp__{MCP_SERVER}__"

# What a person may allow the client to call without asking each time: those of memd's tools that only read.
READ_TOOLS = ("recall", "show", "decisions", "trace")
READ_PERMISSIONS = tuple(f"{MCP_PREFIX}{tool}" for tool in READ_TOOLS)


class Registration(msgspec.Struct, frozen=True):
    """One group in the client's settings: its event, its matcher (None: left out), the EVENT of its command, its timeout."""

    client_event: str
    matcher: str | None
    event: Moment
    timeout_s: int  # the client's patience; a hook of memd ends long before (memd_client.wire), under load too


# Session start and its like may wait 1.5 s for a starting daemon. SessionEnd gets 1.5 s unless its timeout says more.
REGISTRATIONS = (
    Registration("SessionStart", "startup|resume|clear|fork", Moment.SESSION_START, 10),
    Registration("SessionStart", "compact", Moment.POST_COMPACTION, 10),
    Registration("UserPromptSubmit", None, Moment.PROMPT_SUBMIT, 5),
    Registration("PreToolUse", "|".join(EDIT_TOOLS), Moment.PRE_EDIT, 5),
    Registration("PreToolUse", f"{MCP_PREFIX}.*", Moment.PRE_EDIT, 5),
    Registration("PostToolUse", "Read", Moment.READ, 5),
    Registration("PostToolUse", claude_results.matcher(MCP_SERVER), Moment.TOOL_RESULT, 5),
    Registration("PostToolUseFailure", claude_results.matcher(MCP_SERVER), Moment.TOOL_RESULT, 5),
    Registration("SubagentStart", None, Moment.SUBAGENT_START, 10),
    Registration("SessionEnd", None, Moment.SESSION_END, 5),
)

# Marks of other clients in the environment of a hook. Cursor's terminal leaves its own in every child, so Cursor is told
# by its payload alone.
FOREIGN_ENVIRONMENT = (
    "COPILOT_CLI",
    "COPILOT_PROJECT_DIR",
    "COPILOT_AGENT_SESSION_ID",
    "GEMINI_SESSION_ID",
)
# Where other clients keep their transcripts: their folder and what is in it. A project's own folder may have the first name.
_FOREIGN_TRANSCRIPTS = (
    "/.copilot/session-state/",
    "/.gemini/tmp/",
    "/.cursor/projects/",
    "/.codex/sessions/",
    "/.codex/archived_sessions/",
)
_CWD_MAX_CHARS = 8_192  # as the wire's frame: a longer one is no directory's


# --- where the settings stand


def user_settings(environ: Mapping[str, str]) -> Path:
    """The user's settings file; CLAUDE_CONFIG_DIR moves it."""
    folder = environ.get("CLAUDE_CONFIG_DIR")
    return (Path(folder) if folder else Path(environ.get("HOME") or Path.home()) / ".claude") / "settings.json"


def project_settings(root: Path) -> Path:
    """A person's own settings for one project: the shared file beside it would be read by Copilot and Cursor, and committed."""
    return root / ".claude/settings.local.json"


def global_config(environ: Mapping[str, str]) -> Path:
    """The file the client keeps for itself: the user's MCP servers and, under ``projects``, the user's own for one project.

    CLAUDE_CONFIG_DIR moves it; where an old client left a file in the settings' folder, that one is it.
    """
    legacy = user_settings(environ).parent / ".config.json"
    if legacy.is_file() and legacy.stat().st_size:
        return legacy
    return Path(environ.get("CLAUDE_CONFIG_DIR") or environ.get("HOME") or Path.home()) / ".claude.json"


def managed_settings() -> tuple[Path, ...]:
    """The files by which an administrator overrides everybody's settings, on the systems memd runs on."""
    folders = (Path("/etc/claude-code"), Path("/Library/Application Support/ClaudeCode"))
    return tuple(folder / "managed-settings.json" for folder in folders)


# --- what comes in


class _Payload(msgspec.Struct):
    """What every event has. The fields of Cursor and of Copilot stand here to tell those clients by."""

    hook_event_name: str
    session_id: str
    transcript_path: str | msgspec.UnsetType | None = msgspec.UNSET
    cwd: str | None = None
    prompt_id: str | None = None
    permission_mode: str | None = None
    agent_id: str | None = None
    agent_type: str | None = None
    conversation_id: msgspec.Raw | None = None
    cursor_version: msgspec.Raw | None = None
    workspace_roots: msgspec.Raw | None = None
    timestamp: msgspec.Raw | None = None


class _SessionStart(_Payload):
    source: str = ""


class _UserPromptSubmit(_Payload, kw_only=True):
    prompt: str


class _ToolUse(_Payload, kw_only=True):
    """PreToolUse, PostToolUse and PostToolUseFailure; what the tool gave is handed on as it is."""

    tool_name: str
    tool_input: msgspec.Raw
    tool_use_id: str | None = None
    tool_response: msgspec.Raw = msgspec.Raw()
    error: msgspec.Raw = msgspec.Raw()


class _SessionEnd(_Payload):
    reason: str = ""


_PATH_FIELDS: Mapping[str, str] = {"NotebookEdit": "notebook_path"}  # every other tool's is `file_path`
_Fields = dict[str, Any]


def _session_start(payload: _SessionStart) -> _Fields:
    known = {source.value: source for source in StartSource}
    source = known.get(payload.source)
    is_compact = source is StartSource.COMPACT
    return {"moment": Moment.POST_COMPACTION if is_compact else Moment.SESSION_START, "source": source}


def _prompt(payload: _UserPromptSubmit) -> _Fields:
    return {"moment": Moment.PROMPT_SUBMIT, "prompt": payload.prompt}


def _pre_tool(payload: _ToolUse) -> _Fields | None:
    if payload.tool_name.startswith(MCP_PREFIX):
        return _call(payload, Moment.MEMD_CALL, payload.tool_name.removeprefix(MCP_PREFIX))
    return _tool(payload, Moment.PRE_EDIT) if payload.tool_name in EDIT_TOOLS else None


def _post_tool(payload: _ToolUse) -> _Fields | None:
    """What a tool gave; None for memd's own, and for one whose results are not looked at."""
    kind = None if payload.tool_name.startswith(MCP_PREFIX) else claude_results.kind_of(payload.tool_name)
    is_file = kind is ResultKind.FILE
    fields = _tool(payload, Moment.READ) if is_file else _call(payload, Moment.TOOL_RESULT, payload.tool_name)
    if kind is None or fields is None:
        return None
    origin = fields["paths"][0] if is_file else claude_results.origin_of(payload.tool_name, payload.tool_input)
    return fields | {
        "result": bytes(payload.tool_response) or bytes(payload.error),
        "result_kind": kind,
        "result_from": origin,
    }


result_text = claude_results.text_of


def _post_tool_failure(payload: _ToolUse) -> _Fields | None:
    """A file that could not be read tells nothing."""
    fields = _post_tool(payload) if payload.tool_name != "Read" else None
    return fields and {**fields, "has_failed": True}


def _tool(payload: _ToolUse, moment: Moment) -> _Fields | None:
    # One tool's name of its file is not another's: what else stands in the input is no path, whatever it is called.
    said = msgspec.json.decode(payload.tool_input, type=dict[str, msgspec.Raw])
    path = msgspec.json.decode(said.get(_PATH_FIELDS.get(payload.tool_name, "file_path"), b'""'), type=str)
    return {**_call(payload, moment, payload.tool_name), "paths": (path,)} if path else None


def _call(payload: _ToolUse, moment: Moment, tool: str) -> _Fields:
    return {
        "moment": moment,
        "tool": tool,
        "tool_use_id": payload.tool_use_id or "",
        "tool_input": _canonical(payload.tool_input),
    }


def _canonical(raw: msgspec.Raw) -> bytes:
    """The same JSON with sorted keys and no spaces; a number that does not fit a machine's stays as it was sent."""
    try:
        return msgspec.json.encode(msgspec.json.decode(raw), order="deterministic")
    except (msgspec.MsgspecError, OverflowError):
        return bytes(raw)


def _subagent_start(payload: _Payload) -> _Fields | None:
    return {"moment": Moment.SUBAGENT_START} if payload.agent_id else None


def _session_end(payload: _SessionEnd) -> _Fields:
    return {"moment": Moment.SESSION_END, "reason": payload.reason}


# client event -> (its payload, what is particular to it)
_EVENTS: Mapping[str, tuple[type[_Payload], Callable[[Any], _Fields | None]]] = {
    "SessionStart": (_SessionStart, _session_start),
    "UserPromptSubmit": (_UserPromptSubmit, _prompt),
    "PreToolUse": (_ToolUse, _pre_tool),
    "PostToolUse": (_ToolUse, _post_tool),
    "PostToolUseFailure": (_ToolUse, _post_tool_failure),
    "SubagentStart": (_Payload, _subagent_start),
    "Stop": (_Payload, lambda _: {"moment": Moment.STOP}),
    "SessionEnd": (_SessionEnd, _session_end),
}


class _Head(msgspec.Struct):
    hook_event_name: str


def parse(event: str, stdin: bytes, cwd: str, env: Mapping[str, str]) -> HookEvent | None:
    """The event in a hook's stdin; None for what is not Claude Code's, not of interest to memd, or not well-formed. Total."""
    try:
        return _parse(event, stdin, cwd, env)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return _parse(event, _mended(stdin), cwd, env)
    except (ValueError, RecursionError):  # DecodeError and UnicodeDecodeError are ValueErrors
        return None


def _parse(event: str, stdin: bytes, cwd: str, env: Mapping[str, str]) -> HookEvent | None:
    known = _EVENTS.get(msgspec.json.decode(stdin, type=_Head).hook_event_name)
    if known is None or event == Moment.GIT_COMMIT:
        return None
    payload_type, particular = known
    payload = msgspec.json.decode(stdin, type=payload_type)
    if not payload.session_id or _is_foreign(payload, env):
        return None
    fields = particular(payload)
    if fields is None:
        return None
    return HookEvent(
        harness=NAME,
        session=payload.session_id,
        cwd=_directory(payload.cwd or "", cwd),
        agent=payload.agent_id or "",
        agent_type=payload.agent_type or "",
        prompt_id=payload.prompt_id or "",
        transcript_path=payload.transcript_path or "",
        permission_mode=payload.permission_mode or "",
        entry_point=entry_point if (entry_point := env.get("CLAUDE_CODE_ENTRYPOINT", "")).isascii() else "",
        project_dir=env.get("CLAUDE_PROJECT_DIR", ""),
        **fields,
    )


def _is_foreign(payload: _Payload, env: Mapping[str, str]) -> bool:
    """Whether another client runs this hook.

    The session in the environment, when it is the payload's, proves Claude Code: it may itself have been started from
    another client's shell and have inherited that one's marks, as another client may have inherited Claude Code's.
    """
    if payload.conversation_id is not None or payload.cursor_version is not None or payload.workspace_roots is not None:
        return True
    transcript = payload.transcript_path
    if transcript is msgspec.UNSET or (not transcript and payload.timestamp is not None):
        return True
    if transcript and any(mark in transcript for mark in _FOREIGN_TRANSCRIPTS):
        return True
    if any(env.get(name) == payload.session_id for name in SESSION_NAMES):
        return False
    return any(env.get(name) for name in FOREIGN_ENVIRONMENT)


def _directory(told: str, frame: str) -> str:
    """Where the session stands. The client cannot write a path that is no UTF-8: the hook's own directory then says which it is."""
    if not told or len(told) > _CWD_MAX_CHARS:
        return frame
    is_same = "\ufffd" in told and os.fsencode(frame).decode("utf-8", "replace") == told
    return frame if is_same else told


def _mended(stdin: bytes) -> bytes:
    """JSON in which what is no text (a byte that is no UTF-8, half a surrogate pair of an emoji cut in two) has become U+FFFD.

    The client writes such a half as an escape, which a strict reader refuses; no turn may be lost for it.
    Raises ValueError, RecursionError.
    """
    return _without_halves(json.dumps(json.loads(stdin.decode("utf-8", "replace")), ensure_ascii=False)).encode()


def _without_halves(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def sample(moment: Moment, cwd: str) -> bytes:
    """What the client would send at ``moment``, of a session that never was: to fire a hook with."""
    particular: Mapping[Moment, _Fields] = {
        Moment.SESSION_START: {"source": "startup"},
        Moment.POST_COMPACTION: {"source": "compact"},
        Moment.PROMPT_SUBMIT: {"prompt": "memd looks whether its hook arrives", "prompt_id": SAMPLE_SESSION},
        Moment.READ: {
            "tool_name": "Read",
            "tool_input": {"file_path": f"{cwd}/memd-probe"},
            "tool_use_id": "toolu_memd",
        },
        Moment.TOOL_RESULT: {
            "tool_name": "Bash",
            "tool_input": {"command": "true"},
            "tool_use_id": "toolu_memd",
            "tool_response": {"stdout": "", "stderr": ""},
        },
        Moment.PRE_EDIT: {
            "tool_name": "Edit",
            "tool_input": {"file_path": f"{cwd}/memd-probe"},
            "tool_use_id": "toolu_memd",
        },
        Moment.MEMD_CALL: {
            "tool_name": f"{MCP_PREFIX}recall",
            "tool_input": {"query": "memd-probe"},
            "tool_use_id": "toolu_memd",
        },
        Moment.SUBAGENT_START: {"agent_id": "memd", "agent_type": "general-purpose"},
        Moment.SESSION_END: {"reason": "other"},
    }
    common = {
        "session_id": SAMPLE_SESSION,
        "transcript_path": f"{cwd}/{SAMPLE_SESSION}.jsonl",
        "cwd": cwd,
        "hook_event_name": _CLIENT_EVENTS.get(moment, _SILENT_EVENTS.get(moment, "")),
    }
    return json.dumps(common | particular.get(moment, {})).encode()


# --- what goes out

_CLIENT_EVENTS: Mapping[Moment, str] = {
    Moment.SESSION_START: "SessionStart",
    Moment.POST_COMPACTION: "SessionStart",
    Moment.PROMPT_SUBMIT: "UserPromptSubmit",
    Moment.READ: "PostToolUse",
    Moment.TOOL_RESULT: "PostToolUse",
    Moment.PRE_EDIT: "PreToolUse",
    Moment.MEMD_CALL: "PreToolUse",
    Moment.SUBAGENT_START: "SubagentStart",
}
# Events at which nothing is ever said.
_SILENT_EVENTS: Mapping[Moment, str] = {
    Moment.STOP: "Stop",
    Moment.SESSION_END: "SessionEnd",
}
_FAILED = "PostToolUseFailure"
_OUTPUT_KEYS = frozenset(("hookEventName", "additionalContext", "permissionDecision", "permissionDecisionReason"))


def cost_units(text: str) -> int:
    """UTF-16 code units, by which the client cuts: an emoji counts two."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def render(event: HookEvent, answer: HookAnswer) -> bytes:
    """The bytes for stdout; empty when there is nothing to say, no way to say it, or the text is over CAP_UNITS.

    The caller budgets (delivery.md); a text over the cap would be replaced by a piece of it, so it is not sent at all.
    """
    client_event = _CLIENT_EVENTS.get(event.moment)
    if client_event is None:
        return b""
    if event.has_failed:
        client_event = _FAILED
    if answer.hold and event.moment is Moment.PRE_EDIT:
        return _output(client_event, answer.hold, permissionDecision="deny", permissionDecisionReason=answer.hold)
    if answer.context:
        return _output(client_event, answer.context, additionalContext=answer.context)
    return b""


def is_answer(moment: Moment, stdout: bytes) -> bool:
    """Whether these bytes are what a hook may print at ``moment``: nothing, or exactly the keys that ``render`` writes."""
    if not stdout:
        return True
    try:
        output = msgspec.json.decode(stdout, type=dict[str, dict[str, str]])
    except msgspec.DecodeError:
        return False
    specific = output.get("hookSpecificOutput", {})
    is_known = set(output) == {"hookSpecificOutput"} and set(specific) <= _OUTPUT_KEYS
    return is_known and specific.get("hookEventName") == _CLIENT_EVENTS.get(moment)


def _output(client_event: str, text: str, **keys: str) -> bytes:
    if cost_units(text) > CAP_UNITS:
        return b""
    specific = {"hookEventName": client_event} | {key: _without_halves(value) for key, value in keys.items()}
    return json.dumps({"hookSpecificOutput": specific}).encode("ascii")
