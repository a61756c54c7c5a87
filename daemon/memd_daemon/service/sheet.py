"""The events of one act, in their order: what is recorded, what only a proposal can be, and what a person signs.

An act says what it wants of which note (`Sheet.add`); the sheet knows who may:

- an act of `proof.PERSON_ONLY` on a note that a person endorsed becomes `proposed`, and nothing of it happens (model.md, 2);
- where the asker can sign, its events on endorsed notes are marked to be signed instead, and the act becomes a plan;
- what needs a person whatever the note's class is (``by_person``) is refused where nobody can sign.

Each event comes after what its writer saw of the note and after those of the same note before it on the sheet.

A plan holds bytes, and an act is carried out in another moment than it was planned in. So it is built a second time, inside the
write transaction, with all its preconditions: events that come out as they were planned are taken from the plan, byte for byte; one
to be signed that comes out differently means that the note has changed meanwhile, and the act is refused.
"""

from collections.abc import Mapping

import msgspec

from memd_daemon import errors, limits
from memd_daemon.frames import told
from memd_daemon.model import event as ev
from memd_daemon.model.ids import NO_UID
from memd_daemon.model.note import Note
from memd_daemon.model.proof import PERSON_ONLY
from memd_daemon.model.words import Actor, Provenance
from memd_daemon.service.asker import Asker
from memd_daemon.service.parts import Parts
from memd_daemon.service.people import SignedAct, key_in_use
from memd_daemon.store.port import Draft, Snapshot, Txn

_Key = tuple[str, bytes, bytes]
"""(type, note, payload) of an event: what it says, whenever it was made."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One event of an act. ``change``: what it changes, in a few words, where it is to be signed; "" where it is not."""

    event: ev.Event
    body: bytes
    note: Note
    change: str = ""


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """An act as it was planned: its events, and the salts of its texts by (note, text)."""

    steps: tuple[Step, ...]
    salts: dict[tuple[bytes, str], bytes]

    @property
    def signed(self) -> list[Step]:
        return [step for step in self.steps if step.change]


