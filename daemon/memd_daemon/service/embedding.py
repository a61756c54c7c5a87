"""The vectors that wait in the store's queue: a batch at a time, behind the writers; and which vector is whose.

A note has a vector of its first wording, under its own uid and number, for ever. A further wording has one of its own beside it,
under the uid of the event that brought it, and in the index under a key that says which wording of which note it is (recall.md).

A run of the model takes as long as some notes take to be written, and processors are few. So while notes are being written the
queue waits for a pause, though never long: what was written is found by its words anyway. What a batch has made is stored in one
commit, or each vector would make the writers wait for a sync of its own.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from memd_daemon import limits
from memd_daemon.model.note import Note
from memd_daemon.store.port import Snapshot, Store, Txn


class Waiting(msgspec.Struct, frozen=True):
    """A wording without its vector: its note, the uid that it belongs to, and its text."""

    id: int
    note: Note
    uid: bytes
    text: str


def key_of(id_: int, place: int) -> int:
    """The key of the vector of a note's wording, by its place among the revisions; a first wording's is the note's number."""
    return id_ | place << limits.VECTOR_KEY_ID_BITS


def of_key(key: int) -> tuple[int, int]:
    """(number of the note, place of the wording)."""
    return key & ((1 << limits.VECTOR_KEY_ID_BITS) - 1), key >> limits.VECTOR_KEY_ID_BITS


class EmbedQueue:
    """See the module's docstring."""

    def __init__(self, store: Store, stop: threading.Event) -> None:
        self._store = store
        self._stop = stop
        self._wrote_at = 0.0  # monotonic seconds

    def wrote(self) -> None:
        """A note was written just now."""
        self._wrote_at = time.monotonic()

    def give_way(self, is_over: Callable[[], bool]) -> None:
        """Returns when nothing has been written for EMBED_QUIET_S, or after EMBED_PATIENCE_S, or when ``is_over`` says so."""
        began = now = time.monotonic()
        while now < min(self._wrote_at + limits.EMBED_QUIET_S, began + limits.EMBED_PATIENCE_S) and not is_over():
            self._stop.wait(self._wrote_at + limits.EMBED_QUIET_S - now)
            now = time.monotonic()

    def take(self, model: str) -> list[Waiting]:
        """The oldest that wait for a vector of this model, EMBED_BATCH_NOTES of them."""
        with self._store.read() as snapshot:
            return list(waiting(snapshot, snapshot.unembedded(model, limits.EMBED_BATCH_NOTES)))

    def put(self, model: str, made: Sequence[tuple[Waiting, bytes]]) -> None:
        """Stores their vectors (float16, little-endian); of a note that was forgotten meanwhile none."""

        def work(txn: Txn) -> None:
            for one, vector in made:
                note = txn.note(one.note.uid)
                if note is not None and not note.forgotten:
                    txn.put_vector(model, one.uid, vector)

        if made:
            self._store.write(work)

    def rows(self, model: str, keys: Sequence[int], dim: int) -> Any:
        """float16 [len(keys), dim]: the stored vectors of these keys, all zero where there is none."""
        import numpy as np

        rows = np.zeros((len(keys), dim), np.float16)
        with self._store.read() as snapshot:
            for row, key in enumerate(keys):
                uid = _uid_of(snapshot, *of_key(key))
                stored = snapshot.vector(model, uid) if uid else None
                if stored is not None:
                    rows[row] = as_vector(stored)
        return rows


def _uid_of(snapshot: Snapshot, id_: int, place: int) -> bytes | None:
    """The uid that a wording's vector belongs to."""
    uid = snapshot.uid_of(id_)
    note = snapshot.note(uid) if uid and place else None
    return uid if note is None else note.revisions[place].event


def waiting(snapshot: Snapshot, ids: Iterable[int]) -> Iterator[Waiting]:
    """The wordings of the notes of these numbers, "" for a text that is not here. The first one comes last: with its vector a note
    is done, and leaves the queue."""
    for id_ in ids:
        uid = snapshot.uid_of(id_)
        note = snapshot.note(uid) if uid else None
        if note is None:
            continue
        for _, wording, content in reversed(note.wordings):
            yield Waiting(id_, note, wording, snapshot.text(content) or "")


def as_vector(stored: bytes) -> Any:
    """float16 [dim] of a vector as it is stored."""
    import numpy as np

    return np.frombuffer(stored, "<f2")
