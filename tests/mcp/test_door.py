"""The server inside the daemon, with tools of the test's own: what is answered, when, and how often."""

import asyncio
import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from queue import Queue
from types import SimpleNamespace
from typing import Any

import pytest

from memd_client import wire
from memd_client.carried import Carried
from memd_daemon import errors, limits
from memd_daemon.mcp_door import Door
from memd_daemon.mcp_server import _Workers
from memd_daemon.service.tools import Caller

PATIENCE_S = 30
ONE, TWO = b"1" * 16, b"2" * 16
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


class Tools:
    """Tools that answer when they are let."""

    def __init__(self) -> None:
        self.begun: Queue[tuple[str, Caller]] = Queue()
        self.gates: dict[str, threading.Event] = {}

    def gate(self, name: str) -> threading.Event:
        return self.gates.setdefault(name, threading.Event())

    def call(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> str:
        self.begun.put((name, caller))
        if name in self.gates:
            assert self.gates[name].wait(PATIENCE_S)
        if name == "refused":
            raise errors.ReasonNeeded(47)
        if name == "broken":
            raise RuntimeError("the words of a user")
        return f"{name} {json.dumps(arguments)}"


class Desk:
    """A door with messages on their way; answers by number."""

    def __init__(self) -> None:
        self.tools = Tools()
        self.door = Door(lambda: self.tools)  # type: ignore[arg-type]
        self.answers: Queue[tuple[int, int, list[bytes]]] = Queue()
        self._number = 0
        self._kept: dict[int, tuple[int, list[bytes]]] = {}

    def send(self, message: bytes | dict[str, Any], session: bytes = ONE) -> int:
        """The number under which it is answered."""
        self._number += 1
        number = self._number
        raw = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()

        def answer(*said: bytes, status: int = wire.DONE) -> None:
            self.answers.put((number, status, list(said)))

        self.door.take(Carried(session, number, b"/here\xff", b"", raw), 4711, answer)
        return number

    def answer(self, number: int) -> tuple[int, list[bytes]]:
        while number not in self._kept:
            got, status, said = self.answers.get(timeout=PATIENCE_S)
            assert got not in self._kept, "answered twice"
            self._kept[got] = status, said
        return self._kept.pop(number)

    def told(self, number: int) -> dict[str, Any]:
        status, (said,) = self.answer(number)
        assert status == wire.DONE
        message: dict[str, Any] = json.loads(said)
        return message

    def call(self, name: str, id_: int | str = 1, session: bytes = ONE, **params: object) -> int:
        return self.send({"id": id_, "method": "tools/call", "params": {"name": name, **params}}, session)

    def close(self) -> None:
        for gate in self.tools.gates.values():
            gate.set()
        self.door.close()


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk()
    try:
        yield made
    finally:
        made.close()


def text_of(message: dict[str, Any]) -> str:
    (content,) = message["result"]["content"]
    text: str = content["text"]
    return text


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ],
)
def test_client_and_server_agree_on_a_version(desk: Desk, asked: str, agreed: str) -> None:
    """The client's where it is known, else the newest that has a handshake; the instructions come with it."""
    told = desk.told(desk.send({"id": 1, "method": "initialize", "params": HELLO | {"protocolVersion": asked}}))
    assert told["result"]["protocolVersion"] == agreed
    assert told["result"]["serverInfo"]["name"] == "memd"
    assert "claim" in told["result"]["instructions"]
    assert desk.answer(desk.send({"method": "notifications/initialized"})) == (wire.DONE, [])


