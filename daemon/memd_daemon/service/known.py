"""What was made of the log before: edits ask for the gotchas of the same few files again and again, starts for the same rules.

A view without its ground depends on the log alone. While rows are made, what is looked at is noted: notes, and lookups by index.
Rows stay known until a commit speaks of one of those notes, or of one that such a lookup would now find; a note about something
else, which is what most writes are, leaves them as they are. Where that cannot be told (a commit of another store, one about the
keys or the settings, too many at once, a read of something else) all are forgotten: nothing wrong may be told because it was
right before. A note that a lookup brought up counts as looked at, also where nobody looks at more of it than its number: it may be
changed so that the lookup finds it no more.

What follows from rows and from something else beside them (their ground) is kept with them, and goes with them.

Where nothing was added to the log since the last look at it, what is known of it is the log (`Still`): no snapshot is opened.

Which contents no anchor has is known as a whole (`Known.lacks`), since every edit makes a content that nobody asked about. All are
gone through once (`KnownViews.sift`), and each commit adds its own; anchors that went since are still among them. Like the rows it
is known at the last state that was looked at alone, and forgotten where those are.
"""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, Generic, NoReturn, Protocol, TypeVar, cast

from memd_daemon import limits
from memd_daemon.model.note import Note
from memd_daemon.model.settings import Settings
from memd_daemon.model.view import NoteView
from memd_daemon.service.sieve import Sieve
from memd_daemon.store.port import Snapshot

T = TypeVar("T")
U = TypeVar("U")

Views = tuple[NoteView, ...]
Key = tuple[object, ...]
Lookup = tuple[str, str, object]
"""(by what, scope, value)"""


class Rows(Generic[T]):
    """What was made, and what follows from it."""

    def __init__(self, rows: tuple[T, ...]) -> None:
        self.rows = rows
        self._derived: dict[object, tuple[Any, ...]] = {}

    def derived(self, key: object, made: Callable[[tuple[T, ...]], tuple[U, ...]]) -> tuple[U, ...]:
        """What ``made`` makes of the rows, the very same for an equal key. It depends on the rows and the key alone."""
        known = self._derived.get(key)
        if known is None:
            if len(self._derived) >= limits.DERIVED_KNOWN_MAX:
                self._derived.clear()
            known = self._derived[key] = made(self.rows)
        return known


class Known(Protocol):
    """What is known at one snapshot: ``known(key, made)`` gives the rows of a key, by ``made`` where they are not known.

    ``made`` makes them of the snapshot that it is given and of what the key says, and of nothing else.
    """

    def __call__(self, key: Key, made: Callable[[Snapshot], tuple[T, ...]]) -> Rows[T]: ...

    def lacks(self, digest: bytes) -> bool:
        """Whether surely no live gotcha of any scope has an anchor of this digest."""
        ...


class NotKnown(Exception):
    """What is asked for is not known: a snapshot is to be opened, and all of it looked at in that."""


class Still:
    """The log where nothing was added to it since it was looked at: its settings, and rows that are known. It stands in the place
    of a snapshot; whatever else is asked of it raises NotKnown."""

    def __init__(self, known: Known, settings: Settings) -> None:
        self.known = known
        self.settings = settings

    @staticmethod
    def of(snapshot: object) -> "Still | None":
        """What stands in the place of the snapshot, where it is none."""
        return snapshot if isinstance(snapshot, Still) else None

    def __getattr__(self, name: str) -> NoReturn:
        raise NotKnown


