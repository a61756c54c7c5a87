"""A write that says what a note says already (`same_as`): its words are kept, and folded into that note (recall.md).

Whether that makes the note more believed is memd's to judge, never the writer's. Counted is only who came to the claim by itself:
another session, to which the note was not delivered, which is neither parent nor child of the session that recorded it, and did not
read the same document. An echo is folded in all the same, and counts nothing.

Two texts that differ in a number, an identifier, a path or a negation are two claims, whatever the writer says.
"""

from memd_client import api
from memd_daemon import errors, limits
from memd_daemon.model import event as ev
from memd_daemon.model.note import Note
from memd_daemon.model.words import UNTRUSTED_SOURCES, Provenance
from memd_daemon.service import text
from memd_daemon.service.asker import Asker
from memd_daemon.service.claim import Claim
from memd_daemon.service.clients import ancestors
from memd_daemon.service.fall import fresh
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
        return "nobody judged what is auto-captured"
    if (wanted.source.type, wanted.source.ref) in sources:
        return "it comes from the same document or tool"
    if not asker.session:
        return "outside a live agent session nobody can tell what the writer was shown"
    if any(n.session == asker.session for n in voices):
        return "it comes from a session that said so before"
    if _was_shown(parts, asker, note):
        return "this session was shown the note"
    if any(_is_kin(parts, asker.session, n.session) for n in voices if n.session):
        return "its session and the one that said so before are parent and child"
    return ""


def _was_shown(parts: Parts, asker: Asker, note: Note) -> bool:
    """Whether any agent of the session was ever offered the note: one that did not arrive may have."""
    return any(told.uid == note.uid for d in parts.ledger.deliveries(session=asker.session) for told in d.notes)


def _is_kin(parts: Parts, session: str, other: str) -> bool:
    """Whether the client of the one was started from the other's."""
    with parts.ledger.read() as ledger:
        mine = {c.client_pid for c in ledger.contexts_of(session) if c.client_pid}
        its = {c.client_pid for c in ledger.contexts_of(other) if c.client_pid}
    above = {process.pid for pid in mine for process in ancestors(pid)}
    return bool(above & its) or any(process.pid in mine for pid in its for process in ancestors(pid))


def folded_drafts(
    parts: Parts, txn: Txn, wanted: Wanted, recorded: bytes, of: Note, echo: str, asker: Asker
) -> tuple[list[Draft], list[str]]:
    """The new note folded into the one that says so already, and what the writer is told. ``recorded``: the new note's event.

    On a note that was found wrong the new one stands for itself, and the queue learns that somebody came to it again.
    """
    note = fresh(txn, of.uid)
    id_, by = txn.id_of(note.uid), ev.ByNote(by=wanted.uid)
    if note.revoked:
        again = [parts.draft("rederived", note.uid, by, asker=asker, after=note)] if not echo else []
        return again, []
    taken_in = parts.draft("absorbed", wanted.uid, ev.ByNote(by=note.uid), asker=asker, parents=(recorded,))
    if echo:
        return [taken_in], [
            f"note [{id_}] says so already: your words were folded into it and count nothing, since {echo}"
        ]
    counted = parts.draft("corroborated", note.uid, by, asker=asker, after=note)
    return [taken_in, counted], [f"note [{id_}] says so already: your words were folded into it, and corroborate it"]


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
