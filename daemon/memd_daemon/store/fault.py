"""One thing that is wrong in a store: where, what, and what to do about it (store/check.py finds them)."""

from typing import Final

import msgspec

from memd_daemon.model.ids import uid_text

RESTORE: Final = "`memd restore` puts a backup in the place of the store"
REINDEX: Final = "`memd reindex` makes it anew from the log"
LOOK: Final = "look at `memd log` of the note; what it claims has no effect"


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong: where it is, what it is, what to do. The place stands beside it in parts where it has one."""

    where: str
    what: str
    remedy: str
    uid: bytes = b""
    origin: bytes = b""
    seq: int = 0
    last: int = 0  # of a row of commits, the last one's number
    index: int | None = None  # of an event in its commit
    notes: tuple[int, ...] = ()  # ids of the notes that the event, or the commit's events, are about

    @property
    def derived(self) -> bool:
        """Whether it can be made anew from the log; else the log itself, or what stands beside it, is not what was written."""
        return self.remedy == REINDEX


def at_commit(origin: bytes, seq: int, what: str, remedy: str = RESTORE) -> Fault:
    return Fault(where=f"commit {seq} of origin {uid_text(origin)}", what=what, remedy=remedy, origin=origin, seq=seq)


def at_event(origin: bytes, seq: int, index: int, what: str, remedy: str = RESTORE, uid: bytes = b"") -> Fault:
    named = f" {uid_text(uid)}" if uid else ""
    where = f"event{named} (number {index} of commit {seq} of origin {uid_text(origin)})"
    return Fault(where=where, what=what, remedy=remedy, uid=uid, origin=origin, seq=seq, index=index)


def at_note(uid: bytes, id_: int | None, what: str, remedy: str = REINDEX) -> Fault:
    where = f"note {uid_text(uid)}" if id_ is None else f"note [{id_}] ({uid_text(uid)})"
    return Fault(where=where, what=what, remedy=remedy, uid=uid, notes=() if id_ is None else (id_,))