class Traced:
    """A snapshot that notes what is looked at."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.uids: set[bytes] = set()
        self.lookups: set[Lookup] = set()
        self.is_sure = True  # whether these two say all

    def note(self, uid: bytes) -> Note | None:
        self.uids.add(uid)
        return self._snapshot.note(uid)

    def id_of(self, uid: bytes) -> int | None:
        self.uids.add(uid)
        return self._snapshot.id_of(uid)

    def uid_of(self, id_: int) -> bytes | None:
        return self._snapshot.uid_of(id_)  # for good

    def text(self, digest: bytes) -> str | None:
        return self._snapshot.text(digest)  # for good, or until its note is forgotten

    def notes_of_kind(self, scope: str, kind: str, priority: str = "") -> Iterator[int]:
        self.lookups.add(("kind", scope, kind))
        return self._found(self._snapshot.notes_of_kind(scope, kind, priority))

    def notes_on_path(self, scope: str, path: str) -> Iterator[int]:
        self.lookups.add(("path", scope, path))
        return self._found(self._snapshot.notes_on_path(scope, path))

    def notes_anchored_as(self, scope: str, digest: bytes) -> Iterator[int]:
        self.lookups.add(("content", scope, digest))
        return self._found(self._snapshot.notes_anchored_as(scope, digest))

    def _found(self, ids: Iterator[int]) -> Iterator[int]:
        for id_ in ids:
            uid = self._snapshot.uid_of(id_)
            if uid is not None:
                self.uids.add(uid)
            yield id_

    def __getattr__(self, name: str) -> Any:
        self.is_sure = False
        return getattr(self._snapshot, name)


def lookups_of(note: Note) -> Iterator[Lookup]:
    """Every lookup that finds this note, and some that do not."""
    yield "kind", note.scope, note.kind
    for anchor in note.anchors:
        yield "path", note.scope, anchor.path
        yield "content", note.scope, anchor.digest


class _Kept:
    """Rows with what they were made of; never the snapshot, which would keep its place among the store's readers."""

    def __init__(self, rows: Rows[Any], traced: Traced) -> None:
        self.rows = rows
        self._uids, self._lookups, self._is_sure = traced.uids, traced.lookups, traced.is_sure

    @property
    def size(self) -> int:
        """Rows, and one for the question: most files have none, and each of them is asked about."""
        return 1 + len(self.rows.rows)

    def stands(self, uids: set[bytes], lookups: set[Lookup]) -> bool:
        """Whether commits that speak of these notes, found by these lookups, leave the rows as they are."""
        return self._is_sure and self._uids.isdisjoint(uids) and self._lookups.isdisjoint(lookups)


