"""What a new note is near to, and what it was built on (model.md, sections 4 and 5)."""

from collections.abc import Iterable
from typing import Final

import msgspec

from memd_daemon import limits
from memd_daemon.frames.words import tombstone
from memd_daemon.index.terms import STOP_WORDS, terms_of
from memd_daemon.model.note import Note
from memd_daemon.service import text
from memd_daemon.service.asker import UNKNOWN_AGENT, Asker
from memd_daemon.service.parts import Parts
from memd_daemon.service.repos import GLOBAL
from memd_daemon.service.views import view_of
from memd_daemon.store.port import Snapshot

NEGATIONS: Final = frozenset(
    ("not", "no", "never", "none", "without", "cannot", "nor", "t")
)  # "t" is what isn't leaves
"""Words that turn a claim round."""


class Kin(msgspec.Struct, frozen=True, kw_only=True):
    """Notes that were delivered in the writer's context: those the content overlaps, and the others of that turn."""

    derived_from: tuple[bytes, ...] = ()
    informed_by: tuple[bytes, ...] = ()


class Alike(msgspec.Struct, frozen=True, kw_only=True):
    """A note that is near to a new one."""

    id: int
    note: Note
    likeness: float  # share of words in common; 1 where their vectors say it
    same: bool  # says the same claim, as far as words can tell: see `same_claim`
    differs: bool  # says it of another number or identifier, or the other way round: see `other_claim`


def alike(parts: Parts, snapshot: Snapshot, content: str, scope: str) -> list[Alike]:
    """The notes of this scope or the global one that are nearest, best first: one search for all that is asked of them."""
    words = text.words_of(content)
    found = []
    for hit in parts.search.find(content, (scope, GLOBAL), limits.RECALL_DEFAULT_K):
        uid = snapshot.uid_of(hit.id)
        note = snapshot.note(uid) if uid else None
        other = snapshot.text(note.revisions[0].content) if note else None
        if note is None or other is None or note.forgotten:
            continue
        close = hit.cosine is not None and hit.cosine >= limits.SAME_CLAIM_COSINE
        likeness = 1.0 if close else text.likeness(words, text.words_of(other))
        same, differs = same_claim(content, other, close=close), other_claim(content, other, close=close)
        found.append(Alike(id=hit.id, note=note, likeness=likeness, same=same, differs=differs))
    return found


def same_claim(one: str, other: str, *, close: bool) -> bool:
    """Whether two texts say the same, as far as words can tell.

    The one's content words are in the other's, most of them (or their vectors are ``close``), and no number, identifier or
    negation differs: "retries three times" is no repetition of "retries five times", it may be its correction (recall.md,
    "Corroboration").
    """
    mine, its = _Claim.of(one), _Claim.of(other)
    return (close or _same_words(mine.content, its.content)) and mine.sense == its.sense


def other_claim(one: str, other: str, *, close: bool) -> bool:
    """Whether two texts say different things of the same matter, as far as words can tell: one of them may be wrong.

    Their words are the same, most of them (or their vectors are ``close``), and a number, an identifier or a negation is not.
    """
    mine, its = _Claim.of(one), _Claim.of(other)
    return (close or _same_words(mine.bare, its.bare)) and mine.sense != its.sense


def _same_words(mine: frozenset[str], its: frozenset[str]) -> bool:
    """Whether the one has all of the other's, and most of them are the same."""
    return (mine <= its or its <= mine) and text.likeness(mine, its) >= limits.SAME_CLAIM_SHARE


class _Claim(msgspec.Struct, frozen=True):
    """What two wordings of one claim have in common."""

    content: frozenset[str]  # words that say something
    bare: frozenset[str]  # of these, what is no mark and no part of one
    marks: frozenset[str]  # numbers and identifiers
    negations: int  # how often it says no, modulo 2

    @property
    def sense(self) -> tuple[frozenset[str], int]:
        """What turns a claim into another one."""
        return self.marks, self.negations

    @classmethod
    def of(cls, said: str) -> "_Claim":
        words = text.words_of(said)
        numbers = frozenset(w for w in words if any(c.isdigit() for c in w))
        negations = sum(w in NEGATIONS for w in words)
        content, marks = words - STOP_WORDS - NEGATIONS, numbers | terms_of(said).identifiers
        parts_of_marks = frozenset(w for mark in marks for w in text.words_of(mark))
        return cls(content, content - parts_of_marks, marks, negations % 2)


def near(found: Iterable[Alike]) -> list[int]:
    """Ids of held notes that say nearly the same."""
    close = [one for one in found if one.likeness >= limits.NEAR_DUPLICATE_SHARE and not one.differs]
    return [one.id for one in close if not one.note.revoked]


def at_odds(found: Iterable[Alike], corrected: frozenset[bytes]) -> list[int]:
    """Ids of held, current notes that say something different of the same matter, save those that the writer corrects."""
    return [
        one.id
        for one in found
        if one.differs and one.note.live and not one.note.revoked and one.note.uid not in corrected
    ]


def struck_through(parts: Parts, snapshot: Snapshot, found: Iterable[Alike]) -> list[tuple[int, Note, str]]:
    """(id, note, tombstone) of revoked beliefs that the content says again."""
    return [
        (one.id, one.note, tombstone(view_of(parts, snapshot, one.note, None), parts.tags))
        for one in found
        if one.same and one.note.revoked
    ]


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
