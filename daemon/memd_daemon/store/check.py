"""`memd verify`: every claim of the log against its bytes, and everything derived against the log.

Found and named by place, with the notes that it is about: a page of the file that leads nowhere (then nothing else is read); a
commit or event that is missing, edited, out of order, forged or said twice; a text that is not the one that was recorded; an act of
a person without that person's signature; a fold or an index row that the log does not give; ids that do not stand for each other; a
turn that cannot be read. A rewrite of the whole chain by somebody who may write the file is not found here: only signed events, or
a backup, tell it.
"""

import contextlib
import itertools
import struct
from collections.abc import Callable, Iterator
from operator import itemgetter

import msgspec

from memd_daemon.model import event as ev
from memd_daemon.model import fold, trust
from memd_daemon.model.event import GENESIS, Header, Stored
from memd_daemon.model.ids import uid_text
from memd_daemon.model.note import Note, encode_note
from memd_daemon.model.words import Actor
from memd_daemon.store import keys, numbers
from memd_daemon.store.fault import LOOK, REINDEX, RESTORE, at_commit, at_event, at_note
from memd_daemon.store.fault import Fault as Fault
from memd_daemon.store.indexes import INDEX_TABLES, rows_of
from memd_daemon.store.kv import Reading
from memd_daemon.store.log_read import (
    BROKEN,
    UNREADABLE,
    LogSnapshot,
    decode_commit,
    decode_header,
    decode_stored,
    decode_turn,
    is_blob,
    tail_of,
)
from memd_daemon.store.named import named
from memd_daemon.store.port import Snapshot, Store
from memd_daemon.store.slices import Slices
from memd_daemon.store.turn_rows import crc_of


def verify(store: Store) -> list[Fault]:
    """Every fault in the store, the log's first; an empty list says that all is as it was written."""
    if flaws := _of_pages(store):
        return flaws
    with store.read() as snapshot:
        log = _of_tables(snapshot)
        return named(log, list(_faults(log)))


def verify_in_slices(store: Store, rest: Callable[[], None]) -> list[Fault]:
    """`verify` without a snapshot that is held for long (store/slices.py): a write that comes between may look like a fault."""

    @contextlib.contextmanager
    def opened() -> Iterator[Reading]:
        with store.read() as snapshot:
            yield _of_tables(snapshot).kv

    with store.read() as snapshot:
        trusted = _of_tables(snapshot).trusted
    with Slices(opened, rest) as slices:
        log = LogSnapshot(slices, store.info, trusted)
        return named(log, list(_faults(log)))


def _of_pages(store: Store) -> list[Fault]:
    """Pages of the file that cannot be followed. Where there is one nothing else is read: that could end the process."""
    return [
        Fault(where=f"page {page} of the store's file (table {table})", what=what, remedy=RESTORE)
        for page, table, what in store.flaws()
    ]


def _of_tables(snapshot: Snapshot) -> LogSnapshot:
    if not isinstance(snapshot, LogSnapshot):
        raise TypeError("a store that is not made of tables")
    return snapshot


def _faults(snapshot: LogSnapshot) -> Iterator[Fault]:
    """Every fault; where a key is none that memd writes, that it is, since nothing behind it can be told by its place."""
    try:
        yield from _all_faults(snapshot)
    except struct.error:
        yield from _misshapen(snapshot)


def _misshapen(snapshot: LogSnapshot) -> Iterator[Fault]:
    """Rows whose key has not the length that keys.py draws."""
    for table, size in keys.KEY_BYTES.items():
        for key, _ in snapshot.kv.scan(table):
            if len(key) != size:
                where = f"a row of the table {table} (key {key.hex()[:32]})"
                yield Fault(where=where, what=f"has a key of {len(key)} bytes, not of {size}", remedy=RESTORE)


def _all_faults(snapshot: LogSnapshot) -> Iterator[Fault]:
    yield from _Log(snapshot).faults()
    changed = _changed_texts(snapshot)
    try:
        snapshot.identity()
    except UNREADABLE:
        yield Fault(where="the identity log", what="cannot be read, so no signature can be checked", remedy=RESTORE)
    else:
        yield from _Notes(snapshot, changed).faults()
    for digest in sorted(changed):
        yield Fault(where=f"text {digest.hex()[:16]}…", what="is not the one that was recorded", remedy=RESTORE)
    yield from _ids(snapshot)
    yield from _turns(snapshot)


def _changed_texts(snapshot: LogSnapshot) -> set[bytes]:
    """Digests under which another text lies."""
    return {digest for digest, raw in snapshot.kv.scan(keys.BLOBS) if not is_blob(digest, raw)}