def test_a_client_of_the_protocol_without_a_handshake_is_served(desk: Desk) -> None:
    """Each of its requests says who it is."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    }
    told = desk.told(desk.call("x", _meta=meta))
    assert text_of(told) == "x {}"


def test_a_session_that_nobody_knows_goes_on(desk: Desk) -> None:
    """The daemon was restarted; the client knows nothing of it and makes no second handshake."""
    assert text_of(desk.told(desk.call("x", arguments={"a": 1}))) == 'x {"a": 1}'
    assert len(desk.told(desk.send({"id": 2, "method": "tools/list"}))["result"]["tools"]) > 1


def test_a_tool_is_told_who_calls(desk: Desk) -> None:
    """The carrier's process and directory, and the client's own id of the tool use."""
    desk.told(desk.call("x", _meta={"claudecode/toolUseId": "toolu_1"}))
    assert desk.tools.begun.get(timeout=PATIENCE_S)[1] == Caller(pid=4711, cwd="/here\udcff", tool_use_id="toolu_1")
    desk.told(desk.call("x", _meta={"claudecode/toolUseId": ["no text"]}))
    assert desk.tools.begun.get(timeout=PATIENCE_S)[1].tool_use_id == ""


def test_a_refusal_is_a_result_with_its_own_sentence(desk: Desk) -> None:
    """In the words of a tool: the agent reads it and can do better; the protocol saw no error."""
    told = desk.told(desk.call("refused"))
    assert told["result"]["isError"] is True
    assert text_of(told) == errors.ReasonNeeded(47).to_tool != errors.ReasonNeeded(47).message


def test_a_tool_that_fails_is_told_and_its_words_are_not_logged(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """The next call is served."""
    told = desk.told(desk.call("broken"))
    assert told["result"]["isError"] is True
    assert "the words of a user" not in text_of(told)
    assert "the words of a user" not in "".join(record.getMessage() for record in caplog.records)
    assert text_of(desk.told(desk.call("x", 2))) == "x {}"


@pytest.mark.parametrize("id_", [7, "seven", "7", 0, -1])
def test_an_answer_has_the_id_as_it_was_sent(desk: Desk, id_: int | str) -> None:
    """Numbers stay numbers, texts stay texts."""
    assert desk.told(desk.call("x", id_))["id"] == id_


def test_two_requests_under_one_id_are_both_answered(desk: Desk) -> None:
    """A client must not do that, and hangs in no case."""
    gate = desk.tools.gate("slow")
    first, second = desk.call("slow", 1), desk.call("x", 1)
    gate.set()
    assert {text_of(desk.told(number)) for number in (first, second)} == {"slow {}", "x {}"}


@pytest.mark.parametrize(
    ("raw", "code", "id_"),
    [
        (b"{nope", -32700, None),
        (b"\xff\xfe", -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\xff"}}', -32700, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\\ud83d"}}', -32700, 1),
        (b'{"jsonrpc":"2.0","id":"a","method":"ping","params":{"x":NaN}}', -32700, "a"),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":1e400}}', -32700, 1),
        (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}', -32700, 1),
        (b'{"jsonrpc":"2.0","id":"\\ud83d","method":"ping"}', -32700, None),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', -32700, None),
        (b'{"jsonrpc":"2.0","id":1' + b"0" * 5_000 + b',"method":"ping"}', -32700, None),
        (b"[" * 100_000, -32700, None),
        (b"[]", -32600, None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, None),
        (b"42", -32600, None),
        (b'{"jsonrpc":"1.0","id":3,"method":"ping"}', -32600, 3),
        (b'{"jsonrpc":"2.0","id":"a","params":{}}', -32600, "a"),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":4,"method":"no/such"}', -32601, 4),
        (b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":7}}', -32602, 5),
    ],
)
def test_what_is_no_request_gets_the_error_that_json_rpc_has(desk: Desk, raw: bytes, code: int, id_: object) -> None:
    """And the session goes on."""
    told = desk.told(desk.send(raw))
    assert (told["error"]["code"], told["id"]) == (code, id_)
    assert text_of(desk.told(desk.call("x"))) == "x {}"


def test_a_slow_tool_holds_up_nobody(desk: Desk) -> None:
    """Not its own session and no other."""
    gate = desk.tools.gate("slow")
    slow = desk.call("slow", 1)
    assert text_of(desk.told(desk.call("x", 2))) == "x {}"
    assert text_of(desk.told(desk.call("x", 1, TWO))) == "x {}"
    gate.set()
    assert text_of(desk.told(slow)) == "slow {}"


def test_a_session_with_many_calls_delays_another_by_one(desk: Desk) -> None:
    """Each has its turn when a thread is free."""
    gate = desk.tools.gate("slow")
    many = [desk.call("slow", n) for n in range(limits.MCP_WORKER_THREADS + 20)]
    other = desk.call("other", 1, TWO)
    gate.set()
    desk.told(other)
    begun = [desk.tools.begun.get(timeout=PATIENCE_S)[0] for _ in range(limits.MCP_WORKER_THREADS + 2)]
    assert "other" in begun
    assert {text_of(desk.told(number)) for number in many} == {"slow {}"}


def test_more_calls_than_there_is_room_for_are_refused(desk: Desk) -> None:
    """Told to the agent, and what was taken is done."""
    gate = desk.tools.gate("slow")
    many = [desk.call("slow", n) for n in range(limits.MCP_WORKER_THREADS + limits.PEER_WAITING_MAX)]
    assert text_of(desk.told(desk.call("slow", "over"))) == errors.TooManyRequests().message
    gate.set()
    assert {text_of(desk.told(number)) for number in many} == {"slow {}"}


def test_a_session_may_call_as_often_as_it_likes() -> None:
    """One that lasts for days calls more often than there is room for at once."""

    async def calls() -> None:
        workers = _Workers()
        for n in range(limits.WAITING_MAX + 1):
            assert await asyncio.wait_for(workers.run(ONE, partial(str, n)), PATIENCE_S) == str(n)
        workers.close()

    asyncio.run(calls())


def test_calls_that_are_cancelled_while_they_wait_hold_no_hand(desk: Desk) -> None:
    """More of them than there are threads: what is asked after them is done."""
    gate = desk.tools.gate("slow")
    slow = [desk.call("slow", n) for n in range(limits.MCP_WORKER_THREADS)]
    for n in range(limits.MCP_WORKER_THREADS):
        waiting = desk.call("y", f"w{n}")
        desk.send({"method": "notifications/cancelled", "params": {"requestId": f"w{n}"}})
        assert desk.answer(waiting) == (wire.DONE, [])
    last = desk.call("x", "last")
    gate.set()
    assert text_of(desk.told(last)) == "x {}"
    assert {text_of(desk.told(number)) for number in slow} == {"slow {}"}
    assert desk.tools.begun.qsize() == limits.MCP_WORKER_THREADS + 1


def test_where_no_more_threads_can_begin_the_first_does_what_waits(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody's call waits for ever, and no hand is lost."""
    assert text_of(desk.told(desk.call("x"))) == "x {}"
    begin = threading.Thread.start

    def lacking(thread: threading.Thread) -> None:
        if thread.name.startswith("memd-tool"):
            raise RuntimeError("can't start new thread")
        begin(thread)

    monkeypatch.setattr(threading.Thread, "start", lacking)
    many = [desk.call("x", n) for n in range(3 * limits.MCP_WORKER_THREADS)]
    assert {text_of(desk.told(number)) for number in many} == {"x {}"}


