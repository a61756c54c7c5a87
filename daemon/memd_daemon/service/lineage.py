"""What a new note was built on, and what was built on a note (model.md, section 5).

A writer may have built on whatever memd told it, unasked or because it asked.
"""

import msgspec

from memd_daemon import limits
from memd_daemon.model.delivery import NO_NOTES
from memd_daemon.model.note import Note
from memd_daemon.service import text
from memd_daemon.service.asker import UNKNOWN_AGENT, Asker
from memd_daemon.service.parts import Parts
from memd_daemon.store.ledger_port import LedgerSnapshot
from memd_daemon.store.port import Snapshot


class Kin(msgspec.Struct, frozen=True, kw_only=True):
    """Notes that were delivered in the writer's context: those the content overlaps, and the others of that turn."""

    derived_from: tuple[bytes, ...] = ()
    informed_by: tuple[bytes, ...] = ()


def kin_of(parts: Parts, snapshot: Snapshot, content: str, asker: Asker, not_of: frozenset[bytes]) -> Kin:
    """What was delivered to the writer and stands in the content (shingles), and what else came in that turn."""
    if not asker.session:
        return Kin()
    with parts.ledger.read() as ledger:
        told, of_turn = _told(ledger, asker), _of_turn(ledger, asker)
    derived = {uid for uid in told - not_of if _overlaps(snapshot, content, uid)}
    return Kin(derived_from=tuple(sorted(derived)), informed_by=tuple(sorted(of_turn - derived - not_of - NO_NOTES)))


def told_to(parts: Parts, asker: Asker) -> set[bytes]:
    """Uids of the notes that stand in the writer's context, or that it asked for there."""
    if not asker.session:
        return set()
    with parts.ledger.read() as ledger:
        return _told(ledger, asker)


def _told(ledger: LedgerSnapshot, asker: Asker) -> set[bytes]:
    """What stands in the writer's context, and what it asked for there.

    Of a writer that is one of several, in any of theirs, and of every writer what one of them asked for that cannot be told apart:
    the text itself shows then what it was built on, and only that lowers a note.
    """
    epochs = {c.agent: c.epoch for c in ledger.contexts_of(asker.session)}
    mine = {asker.agent: asker.epoch} if asker.agent != UNKNOWN_AGENT else epochs
    told = ledger.asked(asker.session, UNKNOWN_AGENT, epochs.get("", asker.epoch))
    for agent, epoch in mine.items():
        told |= set(ledger.standing(asker.session, agent, epoch)) | ledger.asked(asker.session, agent, epoch)
    return told


def _of_turn(ledger: LedgerSnapshot, asker: Asker) -> frozenset[bytes]:
    """What was told in the writer's turn; of one that cannot be told apart nobody knows which turn that is."""
    if asker.agent == UNKNOWN_AGENT:
        return frozenset()
    turn = (asker.session, asker.agent, asker.turn)
    return ledger.turn_notes(*turn) | ledger.asked_in_turn(*turn)


def _overlaps(snapshot: Snapshot, content: str, uid: bytes) -> bool:
    note = snapshot.note(uid)
    other = snapshot.text(note.shown.content) if note else None
    return other is not None and text.shared(content, other) >= limits.DERIVED_SHINGLE_SHARE


def descendants(snapshot: Snapshot, uid: bytes) -> list[Note]:
    """Every note that is derived from this one, over any number of steps."""
    seen, waiting, found = {uid}, [uid], []
    while waiting:
        for child in snapshot.children_of(waiting.pop()):
            note = None if child in seen else snapshot.note(child)
            seen.add(child)
            if note is not None:
                found.append(note)
                waiting.append(child)
    return found
