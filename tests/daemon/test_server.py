"""The server alone, on a real socket: what a hook is told when the daemon fails it, and what ends the serving."""

import contextlib
import queue
import select
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memd_client import api, link, wire, zmtp
from memd_client.address import Address
from memd_client.carried import Carried, carried_request, parse_carried_reply
from memd_daemon import limits
from memd_daemon.connections import Connections
from memd_daemon.server import Server

PATIENCE_NS = 30_000_000_000


class Served:
    """A server on a thread of its own, without verbs."""

    def __init__(self, hook: Callable[[wire.Hook, int], bytes], receipt: Callable[[bytes], None]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="memd-", dir="/tmp"))
        self.address = Address(wire.PROTOCOL, 0, 0, bytes(self.folder / "s"))
        self._bound, self._stopped = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, args=(hook, receipt), daemon=True)
        self._thread.start()
        assert self._bound.wait(30)

    def _run(self, hook: Callable[[wire.Hook, int], bytes], receipt: Callable[[bytes], None]) -> None:
        self.server = Server({}, hook, receipt, lambda *_: None)
        self.server.bind(str(self.folder / "s"))
        self.server.begin(self._stopped.set)
        self._bound.set()
        self._stopped.wait()
        self.server.finish()
        self.server.close()

    def ask(self, *frames: bytes) -> link.Outcome:
        return link.request(self.address, list(frames), time.monotonic_ns() + PATIENCE_NS)

    def ended(self) -> bool:
        self._thread.join(30)
        return not self._thread.is_alive()

    def stop(self) -> None:
        self._stopped.set()

    def close(self) -> None:
        self.stop()
        assert self.ended()
        shutil.rmtree(self.folder)


def fails(*_: object) -> bytes:
    raise RuntimeError("the disk is gone")


def loses(_: bytes) -> None:
    raise RuntimeError("the disk is gone")


@pytest.fixture
def failing() -> Iterator[Served]:
    served = Served(fails, loses)
    yield served
    served.close()


def call() -> list[bytes]:
    deadline_ns = time.monotonic_ns() + PATIENCE_NS
    return wire.hook_request(wire.Hook(b"r" * 16, deadline_ns, 0, "claude", "prompt-submit", b"/", b"", b"{}"))


def test_a_hook_that_failed_here_is_told_so_and_says_nothing(failing: Served) -> None:
    """DONE would make the hook forget a prompt that nobody stored; its stdout stays empty and its exit code 0."""
    reply = failing.ask(*call())
    assert isinstance(reply, wire.Reply)
    assert reply.status == wire.FAULT
    assert reply.body == [b"0", b"", b""]


def test_the_log_of_a_failed_hook_repeats_nothing_that_a_caller_made_up(
    failing: Served, caplog: pytest.LogCaptureFixture
) -> None:
    """Harness and event are the caller's words: what memd does not know stands there as unknown."""
    deadline_ns = time.monotonic_ns() + PATIENCE_NS
    failing.ask(*wire.hook_request(wire.Hook(b"s" * 16, deadline_ns, 0, "made-up", "my-word", b"/", b"", b"{}")))
    assert "hook unknown unknown failed" in caplog.text
    assert "made-up" not in caplog.text
    assert "my-word" not in caplog.text


def test_a_receipt_that_fails_is_logged_and_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """Nobody waits for it, and the next asker is served."""
    served = Served(lambda *_: b"", loses)
    opened = link.open(served.address, time.monotonic_ns() + PATIENCE_NS)
    assert isinstance(opened, link.Link)
    assert opened.tell(wire.request(wire.RECEIPT, b"r" * 16), time.monotonic_ns() + PATIENCE_NS)
    reply = opened.ask(call(), time.monotonic_ns() + PATIENCE_NS)
    opened.close()
    served.close()
    assert isinstance(reply, wire.Reply)
    assert reply.status == wire.DONE
    assert "a receipt failed" in caplog.text


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnhandledThreadExceptionWarning"
)  # the daemon has a hook that logs it
def test_a_server_that_can_receive_no_more_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon that lives and never answers would keep the next one from starting."""

    def broken(self: Server) -> None:
        raise RuntimeError("the socket is gone")

    monkeypatch.setattr(Server, "_run", broken)
    served = Served(fails, lambda _: None)
    assert served.ended()
    served.close()


def test_what_waits_behind_hooks_waits_for_the_end_of_their_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that is out has still to be written by its hook; whoever stops waits for none of them."""
    monkeypatch.setattr(limits, "HOOK_GONE_S", 3600)
    monkeypatch.setattr(limits, "BEHIND_YIELDS_MS", 30_000)
    served = Served(lambda *_: b"", lambda _: None)
    underway = served.server._underway
    assert isinstance(served.ask(*call()), wire.Reply)
    assert underway.defer(lambda: None)
    served.close()
    underway.let_pass()
    assert not underway.defer(lambda: None)


