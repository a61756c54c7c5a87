"""`memd mcp`: carries an MCP client's messages to the daemon, and the daemon's back. Bytes in, bytes out.

    client ── a JSON-RPC message a line ──► carrier ── verb `mcp` (wire.py) ──► daemon
    client ◄── a message a line ─────────── carrier ◄── any order ───────────── daemon

**One loop over poll**, no thread: stdin, stdout, the daemon's socket and the parent are looked at together, so neither a slow
tool nor a client that reads slowly holds up what else can move. Messages go on as they come, many in flight at once.

**A client never hangs.** What the daemon can't be asked is answered here with a JSON-RPC error, the one place where a message
is looked into (`json` is imported for it then): no daemon within START_WAIT_S, none because a person stopped it, one that went
away before it answered (then the act may have been done, and is not sent twice) or is silent for ANSWER_WAIT_S, and a message
over the wire's bound, of which only the two ends are kept.

**The daemon** is started where there is none; after a deliberate stop only by a carrier's first message, which is a session
that begins. One that was restarted meanwhile is found again at the next message. An older one is replaced, once.

**The end.** stdin's end: what is still asked has LEAVE_WAIT_S. SIGTERM, SIGHUP, SIGINT: at once, by the system. The parent's end
(a pidfd, or getppid from time to time): at once, since a sibling of a killed client may hold the pipe open.

Stdlib only, and little of it: twenty of these run beside twenty sessions, each in 10 MB.
"""

import _signal  # type: ignore[import-not-found]  # pyright: ignore[reportMissingImports] -- no stub has it
import posix
import select
import sys
import time

from memd_client import __version__, address, link, spawn, wire
from memd_client.carried import Carried, carried_request, parse_carried_reply

STDIN, STDOUT = 0, 1
READ_BYTES = 65_536  # what a pipe holds
WRITE_BYTES = 4_096  # PIPE_BUF: where poll says that a pipe takes something, so much never blocks
EDGE_BYTES = 4_096  # kept of either end of a message that is too long: its id stands at one of them
HELD_MAX_BYTES = 4 * 1024 * 1024  # messages and answers held here; then stdin waits
START_WAIT_S = 10.0  # a daemon answers within 0.3 s; a machine under load is given thirty times that
START_SLICE_S = 0.2  # of waiting for one at a time, so that the parent's end is seen in between
ANSWER_WAIT_S = 120.0  # the slowest tool waits 20 s for an index that is loading
OPEN_WAIT_S = 2.0  # a connection, a ping, a stop: what takes longer does not answer
LEAVE_WAIT_S = 5.0  # after stdin's end, for what is still asked
PARENT_WAIT_S = 1.0  # between two looks at the parent, where the system has no pidfd
NS_PER_S = 1_000_000_000

INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR = -32603, -32600, -32700  # JSON-RPC's own codes

STOP_UNANNOUNCED = b"\x81\xa9announced\xc2"  # msgpack for {"announced": false}: no deliberate stop

# What a client is told where the daemon cannot say it.
STOPPED = "memd was stopped on purpose: `memd start`, or the next session, starts it again."
NOT_STARTED = "memd could not be started in time: `memd doctor` looks for the cause, `memd logs` shows what it said."
MISMATCH = "The memd that runs speaks another protocol: `memd restart` replaces it."
NOT_OURS = "The home of memd belongs to another user: set MEMD_HOME to a folder of your own."
UNWRITABLE = "The home of memd cannot be written: check its owner and mode, or set MEMD_HOME."
GONE = (
    "memd went away before it answered; what was asked may have been done all the same: look with recall or show first."
)
SILENT = "memd did not answer in time; what was asked may have been done all the same: look with recall or show first."
TOO_LONG = f"This message is too long: memd takes {wire.MCP_MESSAGE_MAX_BYTES} bytes at most."
NO_HOME = "memd: neither MEMD_HOME (an absolute path) nor HOME is set; set one of them.\n"


class TooLong:
    """What is kept of a message over the bound: its two ends."""

    __slots__ = ("head", "tail")

    def __init__(self, head: bytes, tail: bytes) -> None:
        self.head = head
        self.tail = tail


