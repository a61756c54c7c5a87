"""The order in which a note's events are folded: parents first, then by (hybrid time, origin, sequence, index); and what a person
endorsed stands before whatever that person did not see.

So an endorsement comes, with all that it was signed over (its ancestors), before every event that is not among those, whatever
times stand on them: a commit that another store wrote meanwhile, or that somebody dated back into the file, finds an endorsed note
and is a proposal. Of several endorsements the one with the earlier place comes first.

The order depends on the set of events alone, and on which of them are signed, not on the order of their arrival. An event whose
parents are missing waits.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Final

from memd_daemon.model.event import Stored

_place: Final = attrgetter("hlc", "origin", "seq", "index", "event.uid")  # as `Stored.place`, and never two alike


def order(events: Iterable[Stored]) -> tuple[list[Stored], list[Stored]]:
    """(events in fold order, events that wait for a missing parent); duplicates by uid count once."""
    events = list(events)
    if len(events) > 1:
        events.sort(key=_place)
    if _is_in_order(events):
        return events, []
    done, waiting = _sorted_out(events)
    return _endorsed_first(done), waiting


def endorses(stored: Stored) -> bool:
    """Whether a person stands behind this promotion."""
    return stored.signed and stored.event.type == "promoted"


def _is_in_order(events: Sequence[Stored]) -> bool:
    """Whether the order of the places is the order of the fold, as it is where nobody else wrote at the same time."""
    seen: set[bytes] = set()
    heads: set[bytes] = set()
    for stored in events:
        parents = stored.event.parents
        if stored.event.uid in seen or not seen.issuperset(parents):
            return False
        if endorses(stored) and not heads.issubset(parents):
            return False
        seen.add(stored.event.uid)
        heads.difference_update(parents)
        heads.add(stored.event.uid)
    return True


def _sorted_out(events: Iterable[Stored]) -> tuple[list[Stored], list[Stored]]:
    """Parents first, then by place; and those that wait."""
    by_uid: dict[bytes, Stored] = {}
    for stored in events:
        known = by_uid.get(stored.event.uid)
        if known is None or stored.place < known.place:
            by_uid[stored.event.uid] = stored
    missing = {uid: len(set(s.event.parents)) for uid, s in by_uid.items()}
    children: dict[bytes, list[Stored]] = {}
    for stored in by_uid.values():
        for parent in set(stored.event.parents):
            children.setdefault(parent, []).append(stored)
    ready = [(s.place, s.event.uid) for uid, s in by_uid.items() if missing[uid] == 0]
    heapq.heapify(ready)
    done: list[Stored] = []
    while ready:
        _, uid = heapq.heappop(ready)
        done.append(by_uid[uid])
        for child in children.get(uid, ()):
            missing[child.event.uid] -= 1
            if missing[child.event.uid] == 0:
                heapq.heappush(ready, (child.place, child.event.uid))
    waiting = sorted((s for uid, s in by_uid.items() if missing[uid] > 0), key=lambda s: s.place)
    return done, waiting


def _endorsed_first(done: list[Stored]) -> list[Stored]:
    """Each endorsement with its ancestors moved before what it was not signed over."""
    by_uid = {stored.event.uid: stored for stored in done}
    first: dict[bytes, None] = {}
    for stored in filter(endorses, done):
        seen = set(_lineage(stored.event.uid, by_uid, first))
        first.update((one.event.uid, None) for one in done if one.event.uid in seen)
    return [by_uid[uid] for uid in first] + [stored for stored in done if stored.event.uid not in first]


def _lineage(uid: bytes, by_uid: Mapping[bytes, Stored], known: Mapping[bytes, None]) -> Iterator[bytes]:
    """The event and its ancestors, without those that are ``known`` and theirs."""
    due, met = [uid], {uid}
    while due:
        one = due.pop()
        if one in known:
            continue
        yield one
        new = set(by_uid[one].event.parents) - met
        met |= new
        due.extend(new)
