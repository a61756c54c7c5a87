"""What was recorded lately, and which notes are held since they came in a burst (quarantine.py says when).

What is held is what the ledger holds: it is read once. Who only asks what is held never waits for who writes it.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from memd_daemon import errors, limits
from memd_daemon.model.burst import BurstNote
from memd_daemon.service.claim import Claim

if TYPE_CHECKING:
    from memd_daemon.service.parts import Parts

log: Final = logging.getLogger("memd.bursts")


class Said(NamedTuple):
    """A note that was recorded lately. ``origins``: what it has in common with the others of its source."""

    uid: bytes
    at: int
    session: str
    origins: frozenset[str]
    content: str
    claim: Claim


class Bursts:
    """Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._lately: deque[Said] | None = None
        self._rows: dict[bytes, BurstNote] | None = None
        self._held: frozenset[bytes] = frozenset()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """One judgment at a time, so that of two notes at once the second sees the first."""
        with self._lock:
            yield

    def held(self, parts: "Parts") -> frozenset[bytes]:
        """Uids of the notes that are held now."""
        if self._rows is None:
            self.known(parts)
        return self._held

    def known(self, parts: "Parts") -> dict[bytes, BurstNote]:
        """Every note that is or was held, by its uid. To be read `alone`."""
        with self._lock:
            if self._rows is None:
                rows = {row.note: row for row in parts.ledger.bursts()}
                self._held = _held(rows.values())
                self._rows = rows
            return self._rows

    def keep(self, parts: "Parts", rows: Sequence[BurstNote]) -> None:
        """Holds or clears these. Where the ledger cannot be written it counts as long as this daemon lives."""
        with self._lock:
            known = self.known(parts)
            known.update((row.note, row) for row in rows)
            self._held = _held(known.values())
        try:
            parts.ledger.put_bursts(rows)
        except errors.MemdError as error:
            log.warning("what came in a burst could not be recorded: %s", error.code)

    def lately(self, since: int, read: Callable[[], Iterable[Said]]) -> "deque[Said]":
        """What was recorded since then (UTC, Unix ms), oldest first; after a start ``read`` says what the store has of it. To be
        used `alone`."""
        if self._lately is None:
            self._lately = deque(read(), maxlen=limits.BURST_LOOKED_AT_MAX)
        while self._lately and self._lately[0].at < since:
            self._lately.popleft()
        return self._lately


def _held(rows: Iterable[BurstNote]) -> frozenset[bytes]:
    return frozenset(row.note for row in rows if not row.cleared_at)
