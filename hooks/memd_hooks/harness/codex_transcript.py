"""Codex's transcript: whether it agrees that a person typed a prompt. Measured on 0.171.0 (`exec` and the terminal interface).

``<home>/sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl``, one JSON object a line; ``<home>`` is CODEX_HOME, else ``~/.codex``.
Each line has a ``timestamp``, a ``type``, a ``payload`` and an ``ordinal``, which counts from 0 without a gap: a line that somebody
else appended takes a number that the client then gives once more.

**The first line**, ``session_meta``, says what was started: ``source`` is ``cli`` for the terminal interface and ``exec`` for
``codex exec``, ``thread_source`` ``user`` for a conversation of a person's (a subagent's has another).

**A typed prompt** is told of three times under the hook's ``turn_id``: ``task_started`` with ``turn_trigger`` ``user`` (``exec``
says ``exec``), a message of role ``user`` whose provenance is ``user`` (the environment's has ``harness``), and the item
``UserMessage``. What hooks add is of role ``developer``. An answer is a message of role ``assistant``, or a call of a tool, of the
same turn.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import PurePosixPath

import msgspec

from memd_hooks.harness.transcript import Finding, Lines, Prompt, best, is_near

NAME: str = "codex"

# `source` in the first line where a person types: the terminal interface, and the editors' extension.
PERSON_SOURCES: tuple[str, ...] = ("cli", "vscode")

_USER = "user"
_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
_DEPTH = 4  # year, month, day, file


class _Provenance(msgspec.Struct):
    type: str = ""


class _ItemMetadata(msgspec.Struct):
    provenance: _Provenance = msgspec.field(default_factory=_Provenance)


class _Passthrough(msgspec.Struct):
    turn_id: str = ""
    content_item_metadata: list[_ItemMetadata] = []


class _Attribution(msgspec.Struct):
    turn_id: str = ""
    turn_trigger: str = ""


class _Text(msgspec.Struct):
    type: str = ""
    text: str = ""


class _Payload(msgspec.Struct):
    type: str = ""
    role: str = ""
    turn_id: str = ""
    id: str = ""
    source: msgspec.Raw = msgspec.Raw()
    thread_source: str | None = None
    content: list[_Text] = []
    turn_attribution: _Attribution = msgspec.field(default_factory=_Attribution)
    internal_chat_message_metadata_passthrough: _Passthrough = msgspec.field(default_factory=_Passthrough)

    @property
    def turn(self) -> str:
        return self.internal_chat_message_metadata_passthrough.turn_id


class _Row(msgspec.Struct):
    type: str
    ordinal: int
    payload: _Payload
    timestamp: str = ""


_rows = msgspec.json.Decoder(_Row)


def folder(environ: Mapping[str, str]) -> str:
    """Where a client that was started with this environment keeps its transcripts; "" where it has neither folder nor home."""
    home = environ.get("CODEX_HOME") or (environ.get("HOME") and f"{environ['HOME']}/.codex")
    return f"{home}/sessions" if home else ""


def is_of(inside: PurePosixPath, session: str) -> bool:
    """Whether a path, from that folder, is the session's transcript: under its day, with the session's name at the end."""
    return len(inside.parts) == _DEPTH and inside.name.startswith("rollout-") and inside.stem.endswith(f"-{session}")


def finding(lines: Lines, prompt: Prompt) -> Finding:
    """What the transcript says of the prompt. Total."""
    if not prompt.id:
        return Finding.ABSENT
    before, after = list(_read(lines.before)), list(_read(lines.after))
    is_typed = _is_a_persons(lines.first, prompt) and _is_begun(before, after, prompt)
    in_order = all(b.ordinal == a.ordinal + 1 for a, b in pairwise([*before, *after]))
    found = [(at, row) for at, row in enumerate(after) if _is_a_message(row, prompt)]
    return best(_judged(after[at + 1 :], row, prompt, is_typed, in_order) for at, row in found)


def _read(lines: Sequence[bytes]) -> Iterator[_Row]:
    """A line that cannot be read leaves a gap in the numbers, and then nothing is agreed on."""
    for line in lines:
        try:
            yield _rows.decode(line)
        except (msgspec.MsgspecError, RecursionError):
            continue


def _is_a_persons(first: bytes, prompt: Prompt) -> bool:
    try:
        row = _rows.decode(first)
        source = msgspec.json.decode(row.payload.source, type=str)
    except (msgspec.MsgspecError, RecursionError):
        return False
    begun = row.payload
    return (
        row.type == "session_meta"
        and begun.id == prompt.session
        and (source in PERSON_SOURCES and begun.thread_source == _USER)
    )


def _is_begun(before: Sequence[_Row], after: Sequence[_Row], prompt: Prompt) -> bool:
    """Whether the turn began with a person. Its first row may stand before the hook was called: one is appended at once."""
    began = [row.payload for row in (*before, *after) if row.payload.type == "task_started"]
    triggers = {b.turn_attribution.turn_trigger for b in began if prompt.id in (b.turn_id, b.turn_attribution.turn_id)}
    return triggers == {_USER}


def _is_a_message(row: _Row, prompt: Prompt) -> bool:
    """A row of role user that no part of the client made."""
    told = row.payload.internal_chat_message_metadata_passthrough.content_item_metadata
    is_users = bool(told) and all(one.provenance.type == _USER for one in told)
    return row.type == "response_item" and row.payload.role == _USER and row.payload.turn == prompt.id and is_users


def _judged(rest: Sequence[_Row], row: _Row, prompt: Prompt, is_typed: bool, in_order: bool) -> Finding:
    if not prompt.is_said("\n".join(one.text for one in row.payload.content if one.type == "input_text")):
        return Finding.OTHER_WORDS
    if not is_typed or not is_near(row.timestamp, prompt.at_ms):
        return Finding.NOBODY
    if not in_order:
        return Finding.ASIDE
    is_answered = any(_is_answer(one.payload) and one.payload.turn == prompt.id for one in rest)
    return Finding.AGREES if is_answered else Finding.UNANSWERED


def _is_answer(payload: _Payload) -> bool:
    return payload.role == "assistant" or payload.type in _CALLS
