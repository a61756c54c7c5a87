"""Peers for the wire's tests: a real ROUTER of libzmq, and sockets that do whatever a broken daemon might."""

import os
import select
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import zmq

from memd_client import address, wire, zmtp
from memd_client.address import Address

VERSION = b"0.1.0"
WAIT_S = 10  # only ever waited out by a test that fails

STUB = Path(__file__).with_name("daemon_stub.py")

Answer = Callable[[list[bytes]], list[bytes] | None]


@contextmanager
def short_directory() -> Iterator[Path]:
    """A directory whose path leaves room for a socket's name (sun_path holds 108 bytes)."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="memd-") as directory:
        yield Path(directory)


def soon_ns(seconds: float = WAIT_S) -> int:
    """A deadline that a passing test never reaches."""
    return time.monotonic_ns() + int(seconds * 1e9)


def announce(home: Path, socket_path: Path, pid: int | None = None, start_time: int | None = None) -> Address:
    """Write run/address as a daemon would, by default for this very process."""
    pid = os.getpid() if pid is None else pid
    start_time = (address.process_start(pid) or 0) if start_time is None else start_time
    written = Address(wire.PROTOCOL, pid, start_time, os.fsencode(socket_path))
    (home / "run").mkdir(exist_ok=True)
    Path(os.fsdecode(address.path(os.fsencode(home)))).write_bytes(address.encode(written))
    return written


def answer_hook(stdout: bytes) -> Answer:
    """A daemon that gives every hook the same answer and every ping its own."""

    def answer(frames: list[bytes]) -> list[bytes] | None:
        _, verb, _ = wire.parse_request(frames)
        if verb == wire.RECEIPT:
            return None
        return (
            wire.hook_reply(VERSION, stdout) if verb == wire.HOOK else wire.reply(VERSION, wire.DONE, wire.EMPTY_BODY)
        )

    return answer


class Router:
    """A ROUTER of libzmq on a thread. `received` holds the messages, identity taken off, in order."""

    def __init__(self, path: Path, answer: Answer) -> None:
        self.path = path
        self.received: list[list[bytes]] = []
        self._answer = answer
        self._changed = threading.Condition()
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.linger = 0
        self._socket.bind(f"ipc://{path}")
        self._end = self._context.socket(zmq.PAIR)
        self._end.bind("inproc://end")
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        poller = zmq.Poller()
        poller.register(self._socket, zmq.POLLIN)
        poller.register(self._end, zmq.POLLIN)
        while self._end not in (ready := dict(poller.poll())):
            assert self._socket in ready
            identity, *frames = self._socket.recv_multipart()
            answer = self._answer(frames)
            if answer is not None:
                self._socket.send_multipart([identity, *answer])
            with self._changed:
                self.received.append(frames)
                self._changed.notify_all()

    def wait_for(self, count: int) -> list[list[bytes]]:
        """The messages, once there are `count`."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.received) >= count, WAIT_S), self.received
            return list(self.received)

    def close(self) -> None:
        """End the thread and unbind."""
        with self._context.socket(zmq.PAIR) as end:
            end.connect("inproc://end")
            end.send(b"")
            self._thread.join(WAIT_S)
        self._socket.close()
        self._end.close()
        self._context.term()


@contextmanager
def router(path: Path, answer: Answer) -> Iterator[Router]:
    """A ROUTER at `path` for as long as the block lasts."""
    peer = Router(path, answer)
    try:
        yield peer
    finally:
        peer.close()


@contextmanager
def listener(path: Path, behave: Callable[[socket.socket], object] | None) -> Iterator[None]:
    """A plain socket at `path`: `behave` is called with each connection, which is closed when it returns.

    None accepts nothing and answers nothing, as a wedged daemon does: the system completes the connection all the same.
    """
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen(16)
        thread = threading.Thread(target=_accept, args=(listening, behave)) if behave else None
        if thread:
            thread.start()
        try:
            yield
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            if thread:
                thread.join(WAIT_S)


