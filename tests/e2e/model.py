"""The scripted model: an Anthropic Messages service on loopback which says what the test wrote down.

The server runs in threads of the test's own process, on a listening socket that was opened inside the lab's network
namespace (lab.py), so nothing but the lab's client can reach it. Every request's body is kept, in the order of arrival,
in memory and, when a folder is given, as `NNN-<kind>.json` there.

Who is asking (`Request.kind`), told by what Claude Code 2.1.332 was seen to send:

| kind       | told by                                                                                           |
|------------|---------------------------------------------------------------------------------------------------|
| `main`     | POST /v1/messages with tools: the session's own loop                                                |
| `subagent` | the same, with `cc_is_subagent=true` in the first system block                                      |
| `summary`  | what is new holds the instruction to summarise the conversation (compaction, manual and auto)      |
| `side`     | POST /v1/messages without tools: the session's title in the terminal interface, and the like        |
| `tokens`   | POST /v1/messages/count_tokens: sent after big tool results                                         |
| `other`    | HEAD, GET and every other path: HEAD /api/hello at the start                                        |

With CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC set, as the lab sets it, neither titles nor HEAD requests were seen.

Where a hook's words stand in a request depends on the model's name. For current models (`sonnet`, `opus`, any name that the
client does not know) they are joined with the client's own context into a message of role `system` **after** the user's
message, or after the tool results, without a tag around them; for older ones (`claude-haiku-4-5`, `claude-sonnet-4-5`) they
are `<system-reminder>` blocks of the user's message. `text_blocks` reads both.

Answers: `script()` sets rules, tried in order; the first whose `asks` and `when` fit and which is not used up answers, so
a list of plain rules is a conversation. Summaries and side requests have standing answers and never use up a rule meant
for the loop. When no rule fits, the model says `DONE`, which ends the turn.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

JSON = dict[str, Any]

DONE = "The scripted model has nothing more to say."
SUMMARY = "SUMMARY-OF-THE-CONVERSATION"
# Words of the instruction with which the client asks for a summary at compaction; both were seen.
SUMMARY_INSTRUCTION = re.compile(r"Your task is to create a detailed summary|CRITICAL: Respond with TEXT ONLY")
SUBAGENT_MARK = "cc_is_subagent=true"
WAIT_SECONDS = 60.0  # far above anything seen on a busy two-core machine; a longer wait is a failure, never a slow pass


@dataclass(frozen=True)
class Request:
    """One request that the client sent. `number` counts from 1 over all requests of the lab."""

    number: int
    method: str
    path: str
    body: JSON

    @property
    def kind(self) -> str:
        """Who is asking; see the table in the module's docstring."""
        path = self.path.split("?")[0]
        if self.method != "POST" or not path.startswith("/v1/messages"):
            return "other"
        if path.endswith("/count_tokens"):
            return "tokens"
        if SUMMARY_INSTRUCTION.search(self.news):
            return "summary"
        if not self.body.get("tools"):
            return "side"
        return "subagent" if SUBAGENT_MARK in next(_texts(self.body.get("system")), "") else "main"

    @property
    def messages(self) -> list[JSON]:
        """The conversation: `{role, content}` each, as sent."""
        return list(self.body.get("messages") or ())

    @property
    def text(self) -> str:
        """Everything a model reads in it, system prompt first, blocks joined by newlines (tool definitions left out)."""
        return "\n".join(text_blocks(self))

    @property
    def news(self) -> str:
        """The text of what follows the last answer: the prompt, or the tools' results, with all that rides on them."""
        answers = [i for i, message in enumerate(self.messages) if message["role"] == "assistant"]
        return "\n".join(_texts(self.messages[answers[-1] + 1 if answers else 0 :]))

    @property
    def tool_calls(self) -> list[JSON]:
        """Every tool call in the conversation so far: `{name, input, …}` each, in order."""
        blocks = (
            block for message in self.messages if isinstance(message["content"], list) for block in message["content"]
        )
        return [block for block in blocks if block["type"] == "tool_use"]


def _texts(value: Any) -> Iterator[str]:
    """Every text under a message, a list of messages or a content block, in reading order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, dict):
        if "content" in value:
            yield from _texts(value["content"])
        elif "text" in value:
            yield value["text"]
        elif value.get("type") == "tool_use":
            yield json.dumps(value["input"], ensure_ascii=False)


def text_blocks(request: Request) -> list[str]:
    """The text blocks of one request in reading order: system prompt, then each message's blocks, tool results included."""
    return [*_texts(request.body.get("system")), *_texts(request.messages)]


@dataclass(frozen=True)
class Rule:
    """What to answer. `say`: content blocks (`text`, `tool`); `usage`: the input tokens to report; `asks`: the kind of
    request it is for; `when`: a further condition; `times`: how often it may answer; `status`/`error`: refuse instead;
    `gate`: waited for before the answer goes out, as a barrier that lets two clients go on at once."""

    say: tuple[JSON, ...] = ()
    usage: int = 1000
    asks: str = "main"
    when: Callable[[Request], bool] = lambda request: True
    times: int = 1
    status: int = 200
    error: str = ""
    gate: Callable[[], object] = lambda: None


def text(words: str) -> JSON:
    """A text block of an answer."""
    return {"type": "text", "text": words}