def test_a_hook_is_on_its_way_for_so_long_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else has to come for what waits behind it to begin."""
    monkeypatch.setattr(limits, "BEHIND_YIELDS_MS", 30_000)
    served = Served(lambda *_: b"", lambda _: None)
    assert isinstance(served.ask(*call()), wire.Reply)
    begins = threading.Event()
    if not served.server._underway.defer(begins.set):
        begins.set()
    assert begins.wait(30)
    served.close()


@pytest.mark.skipif(not hasattr(select, "epoll"), reason="the system has no epoll: looks go on")
def test_a_stream_by_a_silent_connection_wakes_a_server_that_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message without an end is nothing that libzmq tells of: it is looked again at who sends it, and again rested."""
    monkeypatch.setattr(limits, "CONNECTIONS_LOOK_S", 0.01)
    woken: queue.SimpleQueue[bool] = queue.SimpleQueue()
    arrived = Connections.arrived
    monkeypatch.setattr(Connections, "arrived", lambda self: (arrived(self), woken.put(self.look_in_ms is not None)))
    served = Served(lambda *_: b"", lambda _: None)
    dealer = zmtp.Dealer(served.address.socket, time.monotonic_ns() + PATIENCE_NS)
    connections, heard = served.server._connections, []
    for number in range(2):
        end = time.monotonic() + 30
        while not (len(connections) and connections.look_in_ms is None) and time.monotonic() < end:
            time.sleep(0.001)
        while not (len(heard) > number or time.monotonic() > end):
            dealer._socket.sendall(b"\x01\x00" * 10_000)
            with contextlib.suppress(queue.Empty):
                heard.append(woken.get_nowait())
    dealer.close()
    served.close()
    assert heard[:2] == [True, True]


def flood(count: int, verb: bytes = wire.RECEIPT) -> bytes:
    """One peer's requests, all in one piece."""
    return b"".join(zmtp.encode(wire.request(verb, b"r" * 16)) for _ in range(count))


def test_who_is_greedy_is_looked_at_when_what_has_come_was_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that is whole by then excuses whoever sent it."""
    order: list[str] = []
    monkeypatch.setattr(Connections, "heard", lambda *_: order.append("heard"))
    monkeypatch.setattr(Connections, "look", lambda _: order.append("look"))
    with tempfile.TemporaryDirectory(prefix="memd-", dir="/tmp") as folder:
        server = Server({}, lambda *_: b"", lambda _: None, lambda *_: None)
        server.bind(f"{folder}/s")
        poller = server._poller()
        soon = time.monotonic_ns() + PATIENCE_NS
        opened = link.open(Address(wire.PROTOCOL, 0, 0, f"{folder}/s".encode()), soon)
        assert isinstance(opened, link.Link)
        assert opened.tell(call(), soon)
        while "heard" not in order:
            order.clear()
            server._look(poller, PATIENCE_NS // 1_000_000)
        opened.close()
        server.close()
    assert order == ["heard", "look"]


def test_one_peers_flood_delays_another_by_a_turn() -> None:
    """Counted: of the requests that wait before another peer's first one, at most a round of the workers is done first."""
    gate, done, came = threading.Event(), [], threading.Event()

    def slow(request: bytes) -> None:
        came.set()
        gate.wait(30)
        done.append("flood")

    def quick(hook: wire.Hook, pid: int) -> bytes:
        done.append("hook")
        return b""

    served = Served(quick, slow)
    attacker = zmtp.Dealer(served.address.socket, time.monotonic_ns() + PATIENCE_NS)
    attacker._socket.sendall(flood(8_000))
    assert came.wait(30)
    opened = link.open(served.address, time.monotonic_ns() + PATIENCE_NS)
    assert isinstance(opened, link.Link)
    opened._dealer.send(call(), time.monotonic_ns() + PATIENCE_NS)
    opened._dealer.send(wire.request(wire.PING, b"\x80"), time.monotonic_ns() + PATIENCE_NS)
    first = opened._dealer.receive(time.monotonic_ns() + PATIENCE_NS)  # so what came before it waits by now, or is done
    gate.set()
    replies = [wire.parse_reply(one)[1] for one in (first, opened._dealer.receive(time.monotonic_ns() + PATIENCE_NS))]
    before = done.index("hook")
    attacker.close()
    opened.close()
    served.close()
    assert {reply.status for reply in replies} == {
        wire.DONE,
        wire.USAGE,
    }  # of the hook, and of a verb that there is not
    assert before <= 2 * limits.WORKER_THREADS


