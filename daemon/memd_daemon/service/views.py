"""Builds views: a note with its texts, ids, lineage and ground looked up for the place that asks."""

from functools import lru_cache, partial
from pathlib import Path

import msgspec

from memd_daemon import limits
from memd_daemon.frames.told import contradicted
from memd_daemon.ground.files import Glance
from memd_daemon.model.event import Anchor, Event
from memd_daemon.model.ids import NO_UID
from memd_daemon.model.note import Note, Proposal
from memd_daemon.model.view import GroundStatus, NotedNote, NoteView, ProposalView, TombstoneView
from memd_daemon.model.words import UNTRUSTED_SOURCES, Provenance, Surface
from memd_daemon.service.flags import noticed
from memd_daemon.service.parts import Parts
from memd_daemon.service.repos import GLOBAL, Place, name_of
from memd_daemon.service.spoken import spoken_in, with_spoken
from memd_daemon.store.port import Snapshot

NO_CONTENT = "(forgotten)"
DAMAGED = "(damaged)"


Grounds = tuple[tuple[Anchor, ...], tuple[Anchor, ...]]
"""A note's anchors, and the files that its content mentions."""


class Looked:
    """What one answer at one place has seen of the ground: many notes of a file cost one look at it. For one thread.

    ``glance``: what the answer has looked at already.
    """

    def __init__(self, glance: Glance | None = None) -> None:
        self.glance = glance or Glance()
        self.statuses: dict[Grounds, tuple[GroundStatus, ...]] = {}


def view_of(
    parts: Parts, snapshot: Snapshot, note: Note, place: Place | None, looked: Looked | None = None
) -> NoteView:
    """The view of one note, its ground looked at for as long as it takes. ``looked``: the answer's, where it tells several."""
    view = with_spoken(parts, snapshot, view_from_log(snapshot, note, place))
    return grounded(parts, quarantined(parts, view), place, None, looked or Looked())


def view_from_log(snapshot: Snapshot, note: Note, place: Place | None) -> NoteView:
    """The view of one note as far as the log alone says it: its ground is not looked at."""
    content = snapshot.text(note.shown.content)
    lineage = _lineage(snapshot, note)
    is_damaged = content is None and not note.forgotten and not note.revoked  # a tombstone does without it
    frame_class = Provenance.AUTO if is_damaged else lineage[0]  # nobody endorsed what lies there, and it is not pushed
    return NoteView(
        id=snapshot.id_of(note.uid) or 0,
        note=note,
        content=(DAMAGED if is_damaged else NO_CONTENT) if content is None else content,
        summary=snapshot.text(note.shown.summary) or "",
        frame_class=frame_class,
        damaged=is_damaged,
        at_command_line=note.surface == Surface.CLI and not note.session,
        untrusted=lineage[1],
        tombstone=_tombstone(snapshot, note),
        derived_from=_ids(snapshot, note.derived_from),
        fallen_sources=_fallen(snapshot, note),
        conflicts=_ids(snapshot, tuple(uid for uid in note.conflicts if _held(snapshot, uid))),
        proposals=tuple(_proposal(snapshot, p) for p in note.proposals),
        reinstated_at_command_line=_reinstated_at_command_line(snapshot, note),
        superseded_by=_id(snapshot, note.superseded_by),
        absorbed_by=_id(snapshot, note.absorbed_by),
        replaced_by=_replacement(snapshot, note),
        corrects=_ids(snapshot, note.corrects),
        scope_label=_scope_label(snapshot, note, place),
        elsewhere=place is not None and not stands_in(note, place),
    )


def grounded(parts: Parts, view: NoteView, place: Place | None, until_ns: int | None, looked: Looked) -> NoteView:
    """The view with the anchors' statuses in the asking checkout; without any where the note is of another repository.

    ``until_ns``: a deadline (monotonic) for all views of one answer, which share ``looked``; past it a status is unknown.
    """
    note = view.note
    if place is None or not (note.anchors or note.mentions) or not stands_in(note, place):
        return view
    ground = seen(parts, grounds_of(note), place, until_ns, looked)
    noticed(parts, note, place, ground)
    return msgspec.structs.replace(view, ground=ground)


def quarantined(parts: Parts, view: NoteView) -> NoteView:
    """The view with what is known of its note's burst: one that was endorsed is held no more, whoever looked at it."""
    if view.note.uid not in parts.bursts.held(parts) or view.note.provenance == Provenance.HUMAN:
        return view
    return msgspec.structs.replace(view, quarantined=True)


def is_user_stated(parts: Parts, snapshot: Snapshot, note: Note, until_ns: int | None = None) -> bool:
    """Whether the note is framed as the user's own words: all of it typed in one turn, and nothing weaker behind it.

    ``until_ns``: a deadline (monotonic), past which only what is known counts.
    """
    return stated_turn(parts, snapshot, note, until_ns) > 0


