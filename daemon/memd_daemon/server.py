"""The daemon's door: one ROUTER socket, the table of verbs, and who the peer is. The only import of zmq.

The protocol is memd_client.wire's. The loop only receives, hands over and sends; each request runs on a worker thread, so that a
write that waits for the disk, or a model run, holds nobody else up. `ping`, `status` and `stop` have a thread of their own and
never queue behind work. A peer that does not read its answers loses them (a ROUTER drops what it cannot queue); it stalls nobody.
"""

import asyncio
import contextvars
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import msgspec
import zmq
import zmq.asyncio

from memd_client import __version__, api, wire
from memd_daemon import errors, limits
from memd_daemon.service.clients import PEER

log: Final = logging.getLogger("memd.server")

VERSION: Final = __version__.encode()

Handler = Callable[[Any], msgspec.Struct]
HookHandler = Callable[[wire.Hook, int], bytes]
ReceiptHandler = Callable[[bytes], None]

AT_ONCE: Final = frozenset({"ping", "status", "stop", "fired"})
"""Verbs that never queue behind work."""

STATUSES: Final = {"refused": wire.REFUSED, "usage": wire.USAGE, "unreachable": wire.STOPPING}


class Server:
    """Serves until `close`. ``handlers`` maps verbs to functions that run on worker threads."""

    def __init__(self, handlers: dict[str, Handler], hook: HookHandler, receipt: ReceiptHandler) -> None:
        self._handlers = handlers
        self._hook = hook
        self._receipt = receipt
        self._workers = ThreadPoolExecutor(limits.WORKER_THREADS, thread_name_prefix="memd-work")
        self._at_once = ThreadPoolExecutor(1, thread_name_prefix="memd-status")
        self._tasks: set[asyncio.Task[None]] = set()
        self._context = zmq.asyncio.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.LINGER, limits.SOCKET_LINGER_MS)
        self._socket.setsockopt(zmq.MAXMSGSIZE, wire.FRAME_MAX_BYTES)
        self._socket.setsockopt(zmq.HANDSHAKE_IVL, limits.HANDSHAKE_MAX_MS)
        self.served_at = time.monotonic()

    def bind(self, path: str) -> None:
        self._socket.bind(f"ipc://{path}")

    async def serve(self, stopped: asyncio.Event) -> None:
        """Receives until ``stopped`` is set, then finishes what is in flight. Sets it where it can receive no more."""
        receiving = asyncio.ensure_future(self._receive_all())
        receiving.add_done_callback(lambda _: stopped.set())
        await stopped.wait()
        receiving.cancel()
        (ended,) = await asyncio.gather(receiving, return_exceptions=True)
        if not isinstance(ended, asyncio.CancelledError):
            log.error("receiving has ended: %s", type(ended).__name__)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=limits.STOP_GRACE_S)

    def close(self) -> None:
        self._workers.shutdown(wait=False, cancel_futures=True)
        self._at_once.shutdown(wait=False, cancel_futures=True)
        self._socket.close()
        self._context.term()

    async def _receive_all(self) -> None:
        while True:
            frames = await self._socket.recv_multipart(copy=False)
            self.served_at = time.monotonic()
            task = asyncio.create_task(self._serve(frames))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _serve(self, frames: list[zmq.Frame]) -> None:
        identity, pid = frames[0].bytes, peer_pid(frames)
        try:
            protocol, verb, body = wire.parse_request([f.bytes for f in frames[1:]])
        except wire.Malformed:
            log.info("dropped a malformed request")
            return
        if protocol != wire.PROTOCOL:
            return await self._answer(identity, wire.reply(VERSION, wire.USAGE, error_body(_other_protocol())))
        if verb == wire.HOOK:
            return await self._serve_hook(identity, body, pid)
        if verb == wire.RECEIPT:
            return await self._serve_receipt(body)
        PEER.set(pid)
        await self._answer(identity, await self._serve_verb(verb, body))

    async def _serve_hook(self, identity: bytes, body: list[bytes], pid: int) -> None:
        try:
            hook = wire.parse_hook(body)
        except wire.Malformed:
            return await self._answer(identity, wire.hook_reply(VERSION, b"", wire.USAGE))
        try:
            reply = wire.hook_reply(VERSION, await self._in(self._workers, self._hook, hook, pid))
        except Exception:
            # a hook never harms a turn, whatever went wrong here; told of it, it keeps what must not be lost
            log.exception("hook %s of %s failed", hook.event, hook.harness)
            reply = wire.hook_reply(VERSION, b"", wire.FAULT)
        if hook.deadline_ns > time.monotonic_ns():
            await self._answer(identity, reply)

    async def _serve_receipt(self, body: list[bytes]) -> None:
        try:
            await self._in(self._workers, self._receipt, wire.parse_receipt(body))
        except wire.Malformed:
            log.info("dropped a malformed receipt")
        except Exception:  # nobody is there to be told, and what is not receipted is owed
            log.exception("a receipt failed")

    async def _serve_verb(self, verb: bytes, body: list[bytes]) -> list[bytes]:
        name = verb.decode("ascii")
        shape, handler = api.VERBS.get(name), self._handlers.get(name)
        try:
            if shape is None or handler is None:
                raise errors.UnknownVerb(name)
            request = _decoded(body, shape)
            pool = self._at_once if name in AT_ONCE else self._workers
            answer = await self._in(pool, contextvars.copy_context().run, handler, request)
        except errors.MemdError as refusal:
            return wire.reply(VERSION, STATUSES[refusal.status], error_body(refusal))
        except Exception:  # the daemon lives on, and the asker is told that nothing is certain
            log.exception("verb %s failed", name)
            return wire.reply(VERSION, wire.FAULT, error_body(errors.Fault(name)))
        return wire.reply(VERSION, wire.DONE, msgspec.msgpack.encode(answer))

    async def _in(self, pool: ThreadPoolExecutor, function: Callable[..., Any], *words: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(pool, function, *words)

    async def _answer(self, identity: bytes, frames: list[bytes]) -> None:
        try:
            await self._socket.send_multipart([identity, *frames], flags=zmq.DONTWAIT)
        except zmq.ZMQError as gone:
            log.info("an answer could not be sent: %s", gone)


def peer_pid(frames: list[zmq.Frame]) -> int:
    """The pid of the process at the other end, 0 where the system does not say (Linux says ``uid:gid:pid``)."""
    try:
        told = frames[-1].get("Peer-Address")
    except (zmq.ZMQError, ValueError, TypeError):
        return 0
    last = str(told).rpartition(":")[2]
    return int(last) if last.isdigit() else 0


def _decoded(body: list[bytes], shape: type[api.Request]) -> api.Request:
    try:
        return msgspec.msgpack.decode(body[0] if body else b"", type=shape)
    except msgspec.DecodeError as problem:
        raise errors.BadRequest(str(problem)[: limits.LINE_MAX_CHARS]) from problem


def error_body(refusal: errors.MemdError) -> bytes:
    return msgspec.msgpack.encode(api.ErrorOut(code=refusal.code, message=refusal.message))


def _other_protocol() -> errors.MemdError:
    return errors.BadRequest(f"this daemon speaks {wire.PROTOCOL.decode()}")
