"""The daemon's door: one ROUTER socket, the table of verbs, and who the peer is. The only import of zmq.

The protocol is memd_client.wire's. One thread owns the socket: it only receives, hands over and sends, and sleeps where there is
nothing to do. Each request runs on a worker thread, so that a write that waits for the disk, or a model run, holds nobody else up.
A message of an MCP client is handed on (mcp_door.py) and holds no worker here while it waits for its answer.
`ping` and `stop` have a thread of their own, and so have `status` and `fired`: none of them queues behind work, and no ping
behind a status, which may wait for what comes in behind a start: who is not answered is taken for wedged. What waits for a worker
waits in a bounded queue with a turn for each peer (fair.py); a request that it has no room for is refused at once. A message over
the wire's bounds is dropped together with its connection. A peer that does not read its answers loses them (a ROUTER drops what
it cannot queue); it stalls nobody. connections.py holds how many peers there may be, and what they may hold.
"""

import contextlib
import logging
import math
import queue
import struct
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

import msgspec
import zmq

from memd_client import __version__, api, wire
from memd_client.carried import Carried, carried_reply, parse_carried
from memd_daemon import errors, limits
from memd_daemon.bell import Bell
from memd_daemon.connections import Connections
from memd_daemon.lanes import Carry, Finish, Lane, Work, on_thread_of, tried
from memd_daemon.service.behind import Underway
from memd_daemon.service.clients import PEER
from memd_daemon.service.hookcounts import named
from memd_daemon.service.text import told_back

log: Final = logging.getLogger("memd.server")

VERSION: Final = __version__.encode()


Handler = Callable[[Any], msgspec.Struct]
HookHandler = Callable[[wire.Hook, int], bytes]
ReceiptHandler = Callable[[bytes], None]
Answer = Callable[..., None]
"""Answers one carried message, once and from any thread: ``answer(*messages)``, or ``answer(sentence, status=…)``."""
CarriedHandler = Callable[[Carried, int, Answer], None]
"""Takes a message of an MCP client and its peer's pid, and returns at once. What raises has answered nothing."""
CONNECTION_EVENTS: Final = "inproc://memd-connections"
EVENT: Final = struct.Struct("=Hi")
"""What libzmq tells of a connection: which of its events, and the descriptor."""

AT_ONCE: Final = frozenset({"ping", "stop"})
"""Verbs that wait for nothing."""
OF_ITSELF: Final = frozenset({"status", "fired"})
"""Verbs that tell of the daemon, also where its workers are busy."""

STATUSES: Final = {"refused": wire.REFUSED, "usage": wire.USAGE, "unreachable": wire.STOPPING}


