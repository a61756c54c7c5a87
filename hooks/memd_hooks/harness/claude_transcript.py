"""Claude Code's transcript: whether it agrees that a person typed a prompt. Measured on 2.1.332.

``<config>/projects/<the working directory, its slashes as dashes>/<session>.jsonl``, mode 0600, one JSON object a line, appended
to and never held open. ``<config>`` is CLAUDE_CONFIG_DIR, else ``~/.claude``. Subagents have files of their own.

**A row of the conversation** has a ``uuid`` and the ``parentUuid`` of the row that it goes on from; a compaction begins anew with
``parentUuid`` null and says the old one as ``logicalParentUuid``. Rows without a uuid (modes, requests, queues, costs) are none.

**A typed prompt** is a row of type ``user`` with the hook's ``promptId``, its text as ``message.content`` (a text, or blocks where
a picture came along), ``promptSource`` ``typed`` and ``origin.kind`` ``human``. UserPromptSubmit is told of more than that, and
the row says so: the notice of a task that ended is ``promptSource`` ``system``, ``-p`` is ``sdk``. No prompts at all are rows with
``isMeta``, ``isCompactSummary``, ``toolUseResult`` or ``isSidechain``, and what a command printed (no ``promptSource``).

**A prompt that waited** while a tool ran is told of by a hook too, under the id of the turn that goes on, and becomes no row of
its own but an attachment ``queued_command`` with ``commandMode`` ``prompt``, ``humanTurn`` and ``origin.kind`` ``human``, which the
conversation goes on from. It names no prompt id: the nearest row above that does has to name the hook's.

**Going on.** The rows that follow in the conversation, the newest one included, go back to the prompt's row by their parents, and
an answer is among them. A row that somebody else appended is the parent of nothing that the client writes. Where two rows
have one uuid, neither counts: a copy of it could stand in for a row that others go on from.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

import msgspec

from memd_hooks.harness.claude import PERSON_ENTRY_POINTS
from memd_hooks.harness.transcript import Finding, Lines, Prompt, best, is_near

_TYPED = "typed"
_HUMAN = "human"
_NOT_WORDS = frozenset({"image", "document"})  # blocks that stand beside a prompt's text


class _Origin(msgspec.Struct):
    kind: str = ""


class _Message(msgspec.Struct):
    role: str = ""
    content: msgspec.Raw = msgspec.Raw()


class _Attachment(msgspec.Struct, rename="camel"):
    type: str = ""
    prompt: msgspec.Raw = msgspec.Raw()
    command_mode: str = ""
    origin: _Origin | None = None
    human_turn: bool = False


class _Row(msgspec.Struct, rename="camel"):
    type: str = ""
    uuid: str = ""
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    prompt_id: str | None = None
    prompt_source: str | None = None
    origin: _Origin | None = None
    turn_origin: str | None = None
    entrypoint: str | None = None
    session_id: str | None = None
    timestamp: str = ""
    message: _Message | None = None
    attachment: _Attachment | None = None
    tool_use_result: msgspec.Raw = msgspec.Raw()
    source_tool_assistant_uuid: str | None = msgspec.field(default=None, name="sourceToolAssistantUUID")

    @property
    def goes_on_from(self) -> str:
        return self.parent_uuid or self.logical_parent_uuid or ""


class _Block(msgspec.Struct):
    type: str = ""
    text: str = ""


_rows = msgspec.json.Decoder(_Row)
_content = msgspec.json.Decoder(str | list[_Block])


def folder(environ: Mapping[str, str]) -> str:
    """Where a client that was started with this environment keeps its transcripts; "" where it has neither folder nor home."""
    config = environ.get("CLAUDE_CONFIG_DIR") or (environ.get("HOME") and f"{environ['HOME']}/.claude")
    return f"{config}/projects" if config else ""


def is_of(inside: PurePosixPath, session: str) -> bool:
    """Whether a path, from that folder, is the session's transcript: one folder down, under the session's name."""
    return len(inside.parts) == 2 and inside.name == f"{session}.jsonl"


def finding(lines: Lines, prompt: Prompt) -> Finding:
    """What the transcript says of the prompt. Total."""
    if not prompt.id:
        return Finding.ABSENT
    chain = _Chain([*_read(lines.before), None, *_read(lines.after)], lines.from_start)
    return best(_judged(chain, at, row, prompt) for at, row in chain.after())


def _read(lines: Sequence[bytes]) -> Iterator[_Row]:
    """The rows of the main conversation; a line that cannot be read is none."""
    for line in lines:
        try:
            row = _rows.decode(line)
        except (msgspec.MsgspecError, RecursionError):
            continue
        if row.uuid and not row.is_sidechain:
            yield row


class _Chain:
    """The conversation's rows by their links. ``rows`` has a None where the hook was called."""

    def __init__(self, rows: Sequence[_Row | None], from_start: bool) -> None:
        self._begins = rows.index(None)
        self._rows = [row for row in rows if row is not None]
        self._from_start = from_start
        self._places: dict[str, int] = {}
        self._twice: set[str] = set()
        for place, row in enumerate(self._rows):
            if self._places.setdefault(row.uuid, place) != place:
                self._twice.add(row.uuid)

    def after(self) -> Iterator[tuple[int, _Row]]:
        """The rows that were written since the hook was called, with their places."""
        return enumerate(self._rows[self._begins :], self._begins)

    def above(self, place: int) -> Iterator[_Row]:
        """The rows that one goes on from, nearest first, as far as they are known beyond doubt and each stands before the last."""
        while (row := self._rows[place]).uuid not in self._twice:
            parent = self._places.get(row.goes_on_from, place)
            if parent >= place or self._rows[parent].uuid in self._twice:
                return
            place = parent
            yield self._rows[place]

    def begins_well(self, place: int) -> bool:
        """Whether a row goes on from one that is known, or begins the conversation."""
        row = self._rows[place]
        if row.uuid in self._twice:
            return False
        return next(self.above(place), None) is not None or (
            self._from_start and place == 0 and row.parent_uuid is None
        )

    def went_on(self, place: int) -> Finding:
        """Whether the newest row goes back to this one, with an answer between."""
        last = len(self._rows) - 1
        if not self.begins_well(place):
            return Finding.ASIDE
        if place == last:
            return Finding.UNANSWERED
        answered = self._rows[last].type == "assistant"
        for row in self.above(last):
            if row is self._rows[place]:
                return Finding.AGREES if answered else Finding.UNANSWERED
            answered = answered or row.type == "assistant"
        return Finding.ASIDE


