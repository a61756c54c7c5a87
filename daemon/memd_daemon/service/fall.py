"""What else happens when a note is revoked, superseded or comes back, in the same commit (model.md, sections 2 and 5).

What is built on it is flagged for review, or cleared again; conflicts that were open are closed, or opened again. Built on a note
are its descendants and, where it was absorbed, the note that took it in with that one's descendants. A write that contradicts or
supersedes what a person endorsed is kept beside it, in an open conflict.
"""

from collections.abc import Iterable
from itertools import islice

from memd_daemon import errors, limits
from memd_daemon.frames import told
from memd_daemon.model import event as ev
from memd_daemon.model.ids import NO_UID
from memd_daemon.model.note import Note
from memd_daemon.model.words import Actor, Belief, Currency, Provenance
from memd_daemon.service import lineage
from memd_daemon.service.asker import Asker
from memd_daemon.service.parts import Parts
from memd_daemon.service.sheet import Sheet
from memd_daemon.service.wanted import Wanted
from memd_daemon.store.port import Draft, Snapshot, Txn


def fresh(log: Snapshot, uid: bytes) -> Note:
    """The note as it stands inside the transaction. Raises Forgotten."""
    note = log.note(uid)
    if note is None or note.forgotten:
        raise errors.Forgotten(log.id_of(uid))
    return note


def built_on(log: Snapshot, note: Note) -> list[Note]:
    """Every note that stands on this one, over any number of steps; none that was forgotten."""
    found: dict[bytes, Note] = {}
    holder = note
    while holder.absorbed_by not in (NO_UID, note.uid, *found):
        taker = log.note(holder.absorbed_by)
        if taker is None:
            break
        found[taker.uid] = holder = taker
    for one in (note, *found.values()):
        found |= {child.uid: child for child in lineage.descendants(log, one.uid)}
    return [one for one in found.values() if one.uid != note.uid and not one.forgotten]


def fallen_above(log: Snapshot, uids: Iterable[bytes]) -> dict[bytes, ev.ReviewFlagged]:
    """How notes fell on which one that is derived from ``uids`` stands, over any number of steps, by the event that did it."""
    found: dict[bytes, ev.ReviewFlagged] = {}
    seen: set[bytes] = set()
    waiting = list(uids)
    while waiting:
        uid = waiting.pop()
        note = None if uid in seen else log.note(uid)
        seen.add(uid)
        if note is None:
            continue
        waiting.extend(note.derived_from)
        if cause := _cause(log, note):
            what = Belief.REVOKED if note.revoked else Currency.SUPERSEDED
            found[cause] = ev.ReviewFlagged(ancestor=uid, cause=cause, what=what)
    return found


def _cause(log: Snapshot, note: Note) -> bytes:
    """The event by which a note was revoked or superseded; b"" for one that stands."""
    if note.revoked:
        return note.revocations[0].event
    if note.currency != Currency.SUPERSEDED:
        return b""
    return next(s.event.uid for s in reversed(log.events_of(note.uid)) if s.event.type == "superseded")


# --- what befalls a note


def revoke(sheet: Sheet, note: Note, reason: str, by: bytes = NO_UID, *, by_person: bool = False) -> None:
    """The revocation of a held note with all that follows from it; a proposal where only a person may.

    ``by_person``: it is part of what a person decides on another note, and so signed whatever the class of this one.
    """
    payload = ev.Reasoned(reason=sheet.text(note.uid, reason), by=by)
    cause = sheet.add("revoked", note, payload, change="held -> revoked", by_person=by_person)
    if cause is not None:
        _flag(sheet, note, cause, "revoked")
        _close_conflicts(sheet, note)


def supersede(sheet: Sheet, note: Note, by: bytes, reason: str) -> None:
    """The older note closed out by a newer one, or a proposal. Raises Cycle."""
    refuse_circle(sheet.log, note, by, "superseded")
    payload = ev.ByNote(by=by, reason=sheet.text(note.uid, reason))
    cause = sheet.add("superseded", note, payload, change=f"{note.currency} -> superseded")
    if cause is not None:
        _flag(sheet, note, cause, "superseded")


def absorb(sheet: Sheet, note: Note, into: Note, reason: str, *, by_person: bool = False) -> None:
    """The note folded into another one, to which every reference then leads; or a proposal. Raises NoteRevoked, Cycle, SameNote.

    ``by_person`` as in `revoke`.
    """
    id_, taker = sheet.id_of(note), sheet.id_of(into)
    if note.uid == into.uid:
        raise errors.SameNote(id_, "absorb")
    if into.revoked:
        raise errors.NoteRevoked(taker, "given another note to absorb", taker)
    if note.absorbed_by == into.uid:
        sheet.kept(told.absorbed_already(id_, taker))
        return
    refuse_circle(sheet.log, note, into.uid, "absorbed")
    payload = ev.ByNote(by=into.uid, reason=sheet.text(note.uid, reason))
    change = told.absorbed_into(note.currency, taker)
    sheet.add("absorbed", note, payload, change=change, by_person=by_person)
    if note.scope not in (into.scope, "global") and into.scope != "global":
        sheet.told.append(told.holds_elsewhere(taker, id_))


def lift(sheet: Sheet, note: Note, causes: frozenset[bytes]) -> None:
    """Clears the review flags that these events raised on what stands on the note."""
    for child in built_on(sheet.log, note):
        raised = tuple(f.cause for f in child.flags if f.cause in causes)
        if raised:
            sheet.follow("reviewed", child, ev.Reviewed(causes=raised), actor=Actor.SYSTEM)