class Sheet:
    """One act being built. ``can_sign``: the asker is a person at a terminal; ``planned``: the act as it was planned before."""

    def __init__(
        self, parts: Parts, log: Snapshot, asker: Asker, *, can_sign: bool = False, planned: Planned | None = None
    ) -> None:
        self.parts, self.log, self.asker, self.can_sign = parts, log, asker, can_sign
        self.effect = "applied"
        self.told: list[str] = []
        self.steps: list[Step] = []
        self._heads: dict[bytes, tuple[bytes, ...]] = {}
        self._planned: dict[_Key, Step] = {_key(s.event): s for s in planned.steps} if planned else {}
        self._must_fit = planned is not None
        self._salts: dict[tuple[bytes, str], bytes] = dict(planned.salts) if planned else {}

    @property
    def touched(self) -> list[bytes]:
        """Uids of the notes that the act has events on."""
        return list(dict.fromkeys(step.event.note for step in self.steps))

    def id_of(self, note: Note) -> int:
        return self.log.id_of(note.uid) or 0

    # texts

    def text(self, note: bytes, text: str, salt: bytes = b"") -> bytes:
        """The digest under which an event on ``note`` names a free text; b"" for none.

        Two notes never share one, so that forgetting the one leaves the other its words.
        """
        if not text:
            return b""
        known = self._salts.setdefault((note, text), salt or self.parts.chance(limits.SALT_BYTES))
        return ev.blob_digest(known, text.encode())

    # events

    def add(
        self,
        type_: str,
        note: Note,
        payload: msgspec.Struct,
        *,
        change: str = "",
        wish: str = "",
        by_person: bool = False,
    ) -> bytes | None:
        """An event of the act itself; its uid, or None where it can only be proposed.

        ``change`` says what it would change, for a person who signs it; "" for an event that is never signed. ``wish``: the reason
        of a proposal, where the event's own says too little. Raises NotSigned for what needs a person where none can sign, NoKey.
        """
        if by_person and not self.can_sign:
            raise errors.NotSigned
        is_endorsed = note.provenance == Provenance.HUMAN
        if change and self.can_sign and (by_person or is_endorsed):
            return self._put(type_, note, payload, key_id=key_in_use(self.parts, self.log), change=change)
        if is_endorsed and type_ in PERSON_ONLY:
            self._propose(type_, note, payload, wish)
            return None
        return self._put(type_, note, payload)

    def follow(self, type_: str, note: Note, payload: msgspec.Struct, actor: Actor | None = None) -> None:
        """An event in which nobody's endorsement is at stake: never signed, never proposed."""
        self._put(type_, note, payload, actor=actor)

    def kept(self, why: str) -> None:
        """Nothing changes, and the asker is told why."""
        self.effect = "kept"
        self.told.append(why)

    def _propose(self, type_: str, note: Note, payload: msgspec.Struct, wish: str) -> None:
        act = PERSON_ONLY[type_]
        if type_ == "revised":  # the fold makes a proposal of it and keeps its wording, for a person to endorse
            self._put(type_, note, payload)
        else:
            by = getattr(payload, "by", getattr(payload, "other", NO_UID))
            reason = self.text(note.uid, wish) or getattr(payload, "reason", b"")
            self._put("proposed", note, ev.Proposed(act=act, reason=reason, by=by))
        self.effect = "proposed"
        self.told.append(told.proposed(self.id_of(note), act))

    def _put(
        self,
        type_: str,
        note: Note,
        payload: msgspec.Struct,
        *,
        key_id: bytes = b"",
        change: str = "",
        actor: Actor | None = None,
    ) -> bytes:
        parents = self._heads.get(note.uid, note.heads)
        head = self.log.head() if key_id else b""
        event = self.parts.event(
            type_, note.uid, payload, asker=self.asker, actor=actor, parents=parents, key_id=key_id, head=head
        )
        step = self._planned.pop(_key(event), None)
        if step is None:
            if self._must_fit and key_id:
                raise errors.ChangedMeanwhile(self.id_of(note))
            step = Step(event=event, body=ev.encode_event(event), note=note, change=change)
        self.steps.append(step)
        seen = set(step.event.parents)
        self._heads[note.uid] = (*(h for h in parents if h not in seen), step.event.uid)
        return step.event.uid

    # the end

    def plan(self) -> Planned:
        return Planned(steps=tuple(self.steps), salts=dict(self._salts))

    def drafts(self, txn: Txn, signatures: Mapping[bytes, bytes]) -> list[Draft]:
        """The events as they are to be appended, their texts stored. ``signatures`` by event uid.

        Raises ChangedMeanwhile where one that was signed has no place in the act any more.
        """
        for left in self._planned.values():
            if left.change:
                raise errors.ChangedMeanwhile(self.id_of(left.note))
        named = {digest for step in self.steps for digest in _texts(step.event)}
        for (_, text), salt in self._salts.items():
            if ev.blob_digest(salt, text.encode()) in named:  # what no event names, forgetting would not find
                txn.put_text(text, salt)
        return [Draft(body=step.body, sig=signatures.get(step.event.uid, b"")) for step in self.steps]

    def commit(self, txn: Txn, signatures: Mapping[bytes, bytes] | None = None) -> None:
        """One commit of the whole act; none where there is nothing to record."""
        drafts = self.drafts(txn, signatures or {})
        if drafts:
            txn.append(drafts, at=self.parts.now_ms())

    def to_sign(self, act: str) -> list[SignedAct]:
        """What a person is shown and signs, event by event."""
        return [self._to_sign(step, act) for step in self.steps if step.change]

    def _to_sign(self, step: Step, act: str) -> SignedAct:
        payload, note = ev.payload_of(step.event), step.note
        if isinstance(payload, ev.Promoted):
            digest, revision = payload.content, payload.revision
        else:
            digest, revision = note.revisions[-1].content, note.revision
        salt, content = self._salted(digest)
        reason = getattr(payload, "reason", b"")
        reason_salt, why = self._salted(reason) if reason else (b"", "")
        return SignedAct(
            body=step.body,
            content=content,
            salt=salt,
            digest=digest,
            revision=revision,
            act=act,
            id=self.id_of(note),
            change=step.change,
            kind=note.kind,
            scope=note.scope,
            priority=note.priority,
            reason=why,
            reason_salt=reason_salt,
        )

    def _salted(self, digest: bytes) -> tuple[bytes, str]:
        """(salt, text) of a text of this act, or of one that is stored."""
        for (_, text), salt in self._salts.items():
            if ev.blob_digest(salt, text.encode()) == digest:
                return salt, text
        return self.log.salted_text(digest)


def _texts(event: ev.Event) -> list[bytes]:
    payload = ev.payload_of(event)
    return ev.texts_of(payload) if payload is not None else []


def _key(event: ev.Event) -> _Key:
    return event.type, event.note, bytes(event.payload)
