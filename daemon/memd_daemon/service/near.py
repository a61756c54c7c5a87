"""What the answer of a write says about held notes: those that say nearly the same, and those that may be at odds (recall.md).

It only informs, so it is looked for while the note's commit is on its way to the disk: nothing in it can refuse the note any more.
The candidates are the notes that share the new one's rarest words: of two texts that have most of their words in common, one of the
rarer ones is common too. They are compared word by word; where that leaves it open, by the token table's vectors of both texts.
"""

import functools
import logging
from enum import Enum, auto
from typing import Final

import msgspec

from memd_daemon import errors, limits
from memd_daemon.model.note import Note
from memd_daemon.service import text
from memd_daemon.service.claim import Claim, is_other, may_be_other
from memd_daemon.service.repos import GLOBAL
from memd_daemon.service.search import Search
from memd_daemon.service.wanted import Wanted
from memd_daemon.store.port import Snapshot

log: Final = logging.getLogger("memd.near")


class Verdict(Enum):
    """What one text is to another."""

    NEAR = auto()  # says nearly the same
    AT_ODDS = auto()  # says something different of the same matter
    APART = auto()


class Near(msgspec.Struct, frozen=True):
    """Ids, the nearest first."""

    near: list[int]  # held notes
    conflicts: list[int]  # held, current notes


def near_to(search: Search, snapshot: Snapshot, wanted: Wanted, claim: Claim, corrected: frozenset[bytes]) -> Near:
    """What is near to a new note, in its scope and the global one, save what the writer named himself (``corrected``).

    So the answer is the same whether ``snapshot`` is of before the write or after it. Where store or index fail, what was found
    until then is told: the note is recorded, whatever happens here.
    """
    look, found = Look(search, wanted.content, claim), Near([], [])
    try:
        for id_ in search.by_rarest(wanted.content, (wanted.scope, GLOBAL)):
            note, said = _held(snapshot, id_)
            if note is None or said is None or note.uid in corrected:
                continue
            verdict = look.at(said)
            if verdict is Verdict.NEAR:
                found.near.append(id_)
            elif verdict is Verdict.AT_ODDS and note.live:
                found.conflicts.append(id_)
    except (errors.MemdError, OSError, ValueError):  # of the store, the disk, the words' library
        log.exception("what is near to a new note could not be told")
    return found


def _held(snapshot: Snapshot, id_: int) -> tuple[Note | None, str | None]:
    """A held note and its first wording."""
    uid = snapshot.uid_of(id_)
    note = snapshot.note(uid) if uid else None
    if note is None or note.forgotten or note.revoked:
        return None, None
    return note, snapshot.text(note.revisions[0].content)


class Look:
    """Compares one text with others."""

    def __init__(self, search: Search, content: str, claim: Claim) -> None:
        self._search = search
        self._claim = claim
        self._vector = functools.cache(lambda: search.table_vector(content))  # asked for only where words leave it open

    def at(self, said: str) -> Verdict:
        words = text.words_of(said)
        likeness = text.likeness(self._claim.words, words)
        may_be_near = likeness >= limits.NEAR_VECTOR_SHARE
        if not may_be_near and not may_be_other(self._claim, words):
            return Verdict.APART
        if is_other(self._claim, Claim.of(said, words)):
            return Verdict.AT_ODDS
        near = may_be_near and (likeness >= limits.NEAR_DUPLICATE_SHARE or self._is_close(said))
        return Verdict.NEAR if near else Verdict.APART

    def _is_close(self, said: str) -> bool:
        mine, its = self._vector(), self._search.table_vector(said)
        return mine is not None and its is not None and float(mine @ its) >= limits.NEAR_VECTOR_COSINE
