"""Stale flags: what a look at a note's ground found, kept as local events behind the answer (staleness.md).

Raised when a note is found drifted in a checkout, at any read of it; cleared when it is found standing again there: changed back,
or confirmed. What could not be looked at, or is absent on this branch, says nothing either way. An answer pays for a comparison in
memory; what is news is written behind it, all that has come together in one write.

What is known is what the ledger holds: it is read once, behind the first answer that has something to tell.
"""

import os
import threading
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from memd_daemon import limits
from memd_daemon.model.note import Note
from memd_daemon.model.stale_flag import CLEARED, RAISED, Drift, StaleFlag, drifts_of, state_of
from memd_daemon.model.view import GroundStatus
from memd_daemon.service.behind import Behind

if TYPE_CHECKING:
    from memd_daemon.service.parts import Parts
    from memd_daemon.service.repos import Place

_STANDS: Final = b""
_Key = tuple[bytes, str]
"""(note, root of the checkout)."""


class Seen(NamedTuple):
    """What a look found. ``state``: b"" where everything stands."""

    state: bytes
    branch: str
    drifts: tuple[Drift, ...]


class Flags:
    """What is known to be flagged, and what waits to be written. Safe to call from any thread."""

    def __init__(self) -> None:
        self.behind = Behind()  # its own: what waits is written by one piece of work, which must not be left out
        self._lock = threading.Lock()
        self._known: dict[_Key, bytes] | None = None
        self._waiting: dict[_Key, Seen] = {}
        self.rounds = 0  # how often what waited was taken up: who has told what was seen before that tells it again

    def add(self, parts: "Parts", key: _Key, seen: Seen) -> None:
        """Has it written, if it is news."""
        with self._lock:
            known = None if self._known is None else self._known.get(key, _STANDS)
            if key not in self._waiting and (seen.state == known or len(self._waiting) >= limits.FLAGS_WAITING_MAX):
                return
            self._waiting[key] = seen
        self.behind.add(partial(self._write, parts))  # each time: the one before it may never have begun

    def _write(self, parts: "Parts") -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, {}
            self.rounds += bool(waiting)
        if not waiting:
            return
        known = self._known_by(parts)
        news = {key: seen for key, seen in waiting.items() if known.get(key, _STANDS) != seen.state}
        parts.ledger.put_flags(_flags(news, parts.now_ms()))
        with self._lock:
            known.update((key, seen.state) for key, seen in news.items())

    def _known_by(self, parts: "Parts") -> dict[_Key, bytes]:
        """What the ledger holds, kept up since it was read first."""
        with self._lock:
            if self._known is None:
                self._known = {(flag.note, flag.root): flag.state for flag in parts.ledger.flags_standing()}
            return self._known

    def flagged(self, parts: "Parts") -> frozenset[bytes]:
        """Uids of the notes that are flagged in any checkout that there is, as far as they were looked at."""
        known = self._known_by(parts)
        with self._lock:
            standing = [key for key, state in known.items() if state]
        there = {root for root in {root for _, root in standing} if os.path.lexists(root)}
        return frozenset(uid for uid, root in standing if root in there)


def _flags(news: Mapping[_Key, Seen], now_ms: int) -> list[StaleFlag]:
    return [
        StaleFlag(
            note=note,
            type=RAISED if seen.state else CLEARED,
            root=root,
            state=seen.state,
            at=now_ms,
            last_at=now_ms,
            branch=seen.branch,
            drifts=seen.drifts,
        )
        for (note, root), seen in news.items()
    ]


def noticed(parts: "Parts", note: Note, place: "Place", ground: tuple[GroundStatus, ...]) -> None:
    """A note's ground was looked at: what of it is news is kept, behind the answer."""
    drifted = any(one.drifted for one in ground)
    if any(one.unknown for one in ground) or (not drifted and any(one.signal for one in ground)):
        return  # not known, or absent on this branch: what was said of that file is neither so nor not so here
    state = state_of((*note.anchors, *note.mentions), ground) if drifted and not note.revoked else _STANDS
    seen = Seen(state, place.checkout.branch, drifts_of(ground) if state else ())
    parts.flags.add(parts, (note.uid, place.checkout.root), seen)