def stated_turn(parts: Parts, snapshot: Snapshot, note: Note, until_ns: int | None = None) -> int:
    """The turn behind a note that is framed as the user's own words, else 0."""
    if not note.evidence or note.provenance != Provenance.AGENT:
        return 0
    content = snapshot.text(note.shown.content)
    if not content or not spoken_in(parts, snapshot, note, content, until_ns).stated:
        return 0
    return with_spoken(parts, snapshot, view_from_log(snapshot, note, None), until_ns).stated_turn


def grounds_of(note: Note) -> Grounds:
    """What of the ground a note is about."""
    return note.anchors, note.mentions


def stands_in(note: Note, place: Place) -> bool:
    """Whether the note's files are those of the place."""
    return note.scope == place.scope or note.scope.startswith("session:")


def seen(
    parts: Parts, grounds: Grounds, place: Place, until_ns: int | None, looked: Looked
) -> tuple[GroundStatus, ...]:
    """What these look like at the place; what there was no time for is looked at behind the answer, for the next one."""
    found = looked.statuses.get(grounds)
    if found is None:
        root, branch, (anchors, mentions) = _path_of(place.checkout.root), place.checkout.branch, grounds
        found = looked.statuses[grounds] = parts.ground.statuses(
            root, branch, anchors, until_ns, mentions=mentions, glance=looked.glance
        )
        if until_ns is not None and any(status.unknown for status in found):
            parts.behind.add(partial(parts.ground.learn, root, branch, anchors, mentions))
    return found


@lru_cache(limits.CHECKOUTS_KNOWN_MAX)
def _path_of(root: str) -> Path:
    return Path(root)


def _id(snapshot: Snapshot, uid: bytes) -> int:
    return 0 if uid == NO_UID else snapshot.id_of(uid) or 0


def _held(snapshot: Snapshot, uid: bytes) -> bool:
    """Whether there is still a claim on that side of a conflict."""
    other = snapshot.note(uid)
    return other is not None and not other.revoked and not other.forgotten


def _ids(snapshot: Snapshot, uids: tuple[bytes, ...]) -> tuple[int, ...]:
    return tuple(i for i in (_id(snapshot, uid) for uid in uids) if i)


def _lineage(snapshot: Snapshot, note: Note) -> tuple[str, bool]:
    """(class of the frame, whether untrusted text is in it): the least of the note's own and its living sources'."""
    lowest = Provenance(note.provenance)
    untrusted = note.source.type in UNTRUSTED_SOURCES
    if lowest is Provenance.HUMAN:
        return lowest, untrusted
    seen, waiting = {note.uid}, list(note.derived_from)
    while waiting:
        uid = waiting.pop()
        source = None if uid in seen else snapshot.note(uid)
        seen.add(uid)
        if source is None or source.forgotten:
            continue
        lowest = min(lowest, Provenance(source.provenance), key=lambda p: p.rank)
        untrusted = untrusted or source.source.type in UNTRUSTED_SOURCES
        if source.provenance != Provenance.HUMAN:
            waiting.extend(source.derived_from)
    return lowest, untrusted


def _tombstone(snapshot: Snapshot, note: Note) -> TombstoneView | None:
    if not note.revoked:
        return None
    first = note.revocations[0]
    reason = snapshot.text(first.reason) or ""
    by = _id(snapshot, first.by)
    if by:
        reason = contradicted(by, reason)
    return TombstoneView(revoked_at=first.at, reason=reason or "none given", signed=first.signed)


def _replacement(snapshot: Snapshot, note: Note) -> int:
    return next((i for i in (_id(snapshot, r.by) for r in note.revocations) if i), 0)


def _fallen(snapshot: Snapshot, note: Note) -> tuple[NotedNote, ...]:
    return tuple(NotedNote(id=_id(snapshot, f.ancestor), what=f.what, at=f.at) for f in note.flags)


def _proposal(snapshot: Snapshot, p: Proposal) -> ProposalView:
    reason, stored = snapshot.text(p.reason) or "", snapshot.event(p.event)
    outside = stored is not None and is_outside(stored.event)
    return ProposalView(
        act=p.act, at=p.at, reason=reason, by=_id(snapshot, p.by), at_command_line=outside, times=p.times
    )


def is_outside(event: Event) -> bool:
    """Whether it came from the command line outside a session: memd cannot say that an AI session did it."""
    return event.surface == Surface.CLI and not event.session


def _reinstated_at_command_line(snapshot: Snapshot, note: Note) -> bool:
    back = note.reinstated
    if back is None or back.signed or not back.revoked_by_person_at:
        return False  # no line is told of it
    lifts = (s.event for s in snapshot.events_of(note.uid) if s.event.type == "reinstated")
    return any(is_outside(event) for event in lifts if event.at == back.at)


def _scope_label(snapshot: Snapshot, note: Note, place: Place | None) -> str:
    if note.scope == GLOBAL or note.scope.startswith("session:"):
        return note.scope.partition(":")[0]
    return "repo" if place is not None and note.scope == place.scope else name_of(snapshot, note.scope)
