"""The fold: what a note's events, in order, make of it (model.md, section 2).

`TRANSITIONS` holds one pure function per event type; each takes the note so far and the stored event and says what becomes of
the note, or None where the event's precondition does not hold at its place: then it has no effect, and `memd log` says so.
On a note that a person endorsed, the acts in `PERSON_ONLY` have no effect unless signed: they stand as proposals, where a person
could carry them out at their place. A further one for the same act and the same other note is counted with the first (`_waiting`):
the log keeps each with its reason, and nobody makes a note grow by wishing. A person's signed act settles the proposals that it was
shown with, whatever it decides; where anything has befallen the note that the person did not see, none is settled, so that no wish
passes unseen. An event that needs a signature (model/proof.py) and has none that stands (model/trust.py) has no effect at all; a
signature under any other actor than `human` makes no person of it.

The result depends on the set of events alone, not on the order of their arrival (model/fold_order.py). An event whose parents are
missing waits.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Final, cast

import msgspec

from memd_daemon import limits
from memd_daemon.model import event as ev
from memd_daemon.model.event import Stored
from memd_daemon.model.fold_order import order as order
from memd_daemon.model.ids import NO_UID
from memd_daemon.model.note import Note, Proposal, Reinstatement, ReviewFlag, Revision, Revocation
from memd_daemon.model.proof import PERSON_ONLY, is_endorsed, needs_signature
from memd_daemon.model.words import Actor, Kind, Priority, Provenance, SourceType


class Effect(StrEnum):
    """What an event did at its place."""

    APPLIED = "applied"
    KEPT = "kept"  # recorded, changes nothing that is derived: a further reason, a second reinstatement
    PROPOSED = "proposed"  # stands for a person to decide
    NONE = "without effect"


Transition = Callable[[Note, Stored, msgspec.Struct], Note | None]


_KINDS: Final = frozenset(Kind)
_PRIORITIES: Final = frozenset(Priority)
_SOURCES: Final = frozenset(SourceType)
_LEVELS: Final = frozenset({"", "atom", "principle", "doctrine"})
_RESOLUTIONS: Final = frozenset({"a_wins", "b_wins", "both_demoted", "merged"})
_PROPOSALS: Final = frozenset(PERSON_ONLY.values())
_FALLS: Final = frozenset({"revoked", "superseded", "forgotten"})
# What is proposed and how an ancestor fell stand in memd's own lines: no event brings words of its own there.
_UNREVIEWED: Final = frozenset({Provenance.AUTO, Provenance.AGENT})
"""What a note or a revision may be recorded as; only `promoted` goes further."""


def fold(events: Iterable[Stored]) -> Note | None:
    """The note that ``events`` of one uid make, or None where none of them begins it."""
    note: Note | None = None
    for stored in order(events)[0]:
        note, _ = step(note, stored)
    return note


def trace(events: Iterable[Stored]) -> list[tuple[Stored, str]]:
    """Each event with what it did at its place; waiting ones last, as `waits`."""
    done, waiting = order(events)
    note: Note | None = None
    told: list[tuple[Stored, str]] = []
    for stored in done:
        note, effect = step(note, stored)
        told.append((stored, effect))
    return told + [(stored, "waits") for stored in waiting]


def step(note: Note | None, stored: Stored) -> tuple[Note | None, Effect]:
    """The note after one event that comes next in fold order."""
    payload = ev.readable_payload_of(stored.event)
    if stored.signed and stored.event.actor != Actor.HUMAN:
        stored = msgspec.structs.replace(stored, signed=False)
    if payload is None or (not stored.signed and needs_signature(note, stored.event, payload)):
        return (note and _noted(note, stored)), Effect.NONE
    if note is None:
        begun = _recorded(stored, cast(ev.Recorded, payload)) if stored.event.type == "recorded" else None
        return begun, Effect.APPLIED if begun else Effect.NONE
    return _step_known(note, stored, payload)


def _step_known(note: Note, stored: Stored, payload: msgspec.Struct) -> tuple[Note, Effect]:
    type_ = stored.event.type
    seen = _noted(note, stored)
    if note.forgotten or type_ not in TRANSITIONS or (type_ == "revoked" and stored.event.actor == Actor.SYSTEM):
        return seen, Effect.NONE
    further = type_ == "revoked" and note.revoked
    for_person = type_ in PERSON_ONLY and is_endorsed(note) and not stored.signed and not further
    judged = msgspec.structs.replace(stored, signed=True) if for_person else stored  # could a person do it here?
    after = TRANSITIONS[type_](seen, judged, payload)
    if after is None:
        return seen, Effect.NONE
    if for_person:
        return _propose_instead(seen, after, stored, payload), Effect.PROPOSED
    if type_ == "proposed":
        return after, Effect.PROPOSED
    kept = further or after == seen
    if stored.signed and after.proposals and set(note.heads).issubset(stored.event.parents):
        after = msgspec.structs.replace(after, proposals=())
    return after, Effect.KEPT if kept else Effect.APPLIED


def _noted(note: Note, stored: Stored) -> Note:
    """The note with the event among its heads and in its count, whatever else it does."""
    event = stored.event
    left = () if note.heads == event.parents else sorted(set(note.heads).difference(event.parents))
    return msgspec.structs.replace(note, heads=tuple(sorted((*left, event.uid))), events=note.events + 1)


def _propose_instead(note: Note, after: Note, stored: Stored, payload: msgspec.Struct) -> Note:
    """The proposal, and nothing else of what the act would make; but a new wording is kept, unrendered, for a person to sign."""
    proposal = Proposal(
        event=stored.event.uid,
        act=PERSON_ONLY[stored.event.type],
        at=stored.event.at,
        reason=getattr(payload, "reason", b""),
        by=getattr(payload, "by", NO_UID),
    )
    base = after if stored.event.type == "revised" else note
    return msgspec.structs.replace(base, proposals=_waiting(note.proposals, proposal))


def _waiting(proposals: tuple[Proposal, ...], new: Proposal) -> tuple[Proposal, ...]:
    """The proposals with one more. Past `PROPOSALS_APART_MAX` it counts with the first for its act, whatever the other note is."""
    is_full = len(proposals) >= limits.PROPOSALS_APART_MAX
    for place, one in enumerate(proposals):
        if one.act == new.act and (one.by == new.by or is_full):
            counted = msgspec.structs.replace(one, times=one.times + 1)
            return (*proposals[:place], counted, *proposals[place + 1 :])
    return (*proposals, new)


def _recorded(stored: Stored, p: ev.Recorded) -> Note | None:
    words = p.kind in _KINDS and p.priority in _PRIORITIES and p.level in _LEVELS and p.source.type in _SOURCES
    if p.provenance not in _UNREVIEWED or not words:
        return None
    e = stored.event
    first = Revision(
        content=p.content, summary=p.summary, provenance=p.provenance, at=e.at, event=e.uid, reason=p.reason
    )
    return Note(
        uid=e.note,
        kind=p.kind,
        priority=p.priority,
        source=p.source,
        scope=p.scope,
        under=p.under,
        tags=p.tags,
        anchors=p.anchors,
        mentions=p.mentions,
        evidence=p.evidence,
        derived_from=p.derived_from,
        informed_by=p.informed_by,
        corrects=p.corrects,
        process=p.process,
        level=p.level,
        slug=p.slug,
        session=e.session,
        agent=e.agent,
        turn=p.turn,
        harness=p.harness,
        surface=e.surface,
        actor=e.actor,
        created_at=e.at,
        revisions=(first,),
        task="open" if p.kind == Kind.TASK else "",
        heads=(e.uid,),
        events=1,
    )


def _recorded_again(note: Note, stored: Stored, p: msgspec.Struct) -> Note | None:
    same = note.revisions[0].content == cast(ev.Recorded, p).content
    return note if same else None


def _promoted(note: Note, stored: Stored, p: msgspec.Struct) -> Note | None:
    p = cast(ev.Promoted, p)
    newest = note.revisions[-1]
    ladder = list(Provenance)
    if note.revoked or p.to not in ladder or newest.provenance not in ladder:
        return None
    if ladder.index(Provenance(p.to)) != ladder.index(Provenance(newest.provenance)) + 1:
        return None
    if p.revision != note.revision or p.content != newest.content:
        return None
    key_id = stored.event.key_id if p.to == Provenance.HUMAN else b""
    raised = msgspec.structs.replace(newest, provenance=p.to, key_id=key_id)
    return msgspec.structs.replace(note, revisions=(*note.revisions[:-1], raised))


def _revoked(note: Note, stored: Stored, p: msgspec.Struct) -> Note | None:
    p = cast(ev.Reasoned, p)
    e = stored.event
    if not (p.reason or p.by != NO_UID):
        return None
    fall = Revocation(event=e.uid, at=e.at, reason=p.reason, by=p.by, actor=e.actor, signed=stored.signed)
    return msgspec.structs.replace(
        note, belief="revoked", shelf="active", revocations=(*note.revocations, fall), conflicts=()
    )


def _reinstated(note: Note, stored: Stored, p: msgspec.Struct) -> Note | None:
    if not note.revoked:
        return note
    e, before = stored.event, note.reinstated
    by_person = next((r.at for r in note.revocations if r.signed), 0)
    if not by_person and before is not None and not before.signed:
        by_person = before.revoked_by_person_at  # what the user took back is told until a person lifts it
    lifted = Reinstatement(at=e.at, actor=e.actor, signed=stored.signed, revoked_by_person_at=by_person)
    return msgspec.structs.replace(
        note,
        belief="held",
        reinstated=lifted,
        revocations=(),
        past_revocations=(*note.past_revocations, *note.revocations),
    )


def _superseded(note: Note, stored: Stored, p: msgspec.Struct) -> Note | None:
    p = cast(ev.ByNote, p)
    if p.by in (NO_UID, note.uid):
        return None
    return msgspec.structs.replace(
        note, currency="superseded", superseded_by=p.by, absorbed_by=NO_UID, valid_until=stored.event.at
    )


def _unsuperseded(note: Note, stored: Stored, p: msgspec.Struct) -> Note | None:
    if note.currency != "superseded":
        return None
    return msgspec.structs.replace(note, currency="current", superseded_by=NO_UID, valid_until=0)


def _absorbed(note: Note, stored: Stored, p: msgspec.Struct) -> Note | None:
    p = cast(ev.ByNote, p)
    if p.by in (NO_UID, note.uid):
        return None
    return msgspec.structs.replace(note, currency="absorbed", absorbed_by=p.by, superseded_by=NO_UID, valid_until=0)


def _released(note: Note, stored: Stored, p: msgspec.Struct) -> Note | None:
    if note.currency != "absorbed":
        return None
    return msgspec.structs.replace(note, currency="current", absorbed_by=NO_UID)


def _revised(note: Note, stored: Stored, p: msgspec.Struct) -> Note | None:
    p = cast(ev.Revised, p)
    curated = note.level in ("principle", "doctrine")
    if note.revoked or not curated or p.expected_revision != note.revision or p.provenance not in _UNREVIEWED:
        return None
    e = stored.event
    new = Revision(content=p.content, summary=p.summary, provenance=p.provenance, at=e.at, event=e.uid, reason=p.reason)
    return msgspec.structs.replace(note, revisions=(*note.revisions, new))


def _confirmed(note: Note, stored: Stored, p: msgspec.Struct) -> Note | None:
    if note.revoked:
        return None
    confirmed, at = cast(ev.Confirmed, p), stored.event.at
    person_at = at if stored.signed else note.person_confirmed_at
    return msgspec.structs.replace(
        note,
        last_confirmed_at=at,
        person_confirmed_at=person_at,
        anchors=_retaken(note.anchors, confirmed.anchors),
        mentions=_retaken(note.mentions, confirmed.mentions),
    )


def _retaken(anchors: tuple[ev.Anchor, ...], fresh: tuple[ev.Anchor, ...]) -> tuple[ev.Anchor, ...]:
    """The anchors, each as it was taken again where it was."""
    again = {(a.form, a.path, a.part, a.proxy): a for a in fresh}
    return tuple(again.get((a.form, a.path, a.part, a.proxy), a) for a in anchors)


def _corroborated(note: Note, stored: Stored, p: msgspec.Struct) -> Note | None:
    by = cast(ev.ByNote, p).by
    if by in (NO_UID, note.uid) or (by in note.corroborations and not note.revoked):
        return None
    if note.revoked:
        return note  # as `rederived`: for the queue only
    return msgspec.structs.replace(note, corroborations=tuple(sorted((*note.corroborations, by))))


def _rederived(note: Note, stored: Stored, p: msgspec.Struct) -> Note | None:
    return note


def _conflict_opened(note: Note, stored: Stored, p: msgspec.Struct) -> Note | None:
    other = cast(ev.ConflictOpened, p).other
    if note.revoked or other in (NO_UID, note.uid) or other in note.conflicts:
        return None
    return msgspec.structs.replace(note, conflicts=tuple(sorted((*note.conflicts, other))))


def _conflict_resolved(note: Note, stored: Stored, p: msgspec.Struct) -> Note | None:
    p = cast(ev.ConflictResolved, p)
    if p.other not in note.conflicts or p.resolution not in _RESOLUTIONS:
        return None
    demoted = {*note.demoted, p.other} if p.resolution == "both_demoted" else note.demoted
    left = tuple(c for c in note.conflicts if c != p.other)
    return msgspec.structs.replace(note, conflicts=left, demoted=tuple(sorted(demoted)))


def _archived(note: Note, stored: Stored, p: msgspec.Struct) -> Note | None:
    if note.revoked or note.kind == Kind.DIRECTIVE or note.task == "open":
        return None
    return msgspec.structs.replace(note, shelf="archived")


def _restored(note: Note, stored: Stored, p: msgspec.Struct) -> Note | None:
    if note.shelf != "archived":
        return None
    return msgspec.structs.replace(note, shelf="active")


def _amended(note: Note, stored: Stored, p: msgspec.Struct) -> Note | None:
    p = cast(ev.Amended, p)
    if p.priority and p.priority not in _PRIORITIES:
        return None
    return msgspec.structs.replace(
        note,
        priority=p.priority or note.priority,
        tags=note.tags if p.tags is None else p.tags,
        anchors=note.anchors if p.anchors is None else p.anchors,
        scope=p.scope or note.scope,
        under=note.under if p.under is None else p.under,
        scope_signed=stored.signed if p.scope or p.under is not None else note.scope_signed,
    )


def _closed(note: Note, stored: Stored, p: msgspec.Struct) -> Note | None:
    return msgspec.structs.replace(note, task="closed") if note.task == "open" else None


def _reopened(note: Note, stored: Stored, p: msgspec.Struct) -> Note | None:
    return msgspec.structs.replace(note, task="open") if note.task == "closed" else None


def _evidence_bound(note: Note, stored: Stored, p: msgspec.Struct) -> Note | None:
    new = tuple(e for e in cast(ev.EvidenceBound, p).evidence if e not in note.evidence)
    return msgspec.structs.replace(note, evidence=(*note.evidence, *new)) if new else None


def _review_flagged(note: Note, stored: Stored, p: msgspec.Struct) -> Note | None:
    p = cast(ev.ReviewFlagged, p)
    if p.what not in _FALLS or any(f.cause == p.cause for f in note.flags):
        return None
    flag = ReviewFlag(ancestor=p.ancestor, cause=p.cause, what=p.what, at=stored.event.at)
    return msgspec.structs.replace(note, flags=(*note.flags, flag))


def _reviewed(note: Note, stored: Stored, p: msgspec.Struct) -> Note | None:
    seen = set(cast(ev.Reviewed, p).causes)
    left = tuple(f for f in note.flags if f.cause not in seen)
    return msgspec.structs.replace(note, flags=left) if left != note.flags else None


def _proposed(note: Note, stored: Stored, p: msgspec.Struct) -> Note | None:
    p = cast(ev.Proposed, p)
    if not is_endorsed(note) or p.act not in _PROPOSALS:
        return None
    proposal = Proposal(event=stored.event.uid, act=p.act, at=stored.event.at, reason=p.reason, by=p.by)
    return msgspec.structs.replace(note, proposals=_waiting(note.proposals, proposal))


def _forgotten(note: Note, stored: Stored, p: msgspec.Struct) -> Note | None:
    return msgspec.structs.replace(note, forgotten=True)


TRANSITIONS: Final[dict[str, Transition]] = {
    "recorded": _recorded_again,
    "promoted": _promoted,
    "revoked": _revoked,
    "reinstated": _reinstated,
    "superseded": _superseded,
    "unsuperseded": _unsuperseded,
    "absorbed": _absorbed,
    "released": _released,
    "revised": _revised,
    "confirmed": _confirmed,
    "corroborated": _corroborated,
    "rederived": _rederived,
    "conflict_opened": _conflict_opened,
    "conflict_resolved": _conflict_resolved,
    "archived": _archived,
    "restored": _restored,
    "amended": _amended,
    "closed": _closed,
    "reopened": _reopened,
    "evidence_bound": _evidence_bound,
    "review_flagged": _review_flagged,
    "reviewed": _reviewed,
    "proposed": _proposed,
    "forgotten": _forgotten,
}


def heads_of(events: Sequence[Stored]) -> tuple[bytes, ...]:
    """Uids that no other of ``events`` names as a parent, sorted."""
    named = {parent for s in events for parent in s.event.parents}
    return tuple(sorted({s.event.uid for s in events} - named))
