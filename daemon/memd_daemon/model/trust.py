"""Which events a person stands behind (trust-boundary.md): the identity log, and what a signature covers.

A signature is Ed25519 over `memd_client.signing.signed_digest(store, body, content digest, revision)`. `what_is_signed` says which
content and revision those are; the signer and every reader compute the same, because they look at nothing but the event and the
note **as the writer saw it**: the fold of the event's ancestors (its parents, theirs, and so on). What arrives later from elsewhere
therefore never makes a good signature bad.

The **identity log** is made of the `key_enrolled` and `key_rejected` events whose subject is the store:

- the first enrolment, the **founder**, stands by itself; where it carries a signature, that is its own key's. A store appends no
  unsigned one any more (store/log_write.py), so that whoever enrols a key has shown that he holds it; one that was written before
  stands, and is no weaker for it: who can write into the file can sign with a key of his own as well. Of several that could be the
  first, that of this store's own chain is; a commit under another origin's name can be slipped in before it without a gap;
- a later one counts where it is signed by a key enrolled at its place, or by a recovery key;
- a rejection is signed likewise and ends the key from its place on; what the key signed before stands. It names the chains that
  its writer knew, so that whoever has the rejected key can date nothing back: what stands before it and in none of those commits
  counts as signed after it, and so does a key event of that kind, of which nothing is left;
- the founder's recovery key stands for ever, a later key's as long as the key does.

An event counts as **signed** where its actor is `human`, it was committed in this store (``Header.store``), its ``key_id`` names a
key enrolled at its place, and the signature verifies. Keys of other stores prove nothing here: whoever can write the file could
otherwise found a store of his own and endorse with its key.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, cast

import msgspec

from memd_daemon.model import event as ev
from memd_daemon.model import fold
from memd_daemon.model.event import GENESIS, Stored
from memd_daemon.model.note import Note
from memd_daemon.model.words import Actor

Place = tuple[int, bytes, int, int]

Proof = Callable[[bytes, bytes, bytes, int, bytes], bool]
"""(public key, body, content digest, revision, signature) -> whether it verifies for this store."""

NO_CONTENT: Final = (GENESIS, 0)
"""What stands for content and revision where the subject is no note."""

_PUBLIC_BYTES: Final = 32

_REVISION_MAX: Final = (1 << 64) - 1  # what a signature has room for

KEY_TYPES: Final = ("key_enrolled", "key_rejected")


class Enrolment(msgspec.Struct, frozen=True, kw_only=True):
    """A key and the stretch of the log in which it counts."""

    key_id: bytes
    public: bytes
    recovery_public: bytes
    since: Place
    until: Place | None = None
    seen: tuple[tuple[bytes, int], ...] = ()  # by whoever ended it; () is not said
    founder: bool = False

    def stands_at(self, place: Place) -> bool:
        return self.since < place and (self.until is None or (place < self.until and self.was_seen(place)))

    def was_seen(self, place: Place) -> bool:
        """Whether the place lies in a commit that whoever ended the key knew, or in that of its end."""
        _, origin, seq, _ = place
        itself = self.until is not None and self.until[1:3] == (origin, seq)
        return not self.seen or itself or seq <= dict(self.seen).get(origin, 0)


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """The identity log of one store, folded."""

    store: bytes
    enrolments: tuple[Enrolment, ...] = ()
    accepted: frozenset[bytes] = frozenset()  # uids of the key events that count

    def public_at(self, key_id: bytes, place: Place) -> bytes | None:
        """The public key that this id names at a place."""
        return next((e.public for e in self.enrolments if e.key_id == key_id and e.stands_at(place)), None)

    def public_now(self, key_id: bytes) -> bytes | None:
        return next((e.public for e in self.enrolments if e.key_id == key_id and e.until is None), None)

    def standing(self) -> list[Enrolment]:
        """The enrolments that nobody rejected, the newest first."""
        return [e for e in reversed(self.enrolments) if e.until is None]

    def newest(self) -> bytes | None:
        """The id of the key that was enrolled last and not rejected."""
        return next((e.key_id for e in self.standing()), None)

    def recovery_now(self) -> tuple[bytes, ...]:
        """The recovery keys that may sign the next key event."""
        return tuple(e.recovery_public for e in self.enrolments if e.recovery_public and (e.until is None or e.founder))

    def recovery_at(self, place: Place) -> tuple[bytes, ...]:
        """The recovery keys that may sign a key event at a place."""
        return tuple(
            e.recovery_public
            for e in self.enrolments
            if e.recovery_public and (e.stands_at(place) or (e.founder and e.since < place))
        )


_P: Final = 2**255 - 19
_D: Final = -121665 * pow(121666, -1, _P) % _P
"""The field and the constant of the curve -x² + y² = 1 + d·x²·y² (RFC 8032, section 5.1)."""


def is_public_key(public: bytes) -> bool:
    """Whether 32 bytes are an Ed25519 key that can belong to one holder: a point of the curve, written as RFC 8032 writes it, whose
    order is large (under one of the eight of small order signatures verify that nobody made)."""
    if len(public) != _PUBLIC_BYTES:
        return False
    y = int.from_bytes(public, "little") & ((1 << 255) - 1)
    if y >= _P:
        return False
    square = y * y % _P
    above, below = (square - 1) % _P, (_D * square + 1) % _P
    x_square = above * pow(below, -1, _P) % _P
    is_small = y in (0, 1, _P - 1) or (_D * square * square + 2 * square - 1) % _P == 0
    return not is_small and pow(x_square, (_P - 1) // 2, _P) == 1


def what_is_signed(event: ev.Event, note_before: Note | None) -> tuple[bytes, int]:
    """(content digest, revision) that a signature of ``event`` covers.

    `promoted` names both itself; `recorded` covers its own content as revision 1; every other event on a note covers the newest
    wording of ``note_before``, which is the fold of the event's ancestors; an event about the store covers `NO_CONTENT`.
    Raises msgspec.ValidationError where the payload does not fit its type.
    """
    if event.type == "promoted":
        promoted = cast(ev.Promoted, ev.payload_of(event))
        return promoted.content, promoted.revision
    if event.type == "recorded":
        return cast(ev.Recorded, ev.payload_of(event)).content, 1
    if note_before is None:
        return NO_CONTENT
    return note_before.revisions[-1].content, note_before.revision


def identity_of(store: bytes, events: Iterable[Stored], proof: Proof, origin: bytes = b"") -> Identity:
    """The identity log in ``events`` of the store's own subject. ``origin``: whose chain this store writes itself."""
    ordered = fold.order(e for e in events if e.event.type in KEY_TYPES and e.store == store)[0]
    first = _founding(ordered, proof, origin)
    void: dict[bytes, frozenset[bytes]] = {}  # rejection -> the key events that it takes back
    vain: set[bytes] = set()  # rejections that would take back what they stand on
    identity = _folded(store, ordered, proof, first, void)
    while (found := _dated_back(identity, ordered, proof, void, vain)) is not None:
        at, taken = found
        later = {s.event.uid for s in ordered if s.place > at.place}
        tried = {cause: uids for cause, uids in void.items() if cause in later}
        tried[at.event.uid] = taken | void.get(at.event.uid, frozenset())
        without = _folded(store, ordered, proof, first, tried)
        if at.event.uid in without.accepted:
            identity, void = without, tried
        else:
            vain.add(at.event.uid)
    return identity