def test_where_not_even_one_thread_can_begin_the_next_message_tries_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that took calls with no thread for them would leave them without an answer."""
    begin = threading.Thread.start

    def lacking(thread: threading.Thread) -> None:
        if thread.name.startswith("memd-tool"):
            raise RuntimeError("can't start new thread")
        begin(thread)

    with monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", lacking)
        assert desk.answer(desk.call("x"))[0] == wire.FAULT
    assert text_of(desk.told(desk.call("x"))) == "x {}"


def test_a_cancelled_request_is_answered_with_nothing(desk: Desk) -> None:
    """At once, though its tool runs on; what follows is served."""
    gate = desk.tools.gate("slow")
    slow = desk.call("slow", 1)
    desk.tools.begun.get(timeout=PATIENCE_S)
    cancel = desk.send({"method": "notifications/cancelled", "params": {"requestId": 1}})
    assert desk.answer(cancel) == (wire.DONE, [])
    assert desk.answer(slow) == (wire.DONE, [])
    assert text_of(desk.told(desk.call("x", 2))) == "x {}"
    gate.set()


def test_a_client_that_leaves_ends_its_session(desk: Desk) -> None:
    """What it asked is answered, so that nothing is held for it; a message after that begins anew."""
    gate = desk.tools.gate("slow")
    slow = desk.call("slow", 1)
    desk.tools.begun.get(timeout=PATIENCE_S)
    assert desk.answer(desk.send(b"")) == (wire.DONE, [])
    desk.answer(slow)
    gate.set()
    assert text_of(desk.told(desk.call("x", 2))) == "x {}"


def test_sessions_that_rest_make_room(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was forgotten goes on; where all are at work, a further one is refused."""
    monkeypatch.setattr(limits, "MCP_SESSIONS_MAX", 2)
    sessions = [bytes([n]) * 16 for n in range(4)]
    for session in (*sessions, sessions[0]):
        assert text_of(desk.told(desk.call("x", 1, session))) == "x {}"
    gate = desk.tools.gate("slow")
    busy = [desk.call("slow", 1, session) for session in sessions[:2]]
    assert desk.answer(desk.call("x", 1, sessions[2]))[0] == wire.REFUSED
    gate.set()
    assert [text_of(desk.told(number)) for number in busy] == ["slow {}"] * 2