class _Log:
    """The commits and their events: what the chain says against what lies there."""

    def __init__(self, snapshot: LogSnapshot) -> None:
        self._snapshot = snapshot
        self._kv = snapshot.kv
        self._own = snapshot.info.origin
        self._events = 0
        self._readable = 0
        self._newest_hlc = 0
        self._before: set[bytes] = set()  # digests of the chain's commits so far
        self._is_whole = True  # none of them is missing

    def faults(self) -> Iterator[Fault]:
        origin, seq, digest = b"", 0, GENESIS
        for key, raw in self._kv.scan(keys.COMMITS):
            at_origin, at_seq = keys.of_commit_key(key)
            if at_origin != origin:
                yield from self._end_of(origin, seq, digest)
                origin, seq, digest = at_origin, 0, GENESIS
                self._before, self._is_whole = set(), True
            if at_seq != seq + 1:
                yield self._gap(origin, seq + 1, at_seq - 1)
                digest, self._is_whole = b"", False
            seq = at_seq
            try:
                head, digests = decode_commit(raw)
                header = decode_header(head)
            except BROKEN:
                yield at_commit(origin, seq, "cannot be read")
                digest = b""
                continue
            yield from self._header(header, origin, seq, digest, len(digests))
            digest = ev.commit_digest(head, digests)
            yield from self._events_of(key, header, digests)
            self._before.add(digest)
        yield from self._end_of(origin, seq, digest)
        yield from self._rest()

    def _gap(self, origin: bytes, first: int, last: int) -> Fault:
        which = "is" if first == last else f"to {last} are"
        why = "" if origin == self._own else " (not received yet, or removed)"
        return msgspec.structs.replace(at_commit(origin, first, f"{which} missing{why}"), last=last)

    def _header(self, header: Header, origin: bytes, seq: int, prev: bytes, digests: int) -> Iterator[Fault]:
        self._newest_hlc = max(self._newest_hlc, header.hlc)
        if (header.origin, header.seq) != (origin, seq):
            yield at_commit(origin, seq, f"says that it is commit {header.seq} of origin {uid_text(header.origin)}")
        if origin == self._own and header.store != self._snapshot.info.store:
            yield at_commit(
                origin, seq, f"was written in the store {uid_text(header.store)}, and this says it is another"
            )
        if prev and header.prev != prev:
            yield at_commit(origin, seq, "does not follow the one before it: one of the two was edited or moved")
        if header.events != digests:
            yield at_commit(origin, seq, f"says {header.events} events and names {digests}")

    def _events_of(self, key: bytes, header: Header, digests: tuple[bytes, ...]) -> Iterator[Fault]:
        origin, seq = keys.of_commit_key(key)
        for index, digest in enumerate(digests):
            raw = self._kv.get(keys.EVENTS, keys.event_key(origin, seq, index))
            if raw is None:
                yield from self._withheld(origin, seq, index)
            else:
                self._events += 1
                yield from self._event(raw, header, index, digest, origin, seq)

    def _withheld(self, origin: bytes, seq: int, index: int) -> Iterator[Fault]:
        if origin == self._own:
            yield at_event(origin, seq, index, "is missing")

    def _event(self, raw: bytes, header: Header, index: int, digest: bytes, origin: bytes, seq: int) -> Iterator[Fault]:
        try:
            stored = decode_stored(raw, header, index)
        except BROKEN:
            yield at_event(origin, seq, index, "cannot be read")
            return
        event = stored.event
        self._readable += 1
        if ev.event_digest(stored.body, stored.sig) != digest:
            yield at_event(origin, seq, index, "is not the one that was committed", uid=event.uid)
        if stored.sig and event.head and self._is_whole and event.head not in self._before:
            yield at_event(origin, seq, index, "was signed over other commits than stand before it", uid=event.uid)
        place = keys.place_bytes((header.hlc, origin, seq, index))
        entered = self._kv.get(keys.EVENT_UIDS, event.uid)
        if entered is None or entered > place or self._kv.get(keys.SUBJECTS, event.note + place) is None:
            yield at_event(origin, seq, index, "is not entered under its note", REINDEX, uid=event.uid)
        elif entered < place and origin == keys.of_place(entered)[1] == self._own:
            yield at_event(origin, seq, index, "stands in an earlier commit already", LOOK, uid=event.uid)
        elif entered < place and not self._is_same(entered, digest):
            yield at_event(
                origin, seq, index, "is called as another event is: one of the two was forged", uid=event.uid
            )

    def _is_same(self, place: bytes, digest: bytes) -> bool:
        try:
            stored = self._snapshot.stored_at(place)
        except UNREADABLE:
            return True  # named where it stands
        return stored is None or ev.event_digest(stored.body, stored.sig) == digest

    def _end_of(self, origin: bytes, seq: int, digest: bytes) -> Iterator[Fault]:
        head = self._kv.get(keys.META, keys.META_HEAD)
        if origin != self._own or head is None:
            return
        last = int.from_bytes(head[:8], "big")
        if last > seq:
            yield self._gap(origin, seq + 1, last)
        elif last < seq or (digest and head[8:] != digest):
            yield at_commit(origin, seq, "is not the one that this store wrote last: it was edited or added")

    def _rest(self) -> Iterator[Fault]:
        """Rows that no commit leads to, and a clock that stands behind the log."""
        head = self._kv.get(keys.META, keys.META_HEAD)
        newest = self._kv.last(keys.COMMITS, self._own)
        if head is not None and newest is None:
            yield self._gap(self._own, 1, int.from_bytes(head[:8], "big"))
        elif head is None and newest is not None:
            seq = keys.of_commit_key(newest[0])[1]
            yield at_commit(self._own, seq, "may not be the last one: the store does not say which it wrote last")
        if self._kv.count(keys.EVENTS) != self._events:
            yield from self._strays()
        if self._kv.count(keys.SUBJECTS) != self._readable:
            yield Fault(
                where="the index of events by note", what="holds rows that the log does not give", remedy=REINDEX
            )
        hlc = self._kv.get(keys.META, keys.META_HLC)
        if self._newest_hlc > (keys.of_number(hlc) if hlc is not None else 0):
            yield Fault(where="the clock of the log", what="stands before its newest commit", remedy=RESTORE)

    def _strays(self) -> Iterator[Fault]:
        """Events that no commit names."""
        for key, _ in self._kv.scan(keys.EVENTS):
            origin, seq, index = keys.of_event_key(key)
            raw = self._kv.get(keys.COMMITS, keys.commit_key(origin, seq))
            if raw is None:
                yield at_event(origin, seq, index, "belongs to no commit")
                continue
            with contextlib.suppress(*BROKEN):  # a commit that cannot be read was named
                if index >= len(decode_commit(raw)[1]):
                    yield at_event(origin, seq, index, "was added to a commit that does not name it")