def _accept(listening: socket.socket, behave: Callable[[socket.socket], object]) -> None:
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:  # shut down: the test is over
            return
        with connection:
            connection.settimeout(WAIT_S)
            try:
                behave(connection)
            except OSError:  # the hook went away, as it may
                continue


def until_gone(connection: socket.socket) -> None:
    """Read what comes and say nothing, until the other side closes."""
    while connection.recv(65_536):
        pass


def garbage(connection: socket.socket) -> None:
    """What an HTTP server would say."""
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    until_gone(connection)


def closes_at_once(connection: socket.socket) -> None:
    """Not even a greeting."""
    connection.recv(1)


def handshake(connection: socket.socket) -> None:
    """Shake hands as a ROUTER does."""
    connection.sendall(zmtp.GREETING + zmtp.READY.replace(b"DEALER", b"ROUTER"))


def closes_mid_message(connection: socket.socket) -> None:
    """The first half of a good answer, then nothing more."""
    handshake(connection)
    connection.recv(65_536)
    answer = zmtp.encode(wire.hook_reply(VERSION, b"never to be seen"))
    connection.sendall(answer[: len(answer) // 2])


def closes_before_answer(connection: socket.socket) -> None:
    """A daemon that dies with the request in its hands."""
    handshake(connection)
    request = b""
    while b"hook" not in request:
        request += connection.recv(65_536)


def refuses(connection: socket.socket) -> None:
    """A ZMTP ERROR in place of READY."""
    connection.sendall(zmtp.GREETING + b"\x04\x0c\x05ERROR\x05nope!")
    until_gone(connection)


def dribbles(connection: socket.socket) -> None:
    """A good answer, one byte at a time, with a PING and an unknown command in front."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    commands = b"\x04\x0b\x04PING\x00\x0actx!" + b"\x04\x05\x04WHAT"
    answer = zmtp.encode(wire.hook_reply(VERSION, b"byte by byte"))
    greeting = zmtp.GREETING + zmtp.READY.replace(b"DEALER", b"ROUTER")
    for byte in greeting + commands + answer:
        connection.sendall(bytes((byte,)))
    until_gone(connection)


@contextmanager
def startable_home() -> Iterator[Path]:
    """A home whose launcher starts daemon_stub.py; what was started is ended with the block."""
    with short_directory() as home:
        (home / "bin").mkdir()
        launcher = home / "bin" / "memd-daemon"
        launcher.write_text(f"#!/bin/sh\nexec '{sys.executable}' -I '{STUB}'\n", encoding="utf-8")
        launcher.chmod(0o700)
        os.mkfifo(home / "ready")
        try:
            yield home
        finally:
            for pid in starts(home):
                end(pid)


def starts(home: Path) -> list[int]:
    """The pids of the stubs that were started for `home`, dead or alive."""
    file = home / "starts"
    return [int(line) for line in file.read_text(encoding="ascii").split()] if file.exists() else []


def wait_until_ready(home: Path) -> int:
    """The pid of a stub that has bound its socket since; call it once for each start."""
    return int(read_fifo(home / "ready"))


def read_fifo(fifo: Path) -> bytes:
    """What one writer writes into `fifo`."""
    descriptor = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert select.select([descriptor], [], [], WAIT_S)[0], "nobody wrote into the FIFO"
        os.set_blocking(descriptor, True)
        with os.fdopen(os.dup(descriptor), "rb") as file:
            return file.read()
    finally:
        os.close(descriptor)


def end(pid: int) -> None:
    """Kill a stub and wait until it is gone."""
    wait_until_gone(pid, signal.SIGKILL)


def wait_until_gone(pid: int, number: int = 0) -> None:
    """Wait for the end of a process, with a signal first."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        signal.pidfd_send_signal(process, number)
        assert select.select([process], [], [], WAIT_S)[0], f"process {pid} does not end"
    finally:
        os.close(process)
