"""Whether what is in a store is whole: a note, and all that came in one commit with what befell it."""

from memd_daemon.model.ids import NO_UID
from memd_daemon.model.note import Note


def fallen_by(note: Note) -> bytes:
    """The uid of the note that put this one right; NO_UID where none did."""
    return note.revocations[0].by if note.revocations else note.superseded_by


def corrected_by(notes: dict[int, Note], id_: int) -> int:
    """The id of the note that put this one right; 0 where none did."""
    by = fallen_by(notes[id_])
    return next((other for other, note in notes.items() if note.uid == by), 0)


def is_whole(notes: dict[int, Note], id_: int) -> bool:
    """Whether the note and all that came in one commit with what befell it are there together."""
    note, by_uid = notes[id_], {one.uid: one for one in notes.values()}
    by = fallen_by(note)
    is_named = by == NO_UID or note.uid in by_uid[by].corrects
    does_correct = all(fallen_by(by_uid[old]) == note.uid for old in note.corrects)
    fallen = {uid for uid in note.derived_from if by_uid[uid].revoked or by_uid[uid].superseded_by != NO_UID}
    return is_named and does_correct and {flag.ancestor for flag in note.flags} == fallen
