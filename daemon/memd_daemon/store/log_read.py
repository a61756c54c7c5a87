"""The port's `Snapshot` over ordered tables: each method is a few look-ups of store/keys.py.

A cached fold that rests on a signature, or that should (store/trusted.py), is checked against the log once in the life of a process
before it is believed, so that an edit of the store's file neither endorses nor takes back; the same goes for one that cannot be
read. A text that is not the one its digest names is given to nobody.
"""

import itertools
import struct
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from memd_daemon.errors import StoreDamaged
from memd_daemon.limits import HYBRID_TIME_MAX, SALT_BYTES
from memd_daemon.model import fold, trust
from memd_daemon.model.event import Header, Stored, blob_digest, commit_digest, decode_event, event_digest
from memd_daemon.model.note import Note, decode_note, encode_note
from memd_daemon.model.turn import Raised, Turn
from memd_daemon.store import keys
from memd_daemon.store.indexes import rows_of
from memd_daemon.store.kv import Reading
from memd_daemon.store.port import Counts, StoreInfo
from memd_daemon.store.proven import proof_for
from memd_daemon.store.scoped import Scoped
from memd_daemon.store.trusted import Trusted, may_be_signed

BROKEN = (msgspec.ValidationError, msgspec.DecodeError)
"""What decoding raises for bytes that are not what they should be."""

UNREADABLE = (StoreDamaged, struct.error)
"""What reading the log of one subject raises where a commit or a key in it is not what it should be."""

_commit_decoder = msgspec.msgpack.Decoder(tuple[bytes, tuple[bytes, ...]])
_event_decoder = msgspec.msgpack.Decoder(tuple[bytes, bytes])
_header_decoder = msgspec.msgpack.Decoder(Header)
_turn_decoder = msgspec.msgpack.Decoder(Turn)
_raised_decoder = msgspec.msgpack.Decoder(Raised)


class Tail(msgspec.Struct, frozen=True, array_like=True):
    """Where the log of one subject ends: enough to know whether a new event can simply be added to the fold."""

    place: bytes = b""
    events: int = 0
    waiting: int = 0


def tail_of(log: Sequence[Stored]) -> Tail:
    """The tail of a subject with these events, duplicates among them."""
    last = max((keys.place_bytes(stored.place) for stored in log), default=b"")
    return Tail(place=last, events=len(log), waiting=len(fold.order(log)[1]))


_tail_decoder = msgspec.msgpack.Decoder(Tail)


def decode_commit(raw: bytes) -> tuple[bytes, tuple[bytes, ...]]:
    """(header bytes, event digests). Raises msgspec.DecodeError or ValidationError."""
    return _commit_decoder.decode(raw)


def decode_header(raw: bytes) -> Header:
    """Raises msgspec.DecodeError or ValidationError."""
    return _header_decoder.decode(raw)


def decode_stored(raw: bytes, header: Header, index: int) -> Stored:
    """The event of one row, its signature not yet judged. Raises msgspec.DecodeError or ValidationError."""
    body, sig = _event_decoder.decode(raw)
    return Stored(
        event=decode_event(body),
        body=body,
        sig=sig,
        hlc=header.hlc,
        origin=header.origin,
        seq=header.seq,
        index=index,
        store=header.store,
    )


def decode_turn(raw: bytes) -> Turn:
    """Raises msgspec.DecodeError or ValidationError."""
    return _turn_decoder.decode(raw)


def is_blob(digest: bytes, raw: bytes) -> bool:
    """Whether a row of the table of texts is the one that its digest names."""
    return len(raw) >= SALT_BYTES and blob_digest(raw[:SALT_BYTES], raw[SALT_BYTES:]) == digest


