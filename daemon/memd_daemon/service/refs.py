"""What people and agents write for a note: `47`, `[47]`, a uid, or a slug (surfaces.md).

A note that was absorbed keeps its names for ever. Who asks for it gets that very note, which says where it went; what a new act or
note builds on is the one that took it in (`held_by`).
"""

from memd_daemon import errors, limits
from memd_daemon.frames.told import meant
from memd_daemon.model.ids import NO_UID, uid_from_text
from memd_daemon.model.note import Note
from memd_daemon.service.names import id_kept
from memd_daemon.service.text import told_back
from memd_daemon.store.ledger_port import Ledger
from memd_daemon.store.port import Snapshot


def note_at(snapshot: Snapshot, ref: str) -> Note:
    """The note that ``ref`` names. Raises NoSuchNote, Forgotten."""
    text = ref.strip().removeprefix("[").removesuffix("]")
    uid = _uid(snapshot, text)
    note = snapshot.note(uid) if uid else None
    if note is None:
        raise errors.NoSuchNote(told_back(ref))
    if note.forgotten:
        raise errors.Forgotten(told_back(ref))
    return note


def uid_at(snapshot: Snapshot, ref: str) -> bytes:
    """The uid that ``ref`` names, also of a note that was forgotten. Raises NoSuchNote."""
    uid = _uid(snapshot, ref.strip().removeprefix("[").removesuffix("]"))
    if uid is None:
        raise errors.NoSuchNote(told_back(ref))
    return uid


def holder_of(snapshot: Snapshot, note: Note) -> Note:
    """The note that took this one in, over any number of steps; the note itself where none did."""
    seen = {note.uid}
    while note.absorbed_by != NO_UID:
        taker = snapshot.note(note.absorbed_by)
        if taker is None or taker.forgotten or taker.uid in seen:
            break
        seen.add(taker.uid)
        note = taker
    return note


def held_by(snapshot: Snapshot, ref: str, told: list[str]) -> Note:
    """The note that a reference leads to; ``told`` gets a line where it is not the one named. Raises NoSuchNote, Forgotten."""
    named = note_at(snapshot, ref)
    holder = holder_of(snapshot, named)
    if holder.uid != named.uid:
        told.append(meant(snapshot.id_of(named.uid), snapshot.id_of(holder.uid)))
    return holder


def session_begun(ledger: Ledger, named: str) -> str:
    """The session with this id, or the only one whose id begins so; where there is none, or several, the id as it is kept."""
    kept = id_kept(named)
    if not named or ledger.contexts_of(kept):
        return kept
    found = {context.session for context in ledger.contexts() if context.session.startswith(named)}
    return found.pop() if len(found) == 1 else kept


def _uid(snapshot: Snapshot, text: str) -> bytes | None:
    if text.isascii() and text.isdigit() and len(text) <= limits.NOTE_ID_MAX_DIGITS:
        return snapshot.uid_of(int(text))
    return uid_from_text(text) or snapshot.uid_of_slug(text)
