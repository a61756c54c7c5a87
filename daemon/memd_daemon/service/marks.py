"""Up to which commit an index goes, and of which store: one number.

    mark = commit's number << 24 | the first 24 bits of its digest

A store that was put back from a copy, or exchanged for another, gives the same numbers again for other notes. An index that was
made from what is no longer there would find one note by the words of another; so a mark whose commit is not in this store is none,
and the index is made anew.
"""

from memd_daemon.limits import MARK_DIGEST_BITS
from memd_daemon.model import event as ev
from memd_daemon.store.port import Snapshot


def mark_of(snapshot: Snapshot) -> int:
    """The mark of an index that holds all that this snapshot shows."""
    return _mark(snapshot, snapshot.last_seq())


def seq_of(mark: int | None) -> int:
    """The number of the commit; 0 for no mark."""
    return (mark or 0) >> MARK_DIGEST_BITS


def known(snapshot: Snapshot, mark: int | None) -> int | None:
    """The number of the mark's commit, None where this store has no such commit."""
    seq = seq_of(mark)
    return seq if mark is not None and mark == _mark(snapshot, seq) else None


def _mark(snapshot: Snapshot, seq: int) -> int:
    digest = int.from_bytes(snapshot.digest_of(seq), "big") >> ev.DIGEST_BITS - MARK_DIGEST_BITS
    return seq << MARK_DIGEST_BITS | digest