class LogSnapshot(Scoped):
    """`memd_daemon.store.port.Snapshot` over a keeper of tables. ``trusted`` is shared by all snapshots of a store."""

    def __init__(self, kv: Reading, info: StoreInfo, trusted: Trusted, additions: int = 0) -> None:
        super().__init__()
        self.kv = kv
        self.additions = additions
        self.info = info
        self.trusted = trusted
        self._proof = proof_for(info.store)
        self._identity: trust.Identity | None = None
        self._version: tuple[int, int] | None = None

    # --- notes

    def note(self, uid: bytes) -> Note | None:
        note = self.folded(uid)
        return None if note is None else self.at_home(note)

    def folded(self, uid: bytes) -> Note | None:
        """The note in the scope that its events say, whatever this store knows of that repository (scoped.py)."""
        raw = self.kv.get(keys.FOLDS, uid)
        if raw is None:
            return self._note_anew(uid, b"") if uid != self.info.store and self.trusted.signed_places(uid) else None
        try:
            note = decode_note(raw)
        except BROKEN:
            return self._note_anew(uid, raw)
        if note.uid == uid and not (self.trusted.must_compare(uid) or trust.says_a_person_acted(note)):
            return note
        return note if self.trusted.folds.get(uid) == keys.digest16(raw) else self._note_anew(uid, raw)

    def _note_anew(self, uid: bytes, cached: bytes) -> Note | None:
        """The note from its log; ``cached`` is believed from now on where it is the same."""
        made = self.fold_from_log(uid)
        if cached != (b"" if made is None else encode_note(made)):
            self.trusted.raise_doubt(uid)
        elif cached:
            self.trusted.folds[uid] = keys.digest16(cached)
        return made

    def notes(self, *, newest_first: bool = True) -> Iterator[tuple[int, Note]]:
        for key, uid in self.kv.scan(keys.IDS, reverse=newest_first):
            note = self.note(uid)
            if note is not None:
                yield keys.of_number(key), note

    def id_of(self, uid: bytes) -> int | None:
        raw = self.kv.get(keys.ALIASES, uid)
        return None if raw is None else keys.of_number(raw)

    def uid_of(self, id_: int) -> bytes | None:
        return self.kv.get(keys.IDS, keys.number(id_)) if 0 <= id_ < 1 << 64 else None

    def uid_of_slug(self, slug: str) -> bytes | None:
        return next((uid for _, uid in self.kv.scan(keys.SLUGS, keys.digest16(slug))), None)

    def children_of(self, uid: bytes) -> Iterator[bytes]:
        for key, _ in self.kv.scan(keys.CHILDREN, uid):
            yield key[len(uid) :]

    def absorbed_by(self, uid: bytes) -> Iterator[bytes]:
        for key, _ in self.kv.scan(keys.ABSORBED, uid):
            yield key[len(uid) :]

    def text(self, digest: bytes) -> str | None:
        raw = self.kv.get(keys.BLOBS, digest) if digest else None
        return raw[SALT_BYTES:].decode() if raw is not None and self._is_text(digest, raw) else None

    def _is_text(self, digest: bytes, raw: bytes) -> bool:
        """Whether a blob is the text that was recorded under this digest; else nobody may see it."""
        if is_blob(digest, raw):
            return True
        self.trusted.raise_doubt(digest)
        return False

    def salted_text(self, digest: bytes) -> tuple[bytes, str]:
        raw = self.kv.get(keys.BLOBS, digest)
        if raw is None:
            raise KeyError(digest)
        if not self._is_text(digest, raw):
            raise StoreDamaged(f"the text {digest.hex()[:16]}… is not the one that was recorded")
        return raw[:SALT_BYTES], raw[SALT_BYTES:].decode()

    # --- the log

    def events_of(self, uid: bytes) -> list[Stored]:
        return sorted(self.judged(uid), key=lambda s: s.place)

    def event(self, uid: bytes) -> Stored | None:
        raw = self.kv.get(keys.EVENT_UIDS, uid)
        stored = None if raw is None else self.stored_at(raw)
        if stored is None or not stored.sig:
            return stored
        return next((s for s in self.judged(stored.event.note) if s.place == stored.place), stored)

    def last_seq(self) -> int:
        row = self.kv.last(keys.COMMITS, self.info.origin)
        return 0 if row is None else keys.of_commit_key(row[0])[1]

    def head(self) -> bytes:
        raw = self.kv.get(keys.META, keys.META_HEAD)
        return b"" if raw is None else raw[8:]

    def digest_of(self, seq: int) -> bytes:
        raw = self.kv.get(keys.COMMITS, keys.commit_key(self.info.origin, seq))
        try:
            return b"" if raw is None else commit_digest(*decode_commit(raw))
        except BROKEN:
            return b""

    def chains(self) -> list[tuple[bytes, int]]:
        found: list[tuple[bytes, int]] = []
        row = self.kv.seek(keys.COMMITS, b"")
        while row is not None:
            origin, _ = keys.of_commit_key(row[0])
            last = self.kv.last(keys.COMMITS, origin) or row
            found.append((origin, keys.of_commit_key(last[0])[1]))
            beyond = keys.after(origin)
            row = self.kv.seek(keys.COMMITS, beyond) if beyond else None
        return found

    def changed_since(self, seq: int) -> Iterator[bytes]:
        at, header = 0, None
        for key, raw in self.kv.scan(keys.EVENTS, self.info.origin, reverse=True):
            origin, number, index = keys.of_event_key(key)
            if number <= seq:
                return
            if number != at:  # a commit of thousands of events names the digest of each: it is read once
                at, header = number, self.header_of(origin, number)
            if header is not None:
                yield decode_stored(raw, header, index).event.note

    def header_of(self, origin: bytes, seq: int) -> Header | None:
        raw = self.kv.get(keys.COMMITS, keys.commit_key(origin, seq))
        return None if raw is None else decode_header(decode_commit(raw)[0])

    def stored_at(self, place: bytes) -> Stored | None:
        """The event at a place, not judged; None where it is withheld. Raises StoreDamaged where it cannot be read."""
        _, origin, seq, index = keys.of_place(place)
        raw = self.kv.get(keys.EVENTS, keys.event_key(origin, seq, index))
        try:
            header = self.header_of(origin, seq)
            return None if raw is None or header is None else decode_stored(raw, header, index)
        except BROKEN as error:
            raise StoreDamaged(f"commit {seq} of {origin.hex()} cannot be read") from error

    def log_of(self, uid: bytes) -> list[Stored]:
        """The events of one subject by place, signatures not judged. What names another subject is not among them, whatever the
        index says: a signature is good for one note."""
        return self.log_at(uid, [keys.place_of_subject_key(key) for key, _ in self.kv.scan(keys.SUBJECTS, uid)])

    def log_at(self, uid: bytes, places: Sequence[bytes]) -> list[Stored]:
        """`log_of`, with the places that the index of events by note has for it."""
        unentered = self.trusted.signed_places(uid).difference(places)  # a signed event counts whatever the index holds
        found = ((place, self.stored_at(place)) for place in (*places, *sorted(unentered)))
        return [
            stored
            for place, stored in found
            if stored is not None
            and stored.event.note == uid
            and (place not in unentered or keys.place_bytes(stored.place) == place)
        ]

    def judged(self, uid: bytes) -> list[Stored]:
        """The events of one subject in fold order, waiting ones last, signatures judged."""
        return self.judge(self.log_of(uid))

    def judge(self, events: Iterable[Stored]) -> list[Stored]:
        named = (s if not s.sig or self._is_committed(s) else msgspec.structs.replace(s, sig=b"") for s in events)
        return trust.judged(named, self.identity(), self._proof)

    def fold_from_log(self, uid: bytes) -> Note | None:
        return fold.fold(self.judged(uid))

    def identity(self) -> trust.Identity:
        if self._identity is None:
            log = [stored for stored in self.log_of(self.info.store) if self._is_committed(stored)]
            self._identity = trust.identity_of(self.info.store, log, self._proof, self.info.origin)
        return self._identity

    def _is_committed(self, stored: Stored) -> bool:
        """Whether its commit names the event: a row that was slipped into the table is nobody's signed act."""
        raw = self.kv.get(keys.COMMITS, keys.commit_key(stored.origin, stored.seq))
        digests = () if raw is None else decode_commit(raw)[1]
        return stored.index < len(digests) and digests[stored.index] == event_digest(stored.body, stored.sig)

    def signed_events(self) -> Iterator[Stored]:
        """Every event about a note for which a person's signature stands, note by note; looks at each event there is."""
        rows = self.kv.scan(keys.EVENTS)
        found = (self._stored_in(key, row) for key, row in rows if may_be_signed(row))
        subjects = {stored.event.note for stored in found if stored is not None and stored.sig}
        for subject in sorted(subjects - {self.info.store}):
            yield from (stored for stored in self.judged(subject) if stored.signed)

    def enrolled(self, key_id: bytes) -> bytes | None:
        return self.identity().public_now(key_id)

    def key_in_use(self) -> bytes | None:
        return self.identity().newest()

    def seems_to_stand(self, uid: bytes) -> bool:
        """Whether the cached fold of a note that has signed events says so, and its index rows are there: cheap, and no proof."""
        raw, id_ = self.kv.get(keys.FOLDS, uid), self.id_of(uid)
        if raw is None or id_ is None:
            return uid == self.info.store
        try:
            note = decode_note(raw)
        except BROKEN:
            return False
        return trust.says_a_person_acted(note) and self._is_entered(note, id_)

    def _is_entered(self, note: Note, id_: int) -> bool:
        return all(self.kv.get(table, key) == value for table, key, value in rows_of(note, id_))

    def stands(self, uid: bytes) -> bool:
        """Whether the cached fold of a note and its index rows are those that its log gives."""
        if uid == self.info.store:
            return True
        made, id_, raw = self.folded(uid), self.id_of(uid), self.kv.get(keys.FOLDS, uid)
        if made is None or id_ is None:
            return made is None and raw is None
        return encode_note(made) == raw and self._is_entered(made, id_)

    def learn(self) -> None:
        """Looks at every event once (store/trusted.py)."""
        self.trusted.learn(self.kv.scan(keys.EVENTS), self._stored_in)

    def _stored_in(self, key: bytes, raw: bytes) -> Stored | None:
        origin, seq, index = keys.of_event_key(key)
        try:
            header = self.header_of(origin, seq)
            return None if header is None else decode_stored(raw, header, index)
        except BROKEN:
            return None

    def tail(self, uid: bytes) -> Tail:
        raw = self.kv.get(keys.TAILS, uid)
        return Tail() if raw is None else _tail_decoder.decode(raw)

    # --- turns

    def turn(self, number: int) -> Turn | None:
        raw = self.kv.get(keys.TURNS, keys.number(number)) if 0 <= number < 1 << 64 else None
        return None if raw is None else decode_turn(raw)

    def turns(self, *, session: str | None = None) -> Iterator[Turn]:
        if session is None:
            for _, raw in self.kv.scan(keys.TURNS, reverse=True):
                yield decode_turn(raw)
            return
        for key, _ in self.kv.scan(keys.TURN_SESSIONS, keys.digest16(session), reverse=True):
            turn = self.turn(keys.of_number(key))
            if turn is not None:
                yield turn

    def turns_after(self, number: int, before: int, most: int, *, ahead: int = HYBRID_TIME_MAX) -> list[Turn]:
        found: list[Turn] = []
        row = self.kv.seek(keys.TURNS, keys.number(number + 1))
        while row is not None and len(found) < most:
            turn = decode_turn(row[1])
            if before <= turn.at <= ahead:
                break
            found.append(turn)
            row = self.kv.seek(keys.TURNS, row[0] + b"\0")
        return found

    def raised(self, number: int) -> Raised | None:
        raw = self.kv.get(keys.RAISED, keys.number(number)) if 0 <= number < 1 << 64 else None
        try:
            return None if raw is None else _raised_decoder.decode(raw)
        except BROKEN:  # what cannot be read raises nothing
            return None

    def turn_of_request(self, request: bytes) -> int | None:
        raw = self.kv.get(keys.TURN_REQUESTS, keys.digest16(request))
        return None if raw is None else keys.of_number(raw)

    def turn_of_prompt(self, session: str, prompt_id: str) -> int | None:
        raw = self.kv.get(keys.TURN_PROMPTS, keys.digest16(session) + keys.digest16(prompt_id))
        return None if raw is None else keys.of_number(raw)

    def session_turns(self, session: str) -> int:
        row = self.kv.last(keys.TURN_SESSIONS, keys.digest16(session))
        return 0 if row is None else keys.of_number(row[1])

    # --- vectors

    def vector(self, model: str, uid: bytes) -> bytes | None:
        return self.kv.get(keys.VECTORS, keys.vector_key(model, uid))

    def vectors(self, model: str) -> Iterator[tuple[int, bytes]]:
        for key, raw in self.kv.scan(keys.VECTORS, keys.digest16(model)):
            id_ = self.id_of(key[-16:])
            if id_ is not None:
                yield id_, raw

    def unembedded(self, model: str, limit: int) -> list[int]:
        """Ids of notes that wait for their vector, oldest first; for a model that stored none yet, every note waits."""
        waiting = (
            self._waiting() if self.kv.get(keys.META, keys.META_MODEL) == model.encode() else self._all_waiting(model)
        )
        return list(itertools.islice(waiting, limit))

    def _waiting(self) -> Iterator[int]:
        for key, _ in self.kv.scan(keys.UNEMBEDDED):
            yield keys.of_number(key)

    def _all_waiting(self, model: str) -> Iterator[int]:
        for key, uid in self.kv.scan(keys.IDS):
            if self.waits(key, uid, model):
                yield keys.of_number(key)

    def waits(self, id_: bytes, uid: bytes, model: str) -> bool:
        """Whether a wording of the note has no vector of this model, and is to have one. ``id_``: the key of its number."""
        note = self.note(uid) if self.kv.get(keys.UNWANTED, id_) is None else None
        if note is None or note.forgotten:
            return False
        return any(self.vector(model, wording) is None for _, wording, _ in note.wordings)

    # --- local facts

    def setting(self, key: str) -> bytes | None:
        return self.kv.get(keys.SETTINGS, key.encode())

    def settings(self, prefix: str) -> Iterator[tuple[str, bytes]]:
        for key, value in self.kv.scan(keys.SETTINGS, prefix.encode()):
            yield key.decode(), value

    def moment(self) -> int:
        return self.kv.moment()

    def version(self) -> tuple[int, int]:
        if self._version is None:
            self._version = self.kv.count(keys.COMMITS), self.kv.count(keys.EVENTS)
        return self._version

    def counts(self) -> Counts:
        return Counts(
            notes=self.kv.count(keys.FOLDS),
            events=self.kv.count(keys.EVENTS),
            commits=self.kv.count(keys.COMMITS),
            turns=self.kv.count(keys.TURNS),
            bytes_on_disk=self.kv.bytes_on_disk(),
        )