def test_at_the_end_everything_is_answered(desk: Desk) -> None:
    """What runs, what waits, and what comes too late."""
    gate = desk.tools.gate("slow")
    many = [desk.call("slow", n) for n in range(limits.MCP_WORKER_THREADS + 3)]
    desk.tools.begun.get(timeout=PATIENCE_S)
    desk.door.close()
    gate.set()
    for number in many:
        desk.answer(number)
    assert desk.answer(desk.call("x"))[0] == wire.STOPPING


def test_a_server_that_cannot_be_loaded_is_told_and_tried_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The daemon and its hooks live on without it."""
    serve: Callable[..., object] = asyncio.run

    def broken(coroutine: Any) -> None:
        coroutine.close()
        raise ImportError("mcp")

    monkeypatch.setattr(asyncio, "run", broken)
    assert desk.answer(desk.call("x"))[0] == wire.FAULT
    assert "MCP cannot be served" in caplog.text
    monkeypatch.setattr(asyncio, "run", serve)
    assert text_of(desk.told(desk.call("x"))) == "x {}"


def test_a_loop_that_has_just_ended_costs_one_answer(desk: Desk) -> None:
    """It is closed before its thread has taken itself off; whoever comes in between raises nothing and is answered."""
    loop = asyncio.new_event_loop()
    loop.close()
    server: Any = SimpleNamespace(take=lambda _: None, stop=lambda: None)
    desk.door._loop, desk.door._server = loop, server
    desk.door._thread = threading.Thread(target=lambda: None)
    number = desk.call("x")
    desk.door._take_off()
    assert desk.answer(number)[0] == wire.FAULT
    assert text_of(desk.told(desk.call("x"))) == "x {}"


def test_no_thread_for_the_server_is_no_message_kept(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever hands it on tells so; a kept one would be answered a second time."""

    def none_left(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", none_left)
        with pytest.raises(RuntimeError):
            desk.call("x", 1)
    assert text_of(desk.told(desk.call("x", 2))) == "x {}"
    assert desk.answers.empty()


def test_a_session_whose_run_is_ending_costs_one_answer(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its stream takes nothing more; the next message begins another run."""
    desk.told(desk.call("x"))
    server: Any = desk.door._server
    (session,) = server._sessions.values()
    take = server.take
    with monkeypatch.context() as ending:
        ending.setattr(server, "take", lambda handed: (session.close(), take(handed)))
        assert desk.answer(desk.call("x", 2))[0] == wire.FAULT
        assert desk.answer(desk.send({"method": "notifications/initialized"}))[0] == wire.DONE
    assert text_of(desk.told(desk.call("x", 3))) == "x {}"


def test_where_not_even_asyncio_can_be_loaded_each_message_is_answered(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A moment without descriptors is one: who asks then hears of it, and who asks later is served."""
    with monkeypatch.context() as full:
        full.setitem(sys.modules, "asyncio", None)
        assert desk.answer(desk.call("x"))[0] == wire.FAULT
    assert text_of(desk.told(desk.call("x"))) == "x {}"
