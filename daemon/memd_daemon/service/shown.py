"""What the answer to a question showed: kept in the ledger as a delivery of its own kind (delivery.md; model.md, section 5).

A note that a session asked for was shown to it as surely as one that was pushed: what it then writes may be built on it, and its
word for that note is an echo. It changes nothing of what hooks tell, though: nothing of it stands, or counts against a turn or a
budget.

**Who.** A session, as far as memd can tell (asker.py), by its agent, epoch and turn. A question over MCP that joins none is an
agent's all the same: it is kept without a session, counts as a use of the note, and can be held for or against nobody. Whoever asks
at the command line outside a session is a person at a terminal for all that memd knows, and nothing is kept of it.

Only what was shown counts: a content, or what a tombstone quotes of it. A note that is merely named, by its id or its slug, was not
shown; so whoever is told that a note is close to the one just recorded may still say that it is the same, and be believed.
"""

import hashlib
import logging
from collections.abc import Iterable
from typing import Final

from memd_daemon import errors, limits
from memd_daemon.model.delivery import DeliveredNote, Delivery, DeliveryState
from memd_daemon.model.view import NoteView
from memd_daemon.model.words import Surface
from memd_daemon.service.asker import Asker
from memd_daemon.service.parts import Parts
from memd_daemon.service.quarantine import looked
from memd_daemon.service.repos import Place

log: Final = logging.getLogger("memd.shown")

_LOOKS: Final = ("recall", "show", "trace", "decisions")
"""Questions whose answer holds so few notes, each whole, that who asked has looked at them (quarantine.py)."""

_LOOKS_AT_A_TERMINAL: Final = ("show",)

Row = tuple[bytes, int, str]
"""uid, id and the text in which a note was shown."""


def row(view: NoteView, text: str) -> Row:
    return view.note.uid, view.id, text


def showed(parts: Parts, asker: Asker, what: str, place: Place, rows: Iterable[Row]) -> None:
    """Records that the asker was shown these notes, each once. ``what``: what was asked, a word.

    Where the ledger cannot be written the question is answered all the same, and the session counts from then on as one that may
    have been shown anything (`Parts.unsure`).
    """
    shown = {uid: (uid, id_, text) for uid, id_, text in rows}
    if what in (_LOOKS if asker.session else _LOOKS_AT_A_TERMINAL):
        looked(parts, asker, shown, what)
    if not asker.session and asker.surface is not Surface.MCP:
        return
    notes = [_delivered(*one) for one in shown.values()]
    try:
        for at in range(0, len(notes), limits.ASKED_AT_ONCE_MAX):
            parts.ledger.put_asked(_delivery(parts, asker, what, place, notes[at : at + limits.ASKED_AT_ONCE_MAX]))
    except errors.MemdError as error:
        log.warning("what was asked for could not be recorded: %s", error.code)
        parts.unsure.add(asker.session)


def refused_with(parts: Parts, asker: Asker, what: str, place: Place, refusal: errors.KnownMistake) -> None:
    """A write that says a revoked belief again is answered with its tombstone."""
    line, id_, *_ = refusal.args
    with parts.store.read() as snapshot:
        uid = snapshot.uid_of(id_)
    if uid is not None:
        showed(parts, asker, what, place, [(uid, id_, line)])


def _delivered(uid: bytes, id_: int, text: str) -> DeliveredNote:
    """No budget is spent, so the tokens are the quarter of the bytes that a text costs at least: counting them takes longer than
    finding it."""
    raw = text.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(raw).digest()[: limits.RENDERING_DIGEST_BYTES]
    return DeliveredNote(uid=uid, id=id_, digest=digest, tokens=-(-len(raw) // limits.BYTES_PER_TOKEN))


def _delivery(parts: Parts, asker: Asker, what: str, place: Place, notes: list[DeliveredNote]) -> Delivery:
    return Delivery(
        request=b"",
        at=parts.now_ms(),
        trigger=what,
        harness=asker.harness,
        session=asker.session,
        agent=asker.agent,
        epoch=asker.epoch,
        turn=asker.turn,
        repo=place.scope,
        state=DeliveryState.ASKED,
        notes=tuple(notes),
        tokens=sum(note.tokens for note in notes),
    )
