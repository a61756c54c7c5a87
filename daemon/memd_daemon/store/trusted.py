"""What one process knows of a store from its log alone, so that an edit of derived rows is seen before they are believed.

Events are truth: their digests stand in a chain. Folds, tails and indexes are not, and whoever may write the file may edit them so
that an endorsed note looks like an agent's, or like none. So at the opening of a store every event row is looked at once, for a
signature only (`Trusted.learn`); from then on the process knows which subjects have signed events and where those stand, whatever
a fold or an index says. A cached fold of such a note is compared with its log before it is believed, once for the bytes that it
has; until the rows have been looked through, the fold of every note is.

A text is believed where its digest is the one it lies under; that costs a microsecond, so nothing of it is remembered.

In the same pass the process learns of which notes a `revoked` or a `forgotten` event speaks (`Trusted.fallen`), and each commit
adds to it: so whoever records a note finds the beliefs that were taken back without a search (service/struck.py).

What does not fit raises a *doubt*: `service/watch.py` waits for one, looks through the whole store, and mends what can be made
anew.
"""

import threading
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from memd_daemon.model.event import Stored
from memd_daemon.store import keys

SIGNED_TAIL: Final = b"\xc4\x40"
"""How the last field of an event's row begins where it is a signature: msgpack's head of 64 bytes."""

_SIGNED_TAIL_BYTES: Final = 64 + len(SIGNED_TAIL)
_SIGNED_TAIL_END: Final = len(SIGNED_TAIL) - _SIGNED_TAIL_BYTES

FALLS: Final = ("revoked", "forgotten")
"""Types of event after which a note is no claim any more."""

_REVOKED, _FORGOTTEN = (msgspec.msgpack.encode("type") + msgspec.msgpack.encode(type_) for type_ in FALLS)


def may_be_signed(row: bytes) -> bool:
    """Whether an event's row may hold a signature; wrong about one in 65,536 that hold none, never about one that does."""
    return row[-_SIGNED_TAIL_BYTES:_SIGNED_TAIL_END] == SIGNED_TAIL


def may_be_fall(row: bytes) -> bool:
    """Whether an event's row may be of one of `FALLS`; wrong where a free word says the same, never about one that is."""
    return _REVOKED in row or _FORGOTTEN in row


class Trusted:
    """Shared by all snapshots of a store in this process. Safe to use from any thread."""

    def __init__(self) -> None:
        self.folds: dict[bytes, bytes] = {}  # uid -> digest16 of a cached fold that was compared with the log
        self.fallen: list[bytes] = []  # uids of which an event of `FALLS` speaks, with repetitions, as it became known
        self.complete = threading.Event()  # every event row that stood when the store was opened has been looked at
        self.doubt = threading.Event()
        self._places: dict[bytes, frozenset[bytes]] = {}  # subject -> places of its signed events
        self._doubted: set[bytes] = set()
        self._lock = threading.Lock()

    def learn(self, rows: Iterator[tuple[bytes, bytes]], stored_of: Callable[[bytes, bytes], Stored | None]) -> None:
        """Looks through the rows of the table of events. ``stored_of(key, row)``: the event, None where it cannot be read."""
        for key, row in rows:
            if may_be_signed(row) or may_be_fall(row):
                stored = stored_of(key, row)
                if stored is not None:
                    self.add(stored)
        self.complete.set()

    def add(self, stored: Stored) -> None:
        """An event has come: remembered if it is signed, or a fall. One whose write was taken back costs a look in vain."""
        if stored.event.type in FALLS:
            self.fallen.append(stored.event.note)
        if not stored.sig:
            return
        with self._lock:
            known = self._places.get(stored.event.note, frozenset())
            self._places[stored.event.note] = known | {keys.place_bytes(stored.place)}

    def signed_places(self, subject: bytes) -> frozenset[bytes]:
        """Where the signed events of a subject stand."""
        return self._places.get(subject, frozenset())

    def signed_subjects(self) -> list[bytes]:
        with self._lock:
            return sorted(self._places)

    def must_compare(self, uid: bytes) -> bool:
        """Whether a cached fold of this note is to be compared with the log whatever it says of itself."""
        return uid in self._places or not self.complete.is_set()

    def raise_doubt(self, what: bytes) -> None:
        """Something does not fit: a note's uid, a text's digest. Said once for each."""
        with self._lock:
            is_new = what not in self._doubted
            self._doubted.add(what)
        if is_new:
            self.doubt.set()

    def settle(self) -> None:
        """Derived rows were made anew: what is found from now on is new."""
        with self._lock:
            self._doubted.clear()
        self.folds.clear()
