"""`memd log`: everything that happened to one note, shared events in the order of their fold, local ones between them by time.

What is told of a note again and again (a rule at every start) is one row for each kind of moment between two events of its life;
else the tellings would bury what befell it.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from memd_client import api
from memd_daemon import limits
from memd_daemon.frames.history import LOCAL, Line, burst_line, event_line, flag_line, head, telling_line
from memd_daemon.model.burst import CLEARED, BurstEvent, events_of
from memd_daemon.model.delivery import Delivery, DeliveryState
from memd_daemon.model.event import Stored, readable_payload_of, texts_of
from memd_daemon.model.fold import order, step
from memd_daemon.model.ids import NO_UID, UID_BYTES, uid_text
from memd_daemon.model.note import Note
from memd_daemon.model.stale_flag import StaleFlag
from memd_daemon.model.view import EventView, TellingView
from memd_daemon.service.explain import iso
from memd_daemon.service.parts import Parts
from memd_daemon.service.refs import note_at, uid_at
from memd_daemon.store.port import Snapshot

Local = StaleFlag | BurstEvent
"""What befell a note on this machine alone, beside being told."""

DELIVERED = "delivered"
"""The local type of an event that tells of a delivery that nobody asked for; `DeliveryState.ASKED` of one that somebody did."""


def log_of(parts: Parts, request: api.Log) -> api.LogReply:
    """The newest of what happened to a note, oldest first, also to one that was forgotten. Raises NoSuchNote."""
    with parts.store.read() as snapshot:
        uid = uid_at(snapshot, request.ref)
        note = snapshot.note(uid) or note_at(snapshot, request.ref)  # which says that there is none
        events = _traced(snapshot.events_of(uid))
        told, since = _deliveries(parts, note)
        local: list[Delivery | Local] = [*told, *parts.ledger.flags_of(uid), *_burst(parts, uid)]
        rows = list(_in_time(events, sorted(local, key=lambda one: one.at)))
        end = max(0, len(rows) - request.offset)
        first = max(0, end - request.limit) if request.limit else 0
        id_ = snapshot.id_of(uid) or 0
        return api.LogReply(
            id=id_,
            head=head(id_, note, parts.tags),
            events=[
                _local_out(parts, row) if not isinstance(row, Traced) else _event_out(parts, snapshot, row)
                for row in rows[first:end]
            ],
            more=first,
            local_since=iso(since),
        )


class Traced(NamedTuple):
    """An event with what it did at its place (`fold.trace`), and how many proposals it settled."""

    stored: Stored
    effect: str
    settled: int = 0


def _traced(events: Iterable[Stored]) -> list[Traced]:
    """In the order of the fold, waiting ones last."""
    done, waiting = order(events)
    note: Note | None = None
    found = []
    for stored in done:
        stood = sum(p.times for p in note.proposals) if note else 0
        note, effect = step(note, stored)
        found.append(Traced(stored, effect, stood if note and not note.proposals else 0))
    return found + [Traced(stored, "waits") for stored in waiting]


def _deliveries(parts: Parts, note: Note) -> tuple[list[Delivery], int]:
    """(those that told this note, oldest first; from when on all are among them, 0 for all of its life)."""
    found: list[Delivery] = []
    kept_since = parts.now_ms() - limits.DELIVERIES_KEPT_DAYS * limits.TIME_MS_PER_DAY
    for looked_at, delivery in enumerate(parts.ledger.deliveries()):
        if delivery.at < note.created_at:
            break
        if looked_at >= limits.LOG_DELIVERIES_MAX:
            return found[::-1], delivery.at
        if any(one.uid == note.uid for one in delivery.notes):
            found.append(delivery)
    return found[::-1], kept_since if note.created_at < kept_since else 0


def _in_time(events: Iterable[Traced], local: Iterable[Delivery | Local]) -> Iterator[Traced | TellingView | Local]:
    """Events in their own order, which no clock changes; each after what happened here before its time."""
    waiting = deque(local)
    for one in events:
        before = []
        while waiting and waiting[0].at < one.stored.event.at:
            before.append(waiting.popleft())
        yield from _locals(before)
        yield one
    yield from _locals(waiting)


def _locals(row: Iterable[Delivery | Local]) -> Iterator[TellingView | Local]:
    """What was told up to each change of the note's ground, and after the last."""
    told: list[Delivery] = []
    for one in row:
        if isinstance(one, Delivery):
            told.append(one)
            continue
        yield from _tellings(told)
        told.clear()
        yield one
    yield from _tellings(told)