class Lines:
    """A client's bytes in, its messages out, whatever the chunks. Blank lines are none."""

    __slots__ = ("_buffer", "_head")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._head: bytes | None = None  # of a message that broke the bound and has not ended yet

    def feed(self, chunk: bytes) -> list[bytes | TooLong]:
        """The messages that end in ``chunk``."""
        ended: list[bytes | TooLong] = []
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            ended += self._end(line)
        self._keep(rest)
        return ended

    def end(self) -> list[bytes | TooLong]:
        """What stood behind the last line's end."""
        return self._end(b"")

    def _end(self, line: bytes) -> list[bytes | TooLong]:
        self._keep(line)
        head, message = self._head, bytes(self._buffer)
        self._buffer.clear()
        self._head = None
        if head is not None:
            return [TooLong(head, message)]
        message = message.strip()
        return [message] if message else []

    def _keep(self, part: bytes) -> None:
        self._buffer += part
        if self._head is None and len(self._buffer) > wire.MCP_MESSAGE_MAX_BYTES:
            self._head = bytes(self._buffer[:EDGE_BYTES])
        if self._head is not None:
            del self._buffer[:-EDGE_BYTES]


class Parent:
    """The process that started this one. `descriptor` becomes readable when it ends; -1 where the system has no such thing."""

    __slots__ = ("_pid", "descriptor")

    def __init__(self) -> None:
        self._pid = posix.getppid()
        try:
            self.descriptor = posix.pidfd_open(self._pid)
        except (AttributeError, OSError):  # another system, an old kernel, a sandbox, a parent that is gone
            self.descriptor = -1

    @property
    def is_gone(self) -> bool:
        """Whether somebody else is the parent now."""
        return posix.getppid() != self._pid


class Unreached(Exception):
    """There is no daemon to ask, and waiting does not change it; the message is for the client."""


class Daemon:
    """A way to the daemon of a home: found, started, or put in the place of an older one."""

    __slots__ = ("_has_begun", "_has_replaced", "_home", "link")

    def __init__(self, home: bytes) -> None:
        self._home = home
        self._has_begun = False
        self._has_replaced = False
        self.link: link.Link | None = None

    def reach(self) -> bool:
        """One attempt of about START_SLICE_S; whether there is a link. Raises Unreached."""
        if self._has_begun and address.read(self._home) is None and self._is_stopped():
            raise Unreached(STOPPED)
        try:
            if posix.stat(self._home).st_uid != posix.geteuid():
                raise Unreached(NOT_OURS)
        except FileNotFoundError:
            pass  # it is made now
        except OSError:  # what stands above it is no folder, or closed to this user
            raise Unreached(UNWRITABLE) from None
        try:
            found = spawn.ensure_daemon(self._home, START_SLICE_S)
        except spawn.StartFailed:
            return False
        except spawn.DaemonMismatch:
            raise Unreached(MISMATCH) from None
        except OSError:
            raise Unreached(UNWRITABLE) from None
        return self._open(found)

    def lose(self) -> None:
        """Closes the link; the next attempt makes another."""
        if self.link is not None:
            self.link.close()
            self.link = None

    def _open(self, found: address.Address) -> bool:
        opened = link.open(found, _after(OPEN_WAIT_S))
        if not isinstance(opened, link.Link):
            return False
        pong = opened.ask(wire.request(wire.PING, wire.EMPTY_BODY), _after(OPEN_WAIT_S))
        if isinstance(pong, link.Reply) and _is_older(pong.version) and not self._has_replaced:
            self._has_replaced = True
            opened.ask(wire.request(wire.STOP, STOP_UNANNOUNCED), _after(OPEN_WAIT_S))
        elif isinstance(pong, link.Reply):
            self._has_begun = True
            self.link = opened
            return True
        opened.close()
        return False

    def _is_stopped(self) -> bool:
        try:
            posix.stat(self._home + b"/run/stopped")
        except OSError:
            return False
        return True


