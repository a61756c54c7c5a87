"""Lookups by scope, where a repository of this store may be known to other stores under uids of their own.

A note that another store made keeps for ever the scope that its events say, `repo:<uid of theirs>`. Where that repository is one of
this store's (theirs.py decides, once), local facts say so, and whoever reads sees such a note in the scope of this store's:
a note is told, judged and changed here as one of the repository that it is about. The log, the folds and their index rows stay as
the events make them.

    repo/same/<theirs>     uid of ours     truth: decided once, and never changed
    same/<ours>/<theirs>   uid of theirs   the way back, put with it

Each name is looked up once in the life of a snapshot.
"""

import heapq
from collections.abc import Iterator
from typing import Final

import msgspec

from memd_daemon.model.ids import NO_UID, UID_BYTES, uid_text
from memd_daemon.model.note import Note
from memd_daemon.store import keys
from memd_daemon.store.kv import Reading

REPO: Final = "repo:"
SAME: Final = "repo/same/"
NAMES: Final = "same/"
_SCOPE_CHARS: Final = len(REPO) + len(uid_text(NO_UID))


class Scoped:
    """The part of a snapshot (log_read.py) that knows scopes."""

    kv: Reading

    def __init__(self) -> None:
        self._ours: dict[str, str] = {}
        self._names: dict[str, tuple[str, ...]] = {}

    def at_home(self, note: Note) -> Note:
        """The note in the scope under which this store knows its repository."""
        if not note.scope.startswith(REPO):
            return note
        scope = self._ours.get(note.scope)
        if scope is None:
            scope = self._ours[note.scope] = self._scope_of_ours(note.scope)
        return note if scope == note.scope else msgspec.structs.replace(note, scope=scope)

    def _scope_of_ours(self, scope: str) -> str:
        if len(scope) != _SCOPE_CHARS:  # a note of another store may say anything
            return scope
        ours = self.kv.get(keys.SETTINGS, (SAME + scope.removeprefix(REPO)).encode())
        return scope if ours is None or len(ours) != UID_BYTES else REPO + uid_text(ours)

    def _names_of(self, scope: str) -> tuple[str, ...]:
        """The scope, and those under which other stores' notes are of it."""
        if not scope.startswith(REPO) or len(scope) != _SCOPE_CHARS:
            return (scope,)
        names = self._names.get(scope)
        if names is None:
            others = other_names(self.kv, scope.removeprefix(REPO) + "/")
            names = self._names[scope] = (scope, *others.get(scope, ()))
        return names

    def other_names(self) -> dict[str, tuple[str, ...]]:
        """Of every scope that has them, those under which other stores' notes are of it."""
        return other_names(self.kv)

    # --- ids by scope, newest first

    def notes_of_kind(self, scope: str, kind: str, priority: str = "") -> Iterator[int]:
        wanted = {priority.encode(), b""}  # rows of an older store name no priority: who asks looks at the note
        prefixes = [keys.kind_prefix(name, kind) for name in self._names_of(scope)]
        return self._newest_first(keys.KINDS, prefixes, wanted if priority else None)

    def notes_on_path(self, scope: str, path: str) -> Iterator[int]:
        return self._newest_first(keys.PATHS, [keys.path_prefix(name, path) for name in self._names_of(scope)])

    def notes_anchored_as(self, scope: str, digest: bytes) -> Iterator[int]:
        prefixes = [keys.anchored_prefix(name, digest) for name in self._names_of(scope)]
        return self._newest_first(keys.ANCHORED, prefixes)

    def anchor_digests(self) -> Iterator[bytes]:
        return (keys.of_anchored_key(key) for key, _ in self.kv.scan(keys.ANCHORED))

    def _newest_first(self, table: str, prefixes: list[bytes], wanted: set[bytes] | None = None) -> Iterator[int]:
        found = [self._ids(table, prefix, wanted) for prefix in prefixes]
        return found[0] if len(found) == 1 else heapq.merge(*found, reverse=True)

    def _ids(self, table: str, prefix: bytes, wanted: set[bytes] | None) -> Iterator[int]:
        for key, has in self.kv.scan(table, prefix, reverse=True):
            if wanted is None or has in wanted:
                yield keys.of_number(key)


def other_names(kv: Reading, begin: str = "") -> dict[str, tuple[str, ...]]:
    """The rows of the way back whose names go on with ``begin``: those of one repository, or all."""
    found: dict[str, tuple[str, ...]] = {}
    for key, _ in kv.scan(keys.SETTINGS, f"{NAMES}{begin}".encode()):
        _, of, theirs = key.decode().split("/")
        found[REPO + of] = (*found.get(REPO + of, ()), REPO + theirs)
    return found
