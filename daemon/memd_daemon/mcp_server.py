"""MCP served by the official SDK: its low-level server, one run of it for each session. The only import of mcp.

**A session** is one carrier's connection. The SDK's server reads its messages from a stream and writes its answers to another; here
each answer finds the message that it belongs to, by the JSON-RPC id. Protocol versions, the handshake, cancelling and the order of
things are the SDK's.

**A session that nobody knows** (the daemon was restarted, or it was idle for long) goes on: where its first message is not
`initialize`, the server is first told that the client is initialized, which is all that the handshake leaves behind for tools.

**Every message is answered once**: a request by its response, or by nothing where the client cancelled it; all others by nothing at
once. What is no JSON-RPC gets the error that JSON-RPC has for it.

Tools run on threads of their own, with a turn for every session; the loop only passes on. Nothing here logs what a client wrote.
"""

import asyncio
import contextlib
import json
import logging
import math
import os
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

import anyio
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.message import ServerMessageMetadata, SessionMessage

from memd_client import __version__, wire
from memd_daemon import errors, limits
from memd_daemon.fair import FairQueue
from memd_daemon.frames.tools import INSTRUCTIONS
from memd_daemon.lanes import on_thread_of, tried
from memd_daemon.mcp_door import FAILED, STOPPING, Handed
from memd_daemon.service.tools import TOOLS, Caller, Tool, Tools

log: Final = logging.getLogger("memd.mcp")

TOOL_USE_ID: Final = "claudecode/toolUseId"
"""Where Claude Code says, in a request's `_meta`, which tool use of the model it carries out."""

NOT_JSON: Final = "This is no JSON in UTF-8: one JSON-RPC message a line."
NOT_JSONRPC: Final = "This is no JSON-RPC message that MCP knows; batches are not served: one message a line."

Request = types.JSONRPCRequest
Replies = types.JSONRPCResponse | types.JSONRPCError
Context = ServerRequestContext[Any, Handed]


class Misread(Exception):
    """A message that is no JSON-RPC: the code, the sentence and, where there is one, the id."""

    def __init__(self, code: int, why: str, id_: object = None) -> None:
        super().__init__(why)
        self.error = types.ErrorData(code=code, message=why)
        self.id: Any = id_ if _is_id(id_) else None

    @property
    def answer(self) -> bytes:
        return _encoded(types.JSONRPCError(jsonrpc="2.0", id=self.id, error=self.error))


class McpServer:
    """All sessions. To be used on its loop alone; `serve` is what the loop runs."""

    def __init__(self, tools: Tools) -> None:
        _keep_quiet()
        self._workers = _Workers()
        self._sessions: dict[bytes, _Session] = {}  # the one that was used longest ago first
        self._stopped = asyncio.Event()
        self._server = _server(tools, self._workers)

    async def serve(self) -> None:
        """Until `stop`; then what is not answered is answered, and all is ended."""
        await self._stopped.wait()
        sessions = list(self._sessions.values())
        for session in sessions:
            session.close()
        await asyncio.gather(*(session.task for session in sessions), return_exceptions=True)
        self._workers.close()

    def stop(self) -> None:
        self._stopped.set()

    def take(self, handed: Handed) -> None:
        """Serves one message; it is answered sooner or later."""
        if self._stopped.is_set():
            return handed.answer(STOPPING, status=wire.STOPPING)
        if not handed.carried.message:
            self._forget(handed.carried.session)
            return handed.answer()
        try:
            message = _message(handed.carried.message)
        except Misread as misread:
            return handed.answer(misread.answer)
        try:
            self._session(handed.carried.session, message).take(message, handed)
        except errors.TooManyRequests as refusal:
            handed.answer(refusal.message.encode(), status=wire.REFUSED)
        except (
            anyio.BrokenResourceError,
            anyio.ClosedResourceError,
        ):  # its run is just ending: the next message begins another
            self._forget(handed.carried.session)
            handed.answer(FAILED, status=wire.FAULT)

    def _session(self, id_: bytes, first: types.JSONRPCMessage) -> "_Session":
        session = self._sessions.pop(id_, None)
        if session is None or session.task.done():
            self._make_room()
            session = _Session(self._server)
            if not (isinstance(first, Request) and first.method == "initialize"):
                session.go_on()
        self._sessions[id_] = session
        return session

    def _make_room(self) -> None:
        """Forgets sessions that ended, were idle for long, or have to make room. Raises TooManyRequests."""
        long_ago = time.monotonic() - limits.MCP_SESSION_IDLE_S
        for id_, session in list(self._sessions.items()):
            is_full = len(self._sessions) >= limits.MCP_SESSIONS_MAX
            if session.is_at_rest and (is_full or session.used_at < long_ago or session.task.done()):
                self._forget(id_)
        if len(self._sessions) >= limits.MCP_SESSIONS_MAX:
            raise errors.TooManyRequests

    def _forget(self, id_: bytes) -> None:
        session = self._sessions.pop(id_, None)
        if session is not None:
            session.close()


