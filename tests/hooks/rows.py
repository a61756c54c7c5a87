"""Rows of clients' transcripts, in the shapes that were measured: Claude Code 2.1.332, Codex 0.171.0."""

import json
import uuid
from datetime import UTC, datetime
from typing import Any

AT_MS = 1_796_021_839_187
SESSION = "9d2caa3d-c622-4cbd-90a0-980d31291791"
PROMPT = "84d1a58a-4e0d-4cc3-b4a1-d1368394e015"
WORDS = "never commit to main"

Row = dict[str, Any]


def iso(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1_000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def line(row: Row) -> bytes:
    return json.dumps(row).encode()


def lines(*rows: Row) -> list[bytes]:
    return [line(row) for row in rows]


class Claude:
    """A conversation that grows: each row goes on from the last one, unless it says otherwise."""

    def __init__(self, session: str = SESSION, at_ms: int = AT_MS) -> None:
        self.rows: list[Row] = []
        self.session, self.at_ms = session, at_ms

    def add(self, kind: str, /, **fields: Any) -> Row:
        row: Row = {
            "parentUuid": self.rows[-1]["uuid"] if self.rows else None,
            "isSidechain": False,
            "type": kind,
            "uuid": str(uuid.uuid4()),
            "timestamp": iso(self.at_ms),
            "entrypoint": "cli",
            "sessionId": self.session,
            **fields,
        }
        self.rows.append(row)
        return row

    def typed(self, words: Any = WORDS, prompt_id: str = PROMPT, **fields: Any) -> Row:
        told = {
            "permissionMode": "acceptEdits",
            "origin": {"kind": "human"},
            "promptSource": "typed",
            "turnOrigin": "human",
        }
        message = {"role": "user", "content": words}
        return self.add("user", **{"promptId": prompt_id, "message": message, **told, **fields})

    def says(self, *blocks: Row, **fields: Any) -> Row:
        content = list(blocks) or [{"type": "text", "text": "understood"}]
        return self.add("assistant", **{"message": {"role": "assistant", "content": content}, **fields})

    def calls(self, use: str = "toolu_1") -> Row:
        return self.says({"type": "tool_use", "id": use, "name": "Bash", "input": {"command": "true"}})

    def result(self, use: str = "toolu_1", prompt_id: str = PROMPT) -> Row:
        given = [{"tool_use_id": use, "type": "tool_result", "content": WORDS, "is_error": False}]
        told = {
            "promptId": prompt_id,
            "toolUseResult": {"stdout": WORDS},
            "sourceToolAssistantUUID": self.rows[-1]["uuid"],
        }
        return self.add("user", message={"role": "user", "content": given}, **told)

    def waited(self, words: Any = WORDS, **fields: Any) -> Row:
        told = {"type": "queued_command", "prompt": words, "commandMode": "prompt", "origin": {"kind": "human"}}
        return self.add("attachment", attachment={**told, "humanTurn": True, **fields})

    def lines(self, begin: int = 0) -> list[bytes]:
        return lines(*self.rows[begin:])


class Codex:
    """A rollout: every line has the next number."""

    def __init__(self, session: str = SESSION, at_ms: int = AT_MS, **begun: Any) -> None:
        self.rows: list[Row] = []
        self.at_ms = at_ms
        meta = {
            "session_id": session,
            "id": session,
            "originator": "codex-tui",
            "source": "cli",
            "thread_source": "user",
        }
        self.add("session_meta", {**meta, **begun})

    def add(self, kind: str, payload: Row, **fields: Any) -> Row:
        row = {"timestamp": iso(self.at_ms), "ordinal": len(self.rows), "type": kind, "payload": payload, **fields}
        self.rows.append(row)
        return row

    def begins(self, turn: str = PROMPT, trigger: str = "user") -> Row:
        told = {"turn_id": turn, "turn_trigger": trigger, "parent_turn_id": None}
        return self.add("event_msg", {"type": "task_started", "turn_id": turn, "turn_attribution": told})

    def message(self, role: str, words: str, turn: str = PROMPT, provenance: str = "user", **more: Any) -> Row:
        told = {"turn_id": turn, "content_item_metadata": [{"provenance": {"type": provenance}}]}
        kind = "output_text" if role == "assistant" else "input_text"
        content = [{"type": kind, "text": words}]
        payload = {
            "type": "message",
            "role": role,
            "content": content,
            "internal_chat_message_metadata_passthrough": told,
        }
        return self.add("response_item", {**payload, **more})

    def lines(self, begin: int = 0) -> list[bytes]:
        return lines(*self.rows[begin:])