class Server:
    """Made, bound, begun, finished and closed, once each. ``handlers`` maps verbs to functions that run on worker threads."""

    def __init__(
        self,
        handlers: dict[str, Handler],
        hook: HookHandler,
        receipt: ReceiptHandler,
        mcp: CarriedHandler,
        underway: Underway | None = None,
    ) -> None:
        self._handlers = handlers
        self._hook = hook
        self._receipt = receipt
        self._mcp = mcp
        self._underway = underway or Underway()
        workers = ThreadPoolExecutor(limits.WORKER_THREADS, thread_name_prefix="memd-work")
        at_once = ThreadPoolExecutor(1, thread_name_prefix="memd-ping")
        of_itself = ThreadPoolExecutor(1, thread_name_prefix="memd-status")
        self._pools = (workers, at_once, of_itself)
        self._work: Lane[Work] = Lane(limits.WORKER_THREADS, on_thread_of(workers), limits.PEER_IN_HAND_MAX)
        self._at_once: Lane[Work] = Lane(1, on_thread_of(at_once))
        self._of_itself: Lane[Work] = Lane(1, on_thread_of(of_itself))
        self._carried: Lane[Carry] = Lane(limits.MCP_IN_HAND_MAX, lambda carry, finish: carry(finish))
        self._lanes: tuple[Lane[Any], ...] = (self._at_once, self._of_itself, self._work, self._carried)
        self._done: queue.SimpleQueue[tuple[Lane[Any], bytes, bytes, list[bytes] | None]] = queue.SimpleQueue()
        self._bell = Bell()
        self._leave_by: float | None = None  # monotonic seconds: when a stop waits no longer
        self._left: list[tuple[bytes, list[bytes]]] = []  # what carriers hear at the end
        self._gone_by: deque[float] = deque()  # monotonic seconds: when the hooks that were answered are gone
        self._receiver: threading.Thread | None = None
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.LINGER, limits.SOCKET_LINGER_MS)
        self._socket.setsockopt(zmq.MAXMSGSIZE, wire.FRAME_MAX_BYTES)
        self._socket.setsockopt(zmq.HANDSHAKE_IVL, limits.HANDSHAKE_MAX_MS)
        self._socket.monitor(CONNECTION_EVENTS, zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED)
        self._events = self._context.socket(zmq.PAIR)
        self._events.setsockopt(zmq.RCVHWM, 1)
        self._events.connect(CONNECTION_EVENTS)
        self.served_at = time.monotonic()

    def bind(self, path: str) -> None:
        self._connections = Connections(path)
        self._socket.bind(f"ipc://{path}")

    def begin(self, ended: Callable[[], None]) -> None:
        """Receives on a thread of its own. ``ended`` is called from there when it receives no more, whatever the reason.

        Raises RuntimeError where the system gives no thread.
        """
        receiver = threading.Thread(target=self._receive_all, args=(ended,), name="memd-socket", daemon=True)
        receiver.start()
        self._receiver = receiver  # one that never began is not waited for

    def finish(self) -> None:
        """Receives no more, and waits until what was received is done, `limits.STOP_GRACE_S` at most."""
        self._leave_by = time.monotonic() + limits.STOP_GRACE_S
        self._bell.ring()
        if self._receiver is not None:
            self._receiver.join()

    def close(self) -> None:
        if self._leave_by is None:  # what should have finished it failed
            self.finish()
        for pool in self._pools:
            pool.shutdown(wait=False, cancel_futures=True)
        self._bell.close()
        with contextlib.suppress(zmq.Again):  # libzmq's thread may wait to be heard, and would wait for ever
            while True:
                self._events.recv_multipart(zmq.NOBLOCK)
        self._socket.disable_monitor()
        self._events.close()
        self._socket.close()
        self._context.term()

    def _receive_all(self, ended: Callable[[], None]) -> None:
        try:
            self._run()
        finally:  # a daemon that lives and never answers would keep the next one from starting
            ended()

    # the loop, on the thread that owns the socket

    def _run(self) -> None:
        poller = self._poller()
        while self._leave_by is None:
            self._look(poller, self._sleep_ms())
        self._receive_some()
        while not all(lane.is_idle for lane in self._lanes) and (left_s := self._leave_by - time.monotonic()) > 0:
            self._look(poller, int(left_s * limits.MS_PER_S) + 1)
        self._receive_some()
        for identity, frames in self._left:
            self._answer(identity, frames)
        self._see_off(math.inf)

    def _poller(self) -> zmq.Poller:
        poller = zmq.Poller()
        poller.register(self._bell.descriptor, zmq.POLLIN)
        poller.register(self._socket, zmq.POLLIN)
        poller.register(self._events, zmq.POLLIN)
        if self._connections.arrivals is not None:
            poller.register(self._connections.arrivals, zmq.POLLIN)
        return poller

    def _sleep_ms(self) -> int | None:
        """How long the loop may sleep where nothing wakes it; None for ever."""
        look_ms = self._connections.look_in_ms
        if not self._gone_by:
            return look_ms
        gone_ms = max(int((self._gone_by[0] - time.monotonic()) * limits.MS_PER_S) + 1, 0)
        return gone_ms if look_ms is None else min(gone_ms, look_ms)

    def _look(self, poller: zmq.Poller, sleep_ms: int | None) -> None:
        ready = dict(poller.poll(sleep_ms))
        if self._bell.descriptor in ready:
            self._bell.heard()
        self._hear_some(self._connections.arrivals in ready)
        if self._socket in ready:
            self._receive_some()
        self._connections.look()  # by now it is heard whose message has ended
        self._turn()
        self._see_off(time.monotonic())

    def _expect_gone(self) -> None:
        self._gone_by.append(time.monotonic() + limits.HOOK_GONE_S)

    def _see_off(self, now: float) -> None:
        """What waits behind hooks begins when their processes are gone: it would take the processor from them until then."""
        while self._gone_by and self._gone_by[0] <= now:
            self._gone_by.popleft()
            self._underway.end()

    def _hear_some(self, has_arrived: bool) -> None:
        """Who has come and gone, and that bytes have come."""
        if has_arrived:
            self._connections.arrived()
        with contextlib.suppress(zmq.Again):
            for _ in range(limits.CONNECTIONS_HEARD_AT_ONCE_MAX):
                event, descriptor = EVENT.unpack(self._events.recv_multipart(zmq.NOBLOCK)[0])
                if event == zmq.EVENT_ACCEPTED:
                    self._connections.came(descriptor)
                    self._underway.begin()  # it is about to ask, and mostly a hook
                    self._expect_gone()
                else:
                    self._connections.went(descriptor)

    def _turn(self) -> None:
        """Sends the answers that are there, and begins the next request of each lane that has a hand free."""
        with contextlib.suppress(queue.Empty):
            while True:
                lane, identity, verb, frames = self._done.get_nowait()
                lane.free += 1
                lane.waiting.done(identity)
                if frames is not None:
                    self._answer(identity, frames)
                if verb == wire.HOOK:
                    self._expect_gone()
        for lane in self._lanes:
            while lane.free and (request := lane.waiting.take()) is not None:
                lane.free -= 1
                identity, verb, work = request
                lane.begin(work, partial(self._finish, lane, identity, verb))

    def _finish(self, lane: Lane[Any], identity: bytes, verb: bytes, frames: list[bytes] | None) -> None:
        self._done.put((lane, identity, verb, frames))
        self._bell.ring()

    def _receive_some(self) -> None:
        """What is there, but not so much that answers have to wait for it."""
        with contextlib.suppress(zmq.Again):
            for _ in range(limits.RECEIVED_AT_ONCE_MAX):
                frames = self._receive()
                self.served_at = time.monotonic()
                if frames is not None:
                    self._take_in(frames)

    def _receive(self) -> list[zmq.Frame] | None:
        """One message with its identity in front; None for one over the wire's bounds, which goes with its connection."""
        frames: list[zmq.Frame] = []
        size, has_more = 0, True
        while has_more:
            frame = self._socket.recv(zmq.NOBLOCK, copy=False)
            size, has_more = size + len(frame), frame.more
            if len(frames) > wire.FRAMES_MAX or size > wire.MESSAGE_MAX_BYTES:
                frames.clear()
                self._skip(frame)
                return None
            frames.append(frame)
        return frames

    def _skip(self, frame: zmq.Frame) -> None:
        """Drops the rest of a message, of which nothing is kept. Nobody else is received meanwhile; answers go out."""
        self._connections.let_go_of(
            descriptor_of(frame), peer_pid([frame]), "ended a connection that broke the wire's bounds"
        )
        skipped, has_more = 0, frame.more
        while has_more:
            has_more, skipped = self._socket.recv(zmq.NOBLOCK, copy=False).more, skipped + 1
            if skipped % limits.PARTS_SKIPPED_AT_ONCE == 0:
                self._turn()

    def _take_in(self, received: list[zmq.Frame]) -> None:
        self._connections.heard(descriptor_of(received[0]))
        identity, pid, frames = received[0].bytes, peer_pid(received), [frame.bytes for frame in received[1:]]
        try:
            protocol, verb, body = wire.parse_request(frames)
        except wire.Malformed:
            return self._connections.tell("dropped a malformed request")
        if protocol != wire.PROTOCOL:
            return self._answer(identity, refused(_other_protocol()))
        if self._leave_by is not None and verb != wire.RECEIPT:
            return self._take_nothing(identity, verb, body)
        lane, work = self._lane_of(verb, body, pid)
        if not lane.waiting.put(identity, (identity, verb, work), sum(map(len, frames))):
            self._turn_away(identity, verb, body)
        elif verb == wire.HOOK:
            self._underway.begin()

    def _lane_of(self, verb: bytes, body: list[bytes], pid: int) -> tuple[Lane[Any], Work | Carry]:
        if verb == wire.HOOK:
            return self._work, partial(self._serve_hook, body, pid)
        if verb == wire.RECEIPT:
            return self._work, partial(self._serve_receipt, body)
        if verb == wire.MCP:
            return self._carried, partial(self._carry, body, pid)
        name = verb.decode("ascii")
        lane = self._at_once if name in AT_ONCE else self._of_itself if name in OF_ITSELF else self._work
        return lane, partial(self._serve_verb, name, body, pid)

    def _take_nothing(self, identity: bytes, verb: bytes, body: list[bytes]) -> None:
        """What comes while this daemon leaves is its successor's: a client that hears so says it again, a hook keeps its prompt.

        A carrier turns to the successor by it, and so hears it last: it may still be owed answers.
        """
        if verb == wire.HOOK:
            self._answer(identity, wire.hook_reply(VERSION, b"", wire.STOPPING))
        elif verb == wire.MCP:
            self._left.append((identity, _carried_refused(body, errors.Stopping(), wire.STOPPING)))
        else:
            self._answer(identity, refused(errors.Stopping()))

    def _turn_away(self, identity: bytes, verb: bytes, body: list[bytes]) -> None:
        """There is no room. A hook keeps what must not be lost; what is not receipted stays owed."""
        if verb == wire.HOOK:
            self._answer(identity, wire.hook_reply(VERSION, b"", wire.FAULT))
        elif verb == wire.MCP:
            self._answer(identity, _carried_refused(body, errors.TooManyRequests()))
        elif verb != wire.RECEIPT:
            self._answer(identity, refused(errors.TooManyRequests()))

    def _carry(self, body: list[bytes], pid: int, finish: Finish) -> None:
        try:
            carried = parse_carried(body)
        except wire.Malformed:
            return finish(wire.reply(VERSION, wire.USAGE))

        def answer(*said: bytes, status: int = wire.DONE) -> None:
            finish(carried_reply(VERSION, carried.number, *said, status=status))

        try:
            self._mcp(carried, pid, answer)
        except Exception:  # this thread is everybody's: what befalls one message is told to whoever sent it
            log.exception("a message of MCP could not be handed on")
            answer(errors.Fault("mcp").message.encode(), status=wire.FAULT)

    def _answer(self, identity: bytes, frames: list[bytes]) -> None:
        self._connections.stir()
        try:
            self._socket.send_multipart([identity, *frames], flags=zmq.DONTWAIT)
        except zmq.ZMQError:  # who asked is gone
            self._connections.tell("an answer could not be sent")

    # requests, on worker threads

    def _serve_hook(self, body: list[bytes], pid: int) -> list[bytes] | None:
        try:
            hook = wire.parse_hook(body)
        except wire.Malformed:
            return wire.hook_reply(VERSION, b"", wire.USAGE)
        said = tried(f"hook {named(hook.harness, hook.event)} failed", partial(self._hook, hook, pid))
        # A hook never harms a turn, whatever went wrong here; told of it, it keeps what must not be lost.
        reply = wire.hook_reply(VERSION, b"", wire.FAULT) if said is None else wire.hook_reply(VERSION, said)
        return reply if hook.deadline_ns > time.monotonic_ns() else None

    def _serve_receipt(self, body: list[bytes]) -> None:
        try:
            request = wire.parse_receipt(body)
        except wire.Malformed:
            return log.info("dropped a malformed receipt")
        # Nobody is there to be told: what it was for is owed.
        tried("a receipt failed", partial(self._receipt, request))

    def _serve_verb(self, name: str, body: list[bytes], pid: int) -> list[bytes]:
        PEER.set(pid)  # of this worker's thread, until its next request
        shape, handler = api.VERBS.get(name), self._handlers.get(name)
        try:
            if shape is None or handler is None:
                raise errors.UnknownVerb(told_back(name))
            answer = handler(_decoded(body, shape))
        except errors.MemdError as refusal:
            return refused(refusal)
        except Exception:  # the daemon lives on, and the asker is told that nothing is certain
            log.exception("verb %s failed", name)
            return wire.reply(VERSION, wire.FAULT, error_body(errors.Fault(name)))
        return wire.reply(VERSION, wire.DONE, msgspec.msgpack.encode(answer))


