"""A write that says what a note says already (`same_as`): its words are kept, and folded into that note (recall.md).

Whether that makes the note more believed is memd's to judge, never the writer's. Counted is only who came to the claim by itself:
another session, which was never shown the note, whether it asked or not, and is no kin of one that was shown it or recorded it:
neither a fork of it nor what came after it in its client, neither parent nor child. Nor may it have read the same document. An
echo is folded in all the same, and counts nothing.

Two texts that differ in a number, an identifier, a path or a negation are two claims, whatever the writer says.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import islice

from memd_client import api
from memd_daemon import errors, limits
from memd_daemon.evidence import echoes
from memd_daemon.frames import told
from memd_daemon.model import event as ev
from memd_daemon.model.note import Note
from memd_daemon.model.words import UNTRUSTED_SOURCES, Provenance
from memd_daemon.service import text
from memd_daemon.service.asker import Asker
from memd_daemon.service.claim import Claim
from memd_daemon.service.contexts import sessions_of
from memd_daemon.service.fall import fresh
from memd_daemon.service.kin import kin_of
from memd_daemon.service.parts import Parts
from memd_daemon.service.refs import held_by
from memd_daemon.service.repos import GLOBAL
from memd_daemon.service.wanted import Wanted
from memd_daemon.store.port import Draft, Snapshot, Txn


def refuse_other(parts: Parts, snapshot: Snapshot, request: api.Remember, wanted: Wanted, note: Note | None) -> None:
    """Raises NotTheSame unless both are one claim about one place; SameAsAlone where the write would also correct or endorse
    something, since folded in it would say so nowhere. One that was revoked is told as a known mistake before it comes to this."""
    if note is None:
        return
    others = {"contradicts": request.contradicts, "supersedes": request.supersedes, "level": request.level}
    for name, value in {**others, "endorse": request.endorse}.items():
        if value:
            raise errors.SameAsAlone(name)
    if note.revoked:
        return
    id_, said = snapshot.id_of(note.uid), snapshot.text(note.shown.content) or ""
    claim, its = Claim.of(wanted.content), Claim.of(said)
    for differs, why in (
        (note.scope not in (wanted.scope, GLOBAL), "that one holds in another place"),
        (not note.live, "that one is not in the working set any more"),
        (claim.sense != its.sense, "they differ in a number, an identifier, a path or a negation"),
        (not _is_alike(parts, wanted.content, claim, said, its), "they have little in common"),
    ):
        if differs:
            raise errors.NotTheSame(id_, why)


def _is_alike(parts: Parts, content: str, claim: Claim, said: str, its: Claim) -> bool:
    """Whether the two speak of one matter: by their words, or where those differ by the token table's vectors."""
    if text.likeness(claim.content, its.content) >= limits.SAME_AS_SHARE:
        return True
    mine, other = parts.search.table_vector(content), parts.search.table_vector(said)
    return mine is not None and other is not None and float(mine @ other) >= limits.SAME_AS_COSINE


def why_an_echo(parts: Parts, snapshot: Snapshot, wanted: Wanted, note: Note, asker: Asker) -> str:
    """Why the write counts nothing for the note; "" where it is independent."""
    voices = [n for n in (note, *map(snapshot.note, note.corroborations)) if n is not None]
    sources = {(n.source.type, n.source.ref) for n in voices if n.source.type in UNTRUSTED_SOURCES}
    if wanted.provenance is Provenance.AUTO:
        return told.NOBODY_JUDGED
    if (wanted.source.type, wanted.source.ref) in sources:
        return told.SAME_SOURCE
    if not asker.session:
        return told.NO_SESSION
    own = sessions_of(parts.ledger, asker.session)
    kin = kin_of(parts.ledger, own)
    if any(n.session in own for n in voices):
        return told.SAID_BEFORE
    claims = {n.uid for n in voices} | set(snapshot.absorbed_by(note.uid))
    if _was_shown(parts, claims, own) or _was_pasted(snapshot, voices, own):
        return told.WAS_SHOWN
    if any(n.session in kin for n in voices if n.session):
        return told.KIN_SAID
    if _was_shown(parts, claims, kin):
        return told.KIN_SHOWN
    if not parts.unsure.isdisjoint(own):
        return told.NOT_KEPT
    if _began_unheard(parts, own):
        return told.BEGAN_UNHEARD
    return ""


def _was_shown(parts: Parts, claims: Collection[bytes], sessions: Iterable[str]) -> bool:
    """Whether any of the sessions was ever shown the note, or one of those that say the same."""
    with parts.ledger.read() as ledger:
        return any(ledger.was_shown(uid, session) for session in sessions for uid in claims)


def _was_pasted(snapshot: Snapshot, voices: Iterable[Note], sessions: Iterable[str]) -> bool:
    """Whether a prompt of the sessions has one of the notes in memd's own words: who pastes a bundle shows what is in it."""
    said = [words for note in voices if (words := snapshot.text(note.shown.content))]
    for session in sessions:
        for turn in islice(snapshot.turns(session=session), limits.EVIDENCE_TURNS_MAX):
            if echoes(turn.text) and any(
                text.shared(words, turn.text) >= limits.DERIVED_SHINGLE_SHARE for words in said
            ):
                return True
    return False


def _began_unheard(parts: Parts, own: Sequence[str]) -> bool:
    """Whether the conversation, or the one that it goes on from, was taken up where memd knows nothing of its beginning."""
    with parts.ledger.read() as ledger:
        begun = [ledger.context(session, "") for session in own]
    return any(context is not None and context.carried and not context.continues for context in begun)


def folded_drafts(
    parts: Parts, txn: Txn, wanted: Wanted, recorded: bytes, of: Note, echo: str, asker: Asker
) -> tuple[list[Draft], list[str]]:
    """The new note folded into the one that says so already, and what the writer is told. ``recorded``: the new note's event.

    Whether it counts is judged once more in the write: the same session may have said so meanwhile, or have been shown the note. On
    a note that was found wrong the new one stands for itself, and the queue learns that somebody came to it again.
    """
    note = fresh(txn, of.uid)
    id_, by = txn.id_of(note.uid), ev.ByNote(by=wanted.uid)
    if note.revoked:
        again = [parts.draft("rederived", note.uid, by, asker=asker, after=note)] if not echo else []
        return again, []
    echo = echo or why_an_echo(parts, txn, wanted, note, asker)
    taken_in = parts.draft("absorbed", wanted.uid, ev.ByNote(by=note.uid), asker=asker, parents=(recorded,))
    if echo:
        return [taken_in], [told.counts_nothing(id_, echo)]
    counted = parts.draft("corroborated", note.uid, by, asker=asker, after=note)
    return [taken_in, counted], [told.corroborates(id_)]


def note_rederived(parts: Parts, ref: str, wanted: Wanted, asker: Asker) -> None:
    """The write was refused since the note was found wrong; that somebody came to it again by themselves, the queue learns."""
    with parts.store.read() as snapshot:
        note = held_by(snapshot, ref, [])
        if not note.revoked or why_an_echo(parts, snapshot, wanted, note, asker):
            return

    def work(txn: Txn) -> None:
        fallen = fresh(txn, note.uid)
        if fallen.revoked:
            txn.append([parts.draft("rederived", note.uid, ev.ByNote(), asker=asker, after=fallen)], at=parts.now_ms())

    parts.store.write(work)
