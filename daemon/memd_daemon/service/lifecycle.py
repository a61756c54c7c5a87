"""Acts on a note that stands: promote, revoke, reinstate, supersede, confirm, done, reopen (model.md, section 2).

Preconditions are checked inside the write transaction. On a note that a person endorsed, an act of `fold.PERSON_ONLY` becomes a
plan to sign where the asker can sign, and a proposal where it cannot.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from memd_client import api
from memd_daemon import errors, limits
from memd_daemon.model import event as ev
from memd_daemon.model.ids import NO_UID, uid_text
from memd_daemon.model.note import Note
from memd_daemon.model.words import Kind, Provenance
from memd_daemon.service.asker import Asker, asker_of
from memd_daemon.service.fall import dispute_drafts, fallen_drafts, fresh, revoke_drafts, supersede_drafts
from memd_daemon.service.lineage import descendants
from memd_daemon.service.parts import Parts
from memd_daemon.service.people import PlanBook, SignedAct, key_in_use
from memd_daemon.service.refs import note_at
from memd_daemon.service.repos import Place, place_of
from memd_daemon.service.wanted import checked_reason
from memd_daemon.store.port import Draft, Snapshot, Txn


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """What an act comes to: its events, and how it is told."""

    drafts: list[Draft]
    effect: str = "applied"
    told: list[str] = []


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One act asked for: by whom, where, with which words."""

    request: api.Act
    asker: Asker
    place: Place
    reason: str


Build = Callable[[Parts, Txn, Note, Case], Made]


def act(parts: Parts, plans: PlanBook, request: api.Act) -> api.Acted:
    """Carries out one act. Raises NoSuchNote, Forgotten and the act's own refusals; then nothing is recorded."""
    build = ACTS.get(request.act)
    if build is None:
        raise errors.UnknownWord("act", repr(request.act[: limits.QUOTED_INPUT_MAX_CHARS]), ", ".join(ACTS))
    case = Case(
        request=request,
        asker=asker_of(parts.ledger, request.env, request.surface),
        place=place_of(parts, request.cwd),
        reason=checked_reason(parts, request.reason),
    )
    with parts.store.read() as snapshot:
        note = note_at(snapshot, request.ref)
        if _wants_signature(note, request):
            return _planned(parts, plans, snapshot, note, case)

    def work(txn: Txn) -> tuple[Made, int]:
        made = build(parts, txn, fresh(txn, note.uid), case)
        if made.drafts:
            txn.append(made.drafts, at=parts.now_ms())
        return made, txn.id_of(note.uid) or 0

    made, id_ = parts.store.write(work)
    reindexed(parts, note.uid)
    return api.Acted(id=id_, uid=uid_text(note.uid), effect=made.effect, told=made.told)


def reindexed(parts: Parts, uid: bytes) -> None:
    """The indexes follow where the note now belongs."""
    with parts.store.read() as snapshot:
        note, id_ = snapshot.note(uid), snapshot.id_of(uid)
        if note is not None and id_ is not None:
            parts.search.move(id_, note)


# Acts that a person signs.

SIGNED_TYPES: Final = {
    "promote": "promoted",
    "revoke": "revoked",
    "supersede": "superseded",
    "done": "closed",
    "confirm": "confirmed",
}


def _wants_signature(note: Note, request: api.Act) -> bool:
    if request.act == "promote" and request.to == Provenance.HUMAN:
        return True
    if request.act == "confirm" and not note.proposals:
        return False  # a look at the ground is anybody's; a signature is asked for where it settles something
    return request.sign and note.provenance == Provenance.HUMAN and request.act in SIGNED_TYPES and not note.revoked


