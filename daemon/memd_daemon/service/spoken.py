"""What of a note the user said, as far as memd can tell here and now (evidence.md, "Binding and checking").

A content is read against the turns that are bound to it: the turns themselves, never what an event says of them. So nothing is
marked on another's word:

- a turn that is not here (past its time, or of another store, whose numbers mean nothing here) marks nothing; what its event has of
  it is told as a claim without a number;
- a turn that has other words where the excerpt should stand marks nothing, and nothing is told of it: the event is wrong;
- only turns that are known to have been typed mark; what stands in others is told as a claim, with what is known of them.

Evidence says where to look, so words of the user's that nobody bound mark nothing either. Classes, descent and sources do not
count here: `NoteView.said` goes by them.

A reading costs milliseconds and is kept by all that decides it. On a hook's way one that is not known by its deadline is made
behind the answer, and the content is told without marks until then.
"""

import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from memd_daemon import limits
from memd_daemon.frames.digest import text_digest
from memd_daemon.model.event import Evidence
from memd_daemon.model.note import Note
from memd_daemon.model.turn import Turn
from memd_daemon.model.view import SILENT, NoteView, QuoteView, SpokenView, StripeView
from memd_daemon.model.words import Attestation, SourceType
from memd_daemon.service.attest import attested, look_again
from memd_daemon.service.parts import Parts
from memd_daemon.store.port import Snapshot

if TYPE_CHECKING:
    from memd_daemon.evidence import Said

_OPEN: Final = (Attestation.CAPTURED, Attestation.REPLAYED)
UNKNOWN: Final = ""
"""The attestation of a turn that is not here."""


class Bound(msgspec.Struct, frozen=True):
    """One evidence with its turn as it lies here; ``turn`` None: it does not."""

    evidence: Evidence
    turn: Turn | None
    attestation: str


def attestation_of(parts: Parts, snapshot: Snapshot, turn: Turn) -> str:
    """What is known of who typed a turn, without a look."""
    return attested(parts, snapshot, turn)


def looked_at(parts: Parts, turns: Sequence[Turn]) -> dict[int, str]:
    """What is known of turns after another look at them, by number: for who waits for an answer and not on a hook's way."""
    distinct = {turn.number: turn for turn in turns}
    return {number: look.attestation for number, look in look_again(parts, distinct.values()).items()}


def bound_to(parts: Parts, snapshot: Snapshot, note: Note) -> tuple[Bound, ...]:
    """The note's evidence, each with the turn that it stands in."""
    return tuple(_bound(parts, snapshot, evidence) for evidence in note.evidence)


def _bound(parts: Parts, snapshot: Snapshot, evidence: Evidence) -> Bound:
    turn = snapshot.turn(evidence.turn)
    if turn is None or turn.uid != evidence.turn_uid:
        return Bound(evidence, None, UNKNOWN)
    return Bound(evidence, turn, attestation_of(parts, snapshot, turn))


def spoken_in(parts: Parts, snapshot: Snapshot, note: Note, content: str, until_ns: int | None = None) -> SpokenView:
    """What of the note's wording the user said. ``until_ns``: a deadline (monotonic) for readings that are not known yet."""
    if not note.evidence:
        return SILENT
    bound = bound_to(parts, snapshot, note)
    _look_behind(parts, bound)
    key = (note.shown.content, note.evidence, tuple(one.attestation for one in bound))
    known = parts.readings.get(key)
    if known is None:
        if until_ns is not None and time.monotonic_ns() > until_ns:
            parts.behind.add(partial(_learn, parts, note, content))
            return SILENT
        known = parts.readings.put(key, _read(snapshot, note, content, bound))
    return known


def _look_behind(parts: Parts, bound: Sequence[Bound]) -> None:
    """Has turns that may yet turn out to have been typed looked at behind the answer, for the next one."""
    open_ = [one.turn for one in bound if one.turn is not None and one.attestation in _OPEN]
    due = [turn for turn in open_ if parts.readings.is_due(turn.number)]
    if due:
        parts.behind.add(partial(_look, parts, due))


