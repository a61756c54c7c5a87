"""How far a turn is known to have been typed by a person (evidence.md, "Attestation"), and looking at it again.

What can be told at once is judged when a turn is stored (capture.py): `headless` for good, else `captured`, or `replayed` out of
the spool. Whether it was **typed** only the client's own transcript can tell, which is written after the hook was answered. So it
is looked at again: behind the answers of the session's next hooks, when a note binds the turn, and when one that did is rendered.
Never on the way of an answer that a client waits for.

**Typed** is a turn for which all of this holds, each judged without the agent's word as far as that can be:

1. its client is one into which a person types, by its entry point;
2. the hook's process stood under that client, no harness above it, and none had started it (by the environment it began with);
3. the client itself called the hook (witness.py);
4. the transcript, where that client keeps it, holds the prompt under its id in the very words, typed by a person, written after the
   hook was called; and the conversation goes on from it (memd_hooks/harness/transcript.py).

Of a turn out of the spool 2 and 3 were seen by nobody. They count as seen where a live hook of the same session passed them: a file
in the spool and a call of the hook are as easy to forge.

A raise is looked at again whenever the transcript has grown, and taken back for good where the conversation then goes on from
elsewhere; after `limits.RAISE_SETTLES_MS` it is settled. The turn itself never changes (model/turn.py).

A turn that came by an import is never typed: its line, what is known of it and its witness are a file's, and anybody may have
edited that.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

import msgspec

from memd_daemon import limits
from memd_daemon.ground import transcripts
from memd_daemon.ground.transcripts import Refused
from memd_daemon.model.turn import Raised, Turn, Why, Witness
from memd_daemon.model.words import Attestation
from memd_daemon.service.parts import Parts
from memd_daemon.service.prompt_text import as_stored
from memd_daemon.store.port import Snapshot, Txn
from memd_daemon.store.turn_rows import IMPORTED
from memd_hooks.harness.transcript import Finding, Lines, Prompt
from memd_hooks.harness.transcripts import BY_NAME

_WHY: Final[Mapping[Finding, Why]] = {
    Finding.NOBODY: Why.NOBODY,
    Finding.OTHER_WORDS: Why.OTHER_WORDS,
    Finding.ASIDE: Why.ASIDE,
    Finding.UNANSWERED: Why.UNANSWERED,
    Finding.ABSENT: Why.ABSENT,
}

_MAY_COME: Final = frozenset({Why.NOT_LOOKED, Why.UNANSWERED, Why.ABSENT, Why.MISSING, Why.ASIDE, Why.UNWITNESSED})
"""What the session's next rows or hooks may still change."""


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a turn now. ``why``: what is missing to `typed`; None where nothing is."""

    attestation: Attestation
    why: Why | None = None


class _Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What one look found: ``finding`` in a transcript of ``size`` bytes, or ``why`` there was none to look into."""

    finding: Finding = Finding.ABSENT
    size: int = 0
    why: Why | None = None


def attested(parts: Parts, snapshot: Snapshot, turn: Turn) -> Attestation:
    """What is known of a turn, without a look: two rows of the store."""
    if is_imported(snapshot, turn):
        return _as_imported(turn)
    raised = snapshot.raised(turn.number)
    return Attestation.TYPED if _stands(raised, turn) else Attestation(turn.attestation)


def is_imported(snapshot: Snapshot, turn: Turn) -> bool:
    """Whether the turn came by an import: a line of a file that anybody may have written, and no hook's word."""
    last = snapshot.setting(IMPORTED)
    return last is not None and turn.number <= int.from_bytes(last, "big")


def _as_imported(turn: Turn) -> Attestation:
    """Never typed, whatever its line says."""
    is_typed = turn.attestation == Attestation.TYPED
    return Attestation.CAPTURED if is_typed else Attestation(turn.attestation)


def _stands(raised: Raised | None, turn: Turn) -> bool:
    return raised is not None and raised.turn == turn.uid and not raised.withdrawn


def look_again(parts: Parts, turns: Iterable[Turn]) -> dict[int, Look]:
    """Looks at each turn that is not settled, in its transcript where that has grown, and keeps what came of it.

    By turn's number. Reads no longer than `limits.TRANSCRIPT_ROUND_MS`; what was not reached says NOT_LOOKED. For questions that
    somebody waits for, and for work behind an answer; never before a hook's.
    """
    until_ns = time.monotonic_ns() + limits.TRANSCRIPT_ROUND_MS * limits.NS_PER_MS
    found: dict[int, Look] = {}
    news: list[tuple[Turn, Raised]] = []
    with parts.store.read() as snapshot:
        for turn in turns:
            before = snapshot.raised(turn.number)
            look, after = _looked(parts, snapshot, turn, before, until_ns)
            found[turn.number] = look
            if after is not None and after != before:
                news.append((turn, after))
            is_settled = after is not None and (after.settled or after.withdrawn)
            if is_settled or (look.why is not None and look.why not in _MAY_COME):
                parts.unsettled.done(turn.number)
    if news:
        parts.store.write(lambda txn: _keep(txn, news))
    return found


def _keep(txn: Txn, news: Sequence[tuple[Turn, Raised]]) -> None:
    """What another look has settled or withdrawn meanwhile stays so."""
    for turn, raised in news:
        now = txn.raised(turn.number)
        if now is None or not (now.withdrawn or (now.settled and not raised.settled)):
            txn.put_raised(turn.number, raised)


