"""The port: what the service asks of a store. Two adapters, one contract suite (tests/store/contract.py).

`Store.write(work)` runs ``work(txn)`` inside a write transaction and returns what it returned once the transaction is on disk
(fsynced). Writes of several threads share one fsync, and each stands for itself: one that raises leaves nothing of itself, and
nothing of the others is lost. `Store.submit` is the same without blocking. `Store.read()` gives a snapshot.

A work may run twice, so what it does beside the store is done after its write has returned; and no write is waited for inside a
`read()` or another work.

Nothing here decides what may be written: preconditions are the service's and the fold's.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

import msgspec

from memd_daemon.errors import MemdError
from memd_daemon.limits import HYBRID_TIME_MAX
from memd_daemon.model.event import Stored
from memd_daemon.model.note import Note
from memd_daemon.model.trust import Identity
from memd_daemon.model.turn import Raised, Turn

T = TypeVar("T")
R = TypeVar("R")


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """An event about to be written: body bytes are final, so that a signature made over them holds."""

    body: bytes
    sig: bytes = b""


class CommitReceipt(msgspec.Struct, frozen=True, kw_only=True):
    uid: bytes
    origin: bytes
    seq: int
    hlc: int


class StoreInfo(msgspec.Struct, frozen=True, kw_only=True):
    store: bytes  # 16 bytes
    origin: bytes  # 16 bytes
    format: int
    path: str


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    notes: int
    events: int
    commits: int
    turns: int
    bytes_on_disk: int


class Snapshot(Protocol):
    """A consistent view. Every method is a few lookups; iterators are lazy and newest first where the name says so."""

    def note(self, uid: bytes) -> Note | None:
        """The note, in the scope under which this store knows its repository (store/scoped.py)."""
        ...

    def notes(self, *, newest_first: bool = True) -> Iterator[tuple[int, Note]]: ...
    def id_of(self, uid: bytes) -> int | None: ...
    def uid_of(self, id_: int) -> bytes | None: ...
    def uid_of_slug(self, slug: str) -> bytes | None: ...
    def notes_of_kind(self, scope: str, kind: str, priority: str = "") -> Iterator[int]:
        """Ids of the live notes of one kind in one exact scope, newest first; with ``priority`` those of that priority alone."""
        ...

    def notes_on_path(self, scope: str, path: str) -> Iterator[int]:
        """Ids of the live gotchas anchored to a path of one exact scope."""
        ...

    def notes_anchored_as(self, scope: str, digest: bytes) -> Iterator[int]:
        """Ids of the live gotchas of one exact scope with an anchor of this digest, at whatever path."""
        ...

    def anchor_digests(self) -> Iterator[bytes]:
        """Those of all that `notes_anchored_as` finds, in every scope, with repetitions."""
        ...

    def other_names(self) -> dict[str, tuple[str, ...]]:
        """Of each scope the scopes under which notes of other stores are of it, where there are such."""
        ...

    def children_of(self, uid: bytes) -> Iterator[bytes]:
        """Uids of the notes that are derived from this one."""
        ...

    def absorbed_by(self, uid: bytes) -> Iterator[bytes]:
        """Uids of the notes that this one has absorbed."""
        ...

    def text(self, digest: bytes) -> str | None:
        """The blob's text; None where it was forgotten, is not here, or is another than the one that was recorded."""
        ...

    def salted_text(self, digest: bytes) -> tuple[bytes, str]:
        """(salt, text) of a blob, for a signer who checks what is signed.

        Raises KeyError where it is not here, StoreDamaged where another text lies in its place.
        """
        ...

    def events_of(self, uid: bytes) -> list[Stored]:
        """All events of one subject, in the order of their places."""
        ...

    def event(self, uid: bytes) -> Stored | None: ...
    def last_seq(self) -> int:
        """The number of this store's own newest commit; 0 before the first."""
        ...

    def head(self) -> bytes:
        """The digest of this store's own newest commit; b"" before the first."""
        ...

    def digest_of(self, seq: int) -> bytes:
        """The digest of this store's own commit of that number; b"" where there is none, or it cannot be read."""
        ...

    def chains(self) -> list[tuple[bytes, int]]:
        """(origin, number of its newest commit) for each chain that has commits here."""
        ...

    def changed_since(self, seq: int) -> Iterator[bytes]:
        """Uids of the subjects that this store's own commits after ``seq`` speak of, newest first, with repetitions."""
        ...

    def identity(self) -> Identity:
        """The identity log of this store, folded: which keys count, and from where to where."""
        ...

    def enrolled(self, key_id: bytes) -> bytes | None:
        """The public key enrolled under this id in this store and not rejected, or None."""
        ...

    def key_in_use(self) -> bytes | None:
        """The id of the key that was enrolled last and not rejected, by the identity log; None where there is none."""
        ...

    def signed_events(self) -> Iterator[Stored]:
        """Every event about a note for which a person's signature stands, note by note; looks at each event there is."""
        ...

    def turn(self, number: int) -> Turn | None: ...
    def turns(self, *, session: str | None = None) -> Iterator[Turn]:
        """Newest first."""
        ...

    def turns_after(self, number: int, before: int, most: int, *, ahead: int = HYBRID_TIME_MAX) -> list[Turn]:
        """The turns behind that number, oldest first: ``most`` at most, and up to the first that is not older than ``before``
        (UTC, Unix ms); one of a time after ``ahead`` is gone over."""
        ...

    def raised(self, number: int) -> Raised | None:
        """What made more of a turn's attestation since it was stored; None for nothing."""
        ...

    def turn_of_request(self, request: bytes) -> int | None: ...
    def turn_of_prompt(self, session: str, prompt_id: str) -> int | None: ...
    def session_turns(self, session: str) -> int:
        """How many turns the session has."""
        ...

    def vector(self, model: str, uid: bytes) -> bytes | None:
        """The stored vector, float16 little-endian, under this model: of a note's first wording by the note's uid, of a further
        one by that of the event that brought it."""
        ...

    def vectors(self, model: str) -> Iterator[tuple[int, bytes]]:
        """(id, float16 bytes) of all notes that have one."""
        ...

    def unembedded(self, model: str, limit: int) -> list[int]:
        """Ids of notes that wait for their vector, oldest first."""
        ...

    def setting(self, key: str) -> bytes | None:
        """A local fact of this machine (repository table, counters), by name."""
        ...

    def settings(self, prefix: str) -> Iterator[tuple[str, bytes]]: ...
    def counts(self) -> Counts: ...

    additions: int
    """`Store.additions` as it was before this was opened: it sees all that was counted by then, and maybe more."""

    def moment(self) -> int:
        """Which state of the store this is, turns and vectors among it: an equal number is the very same, as long as it is open."""
        ...

    def version(self) -> tuple[int, int]:
        """(commits, events): equal for two snapshots between which nothing was added to the log; cheaper than `counts`."""
        ...