def _tellings(row: Iterable[Delivery]) -> Iterator[TellingView]:
    """What was told in a row, for each kind of moment."""
    by_trigger: dict[str, list[Delivery]] = {}
    for delivery in row:
        by_trigger.setdefault(delivery.trigger, []).append(delivery)
    for trigger, found in by_trigger.items():
        yield TellingView(
            trigger=trigger,
            times=len(found),
            at=found[0].at,
            last_at=found[-1].at,
            session=found[0].session,
            agent=found[0].agent,
            sessions=len({one.session for one in found}),
            unconfirmed=sum(one.state == DeliveryState.OFFERED for one in found),
            asked=found[0].state == DeliveryState.ASKED,
            held=sum(one.held for one in found),
        )


def _local_out(parts: Parts, row: TellingView | Local) -> api.EventOut:
    match row:
        case TellingView():
            return _telling_out(parts, row)
        case BurstEvent():
            line, session = burst_line(row, parts.tags), row.note.cleared_by if row.type == CLEARED else ""
            return _noticed_out(row, line, session=session, last_at=iso(row.at))
        case StaleFlag():
            return _noticed_out(row, flag_line(row, parts.tags), times=row.times, last_at=iso(row.last_at))


def _burst(parts: Parts, uid: bytes) -> list[BurstEvent]:
    one = parts.ledger.burst_of(uid)
    return events_of(one) if one is not None else []


def _noticed_out(one: Local, line: Line, *, session: str = "", times: int = 1, last_at: str) -> api.EventOut:
    """What memd itself noticed on this machine: of its ground, of a burst."""
    return api.EventOut(
        uid="",
        type=one.type,
        at=iso(one.at),
        actor="system",
        surface="",
        session=session,
        signed=False,
        effect="applied",
        line=line.text,
        when=line.when,
        who=LOCAL,
        what=line.what,
        local=True,
        times=times,
        last_at=last_at,
    )


def _telling_out(parts: Parts, view: TellingView) -> api.EventOut:
    line = telling_line(view, parts.tags)
    arrived = DeliveryState.OFFERED if view.unconfirmed == view.times else DeliveryState.DELIVERED
    return api.EventOut(
        uid="",
        type=DeliveryState.ASKED if view.asked else DELIVERED,
        at=iso(view.at),
        actor="system",
        surface="" if view.asked else "hook",
        session=view.session,
        signed=False,
        effect=DeliveryState.ASKED if view.asked else arrived,
        line=line.text,
        when=line.when,
        who=LOCAL,
        what=line.what,
        agent=view.agent,
        local=True,
        times=view.times,
        last_at=iso(view.last_at),
    )


def _event_out(parts: Parts, snapshot: Snapshot, one: Traced) -> api.EventOut:
    event = one.stored.event
    view = _event_view(snapshot, one)
    line = event_line(view, parts.tags)
    return api.EventOut(
        uid=uid_text(event.uid),
        type=event.type,
        at=iso(event.at),
        actor=event.actor,
        surface=event.surface,
        session=event.session,
        signed=one.stored.signed,
        effect=one.effect,
        line=line.text,
        when=line.when,
        who=line.who,
        what=line.what,
        agent=event.agent,
        reason=_reason(view),
        notes=sorted(set(view.ids.values())),
        last_at=iso(event.at),
    )


def _reason(view: EventView) -> str:
    """Whole, as it was given."""
    return view.texts.get(getattr(readable_payload_of(view.stored.event), "reason", b""), "")


def _event_view(snapshot: Snapshot, one: Traced) -> EventView:
    payload = readable_payload_of(one.stored.event)
    if payload is None:
        return EventView(stored=one.stored, effect=one.effect)
    texts = {d: t for d in texts_of(payload) if (t := snapshot.text(d)) is not None}
    named = [value for field in payload.__struct_fields__ for value in _uids(getattr(payload, field))]
    ids = {uid: id_ for uid in named if (id_ := _id_of(snapshot, uid))}
    return EventView(stored=one.stored, effect=one.effect, ids=ids, texts=texts, settled=one.settled)


def _id_of(snapshot: Snapshot, uid: bytes) -> int:
    """Of a note; of an event, that of its note."""
    id_ = snapshot.id_of(uid)
    if id_ is not None or uid == NO_UID:
        return id_ or 0
    event = snapshot.event(uid)
    return (snapshot.id_of(event.event.note) or 0) if event is not None else 0


def _uids(value: object) -> Sequence[bytes]:
    """What may be a uid in a payload's field."""
    found = value if isinstance(value, tuple) else (value,)
    return [v for v in found if isinstance(v, bytes) and len(v) == UID_BYTES]
