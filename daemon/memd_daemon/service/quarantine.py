"""A burst is not a consensus: many notes of one source within minutes that support each other are held from push (evidence.md).

**One source** is one session with what it continues, its subagents and the sessions that were started from its client or beside it;
and one document or tool, whichever session copied it. **Support** is to say much the same, by the words or by the token table's
vectors, and to name one thing at least together where both name any: a sentence for each of ten tables says ten things. Once there
are `limits.BURST_NOTES` with the last within `limits.BURST_WINDOW_MS`, all of them are held, and each that joins them.

Not held is what a person stands behind: what was endorsed, what is wholly the user's own typed words, what was recorded at the
command line outside any session. Of ten findings about one matter none supports four others.

**Looked at** is a note once another source has been shown it because it asked, has acted on it, or came to the same claim by
itself; or once a person at a terminal showed it, or acted on it. What memd told unasked is no look, and what was looked at is not
held again.

Recall goes on as ever: who asks is told all there is. What is known is what the ledger holds, read once.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

import msgspec

from memd_daemon import limits
from memd_daemon.model.burst import BurstNote
from memd_daemon.model.note import Note
from memd_daemon.model.words import UNTRUSTED_SOURCES, Provenance, Surface
from memd_daemon.service import text
from memd_daemon.service.asker import Asker
from memd_daemon.service.bursts import Said
from memd_daemon.service.claim import Claim
from memd_daemon.service.clients import PEER, nearest
from memd_daemon.service.contexts import sessions_of
from memd_daemon.service.kin import kin_of
from memd_daemon.service.parts import Parts
from memd_daemon.service.views import is_user_stated
from memd_daemon.store.ledger_port import LedgerSnapshot

_AT_A_TERMINAL: Final = (Surface.CLI, Surface.TUI, Surface.UI)


def recorded(parts: Parts, uid: bytes, content: str) -> None:
    """A note was written: holds it, and those that support it, where they are a burst by now."""
    with parts.store.read() as snapshot:
        note = snapshot.note(uid)
    said = _said(parts, note, content) if note is not None else None
    if said is None:
        return
    with parts.bursts.alone():
        since = said.at - limits.BURST_WINDOW_MS
        lately = parts.bursts.lately(since, partial(_lately, parts, since, uid))
        allies = [one for one in lately if _supports(parts, said, one)]
        lately.append(said)
        if len(allies) + 1 >= limits.BURST_NOTES:
            _hold(parts, [*allies, said])


def _hold(parts: Parts, burst: list[Said]) -> None:
    known = parts.bursts.known(parts)
    sessions = {s for one in burst if one.session for s in sessions_of(parts.ledger, one.session)}
    fresh = [one for one in burst if one.uid not in known and _may_be_held(parts, one.uid)]
    rows = [
        BurstNote(note=one.uid, at=parts.now_ms(), others=len(burst) - 1, sessions=tuple(sorted(sessions)))
        for one in fresh
    ]
    parts.bursts.keep(parts, rows)


def _may_be_held(parts: Parts, uid: bytes) -> bool:
    """Whether no person stands behind the note."""
    with parts.store.read() as snapshot:
        note = snapshot.note(uid)
        return note is not None and note.provenance == Provenance.AGENT and not is_user_stated(parts, snapshot, note)


def looked(parts: Parts, asker: Asker, uids: Iterable[bytes], how: str) -> None:
    """The asker has seen these notes, or come to them by itself: those that others recorded are held no more. ``how``: a word."""
    seen = parts.bursts.held(parts).intersection(uids)
    if not seen or not (asker.session or _is_person(asker)):
        return
    own = _one_source(parts, asker.session) if asker.session else frozenset()
    with parts.bursts.alone():
        known = parts.bursts.known(parts)
        cleared = [
            msgspec.structs.replace(known[uid], cleared_at=parts.now_ms(), cleared_by=asker.session, how=how)
            for uid in sorted(seen)
            if not known[uid].cleared_at and own.isdisjoint(known[uid].sessions)
        ]
        parts.bursts.keep(parts, cleared)


def _one_source(parts: Parts, session: str) -> frozenset[str]:
    """The sessions whose word is this one's too."""
    own = sessions_of(parts.ledger, session)
    return frozenset(own) | kin_of(parts.ledger, own)


def _is_person(asker: Asker) -> bool:
    """Whether nothing says that an agent asks: a command outside any session, with no client above it."""
    return asker.surface in _AT_A_TERMINAL and nearest(PEER.get()) is None


# --- one source


def _lately(parts: Parts, since: int, but: bytes) -> Iterator[Said]:
    """What the store has since then, oldest first."""
    found: list[tuple[Note, str]] = []
    with parts.store.read() as snapshot:
        for looked_at, (_, note) in enumerate(snapshot.notes()):
            if note.created_at < since or looked_at >= limits.BURST_LOOKED_AT_MAX:
                break
            content = snapshot.text(note.revisions[0].content)
            if note.uid != but and content is not None:
                found.append((note, content))
    return (said for said in (_said(parts, note, content) for note, content in reversed(found)) if said is not None)


def _said(parts: Parts, note: Note, content: str) -> Said | None:
    """None of a note that is never held and holds no other: memd's own, a person's."""
    origins = frozenset(_origins(parts, note)) if note.provenance == Provenance.AGENT else frozenset()
    return Said(note.uid, note.created_at, note.session, origins, content, Claim.of(content)) if origins else None


def _origins(parts: Parts, note: Note) -> Iterator[str]:
    if note.source.type in UNTRUSTED_SOURCES:
        yield f"{note.source.type} {note.source.ref}"
    if note.session:
        with parts.ledger.read() as ledger:
            yield f"session {sessions_of(ledger, note.session)[-1]}"
            yield from (f"client {pid} {started}" for pid, started in _clients(ledger, note.session))
    elif note.surface == Surface.MCP:
        yield "no session"  # an agent's that joined none: nothing tells these apart


def _clients(ledger: LedgerSnapshot, session: str) -> Iterator[tuple[int, int]]:
    """The client processes that the session runs in, and those that it was started from."""
    context = ledger.context(session, "")
    if context is not None:
        yield from context.above
        if context.client_pid:
            yield context.client_pid, context.client_started


# --- support


def _supports(parts: Parts, one: Said, other: Said) -> bool:
    """Whether both come from one source and say the same thing, as far as words and their vectors tell."""
    if one.uid == other.uid or one.origins.isdisjoint(other.origins) or not _is_of_one_matter(one.claim, other.claim):
        return False
    if text.likeness(one.claim.content, other.claim.content) >= limits.BURST_SHARE:
        return True
    mine, its = parts.search.table_vector(one.content), parts.search.table_vector(other.content)
    return mine is not None and its is not None and float(mine @ its) >= limits.BURST_COSINE


def _is_of_one_matter(one: Claim, other: Claim) -> bool:
    """Where both name something (a number, an identifier, a path) they name one thing at least together.

    A negation tells nothing here: it may be in the reason that one wording gives and another does not.
    """
    return not one.marks or not other.marks or not one.marks.isdisjoint(other.marks)
