"""Calls of memd's own tools, told of by the client's hook just before, joined to what then comes over MCP (trust-boundary.md).

An MCP request does not say which agent of which session makes it. The hook before it does (session, agent, turn, tool, input, the
client's own id of the call), and what says that both speak of one call is not for a model to write: hook and carrier stand under
the same client process, which is asked of the system, and the session lives in that process.

**Joined** is a request whose client told such a call: with an id by that id, and the input's digest must agree; without one by
tool and input, and then only where all that fits is of one agent in one turn. A call joins once. What does not join is of nobody's
session, which is no fault: it is recorded, it is only not credited to anybody.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from memd_daemon import limits
from memd_daemon.model.delivery import Context
from memd_daemon.model.words import Actor, Surface
from memd_daemon.service.asker import Asker
from memd_daemon.service.clients import Process, nearest
from memd_hooks.events import HookEvent

UNJOINED: Final = Asker(actor=Actor.AGENT, surface=Surface.MCP)
"""Who asks over MCP where nothing says whose call it is."""


class _Told(msgspec.Struct, frozen=True, kw_only=True):
    """One call that is about to come. ``client``: pid and start of the client's process."""

    client: tuple[int, int]
    tool: str
    id: str
    digest: bytes
    asker: Asker
    until_ns: int


class Calls:
    """The calls that were told and have not come yet. Safe to use from any thread.

    ``clock_ns`` is monotonic, ``client_of`` gives the client process above a pid.
    """

    def __init__(
        self,
        clock_ns: Callable[[], int] = time.monotonic_ns,
        client_of: Callable[[int], Process | None] = nearest,
    ) -> None:
        self._clock_ns = clock_ns
        self._client_of = client_of
        self._lock = threading.Lock()
        self._told: list[_Told] = []  # the oldest first

    def register(self, session: Context | None, context: Context, event: HookEvent, pid: int) -> bool:
        """Takes in what a hook told, whose process is ``pid``; False where it is not to be believed, and then nothing is kept.

        ``session`` is the context of the session's main agent, ``context`` the one that calls. A session lives in one client: a
        hook from under any other speaks for somebody else.
        """
        client = self._client_of(pid)
        if client is None or session is None or (session.client_pid, session.client_started) != _key(client):
            return False
        told = _Told(
            client=_key(client),
            tool=event.tool,
            id=event.tool_use_id,
            digest=_digest(event.tool_input),
            asker=_asker(context),
            until_ns=self._clock_ns() + limits.CALL_AWAITED_MS * limits.NS_PER_MS,
        )
        with self._lock:
            self._forget()
            self._told = [one for one in self._told if not _is_again(one, told)][-limits.CALLS_AWAITED_MAX + 1 :]
            self._told.append(told)
        return True

    def join(self, pid: int, tool: str, arguments: bytes, tool_use_id: str) -> Asker:
        """Who makes this call; `UNJOINED` where that is not known beyond doubt.

        ``pid`` is the carrier's process, ``tool`` memd's own name of the tool, ``arguments`` the request's as `canonical` gives
        them, ``tool_use_id`` what the client says in ``_meta`` ("" for nothing).
        """
        client, digest = self._client_of(pid), _digest(arguments)
        if client is None:
            return UNJOINED
        with self._lock:
            self._forget()
            fits = [
                one
                for one in self._told
                if (one.client, one.tool, one.digest) == (_key(client), tool, digest)
                and (not tool_use_id or one.id == tool_use_id)
            ]
            if not fits or any(one.asker != fits[0].asker for one in fits):
                return UNJOINED
            self._told.remove(fits[0])
        return fits[0].asker

    def _forget(self) -> None:
        now = self._clock_ns()
        self._told = [one for one in self._told if one.until_ns > now]


def canonical(arguments: Mapping[str, Any]) -> bytes:
    """The arguments of a request as a hook's input is kept: keys sorted, no spaces. Raises MsgspecError, OverflowError."""
    return msgspec.json.encode(arguments, order="deterministic")


def _asker(context: Context) -> Asker:
    return Asker(
        actor=Actor.AGENT,
        surface=Surface.MCP,
        session=context.session,
        agent=context.agent,
        turn=context.turn,
        epoch=context.epoch,
        harness=context.harness,
    )


def _key(client: Process) -> tuple[int, int]:
    return client.pid, client.started


def _digest(given: bytes) -> bytes:
    return hashlib.sha256(given).digest()


def _is_again(known: _Told, told: _Told) -> bool:
    """Whether the same hook came twice, as where a client's settings name it at two levels."""
    return bool(told.id) and msgspec.structs.replace(known, until_ns=told.until_ns) == told