def _planned(parts: Parts, plans: PlanBook, snapshot: Snapshot, note: Note, case: Case) -> api.Acted:
    id_ = snapshot.id_of(note.uid) or 0
    if not case.request.sign:
        raise errors.NotSigned
    key_id = key_in_use(parts, snapshot)
    reason_salt = parts.chance(limits.SALT_BYTES)
    payload, change = _signed_payload(parts, snapshot, note, case, reason_salt)
    event = parts.event(SIGNED_TYPES[case.request.act], note.uid, payload, asker=case.asker, after=note, key_id=key_id)
    body = ev.encode_event(event)
    newest = note.revisions[-1]
    salt, content = snapshot.salted_text(newest.content)
    signed = SignedAct(
        body=body,
        content=content,
        salt=salt,
        digest=newest.content,
        revision=note.revision,
        act=case.request.act,
        id=id_,
        change=change,
        kind=note.kind,
        scope=note.scope,
        priority=note.priority,
        reason=case.reason,
        reason_salt=reason_salt if case.reason else b"",
    )

    def finish(signatures: list[bytes]) -> api.Sealed:
        def work(txn: Txn) -> None:
            if case.reason:
                txn.put_text(case.reason, reason_salt)
            standing = fresh(txn, note.uid)
            _check_signed(txn, standing, case)
            what = {"revoke": "revoked", "supersede": "superseded"}.get(case.request.act)
            drafts = [Draft(body=body, sig=signatures[0])]
            if what:
                drafts += fallen_drafts(parts, txn, standing, event.uid, what, case.asker)
            txn.append(drafts, at=parts.now_ms())

        parts.store.write(work)
        reindexed(parts, note.uid)
        return api.Sealed(id=id_, uid=uid_text(note.uid))

    plan = plans.open(parts, [signed], key_id, finish)
    return api.Acted(id=id_, uid=uid_text(note.uid), effect="planned", plan=plan)


def _signed_payload(
    parts: Parts, snapshot: Snapshot, note: Note, case: Case, reason_salt: bytes
) -> tuple[msgspec.Struct, str]:
    reason = ev.blob_digest(reason_salt, case.reason.encode()) if case.reason else b""
    _check_signed(snapshot, note, case)
    match case.request.act:
        case "promote":
            payload = ev.Promoted(to=Provenance.HUMAN, revision=note.revision, content=note.revisions[-1].content)
            return payload, f"{note.revisions[-1].provenance} -> {Provenance.HUMAN}"
        case "revoke":
            return ev.Reasoned(reason=reason), "held -> revoked"
        case "supersede":
            by = note_at(snapshot, case.request.by).uid
            return ev.ByNote(by=by, reason=reason), "current -> superseded"
        case "confirm":
            return ev.Confirmed(anchors=_anchors_now(parts, note, case)), "kept as it is"
        case _:
            return ev.Reasoned(reason=reason), "open -> closed"


def _check_signed(snapshot: Snapshot, note: Note, case: Case) -> None:
    id_ = snapshot.id_of(note.uid)
    if case.request.act == "promote":
        if note.revoked:
            raise errors.NoteRevoked(id_, "promoted", id_)
        _one_rung(id_, note, Provenance.HUMAN)
    if case.request.act == "revoke" and not case.reason:
        raise errors.ReasonNeeded(id_)
    if case.request.act == "supersede" and note_at(snapshot, case.request.by).uid == note.uid:
        raise errors.SameNote(id_, "supersede")


def _one_rung(id_: int | None, note: Note, to: str) -> None:
    stands = Provenance(note.revisions[-1].provenance)
    if to not in list(Provenance) or Provenance(to).rank != stands.rank + 1:
        raise errors.NotOneRung(id_, stands, to)


# Acts that anybody may take.


def _promote(parts: Parts, txn: Txn, note: Note, case: Case) -> Made:
    id_ = txn.id_of(note.uid)
    if note.revoked:
        raise errors.NoteRevoked(id_, "promoted", id_)
    _one_rung(id_, note, case.request.to)
    payload = ev.Promoted(to=case.request.to, revision=note.revision, content=note.revisions[-1].content)
    return Made(drafts=[parts.draft("promoted", note.uid, payload, asker=case.asker, after=note)])


def _revoke(parts: Parts, txn: Txn, note: Note, case: Case) -> Made:
    id_ = txn.id_of(note.uid)
    if not case.reason:
        raise errors.ReasonNeeded(id_)
    payload = ev.Reasoned(reason=txn.put_text(case.reason))
    if note.revoked:
        draft = parts.draft("revoked", note.uid, payload, asker=case.asker, after=note)
        told = [f"note [{id_}] was revoked already; your reason is kept beside the first"]
        return Made(drafts=[draft], effect="kept", told=told)
    if note.provenance == Provenance.HUMAN:
        drafts, told = dispute_drafts(parts, txn, note, NO_UID, "revoke", case.reason, case.asker)
        return Made(drafts=drafts, effect="proposed", told=told)
    return Made(drafts=revoke_drafts(parts, txn, note, payload, case.asker))


