"""The port's `Ledger` over ordered tables: what stands in a context is read from rows that each offer and receipt keep up.

An offer whose receipt never came stands as well, since its text may be in the context; `standing` takes ``open_since`` from a
caller that knows how long a request can stay open, and counts older offers as lost.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Final, Protocol, TypeVar

import msgspec

from memd_daemon.limits import LEDGER_PAGE_ROWS
from memd_daemon.model.delivery import Context, DeliveredNote, Delivery, DeliveryState
from memd_daemon.store import keys
from memd_daemon.store.kv import Reading, Writing

T = TypeVar("T")

_encoder: Final = msgspec.msgpack.Encoder()
_contexts: Final = msgspec.msgpack.Decoder(Context)
_deliveries: Final = msgspec.msgpack.Decoder(Delivery)


class Standing(msgspec.Struct, frozen=True, array_like=True):
    """What of one note is in one context: the newest rendering delivered, and the newest offered since."""

    delivered: bytes = b""
    offered: bytes = b""
    offered_at: int = 0


_standing: Final = msgspec.msgpack.Decoder(Standing)


class Keeper(Protocol):
    """An environment of tables."""

    def reading(self) -> contextlib.AbstractContextManager[Reading]: ...
    def writing(self, work: Callable[[Writing], T]) -> T: ...


class TableLedgerSnapshot:
    """`memd_daemon.store.port.LedgerSnapshot` over one read of the tables."""

    def __init__(self, kv: Reading) -> None:
        self._kv = kv

    def context(self, session: str, agent: str) -> Context | None:
        raw = self._kv.get(keys.CONTEXTS, keys.context_prefix(session, agent))
        return None if raw is None else _contexts.decode(raw)

    def contexts_of(self, session: str) -> list[Context]:
        """The newest context of each agent of the session."""
        return [_contexts.decode(raw) for _, raw in self._kv.scan(keys.CONTEXTS, keys.digest16(session))]

    def replied(self, request: bytes) -> bytes | None:
        raw = self._kv.get(keys.REQUESTS, keys.digest16(request))
        return None if raw is None else raw[8:]

    def standing(self, session: str, agent: str, epoch: int, *, open_since: int = 0) -> dict[bytes, bytes]:
        """``open_since``: an offer made earlier (UTC, Unix ms) and never receipted is counted as lost."""
        found: dict[bytes, bytes] = {}
        for key, raw in self._kv.scan(keys.STANDING, keys.epoch_prefix(session, agent, epoch)):
            row = _standing.decode(raw)
            digest = row.offered if row.offered and row.offered_at >= open_since else row.delivered
            if digest:
                found[key[-16:]] = digest
        return found

    def turn_notes(self, session: str, agent: str, turn: str) -> set[bytes]:
        return {key[-16:] for key, _ in self._kv.scan(keys.TURN_NOTES, keys.turn_prefix(session, agent, turn))}

    def turn_tokens(self, session: str, turn: str, trigger: str) -> int:
        raw = self._kv.get(keys.TURN_TOKENS, _tokens_key(session, turn, trigger))
        return 0 if raw is None else keys.of_number(raw)

    def held_in_turn(self, session: str, agent: str, turn: str) -> bool:
        return self._kv.get(keys.TURN_HOLDS, keys.turn_prefix(session, agent, turn)) is not None


class TableLedger:
    """`memd_daemon.store.port.Ledger` over a keeper of tables."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    @contextlib.contextmanager
    def read(self) -> Iterator[TableLedgerSnapshot]:
        with self._keeper.reading() as kv:
            yield TableLedgerSnapshot(kv)

    # --- contexts

    def context(self, session: str, agent: str) -> Context | None:
        with self.read() as snapshot:
            return snapshot.context(session, agent)

    def contexts_of(self, session: str) -> list[Context]:
        with self.read() as snapshot:
            return snapshot.contexts_of(session)

    def put_context(self, context: Context) -> None:
        self._keeper.writing(lambda kv: _put_context(kv, context))

    def contexts(self, *, live_since: int = 0) -> Iterator[Context]:
        """Contexts that were heard of at ``live_since`` (UTC, Unix ms) or later, ended ones among them."""
        with self._keeper.reading() as kv:
            rows = [raw for _, raw in kv.scan(keys.CONTEXTS)]
        return (context for context in map(_contexts.decode, rows) if context.last_at >= live_since)

    # --- deliveries

    def offer(self, delivery: Delivery, reply: bytes, context: Context | None = None) -> None:
        """A request that was answered before keeps its first answer."""

        def work(kv: Writing) -> None:
            if context is not None:
                _put_context(kv, context)
            _offer(kv, delivery, reply)

        self._keeper.writing(work)

    def receipt(self, request: bytes) -> Delivery | None:
        return self._keeper.writing(lambda kv: _receipt(kv, request))

    def replied(self, request: bytes) -> bytes | None:
        with self.read() as snapshot:
            return snapshot.replied(request)

    def deliveries(self, *, session: str | None = None) -> Iterator[Delivery]:
        table, prefix = (keys.DELIVERIES, b"") if session is None else (keys.BY_SESSION, keys.digest16(session))
        below: bytes | None = None
        while below is None or below:
            with self._keeper.reading() as kv:
                page, below = _page(kv, table, prefix, below)
            yield from map(_deliveries.decode, page)

    # --- what stands

    def standing(self, session: str, agent: str, epoch: int, *, open_since: int = 0) -> dict[bytes, bytes]:
        """``open_since``: an offer made earlier (UTC, Unix ms) and never receipted is counted as lost."""
        with self.read() as snapshot:
            return snapshot.standing(session, agent, epoch, open_since=open_since)

    def turn_notes(self, session: str, agent: str, turn: str) -> set[bytes]:
        with self.read() as snapshot:
            return snapshot.turn_notes(session, agent, turn)

    def turn_tokens(self, session: str, turn: str, trigger: str) -> int:
        with self.read() as snapshot:
            return snapshot.turn_tokens(session, turn, trigger)

    def held_in_turn(self, session: str, agent: str, turn: str) -> bool:
        with self.read() as snapshot:
            return snapshot.held_in_turn(session, agent, turn)


