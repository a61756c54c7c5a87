"""A note that was asked for: header, framed content, and what is known about its ground (model.md, section 3)."""

from collections.abc import Sequence
from typing import Final

from memd_daemon.frames import stripes, words
from memd_daemon.frames.envelope import CLOSING
from memd_daemon.frames.escape import escape_line
from memd_daemon.frames.lines import ground_lines, standing_lines
from memd_daemon.limits import TIME_MS_PER_DAY
from memd_daemon.model.view import NoteView

NOTHING_BEARS: Final = "memd: no notes here bear on that: ask in other words."
NEAREST: Final = "memd: no notes here bear on that: ask in other words; nearest {ids} (show tells one)."
LEFT_OUT: Final = {
    "below-floor": "no word in common with the question, and a cosine of {cosine:.2f} is below {floor:.2f}",
    "none-near": "no note has a word in common with the question or is near it: a cosine of {cosine:.2f} is below {floor:.2f}",
}
"""Why a recall leaves a note out, by rule."""


def nothing_bears(nearest: Sequence[int]) -> str:
    """The answer to a question that no note bears on, without a line end; ``nearest``: ids of those that come nearest to it."""
    said = NEAREST.format(ids=words.note_ids(nearest)) if nearest else NOTHING_BEARS
    return f"{said}\n{CLOSING}"


def left_out(rule: str, cosine: float, floor: float) -> str:
    """Why a recall left a note out."""
    return LEFT_OUT[rule].format(cosine=cosine, floor=floor)


def recalled(view: NoteView, now_ms: int, tags: Sequence[str], *, whole: bool = False) -> str:
    """The note as recall and `show` give it, without a line end. ``now_ms`` in Unix milliseconds, for its age.

    ``tags`` are the names of all supported clients' tags; ``whole``: with every line that there is below it.
    """
    if view.note.forgotten:
        return f"[{view.id}] {words.FORGOTTEN}"
    if view.damaged:
        return f"[{view.id}] {words.DAMAGED}"
    lines = [header(view, now_ms, tags)]
    if view.revoked:
        lines.append(f"  {words.tombstone(view, tags)}")
    else:
        lines.append(stripes.told(f"  {words.frame(view)}", view, tags))
        lines += _quotes(view, tags, whole=whole)
    return "\n".join([*lines, *standing_lines(view, tags, whole=whole), *ground_lines(view, tags)])


def _quotes(view: NoteView, tags: Sequence[str], *, whole: bool) -> list[str]:
    if whole:
        return stripes.all_quotes(view, tags)
    return [*stripes.typed_quotes(view, tags), *stripes.claimed_quotes(view, tags)]


def header(view: NoteView, now_ms: int, tags: Sequence[str]) -> str:
    """``[47] [HIGH] [GOTCHA] [agent] [scope=repo] [inferred]  [locking, resolver]  (23d ago) [STALE]``."""
    note = view.note
    parts = [
        str(view.id),
        escape_line(note.priority, tags).upper(),
        escape_line(note.kind, tags).upper(),
        escape_line(view.frame_class, tags),
        f"scope={words.scope_label(view, tags)}",
        words.source_label(view, tags),
    ]
    if view.derived_from:
        parts.append(f"derived from {words.note_ids(view.derived_from)}")
    line = " ".join(f"[{part}]" for part in parts)
    if note.tags:
        line += f"  [{', '.join(escape_line(tag, tags, stops=',') for tag in note.tags)}]"
    age_days = max(0, now_ms - note.created_at) // TIME_MS_PER_DAY
    return line + f"  ({age_days}d ago)" + (" [STALE]" if view.stale else "")
