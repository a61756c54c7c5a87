"""The calls of one session under load, as its client makes them, and what each took.

A hook connects anew, asks, reads its answer and sends its receipt, as the hook script does (memd_hooks/carry.py). Verbs go over a
connection that is kept, and calls of tools over another, as `memd` as a library and `memd mcp` do it. Beside them stand two
**echoes**, pings over either kind of connection, which say what the way alone takes in that very moment.

What a call took is from just before it connects until its answer is there. A hook is waited for longer than a client would
(PATIENCE_S), so that the slow ones are measured too; those that took longer than a hook's deadline are counted as late.
"""

import os
import time
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

import msgspec

from memd_client import address, api, link, wire
from memd_client.carried import Carried, carried_request, parse_carried_reply
from memd_client.cli.bench_scratch import Scratch
from memd_client.memd import Memd, MemdError
from memd_hooks.events import Moment
from memd_hooks.harness import claude

T = TypeVar("T")

PATIENCE_S: Final = 30.0
LATE_MS: Final = float(wire.HOOK_DEADLINE_MS - wire.RESERVE_MS)
NS_PER_S: Final = 1_000_000_000
NS_PER_MS: Final = 1_000_000
ECHO: Final = "echo"
ECHO_KEPT: Final = "echo-kept"
TROUBLE_KEPT: Final = 20  # sentences about what went wrong; all of it is counted

Key = tuple[str, str]
"""(phase, what was called)."""


class Failed(Exception):
    """A call that was not answered as it should be."""


class Samples:
    """Milliseconds of the calls by phase and name, and what went wrong. Of one thread; `together` joins those of several."""

    def __init__(self) -> None:
        self.took: dict[Key, array[float]] = defaultdict(lambda: array("d"))
        self.errors: Counter[Key] = Counter()
        self.trouble: list[str] = []
        self.answered = 0  # echoes are not counted

    def failed(self, key: Key, what: str) -> None:
        self.errors[key] += 1
        if len(self.trouble) < TROUBLE_KEPT:
            self.trouble.append(f"{key[0]}, {key[1]}: {what}")

    def of(self, phase: str, name: str) -> list[float]:
        """Milliseconds, the shortest first."""
        return sorted(self.took.get((phase, name), ()))


def together(all_of_them: Iterable[Samples]) -> Samples:
    """What several threads measured."""
    joined = Samples()
    for one in all_of_them:
        for key, took in one.took.items():
            joined.took[key].extend(took)
        joined.errors.update(one.errors)
        joined.trouble += one.trouble
        joined.answered += one.answered
    return joined


