"""A note that interrupts: structural facts instead of hedges (delivery.md, "Framing on the pushed path").

No clock stands in it: the same state gives the same bytes. The lines below a note are extra: they never decide that a note is
dropped, so each note has up to three renderings, and the fullest that fits is sent. What the user is known to have said (stripes
and quotes) is no such line: it goes with the note. What is only claimed to be the user's is told to who asks (recall.py).
"""

from collections.abc import Sequence

from memd_daemon.frames import stripes, words
from memd_daemon.frames.lines import standing_lines, verdicts
from memd_daemon.model.event import Anchor
from memd_daemon.model.view import GroundStatus, NoteView, Status
from memd_daemon.model.words import Kind


def pushed(view: NoteView, tags: Sequence[str]) -> str:
    """The note in full as hooks give it, without a line end. ``tags`` are the names of the tags of the supported clients."""
    return "\n".join([bare(view, tags), *_lines(view, tags)])


def renderings(view: NoteView, tags: Sequence[str]) -> tuple[str, ...]:
    """From the fullest to the barest: with its lines, with one line that says where they are, without."""
    text, lines = bare(view, tags), _lines(view, tags)
    if not lines:
        return (text,)
    pointer = words.NOTE_LINES_LEFT_OUT.format(id=view.id)
    return "\n".join([text, *lines]), f"{text}\n{pointer}", text


def bare(view: NoteView, tags: Sequence[str]) -> str:
    """The note without the lines below it."""
    return _text(view, tags, _ground_clause(view, tags))


def statusless(view: NoteView, tags: Sequence[str]) -> str:
    """The note and its lines without all that its ground says; what its rendering digest is taken over."""
    return "\n".join([_text(view, tags, ""), *standing_lines(view, tags)])


def _text(view: NoteView, tags: Sequence[str], ground: str) -> str:
    if view.note.forgotten:
        return f"[{view.id}] {words.FORGOTTEN}"
    if view.revoked:
        return f"[{view.id}] {words.tombstone(view, tags)}"
    return "\n".join([stripes.told(_lead(view, tags, ground), view, tags), *stripes.typed_quotes(view, tags)])


def _lead(view: NoteView, tags: Sequence[str], ground: str) -> str:
    """All that stands before the content."""
    under = words.under_label(view, tags)
    if view.note.kind == Kind.DIRECTIVE:
        where = f"[{under}] " if under else ""
        return f"[{view.id}] {where}{words.frame(view)}"
    facts = ", ".join(filter(None, (_standing(view, tags), under)))
    return f"[{view.id}] [{facts}] Recorded {words.date(view.note.created_at)}{ground}: "


def _standing(view: NoteView, tags: Sequence[str]) -> str:
    """Class and source, as in the recall header; the user's own words say so in place of both."""
    if view.stated_turn:
        return words.STATED_TURN.format(turn=view.stated_turn)
    return f"{view.frame_class}, {words.source_label(view, tags)}"


def _ground_clause(view: NoteView, tags: Sequence[str]) -> str:
    """`` (anchor: {target}, status: {status})``; only the status for a process note without an anchor; else nothing.

    ``mentions:`` in place of ``anchor:`` for a file that the content names, which is told only where it has changed.
    """
    status, chosen = _status_word(view), _chosen(view)
    if not status:
        return ""
    if chosen is None:
        return f" (status: {status})"
    lead = "mentions" if isinstance(chosen, GroundStatus) and chosen.mention else "anchor"
    return f" ({lead}: {words.target(chosen, tags)}, status: {status})"


def _status_word(view: NoteView) -> str:
    if view.unchecked:
        return words.STATUS_CHANGED
    match view.status():
        case Status.CHANGED:
            return words.STATUS_CHANGED
        case Status.CONFIRMED:
            return words.STATUS_CONFIRMED.format(date=words.date(view.confirmed_at))
        case Status.MATCHES:
            return words.STATUS_MATCHES
        case _:
            return ""


def _chosen(view: NoteView) -> GroundStatus | Anchor | None:
    """The anchor that the status is said of: one that drifted, else one that matched, else one that is there on this branch.

    Of several alike the one that matched, then a block before its file.
    """
    there = [g for g in view.ground if g.signal != "absent"]
    ranked = sorted(there, key=lambda g: (not g.drifted, g.path != view.matched_path, g.form == "file"))
    anchors = sorted(view.note.anchors, key=lambda a: (a.path != view.matched_path, a.form == "file"))
    return ranked[0] if ranked else anchors[0] if anchors else None


def _lines(view: NoteView, tags: Sequence[str]) -> list[str]:
    """A directive has no status word, so its verdict comes as a line."""
    if view.note.forgotten or view.revoked:
        return []
    ground = verdicts(view, tags) if view.note.kind == Kind.DIRECTIVE else []
    return [*standing_lines(view, tags), *ground]
