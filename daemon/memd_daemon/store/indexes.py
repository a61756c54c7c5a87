"""The rows that follow from a note's fold: what is written when a fold changes, and what `memd verify` computes anew.

Each function gives (table, key, value) rows; they depend on the note and its id alone, so that rows of the log before and after an
event can be compared, and the same ones come out of a rebuild.
"""

from collections.abc import Iterator
from typing import Final

from memd_daemon.model.ids import NO_UID
from memd_daemon.model.note import Note
from memd_daemon.model.words import Kind
from memd_daemon.store import keys
from memd_daemon.store.kv import Writing

Row = tuple[str, bytes, bytes]

INDEX_TABLES: Final[tuple[str, ...]] = (keys.KINDS, keys.PATHS, keys.ANCHORED, keys.CHILDREN, keys.ABSORBED, keys.SLUGS)


def rows_of(note: Note, id_: int) -> Iterator[Row]:
    """Every index row of a note. Live notes stand under their kind, live gotchas under the paths and the
    contents of their anchors; lineage stays for good."""
    number = keys.number(id_)
    for parent in set(note.derived_from):
        yield keys.CHILDREN, parent + note.uid, b""
    if note.absorbed_by != NO_UID:
        yield keys.ABSORBED, note.absorbed_by + note.uid, b""
    if note.slug and not note.forgotten:
        yield keys.SLUGS, keys.digest16(note.slug) + number, note.uid
    if note.live:
        yield keys.KINDS, keys.kind_prefix(note.scope, note.kind) + number, note.priority.encode()
    if note.live and note.kind == Kind.GOTCHA:
        for path in {anchor.path for anchor in note.anchors}:
            yield keys.PATHS, keys.path_prefix(note.scope, path) + number, b""
        for digest in {anchor.digest for anchor in note.anchors if anchor.digest}:
            yield keys.ANCHORED, keys.anchored_prefix(note.scope, digest) + number, b""


def replace_rows(kv: Writing, id_: int, before: Note | None, after: Note | None) -> None:
    """Takes the rows of ``before`` away and sets those of ``after``; rows that stay are not touched."""
    old = set(rows_of(before, id_)) if before is not None else set()
    new = set(rows_of(after, id_)) if after is not None else set()
    for table, key, _ in sorted(old - new):
        kv.delete(table, key)
    for table, key, value in sorted(new - old):
        kv.put(table, key, value)
