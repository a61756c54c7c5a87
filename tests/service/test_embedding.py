"""The queue of vectors: behind the writers, a batch in a commit, and nothing of a note that is gone."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from memd_daemon import limits
from memd_daemon.service.embedding import EmbedQueue
from memd_daemon.store.memory_log import MemoryStore
from tests.service.desk import Desk
from tests.store.making import ANNA, Pen

MODEL = "a model"
VECTOR = np.ones(4, "<f2").tobytes()


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    made = MemoryStore()
    yield made
    made.close()


def test_a_batch_is_taken_and_stored_oldest_first(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was stored waits no more; the rest does, in its order."""
    monkeypatch.setattr(limits, "EMBED_BATCH_NOTES", 2)
    pen, queue = Pen(store), EmbedQueue(store, threading.Event())
    for number in range(3):
        pen.record(f"claim {number}")
    first = queue.take(MODEL)
    assert [(one.id, one.text) for one in first] == [(1, "claim 0"), (2, "claim 1")]
    queue.put(MODEL, [(one, VECTOR) for one in first])
    assert [one.id for one in queue.take(MODEL)] == [3]
    assert queue.rows(MODEL, [1, 3], 4).tolist() == [[1.0] * 4, [0.0] * 4]


def test_a_note_that_was_forgotten_meanwhile_gets_no_vector(store: MemoryStore) -> None:
    """A vector says what the text was about: none is stored after the text is gone."""
    pen, queue = Pen(store), EmbedQueue(store, threading.Event())
    pen.enrol(ANNA)
    uid = pen.record("a secret claim")
    taken = queue.take(MODEL)
    pen.act(uid, "forgotten", by=ANNA)
    queue.put(MODEL, [(one, VECTOR) for one in taken])
    with store.read() as snapshot:
        assert snapshot.vector(MODEL, uid) is None


class Clockwork(threading.Event):
    """An event whose waiting moves a clock instead of lasting."""

    def __init__(self, clock: list[float], write_again: Any = None) -> None:
        super().__init__()
        self.clock, self.write_again = clock, write_again

    def wait(self, timeout: float | None = None) -> bool:
        self.clock[0] += max(timeout or 0.0, 0.001)
        if self.write_again:
            self.write_again()
        return False


@pytest.mark.parametrize(("busy", "waited"), [(False, "EMBED_QUIET_S"), (True, "EMBED_PATIENCE_S")])
def test_the_queue_gives_way_to_writers_but_not_for_long(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, busy: bool, waited: str
) -> None:
    """After one write it waits for a pause; where the writes do not end, until its patience does."""
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    stop = Clockwork(clock)
    queue = EmbedQueue(store, stop)
    stop.write_again = queue.wrote if busy else None
    queue.give_way(lambda: False)
    assert clock[0] == 100.0  # nobody has written
    queue.wrote()
    queue.give_way(lambda: True)
    assert clock[0] == 100.0  # it is over
    queue.give_way(lambda: False)
    least = getattr(limits, waited)
    assert least <= round(clock[0] - 100.0, 6) <= least + limits.EMBED_QUIET_S


def test_a_batch_shares_one_commit(desk: Desk) -> None:
    """Five notes, one commit for their vectors."""
    search, store = desk.daemon.parts.search, desk.daemon.parts.store
    search.load_model()
    for number in range(5):
        desk.remember(f"The service number {number} listens on port {8000 + number}.")
    before = store.commits  # type: ignore[attr-defined]  # of the store on LMDB
    assert search.embed_waiting(lambda: False) == 5
    assert store.commits == before + 1  # type: ignore[attr-defined]
    assert search.vector_count == 5
