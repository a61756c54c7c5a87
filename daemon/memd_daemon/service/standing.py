"""The settings as they stand, kept: every hook asks for them, and they change a few times a year.

They are folded anew when a commit has touched the store's own subject, and taken again else. What came from elsewhere, commits or
events that were withheld from one at first, is not among this store's own; after that the fold is made anew too.
"""

import threading
from collections.abc import Mapping

from memd_daemon.model.settings import Change, Settings, folded, locked
from memd_daemon.store.port import Snapshot


class KnownSettings:
    """The settings of one store. Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._moment = -1
        self._since = 0  # the moment before which nothing that is found becomes known
        self._additions = -1  # as many as are known to be in what is known
        self._version = (-1, -1)
        self._seq = 0
        self._known = Settings()
        self._locks: Mapping[str, Change] = {}

    def hold_fast(self, locks: Mapping[str, Change]) -> None:
        """From here on these values stand, whatever events say; {} lets them go."""
        with self._lock:
            self._locks = dict(locks)
            self._forget()

    def forget(self, since: int) -> None:
        """The rows that lead to their events were made anew. ``since``: the moment of a snapshot that sees them so."""
        with self._lock:
            self._since = max(self._since, since)
            self._forget()

    def _forget(self) -> None:
        self._version, self._moment, self._additions = (-1, -1), -1, -1

    def at(self, snapshot: Snapshot, store: bytes) -> Settings:
        """The settings at this snapshot, which is no write in progress; the very same value while nothing changed them.

        ``store``: the subject's uid.
        """
        with self._lock:
            if (moment := snapshot.moment()) == self._moment:
                self._additions = max(self._additions, snapshot.additions)
                return self._known
            if moment < self._since:
                return self._anew(snapshot, store)
            version = snapshot.version()
            if version == self._version:
                self._moment, self._additions = moment, max(self._additions, snapshot.additions)
                return self._known
            seq = snapshot.last_seq()
            touched = list(snapshot.changed_since(self._seq)) if self._version[0] >= 0 and self._seq < seq else []
            own = (seq - self._seq, len(touched)) == (version[0] - self._version[0], version[1] - self._version[1])
            if not touched or not own or store in touched:
                self._known = self._anew(snapshot, store)
            self._version, self._seq, self._moment, self._additions = version, seq, moment, snapshot.additions
            return self._known

    def still(self, additions: int) -> Settings | None:
        """The settings, where no more than these were added to the log since they were asked for last; else None."""
        return self._known if self._additions == additions else None

    def within(self, txn: Snapshot, store: bytes) -> Settings:
        """The settings as a write in progress sees them; nothing of it is kept."""
        with self._lock:
            return self._anew(txn, store)

    def _anew(self, snapshot: Snapshot, store: bytes) -> Settings:
        return locked(folded(snapshot.events_of(store), store), self._locks)