@pytest.mark.parametrize("verb", ["status", "fired"])
def test_no_ping_waits_for_a_status(verb: str) -> None:
    """At a start a status waits for its own modules: a daemon that is asked one would be taken for wedged, and ended."""
    gate, came = threading.Event(), threading.Event()

    def slow(_: object) -> api.FiredReply:
        came.set()
        assert gate.wait(60)
        return api.FiredReply(fired={}, took_us={})

    served = Served(lambda *_: b"", lambda _: None)
    served.server._handlers |= {verb: slow, "ping": lambda _: api.FiredReply(fired={}, took_us={})}
    with ThreadPoolExecutor(1) as beside:
        asked = beside.submit(served.ask, *wire.request(verb.encode(), wire.EMPTY_BODY))
        assert came.wait(30)
        pinged = served.ask(*wire.request(wire.PING, wire.EMPTY_BODY))
        gate.set()
        answers = [pinged, asked.result()]
    served.close()
    assert [isinstance(answer, wire.Reply) and answer.status == wire.DONE for answer in answers] == [True, True]


def test_what_there_is_no_room_for_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook is told that it failed, so that it keeps its prompt; a verb is told why; what has room is answered."""
    monkeypatch.setattr(limits, "PEER_WAITING_MAX", 1)
    gate = threading.Event()
    hooks = limits.WORKER_THREADS + 3

    def slow(hook: wire.Hook, pid: int) -> bytes:
        gate.wait(30)
        return b""

    served = Served(slow, lambda _: None)
    dealer = zmtp.Dealer(served.address.socket, time.monotonic_ns() + PATIENCE_NS)
    dealer._socket.sendall(b"".join(zmtp.encode(call()) for _ in range(hooks)))
    statuses = []
    for number in range(hooks):
        _, reply = wire.parse_reply(dealer.receive(time.monotonic_ns() + PATIENCE_NS))
        statuses.append(reply.status)
        if number == 0:
            gate.set()
    dealer.close()
    served.close()
    assert statuses[0] == wire.FAULT
    assert wire.DONE in statuses


@pytest.mark.parametrize(
    "frames",
    [
        [b"", wire.PROTOCOL, wire.PING, *[b""] * wire.FRAMES_MAX],
        [b"", wire.PROTOCOL, wire.PING, *[bytes(9_000_000)] * 2],
    ],
    ids=["too many frames", "too many bytes"],
)
def test_a_message_over_its_bounds_is_dropped_with_its_connection(failing: Served, frames: list[bytes]) -> None:
    """Nobody answers it, its sender sees the end at once, and whoever else asks is answered."""
    dealer = zmtp.Dealer(failing.address.socket, time.monotonic_ns() + PATIENCE_NS)
    dealer.send(frames, time.monotonic_ns() + PATIENCE_NS)
    with pytest.raises(ConnectionResetError):
        dealer.receive(time.monotonic_ns() + PATIENCE_NS)
    dealer.close()
    reply = failing.ask(*call())
    assert isinstance(reply, wire.Reply)
    assert reply.body == [b"0", b"", b""]


def heard(opened: link.Link) -> wire.Reply:
    """The next reply."""
    return wire.parse_reply(opened._dealer.receive(time.monotonic_ns() + PATIENCE_NS))[1]


def test_what_comes_while_it_leaves_is_told_so_at_once_and_answers_in_flight_still_come() -> None:
    """AT1: no hook waits for one that leaves, no command is told that its request may have been done; a carrier hears it last."""
    begun, gate = threading.Event(), threading.Event()
    receipted: list[bytes] = []

    def slow(hook: wire.Hook, pid: int) -> bytes:
        begun.set()
        gate.wait(30)
        return b"said"

    served = Served(slow, receipted.append)
    first, carrier, late = (
        opened
        for opened in (link.open(served.address, time.monotonic_ns() + PATIENCE_NS) for _ in range(3))
        if isinstance(opened, link.Link)
    )
    ns = time.monotonic_ns() + PATIENCE_NS
    first.tell(call(), ns)
    assert begun.wait(30)
    served.stop()
    while served.server._leave_by is None:
        assert time.monotonic_ns() < ns
    late.tell(call(), ns)
    assert (heard(late).status, gate.is_set()) == (wire.STOPPING, False)
    late.tell(wire.request(b"remember", b"\x80"), ns)
    assert (heard(late).status, gate.is_set()) == (wire.STOPPING, False)
    carrier.tell(carried_request(Carried(b"s" * 16, 7, b"/", b"", b"{}")), ns)
    late.tell(wire.request(wire.RECEIPT, b"r" * 16), ns)
    late.tell(wire.request(wire.PING, b"\x80"), ns)
    assert heard(late).status == wire.STOPPING  # so what came before it is in
    carrier.tell(wire.request(wire.PING, b"\x80"), ns)
    assert heard(carrier).body[0] != b"7"  # the ping's answer, though the message came first
    gate.set()
    assert heard(first).body[1] == b"said"
    told = heard(carrier)
    assert (told.status, parse_carried_reply(told)[0]) == (wire.STOPPING, 7)
    for opened in (first, carrier, late):
        opened.close()
    served.close()
    assert receipted == [b"r" * 16]


def test_an_older_peer_that_breaks_the_bounds_is_dropped(failing: Served) -> None:
    """Of one that speaks ZMTP 2 libzmq tells neither process nor descriptor: its message is dropped, and the server goes on."""
    older = b"\xff" + bytes(8) + b"\x7f\x01\x05" + b"\0\0"  # signature, revision, DEALER; no identity
    with socket.socket(socket.AF_UNIX) as raw:
        raw.connect(failing.address.socket)
        raw.sendall(older + b"\x01\0" * 100 + b"\0\0" + zmtp.encode(wire.request(wire.PING, b"\x80")))
        raw.settimeout(PATIENCE_NS / 1e9)
        answer = b""
        while b"memd/1" not in answer:
            answer += raw.recv(4_096)
    assert isinstance(failing.ask(*call()), wire.Reply)


def test_a_stop_finishes_what_was_received() -> None:
    """The answer that was being made when the stop came goes out."""
    begun, gate = threading.Event(), threading.Event()

    def slow(hook: wire.Hook, pid: int) -> bytes:
        begun.set()
        gate.wait(30)
        return b"said"

    served = Served(slow, lambda _: None)
    opened = link.open(served.address, time.monotonic_ns() + PATIENCE_NS)
    assert isinstance(opened, link.Link)
    opened._dealer.send(call(), time.monotonic_ns() + PATIENCE_NS)
    assert begun.wait(30)
    served.stop()
    gate.set()
    _, reply = wire.parse_reply(opened._dealer.receive(time.monotonic_ns() + PATIENCE_NS))
    opened.close()
    served.close()
    assert reply.body[1] == b"said"


def test_a_server_whose_thread_cannot_begin_can_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A start that fails so is told as it is, and leaves no socket behind that its process would wait for."""
    with tempfile.TemporaryDirectory(prefix="memd-", dir="/tmp") as folder:
        server = Server({}, fails, lambda _: None, lambda *_: None)
        server.bind(f"{folder}/s")

        def refused(_: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        with monkeypatch.context() as full:
            full.setattr(threading.Thread, "start", refused)
            with pytest.raises(RuntimeError, match="new thread"):
                server.begin(lambda: None)
        server.close()
        assert server._context.closed


def test_where_no_more_threads_can_begin_those_that_there_are_do_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon that ended by it would take everybody's answers with it."""
    served = Served(lambda *_: b"said", lambda _: None)
    said = [served.ask(*call())]  # so that a thread there is
    submit = ThreadPoolExecutor.submit

    def full(self: ThreadPoolExecutor, *given: Any, **named: Any) -> Any:
        submit(self, *given, **named)
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as lacking:
        lacking.setattr(ThreadPoolExecutor, "submit", full)
        said.append(served.ask(*call()))
    said.append(served.ask(*call()))
    served.close()
    assert [isinstance(one, wire.Reply) and (one.status, one.body[1]) for one in said] == 3 * [(wire.DONE, b"said")]