def _judged(chain: _Chain, place: int, row: _Row, prompt: Prompt) -> Finding:
    if row.attachment is not None:
        return _judged_waiting(chain, place, row, row.attachment, prompt)
    if row.type != "user" or row.prompt_id != prompt.id or _is_no_prompt(row):
        return Finding.ABSENT
    if row.message is None or row.message.role != "user" or not _is_said(row.message.content, prompt):
        return Finding.OTHER_WORDS
    is_typed = row.prompt_source == _TYPED and _is_human(row.origin) and row.turn_origin in (None, _HUMAN)
    return chain.went_on(place) if is_typed and _is_here(row, prompt) else Finding.NOBODY


def _judged_waiting(chain: _Chain, place: int, row: _Row, told: _Attachment, prompt: Prompt) -> Finding:
    """A prompt that waited for a tool to end. Whatever else is attached is no prompt."""
    if told.type != "queued_command" or not _is_said(told.prompt, prompt):
        return Finding.ABSENT
    if next((above.prompt_id for above in chain.above(place) if above.prompt_id), "") != prompt.id:
        return Finding.ABSENT
    is_typed = told.command_mode == "prompt" and told.human_turn and _is_human(told.origin)
    return chain.went_on(place) if is_typed and _is_here(row, prompt) else Finding.NOBODY


def _is_no_prompt(row: _Row) -> bool:
    """Rows of a turn under its prompt's id that hold no prompt: results, the client's own remarks, what a command printed."""
    return bool(
        row.is_meta
        or row.is_compact_summary
        or row.is_visible_in_transcript_only
        or bytes(row.tool_use_result) not in (b"", b"null")
        or row.source_tool_assistant_uuid
        or row.prompt_source is None
    )


def _is_human(origin: _Origin | None) -> bool:
    return origin is not None and origin.kind == _HUMAN


def _is_here(row: _Row, prompt: Prompt) -> bool:
    """Whether it is of this session, of a client into which a person types, and of that time."""
    is_of_session = row.session_id == prompt.session and row.entrypoint in PERSON_ENTRY_POINTS
    return is_of_session and is_near(row.timestamp, prompt.at_ms)


def _is_said(raw: msgspec.Raw, prompt: Prompt) -> bool:
    try:
        content = _content.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return False
    if isinstance(content, str):
        return prompt.is_said(content)
    if any(block.type != "text" and block.type not in _NOT_WORDS for block in content):
        return False
    return prompt.is_said("\n".join(block.text for block in content if block.type == "text"))