def _folded(
    store: bytes, ordered: Sequence[Stored], proof: Proof, first: bytes, void: Mapping[bytes, frozenset[bytes]]
) -> Identity:
    identity = Identity(store=store)
    out = frozenset().union(*void.values())
    for stored in ordered:
        payload = ev.readable_payload_of(stored.event) if stored.event.uid not in out else None
        if isinstance(payload, ev.KeyEnrolled):
            identity = _enrol(identity, stored, payload, proof, first)
        elif isinstance(payload, ev.KeyRejected):
            identity = _reject(identity, stored, payload, proof)
    return identity


def _dated_back(
    identity: Identity,
    ordered: Sequence[Stored],
    proof: Proof,
    void: Mapping[bytes, frozenset[bytes]],
    vain: Collection[bytes],
) -> tuple[Stored, frozenset[bytes]] | None:
    """The last rejection before which its key signed key events that nobody had seen, and those; None where there is none."""
    counted = [s for s in ordered if s.event.uid in identity.accepted]
    for at in reversed(counted):
        ended = [e for e in identity.enrolments if e.until == at.place and e.seen]
        if at.event.uid in vain or not ended:
            continue
        taken = {
            s.event.uid
            for s in counted
            for e in ended
            if e.since < s.place < at.place and not e.was_seen(s.place) and _signed_by(e, s, proof)
        }
        if taken - void.get(at.event.uid, frozenset()):
            return at, frozenset(taken)
    return None


def _signed_by(one: Enrolment, stored: Stored, proof: Proof) -> bool:
    keys = (one.public, *(() if one.founder or not one.recovery_public else (one.recovery_public,)))
    return bool(stored.sig) and any(_proves(proof, stored, key) for key in keys)


def _founding(ordered: Sequence[Stored], proof: Proof, origin: bytes) -> bytes:
    """The uid of the enrolment with which the identity log begins; b"" where none stands by itself."""
    by_themselves = [s for s in ordered if _stands_by_itself(s, proof)]
    own = [s for s in by_themselves if s.origin == origin]
    return next((s.event.uid for s in (*own, *by_themselves)), b"")


