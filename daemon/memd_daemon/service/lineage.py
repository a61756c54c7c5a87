"""What a new note was built on, and what was built on a note (model.md, section 5)."""

import msgspec

from memd_daemon import limits
from memd_daemon.model.note import Note
from memd_daemon.service import text
from memd_daemon.service.asker import UNKNOWN_AGENT, Asker
from memd_daemon.service.parts import Parts
from memd_daemon.store.port import Snapshot


class Kin(msgspec.Struct, frozen=True, kw_only=True):
    """Notes that were delivered in the writer's context: those the content overlaps, and the others of that turn."""

    derived_from: tuple[bytes, ...] = ()
    informed_by: tuple[bytes, ...] = ()


def kin_of(parts: Parts, snapshot: Snapshot, content: str, asker: Asker, not_of: frozenset[bytes]) -> Kin:
    """What was delivered to the writer and stands in the content (shingles), and what else came in that turn."""
    if not asker.session:
        return Kin()
    standing = _told(parts, asker) - not_of
    derived = {uid for uid in standing if _overlaps(snapshot, content, uid)}
    of_turn = parts.ledger.turn_notes(asker.session, asker.agent, asker.turn) - not_of - derived
    return Kin(derived_from=tuple(sorted(derived)), informed_by=tuple(sorted(of_turn)))


def _told(parts: Parts, asker: Asker) -> set[bytes]:
    """What stands in the writer's context; of a writer that is one of several, in any of theirs: the text itself shows then what
    it was built on, and only that lowers a note."""
    if asker.agent != UNKNOWN_AGENT:
        return set(parts.ledger.standing(asker.session, asker.agent, asker.epoch))
    with parts.ledger.read() as ledger:
        contexts = ledger.contexts_of(asker.session)
        return {uid for c in contexts for uid in ledger.standing(c.session, c.agent, c.epoch)}


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
