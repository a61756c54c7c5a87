"""Many notes at once: one commit of `recorded` events, each as a write would make it, for stores too large to be written to."""

from collections.abc import Iterable

import msgspec

from memd_daemon.model import event as ev
from memd_daemon.model.words import Actor, SourceType, Surface
from memd_daemon.service.asker import Asker
from memd_daemon.service.repos import place_of
from memd_daemon.store.port import Draft, Txn
from tests.service.desk import Desk


class Planted(msgspec.Struct, frozen=True, kw_only=True):
    content: str
    kind: str = "finding"
    priority: str = "medium"
    anchors: tuple[ev.Anchor, ...] = ()
    scope: str = ""  # the desk's repository
    source: str = SourceType.INFERENCE


def plant(desk: Desk, notes: Iterable[Planted]) -> list[int]:
    """Records the notes in the desk's repository, each a millisecond after the one before; gives their ids. Search learns of them
    as at a start of the daemon."""
    parts = desk.daemon.parts
    scope = place_of(parts, str(desk.repo)).scope
    asker = Asker(actor=Actor.AGENT, surface=Surface.CLI)

    def drafted(txn: Txn, note: Planted) -> tuple[bytes, Draft]:
        desk.clock.ms += 1
        text, uid = txn.put_text(note.content), parts.new_uid()
        recorded = ev.Recorded(
            content=text,
            summary=text,
            kind=note.kind,
            priority=note.priority,
            provenance="agent",
            source=ev.Source(note.source),
            scope=note.scope or scope,
            anchors=note.anchors,
        )
        return uid, parts.draft("recorded", uid, recorded, asker=asker)

    def work(txn: Txn) -> list[int]:
        made = [drafted(txn, note) for note in notes]
        txn.append([draft for _, draft in made], at=parts.now_ms())
        return [txn.id_of(uid) or 0 for uid, _ in made]

    ids = parts.store.write(work)
    parts.search.load_words()
    return ids
