"""Binding the user's words to a note: by who writes it, or by memd itself (evidence.md, "Binding and checking").

Who binds words names the turn and an excerpt that stands in it; where that is a part of what was said, the whole sentence is kept
with it, so that it can be told when the turn is gone. A write that names none is bound by memd to the sentences of its session's
turns that its content has word for word, the newest of equal ones, and the answer says so. What was said before a fork or a
`/clear` belongs to the session that came of it.

Binding marks nothing. What does is read anew each time a note is told (spoken.py); a turn of which nobody knows that it was typed
is bound as well, since that may yet become known.

A content that stands in its turns as a whole is recorded with the source `user`: memd has seen whose words they are. Whether they
were typed is no part of that, and stands in the header where it is not known.
"""

from collections.abc import Iterator
from itertools import pairwise

import msgspec

from memd_client import api
from memd_daemon import errors, limits
from memd_daemon.evidence import Said, bindable, find_excerpt, read, sentences, statements
from memd_daemon.frames import told
from memd_daemon.model import event as ev
from memd_daemon.model.turn import Turn
from memd_daemon.model.words import RULELESS_SOURCES, Provenance, SourceType
from memd_daemon.service import text
from memd_daemon.service.asker import Asker
from memd_daemon.service.contexts import sessions_of
from memd_daemon.service.given import encodable
from memd_daemon.service.parts import Parts
from memd_daemon.service.spoken import attestation_of, looked_at
from memd_daemon.service.wanted import Wanted
from memd_daemon.store.port import Snapshot

_FINAL = ".!。．! \n"


class Bound(msgspec.Struct, frozen=True, kw_only=True):
    """Words of one turn. ``sentence`` is the whole of which the excerpt is a part; "" where it is whole itself."""

    turn: Turn
    start: int
    end: int
    attestation: str
    sentence: str = ""

    @property
    def excerpt(self) -> str:
        return self.turn.text[self.start : self.end]

    def evidence(self, excerpt: bytes, sentence: bytes) -> ev.Evidence:
        """As an event has it. ``excerpt``, ``sentence``: digests of the two texts; b"" for none."""
        return ev.Evidence(
            turn=self.turn.number,
            turn_uid=self.turn.uid,
            excerpt=excerpt,
            start=self.start,
            end=self.end,
            attestation=self.attestation,
            sentence=sentence,
        )


class Binding(msgspec.Struct, frozen=True, kw_only=True):
    """What a write is bound to. ``whole``: its content stands as a whole in one of the turns."""

    found: tuple[Bound, ...] = ()
    told: tuple[str, ...] = ()
    whole: bool = False


def binding_of(parts: Parts, request: api.Remember, asker: Asker, wanted: Wanted) -> Binding:
    """What the write is bound to. Raises NoSuchTurn, ExcerptNotInTurn, NotUnicode."""
    with parts.store.read() as snapshot:
        named = tuple(bound(parts, snapshot, number, excerpt) for number, excerpt in request.evidence)
        if why := unbindable(wanted.provenance, wanted.source):
            return Binding(told=(told.binds_none(why),) if named else ())
        found = named or tuple(_by_its_words(parts, snapshot, asker, wanted.content))
    if not found:
        return Binding()
    found = _looked_at(parts, found)
    said = {one.turn.number: Said(one.turn.number, one.turn.text) for one in found}
    return Binding(
        found=found,
        told=() if named else (told.bound_by_words(sorted(said)),),
        whole=read(wanted.content, list(said.values())).whole > 0,
    )


def settled(binding: Binding, request: api.Remember, wanted: Wanted) -> tuple[Binding, Wanted]:
    """Both once the note's source is known: one that was read, and not said, binds none, and the user's words are the user's."""
    if why := unbindable(wanted.provenance, wanted.source):
        explained = (told.binds_none(why),) if request.evidence else ()
        return (Binding(told=explained), wanted) if binding.found else (binding, wanted)
    if binding.whole and wanted.source.type in (SourceType.INFERENCE, SourceType.CLI):
        wanted = msgspec.structs.replace(wanted, source=ev.Source(SourceType.USER))
    return binding, wanted


