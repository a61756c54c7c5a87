"""A ZMTP 3.0 DEALER over a Unix socket, NULL mechanism, on `_socket` (an import of pyzmq costs 60 ms, of `socket` alone
17 ms).

Order on a fresh connection, both ways: greeting (64 bytes), READY command, then messages. Greeting and READY may be
sent at once, but no message before the peer's READY was read: libzmq drops a peer that pipelines one.

    greeting = FF 00*8 7F | 03 00 | "NULL" 00*16 | 00 | 00*31
    frame    = flags (bit 0 more, bit 1 long, bit 2 command) | size (1 byte, or 8 big-endian when long) | body
    READY    = command frame: 05 "READY", then properties (1-byte size, name, 4-byte size, value)

A peer's PING is answered with PONG, its ERROR ends the connection, other commands are skipped. What breaks the format
or a bound of wire.py raises Garbled at the byte that shows it, not at the deadline.

`Parser` is the protocol without I/O: bytes in, messages out, whatever the chunks. `Dealer` adds the socket; each of its
calls ends by an absolute CLOCK_MONOTONIC deadline with TimeoutError.
"""

import _socket
import sys
import time

from memd_client import wire

MORE = 1
LONG = 2
COMMAND = 4

COMMAND_MAX_BYTES = 4_096  # READY, PING and ERROR are all below 600
RECEIVE_BYTES = 65_536
NULL = b"NULL".ljust(20, b"\0")
GREETING_BYTES = 64
GREETING = b"\xff\0\0\0\0\0\0\0\0\x7f\x03\x00" + NULL + bytes(32)
READY = b"\x04\x29\x05READY\x0bSocket-Type\0\0\0\x06DEALER\x08Identity\0\0\0\0"


class Garbled(ConnectionError):
    """The peer does not speak ZMTP 3 with NULL, refused the connection, or broke a bound."""


def encode(frames: list[bytes]) -> bytes:
    """The bytes of one multipart message. `frames` is not empty."""
    parts = []
    last = len(frames) - 1
    for i, frame in enumerate(frames):
        parts.append(_header(MORE if i < last else 0, len(frame)))
        parts.append(frame)
    return b"".join(parts)


def _header(flags: int, size: int) -> bytes:
    if size < 256:
        return bytes((flags, size))
    return bytes((flags | LONG,)) + size.to_bytes(8, "big")


class Parser:
    """Bytes of a peer in, whole messages out. After Garbled it is not to be fed again.

    `ready`: the peer's READY was read. `messages`: complete ones, oldest first. `outgoing`: what must be sent back
    (PONG).
    """

    __slots__ = ("_buffer", "_frames", "_frames_bytes", "_greeted", "messages", "outgoing", "ready")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._frames: list[bytes] = []
        self._frames_bytes = 0
        self._greeted = False
        self.ready = False
        self.messages: list[list[bytes]] = []
        self.outgoing = b""

    def feed(self, chunk: bytes) -> None:
        """Take in what the peer sent next. Raises Garbled."""
        self._buffer += chunk
        if not self._greeted and not self._greet():
            return
        while self._frame():
            pass

    def _greet(self) -> bool:
        buffer = self._buffer
        # Each field is judged as soon as it is there: a peer that talks something else may never send 64 bytes.
        if (buffer and buffer[0] != 0xFF) or (len(buffer) > 9 and not buffer[9] & 1):
            raise Garbled("not a ZMTP peer")
        if len(buffer) > 10 and buffer[10] < 3:
            raise Garbled("a ZMTP peer older than 3.0")
        if len(buffer) < GREETING_BYTES:
            return False
        if buffer[12:32] != NULL:
            raise Garbled("a peer that wants another mechanism than NULL")
        del buffer[:GREETING_BYTES]
        self._greeted = True
        return True

    def _frame(self) -> bool:
        """Take one whole frame off the buffer; False when there is none."""
        buffer = self._buffer
        if not buffer:
            return False
        flags = buffer[0]
        start = 9 if flags & LONG else 2
        if flags > 7 or (flags & COMMAND and flags & MORE):
            raise Garbled("reserved flags")
        if len(buffer) < start:
            return False
        size = int.from_bytes(buffer[1:start], "big")
        self._check(flags, size)
        end = start + size
        if len(buffer) < end:
            return False
        body = bytes(buffer[start:end])
        del buffer[:end]
        if flags & COMMAND:
            self._command(body)
        else:
            self._message(flags, body)
        return True

    def _check(self, flags: int, size: int) -> None:
        if flags & COMMAND:
            if size > COMMAND_MAX_BYTES:
                raise Garbled("a command over its bound")
        elif not self.ready:
            raise Garbled("a message before READY")
        elif (
            size > wire.FRAME_MAX_BYTES
            or self._frames_bytes + size > wire.MESSAGE_MAX_BYTES
            or len(self._frames) == wire.FRAMES_MAX
        ):
            raise Garbled("a message over its bound")

    def _command(self, body: bytes) -> None:
        name = body[1 : 1 + body[0]] if body else b""
        if name == b"READY":
            self.ready = True
        elif name == b"ERROR":
            raise Garbled("the peer refused the connection")
        elif not self.ready:
            raise Garbled("a command before READY")
        elif name == b"PING":
            pong = (
                b"\x04PONG" + body[7:23]
            )  # after the name a TTL of 2 bytes, then a context of at most 16 that comes back
            self.outgoing += _header(COMMAND, len(pong)) + pong

    def _message(self, flags: int, body: bytes) -> None:
        self._frames.append(body)
        self._frames_bytes += len(body)
        if not flags & MORE:
            self.messages.append(self._frames)
            self._frames = []
            self._frames_bytes = 0


