"""Acts on what is believed: promote, revoke, reinstate, confirm, review, link_evidence, resolve (model.md, section 2)."""

from typing import Final

import msgspec

from memd_daemon import errors, limits
from memd_daemon.frames import told
from memd_daemon.model import event as ev
from memd_daemon.model.note import Note
from memd_daemon.model.words import Currency, Provenance
from memd_daemon.service.binding import Bound, bound, unbindable
from memd_daemon.service.case import Case
from memd_daemon.service.fall import absorb, contend, lift, revoke
from memd_daemon.service.given import refuse_many
from memd_daemon.service.refs import note_at, uid_at
from memd_daemon.service.retaking import retaken
from memd_daemon.service.sheet import Sheet
from memd_daemon.service.text import quoted


def promote(sheet: Sheet, note: Note, case: Case) -> None:
    """One rung up; to `human` it is signed."""
    id_, to, newest = sheet.id_of(note), case.request.to, note.revisions[-1]
    if note.revoked:
        raise errors.NoteRevoked(id_, "promoted", id_)
    if to not in list(Provenance) or Provenance(to).rank != Provenance(newest.provenance).rank + 1:
        raise errors.NotOneRung(id_, newest.provenance, to)
    payload = ev.Promoted(to=to, revision=note.revision, content=newest.content)
    change = f"{newest.provenance} -> {to}" if to == Provenance.HUMAN else ""
    sheet.add("promoted", note, payload, change=change, by_person=to == Provenance.HUMAN)


def revoke_(sheet: Sheet, note: Note, case: Case) -> None:
    """The note was wrong; on one that is revoked already the reason is kept beside the first."""
    id_ = sheet.id_of(note)
    if not case.reason:
        raise errors.ReasonNeeded(id_)
    if not note.revoked:
        revoke(sheet, note, case.reason)
        return
    sheet.follow("revoked", note, ev.Reasoned(reason=sheet.text(note.uid, case.reason)))
    sheet.kept(told.revoked_already(id_))


def reinstate(sheet: Sheet, note: Note, case: Case) -> None:
    """It was right after all; anybody may say so. What its revocation raised on others is cleared, and what stands that cannot hold
    beside it is in conflict with it, if it stands for itself."""
    payload = ev.Reasoned(reason=sheet.text(note.uid, case.reason))
    if not note.revoked:
        sheet.add("reinstated", note, payload)
        sheet.kept(told.held_already(sheet.id_of(note)))
        return
    sheet.add("reinstated", note, payload, change="revoked -> held")
    lift(sheet, note, frozenset(r.event for r in note.revocations))
    if note.currency == Currency.CURRENT:
        contend(sheet, note)


def confirm(sheet: Sheet, note: Note, case: Case) -> None:
    """It was looked at and holds. Signed only where that settles a proposal: a look at the ground is anybody's."""
    id_ = sheet.id_of(note)
    if note.revoked:
        raise errors.NoteRevoked(id_, "confirmed", id_)
    again = retaken(sheet.parts, note, case.place)
    sheet.told += again.told
    payload = ev.Confirmed(anchors=again.anchors, mentions=again.mentions)
    sheet.add("confirmed", note, payload, change="kept as it is" if note.proposals else "")


def review(sheet: Sheet, note: Note, case: Case) -> None:
    """The reader has seen why the note was flagged, and it stands; with `of` only what these ancestors' falls raised."""
    refuse_many("ancestors", case.request.of, limits.NAMED_NOTES_MAX)
    of = {uid_at(sheet.log, ref) for ref in case.request.of}
    causes = tuple(f.cause for f in note.flags if not of or f.ancestor in of)
    if not causes:
        sheet.kept(told.nothing_to_review(sheet.id_of(note)))
        return
    sheet.add("reviewed", note, ev.Reviewed(causes=causes), change="reviewed, and it stands")