def tool(name: str, **arguments: Any) -> JSON:
    """A tool call of an answer: the client's own tool name and its input."""
    return {"type": "tool_use", "id": "toolu_" + uuid.uuid4().hex[:20], "name": name, "input": arguments}


def answer(*blocks: JSON, **how: Any) -> Rule:
    """A rule that says `blocks`; keywords as in `Rule`."""
    return Rule(say=blocks, **how)


STANDING = (
    Rule(say=(text(f"<analysis>a</analysis><summary>{SUMMARY}</summary>"),), asks="summary", times=1 << 30),
    Rule(say=(text("A title"),), asks="side", times=1 << 30),
)


@dataclass
class _Use:
    rule: Rule
    left: int


@dataclass
class Model:
    """Serves `listener` until `close()`. Thread-safe; `requests` only grows."""

    listener: socket.socket
    folder: Path | None = None
    requests: list[Request] = field(default_factory=list)
    _uses: list[_Use] = field(default_factory=list)
    _arrived: threading.Condition = field(default_factory=threading.Condition)

    def __post_init__(self) -> None:
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def close(self) -> None:
        """Stop serving; requests stay readable."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def script(self, *rules: Rule) -> None:
        """Set what is said from now on, in place of earlier rules."""
        with self._arrived:
            self._uses = [_Use(rule, rule.times) for rule in rules]

    def of_kind(self, *kinds: str, since: int = 0) -> list[Request]:
        """The requests of these kinds that arrived after request number `since`."""
        with self._arrived:
            return [request for request in self.requests if request.kind in kinds and request.number > since]

    def requests_of_main_loop(self, since: int = 0) -> list[Request]:
        """The session's own requests, without subagents, summaries, titles, quota probes and token counts."""
        return self.of_kind("main", since=since)

    def wait_for(self, condition: Callable[[Request], bool], since: int = 0) -> Request:
        """The first request after number `since` that fits, waited for; AssertionError when none comes."""

        def find() -> Request | None:
            return next((r for r in self.requests if r.number > since and condition(r)), None)

        with self._arrived:
            found = self._arrived.wait_for(find, WAIT_SECONDS)
        assert found is not None, f"no such request among {[(r.number, r.kind) for r in self.requests]}"
        return found

    def take(self, method: str, path: str, body: JSON) -> tuple[Request, Rule]:
        """Record one request and choose what to answer."""
        with self._arrived:
            request = Request(len(self.requests) + 1, method, path, body)
            self.requests.append(request)
            if self.folder is not None:
                record = {"method": method, "path": path, "body": body}
                name = f"{request.number:03d}-{request.kind}.json"
                (self.folder / name).write_text(json.dumps(record, indent=1, ensure_ascii=False))
            rule = self._choose(request)
            self._arrived.notify_all()
        return request, rule

    def _choose(self, request: Request) -> Rule:
        for use in self._uses:
            if use.left and use.rule.asks == request.kind and use.rule.when(request):
                use.left -= 1
                return use.rule
        return next((rule for rule in STANDING if rule.asks == request.kind), answer(text(DONE)))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a client keeps its connections open; the namespace's end closes them

    def __init__(self, model: Model) -> None:
        super().__init__(model.listener.getsockname(), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket, self.model = model.listener, model

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away in mid-answer is no fault of the model's; such tests kill clients on purpose."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def _model(self) -> Model:
        assert isinstance(self.server, _Server)
        return self.server.model

    def log_message(self, format: str, *args: Any) -> None:
        """The requests themselves are the log."""

    def do_HEAD(self) -> None:
        self._model.take("HEAD", self.path, {})
        self._send(b"")

    def do_GET(self) -> None:
        self._model.take("GET", self.path, {})
        self._send(b"{}")

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            body = {}
        request, rule = self._model.take("POST", self.path, body)
        rule.gate()
        if request.kind == "tokens":
            self._send(json.dumps({"input_tokens": len(raw) // 4}).encode())
        elif request.kind == "other":
            self._send(b"{}")
        elif rule.status != 200:
            error = {"type": "invalid_request_error", "message": rule.error}
            self._send(json.dumps({"type": "error", "error": error}).encode(), status=rule.status)
        elif body.get("stream"):
            self._send(b"".join(_event(event) for event in _stream(body, rule)), kind="text/event-stream")
        else:
            self._send(json.dumps(_whole(body, rule)).encode())

    def _send(self, content: bytes, status: int = 200, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _event(event: JSON) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def _stop_reason(blocks: Sequence[JSON]) -> str:
    return "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"


def _whole(body: JSON, rule: Rule) -> JSON:
    """The answer as one Message object."""
    return {
        "id": "msg_" + uuid.uuid4().hex[:20],
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "scripted"),
        "content": list(rule.say),
        "stop_reason": _stop_reason(rule.say),
        "stop_sequence": None,
        "usage": {
            "input_tokens": rule.usage,
            "output_tokens": 20,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }


def _stream(body: JSON, rule: Rule) -> Iterator[JSON]:
    """The answer as the events of a stream: start, each block whole in one delta, stop."""
    whole = _whole(body, rule)
    yield {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}
    for index, block in enumerate(rule.say):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 20}}
    yield {"type": "message_stop"}
