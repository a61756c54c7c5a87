"""Saving twice is saving once: a claim that stands already, word for word, is not recorded again.

The answer then names the note that stands, and there is no event. Only what would add nothing is taken for the same:

- the content as it would be stored equals the one that is told of the note, letter for letter;
- the note is held, current, active, and no closed task; its kind, scope, folder, priority, source and anchors (with the digests of
  their files) are those that are wanted, its tags and evidence at least those, its class no lower;
- the write names no other note, is not to be endorsed and is no rung of the ladder.

So the same words after their file has changed, from another source or of a higher class are a note of their own. Who came to the
claim by themselves is not counted by this: that is what `same_as` says (recall.md).

Two writers at once: the last word is spoken inside the write transaction, of which there is one at a time. What stands longer is
found by the word index before; what that has not got yet is in `Said`, where each write leaves its note before the next one looks.
"""

import hashlib
from typing import TYPE_CHECKING, Final

import msgspec

from memd_client import api
from memd_daemon import limits
from memd_daemon.model.event import Anchor, Evidence
from memd_daemon.model.note import Note
from memd_daemon.model.words import Provenance
from memd_daemon.store.port import Snapshot

if TYPE_CHECKING:
    from memd_daemon.service.search import Search
    from memd_daemon.service.wanted import Wanted

_CLOSED: Final = "closed"


class Said:
    """The notes that were recorded last, by what they say. Used inside write transactions alone."""

    def __init__(self) -> None:
        self._notes: dict[bytes, bytes] = {}

    def add(self, wanted: "Wanted") -> None:
        """The note is about to be recorded; where that fails, the store knows no such note."""
        if len(self._notes) >= limits.SAID_KNOWN_MAX:
            del self._notes[next(iter(self._notes))]
        self._notes[_key(wanted)] = wanted.uid

    def at(self, wanted: "Wanted") -> tuple[bytes, ...]:
        """The uid of the last note that said this, if it is known."""
        uid = self._notes.get(_key(wanted))
        return () if uid is None else (uid,)


def _key(wanted: "Wanted") -> bytes:
    return hashlib.sha256(msgspec.msgpack.encode((wanted.scope, wanted.kind, wanted.content))).digest()


def adds_something(request: api.Remember, wanted: "Wanted") -> bool:
    """Whether the write says more than the claim itself."""
    named = (request.contradicts, request.supersedes, request.despite, request.same_as, request.derived_from)
    return any(named) or request.endorse or bool(wanted.level)


def likely(search: "Search", snapshot: Snapshot, wanted: "Wanted") -> tuple[bytes, ...]:
    """Uids of notes of this scope that say this, as far as the word index has them."""
    uids = (snapshot.uid_of(id_) for id_ in search.by_rarest(wanted.content, (wanted.scope,)))
    return tuple(uid for uid in uids if uid and _says(snapshot, snapshot.note(uid), wanted))


def standing(
    snapshot: Snapshot, uids: tuple[bytes, ...], wanted: "Wanted", evidence: tuple[Evidence, ...]
) -> Note | None:
    """The first of these notes to which the wanted one would add nothing."""
    for uid in uids:
        note = snapshot.note(uid)
        if note is not None and _says(snapshot, note, wanted) and _covers(note, wanted, evidence):
            return note
    return None


def _says(snapshot: Snapshot, note: Note | None, wanted: "Wanted") -> bool:
    if note is None or note.revoked or not note.live or note.scope != wanted.scope or note.kind != wanted.kind:
        return False
    return snapshot.text(note.shown.content) == wanted.content


def _covers(note: Note, wanted: "Wanted", evidence: tuple[Evidence, ...]) -> bool:
    spoken = {(e.turn_uid, e.start, e.end) for e in note.evidence}
    return (
        note.task != _CLOSED
        and Provenance(note.provenance).rank >= wanted.provenance.rank
        and (note.under, note.priority, note.source) == (wanted.under, wanted.priority, wanted.source)
        and note.process == wanted.process
        and _ground(note.anchors, note.mentions) == _ground(wanted.anchors, wanted.mentions)
        and set(wanted.tags) <= set(note.tags)
        and {(e.turn_uid, e.start, e.end) for e in evidence} <= spoken
    )


def _ground(anchors: tuple[Anchor, ...], mentions: tuple[Anchor, ...]) -> list[tuple[str, str, str, bool, str, bytes]]:
    """What they were taken from, wherever it stood then, and whatever commit was checked out."""
    return [(a.form, a.path, a.part, a.proxy, a.checkout_branch, a.digest) for a in (*anchors, *mentions)]
