"""How many notes there are of what: counted once, and then kept up by the commits since the last look.

A status is asked for by every person who wonders and by tools that look again and again; it must not read ten thousand notes each
time. Commits that came from elsewhere are not in this store's own count of them: after one of those everything is counted anew.
"""

import threading
from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from memd_daemon.model.note import Note
from memd_daemon.model.words import Kind, Provenance
from memd_daemon.store.port import Snapshot

KIND: Final = "kind "
PROVENANCE: Final = "provenance "
MARKS: Final = ("revoked", "superseded", "absorbed", "proposals", "conflicts", "review")
WAITING: Final = {"proposed": "proposals", "in_conflict": "conflicts", "to_review": "flags"}
"""What waits for a person, by the field of a note that says so."""

SPOKEN: Final = "spoken"
"""Rules that words of the user's were bound to and that nobody endorsed: some of them may be the user's words from end to end."""

_Row = tuple[str, str, int, int, int, int, int, int]
"""Kind, class, and one number for each of MARKS."""


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """Notes that were not forgotten, by kind and by class, and how many bear which mark."""

    by_kind: dict[str, int]
    by_provenance: dict[str, int]
    marks: dict[str, int]
    waiting: dict[str, tuple[bytes, ...]]  # for each of WAITING the uids of the notes
    spoken: tuple[bytes, ...] = ()  # uids of SPOKEN, the newest first


class Tally:
    """The counts of one store. Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._version = (-1, -1)
        self._seq = 0
        self._rows: dict[bytes, _Row] = {}
        self._totals: Counter[str] = Counter()
        self._waiting: dict[str, set[bytes]] = {name: set() for name in (*WAITING, SPOKEN)}

    def at(self, snapshot: Snapshot) -> Told:
        """The counts at this snapshot."""
        with self._lock:
            version, seq = snapshot.version(), snapshot.last_seq()
            if version != self._version:
                if version[0] - self._version[0] == seq - self._seq > 0 and self._seq:
                    self._count(snapshot, set(snapshot.changed_since(self._seq)))
                else:
                    self._rows.clear()
                    self._totals.clear()
                    for waiting in self._waiting.values():
                        waiting.clear()
                    for _, note in snapshot.notes():
                        self._put(note.uid, note)
                self._version, self._seq = version, seq
            return self._told()

    def forget(self) -> None:
        """Counts anew at the next look: the rows of the notes were made anew from the log."""
        with self._lock:
            self._version, self._seq = (-1, -1), 0

    def _count(self, snapshot: Snapshot, changed: Iterable[bytes]) -> None:
        for uid in changed:
            self._put(uid, snapshot.note(uid))

    def _put(self, uid: bytes, note: Note | None) -> None:
        before = self._rows.pop(uid, None)
        if before is not None:
            self._totals.subtract(_counted(before))
        for waiting in self._waiting.values():
            waiting.discard(uid)
        if note is not None and not note.forgotten:
            self._rows[uid] = _row(note)
            self._totals.update(_counted(self._rows[uid]))
            for name, field in WAITING.items():
                if getattr(note, field):
                    self._waiting[name].add(uid)
            if _is_spoken(note):
                self._waiting[SPOKEN].add(uid)

    def _told(self) -> Told:
        def under(prefix: str) -> dict[str, int]:
            return {key.removeprefix(prefix): n for key, n in self._totals.items() if n and key.startswith(prefix)}

        marks = {mark: self._totals[mark] for mark in MARKS}
        waiting = {name: tuple(sorted(self._waiting[name])) for name in WAITING}
        spoken = tuple(sorted(self._waiting[SPOKEN], reverse=True))
        return Told(by_kind=under(KIND), by_provenance=under(PROVENANCE), marks=marks, waiting=waiting, spoken=spoken)


def _is_spoken(note: Note) -> bool:
    is_unendorsed = note.provenance == Provenance.AGENT and note.live and not note.revoked
    return is_unendorsed and note.kind == Kind.DIRECTIVE and bool(note.evidence)


def _row(note: Note) -> _Row:
    return (
        note.kind,
        note.provenance,
        int(note.revoked),
        int(note.currency == "superseded"),
        int(note.currency == "absorbed"),
        len(note.proposals),
        int(bool(note.conflicts)),
        int(bool(note.flags)),
    )


def _counted(row: _Row) -> dict[str, int]:
    return {KIND + row[0]: 1, PROVENANCE + row[1]: 1, **dict(zip(MARKS, row[2:], strict=True))}
