"""Acts on what holds now: supersede, unsupersede, absorb, release, revise (model.md, section 2; curation.md)."""

from memd_daemon import errors, limits
from memd_daemon.frames import told
from memd_daemon.frames.words import tombstone
from memd_daemon.model import event as ev
from memd_daemon.model.note import Note
from memd_daemon.model.words import Provenance
from memd_daemon.service import text
from memd_daemon.service.acts_shelf import refuse_bringing_back
from memd_daemon.service.case import Case
from memd_daemon.service.claim import Claim
from memd_daemon.service.fall import absorb, contend, lift, supersede
from memd_daemon.service.given import refuse_many
from memd_daemon.service.refs import held_by, holder_of, note_at
from memd_daemon.service.repos import GLOBAL
from memd_daemon.service.sheet import Sheet
from memd_daemon.service.views import view_of
from memd_daemon.service.wanted import PUSHED_UNASKED, checked_content

CURATED = ("principle", "doctrine")
"""The levels at which a note is revised in place."""


def supersede_(sheet: Sheet, note: Note, case: Case) -> None:
    """A newer note takes this one's place. Raises SameNote, Cycle."""
    newer = held_by(sheet.log, case.request.by, sheet.told)
    id_, newer_id = sheet.id_of(note), sheet.id_of(newer)
    if newer.uid == note.uid:
        raise errors.SameNote(id_, "supersede")
    if note.currency == "superseded" and note.superseded_by == newer.uid:
        sheet.kept(told.superseded_already(id_, newer_id))
        return
    if newer.revoked:
        sheet.told.append(told.only_its_tombstone(newer_id, id_))
    supersede(sheet, note, newer.uid, case.reason)


def unsupersede(sheet: Sheet, note: Note, case: Case) -> None:
    """The older note stands for itself again, and what its supersession raised on others is cleared."""
    if note.currency != "superseded":
        sheet.kept(told.not_superseded(sheet.id_of(note)))
        return
    refuse_bringing_back(sheet, note)
    payload = ev.ByNote(by=note.superseded_by, reason=sheet.text(note.uid, case.reason))
    sheet.add("unsuperseded", note, payload, change="superseded -> current")
    lift(sheet, note, frozenset(_raised(sheet, note)))
    _stands_again(sheet, note)


def _raised(sheet: Sheet, note: Note) -> set[bytes]:
    """Uids of the events that superseded the note."""
    return {s.event.uid for s in sheet.log.events_of(note.uid) if s.event.type == "superseded"}


def absorb_(sheet: Sheet, note: Note, case: Case) -> None:
    """The note is folded into another one."""
    absorb(sheet, note, held_by(sheet.log, case.request.by, sheet.told), case.reason)


def release(sheet: Sheet, note: Note, case: Case) -> None:
    """It stands for itself again."""
    if note.currency != "absorbed":
        sheet.kept(told.not_absorbed(sheet.id_of(note)))
        return
    refuse_bringing_back(sheet, note)
    payload = ev.ByNote(by=note.absorbed_by, reason=sheet.text(note.uid, case.reason))
    sheet.add("released", note, payload, change="absorbed -> current")
    _stands_again(sheet, note)


def _stands_again(sheet: Sheet, note: Note) -> None:
    """Beside what it was said to exclude, if it is held; a revoked one is told as a tombstone, and contends once it is back."""
    if not note.revoked:
        contend(sheet, note)


def revise(sheet: Sheet, note: Note, case: Case) -> None:
    """A principle or doctrine gets its next wording, or only takes other notes in; both count a revision.

    What a person endorsed goes on rendering until a person signs the new wording; until then the notes that it would take in stand
    for themselves, so that nothing is told by neither.
    """
    id_ = sheet.id_of(note)
    _refuse_revision(sheet, note, case)
    newest = note.revisions[-1]
    wording = checked_content(sheet.parts, case.request.text) if case.request.text.strip() else ""
    refuse_many("notes to absorb", case.request.absorb, limits.NAMED_NOTES_MAX)
    folded = [note_at(sheet.log, ref) for ref in case.request.absorb]
    if wording == sheet.log.text(newest.content):
        wording = ""
    if not wording and not folded:
        raise errors.NothingToDo(id_, "give the new wording, or the notes that it takes in")
    if wording:
        _refuse_undeliverable(sheet, note, wording)
        _refuse_mistake(sheet, note, wording, case.request.despite)
    revised = ev.Revised(
        content=sheet.text(note.uid, wording) or newest.content,
        summary=sheet.text(note.uid, text.summary_of(wording)) if wording else newest.summary,
        expected_revision=note.revision,
        reason=sheet.text(note.uid, case.reason),
    )
    if _record(sheet, note, revised):
        for one in folded:
            absorb(sheet, one, note, case.reason)
        sheet.effect = "applied"  # a note that was in it already keeps nobody's revision from counting
        return
    if folded:
        sheet.told.append(told.stand_until_signed(map(sheet.id_of, folded)))


def _record(sheet: Sheet, note: Note, revised: ev.Revised) -> bool:
    """The revision, endorsed in the same act where a person signs; whether it renders from now on."""
    if note.provenance != Provenance.HUMAN:
        return sheet.add("revised", note, revised) is not None
    if not sheet.can_sign:
        sheet.add("revised", note, revised)
        return False
    sheet.follow("revised", note, revised)
    endorsed = ev.Promoted(to=Provenance.HUMAN, revision=note.revision + 1, content=revised.content)
    change = f"revision {note.revision} -> {note.revision + 1}"
    return sheet.add("promoted", note, endorsed, change=change, by_person=True) is not None


def _refuse_revision(sheet: Sheet, note: Note, case: Case) -> None:
    id_, expected = sheet.id_of(note), case.request.expected_revision
    if note.level not in CURATED:
        raise errors.NotCurated(id_, id_)
    if note.revoked:
        raise errors.NoteRevoked(id_, "revised", id_)
    holder = holder_of(sheet.log, note)
    if holder.uid != note.uid:
        raise errors.AbsorbedInto(id_, sheet.id_of(holder), id_)
    if not case.reason:
        raise errors.WhyNeeded(id_)
    if expected and expected != note.revision:
        raise errors.RevisionMoved(id_, note.revision, expected, id_)


def _refuse_mistake(sheet: Sheet, note: Note, wording: str, despite: str) -> None:
    """Raises KnownMistake where the wording is a belief that was revoked, and the writer does not name it."""
    known = note_at(sheet.log, despite).uid if despite else b""
    scopes = (note.scope, GLOBAL)
    for fallen in sheet.parts.struck.again(sheet.parts.store, sheet.log, Claim.of(wording), scopes):
        if fallen.uid not in (known, note.uid):
            id_ = sheet.id_of(fallen)
            line = tombstone(view_of(sheet.parts, sheet.log, fallen, None), sheet.parts.tags)
            raise errors.KnownMistake(line, id_, id_)


def _refuse_undeliverable(sheet: Sheet, note: Note, wording: str) -> None:
    cost = sheet.parts.cost(wording) if note.kind in PUSHED_UNASKED else 0
    if cost > limits.PUSHABLE_MAX_TOKENS:
        raise errors.TooLongToDeliver(note.kind, cost, limits.PUSHABLE_MAX_TOKENS)
