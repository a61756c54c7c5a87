"""The port's `Txn` over ordered tables: how a commit gets its place, and how folds and indexes follow it.

A fold is carried one step further where the event sorts behind all that is known of its subject, and was signed, if it is, over
all of it; else the subject is folded anew.
Both give the same bytes, and `memd verify` proves it. Everything here happens inside one transaction of the keeper of tables.
"""

import os
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from memd_daemon.errors import BadRequest, BadSignature, CommitForked, NotSigned, StoreDamaged, UsageError
from memd_daemon.limits import COMMIT_EVENTS_MAX, HYBRID_TIME_MAX, SALT_BYTES
from memd_daemon.model import event as ev
from memd_daemon.model import fold, trust
from memd_daemon.model.event import GENESIS, Header, Stored
from memd_daemon.model.ids import UID_BYTES, hybrid_next, is_time, uuid7
from memd_daemon.model.note import Note, decode_note, encode_note
from memd_daemon.model.proof import needs_signature
from memd_daemon.model.turn import Raised, Turn
from memd_daemon.store import keys, numbers, turn_rows
from memd_daemon.store.indexes import Row, replace_rows, rows_of
from memd_daemon.store.kv import Writing
from memd_daemon.store.log_read import (
    BROKEN,
    LogSnapshot,
    Tail,
    decode_header,
    decode_stored,
)
from memd_daemon.store.port import CommitReceipt, Draft, StoreInfo
from memd_daemon.store.trusted import Trusted

_encoder = msgspec.msgpack.Encoder()


def encode_row(body: bytes, sig: bytes) -> bytes:
    """An event as it lies in its table."""
    return _encoder.encode((body, sig))


class Placed(NamedTuple):
    """An event in the log of its subject, its signature judged. ``waits``: for a parent that is not here; ``before``: the note as
    it was without it."""

    stored: Stored
    waits: bool
    before: Note | None


