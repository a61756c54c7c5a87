"""Every derived table but the vectors made anew from the log, a few rows at a time: hooks are answered and prompts kept meanwhile.

A rebuild of a large store takes a minute, and there is one writer. So each slice is a write of its own, which others come between,
and nothing is emptied first: a row that is right is not touched, one that is not is set right, and one that nothing in the log
gives is taken away. What is written meanwhile enters itself as always. A rebuild that is cut off has done no harm, and the next
one ends it.

Order: what leads to events; the events; their subjects, each with its fold and its index rows; rows that no fold gives; turns; the
queue of vectors.
"""

import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple, Protocol, TypeVar

import msgspec

from memd_daemon import limits
from memd_daemon.model import fold
from memd_daemon.model.event import Stored
from memd_daemon.model.ids import UID_BYTES
from memd_daemon.model.turn import Turn
from memd_daemon.store import keys, turn_rows
from memd_daemon.store.indexes import INDEX_TABLES, rows_of
from memd_daemon.store.kv import Reading, Writing
from memd_daemon.store.log_read import (
    BROKEN,
    UNREADABLE,
    decode_commit,
    decode_header,
    decode_stored,
    decode_turn,
    tail_of,
)
from memd_daemon.store.log_write import LogTxn

T = TypeVar("T")

Row = tuple[bytes, bytes]
Progress = Callable[[int, int], None]
"""Told of each subject: how many are done, of about how many. Called between two writes."""

BY_OWNER: Final = (keys.CHILDREN, keys.ABSORBED)
"""Index tables whose keys end in a note's uid; the others' end in its number."""

_encoder: Final = msgspec.msgpack.Encoder()


class Written(Protocol):
    """What runs a work as one write and gives what it returned."""

    def __call__(self, work: Callable[[LogTxn], T]) -> T: ...


def rebuild(write: Written, rest: Callable[[], None], progress: Progress | None = None) -> int:
    """Makes everything anew; gives the number of notes. ``rest`` is called between two writes; what it raises ends the rebuild.

    Raises StoreDamaged where a signed event cannot be read.
    """
    write(lambda txn: txn.trusted.settle())
    _each(write, rest, keys.IDS, _number)
    _each(write, rest, keys.EVENT_UIDS, _uid)
    _each(write, rest, keys.COMMITS, _commit)
    for table in (keys.FOLDS, keys.TAILS):
        _each(write, rest, table, partial(_without_events, table))
    expected = _subjects(write, rest, progress)
    for table in write(partial(_surplus, expected)):
        _each(write, rest, table, partial(_index_row, table))
    for table in (keys.TURN_SESSIONS, keys.TURN_REQUESTS, keys.TURN_PROMPTS):
        _each(write, rest, table, partial(_turn_row, table))
    _each(write, rest, keys.TURNS, _turn)
    _each(write, rest, keys.UNEMBEDDED, _waiting)
    _each(write, rest, keys.IDS, _wait)
    return write(lambda txn: txn.kv.count(keys.FOLDS))


def _each(write: Written, rest: Callable[[], None], table: str, of: Callable[[LogTxn, Row], None]) -> None:
    """``of`` every row of a table, a few of them in one write."""
    last: bytes | None = b""
    while last is not None:
        last = write(partial(_slice, table, last, of))
        rest()


def _slice(table: str, last: bytes, of: Callable[[LogTxn, Row], None], txn: LogTxn) -> bytes | None:
    """The key of the last row that was looked at; None at the end."""
    until = _until()
    row = txn.kv.seek(table, last + b"\0" if last else b"")
    while row is not None:
        of(txn, row)
        last = row[0]
        if time.monotonic() >= until:
            return last
        row = txn.kv.seek(table, last + b"\0")
    return None


def _until() -> float:
    return time.monotonic() + limits.REBUILT_SLICE_MS / limits.MS_PER_S


def put_if_other(kv: Writing, table: str, key: bytes, value: bytes) -> None:
    """A row that is right costs no page of the disk."""
    if kv.get(table, key) != value:
        kv.put(table, key, value)


# --- events


def _number(txn: LogTxn, row: Row) -> None:
    """A note keeps the number that people quote, where only the table that leads to it was emptied."""
    id_, uid = row
    if txn.kv.get(keys.ALIASES, uid) is None:
        txn.kv.put(keys.ALIASES, uid, id_)


def _read(txn: LogTxn, place: bytes) -> Stored | None:
    """The event at a place, None where there is none that can be read."""
    try:
        return txn.stored_at(place)
    except (*UNREADABLE, *BROKEN):
        return None


def _uid(txn: LogTxn, row: Row) -> None:
    uid, place = row
    stored = _read(txn, place)
    if stored is None or stored.event.uid != uid or keys.place_bytes(stored.place) != place:
        txn.kv.delete(keys.EVENT_UIDS, uid)


def _commit(txn: LogTxn, row: Row) -> None:
    """Enters every readable event of a commit under its uid and its subject."""
    key, raw = row
    try:
        header = decode_header(decode_commit(raw)[0])
    except BROKEN:
        return
    for event_key, told in list(txn.kv.scan(keys.EVENTS, key)):
        try:
            stored = decode_stored(told, header, keys.of_event_key(event_key)[2])
        except BROKEN:
            continue
        place = keys.place_bytes(stored.place)
        known = txn.kv.get(keys.EVENT_UIDS, stored.event.uid)
        if known is None or place < known:
            txn.kv.put(keys.EVENT_UIDS, stored.event.uid, place)
        put_if_other(txn.kv, keys.SUBJECTS, stored.event.note + place, b"")


