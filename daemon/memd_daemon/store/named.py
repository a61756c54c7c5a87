"""Which notes a fault is about: a commit's number says little to the person whose note it was.

An event that can be read names its note itself. One that is gone is looked for in the index of events by note, which is read
through once, and only where there is a fault.
"""

import struct
from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from memd_daemon.limits import LEFT_OUT_IDS_MAX
from memd_daemon.model.event import decode_event
from memd_daemon.store import keys
from memd_daemon.store.fault import Fault
from memd_daemon.store.log_read import BROKEN, LogSnapshot

_row_decoder = msgspec.msgpack.Decoder(tuple[bytes, bytes])
_Row = tuple[bytes, int, int]
"""(origin, seq, index) of an event."""


def named(log: LogSnapshot, faults: Sequence[Fault]) -> list[Fault]:
    """The faults of commits and events with their notes, in the words of their places too."""
    placed = [fault for fault in faults if fault.seq]
    if not placed:
        return list(faults)
    subjects = _Subjects(log, placed)
    return [_told(log, fault, subjects.of(fault)) if fault.seq else fault for fault in faults]


class _Subjects:
    """Subjects of the events at which something is wrong."""

    def __init__(self, log: LogSnapshot, faults: Sequence[Fault]) -> None:
        self._commits = {(fault.origin, fault.seq) for fault in faults if not fault.last}
        self._gaps = [(fault.origin, fault.seq, fault.last) for fault in faults if fault.last]
        self._found: dict[tuple[bytes, int], dict[int, bytes]] = defaultdict(dict)
        for (origin, seq, index), subject in (*_entered(log), *_said(log, self._commits)):
            if self._is_asked(origin, seq):
                self._found[origin, seq][index] = subject

    def _is_asked(self, origin: bytes, seq: int) -> bool:
        return (origin, seq) in self._commits or any(o == origin and a <= seq <= b for o, a, b in self._gaps)

    def of(self, fault: Fault) -> set[bytes]:
        if fault.last:
            rows = [
                row for (o, seq), row in self._found.items() if o == fault.origin and fault.seq <= seq <= fault.last
            ]
            return {subject for row in rows for subject in row.values()}
        row = self._found.get((fault.origin, fault.seq), {})
        return {subject for index, subject in row.items() if fault.index in (None, index)}


def _entered(log: LogSnapshot) -> Iterator[tuple[_Row, bytes]]:
    """What the index says, which may be wrong: whatever the log itself says comes after it."""
    for key, _ in log.kv.scan(keys.SUBJECTS):
        raw = keys.place_of_subject_key(key)
        try:
            _, origin, seq, index = keys.of_place(raw)
        except struct.error:
            continue
        yield (origin, seq, index), key[: -len(raw)]


def _said(log: LogSnapshot, commits: set[tuple[bytes, int]]) -> Iterator[tuple[_Row, bytes]]:
    for origin, seq in commits:
        for key, row in log.kv.scan(keys.EVENTS, keys.commit_key(origin, seq)):
            try:
                yield keys.of_event_key(key), decode_event(_row_decoder.decode(row)[0]).note
            except (*BROKEN, struct.error):
                continue


def _told(log: LogSnapshot, fault: Fault, subjects: set[bytes]) -> Fault:
    ids = sorted(id_ for id_ in (log.id_of(subject) for subject in subjects if subject) if id_ is not None)
    about = [f"of {_listed(ids)}"] if ids else []
    about += ["of this store's keys and settings"] if log.info.store in subjects else []
    return msgspec.structs.replace(fault, where=", ".join((fault.where, *about)), notes=tuple(ids))


def _listed(ids: Sequence[int]) -> str:
    shown = ", ".join(f"[{id_}]" for id_ in ids[:LEFT_OUT_IDS_MAX])
    more = f" and {len(ids) - LEFT_OUT_IDS_MAX} more" if len(ids) > LEFT_OUT_IDS_MAX else ""
    return f"note{'s' if len(ids) > 1 else ''} {shown}{more}"