def _carried_refused(body: list[bytes], refusal: errors.MemdError, status: int = wire.REFUSED) -> list[bytes]:
    try:
        number = parse_carried(body).number
    except wire.Malformed:
        return wire.reply(VERSION, wire.USAGE)
    return carried_reply(VERSION, number, refusal.message.encode(), status=status)


def refused(refusal: errors.MemdError) -> list[bytes]:
    """The frames that tell a refusal."""
    return wire.reply(VERSION, STATUSES[refusal.status], error_body(refusal))


def peer_pid(frames: list[zmq.Frame]) -> int:
    """The pid of the process at the other end, 0 where the system does not say (Linux says ``uid:gid:pid``)."""
    try:
        told = frames[-1].get("Peer-Address")
    except (zmq.ZMQError, ValueError, TypeError):
        return 0
    last = str(told).rpartition(":")[2]
    return int(last) if last.isdigit() else 0


def descriptor_of(frame: zmq.Frame) -> int:
    """By which it came; -1 where libzmq does not say, as of a peer that speaks an older ZMTP."""
    try:
        return int(frame.get(zmq.SRCFD))
    except (zmq.ZMQError, ValueError, TypeError):
        return -1


def _decoded(body: list[bytes], shape: type[api.Request]) -> api.Request:
    try:
        return msgspec.msgpack.decode(body[0] if body else b"", type=shape)
    except msgspec.DecodeError as problem:
        raise errors.BadRequest(told_back(str(problem), limits.LINE_MAX_CHARS)) from problem
    except RecursionError:
        raise errors.BadRequest("nested without an end") from None


def error_body(refusal: errors.MemdError) -> bytes:
    return msgspec.msgpack.encode(api.ErrorOut(code=refusal.code, message=refusal.message))


def _other_protocol() -> errors.MemdError:
    return errors.BadRequest(f"this daemon speaks {wire.PROTOCOL.decode()}")