class _Notes:
    """Each subject: its signatures, its texts, its fold, its index rows."""

    def __init__(self, snapshot: LogSnapshot, changed: set[bytes]) -> None:
        self._snapshot = snapshot
        self._kv = snapshot.kv
        self._changed = changed  # those that an event names are taken out
        self._unreadable = False
        self._folds = 0
        self._rows: dict[str, int] = dict.fromkeys(INDEX_TABLES, 0)

    def faults(self) -> Iterator[Fault]:
        subjects = 0
        changed = frozenset(self._changed)
        for subject, places in self._subjects():
            subjects += 1
            try:
                log = self._snapshot.log_at(subject, places)
            except UNREADABLE:
                self._unreadable = True  # the commit was named with the log
                continue
            known = self._snapshot.judge(log)
            note = fold.fold(known)
            for stored in known:
                yield from self._event(stored, note, changed)
            yield from self._tail(subject, log)
            yield from self._fold(subject, note)
        if not self._unreadable:
            yield from self._beyond(subjects)

    def _beyond(self, subjects: int) -> Iterator[Fault]:
        """Rows that nothing in the log gives."""
        if subjects != self._kv.count(keys.TAILS) or self._folds != self._kv.count(keys.FOLDS):
            yield Fault(where="the folds", what="hold notes that the log does not give", remedy=REINDEX)
        for table, rows in self._rows.items():
            if rows != self._kv.count(table):
                yield Fault(where=f"the index {table}", what="holds rows that no note gives", remedy=REINDEX)

    def _subjects(self) -> Iterator[tuple[bytes, list[bytes]]]:
        """Each subject and the places of its events."""
        rows = (keys.of_subject_key(key) for key, _ in self._kv.scan(keys.SUBJECTS))
        for subject, found in itertools.groupby(rows, key=itemgetter(0)):
            yield subject, [place for _, place in found]

    def _event(self, stored: Stored, note: Note | None, changed: frozenset[bytes]) -> Iterator[Fault]:
        event, home = stored.event, stored.store == self._snapshot.info.store
        at = (stored.origin, stored.seq, stored.index)
        key_event = event.type in trust.KEY_TYPES
        if home and stored.sig and not stored.signed:
            yield at_event(*at, "has a signature that no key enrolled here made", LOOK, uid=event.uid)
        elif home and key_event and event.uid not in self._snapshot.identity().accepted:
            yield at_event(*at, "enrols or rejects a key without the signature that this needs", LOOK, uid=event.uid)
        elif home and not stored.sig and event.actor == Actor.HUMAN and not key_event:
            yield at_event(*at, "says that a person did it and is not signed", LOOK, uid=event.uid)
        try:
            payload = ev.payload_of(event)
        except BROKEN:
            yield at_event(*at, f"does not hold what a {event.type} event holds", LOOK, uid=event.uid)
            return
        if payload is not None and not (note is not None and note.forgotten):
            for digest in dict.fromkeys(ev.texts_of(payload)):
                if self._kv.get(keys.BLOBS, digest) is None:
                    yield at_event(*at, f"names a text that is not here ({digest.hex()[:16]}…)", uid=event.uid)
                elif digest in changed:
                    self._changed.discard(digest)
                    yield at_event(*at, f"names a text that was changed ({digest.hex()[:16]}…)", uid=event.uid)

    def _tail(self, subject: bytes, log: list[Stored]) -> Iterator[Fault]:
        try:
            right = self._snapshot.tail(subject) == tail_of(log)
        except BROKEN:
            right = False
        if not right:
            yield at_note(subject, self._snapshot.id_of(subject), "has another end of its log than the index says")

    def _fold(self, uid: bytes, note: Note | None) -> Iterator[Fault]:
        cached = self._kv.get(keys.FOLDS, uid)
        id_ = self._snapshot.id_of(uid)
        if (None if note is None else encode_note(note)) != cached:
            yield at_note(uid, id_, "stands in the store otherwise than its events make it")
        if note is None:
            return
        self._folds += 1
        if id_ is None:
            yield at_note(uid, None, "has no id")
            return
        for table, key, value in rows_of(note, id_):
            self._rows[table] += 1
            if self._kv.get(table, key) != value:
                yield at_note(uid, id_, f"is not entered in the index {table}")


