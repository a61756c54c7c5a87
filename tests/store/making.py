"""What the tests of model and store write with: events with everything filled in, a person with a key, a pen on a store."""

import hashlib
import itertools
import os
from collections.abc import Sequence

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from memd_client import signing
from memd_daemon.model import event as ev
from memd_daemon.model import trust
from memd_daemon.model.event import Event, Header, Stored
from memd_daemon.model.note import Note
from memd_daemon.store.port import CommitReceipt, Draft, Store, Txn

NOON = 1_772_000_000_000  # some moment in 2026
_counter = itertools.count(1)

HERE = "repo:r"
STORE = b"S" * 16
ORIGIN = b"O" * 16


def fresh_uid() -> bytes:
    """A uid that no other test has, nor another process."""
    return hashlib.sha256(b"uid %d %d" % (os.getpid(), next(_counter))).digest()[:16]


def digest_of(words: str) -> bytes:
    """What stands for a blob where no store is at hand."""
    return hashlib.sha256(words.encode()).digest()


def recorded(**fields: object) -> ev.Recorded:
    """A finding of an agent, unless something else is said."""
    given: dict[str, object] = {
        "content": digest_of("content"),
        "summary": digest_of("summary"),
        "kind": "finding",
        "priority": "medium",
        "provenance": "agent",
        "source": ev.Source("inference"),
        "scope": "repo:r",
    }
    return ev.Recorded(**(given | fields))  # type: ignore[arg-type]  # the struct checks its fields when it is decoded


def event(type_: str, note: bytes, payload: msgspec.Struct | None = None, **fields: object) -> Event:
    given: dict[str, object] = {
        "uid": fresh_uid(),
        "note": note,
        "type": type_,
        "at": NOON,
        "actor": "agent",
        "surface": "mcp",
        "payload": ev.make_payload(payload if payload is not None else ev.Nothing()),
    }
    return Event(**(given | fields))  # type: ignore[arg-type]  # as above


def stored(
    made: Event, *, hlc: int = 1, seq: int = 1, index: int = 0, signed: bool = False, origin: bytes = ORIGIN
) -> Stored:
    """An event at a place, with the word given for its signature."""
    body = ev.encode_event(made)
    sig = b"s" * 64 if signed else b""
    return Stored(
        event=made, body=body, sig=sig, hlc=hlc, origin=origin, seq=seq, index=index, store=STORE, signed=signed
    )


class Person:
    """Somebody with an Ed25519 key."""

    def __init__(self, seed: str) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(seed.encode()).digest())
        self.public = self._key.public_key().public_bytes_raw()
        self.key_id = hashlib.sha256(self.public).digest()[:16]

    def sign(self, store: bytes, body: bytes, content: bytes, revision: int) -> bytes:
        return self._key.sign(signing.signed_digest(store, body, content, revision))

    def draft(self, store: bytes, made: Event, note: Note | None) -> Draft:
        """The event as this person's act, signed over what stands in ``note``."""
        made = msgspec.structs.replace(made, actor="human", key_id=self.key_id)
        body = ev.encode_event(made)
        return Draft(body=body, sig=self.sign(store, body, *trust.what_is_signed(made, note)))

    def enrolment(self, recovery: "Person | None" = None) -> ev.KeyEnrolled:
        return ev.KeyEnrolled(
            key_id=self.key_id, public=self.public, recovery_public=recovery.public if recovery else b""
        )


ANNA = Person("anna")
BERT = Person("bert")
RECOVERY = Person("a code on paper")
MALLORY = Person("mallory")


class Pen:
    """Writes to a store as the service does: parents are the heads that stand, time goes on by a second at each write."""

    def __init__(self, store: Store, at: int = NOON) -> None:
        self.store = store
        self.at = at

    def tick(self) -> int:
        self.at += 1000
        return self.at

    def note(self, uid: bytes) -> Note:
        with self.store.read() as snapshot:
            note = snapshot.note(uid)
        assert note is not None
        return note

    def record(self, words: str = "the lock drops on scope exit", **fields: object) -> bytes:
        """Records a note and gives its uid."""
        uid = fresh_uid()
        self.store.write(lambda txn: self.record_in(txn, uid, words, **fields))
        return uid

    def record_in(self, txn: Txn, uid: bytes, words: str = "a claim", **fields: object) -> CommitReceipt:
        content, summary = txn.put_text(words), txn.put_text(words[:20])
        at = self.tick()
        made = event("recorded", uid, recorded(content=content, summary=summary, **fields), at=at)
        return txn.append([Draft(body=ev.encode_event(made))], at=at)

    def act(
        self,
        uid: bytes,
        type_: str,
        payload: msgspec.Struct | None = None,
        *,
        by: Person | None = None,
        **fields: object,
    ) -> Event:
        """One event on a note; ``by`` signs it."""
        at = self.tick()

        def work(txn: Txn) -> Event:
            note = txn.note(uid)
            made = event(type_, uid, payload, at=at, **({"parents": note.heads if note else ()} | fields))
            draft = by.draft(txn_store, made, note) if by else Draft(body=ev.encode_event(made))
            txn.append([draft], at=at)
            return ev.decode_event(draft.body)

        txn_store = self.store.info.store
        return self.store.write(work)

    def enrol(self, person: Person, *, by: Person | None = None, recovery: Person | None = None) -> Event:
        """Signed by the key itself unless somebody else is named."""
        return self.act(self.store.info.store, "key_enrolled", person.enrolment(recovery), by=by or person)

    def endorse(self, uid: bytes, by: Person) -> Event:
        note = self.note(uid)
        promoted = ev.Promoted(to="human", revision=note.revision, content=note.revisions[-1].content)
        return self.act(uid, "promoted", promoted, by=by)

    def revoke(self, uid: bytes, words: str = "it was wrong", *, by: Person | None = None) -> Event:
        reason = self.store.write(lambda txn: txn.put_text(words))
        return self.act(uid, "revoked", ev.Reasoned(reason=reason), by=by)


Commit = tuple[bytes, tuple[bytes, ...], list[tuple[bytes, bytes] | None]]


def commits_of(store: Store) -> list[Commit]:
    """Every commit as it would be sent to another store."""
    from memd_daemon.store import keys
    from memd_daemon.store.log_read import decode_commit

    with store.read() as snapshot:
        found: list[Commit] = []
        for key, raw in snapshot.kv.scan(keys.COMMITS):  # type: ignore[attr-defined]  # both adapters stand on tables
            head, digests = decode_commit(raw)
            rows = [row for _, row in snapshot.kv.scan(keys.EVENTS, key)]  # type: ignore[attr-defined]
            found.append((head, digests, [msgspec.msgpack.decode(row, type=tuple[bytes, bytes]) for row in rows]))
    return found


def foreign_commit(
    events: Sequence[tuple[Event, bytes]],
    *,
    origin: bytes,
    seq: int,
    hlc: int,
    prev: bytes = ev.GENESIS,
    store: bytes = STORE,
) -> Commit:
    """A commit as another store would make it."""
    header = Header(uid=fresh_uid(), store=store, origin=origin, seq=seq, prev=prev, hlc=hlc, events=len(events))
    head = msgspec.msgpack.encode(header)
    pairs: list[tuple[bytes, bytes] | None] = [(ev.encode_event(e), sig) for e, sig in events]
    return head, tuple(ev.event_digest(*pair) for pair in pairs if pair is not None), pairs