class _Session:
    """One run of the SDK's server. Its write stream is `send`, on which each answer finds its message."""

    def __init__(self, server: Server[Any]) -> None:
        self._asked: dict[types.RequestId, deque[Callable[..., None]]] = {}
        self._to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](math.inf)
        self.used_at = time.monotonic()
        self.task = asyncio.create_task(self._run(server, from_client))
        self.task.add_done_callback(_told_if_failed)

    @property
    def is_at_rest(self) -> bool:
        return not self._asked

    def go_on(self) -> None:
        """This session's handshake was somebody else's."""
        told = types.JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized")
        self._to_server.send_nowait(SessionMessage(told))

    def take(self, message: types.JSONRPCMessage, handed: Handed) -> None:
        """Raises anyio's errors of a stream whose other end is gone; then nothing is answered."""
        self.used_at = time.monotonic()
        metadata = ServerMessageMetadata(request_context=handed)
        if isinstance(message, Request):
            metadata.on_request_unanswered = partial(self._unanswered, message.id, handed.answer)
        self._to_server.send_nowait(SessionMessage(message, metadata))
        if isinstance(message, Request):
            self._asked.setdefault(message.id, deque()).append(handed.answer)
        else:
            handed.answer()

    def close(self) -> None:
        """The client has ended: what it asked is cancelled."""
        self._to_server.close()

    async def _run(
        self, server: Server[Any], from_client: MemoryObjectReceiveStream[SessionMessage | Exception]
    ) -> None:
        try:
            await server.run(from_client, self, server.create_initialization_options())
        finally:
            self._to_server.close()
            for answer in [answer for answers in self._asked.values() for answer in answers]:
                answer(FAILED, status=wire.FAULT)
            self._asked.clear()

    async def _unanswered(self, id_: types.RequestId, answer: Callable[..., None]) -> None:
        with contextlib.suppress(ValueError):
            self._waiting(id_).remove(answer)
            answer()
        self._drop(id_)

    # what the server writes to

    async def send(self, item: SessionMessage, /) -> None:
        id_ = item.message.id if isinstance(item.message, Replies) else None
        answers = self._waiting(id_) if id_ is not None else None
        if id_ is None or not answers:
            log.warning("a message that nobody asked for was not sent")
            return
        answers.popleft()(_encoded(item.message))
        self._drop(id_)

    async def aclose(self) -> None:
        """There is nothing to close: who waits is answered by `_run`."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()

    def _waiting(self, id_: types.RequestId) -> deque[Callable[..., None]]:
        return self._asked.get(id_, deque())

    def _drop(self, id_: types.RequestId) -> None:
        if not self._waiting(id_):
            self._asked.pop(id_, None)


def _told_if_failed(task: asyncio.Task[None]) -> None:
    """One session's end is nobody else's."""
    if not task.cancelled() and (fault := task.exception()) is not None:
        log.error("a session has failed", exc_info=fault)


class _Workers:
    """Threads for tool calls, with a turn for each session that has some waiting."""

    def __init__(self) -> None:
        """Raises RuntimeError where the system gives no thread: with one, what waits is done sooner or later."""
        self._pool = ThreadPoolExecutor(limits.MCP_WORKER_THREADS, thread_name_prefix="memd-tool")
        self._on_thread = on_thread_of(self._pool)
        self._on_thread(lambda: None, lambda _: None)
        self._waiting: FairQueue[tuple[bytes, asyncio.Future[str], Callable[[], str]]] = FairQueue(
            limits.MCP_WORKER_THREADS
        )
        self._free = limits.MCP_WORKER_THREADS

    async def run(self, session: bytes, work: Callable[[], str]) -> str:
        """What ``work`` gives. Raises what of MemdError it raises, Fault where it fails, TooManyRequests where there is no room.

        One that is cancelled while it runs is let run.
        """
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        if not self._waiting.put(session, (session, future, work), 0):
            raise errors.TooManyRequests
        self._begin()
        return await future

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _begin(self) -> None:
        while self._free and (next_ := self._waiting.take()) is not None:
            session, future, work = next_
            if future.done():  # cancelled while it waited
                self._waiting.done(session)
                continue
            self._free -= 1
            self._on_thread(
                partial(tried, "a tool has failed", partial(_outcome, work)), partial(self._ended, session, future)
            )

    def _ended(self, session: bytes, future: asyncio.Future[str], outcome: str | errors.MemdError | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended first
            future.get_loop().call_soon_threadsafe(self._tell, session, future, outcome)

    def _tell(self, session: bytes, future: asyncio.Future[str], outcome: str | errors.MemdError | None) -> None:
        self._free += 1
        self._waiting.done(session)
        if not future.done():
            if isinstance(outcome, str):
                future.set_result(outcome)
            else:
                future.set_exception(outcome or errors.Fault("mcp"))
        self._begin()


def _outcome(work: Callable[[], str]) -> str | errors.MemdError:
    """What a tool says, or why not."""
    try:
        return work()
    except errors.MemdError as refusal:
        return refusal


def _server(tools: Tools, workers: _Workers) -> Server[Any]:
    listed = types.ListToolsResult(tools=[_listed(tool) for tool in TOOLS.values()])

    async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return listed

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        handed = context.request
        if handed is None:
            raise errors.Fault(params.name)
        caller = Caller(
            pid=handed.pid, cwd=os.fsdecode(handed.carried.cwd), tool_use_id=_tool_use_id(dict(context.meta or {}))
        )
        work = partial(tools.call, params.name, params.arguments or {}, caller)
        try:
            return _result(await workers.run(handed.carried.session, work))
        except errors.MemdError as refusal:
            return _result(refusal.to_tool, is_error=True)

    server = Server[Any](
        "memd",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    server.middleware.clear()  # spans for OpenTelemetry: memd tells nobody what it does
    return server


def _listed(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.schema,
        annotations=types.ToolAnnotations(read_only_hint=True) if tool.reads else None,
    )


def _result(text: str, *, is_error: bool = False) -> types.CallToolResult:
    told = text.encode("utf-8", "replace").decode()  # a path may hold what is no UTF-8
    return types.CallToolResult(content=[types.TextContent(type="text", text=told)], is_error=is_error)


def _tool_use_id(meta: dict[str, Any]) -> str:
    said = meta.get(TOOL_USE_ID)
    return said if isinstance(said, str) else ""


def _message(raw: bytes) -> types.JSONRPCMessage:
    """Raises Misread."""
    try:
        told = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Misread(types.jsonrpc.PARSE_ERROR, NOT_JSON, _id_in(raw)) from None
    id_ = told.get("id") if isinstance(told, dict) else None
    try:
        message = types.jsonrpc_message_adapter.validate_python(told, by_name=False)
    except ValueError:
        raise Misread(types.jsonrpc.INVALID_REQUEST, NOT_JSONRPC, id_) from None
    if isinstance(message, types.JSONRPCNotification) and "id" in told:  # one that JSON-RPC does not allow
        raise Misread(types.jsonrpc.INVALID_REQUEST, NOT_JSONRPC)
    return message


def _id_in(raw: bytes) -> object:
    """The id of what is almost JSON (half an emoji, NaN, a BOM), whose client would wait for ever for an answer without it."""
    try:
        told = json.loads(raw.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None
    return told.get("id") if isinstance(told, dict) else None


def _is_id(id_: object) -> bool:
    """Whether an answer can name it."""
    if isinstance(id_, str):
        return id_.encode("utf-8", "replace").decode() == id_
    return isinstance(id_, int) and not isinstance(id_, bool)


def _encoded(message: types.JSONRPCMessage) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()


def _keep_quiet() -> None:
    """The SDK's own log may quote what a client wrote."""
    theirs = logging.getLogger("mcp")
    theirs.addHandler(logging.NullHandler())
    theirs.propagate = False