def _put_context(kv: Writing, context: Context) -> None:
    kv.put(keys.CONTEXTS, keys.context_prefix(context.session, context.agent), _encoder.encode(context))


def _tokens_key(session: str, turn: str, trigger: str) -> bytes:
    return keys.digest16(session) + keys.digest16(turn) + keys.digest16(trigger)


def _page(kv: Reading, table: str, prefix: bytes, below: bytes | None) -> tuple[list[bytes], bytes]:
    """(encoded deliveries, newest first; the number to go on below, b"" at the end)."""
    page: list[bytes] = []
    number = kv.last(table, prefix) if below is None else kv.before(table, prefix + below)
    while number is not None and number[0].startswith(prefix):
        raw = kv.get(keys.DELIVERIES, number[0][-8:])
        if raw is not None:
            page.append(raw)
        if len(page) == LEDGER_PAGE_ROWS:
            return page, number[0][-8:]
        number = kv.before(table, number[0])
    return page, b""


def _offer(kv: Writing, delivery: Delivery, reply: bytes) -> None:
    request = keys.digest16(delivery.request)
    if kv.get(keys.REQUESTS, request) is not None:
        return
    last = kv.last(keys.DELIVERIES)
    number = keys.number(1 if last is None else keys.of_number(last[0]) + 1)
    kv.put(keys.DELIVERIES, number, _encoder.encode(delivery))
    kv.put(keys.REQUESTS, request, number + reply)
    kv.put(keys.BY_SESSION, keys.digest16(delivery.session) + number, b"")
    turn = keys.turn_prefix(delivery.session, delivery.agent, delivery.turn)
    if delivery.held:
        kv.put(keys.TURN_HOLDS, turn, b"")
    if delivery.tokens:
        key = _tokens_key(delivery.session, delivery.turn, delivery.trigger)
        before = kv.get(keys.TURN_TOKENS, key)
        kv.put(keys.TURN_TOKENS, key, keys.number((keys.of_number(before) if before else 0) + delivery.tokens))
    for note in delivery.notes:
        kv.put(keys.TURN_NOTES, turn + note.uid, b"")
    _stand_all(kv, delivery)


def _stand_all(kv: Writing, delivery: Delivery) -> None:
    epoch = keys.epoch_prefix(delivery.session, delivery.agent, delivery.epoch)
    for note in delivery.notes:
        _stand(kv, epoch + note.uid, delivery, note)


def _stand(kv: Writing, key: bytes, delivery: Delivery, note: DeliveredNote) -> None:
    raw = kv.get(keys.STANDING, key)
    before = Standing() if raw is None else _standing.decode(raw)
    if delivery.state == DeliveryState.DELIVERED:
        offered = b"" if before.offered == note.digest else before.offered
        after = msgspec.structs.replace(before, delivered=note.digest, offered=offered)
    else:
        after = msgspec.structs.replace(before, offered=note.digest, offered_at=delivery.at)
    kv.put(keys.STANDING, key, _encoder.encode(after))


def _receipt(kv: Writing, request: bytes) -> Delivery | None:
    raw = kv.get(keys.REQUESTS, keys.digest16(request))
    stored = None if raw is None else kv.get(keys.DELIVERIES, raw[:8])
    if raw is None or stored is None:
        return None
    delivery = _deliveries.decode(stored)
    if delivery.state == DeliveryState.DELIVERED:
        return delivery
    delivery = msgspec.structs.replace(delivery, state=DeliveryState.DELIVERED)
    kv.put(keys.DELIVERIES, raw[:8], _encoder.encode(delivery))
    _stand_all(kv, delivery)
    return delivery
