"""What any harness can tell memd, and what memd can tell back: the two harness-neutral values.

A harness's file under ``harness/`` holds one total function in each direction:

- ``parse(event: str, stdin: bytes, cwd: str, env: Mapping[str, str]) -> HookEvent | None``: unknown or uninteresting -> None,
  never an exception for what a client sends;
- ``render(event: HookEvent, answer: HookAnswer) -> bytes``: the exact bytes for the hook's stdout, ``b""`` for nothing.

Both run inside the daemon; a hook script only carries bytes. Nothing here reads a clock, a file or the environment.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol

import msgspec


class Moment(StrEnum):
    """The moments of a session that memd knows. The words are those of ``memd hook-command EVENT``, but for MEMD_CALL: its hook is
    called through the line of ``pre-edit``, and the payload says which of the two it is."""

    SESSION_START = "session-start"
    PROMPT_SUBMIT = "prompt-submit"
    READ = "read"
    TOOL_RESULT = (
        "tool-result"  # a tool has given something else than a file that was read; only what is owed is said then
    )
    PRE_EDIT = "pre-edit"
    POST_COMPACTION = "post-compaction"
    SUBAGENT_START = "subagent-start"
    STOP = "stop"
    SESSION_END = "session-end"
    GIT_COMMIT = "git-commit"
    MEMD_CALL = "memd-call"  # the client is about to call one of memd's own tools


class StartSource(StrEnum):
    """Why a session starts, as the harness says it."""

    STARTUP = "startup"
    RESUME = "resume"
    CLEAR = "clear"
    FORK = "fork"
    COMPACT = "compact"


class ResultKind(StrEnum):
    """What a tool's result was taken from."""

    PAGE = "page"  # of the web, by its address
    SEARCH = "search"  # what a search of the web found
    FILE = "file"
    SHELL = "shell"  # what a command of the session's shell printed, or a search through files found
    TOOL = "tool"  # any other tool


class HookEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One hook call, understood. Empty strings and tuples stand for what the harness did not say."""

    moment: Moment
    harness: str
    session: str
    cwd: str
    agent: str = ""  # the subagent's id; "" is the main agent
    agent_type: str = ""
    prompt_id: str = ""  # the harness's own id of the turn
    prompt: str = ""
    transcript_path: str = ""
    source: StartSource | None = None  # session-start and post-compaction only
    tool: str = ""  # the client's own name of it; at a memd-call memd's
    tool_use_id: str = ""
    tool_input: bytes = b""  # the tool call's input as canonical JSON: equal bytes are the very same call
    result: bytes = b""  # what the tool gave, as the client writes it: `Harness.result_text` reads it
    has_failed: bool = False  # the tool gave an error
    result_kind: ResultKind | None = None
    result_from: str = ""  # the page's address, the words searched for, the file as given, or the tool's name
    paths: tuple[str, ...] = ()  # files read or about to be edited, as given (absolute, relative, with ..)
    permission_mode: str = ""  # "plan" forbids holding an edit
    reason: str = ""  # why a session ends
    entry_point: str = ""  # how the client was started: "cli", "sdk-cli", "" when it does not say
    project_dir: str = ""  # the directory the client calls its project, if it says one


class HookAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What memd says to the model at this moment; at most one of the two is set."""

    context: str = ""  # text that is added
    hold: str = ""  # the edit is denied once with this text


class Harness(Protocol):
    """What one module under ``harness/`` offers; ``harness.BY_NAME`` maps the command line's name to it."""

    NAME: str
    CAP_UNITS: int  # the largest text a hook may inject, in this client's own unit
    TAGS: tuple[str, ...]  # names of the tags this client wraps its own words in; content must not pass for them
    CLIENT_NAMES: tuple[str, ...]  # process names of the client, to be found among a hook's ancestors
    PERSON_ENTRY_POINTS: tuple[str, ...]  # entry points at which a person types
    RESUME_FLAGS: tuple[str, ...]  # options of its command line that name the session it goes on with, or forks from

    def cost_units(self, text: str) -> int:
        """Size of ``text`` in this client's own unit (UTF-16 code units for Claude Code)."""
        ...

    def parse(self, event: str, stdin: bytes, cwd: str, env: Mapping[str, str]) -> HookEvent | None: ...

    def render(self, event: HookEvent, answer: HookAnswer) -> bytes: ...

    def result_text(self, raw: bytes) -> str:
        """The words of a tool's result (`HookEvent.result`), or of its input; "" for what cannot be read."""
        ...