def link_evidence(sheet: Sheet, note: Note, case: Case) -> None:
    """Words of the user's bound to the note. Raises NoSuchTurn, ExcerptNotInTurn.

    What was not said by anybody's judgment (`auto`), or was read in a document, a tool's result or a commit, binds none.
    """
    id_ = sheet.id_of(note)
    if not case.request.evidence:
        raise errors.NothingToDo(id_, "name the user's words, and the turn in which they stand")
    refuse_many("evidence", case.request.evidence, limits.EVIDENCE_MAX)
    if why := unbindable(note.revisions[-1].provenance, note.source):
        sheet.kept(told.binds_none_now(id_, why))
        return
    known = {(e.turn_uid, e.start, e.end) for e in note.evidence}
    asked = (bound(sheet.parts, sheet.log, number, excerpt) for number, excerpt in case.request.evidence)
    named = {(one.turn.uid, one.start, one.end): one for one in asked}
    new = [_as_evidence(sheet, note, one) for place, one in named.items() if place not in known]
    if not new:
        sheet.kept(told.has_evidence(id_))
        return
    sheet.add("evidence_bound", note, ev.EvidenceBound(evidence=tuple(new)))


def _as_evidence(sheet: Sheet, note: Note, one: Bound) -> ev.Evidence:
    return one.evidence(sheet.text(note.uid, one.excerpt), sheet.text(note.uid, one.sentence))


def resolve(sheet: Sheet, note: Note, case: Case) -> None:
    """An open conflict settled: a is the note itself, b the other one. The loser is revoked with a reason that names the winner;
    `merged`: b is absorbed into a; `both_demoted`: both stand, and keep what the conflict took from them.

    Where a person endorsed one of the two, an unsigned resolution is proposed on that one, and neither is touched.
    """
    other = note_at(sheet.log, case.request.by)
    how = _resolution(case.request.resolution)
    a, b = sheet.id_of(note), sheet.id_of(other)
    if note.uid == other.uid:
        raise errors.SameNote(a, "be in conflict with")
    is_open = other.uid in note.conflicts or note.uid in other.conflicts
    if note.revoked or other.revoked or not is_open:
        raise errors.NotInConflict(a, b, a)
    endorsed = [n for n in (note, other) if n.provenance == Provenance.HUMAN]
    if endorsed and not sheet.can_sign:
        for one in endorsed:
            _row_closed(sheet, one, other if one is note else note, how if one is note else _TURNED[how], case.reason)
        return
    signs = bool(endorsed)  # the whole is then one decision of a person's, on either side
    _row_closed(sheet, note, other, how, case.reason, by_person=signs)
    _row_closed(sheet, other, note, _TURNED[how], case.reason, by_person=signs)
    if how == "a_wins":
        revoke(sheet, _without_row(other, note), case.reason, note.uid, by_person=signs)
    elif how == "b_wins":
        revoke(sheet, _without_row(note, other), case.reason, other.uid, by_person=signs)
    elif how == "merged":
        absorb(sheet, other, note, case.reason, by_person=signs)


def _row_closed(sheet: Sheet, note: Note, other: Note, how: str, reason: str, *, by_person: bool = False) -> None:
    """Each side of the row, as seen from that side."""
    if other.uid not in note.conflicts:
        return
    payload = ev.ConflictResolved(other=other.uid, resolution=how, reason=sheet.text(note.uid, reason))
    change = told.closed(sheet.id_of(other), how)
    wish = f"{change}: {reason}" if reason else change
    sheet.add("conflict_resolved", note, payload, change=change, wish=wish, by_person=by_person)


def _without_row(note: Note, other: Note) -> Note:
    """The note once its row with the other one is closed."""
    return msgspec.structs.replace(note, conflicts=tuple(uid for uid in note.conflicts if uid != other.uid))


def _resolution(word: str) -> str:
    if word not in _TURNED:
        raise errors.UnknownWord("resolution", quoted(word), ", ".join(_TURNED))
    return word


_TURNED: Final = {"a_wins": "b_wins", "b_wins": "a_wins", "both_demoted": "both_demoted", "merged": "merged"}
"""Each resolution, and what it is from the other side."""