def _look(parts: Parts, turns: Sequence[Turn]) -> None:
    look_again(parts, turns)


def _learn(parts: Parts, note: Note, content: str) -> None:
    with parts.store.read() as snapshot:
        spoken_in(parts, snapshot, note, content)


def with_spoken(parts: Parts, snapshot: Snapshot, view: NoteView, until_ns: int | None = None) -> NoteView:
    """The view with the user's words in it marked."""
    note = view.note
    if not note.evidence or note.forgotten or view.damaged:
        return view
    return spoken_so(parts, view, spoken_in(parts, snapshot, note, view.content, until_ns))


def spoken_so(parts: Parts, view: NoteView, spoken: SpokenView) -> NoteView:
    """The view with these marks; where it keeps a digest of its text, with that of the text as it is now."""
    if spoken is view.spoken:
        return view
    is_kept = bool(view.text_digest)
    view = msgspec.structs.replace(view, spoken=spoken, text_digest=b"")
    return msgspec.structs.replace(view, text_digest=text_digest(view, parts.tags)) if is_kept else view


def _read(snapshot: Snapshot, note: Note, content: str, bound: tuple[Bound, ...]) -> SpokenView:
    from memd_daemon.evidence import read, striped  # later.py says why

    bound = tuple(one for one in bound if has_words(snapshot, one))
    turns = {one.turn.number: one for one in bound if one.turn is not None}
    typed = read(content, _said(turns, typed=True))
    quotes = [QuoteView(turn=q.turn, sentence=q.sentence, attestation=Attestation.TYPED) for q in typed.quoted]
    if typed.whole:
        return SpokenView(stated=typed.whole, quotes=tuple(quotes))
    whole, claims = _claimed(snapshot, note, content, bound)
    stripes = striped(content, typed, limits.EVIDENCE_ALTERNATIONS_MAX)
    return SpokenView(
        stripes=tuple(StripeView(text=s.text, turn=s.turn) for s in stripes) if any(s.turn for s in stripes) else (),
        quotes=tuple(dict.fromkeys([*quotes, *claims])),
        claimed=whole,
    )


def _claimed(
    snapshot: Snapshot, note: Note, content: str, bound: tuple[Bound, ...]
) -> tuple[QuoteView | None, list[QuoteView]]:
    """(the turn that all of the content is claimed to be from, the sentences that parts of it are claimed to be from).

    A source of `user` was recorded of a content that stood in its turns as a whole.
    """
    from memd_daemon.evidence import read

    turns = {one.turn.number: one for one in bound if one.turn is not None}
    reading = read(content, _said(turns, typed=False))
    if reading.whole:
        attestation = turns[reading.whole].attestation
        return QuoteView(turn=reading.whole, sentence=content, attestation=attestation), []
    words = [(span.turn, content[span.start : span.end]) for span in reading.spans]
    words += [(q.turn, q.sentence) for q in reading.quoted]
    claims = [QuoteView(turn=n, sentence=said, attestation=turns[n].attestation) for n, said in words]
    gone = [one.evidence for one in bound if one.turn is None]
    if gone and not turns and note.source.type == SourceType.USER:
        return QuoteView(turn=0, sentence="", attestation=UNKNOWN), claims
    told = (snapshot.text(e.sentence or e.excerpt) for e in gone)
    return None, [*claims, *(QuoteView(turn=0, sentence=said, attestation=UNKNOWN) for said in told if said)]


def has_words(snapshot: Snapshot, one: Bound) -> bool:
    """Whether the words that were bound stand in the turn, as far as that can be looked at."""
    evidence, turn = one.evidence, one.turn
    return turn is None or turn.text[evidence.start : evidence.end] == snapshot.text(evidence.excerpt)


def _said(turns: dict[int, Bound], *, typed: bool) -> "list[Said]":
    from memd_daemon.evidence import Said

    return [
        Said(number, one.turn.text)
        for number, one in turns.items()
        if one.turn is not None and (one.attestation == Attestation.TYPED) is typed
    ]