# --- subjects


class _Some(NamedTuple):
    """What was done of the subjects in one write. ``last``: b"" at the end; ``of``: how many there are, about."""

    last: bytes
    done: int
    of: int
    entered: Counter[str]  # rows that those subjects have in each index table


def _subjects(write: Written, rest: Callable[[], None], progress: Progress | None) -> Counter[str]:
    """Every subject's tail, fold and index rows; how many rows each index table has to have."""
    rows: Counter[str] = Counter()
    done, some = 0, write(partial(_some_subjects, b""))
    while True:
        rows.update(some.entered)
        for _ in range(some.done):
            done += 1
            if progress is not None:
                progress(done, max(done, some.of))
        rest()
        if not some.last:
            return rows
        some = write(partial(_some_subjects, some.last))


def _some_subjects(last: bytes, txn: LogTxn) -> _Some:
    until, done, entered = _until(), 0, Counter[str]()
    row = _beyond(txn.kv, last)
    while row is not None:
        last = row[0][:UID_BYTES]
        entered.update(_subject(txn, last))
        done += 1
        row = _beyond(txn.kv, last)
        if time.monotonic() >= until:
            break
    return _Some(last if row is not None else b"", done, txn.kv.count(keys.TAILS), entered)


def _beyond(kv: Reading, subject: bytes) -> Row | None:
    """The first row of the next subject."""
    first = keys.after(subject)
    return kv.seek(keys.SUBJECTS, first) if first or not subject else None


def _subject(txn: LogTxn, subject: bytes) -> Counter[str]:
    """One subject anew; how many rows it has in each index table."""
    places = []
    for key, _ in list(txn.kv.scan(keys.SUBJECTS, subject)):
        place = keys.place_of_subject_key(key)
        stored = _read(txn, place)
        if stored is None or stored.event.note != subject or keys.subject_key(stored) != key:
            txn.kv.delete(keys.SUBJECTS, key)
        else:
            places.append(place)
    log = txn.log_at(subject, places)
    if log:
        put_if_other(txn.kv, keys.TAILS, subject, _encoder.encode(tail_of(log)))
    else:
        txn.kv.delete(keys.TAILS, subject)
    note = fold.fold(txn.judge(log))
    if note is None:
        txn.kv.delete(keys.FOLDS, subject)
        return Counter()
    return Counter(table for table, _, _ in txn.enter_fold(subject, note))


def _without_events(table: str, txn: LogTxn, row: Row) -> None:
    """A fold or a tail of a subject that has no event."""
    subject = row[0]
    first = txn.kv.seek(keys.SUBJECTS, subject)
    if first is None or not first[0].startswith(subject):
        txn.kv.delete(table, subject)


def _surplus(expected: Counter[str], txn: LogTxn) -> list[str]:
    """The index tables that have another number of rows than their notes give, and so may have some that none gives."""
    return [table for table in INDEX_TABLES if txn.kv.count(table) != expected[table]]


def _index_row(table: str, txn: LogTxn, row: Row) -> None:
    key, value = row
    owner = key[-UID_BYTES:] if table in BY_OWNER else txn.uid_of(keys.of_number(key))
    note = txn.entered(owner) if owner else None
    id_ = txn.id_of(owner) if owner else None
    if note is None or id_ is None or (table, key, value) not in rows_of(note, id_):
        txn.kv.delete(table, key)


# --- turns


def _turn_at(txn: LogTxn, number: bytes) -> Turn | None:
    raw = txn.kv.get(keys.TURNS, number)
    try:
        return None if raw is None else decode_turn(raw)
    except BROKEN:
        return None


def _turn_row(table: str, txn: LogTxn, row: Row) -> None:
    """A row that leads to no turn, or to one that is not found by it."""
    key, value = row
    turn = _turn_at(txn, key[-len(keys.number(0)) :] if table == keys.TURN_SESSIONS else value)
    if turn is None or (table, key) not in turn_rows.leading_to(turn):
        txn.kv.delete(table, key)


def _turn(txn: LogTxn, row: Row) -> None:
    """Where several turns have one request or prompt id, the last is found by it. One that cannot be read is found by nothing."""
    try:
        turn = decode_turn(row[1])
    except BROKEN:
        return
    for table, key in turn_rows.leading_to(turn):
        if table == keys.TURN_SESSIONS:
            before = txn.kv.before(table, key)
            is_same = before is not None and before[0].startswith(keys.digest16(turn.session))
            count = keys.of_number(before[1]) if before is not None and is_same else 0
            put_if_other(txn.kv, table, key, keys.number(count + 1))
        elif (known := txn.kv.get(table, key)) is None or known < keys.number(turn.number):
            txn.kv.put(table, key, keys.number(turn.number))


# --- the queue of vectors


def _waiting(txn: LogTxn, row: Row) -> None:
    if txn.kv.get(keys.IDS, row[0]) is None:
        txn.kv.delete(keys.UNEMBEDDED, row[0])


def _wait(txn: LogTxn, row: Row) -> None:
    """A note waits where a wording has no vector of the model that the queue is for."""
    id_, uid = row
    model = txn.kv.get(keys.META, keys.META_MODEL) or b""
    if txn.waits(id_, uid, model.decode()):
        put_if_other(txn.kv, keys.UNEMBEDDED, id_, b"")
    else:
        txn.kv.delete(keys.UNEMBEDDED, id_)
