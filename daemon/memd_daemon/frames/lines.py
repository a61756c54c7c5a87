"""The lines below a note: what is known of its standing, and of the ground under it (model.md, staleness.md).

Each begins with two spaces and WARNING, VERDICT or NOTE. A revoked note has none: its tombstone says it all.

Of a kind that anybody can add to without end a few are told and the others counted: lines that do not fit are left out together,
so whoever writes a hundred contradictions would silence what a person said. `show` has them all.
"""

from collections.abc import Sequence

from memd_daemon.frames import words
from memd_daemon.frames.escape import escape_line
from memd_daemon.frames.words import date, signalled, target
from memd_daemon.limits import WARNINGS_ALIKE_MAX
from memd_daemon.model.view import NoteView
from memd_daemon.model.words import UNTRUSTED_SOURCES, Currency, Shelf


def standing_lines(view: NoteView, tags: Sequence[str], *, whole: bool = False) -> list[str]:
    """What people, sessions and other notes have to say about this one; recalled and pushed alike. ``whole``: all of it."""
    if view.revoked:
        return []
    conflicts, fallen = _conflicts(view), _fallen(view, tags)
    if not whole:
        conflicts = _few(conflicts, words.WARNING_MORE_CONFLICTS, view.id)
        fallen = _few(fallen, words.WARNING_MORE_FALLEN, view.id)
    return [*_reinstated(view), *_proposed(view, tags), *conflicts, *fallen, *_untrusted(view)]


def _few(alike: list[str], more: str, id_: int) -> list[str]:
    """The first of lines that are alike; where more than one is left, ``more`` says how many."""
    left = len(alike) - WARNINGS_ALIKE_MAX
    return alike if left <= 1 else [*alike[:WARNINGS_ALIKE_MAX], more.format(count=left, id=id_)]


def ground_lines(view: NoteView, tags: Sequence[str]) -> list[str]:
    """What a recall says about the ground: which files, the verdict, and what else bears on its age."""
    if view.revoked:
        return []
    changed = [signalled(g, tags) for g in view.ground if g.drifted and not g.unknown]
    lines = _superseded(view)
    if changed:
        lines.append(words.WARNING_CHANGED.format(anchors=", ".join(changed)))
    lines += [*_unchecked(view, tags), *verdicts(view, tags), *_absent(view, tags), *_aging(view), *_shelved(view)]
    return [*lines, words.WARNING_VERIFY] if view.stale or view.unchecked else lines


def verdicts(view: NoteView, tags: Sequence[str]) -> list[str]:
    """One VERDICT for the anchors that drifted, then one for each proxy that did."""
    drifted = [g for g in view.ground if g.drifted and not g.unknown]
    own = [signalled(g, tags) for g in drifted if not g.proxy]
    lines = [words.VERDICT.format(anchors=", ".join(own))] if own else []
    for g in (g for g in drifted if g.proxy):
        clause = words.VERDICT_PROXY.format(path=target(g, tags), date=date(view.confirmed_at))
        lines.append(words.VERDICT.format(anchors=signalled(g, tags)) + clause)
    return lines


def _reinstated(view: NoteView) -> list[str]:
    back = view.note.reinstated
    if back is None or not view.reinstated_over_person:
        return []
    line = words.WARNING_REINSTATED_COMMAND_LINE if view.reinstated_at_command_line else words.WARNING_REINSTATED
    return [line.format(revoked=date(back.revoked_by_person_at), reinstated=date(back.at))]


def _proposed(view: NoteView, tags: Sequence[str]) -> list[str]:
    """One line: the newest proposal; the queue and `show` have the others."""
    return [
        (words.WARNING_PROPOSED_COMMAND_LINE if p.at_command_line else words.WARNING_PROPOSED).format(
            act=escape_line(p.act, tags), date=date(p.at), reason=escape_line(p.reason, tags) or words.NO_REASON
        )
        for p in view.proposals[-1:]
    ]


def _conflicts(view: NoteView) -> list[str]:
    return [words.WARNING_CONFLICT.format(id=i) for i in view.conflicts]


def _fallen(view: NoteView, tags: Sequence[str]) -> list[str]:
    return [
        words.WARNING_FALLEN.format(id=s.id, what=escape_line(s.what, tags), date=date(s.at))
        for s in view.fallen_sources
    ]


def _untrusted(view: NoteView) -> list[str]:
    if not view.untrusted:
        return []
    own = view.note.source.type in UNTRUSTED_SOURCES
    return [words.NOTE_UNTRUSTED if own else words.NOTE_UNTRUSTED_SOURCES]


def _superseded(view: NoteView) -> list[str]:
    if not view.superseded_by:
        return []
    return [words.WARNING_SUPERSEDED.format(id=view.superseded_by, date=date(view.note.valid_until))]


def _unchecked(view: NoteView, tags: Sequence[str]) -> list[str]:
    """Files that nothing is known of now: there was no time, or they are no files of the place that asks."""
    unchecked = [target(g, tags) for g in view.ground if g.unknown]
    line = words.WARNING_UNCHECKED
    if view.unchecked and not unchecked:
        unchecked = [target(a, tags) for a in view.note.anchors]
        line = _not_looked_at(view)
    return [line.format(anchors=", ".join(unchecked))] if unchecked else []


def _not_looked_at(view: NoteView) -> str:
    """Why nothing at all was looked at."""
    if not view.elsewhere:
        return words.WARNING_UNCHECKED
    return words.WARNING_EVERYWHERE if view.note.scope == "global" else words.WARNING_ELSEWHERE


def _absent(view: NoteView, tags: Sequence[str]) -> list[str]:
    return [words.NOTE_ABSENT.format(path=target(g, tags)) for g in view.ground if g.signal == "absent"]


def _aging(view: NoteView) -> list[str]:
    return [words.NOTE_CONFIRMED.format(date=date(view.confirmed_at))] if view.process else []


def _shelved(view: NoteView) -> list[str]:
    lines = []
    if view.note.currency == Currency.ABSORBED and view.absorbed_by:
        lines.append(words.NOTE_ABSORBED.format(id=view.absorbed_by))
    if view.note.shelf == Shelf.ARCHIVED:
        lines.append(words.NOTE_ARCHIVED)
    return lines
