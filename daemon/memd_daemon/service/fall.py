"""What else happens when a note is revoked or superseded, in the same commit (model.md, sections 2 and 5).

Descendants are flagged for review, conflicts that were open are closed, and on a note that a person endorsed an unsigned act is
kept as a proposal with an open conflict instead.
"""

from memd_daemon import errors
from memd_daemon.model import event as ev
from memd_daemon.model.ids import NO_UID
from memd_daemon.model.note import Note
from memd_daemon.model.words import Actor, Provenance
from memd_daemon.service import lineage
from memd_daemon.service.asker import Asker
from memd_daemon.service.parts import Parts
from memd_daemon.service.wanted import Wanted
from memd_daemon.store.port import Draft, Txn


def fresh(txn: Txn, uid: bytes) -> Note:
    """The note as it stands inside the transaction. Raises Forgotten."""
    note = txn.note(uid)
    if note is None or note.forgotten:
        raise errors.Forgotten(txn.id_of(uid))
    return note


def fall_drafts(parts: Parts, txn: Txn, uid: bytes, wanted: Wanted, asker: Asker) -> tuple[list[Draft], list[str]]:
    """What a write with ``contradicts`` does to the older note, and what the writer is told."""
    note = fresh(txn, uid)
    id_ = txn.id_of(uid)
    if note.revoked:
        return [], [f"note [{id_}] was revoked already; the new note is linked to it as its correction"]
    if note.provenance == Provenance.HUMAN:
        return dispute_drafts(parts, txn, note, wanted.uid, "revoke", wanted.reason, asker)
    reason = txn.put_text(wanted.reason) if wanted.reason else b""
    return revoke_drafts(parts, txn, note, ev.Reasoned(reason=reason, by=wanted.uid), asker), []


def revoke_drafts(parts: Parts, txn: Txn, note: Note, payload: ev.Reasoned, asker: Asker) -> list[Draft]:
    """The revocation with all that follows from it."""
    event = parts.event("revoked", note.uid, payload, asker=asker, after=note)
    return [Draft(body=ev.encode_event(event)), *fallen_drafts(parts, txn, note, event.uid, "revoked", asker)]


def fallen_drafts(parts: Parts, txn: Txn, note: Note, cause: bytes, what: str, asker: Asker) -> list[Draft]:
    """Descendants flagged, and the other side of each open conflict closed."""
    flags = [
        parts.draft(
            "review_flagged",
            child.uid,
            ev.ReviewFlagged(ancestor=note.uid, cause=cause, what=what),
            asker=asker,
            after=child,
            actor=Actor.SYSTEM,
        )
        for child in lineage.descendants(txn, note.uid)
    ]
    closed = []
    for uid in note.conflicts if what == "revoked" else ():
        other = txn.note(uid)
        if other is not None and note.uid in other.conflicts and other.provenance != Provenance.HUMAN:
            payload = ev.ConflictResolved(other=note.uid, resolution="b_wins")
            closed.append(parts.draft("conflict_resolved", uid, payload, asker=asker, after=other))
    return flags + closed


def supersede_drafts(
    parts: Parts, txn: Txn, uid: bytes, by: bytes, reason: str, asker: Asker
) -> tuple[list[Draft], list[str]]:
    """The older note closed out by a newer one, or a proposal where a person endorsed it."""
    note = fresh(txn, uid)
    if _circular(txn, uid, by):
        raise errors.Cycle(txn.id_of(uid), "superseded", txn.id_of(by))
    if note.provenance == Provenance.HUMAN:
        return dispute_drafts(parts, txn, note, by, "supersede", reason, asker)
    payload = ev.ByNote(by=by, reason=txn.put_text(reason) if reason else b"")
    event = parts.event("superseded", uid, payload, asker=asker, after=note)
    flagged = fallen_drafts(parts, txn, note, event.uid, "superseded", asker)
    return [Draft(body=ev.encode_event(event)), *flagged], []


def _circular(txn: Txn, uid: bytes, by: bytes) -> bool:
    seen: set[bytes] = set()
    while by != NO_UID and by not in seen:
        if by == uid:
            return True
        seen.add(by)
        newer = txn.note(by)
        by = newer.superseded_by if newer else NO_UID
    return False


def dispute_drafts(
    parts: Parts, txn: Txn, note: Note, by: bytes, act: str, reason: str, asker: Asker
) -> tuple[list[Draft], list[str]]:
    """An unsigned act on an endorsed note: the proposal, and a conflict that stays open until a person decides."""
    id_ = txn.id_of(note.uid)
    payload = ev.Proposed(act=act, reason=txn.put_text(reason) if reason else b"", by=by)
    drafts = [parts.draft("proposed", note.uid, payload, asker=asker, after=note)]
    if by != NO_UID and by not in note.conflicts:
        proposed = ev.decode_event(drafts[0].body)
        heads = (*(h for h in note.heads if h not in proposed.parents), proposed.uid)
        opened = ev.ConflictOpened(other=by, detected_by="write")
        drafts.append(parts.draft("conflict_opened", note.uid, opened, asker=asker, parents=heads))
        newer = txn.note(by)
        drafts.append(parts.draft("conflict_opened", by, ev.ConflictOpened(other=note.uid), asker=asker, after=newer))
    return drafts, [f"note [{id_}] was endorsed by the user, so it stands: your wish to {act} it waits for them"]
