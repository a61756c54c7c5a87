"""The order in which a note's events are folded: parents first, then by (hybrid time, origin, sequence, index).

It depends on the set of events alone, not on the order of their arrival. An event whose parents are missing waits.
"""

import heapq
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final

from memd_daemon.model.event import Stored

_place: Final = attrgetter("hlc", "origin", "seq", "index", "event.uid")  # as `Stored.place`, and never two alike


def order(events: Iterable[Stored]) -> tuple[list[Stored], list[Stored]]:
    """(events in fold order, events that wait for a missing parent); duplicates by uid count once."""
    events = list(events)
    if len(events) > 1:
        events.sort(key=_place)
    return (events, []) if _is_in_order(events) else _sorted_out(events)


def _is_in_order(events: Sequence[Stored]) -> bool:
    """Whether the order of the places is the order of the fold, as it is where nobody else wrote at the same time."""
    seen: set[bytes] = set()
    for stored in events:
        if stored.event.uid in seen or not seen.issuperset(stored.event.parents):
            return False
        seen.add(stored.event.uid)
    return True


def _sorted_out(events: Iterable[Stored]) -> tuple[list[Stored], list[Stored]]:
    """`order` of any events."""
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