def _stands_by_itself(stored: Stored, proof: Proof) -> bool:
    payload = ev.readable_payload_of(stored.event)
    return isinstance(payload, ev.KeyEnrolled) and (not stored.sig or _proves(proof, stored, payload.public))


def _enrol(identity: Identity, stored: Stored, payload: ev.KeyEnrolled, proof: Proof, first: bytes) -> Identity:
    founder = stored.event.uid == first
    good = founder or _key_event_signed(identity, stored, proof)
    if not good or identity.public_at(payload.key_id, stored.place) is not None:
        return identity
    new = Enrolment(
        key_id=payload.key_id,
        public=payload.public,
        recovery_public=payload.recovery_public,
        since=stored.place,
        founder=founder,
    )
    return msgspec.structs.replace(
        identity, enrolments=(*identity.enrolments, new), accepted=identity.accepted | {stored.event.uid}
    )


def _reject(identity: Identity, stored: Stored, payload: ev.KeyRejected, proof: Proof) -> Identity:
    standing = [e for e in identity.enrolments if e.key_id == payload.key_id and e.until is None]
    if not standing or not _key_event_signed(identity, stored, proof):
        return identity
    ended = tuple(
        msgspec.structs.replace(e, until=stored.place, seen=payload.seen) if e in standing else e
        for e in identity.enrolments
    )
    return msgspec.structs.replace(identity, enrolments=ended, accepted=identity.accepted | {stored.event.uid})


def _key_event_signed(identity: Identity, stored: Stored, proof: Proof) -> bool:
    enrolled = identity.public_at(stored.event.key_id, stored.place)
    keys = (*((enrolled,) if enrolled else ()), *identity.recovery_at(stored.place))
    return bool(stored.sig) and any(_proves(proof, stored, key) for key in keys)


def _proves(proof: Proof, stored: Stored, public: bytes) -> bool:
    return proof(public, stored.body, *NO_CONTENT, stored.sig)


def is_signed(stored: Stored, note_before: Note | None, identity: Identity, proof: Proof) -> bool:
    """Whether a person stands behind this event. ``note_before``: the fold of its ancestors."""
    event = stored.event
    if event.type in KEY_TYPES:
        return bool(stored.sig) and event.uid in identity.accepted
    if not stored.sig or event.actor != Actor.HUMAN or stored.store != identity.store:
        return False
    public = identity.public_at(event.key_id, stored.place)
    if public is None:
        return False
    try:
        content, revision = what_is_signed(event, note_before)
    except (msgspec.ValidationError, msgspec.DecodeError):
        return False
    if len(content) != len(GENESIS) or not 0 <= revision <= _REVISION_MAX:
        return False
    return proof(public, stored.body, content, revision, stored.sig)


def judged(events: Iterable[Stored], identity: Identity, proof: Proof) -> list[Stored]:
    """``events`` of one subject in fold order, waiting ones last, each with ``signed`` worked out anew.

    Which of them are signed is worked out with parents first; what is told then stands in the order that follows from it.
    """
    done, waiting = fold.order(map(_unsigned, events))
    if not any(stored.sig for stored in done):
        return [*done, *waiting]
    told: dict[bytes, Stored] = {}
    note: Note | None = None
    for stored in done:
        before = note
        if stored.sig and not (note is not None and note.heads == tuple(sorted(set(stored.event.parents)))):
            before = _fold_of_ancestors(stored, told)
        known = msgspec.structs.replace(stored, signed=is_signed(stored, before, identity, proof))
        told[stored.event.uid] = known
        note = fold.fold(told.values()) if known.signed and before is not note else fold.step(note, known)[0]
    return [*fold.order(told.values())[0], *waiting]


def _unsigned(stored: Stored) -> Stored:
    return msgspec.structs.replace(stored, signed=False) if stored.signed else stored


def _fold_of_ancestors(stored: Stored, known: Mapping[bytes, Stored]) -> Note | None:
    found: dict[bytes, Stored] = {}
    due = list(stored.event.parents)
    while due:
        uid = due.pop()
        if uid not in found and uid in known:
            found[uid] = known[uid]
            due.extend(known[uid].event.parents)
    return fold.fold(found.values())


def says_a_person_acted(note: Note) -> bool:
    """Whether anything in the fold rests on a signature, so that a cached one has to be checked before it is believed."""
    falls = (*note.revocations, *note.past_revocations)
    return (
        note.forgotten
        or note.person_confirmed_at > 0
        or any(r.provenance == "human" for r in note.revisions)
        or any(f.signed or f.actor == Actor.HUMAN for f in falls)
        or (note.reinstated is not None and (note.reinstated.signed or note.reinstated.actor == Actor.HUMAN))
    )