class Carrier:
    """One client's messages and answers on their way. `run` returns when the client is gone or has said all."""

    def __init__(self, home: bytes) -> None:
        self._daemon = Daemon(home)
        self._session = posix.urandom(wire.REQUEST_ID_BYTES)
        self._environment = wire.environment_lines(posix.environ)
        self._lines = Lines()
        self._parent = Parent()
        self._number = 0
        self._unsent: dict[int, bytes] = {}
        self._asked: dict[int, tuple[bytes, int]] = {}  # the message, and until when (ns) an answer is waited for
        self._out = bytearray()
        self._is_left = False  # the daemon takes nothing more, and may still answer what it took
        self._reach_by_ns = 0  # while a daemon is looked for: until when
        self._leave_by_ns = 0  # after stdin's end: until when answers are waited for

    def run(self) -> None:
        """Carries until the client has ended and has what it asked for, or is gone."""
        while not self._is_done():
            if self._may_pass_on:
                self._pass_on()
            if not self._look():
                return
        self._say_goodbye()

    def _is_done(self) -> bool:
        is_at_rest = not (self._unsent or self._asked or self._out)
        return bool(self._leave_by_ns) and (is_at_rest or time.monotonic_ns() >= self._leave_by_ns)

    # --- what there is to do

    def _look(self) -> bool:
        """Waits until something can move, and moves it; False where there is nobody left to carry for."""
        poll = select.poll()
        poll.register(STDOUT, select.POLLOUT if self._out else 0)
        if not self._leave_by_ns and self._held() < HELD_MAX_BYTES:
            poll.register(STDIN, select.POLLIN)
        if self._daemon.link is not None:
            poll.register(self._daemon.link.fileno(), select.POLLIN)
        if self._parent.descriptor >= 0:
            poll.register(self._parent.descriptor, select.POLLIN)
        ready = dict(poll.poll(self._wait_ms()))
        if self._parent.descriptor in ready or self._parent.is_gone:
            return False
        if self._daemon.link is not None and self._daemon.link.fileno() in ready:
            self._hear()
        if STDIN in ready:
            self._read()
        self._give_up_late()
        return STDOUT not in ready or self._write(ready[STDOUT])

    def _held(self) -> int:
        held = sum(map(len, self._unsent.values())) + sum(len(message) for message, _ in self._asked.values())
        return held + len(self._out)

    def _wait_ms(self) -> int | None:
        if self._may_pass_on:
            return 0  # looking for a daemon is what takes its time
        ends = [until for _, until in self._asked.values()] + [self._leave_by_ns] * bool(self._leave_by_ns)
        if self._parent.descriptor < 0:
            ends.append(_after(PARENT_WAIT_S))
        return max(0, (min(ends) - time.monotonic_ns()) // 1_000_000 + 1) if ends else None

    def _read(self) -> None:
        try:
            chunk = posix.read(STDIN, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        for message in self._lines.feed(chunk) if chunk else self._lines.end():
            if isinstance(message, TooLong):
                self._say(_error(_id_at_an_end(message), INVALID_REQUEST, TOO_LONG))
            else:
                self._number += 1
                self._unsent[self._number] = message
        if not chunk:
            self._leave_by_ns = _after(LEAVE_WAIT_S)

    def _write(self, events: int) -> bool:
        """Writes what never blocks; False where nobody reads any more."""
        if not events & select.POLLOUT:
            return False
        try:
            del self._out[: posix.write(STDOUT, self._out[:WRITE_BYTES])]
        except BlockingIOError:
            return True
        except OSError:
            return False
        return True

    # --- to the daemon

    @property
    def _may_pass_on(self) -> bool:
        """Whether something is to be sent, and no daemon that leaves has still to answer: its link tells what it took."""
        return bool(self._unsent) and not (self._is_left and self._asked)

    def _pass_on(self) -> None:
        """Sends what has come, if there is anybody to send it to."""
        if self._is_left:
            self._lose(GONE)
        if self._daemon.link is None and not self._reach():
            return
        for number, message in sorted(self._unsent.items()):
            if not self._tell(number, message):
                self._lose(GONE)  # it was not sent whole, so nobody took it: it goes to the next daemon
                return
            del self._unsent[number]
            self._asked[number] = message, _after(ANSWER_WAIT_S)

    def _reach(self) -> bool:
        self._reach_by_ns = self._reach_by_ns or _after(START_WAIT_S)
        try:
            if not self._daemon.reach() and time.monotonic_ns() >= self._reach_by_ns:
                raise Unreached(NOT_STARTED)
        except Unreached as why:
            for message in self._unsent.values():
                self._refuse(message, str(why))
            self._unsent.clear()
        if self._daemon.link is not None or not self._unsent:
            self._reach_by_ns = 0
        return self._daemon.link is not None

    def _tell(self, number: int, message: bytes) -> bool:
        try:
            here = posix.getcwdb()
        except OSError:  # the directory is gone
            here = b""
        carried = Carried(self._session, number, here, self._environment, message)
        opened = self._daemon.link
        return opened is not None and opened.tell(carried_request(carried), _after(OPEN_WAIT_S))

    def _say_goodbye(self) -> None:
        if self._daemon.link is not None:
            self._tell(self._number + 1, b"")
            self._daemon.lose()

    # --- from the daemon

    def _hear(self) -> None:
        opened = self._daemon.link
        heard = opened.heard(_after(OPEN_WAIT_S)) if opened is not None else []
        if not isinstance(heard, list):
            return self._lose(MISMATCH if isinstance(heard, link.Mismatch) else GONE)
        for reply in heard:
            try:
                number, said = parse_carried_reply(reply)
            except wire.Malformed:
                return self._lose(GONE)
            self._answered(reply.status, number, said)

    def _answered(self, status: int, number: int, said: list[bytes]) -> None:
        message, _ = self._asked.pop(number, (None, 0))
        if message is None:  # given up
            return
        if status == wire.DONE:
            for one in said:
                self._say(one)
        elif status == wire.STOPPING:
            self._unsent[number] = message
            self._is_left = True
        else:
            self._refuse(message, b" ".join(said).decode("utf-8", "replace"))

    def _lose(self, why: str) -> None:
        self._daemon.lose()
        self._is_left = False
        for message, _ in self._asked.values():
            self._refuse(message, why)
        self._asked.clear()

    def _give_up_late(self) -> None:
        now = time.monotonic_ns()
        for number in [number for number, (_, until) in self._asked.items() if until <= now]:
            self._refuse(self._asked.pop(number)[0], SILENT)

    # --- to the client

    def _say(self, message: bytes) -> None:
        self._out += message + b"\n"

    def _refuse(self, message: bytes, why: str) -> None:
        """Answers a request in the daemon's place; what asks for no answer gets none."""
        from json import loads

        try:
            told = loads(message)
        except (ValueError, RecursionError):
            return self._say(_error(None, PARSE_ERROR, why))
        if not isinstance(told, dict):
            self._say(_error(None, INVALID_REQUEST, why))
        elif "id" in told and "method" in told:
            self._say(_error(told["id"], INTERNAL_ERROR, why))


def _error(id_: object, code: int, why: str) -> bytes:
    """An answer; it names an id of the two kinds that MCP has, since NaN in it would be no JSON."""
    from json import dumps

    named = id_ if isinstance(id_, str | int) and not isinstance(id_, bool) else None
    return dumps({"jsonrpc": "2.0", "id": named, "error": {"code": code, "message": why}}).encode()


def _id_at_an_end(message: TooLong) -> object:
    """The id of a message of which only the ends are there; None where it stands at neither, among the plain members."""
    import re
    from json import loads

    id_ = rb'"id"\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*")'
    plain = rb'(?:"(?:[^"\\]|\\.)*"\s*:\s*(?:"(?:[^"\\]|\\.)*"|[-\w.]+)\s*,\s*)*?'
    at_head = re.match(rb"\s*\{\s*" + plain + id_ + rb"\s*[,}]", message.head)
    at_tail = re.search(id_ + rb'\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$', message.tail)
    found = at_head or at_tail
    try:
        return loads(found.group(1)) if found else None
    except ValueError:
        return None


def _after(wait_s: float) -> int:
    return time.monotonic_ns() + int(wait_s * NS_PER_S)


def _is_older(version: bytes) -> bool:
    return spawn.version_order(version) < spawn.version_order(__version__.encode())


def main() -> int:
    """Carries until the client is done; the exit code."""
    for number in (_signal.SIGTERM, _signal.SIGHUP, _signal.SIGINT):
        _signal.signal(number, _signal.SIG_DFL)  # also where the client started it with one of them ignored
    home = address.home()
    if home is None:
        sys.stderr.write(NO_HOME)
        return wire.EXIT_USAGE
    Carrier(home).run()
    return wire.EXIT_DONE