def _reinstate(parts: Parts, txn: Txn, note: Note, case: Case) -> Made:
    payload = ev.Reasoned(reason=txn.put_text(case.reason) if case.reason else b"")
    drafts = [parts.draft("reinstated", note.uid, payload, asker=case.asker, after=note)]
    if not note.revoked:
        return Made(drafts=drafts, effect="kept", told=[f"note [{txn.id_of(note.uid)}] is held already"])
    causes = {r.event for r in note.revocations}
    for child in descendants(txn, note.uid):
        raised = tuple(f.cause for f in child.flags if f.cause in causes)
        if raised:
            cleared = ev.Reviewed(causes=raised)
            drafts.append(parts.draft("reviewed", child.uid, cleared, asker=case.asker, after=child))
    return Made(drafts=drafts)


def _supersede(parts: Parts, txn: Txn, note: Note, case: Case) -> Made:
    newer = note_at(txn, case.request.by)
    if newer.uid == note.uid:
        raise errors.SameNote(txn.id_of(note.uid), "supersede")
    drafts, told = supersede_drafts(parts, txn, note.uid, newer.uid, case.reason, case.asker)
    return Made(drafts=drafts, told=told, effect="proposed" if told else "applied")


def _unsupersede(parts: Parts, txn: Txn, note: Note, case: Case) -> Made:
    id_ = txn.id_of(note.uid)
    if note.currency != "superseded":
        return Made(drafts=[], effect="kept", told=[f"note [{id_}] is not superseded"])
    payload = ev.ByNote(by=note.superseded_by, reason=txn.put_text(case.reason) if case.reason else b"")
    return Made(drafts=[parts.draft("unsuperseded", note.uid, payload, asker=case.asker, after=note)])


def _confirm(parts: Parts, txn: Txn, note: Note, case: Case) -> Made:
    id_ = txn.id_of(note.uid)
    if note.revoked:
        raise errors.NoteRevoked(id_, "confirmed", id_)
    anchors = _anchors_now(parts, note, case)
    told = [f"not found here, so its hash was left: {a.path}" for a in anchors if not _there(a, case.place)]
    payload = ev.Confirmed(anchors=anchors)
    return Made(drafts=[parts.draft("confirmed", note.uid, payload, asker=case.asker, after=note)], told=told)


def _anchors_now(parts: Parts, note: Note, case: Case) -> tuple[ev.Anchor, ...]:
    """The anchors with their files' digests as they stand where the asker is; none from another repository."""
    return tuple(_retaken(parts, a, case.place) for a in note.anchors) if note.scope == case.place.scope else ()


def _there(anchor: ev.Anchor, place: Place) -> bool:
    return (Path(place.checkout.root) / anchor.path).is_file()


def _retaken(parts: Parts, anchor: ev.Anchor, place: Place) -> ev.Anchor:
    digest = parts.ground.digest(Path(place.checkout.root) / anchor.path)
    if digest is None:
        return anchor
    return msgspec.structs.replace(anchor, digest=digest, checkout_branch=place.checkout.branch)


def _task_act(type_: str, needs: str, already: str) -> Build:
    def build(parts: Parts, txn: Txn, note: Note, case: Case) -> Made:
        id_ = txn.id_of(note.uid)
        if note.kind != Kind.TASK:
            raise errors.NotATask(id_, note.kind)
        if note.task != needs:
            return Made(drafts=[], effect="kept", told=[f"task [{id_}] is {already} already"])
        if type_ == "closed" and note.provenance == Provenance.HUMAN:
            drafts, told = dispute_drafts(parts, txn, note, NO_UID, "close", case.reason, case.asker)
            return Made(drafts=drafts, effect="proposed", told=told)
        payload = ev.Reasoned(reason=txn.put_text(case.reason) if case.reason else b"")
        return Made(drafts=[parts.draft(type_, note.uid, payload, asker=case.asker, after=note)])

    return build


ACTS: Final[dict[str, Build]] = {
    "promote": _promote,
    "revoke": _revoke,
    "reinstate": _reinstate,
    "supersede": _supersede,
    "unsupersede": _unsupersede,
    "confirm": _confirm,
    "done": _task_act("closed", "open", "closed"),
    "reopen": _task_act("reopened", "closed", "open"),
}
