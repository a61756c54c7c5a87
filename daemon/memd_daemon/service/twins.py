"""One event that a client tells of twice, as where its settings name memd's hook at two levels (delivery.md, "Once").

The client gives the model what both hooks print. So the first answer is the answer, and the second is silence: no further budget,
no new epoch, no word about what came of a hold. Two are one event by the client's own ids: of the prompt, with its words; of the
tool call, with its turn and its input, since some gateways number calls anew in each answer of the model; of the subagent. Starts
and compactions, which have none, are one by their source and client process and by coming at the same time, unless the session
ended in between: a script may resume a session as fast as the client can.

Where the daemon that gave the first answer has gone in between, the next one finds that answer in the ledger, under the event's
name. It looks there only for hooks that may be older than itself. An event at which nothing was told has left nothing to be told
twice, so nothing is written down for its sake.
"""

import hashlib
from typing import Final, NamedTuple

from memd_daemon import limits
from memd_daemon.model.delivery import Context
from memd_daemon.service.clients import Client
from memd_daemon.store.ledger_port import LedgerSnapshot
from memd_hooks.events import HookEvent, Moment

_AT_ONCE: Final = frozenset({Moment.SESSION_START, Moment.POST_COMPACTION})


class Key(NamedTuple):
    """One event. ``own``: what tells it from others of its moment."""

    harness: str
    session: str
    agent: str
    moment: Moment
    own: str


def name_of(event: HookEvent, client: Client | None) -> bytes:
    """The event as deliveries name it, 16 bytes; b"" where nothing tells it from others."""
    key = _key(event, client)
    if key is None:
        return b""
    return hashlib.blake2b(
        "\0".join(key).encode("utf-8", "surrogatepass"), digest_size=limits.EVENT_NAME_BYTES
    ).digest()


def told_before(
    ledger: LedgerSnapshot, event: HookEvent, client: Client | None, known: Context | None, now_ms: int
) -> bool:
    """Whether a daemon before this one told something at the very event, as long ago as a hook may live. ``known``: its context."""
    if event.moment in _AT_ONCE and (known is None or known.ended):
        return False
    name, life_ms = name_of(event, client), limits.HOOK_LIFE_MAX_MS
    return bool(name) and ledger.has_told(event.session, name, now_ms - life_ms, now_ms + life_ms)


class Twins:
    """The latest events, so that a second word of one is known. Under the delivery lock."""

    def __init__(self) -> None:
        self._heard: dict[Key, int] = {}

    def is_second(self, event: HookEvent, client: Client | None, now_ms: int) -> bool:
        """Whether the event was told of before; from now on it was."""
        if event.moment == Moment.SESSION_END:
            self._begin_anew(event)
        key = _key(event, client)
        if key is None:
            return False
        at = self._heard.pop(key, None)
        if len(self._heard) >= limits.EVENTS_HEARD_MAX:
            del self._heard[next(iter(self._heard))]
        self._heard[key] = now_ms
        return at is not None and (event.moment not in _AT_ONCE or abs(now_ms - at) <= limits.SAME_START_WINDOW_MS)

    def _begin_anew(self, event: HookEvent) -> None:
        for key in [key for key in self._heard if key.session == event.session and key.moment in _AT_ONCE]:
            del self._heard[key]

    def forget(self, event: HookEvent, client: Client | None) -> None:
        """Its answer did not go out, so a second word of it is to be answered."""
        key = _key(event, client)
        if key is not None:
            self._heard.pop(key, None)


def _key(event: HookEvent, client: Client | None) -> Key | None:
    """What is one event; None where nothing says so."""
    match event.moment:
        case Moment.SESSION_START | Moment.POST_COMPACTION:
            process = (client.pid, client.started) if client else None
            own = event.source and f"{event.source} {process}"
        case Moment.PROMPT_SUBMIT:
            own = event.prompt_id and event.prompt_id + _digest(event.prompt.encode("utf-8", "surrogatepass"))
        case Moment.READ | Moment.PRE_EDIT:
            own = event.tool_use_id and "\0".join((event.tool_use_id, event.prompt_id, _digest(event.tool_input)))
        case Moment.SUBAGENT_START:
            own = f"{event.agent} {event.prompt_id}"  # an agent may be taken up again in a later turn
        case _:
            own = ""
    return Key(event.harness, event.session, event.agent, event.moment, own) if own else None


def _digest(said: bytes) -> str:
    return hashlib.blake2b(said).hexdigest()
