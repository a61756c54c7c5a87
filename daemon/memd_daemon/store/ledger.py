"""The port's `Ledger` over ordered tables: what stands in a context is read from rows that each offer and receipt keep up."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final

import msgspec

from memd_daemon.limits import LEDGER_PAGE_ROWS, REPLIES_KEPT, REPLY_KEPT_MS
from memd_daemon.model.delivery import NO_NOTES, Context, DeliveredNote, Delivery, DeliveryState, Hold, HoldOutcome
from memd_daemon.model.tool_result import ToolResult
from memd_daemon.store import keys, results
from memd_daemon.store.bursts import BurstRows
from memd_daemon.store.kv import Keeper, Reading, WhenAsked, Writing
from memd_daemon.store.ledger_read import TableLedgerSnapshot, contexts, decode_delivery, hold_of, holds
from memd_daemon.store.prune import prune
from memd_daemon.store.remembered import Remembered, Standing, Told, standing_of
from memd_daemon.store.stale import FlagRows

_encoder: Final = msgspec.msgpack.Encoder()


class TableLedger(FlagRows, BurstRows):
    """`memd_daemon.store.ledger_port.Ledger` over a keeper of tables."""

    def __init__(self, keeper: Keeper) -> None:
        super().__init__(keeper)
        self._remembered = Remembered()

    @contextlib.contextmanager
    def read(self) -> Iterator[TableLedgerSnapshot]:
        told = self._remembered.now
        with self._keeper.reading() as kv:
            yield TableLedgerSnapshot(kv, told)

    def at_hand(self) -> AbstractContextManager[TableLedgerSnapshot]:
        return _AtHand(self._keeper, self._remembered.now)

    # --- contexts

    def context(self, session: str, agent: str) -> Context | None:
        known = self._remembered.now.contexts.get(keys.context_prefix(session, agent))
        if known is not None:
            return known
        with self.read() as snapshot:
            return snapshot.context(session, agent)

    def contexts_of(self, session: str) -> list[Context]:
        with self.read() as snapshot:
            return snapshot.contexts_of(session)

    def put_context(self, context: Context, *others: Context) -> None:
        self._keeper.writing(lambda kv: _put_contexts(kv, (context, *others)))
        self._remembered.forget_contexts(context.session)

    def contexts(self, *, live_since: int = 0) -> Iterator[Context]:
        """Contexts that were heard of at ``live_since`` (UTC, Unix ms) or later, ended ones among them."""
        with self._keeper.reading() as kv:
            rows = [raw for _, raw in kv.scan(keys.CONTEXTS)]
        return (context for context in map(contexts.decode, rows) if context.last_at >= live_since)

    # --- deliveries

    def offer(self, delivery: Delivery, reply: bytes, *contexts: Context) -> None:
        """A request that was answered before keeps its first answer."""

        def work(kv: Writing) -> None:
            _put_contexts(kv, contexts)
            _offer(kv, delivery, reply)

        self._keeper.writing(work)
        self._remembered.forget_session(delivery.session)

    def put_asked(self, delivery: Delivery) -> None:
        """Records what the answer to a question showed."""
        self._keeper.writing(lambda kv: _put_asked(kv, delivery))

    def receipt(self, request: bytes) -> Delivery | None:
        delivery = self._keeper.writing(lambda kv: _receipt(kv, request))
        if delivery is not None:
            self._remembered.forget_session(delivery.session)
        return delivery

    def replied(self, request: bytes) -> bytes | None:
        with self.read() as snapshot:
            return snapshot.replied(request)

    def deliveries(self, *, session: str | None = None) -> Iterator[Delivery]:
        table, prefix = (keys.DELIVERIES, b"") if session is None else (keys.BY_SESSION, keys.digest16(session))
        below: bytes | None = None
        while below is None or below:
            with self._keeper.reading() as kv:
                page, below = _page(kv, table, prefix, below)
            yield from map(decode_delivery, page)

    def has_told(self, session: str, event: bytes, since: int, until: int) -> bool:
        with self.read() as snapshot:
            return snapshot.has_told(session, event, since, until)

    # --- what stands

    def standing(self, session: str, agent: str, epoch: int, *, open_since: int = 0) -> Mapping[bytes, bytes]:
        """``open_since``: an offer made earlier (UTC, Unix ms) and never receipted is counted as lost."""
        with self.read() as snapshot:
            return snapshot.standing(session, agent, epoch, open_since=open_since)

    def turn_notes(self, session: str, agent: str, turn: str) -> frozenset[bytes]:
        with self.read() as snapshot:
            return snapshot.turn_notes(session, agent, turn)

    def sent(self, session: str, agent: str, epoch: int, turn: str, *, open_since: int = 0) -> frozenset[bytes]:
        with self.read() as snapshot:
            return snapshot.sent(session, agent, epoch, turn, open_since=open_since)

    def turn_tokens(self, session: str, turn: str, trigger: str) -> int:
        with self.read() as snapshot:
            return snapshot.turn_tokens(session, turn, trigger)

    # --- what was asked for, and who was ever shown what

    def asked(self, session: str, agent: str, epoch: int) -> set[bytes]:
        with self.read() as snapshot:
            return snapshot.asked(session, agent, epoch)

    def asked_in_turn(self, session: str, agent: str, turn: str) -> set[bytes]:
        with self.read() as snapshot:
            return snapshot.asked_in_turn(session, agent, turn)

    def was_shown(self, uid: bytes, session: str) -> bool:
        with self.read() as snapshot:
            return snapshot.was_shown(uid, session)

    def prune(self, before: int, is_gone: Callable[[bytes], bool], rest: Callable[[], None]) -> int:
        """Takes away what is older than ``before`` (prune.py)."""
        try:
            return prune(self._keeper, before, is_gone, rest)
        finally:
            self._remembered.forget()

    # --- what tools gave

    def put_result(self, result: ToolResult) -> None:
        """Adds it; the oldest go where there are too many (results.py)."""
        self._keeper.writing(lambda kv: results.put(kv, result))

    def results_of(self, session: str) -> list[ToolResult]:
        with self._keeper.reading() as kv:
            return list(results.of_session(kv, session))

    def results_since(self, at: int) -> list[ToolResult]:
        with self._keeper.reading() as kv:
            return results.since(kv, at)

    # --- holds

    def hold(self, session: str, agent: str, turn: str) -> Hold | None:
        with self.read() as snapshot:
            return snapshot.hold(session, agent, turn)

    def open_holds(self, session: str) -> list[Hold]:
        with self.read() as snapshot:
            return snapshot.open_holds(session)

    def held_for(self, session: str, agent: str, epoch: int) -> frozenset[bytes]:
        with self.read() as snapshot:
            return snapshot.held_for(session, agent, epoch)

    def holds(self) -> list[Hold]:
        """Every hold there was."""
        with self._keeper.reading() as kv:
            return [holds.decode(raw) for _, raw in kv.scan(keys.TURN_HOLDS)]

    def settle(self, hold: Hold, outcome: HoldOutcome, at: int) -> None:
        """What came of a hold. The first word on it stays."""
        self._keeper.writing(lambda kv: _settle(kv, hold, outcome, at))
        self._remembered.forget_session(hold.session)

    # --- clients and files

    def session_in(self, pid: int, started: int) -> str:
        with self.read() as snapshot:
            return snapshot.session_in(pid, started)

    def moved_from(self, root: str, path: str) -> tuple[str, ...]:
        known = self._remembered.now.moves.get(keys.moved_prefix(root, path))
        if known is not None:
            return known
        with self.read() as snapshot:
            return snapshot.moved_from(root, path)

    def put_moved(self, root: str, path: str, old: str) -> None:
        """A file of a checkout that was at ``old`` has been seen at ``path``."""
        key = keys.moved_prefix(root, path) + keys.digest16(old)
        self._keeper.writing(lambda kv: kv.put(keys.MOVED, key, old.encode()))
        self._remembered.forget()


class _AtHand:
    """A class, since each hook enters one: a generator takes longer than what it is asked."""

    __slots__ = ("_kv", "_told")

    def __init__(self, keeper: Keeper, told: Told) -> None:
        self._kv, self._told = WhenAsked(keeper), told

    def __enter__(self) -> TableLedgerSnapshot:
        return TableLedgerSnapshot(self._kv.__enter__(), self._told)

    def __exit__(self, *raised: Any) -> None:
        self._kv.__exit__(*raised)


def _put_hold(kv: Writing, hold: Hold) -> None:
    turn = keys.turn_prefix(hold.session, hold.agent, hold.turn)
    kv.put(keys.TURN_HOLDS, turn, _encoder.encode(hold))
    if hold.outcome == HoldOutcome.OPEN:
        kv.put(keys.OPEN_HOLDS, turn, b"")
    else:
        kv.delete(keys.OPEN_HOLDS, turn)


def _settle(kv: Writing, hold: Hold, outcome: HoldOutcome, at: int) -> None:
    known = hold_of(kv, keys.turn_prefix(hold.session, hold.agent, hold.turn))
    if known is not None and known.outcome == HoldOutcome.OPEN:
        _put_hold(kv, msgspec.structs.replace(known, outcome=outcome, settled_at=at))


def _put_contexts(kv: Writing, contexts: Iterable[Context]) -> None:
    for context in contexts:
        if context.client_pid and not context.agent:
            kv.put(keys.CLIENTS, keys.process_key(context.client_pid, context.client_started), context.session.encode())
        kv.put(keys.CONTEXTS, keys.context_prefix(context.session, context.agent), _encoder.encode(context))


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
    number = _put_delivery(kv, delivery)
    kv.put(keys.REQUESTS, request, number + reply)
    _let_go_of_reply(kv, keys.of_number(number) - REPLIES_KEPT, delivery.at)
    turn = keys.turn_prefix(delivery.session, delivery.agent, delivery.turn)
    _count_tokens(kv, delivery, delivery.trigger, delivery.tokens - delivery.bundle_tokens)
    _count_tokens(kv, delivery, delivery.bundle_trigger, delivery.bundle_tokens)
    for note in delivery.notes:
        kv.put(keys.TURN_NOTES, turn + note.uid, b"")
    _stand_all(kv, delivery)
    if delivery.hold is not None:
        _put_hold(kv, delivery.hold)
        _stand_held(kv, delivery, delivery.hold)


def _let_go_of_reply(kv: Writing, number: int, now: int) -> None:
    """What was answered long ago is not asked for again: replies would be the largest part of the ledger."""
    key = keys.number(max(number, 0))
    raw = kv.get(keys.DELIVERIES, key)
    before = None if raw is None else decode_delivery(raw)
    if before is not None and before.request and now - before.at > REPLY_KEPT_MS:
        request = keys.digest16(before.request)
        if (kv.get(keys.REQUESTS, request) or b"").startswith(key):
            kv.delete(keys.REQUESTS, request)


def _put_delivery(kv: Writing, delivery: Delivery) -> bytes:
    """Its number. A note is shown to a session once for ever; who asked outside of any is nobody that could be shown it again."""
    last = kv.last(keys.DELIVERIES)
    number = keys.number(1 if last is None else keys.of_number(last[0]) + 1)
    kv.put(keys.DELIVERIES, number, _encoder.encode(delivery))
    kv.put(keys.BY_SESSION, keys.digest16(delivery.session) + number, b"")
    for note in delivery.notes if delivery.session else ():
        if note.uid not in NO_NOTES:
            kv.put(keys.SHOWN, keys.shown_key(note.uid, delivery.session), b"")
    return number


def _put_asked(kv: Writing, delivery: Delivery) -> None:
    _put_delivery(kv, delivery)
    if not delivery.session:
        return
    epoch = keys.epoch_prefix(delivery.session, delivery.agent, delivery.epoch)
    turn = keys.turn_prefix(delivery.session, delivery.agent, delivery.turn)
    for note in delivery.notes:
        kv.put(keys.ASKED, epoch + note.uid, b"")
        kv.put(keys.TURN_ASKED, turn + note.uid, b"")


def _count_tokens(kv: Writing, delivery: Delivery, trigger: str, tokens: int) -> None:
    if tokens:
        key = keys.tokens_key(delivery.session, delivery.turn, trigger)
        before = kv.get(keys.TURN_TOKENS, key)
        kv.put(keys.TURN_TOKENS, key, keys.number((keys.of_number(before) if before else 0) + tokens))


def _stand_held(kv: Writing, delivery: Delivery, hold: Hold) -> None:
    epoch = keys.epoch_prefix(delivery.session, delivery.agent, delivery.epoch)
    for uid in hold.notes:
        raw = kv.get(keys.STANDING, epoch + uid)
        before = Standing() if raw is None else standing_of(raw)
        kv.put(keys.STANDING, epoch + uid, _encoder.encode(msgspec.structs.replace(before, held=True)))


def _stand_all(kv: Writing, delivery: Delivery) -> None:
    epoch = keys.epoch_prefix(delivery.session, delivery.agent, delivery.epoch)
    for note in delivery.notes:
        _stand(kv, epoch + note.uid, delivery, note)


def _stand(kv: Writing, key: bytes, delivery: Delivery, note: DeliveredNote) -> None:
    raw = kv.get(keys.STANDING, key)
    before = Standing() if raw is None else standing_of(raw)
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
    delivery = decode_delivery(stored)
    if delivery.state == DeliveryState.DELIVERED:
        return delivery
    delivery = msgspec.structs.replace(delivery, state=DeliveryState.DELIVERED)
    kv.put(keys.DELIVERIES, raw[:8], _encoder.encode(delivery))
    _stand_all(kv, delivery)
    return delivery