class Dealer:
    """A connected peer, past its handshake.

    Every call raises TimeoutError at its deadline (CLOCK_MONOTONIC ns), Garbled, or another OSError when the peer is
    gone.
    """

    __slots__ = ("_parser", "_socket")

    def __init__(self, path: bytes, deadline_ns: int) -> None:
        """Connect to the socket at `path` and shake hands."""
        self._parser = Parser()
        self._socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            self._connect(path, deadline_ns)
            self._socket.sendall(GREETING + READY)
            while not self._parser.ready:
                self._receive(deadline_ns)
        except (OSError, ValueError):  # ValueError: a path with a NUL in it
            self._socket.close()
            raise

    def _connect(self, path: bytes, deadline_ns: int) -> None:
        while True:
            self._allow(deadline_ns)
            try:
                return self._socket.connect(path)
            except BlockingIOError:  # a Unix socket whose backlog is full says so at once instead of waiting
                time.sleep(wire.POLL_MS / 1_000)

    def _allow(self, deadline_ns: int) -> None:
        left = deadline_ns - time.monotonic_ns()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left / 1e9)

    def _receive(self, deadline_ns: int) -> None:
        self._allow(deadline_ns)
        chunk = self._socket.recv(RECEIVE_BYTES)
        if not chunk:
            raise ConnectionResetError("the peer closed the connection")
        self._parser.feed(chunk)
        if self._parser.outgoing:
            pong, self._parser.outgoing = self._parser.outgoing, b""
            self._allow(deadline_ns)
            self._socket.sendall(pong)

    def send(self, frames: list[bytes], deadline_ns: int) -> None:
        """Send one message."""
        self._allow(deadline_ns)
        self._socket.sendall(encode(frames))

    def receive(self, deadline_ns: int) -> list[bytes]:
        """The next message's frames."""
        while not self._parser.messages:
            self._receive(deadline_ns)
        return self._parser.messages.pop(0)

    def fileno(self) -> int:
        """The descriptor, to be polled."""
        return self._socket.fileno()

    def arrived(self, deadline_ns: int) -> list[list[bytes]]:
        """The messages that are whole after one more look at the socket; where poll told of something it waits for nothing."""
        self._receive(deadline_ns)
        messages, self._parser.messages = self._parser.messages, []
        return messages

    def peer_uid(self) -> int | None:
        """The uid of the process that listens; None where the system can't tell."""
        option = getattr(_socket, "SO_PEERCRED", None)
        if option is None:
            return None
        credentials = self._socket.getsockopt(
            _socket.SOL_SOCKET, option, 12
        )  # struct ucred: pid, uid, gid, 4 bytes each
        return int.from_bytes(credentials[4:8], sys.byteorder)

    def close(self) -> None:
        """Close the connection; what was sent still arrives."""
        self._socket.close()