class LogTxn(LogSnapshot):
    """`memd_daemon.store.port.Txn` over a keeper of tables."""

    kv: Writing

    def __init__(self, kv: Writing, info: StoreInfo, trusted: Trusted) -> None:
        super().__init__(kv, info, trusted)
        self.kv = kv
        self.adds = False  # whether anything was added to the log so far

    def version(self) -> tuple[int, int]:
        """As far as this write has come."""
        self._version = None
        return super().version()

    # --- this store's own commits

    def append(self, drafts: Sequence[Draft], *, at: int) -> CommitReceipt:
        """One commit. Raises NotSigned and BadSignature for an act of a person that is not proved, BadRequest for an event that
        this memd does not understand, that stands already, or whose parents are not here; StoreDamaged rather than write over a
        commit."""
        if not 0 < len(drafts) <= COMMIT_EVENTS_MAX:
            raise BadRequest(f"a commit holds 1 to {COMMIT_EVENTS_MAX} events")
        seq, prev = self._head()
        if self.kv.get(keys.COMMITS, keys.commit_key(self.info.origin, seq + 1)) is not None:
            raise StoreDamaged(f"commit {seq + 1} stands already, and the store says that {seq} was its last")
        digests = tuple(ev.event_digest(draft.body, draft.sig) for draft in drafts)
        header = Header(
            uid=uuid7(at, os.urandom(10)),
            store=self.info.store,
            origin=self.info.origin,
            seq=seq + 1,
            prev=prev,
            hlc=hybrid_next(self._hlc(), at),
            events=len(drafts),
        )
        head = _encoder.encode(header)
        self._put_commit(header, head, digests)
        for index, draft in enumerate(drafts):
            self._append_event(header, index, draft)
        return CommitReceipt(uid=header.uid, origin=header.origin, seq=header.seq, hlc=header.hlc)

    def _append_event(self, header: Header, index: int, draft: Draft) -> None:
        row = encode_row(draft.body, draft.sig)
        try:
            stored = decode_stored(row, header, index)
            payload = ev.payload_of(stored.event)
        except BROKEN as error:
            raise BadRequest(f"an event that cannot be read: {error}") from error
        event = stored.event
        if payload is None or len(event.uid) != UID_BYTES or len(event.note) != UID_BYTES:
            raise BadRequest(f"an event of the unknown type {event.type} {event.v}")
        if self.kv.get(keys.EVENT_UIDS, event.uid) is not None:
            raise BadRequest("an event that is recorded already")
        self.kv.put(keys.EVENTS, keys.event_key(header.origin, header.seq, index), row)
        placed = self._place(stored)
        if placed.waits:
            raise BadRequest("an event whose parents are not here")
        self._refuse_unproved(placed, payload)

    def _refuse_unproved(self, placed: Placed, payload: msgspec.Struct) -> None:
        """What the fold would ignore for want of a signature is not written."""
        stored, event = placed.stored, placed.stored.event
        if event.type in trust.KEY_TYPES:
            if not stored.sig:
                raise NotSigned  # the first key too: it signs itself, so that nobody enrols one that he does not hold
            if event.uid not in self.identity().accepted:
                raise BadSignature
        elif not stored.sig and needs_signature(placed.before, event, payload):
            raise NotSigned
        elif stored.sig and not stored.signed:
            raise BadSignature

    def _head(self) -> tuple[int, bytes]:
        raw = self.kv.get(keys.META, keys.META_HEAD)
        return (0, GENESIS) if raw is None else (int.from_bytes(raw[:8], "big"), raw[8:])

    def _hlc(self) -> int:
        raw = self.kv.get(keys.META, keys.META_HLC)
        return 0 if raw is None else keys.of_number(raw)

    # --- commits of others

    def receive(self, header: bytes, digests: Sequence[bytes], events: Sequence[tuple[bytes, bytes] | None]) -> bool:
        """A commit made elsewhere, in any order, gaps and repetitions allowed; None stands for an event that is withheld.

        Gives whether anything was new. Raises BadRequest where it does not hold together, CommitForked where this origin has
        another commit of the same number.
        """
        head = self._checked_header(header, digests, events)
        row = _encoder.encode((header, tuple(digests)))
        known = self.kv.get(keys.COMMITS, keys.commit_key(head.origin, head.seq))
        if known is not None and known != row:
            raise CommitForked(head.origin.hex(), head.seq)
        if known is None:
            self._put_commit(head, header, tuple(digests))
        news = known is None
        for index, pair in enumerate(events):
            key = keys.event_key(head.origin, head.seq, index)
            if pair is not None and self.kv.get(keys.EVENTS, key) is None:
                self.kv.put(keys.EVENTS, key, encode_row(*pair))
                self._place(decode_stored(encode_row(*pair), head, index))
                news = True
        return news

    def _checked_header(
        self, header: bytes, digests: Sequence[bytes], events: Sequence[tuple[bytes, bytes] | None]
    ) -> Header:
        try:
            head = decode_header(header)
            for index, pair in enumerate(events):
                if pair is not None and ev.event_digest(*pair) != digests[index]:
                    raise BadRequest(f"event {index} is not the one that its commit names")
                if pair is not None:
                    event = decode_stored(encode_row(*pair), head, index).event
                    if (len(event.uid), len(event.note)) != (UID_BYTES, UID_BYTES):
                        raise BadRequest(f"event {index} names no subject")
                    if not is_time(event.at):
                        raise BadRequest(f"event {index} is of a time that no clock shows")
        except (*BROKEN, IndexError) as error:
            raise BadRequest(f"a commit that cannot be read: {error}") from error
        sized = (len(head.uid), len(head.store), len(head.origin), len(head.prev)) == (*(UID_BYTES,) * 3, len(GENESIS))
        counted = len(digests) == len(events) == head.events <= COMMIT_EVENTS_MAX
        timed = 0 < head.seq <= HYBRID_TIME_MAX and 0 <= head.hlc <= HYBRID_TIME_MAX
        if not (sized and counted and timed and all(len(d) == len(GENESIS) for d in digests)):
            raise BadRequest("a commit whose header does not fit")
        return head

    def _put_commit(self, header: Header, head: bytes, digests: tuple[bytes, ...]) -> None:
        self.adds = True
        self.kv.put(keys.COMMITS, keys.commit_key(header.origin, header.seq), _encoder.encode((head, digests)))
        self.kv.put(keys.META, keys.META_HLC, keys.number(max(self._hlc(), header.hlc)))
        if header.origin == self.info.origin and header.seq > self._head()[0]:
            digest = ev.commit_digest(head, digests)
            self.kv.put(keys.META, keys.META_HEAD, keys.number(header.seq) + digest)

    # --- folds follow

    def _place(self, stored: Stored) -> Placed:
        """Enters an event into the log of its subject and lets fold and indexes follow."""
        self.adds = True
        subject, place = stored.event.note, keys.place_bytes(stored.place)
        before = self.folded(subject)  # while the log still ends before this event
        tail = self.tail(subject)
        twin = self.kv.get(keys.EVENT_UIDS, stored.event.uid)
        if twin is None or place < twin:
            self.kv.put(keys.EVENT_UIDS, stored.event.uid, place)
        self.kv.put(keys.SUBJECTS, subject + place, b"")
        parents = [self.kv.get(keys.EVENT_UIDS, parent) for parent in stored.event.parents]
        waits = None in parents
        strays = any(p is not None and self.kv.get(keys.SUBJECTS, subject + p) is None for p in parents)
        heads = before.heads if before is not None else ()
        unseen = bool(stored.sig) and set(heads) != set(stored.event.parents)
        fresh = twin is None and tail.waiting == 0 and not strays and subject != self.info.store and not unseen
        simple = fresh and (waits or place > tail.place)
        self.trusted.add(stored)
        placed = self._carry_on(stored, before, waits) if simple else self._fold_anew(stored, before)
        waiting = tail.waiting + waits if simple else self._count_waiting(subject)
        new = Tail(place=max(place, tail.place), events=tail.events + 1, waiting=waiting)
        self.kv.put(keys.TAILS, subject, _encoder.encode(new))
        return placed

    def _carry_on(self, stored: Stored, before: Note | None, waits: bool) -> Placed:
        if waits:
            return Placed(stored, waits, before)
        if stored.sig:
            signed = trust.is_signed(stored, before, self.identity(), self._proof)
            stored = msgspec.structs.replace(stored, signed=signed)
        after, _ = fold.step(before, stored)
        self._put_note(stored.event.note, before, after)
        return Placed(stored, waits, before)

    def _fold_anew(self, stored: Stored, before: Note | None) -> Placed:
        subject = stored.event.note
        if subject == self.info.store:
            self._identity = None
            newest = stored.origin == self.info.origin and stored.hlc == self._hlc()
            if stored.event.type in trust.KEY_TYPES and not newest:
                self._judge_anew()
        known = self.judged(subject)
        done = {s.event.uid for s in fold.order(known)[0]}
        self._put_note(subject, self._entered(subject), fold.fold(known))
        itself = next((s for s in known if s.place == stored.place), stored)
        return Placed(itself, stored.event.uid not in done, before)

    def _judge_anew(self) -> None:
        """A key event that came late may change what was signed after it: notes with signatures are folded anew."""
        subjects = {key[:UID_BYTES] for key, _ in self.kv.scan(keys.SUBJECTS)}
        for subject in sorted(subjects - {self.info.store}):
            log = self.log_of(subject)
            if any(stored.sig for stored in log):
                self._put_note(subject, self._entered(subject), fold.fold(self.judge(log)))

    def _entered(self, uid: bytes) -> Note | None:
        """The cached fold, right or wrong: what the index rows that stand follow from."""
        raw = self.kv.get(keys.FOLDS, uid)
        try:
            return None if raw is None else decode_note(raw)
        except BROKEN:
            return None

    def _count_waiting(self, subject: bytes) -> int:
        return len(fold.order(self.log_of(subject))[1])

    def _put_note(self, uid: bytes, before: Note | None, after: Note | None) -> None:
        if after is None:
            if before is not None:
                replace_rows(self.kv, self.id_of(uid) or 0, before, None)
                self.kv.delete(keys.FOLDS, uid)
            return
        id_ = self.id_of(uid)
        if id_ is None:
            id_ = self._new_id(uid)
        raw = encode_note(after)
        self.kv.put(keys.FOLDS, uid, raw)
        if self.trusted.must_compare(uid):
            self.trusted.folds[uid] = keys.digest16(raw)
        replace_rows(self.kv, id_, before, after)
        if before is not None and len(after.revisions) > len(before.revisions):
            self._wait_for_vector(id_)
        if after.forgotten and not (before is not None and before.forgotten):
            self._drop(uid, id_)

    def _new_id(self, uid: bytes) -> int:
        id_ = numbers.given_last(self.kv) + 1
        self.kv.put(keys.IDS, keys.number(id_), uid)
        self.kv.put(keys.ALIASES, uid, keys.number(id_))
        self.kv.put(keys.UNEMBEDDED, keys.number(id_), b"")
        return id_

    def _drop(self, uid: bytes, id_: int) -> None:
        """What forgetting takes from this store: every blob that the note's events name, salt included, and its vectors."""
        for stored in self.log_of(uid):
            try:
                payload = ev.payload_of(stored.event)
            except BROKEN:
                continue
            for digest in ev.texts_of(payload) if payload is not None else ():
                self.kv.delete(keys.BLOBS, digest)
        self.kv.delete(keys.UNEMBEDDED, keys.number(id_))
        wordings = (uid, *(s.event.uid for s in self.log_of(uid) if s.event.type == "revised"))
        for prefix in self._models():
            for wording in wordings:
                self.kv.delete(keys.VECTORS, prefix + wording)

    def _wait_for_vector(self, id_: int) -> None:
        if self.kv.get(keys.UNWANTED, keys.number(id_)) is None:
            self.kv.put(keys.UNEMBEDDED, keys.number(id_), b"")

    def _models(self) -> list[bytes]:
        """digest16 of each model that has vectors here."""
        found: list[bytes] = []
        row = self.kv.seek(keys.VECTORS, b"")
        while row is not None:
            found.append(row[0][:-UID_BYTES])
            beyond = keys.after(found[-1])
            row = self.kv.seek(keys.VECTORS, beyond) if beyond else None
        return found

    # --- texts, turns, vectors, local facts

    def put_text(self, text: str, salt: bytes | None = None) -> bytes:
        salt = os.urandom(SALT_BYTES) if salt is None else salt
        raw = text.encode()
        digest = ev.blob_digest(salt, raw)
        self.kv.put(keys.BLOBS, digest, salt + raw)
        return digest

    def add_turn(self, turn: Turn) -> int:
        return turn_rows.add(self.kv, turn, self.session_turns(turn.session))

    def drop_turn(self, number: int) -> None:
        turn = self.turn(number)
        if turn is not None:
            turn_rows.drop(self.kv, turn)

    def put_raised(self, number: int, raised: Raised) -> None:
        self.kv.put(keys.RAISED, keys.number(number), _encoder.encode(raised))

    def put_vector(self, model: str, uid: bytes, vector: bytes) -> None:
        self._use_model(model)
        self.kv.put(keys.VECTORS, keys.vector_key(model, uid), vector)
        id_ = self.id_of(uid)
        if id_ is not None:
            self.kv.delete(keys.UNEMBEDDED, keys.number(id_))

    def _use_model(self, model: str) -> None:
        """The queue is the queue of one model: with a new one it is made anew from the notes without its vectors."""
        if self.kv.get(keys.META, keys.META_MODEL) != model.encode():
            self._queue_anew(model)
            self.kv.put(keys.META, keys.META_MODEL, model.encode())

    def _queue_anew(self, model: str) -> None:
        waiting = list(self._all_waiting(model))
        self.kv.clear(keys.UNEMBEDDED)
        for id_ in waiting:
            self.kv.put(keys.UNEMBEDDED, keys.number(id_), b"")

    def no_vector(self, uid: bytes) -> None:
        id_ = self.id_of(uid)
        if id_ is not None:
            self.kv.put(keys.UNWANTED, keys.number(id_), b"")
            self.kv.delete(keys.UNEMBEDDED, keys.number(id_))

    def want_vector(self, uid: bytes) -> None:
        id_ = self.id_of(uid)
        if id_ is not None and self.kv.delete(keys.UNWANTED, keys.number(id_)):
            self.kv.put(keys.UNEMBEDDED, keys.number(id_), b"")

    def put_setting(self, key: str, value: bytes | None) -> None:
        name = key.encode()
        if not 0 < len(name) <= keys.KEY_MAX_BYTES:
            raise UsageError(f"a setting's name has 1 to {keys.KEY_MAX_BYTES} bytes")
        if value is None:
            self.kv.delete(keys.SETTINGS, name)
        else:
            self.kv.put(keys.SETTINGS, name, value)

    # --- from the log alone

    def refold(self, subject: bytes) -> None:
        """One note's fold and index rows made anew; rows that neither fold gives are left to `rebuild`."""
        made = self.fold_from_log(subject)
        if made is None:
            return  # the log is damaged, and what stands may be all that is left
        self._keep_numbers({subject})
        self._put_note(subject, self._entered(subject), made)
        for table, key, value in rows_of(made, self.id_of(subject) or 0):
            self.kv.put(table, key, value)

    def entered(self, uid: bytes) -> Note | None:
        """The cached fold, right or wrong: what the index rows that stand follow from."""
        return self._entered(uid)

    def enter_fold(self, uid: bytes, note: Note) -> list[Row]:
        """The fold that a note's log gives, and its index rows; gives those. What else stands in the tables is left there: a fold
        that was wrong says nothing of whose rows they are."""
        raw, rows = encode_note(note), list(rows_of(note, self.id_of(uid) or self._new_id(uid)))
        for table, key, value in ((keys.FOLDS, uid, raw), *rows):
            if self.kv.get(table, key) != value:  # a row that is right costs no page of the disk
                self.kv.put(table, key, value)
        if self.trusted.must_compare(uid):
            self.trusted.folds[uid] = keys.digest16(raw)
        if note.forgotten:
            self._drop(uid, self.id_of(uid) or 0)
        return rows

    def _keep_numbers(self, uids: set[bytes]) -> None:
        """A note keeps the number that people quote, where only the table that leads to it was emptied."""
        lost = {uid for uid in uids if self.kv.get(keys.ALIASES, uid) is None}
        for id_, uid in self.kv.scan(keys.IDS) if lost else ():
            if uid in lost:
                self.kv.put(keys.ALIASES, uid, id_)
                lost.discard(uid)
