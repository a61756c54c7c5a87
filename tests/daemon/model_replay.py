"""The whole fold as the page has it: events in order, rows by the oracle (model_oracle.py)."""

from collections.abc import Iterable

import msgspec

from memd_daemon.model import event as ev
from memd_daemon.model.event import Stored
from memd_daemon.model.note import Note
from tests.daemon.model_oracle import Deed, changed, expected


def deed_of(stored: Stored) -> Deed:
    """The event as the page speaks of it."""
    made = stored.event
    try:
        payload = ev.payload_of(made)
    except (msgspec.ValidationError, msgspec.DecodeError):
        payload = None
    return Deed(
        uid=made.uid,
        type=made.type,
        actor=made.actor,
        signed=stored.signed,
        at=made.at,
        payload=payload,
        note=made.note,
        parents=made.parents,
        surface=made.surface,
        session=made.session,
        agent=made.agent,
        key_id=made.key_id,
    )


def in_order(events: Iterable[Stored]) -> list[Stored]:
    """Parents first, then (hlc, origin, origin_seq); an event whose parents are missing waits, and is not here. "What a person
    endorsed, only a person changes": nothing that a person did not see when they endorsed the note stands before that.
    """
    left = by_parents(events)
    done: list[Stored] = []
    for endorsed in [s for s in left if s.event.type == "promoted" and s.signed]:
        if endorsed in left:
            seen = {endorsed.event.uid}
            for stored in reversed(left[: left.index(endorsed) + 1]):  # children come before their parents here
                if stored.event.uid in seen:
                    seen |= set(stored.event.parents)
            done += [s for s in left if s.event.uid in seen]
            left = [s for s in left if s.event.uid not in seen]
    return done + left


def by_parents(events: Iterable[Stored]) -> list[Stored]:
    """Parents first, then by place."""
    waiting: dict[bytes, Stored] = {}
    for stored in sorted(events, key=lambda s: s.place):
        waiting.setdefault(stored.event.uid, stored)
    done: list[Stored] = []
    while True:
        gone = {s.event.uid for s in done}
        ready = [s for s in waiting.values() if gone.issuperset(s.event.parents)]
        if not ready:
            return done
        first = min(ready, key=lambda s: s.place)
        done.append(waiting.pop(first.event.uid))


def replayed(events: Iterable[Stored]) -> Note | None:
    """The note that ``events`` of one uid make."""
    note: Note | None = None
    for stored in in_order(events):
        note = expected(note, deed_of(stored))[0]
    return note


def normal(note: Note | None) -> Note | None:
    """The note with what is a set in one order: the page gives none."""
    if note is None:
        return None
    sets = ("conflicts", "demoted", "corroborations", "heads")
    return changed(note, **{field: tuple(sorted(getattr(note, field))) for field in sets})