def _looked(
    parts: Parts, snapshot: Snapshot, turn: Turn, raised: Raised | None, until_ns: int
) -> tuple[Look, Raised | None]:
    """What is known now, and what is to be kept of it."""
    if is_imported(snapshot, turn):
        return Look(attestation=_as_imported(turn), why=Why.IMPORTED), None
    as_stored = Attestation(turn.attestation)
    raised = raised if raised is not None and raised.turn == turn.uid else None
    if raised is not None and (raised.settled or raised.withdrawn):
        return _told(as_stored, raised), raised
    witness = _witness_of(snapshot, turn)
    if isinstance(witness, Why):
        return Look(attestation=as_stored, why=witness), None
    if time.monotonic_ns() > until_ns:
        return (_told(as_stored, raised), raised) if raised else (Look(attestation=as_stored, why=Why.NOT_LOOKED), None)
    seen = _seen(parts, turn, witness)
    after = _judged(parts, turn, raised, seen)
    return (_told(as_stored, after), after) if after else (Look(attestation=as_stored, why=_missing(seen)), None)


def _told(as_stored: Attestation, raised: Raised) -> Look:
    if raised.withdrawn:
        return Look(attestation=as_stored, why=Why.WITHDRAWN)
    return Look(attestation=Attestation.TYPED)


def _missing(seen: _Seen) -> Why:
    return seen.why or _WHY[seen.finding]


def _judged(parts: Parts, turn: Turn, raised: Raised | None, seen: _Seen) -> Raised | None:
    """What is kept after a look. A transcript that is gone, or too long by now, says nothing against a raise."""
    if raised is None:
        agrees = seen.why is None and seen.finding is Finding.AGREES
        return Raised(turn=turn.uid, at=parts.now_ms(), transcript_bytes=seen.size) if agrees else None
    if seen.why is not None or seen.size == raised.transcript_bytes:
        return raised
    if seen.finding is not Finding.AGREES:
        return msgspec.structs.replace(raised, withdrawn=True)
    is_settled = parts.now_ms() - raised.at > limits.RAISE_SETTLES_MS
    return msgspec.structs.replace(raised, transcript_bytes=seen.size, settled=is_settled)


# --- what the living processes told


def _against(witness: Witness) -> Why | None:
    """What speaks against a turn by what was seen of the processes when its hook was called; None for nothing."""
    if witness.nested:
        return Why.NESTED
    if not witness.client_pid:
        return Why.NO_CLIENT
    if witness.marker:
        return Why.MARKED
    return None if witness.direct else Why.NOT_DIRECT


def _witness_of(snapshot: Snapshot, turn: Turn) -> Witness | Why:
    """The witness by which the turn's transcript is found, or what is missing before it is worth a look."""
    if turn.attestation == Attestation.HEADLESS:
        return Why.NESTED if turn.witness.nested else Why.NO_PERSON
    if turn.harness not in BY_NAME or not turn.witness.transcript_path:
        return Why.UNREAD
    if not turn.witness.spooled:
        return _against(turn.witness) or turn.witness
    others = islice(snapshot.turns(session=turn.session), limits.WITNESSES_LOOKED_AT)
    own = (one for one in others if not is_imported(snapshot, one))
    seen = next(
        (one.witness for one in own if one.attestation == Attestation.CAPTURED and not _against(one.witness)), None
    )
    return Why.UNWITNESSED if seen is None else msgspec.structs.replace(turn.witness, transcripts=seen.transcripts)


# --- what the transcript tells


def _seen(parts: Parts, turn: Turn, witness: Witness) -> _Seen:
    reader = BY_NAME[turn.harness]
    below = transcripts.inside(witness.transcripts, witness.transcript_path) if witness.transcripts else None
    if below is None or not reader.is_of(below, turn.session):
        return _Seen(why=Why.OUTSIDE)
    size, _ = transcripts.length(witness.transcript_path)
    known = parts.unsettled.known(turn.number, size) if size else None
    if known is not None:
        return _Seen(finding=known, size=size)
    try:
        read = transcripts.stretch(witness.transcripts, below, witness.transcript_bytes, witness.transcript_inode)
    except Refused as refused:
        return _Seen(why=refused.why)
    lines = Lines(before=read.before, after=read.after, first=read.first, from_start=read.from_start)
    finding = reader.finding(lines, _prompt(parts, turn))
    parts.unsettled.keep(turn.number, read.size, finding)
    return _Seen(finding=finding, size=read.size)


def _prompt(parts: Parts, turn: Turn) -> Prompt:
    return Prompt(
        session=turn.session,
        id=turn.witness.prompt_id,
        at_ms=turn.at,
        is_said=lambda words: as_stored(parts, words) == turn.text,
    )


# --- behind the answers of hooks


def look_behind(parts: Parts, session: str) -> None:
    """Has the session's turns looked at behind the answer to one of its hooks."""
    if parts.unsettled.is_due(session, parts.now_ms()):
        parts.behind.add(lambda: _look_at(parts, session))


def _look_at(parts: Parts, session: str) -> None:
    with parts.store.read() as snapshot:
        turns = [
            turn
            for number in parts.unsettled.due(session, parts.now_ms())
            if (turn := snapshot.turn(number)) is not None
        ]
    look_again(parts, turns)