def _ids(snapshot: LogSnapshot) -> Iterator[Fault]:
    """Ids and their notes stand for each other, none is left out, and those of this origin go as its notes were recorded."""
    expected, newest = 0, 0
    passed = numbers.passed(snapshot.kv)
    if numbers.are_lost(snapshot.kv):  # a number that was given in a store which this one replaced may be given again
        yield Fault(where="the numbers that are passed over", what="cannot be read", remedy=RESTORE)
    for key, uid in snapshot.kv.scan(keys.IDS):
        expected += 1
        id_ = keys.of_number(key)
        if id_ != expected and numbers.is_missed(passed, expected, id_ - 1):
            yield Fault(where=f"id [{expected}]", what="stands for no note", remedy=RESTORE)
        expected = id_
        if snapshot.kv.get(keys.ALIASES, uid) != key:
            yield at_note(uid, id_, "does not know its id", RESTORE)
        first = snapshot.kv.seek(keys.SUBJECTS, uid)
        if first is not None and first[0].startswith(uid):
            _, origin, seq, _ = keys.of_place(keys.place_of_subject_key(first[0]))
            if origin == snapshot.info.origin and seq < newest:
                yield at_note(uid, id_, "has the id of a note that was recorded later", RESTORE)
            newest = max(newest, seq if origin == snapshot.info.origin else 0)
    if snapshot.kv.count(keys.ALIASES) != snapshot.kv.count(keys.IDS):
        yield Fault(where="the ids", what="are not as many as the notes that have one", remedy=RESTORE)


def _turns(snapshot: LogSnapshot) -> Iterator[Fault]:
    for key, raw in snapshot.kv.scan(keys.TURNS):
        number = keys.of_number(key)
        try:
            turn = decode_turn(raw)
        except BROKEN:
            yield Fault(where=f"turn {number}", what="cannot be read", remedy=RESTORE)
            continue
        if turn.crc and turn.crc != crc_of(turn):
            yield Fault(where=f"turn {number}", what="is not the one that was stored", remedy=RESTORE)
        entered = snapshot.kv.get(keys.TURN_SESSIONS, keys.digest16(turn.session) + key)
        asked = (keys.TURN_REQUESTS, keys.digest16(turn.request)) if turn.request else None
        if turn.number != number or entered is None or (asked and snapshot.kv.get(*asked) != key):
            yield Fault(where=f"turn {number}", what="is not entered under its session or its request", remedy=REINDEX)
    given, newest = snapshot.kv.get(keys.META, keys.META_TURN), snapshot.kv.last(keys.TURNS)
    if newest is not None and (given is None or given < newest[0]):
        yield Fault(where="the count of turns", what="stands before its newest turn", remedy=RESTORE)
    if snapshot.kv.count(keys.TURN_SESSIONS) != snapshot.kv.count(keys.TURNS):
        yield Fault(where="the index turn_sessions", what="holds rows that no turn gives", remedy=REINDEX)