class Txn(Snapshot, Protocol):
    """A write in progress; reads see what it has written."""

    def append(self, drafts: Sequence[Draft], *, at: int) -> CommitReceipt:
        """One commit of one or more events: chained, placed, folded; the notes' indexes follow. ``at``: wall clock, Unix ms.

        Raises NotSigned for an unsigned act of a person, BadSignature for one whose signature does not verify, and BadRequest for
        an event that cannot be read, stands already, or names parents that are not here.
        """
        ...

    def receive(self, header: bytes, digests: Sequence[bytes], events: Sequence[tuple[bytes, bytes] | None]) -> bool:
        """A commit made elsewhere, as stored: (body, signature) of each event, None for one that is withheld.

        In any order, with gaps and repetitions; gives whether anything was new. Raises BadRequest, CommitForked.
        """
        ...

    def put_text(self, text: str, salt: bytes | None = None) -> bytes:
        """Stores a free text under a fresh salt (or the 16 bytes given, where a signature was made over them); gives its digest."""
        ...

    def add_turn(self, turn: Turn) -> int:
        """Stores the turn under the next number (the struct's own is ignored) and gives the number."""
        ...

    def drop_turn(self, number: int) -> None:
        """Takes a turn away with all that is kept of it; its number is not given again."""
        ...

    def put_raised(self, number: int, raised: Raised) -> None:
        """Keeps what became of a turn's attestation, in place of what was kept of it."""
        ...

    def put_vector(self, model: str, uid: bytes, vector: bytes) -> None: ...
    def no_vector(self, uid: bytes) -> None:
        """The note is not to be embedded until it is first recalled (a commit's note)."""
        ...

    def want_vector(self, uid: bytes) -> None: ...
    def put_setting(self, key: str, value: bytes | None) -> None: ...


class Store(Protocol):
    info: StoreInfo
    additions: int
    """Goes up with writes that may have added to the log, once for those that are put on disk together, before anybody hears that
    they are done: while it is what it was, so is the log."""

    @property
    def doubt(self) -> threading.Event:
        """Set when something that was read does not fit: a fold, a text. Whoever looks through the store clears it."""
        ...

    def fallen(self, since: int) -> list[bytes]:
        """Uids of which a `revoked` or `forgotten` event speaks, with repetitions, in the order in which this process came to know
        of them, from number ``since``: whether it had an effect, or was stored at all, the note says. Waits while the events that
        stood at the opening are being looked through."""
        ...

    def await_look(self) -> None:
        """Waits until what looks wrong after the opening has been put right, `limits.SIGNED_LOOK_WAIT_S` at most; then the rest of
        a large store is looked through behind it. Whoever answers anybody calls this first."""
        ...

    def signed(self) -> list[bytes]:
        """Uids of the notes that events with a signature speak of, as far as this process knows, whatever becomes of them."""
        ...

    def let_go(self) -> None:
        """After a look through all of it: what it left in memory goes back to the system."""
        ...

    def flaws(self) -> Sequence[tuple[int, str, str]]:
        """What of the file underneath cannot be followed: (page, table, what) each."""
        ...

    trouble: MemdError | None
    """Why the last write was not put on disk, whatever was asked of it; None where it was."""

    def in_place(self) -> bool:
        """Whether the file is still the one that was opened: not deleted, moved, or exchanged for another."""
        ...

    def read(self) -> AbstractContextManager[Snapshot]: ...
    def write(self, work: Callable[[Txn], T]) -> T: ...
    def write_beside(self, work: Callable[[Txn], T], beside: Callable[[], R]) -> tuple[T, R]:
        """`write`, with ``beside`` run in the caller's thread while the disk syncs: for what takes time and decides nothing.

        It is run also where the write fails then; what it raises is raised only once the write is over.
        """
        ...

    def submit(self, work: Callable[[Txn], T]) -> "Future[T]": ...
    def rebuild(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Folds and every derived index made anew from the log; gives the number of notes."""
        ...

    def close(self) -> None:
        """Finishes the writes in flight."""
        ...
