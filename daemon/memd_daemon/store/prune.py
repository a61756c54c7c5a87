"""What the ledger lets go: deliveries, contexts, tools' results and stale flags that are old, and every row that follows from them.

The ledger is on the way of each hook, so it is gone through in slices: a page is read, a few rows are taken away in one write, and
between two slices the caller rests. A ledger that was left half-way is no worse for it: each write takes whole deliveries.

**What stays.** What stands in the present epoch of a context that lives on, and what was told in its present turn, however old the
delivery is: else a session that sits for months would be told everything again. Holds, which the scorecard counts. And who was ever
shown a note, as long as there is the note.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final, TypeVar

import msgspec

from memd_daemon.limits import LEDGER_PAGE_ROWS, PRUNE_AT_ONCE
from memd_daemon.model.delivery import Context, Delivery
from memd_daemon.model.ids import UID_BYTES
from memd_daemon.store import bursts, keys, results, stale
from memd_daemon.store.kv import Keeper, Reading, Writing

T = TypeVar("T")

_contexts: Final = msgspec.msgpack.Decoder(Context)
_deliveries: Final = msgspec.msgpack.Decoder(Delivery)

Row = tuple[bytes, bytes]


def prune(keeper: Keeper, before: int, is_gone: Callable[[bytes], bool], rest: Callable[[], None]) -> int:
    """`memd_daemon.store.ledger_port.Ledger.prune`."""
    removed = 0
    for page in _pages(keeper, keys.DELIVERIES, rest):
        told = [(number, _deliveries.decode(raw)) for number, raw in page]
        for few in _fews([(number, delivery) for number, delivery in told if delivery.at < before]):
            keeper.writing(partial(_drop_deliveries, few))
            removed += len(few)
            rest()
    for page in _pages(keeper, keys.CONTEXTS, rest):
        for ended in _fews([key for key, raw in page if _contexts.decode(raw).last_at < before]):
            keeper.writing(partial(_drop_contexts, ended, before))
            rest()
    while keeper.writing(lambda kv: results.drop_before(kv, before, PRUNE_AT_ONCE)):
        rest()
    for page in _pages(keeper, keys.STALE, rest):
        for old in _fews([row for row in page if stale.is_old(row[1], before, is_gone)]):
            keeper.writing(partial(_drop_flags, old))
            rest()
    for page in _pages(keeper, keys.BURSTS, rest):
        bursts.drop_gone(keeper, [uid for uid, _ in page], is_gone)
    _prune_shown(keeper, is_gone, rest)
    return removed


def _fews(rows: list[T]) -> Iterator[list[T]]:
    return (rows[at : at + PRUNE_AT_ONCE] for at in range(0, len(rows), PRUNE_AT_ONCE))


def _pages(keeper: Keeper, table: str, rest: Callable[[], None]) -> Iterator[list[Row]]:
    """The rows of a table, each page of a snapshot of its own."""
    last = b""
    while True:
        with keeper.reading() as kv:
            page = list(_page(kv, table, last))
        if not page:
            return
        last = page[-1][0]
        yield page
        rest()


def _page(kv: Reading, table: str, last: bytes) -> Iterator[Row]:
    row = kv.seek(table, last + b"\0")
    for _ in range(LEDGER_PAGE_ROWS):
        if row is None:
            return
        yield row
        row = kv.seek(table, row[0] + b"\0")


def _drop_deliveries(rows: Iterable[tuple[bytes, Delivery]], kv: Writing) -> None:
    for number, delivery in rows:
        kv.delete(keys.DELIVERIES, number)
        kv.delete(keys.BY_SESSION, keys.digest16(delivery.session) + number)
        request = keys.digest16(delivery.request)
        if (kv.get(keys.REQUESTS, request) or b"").startswith(number):
            kv.delete(keys.REQUESTS, request)
        raw = kv.get(keys.CONTEXTS, keys.context_prefix(delivery.session, delivery.agent))
        _drop_told(kv, delivery, None if raw is None else _contexts.decode(raw))


def _drop_told(kv: Writing, delivery: Delivery, context: Context | None) -> None:
    """What is derived from a delivery, as far as its context has gone on since."""
    if context is None or context.turn != delivery.turn:
        turn = keys.turn_prefix(delivery.session, delivery.agent, delivery.turn)
        _drop_notes(kv, (keys.TURN_NOTES, keys.TURN_ASKED), turn, delivery)
        for trigger in (delivery.trigger, delivery.bundle_trigger):
            kv.delete(keys.TURN_TOKENS, keys.tokens_key(delivery.session, delivery.turn, trigger))
    if context is None or context.epoch != delivery.epoch:
        epoch = keys.epoch_prefix(delivery.session, delivery.agent, delivery.epoch)
        _drop_notes(kv, (keys.STANDING, keys.ASKED), epoch, delivery)


def _drop_notes(kv: Writing, tables: Iterable[str], prefix: bytes, delivery: Delivery) -> None:
    for table in tables:
        for note in delivery.notes:
            kv.delete(table, prefix + note.uid)


def _drop_contexts(found: Iterable[bytes], before: int, kv: Writing) -> None:
    for key in found:
        raw = kv.get(keys.CONTEXTS, key)
        context = None if raw is None else _contexts.decode(raw)
        if context is None or context.last_at >= before:  # it was taken up again meanwhile
            continue
        kv.delete(keys.CONTEXTS, key)
        for table in (keys.STANDING, keys.ASKED, keys.TURN_NOTES, keys.TURN_ASKED):
            for row, _ in list(kv.scan(table, key)):
                kv.delete(table, row)
        client = keys.process_key(context.client_pid, context.client_started)
        if kv.get(keys.CLIENTS, client) == context.session.encode():
            kv.delete(keys.CLIENTS, client)


def _drop_flags(rows: Iterable[Row], kv: Writing) -> None:
    stale.drop(kv, rows)


def _prune_shown(keeper: Keeper, is_gone: Callable[[bytes], bool], rest: Callable[[], None]) -> None:
    """Who was shown a note goes with the note."""
    for page in _pages(keeper, keys.SHOWN, rest):
        for uid in dict.fromkeys(key[:UID_BYTES] for key, _ in page):
            if is_gone(uid):
                keeper.writing(partial(_drop_shown, uid))


def _drop_shown(uid: bytes, kv: Writing) -> None:
    for key, _ in list(kv.scan(keys.SHOWN, uid)):
        kv.delete(keys.SHOWN, key)
