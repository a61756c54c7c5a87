"""What people and agents write for a note: `47`, `[47]`, a uid, or a slug (surfaces.md)."""

from memd_daemon import errors, limits
from memd_daemon.model.ids import uid_from_text
from memd_daemon.model.note import Note
from memd_daemon.store.port import Snapshot


def note_at(snapshot: Snapshot, ref: str) -> Note:
    """The note that ``ref`` names. Raises NoSuchNote, Forgotten."""
    text = ref.strip().removeprefix("[").removesuffix("]")
    uid = _uid(snapshot, text)
    note = snapshot.note(uid) if uid else None
    if note is None:
        raise errors.NoSuchNote(_told(ref))
    if note.forgotten:
        raise errors.Forgotten(_told(ref))
    return note


def _uid(snapshot: Snapshot, text: str) -> bytes | None:
    if text.isascii() and text.isdigit() and len(text) <= limits.NOTE_ID_MAX_DIGITS:
        return snapshot.uid_of(int(text))
    return uid_from_text(text) or snapshot.uid_of_slug(text)


def _told(ref: str) -> str:
    """A short printable form, since a refusal is shown on a terminal."""
    return "".join(c if c.isprintable() else "?" for c in ref[: limits.QUOTED_INPUT_MAX_CHARS])