def percentile(ordered: list[float], share: float) -> float | None:
    """The value below which that share of the ordered ones lie; None where there are none."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


class Calls:
    """See the module's docstring. ``phase`` says in which one it is now; one thread uses it."""

    def __init__(self, made: Scratch, phase: Callable[[], str]) -> None:
        self._made = made
        self._home = os.fsencode(made.home)
        self._phase = phase
        self._cwd = os.fsencode(made.repository)
        self._memd: Memd | None = None
        self._carrier: link.Link | None = None
        self._mcp = (b"", 0)  # session, number of its latest message
        self.session = ""
        self.samples = Samples()

    def begin(self, session: str) -> None:
        """From here on they are another session's."""
        self.close()
        self.session = session

    def close(self) -> None:
        if self._memd is not None:
            self._memd.close()
        if self._carrier is not None:
            self._carrier.close()
        self._memd = self._carrier = None

    # what is called: each gives None where it failed

    def hook(self, moment: Moment, stdin: bytes) -> bytes | None:
        """What the hook would print."""
        return self._timed(str(moment), lambda: self._hook(moment, stdin))

    def asked(self, request: api.Request, reply: type[T], name: str = "") -> T | None:
        """The reply of a verb."""
        return self._timed(name or type(request).VERB, lambda: self._kept().ask(request, reply, wait_s=PATIENCE_S))

    def tool(self, name: str, arguments: Mapping[str, object]) -> bytes | None:
        """The answer to a call of one of memd's tools."""
        call = {"name": name, "arguments": arguments}
        return self._timed(f"mcp-{name}", lambda: self._say("tools/call", call))

    def echo(self) -> None:
        """Both echoes."""
        ping = wire.request(wire.PING, wire.EMPTY_BODY)
        self._timed(ECHO, lambda: _done(link.request(self._address(), ping, _deadline())), counts=False)
        self._timed(ECHO_KEPT, lambda: self._kept().ping(), counts=False)

    def _timed(self, name: str, call: Callable[[], T], *, counts: bool = True) -> T | None:
        key = (self._phase(), name)
        began = time.perf_counter_ns()
        try:
            answer = call()
        except (Failed, MemdError, OSError) as fault:
            self.close()
            self.samples.failed(key, str(fault) or type(fault).__name__)
            return None
        self.samples.took[key].append((time.perf_counter_ns() - began) / NS_PER_MS)
        self.samples.answered += counts
        return answer

    # on the wire

    def _address(self) -> address.Address:
        found = address.read(self._home)
        if found is None:
            raise Failed("there is no daemon")
        return found

    def _environment(self) -> dict[bytes, bytes]:
        named = {name: value for name, value in self._made.environ.items() if name.startswith("CLAUDE")}
        return {k.encode(): v.encode() for k, v in (named | {"CLAUDE_CODE_SESSION_ID": self.session}).items()}

    def _hook(self, moment: Moment, stdin: bytes) -> bytes:
        deadline, environment = _deadline(), wire.environment_lines(self._environment())
        event = Moment.PRE_EDIT if moment == Moment.MEMD_CALL else moment
        harness = "git" if moment == Moment.GIT_COMMIT else claude.NAME
        call = wire.Hook(os.urandom(wire.REQUEST_ID_BYTES), deadline, 0, harness, event, self._cwd, environment, stdin)
        opened = link.open(self._address(), deadline)
        if not isinstance(opened, link.Link):
            raise Failed(type(opened).__name__)
        try:
            reply = _done(opened.ask(wire.hook_request(call), deadline))
            opened.tell(wire.request(wire.RECEIPT, call.request_id), deadline)
        finally:
            opened.close()
        if len(reply.body) < 3 or reply.body[0] != b"0" or reply.body[2]:
            raise Failed("an answer that is no hook's")
        return reply.body[1]

    def _kept(self) -> Memd:
        if self._memd is None:
            self._memd = Memd(self._made.home, cwd=self._made.repository, environ=self._environment(), starts=False)
        return self._memd

    def _say(self, method: str, params: Mapping[str, object]) -> bytes:
        """One request of an MCP client, the handshake before the first."""
        if self._carrier is None:
            opened = link.open(self._address(), _deadline())
            if not isinstance(opened, link.Link):
                raise Failed(type(opened).__name__)
            self._carrier, self._mcp = opened, (os.urandom(wire.REQUEST_ID_BYTES), 0)
            hello = {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "bench", "version": "1"},
            }
            self._message(self._carrier, {"method": "initialize", "params": hello, "id": 0})
            self._message(self._carrier, {"method": "notifications/initialized"})
        said = self._message(self._carrier, {"method": method, "params": params, "id": self._mcp[1] + 1})
        told = msgspec.json.decode(said, type=_Told)
        if told.error is not None or (told.result is not None and told.result.isError):
            raise Failed(f"{method} was refused: {said[:200].decode('utf-8', 'replace')}")
        return said

    def _message(self, carrier: link.Link, message: Mapping[str, object]) -> bytes:
        session, number = self._mcp
        self._mcp = (session, number + 1)
        said = msgspec.json.encode({"jsonrpc": "2.0", **message})
        environment = wire.environment_lines(self._environment())
        carried = Carried(session, number + 1, self._cwd, environment, said)
        _, answers = parse_carried_reply(_done(carrier.ask(carried_request(carried), _deadline())))
        return answers[0] if answers else b"{}"


class _Result(msgspec.Struct):
    isError: bool = False  # noqa: N815 -- MCP's own name


class _Told(msgspec.Struct):
    result: _Result | None = None
    error: msgspec.Raw | None = None


def _done(outcome: link.Outcome) -> link.Reply:
    """Raises Failed for anything but a reply that says it is done."""
    if not isinstance(outcome, link.Reply):
        raise Failed(type(outcome).__name__)
    if outcome.status != wire.DONE:
        raise Failed(f"status {outcome.status}")
    return outcome


def _deadline() -> int:
    return time.monotonic_ns() + int(PATIENCE_S * NS_PER_S)