def contend(sheet: Sheet, note: Note) -> None:
    """A note that comes back, held and current, is in conflict with what stands and cannot hold beside it: what it was revoked for,
    what was revoked for it and came back, what it was in conflict with before. Which of them is wrong somebody has to say."""
    rivals, id_ = _rivals(sheet.log, note), sheet.id_of(note)
    for other in rivals:
        for one, rival in ((note, other), (other, note)):
            if rival.uid not in one.conflicts:
                sheet.follow("conflict_opened", one, ev.ConflictOpened(other=rival.uid, detected_by="reinstate"))
    sheet.told += [told.in_conflict(id_, sheet.id_of(other)) for other in rivals[: limits.WARNINGS_ALIKE_MAX]]
    if left := len(rivals[limits.WARNINGS_ALIKE_MAX :]):
        sheet.told.append(told.in_more_conflicts(id_, left))


def _rivals(log: Snapshot, note: Note) -> list[Note]:
    """Of the notes that exclude this one by somebody's word, those held and current; none that may stand beside it by another.

    The newest `limits.NAMED_NOTES_MAX`: in a loop of contradictions each return opens the rows of all that were before it.
    """
    named = _excluded_by(note) | _opposed(log, note) | {uid for uid in note.corrects if _excludes(log, note.uid, uid)}
    found = (log.note(uid) for uid in sorted(named - {note.uid, *note.demoted}, reverse=True))
    standing = (n for n in found if n and not (n.revoked or n.forgotten) and n.currency == Currency.CURRENT)
    return list(islice(standing, limits.NAMED_NOTES_MAX))[::-1]


def _excluded_by(note: Note) -> set[bytes]:
    """What it was ever revoked for."""
    return {fall.by for fall in (*note.revocations, *note.past_revocations)} - {NO_UID}


def _excludes(log: Snapshot, uid: bytes, fallen: bytes) -> bool:
    note = log.note(fallen)
    return note is not None and uid in _excluded_by(note)


def _opposed(log: Snapshot, note: Note) -> set[bytes]:
    """What it was ever in conflict with: a revocation closed those, or a merger that is undone."""
    payloads = (ev.readable_payload_of(stored.event) for stored in log.events_of(note.uid))
    return {payload.other for payload in payloads if isinstance(payload, ev.ConflictOpened)}


def refuse_circle(log: Snapshot, note: Note, by: bytes, what: str) -> None:
    """Raises Cycle where the way on from ``by``, over what superseded and absorbed it, comes back to the note."""
    seen: set[bytes] = set()
    at = by
    while at != NO_UID and at not in seen:
        if at == note.uid:
            raise errors.Cycle(log.id_of(note.uid), what, log.id_of(by))
        seen.add(at)
        newer = log.note(at)
        at = NO_UID if newer is None else max(newer.superseded_by, newer.absorbed_by)  # one of them is set at most


def _flag(sheet: Sheet, note: Note, cause: bytes, what: str) -> None:
    payload = ev.ReviewFlagged(ancestor=note.uid, cause=cause, what=what)
    for child in built_on(sheet.log, note):
        sheet.follow("review_flagged", child, payload, actor=Actor.SYSTEM)


def _close_conflicts(sheet: Sheet, note: Note) -> None:
    """The other side of each open conflict; on one that a person endorsed it shows no more, and stays for that person to close."""
    for uid in note.conflicts:
        other = sheet.log.note(uid)
        if other is not None and note.uid in other.conflicts and other.provenance != Provenance.HUMAN:
            payload = ev.ConflictResolved(other=note.uid, resolution="a_wins")
            sheet.follow("conflict_resolved", other, payload, actor=Actor.SYSTEM)


# --- what a write does to the note that it corrects


def fall_drafts(parts: Parts, txn: Txn, uid: bytes, wanted: Wanted, asker: Asker) -> tuple[list[Draft], list[str]]:
    """What a write with ``contradicts`` does to the older note, and what the writer is told."""
    note = fresh(txn, uid)
    if note.revoked:
        return [], [told.linked_as_correction(txn.id_of(uid))]
    sheet = Sheet(parts, txn, asker)
    revoke(sheet, note, wanted.reason, wanted.uid)
    return _with_conflict(sheet, txn, note, wanted.uid)


def supersede_drafts(
    parts: Parts, txn: Txn, uid: bytes, by: bytes, reason: str, asker: Asker
) -> tuple[list[Draft], list[str]]:
    """What a write with ``supersedes`` does to the older note, and what the writer is told. Raises Cycle."""
    note = fresh(txn, uid)
    sheet = Sheet(parts, txn, asker)
    supersede(sheet, note, by, reason)
    return _with_conflict(sheet, txn, note, by)


def _with_conflict(sheet: Sheet, txn: Txn, note: Note, by: bytes) -> tuple[list[Draft], list[str]]:
    """Where the act is only proposed, the new note and the endorsed one are in conflict until a person decides."""
    drafts: list[Draft] = []
    if sheet.effect == "proposed" and by not in note.conflicts:
        sheet.follow("conflict_opened", note, ev.ConflictOpened(other=by, detected_by="write"))
        opened = ev.ConflictOpened(other=note.uid, detected_by="write")
        drafts.append(sheet.parts.draft("conflict_opened", by, opened, asker=sheet.asker, after=txn.note(by)))
    return sheet.drafts(txn, {}) + drafts, sheet.told