def unbindable(provenance: str, source: ev.Source) -> str:
    """What kind of note binds no evidence (evidence.md): nobody judged it, or it was read and not said; "" for one that does."""
    if source.type in RULELESS_SOURCES:
        return told.from_source(source.type)
    return told.AUTO_CAPTURED if provenance == Provenance.AUTO else ""


def bound(parts: Parts, snapshot: Snapshot, number: int, excerpt: str) -> Bound:
    """The excerpt as the turn has it. Raises NoSuchTurn, ExcerptNotInTurn, NotUnicode."""
    turn = snapshot.turn(number)
    if turn is None:
        raise errors.NoSuchTurn(number)
    encodable(excerpt, "excerpt")
    span = find_excerpt(turn.text, parts.redact(text.normal(excerpt)))
    if span is None:
        raise errors.ExcerptNotInTurn(number)
    return _taken(parts, snapshot, turn, *span)


def _taken(parts: Parts, snapshot: Snapshot, turn: Turn, start: int, end: int) -> Bound:
    return Bound(
        turn=turn,
        start=start,
        end=end,
        attestation=attestation_of(parts, snapshot, turn),
        sentence=_around(turn.text, start, end),
    )


def _looked_at(parts: Parts, found: tuple[Bound, ...]) -> tuple[Bound, ...]:
    """With what is known of the turns after another look at them."""
    known = looked_at(parts, [one.turn for one in found])
    return tuple(msgspec.structs.replace(one, attestation=known.get(one.turn.number, one.attestation)) for one in found)


def _by_its_words(parts: Parts, snapshot: Snapshot, asker: Asker, content: str) -> Iterator[Bound]:
    """The sentences of the asker's own turns that the content has, each once."""
    turns = {turn.number: turn for turn in _turns_of(parts, snapshot, asker)}
    found = bindable(content, [Said(number, turn.text) for number, turn in turns.items()])
    newest: dict[str, tuple[int, int, int]] = {}
    for number, start, end in sorted(found, reverse=True):
        newest.setdefault(turns[number].text[start:end].casefold(), (number, start, end))
    for number, start, end in sorted(newest.values())[: limits.EVIDENCE_AUTO_MAX]:
        yield _taken(parts, snapshot, turns[number], start, end)


def _turns_of(parts: Parts, snapshot: Snapshot, asker: Asker) -> Iterator[Turn]:
    """The newest turns of the session, and of those that it came of."""
    left, room = limits.EVIDENCE_TURNS_MAX, limits.EVIDENCE_LOOKED_AT_CHARS
    for session in sessions_of(parts.ledger, asker.session) if asker.session else ():
        for turn in snapshot.turns(session=session):
            left, room = left - 1, room - min(len(turn.text), limits.EVIDENCE_TURN_LOOKED_AT_CHARS)
            if left < 0 or room < 0:
                return
            yield turn


def _around(turn: str, start: int, end: int) -> str:
    """The whole sentences that the stretch is a part of, with what they hang on; "" where it is whole itself, or is in none.

    An ellipsis stands for what lies between them.
    """
    if end > limits.EVIDENCE_TURN_LOOKED_AT_CHARS:
        return ""
    turn = turn[: limits.EVIDENCE_TURN_LOOKED_AT_CHARS]
    touched = [one for one in sentences(turn) if one[0] < end and start < one[1]]
    leads = {lead for one in statements(turn) if (one.start, one.end) in touched for lead in one.leads}
    pieces = sorted({*touched, *leads})
    if not pieces or (len(pieces) == len(touched) and _is_whole(turn, start, end, touched)):
        return ""
    parts = [turn[pieces[0][0] : pieces[0][1]]]
    for (_, before), (first, last) in pairwise(pieces):
        parts += (" … " if turn[before:first].strip() else turn[before:first], turn[first:last])
    around = "".join(parts)
    return around if len(around) <= limits.EVIDENCE_SENTENCE_MAX_CHARS else ""


def _is_whole(turn: str, start: int, end: int, touched: list[tuple[int, int]]) -> bool:
    """Whether the stretch is all of these sentences, but for what ends the last one."""
    return start <= touched[0][0] and not turn[end : touched[-1][1]].strip(_FINAL)