class _Stand:
    """How far a snapshot has come: commits and events of all stores, and this store's last commit. ``additions``: as many as are
    known to be in it."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.additions = snapshot.additions
        self.moment = snapshot.moment()
        self.version = snapshot.version()
        self.seq = snapshot.last_seq()


class KnownViews:
    """Rows by what they were asked for with. Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._at: _Stand | None = None
        self._since = 0  # the moment before which nothing that is found becomes known
        self._known: dict[Key, _Kept] = {}
        self._count = 0
        self._anchored: Sieve | None = None  # the digests of gotchas' anchors
        self._sifted_at = float("-inf")  # monotonic seconds: when they were gone through last

    def forget(self, since: int = 0) -> None:
        """The rows that they were made from were made anew, without a write to the log. ``since``: the moment of a snapshot that
        sees them so; one from before it leaves nothing."""
        with self._lock:
            self._since = max(self._since, since)
            self._forget()
            self._anchored, self._sifted_at = None, float("-inf")
            self._at = None

    def at(self, snapshot: Snapshot, *, in_doubt: bool = False) -> Known:
        """What is known at this snapshot. ``in_doubt``: something of the store did not fit, so all is looked at anew."""
        if in_doubt:
            self.forget()
        at = self._at
        if at is not None and at.moment == snapshot.moment():
            stand = at
            stand.additions = max(stand.additions, snapshot.additions)
        else:
            stand = _Stand(snapshot)
            with self._lock:
                self._come_to(snapshot, stand)
        return _KnownAt(self, stand, snapshot)

    def still(self, additions: int) -> Known | None:
        """What is known, where no more than these were added to the log since it was looked at last; else None."""
        at = self._at
        return None if at is None or at.additions != additions else _KnownAt(self, at)

    def kept(self, key: Key, stand: _Stand) -> Rows[Any] | None:
        """The rows of a key, where they are known at this stand."""
        with self._lock:
            kept = self._known.get(key) if self._is_at(stand) else None
        return None if kept is None else kept.rows

    def lacks(self, digest: bytes, stand: _Stand) -> bool:
        """`Known.lacks` at this stand."""
        with self._lock:
            anchored = self._anchored if self._is_at(stand) else None
            return anchored is not None and not anchored.may_hold(digest)

    def is_to_sift(self) -> bool:
        """Whether it is not known which digests there are; True once in a while alone, since it takes time to go through them."""
        if self._anchored is not None or time.monotonic() - self._sifted_at < limits.SIFT_PAUSE_S:
            return False
        self._sifted_at = time.monotonic()
        return True

    def sift(self, snapshot: Snapshot, give_way: Callable[[], None]) -> None:
        """Goes through the digests of all anchors. In vain where a commit comes meanwhile. ``give_way``: called in between."""
        self.at(snapshot)
        stand, found = _Stand(snapshot), Sieve()
        for number, digest in enumerate(snapshot.anchor_digests()):
            if number % limits.SIFTED_AT_ONCE == 0:
                give_way()
            found.add(digest)
        with self._lock:
            if self._is_at(stand):
                self._anchored = found

    def make(self, snapshot: Snapshot, stand: _Stand, key: Key, made: Callable[[Snapshot], tuple[T, ...]]) -> Rows[T]:
        """The rows of a key, kept where this is still the latest look."""
        traced = Traced(snapshot)
        rows = Rows(made(cast("Snapshot", traced)))
        with self._lock:
            if self._is_at(stand):  # else another thread has come with a later snapshot
                self._keep(key, _Kept(rows, traced))
        return rows

    def _is_at(self, stand: _Stand) -> bool:
        return self._at is not None and self._at.version == stand.version and stand.moment >= self._since

    def _keep(self, key: Key, kept: _Kept) -> None:
        if self._count + kept.size > limits.VIEWS_KNOWN_MAX:
            self._forget()
        before = self._known.get(key)
        self._count += kept.size - (before.size if before else 0)
        self._known[key] = kept

    def _come_to(self, snapshot: Snapshot, stand: _Stand) -> None:
        """Brings what is known up to a later snapshot; an earlier one finds nothing and leaves nothing."""
        at = self._at
        if stand.moment < self._since or (at is not None and stand.version < at.version):
            return
        if at is None or not (self._is_at(stand) or self._catch_up(snapshot, at, stand)):
            self._forget()
            self._anchored = None
        if at is not None:
            stand.additions = max(stand.additions, at.additions)  # a later state holds what an earlier one held
        self._at = stand

    def _catch_up(self, snapshot: Snapshot, at: _Stand, stand: _Stand) -> bool:
        """Drops the rows that the commits in between bear on; whether that can be told."""
        added = stand.seq - at.seq
        if not 0 < added <= limits.CATCH_UP_COMMITS_MAX:
            return False
        subjects = list(snapshot.changed_since(at.seq))
        if stand.version[1] - at.version[1] != len(subjects):  # others are another store's, of a commit old or new
            return False
        uids = set(subjects)
        notes = [snapshot.note(uid) for uid in uids]
        if not all(notes):  # about no note: keys, settings
            return False
        lookups = {lookup for note in notes if note for lookup in lookups_of(note)}
        if self._anchored is not None:
            for digest in (anchor.digest for note in notes if note for anchor in note.anchors):
                self._anchored.add(digest)
        self._known = {key: kept for key, kept in self._known.items() if kept.stands(uids, lookups)}
        self._count = sum(kept.size for kept in self._known.values())
        return True

    def _forget(self) -> None:
        self._known, self._count = {}, 0


class _KnownAt:
    """`Known` at a stand. ``snapshot``: what rows are made of that are not known; None where none is open (`Still`)."""

    def __init__(self, views: KnownViews, stand: _Stand, snapshot: Snapshot | None = None) -> None:
        self._views, self._stand, self._snapshot = views, stand, snapshot

    def __call__(self, key: Key, made: Callable[[Snapshot], tuple[T, ...]]) -> Rows[T]:
        rows = self._views.kept(key, self._stand)
        if rows is not None:
            return rows
        if self._snapshot is None:
            raise NotKnown
        return self._views.make(self._snapshot, self._stand, key, made)

    def lacks(self, digest: bytes) -> bool:
        return self._views.lacks(digest, self._stand)
