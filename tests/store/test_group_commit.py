"""Writes that come together share a sync, and each stands for itself."""

import os
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from tests.store.making import Pen, fresh_uid

from memd_daemon.errors import StoreFull, StoreMoved
from memd_daemon.store.check import verify
from memd_daemon.store.lmdb_log import open_store
from memd_daemon.store.port import Txn

THREADS = 4
WRITES = 25


class Broken(Exception):
    """What a work of a test raises."""


def test_writes_that_wait_share_one_commit(home: Path) -> None:
    """What queues up behind a work in progress goes to disk at once: two commits for a hundred and one writes."""
    store = open_store(home)
    pen, before = Pen(store), store.commits
    begun, go = threading.Event(), threading.Event()

    def slow(txn: Txn) -> None:
        begun.set()
        assert go.wait(30)

    first = store.submit(slow)
    assert begun.wait(30)
    futures: list[Future[Any]] = []

    def writer() -> None:
        for _ in range(WRITES):
            futures.append(store.submit(lambda txn: pen.record_in(txn, fresh_uid())))

    threads = [threading.Thread(target=writer) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    go.set()
    assert first.result() is None
    receipts = [future.result() for future in futures]
    assert store.commits == before + 2
    assert sorted(receipt.seq for receipt in receipts) == list(range(1, THREADS * WRITES + 1))
    assert verify(store) == []
    store.close()


def test_many_threads_lose_nothing(home: Path) -> None:
    """Each of the writes is there, under its own id, whoever wrote at the same time."""
    store = open_store(home)
    pen = Pen(store)
    ids: list[int | None] = []

    def one(txn: Txn) -> int | None:
        uid = fresh_uid()
        pen.record_in(txn, uid)
        return txn.id_of(uid)

    threads = [
        threading.Thread(target=lambda: ids.extend(store.write(one) for _ in range(WRITES))) for _ in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(id_ for id_ in ids if id_) == list(range(1, THREADS * WRITES + 1))
    assert verify(store) == []
    store.close()


def test_one_that_raises_leaves_the_others(home: Path) -> None:
    """In one commit with works that fail, in the middle of what they wrote, the rest is stored and nothing of theirs."""
    store = open_store(home)
    pen, go = Pen(store), threading.Event()
    blocker = store.submit(lambda txn: go.wait(30))

    def bad(txn: Txn) -> None:
        pen.record_in(txn, fresh_uid(), "of a work that fails")
        raise Broken

    futures = [store.submit(bad if n % 3 == 1 else lambda txn: pen.record_in(txn, fresh_uid())) for n in range(12)]
    go.set()
    blocker.result()
    failed = [n for n, future in enumerate(futures) if future.exception() is not None]
    assert failed == [1, 4, 7, 10]
    assert all(isinstance(futures[n].exception(), Broken) for n in failed)
    with store.read() as snapshot:
        assert [id_ for id_, _ in snapshot.notes(newest_first=False)] == list(range(1, 9))
    assert verify(store) == []
    store.close()


def test_a_work_that_was_called_off_does_not_run(home: Path) -> None:
    """A future that is cancelled while it waits leaves nothing behind."""
    store = open_store(home)
    go, ran = threading.Event(), threading.Event()
    blocker = store.submit(lambda txn: go.wait(30))
    late = store.submit(lambda txn: ran.set())
    assert late.cancel()
    go.set()
    blocker.result()
    store.close()
    assert not ran.is_set()


def test_closing_finishes_what_waits(home: Path) -> None:
    """Everything that was submitted before `close` is on disk after it."""
    store = open_store(home)
    pen, go = Pen(store), threading.Event()
    store.submit(lambda txn: go.wait(30))
    futures = [store.submit(lambda txn: pen.record_in(txn, fresh_uid())) for _ in range(5)]
    go.set()
    store.close()
    assert all(future.done() and future.exception() is None for future in futures)
    again = open_store(home)
    with again.read() as snapshot:
        assert snapshot.counts().notes == 5
    again.close()


def test_a_work_does_not_wait_for_another(home: Path) -> None:
    """That would wait for itself, so it is said at once."""
    store = open_store(home)
    with pytest.raises(RuntimeError):
        store.write(lambda txn: store.write(lambda inner: None))
    store.close()


def test_a_map_that_is_full_grows(home: Path) -> None:
    """The whole batch runs again in a larger map; a snapshot that was open keeps what it saw."""
    store = open_store(home, map_bytes=1 << 20)
    pen = Pen(store)
    for n in range(40):
        pen.record(f"{n} " + "x" * 8000)
    assert verify(store) == []
    store.close()
    again = open_store(home, map_bytes=1 << 16)
    Pen(again).record("y" * 8000)
    with again.read() as snapshot:
        assert snapshot.counts().notes == 41
    again.close()


def test_a_map_does_not_grow_under_a_snapshot(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot that is held for too long makes the write fail with a clear word, and the next one goes through."""
    monkeypatch.setattr("memd_daemon.store.gate.MAP_GROW_WAIT_S", 0.01)
    store = open_store(home, map_bytes=1 << 20)
    pen = Pen(store)
    with store.read() as snapshot:
        future = store.submit(lambda txn: [txn.put_text("x" * 8000 + str(n)) for n in range(200)])
        assert isinstance(future.exception(), StoreFull)
        assert snapshot.counts().notes == 0
    store.write(lambda txn: [txn.put_text("x" * 8000 + str(n)) for n in range(200)])
    pen.record()
    assert verify(store) == []
    store.close()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # 3.12 warns of the very fork that is tested
def test_a_store_is_not_used_across_a_fork(home: Path) -> None:
    """The child is told at once instead of writing into its parent's map."""
    store = open_store(home)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        said = []
        for use in (lambda: store.write(lambda txn: None), lambda: store.read().__enter__()):
            try:
                use()
            except RuntimeError:
                said.append(b"no ")
        os.write(writer, b"".join(said))
        os._exit(0)
    os.close(writer)
    os.waitpid(pid, 0)
    assert os.read(reader, 100) == b"no no "
    os.close(reader)
    Pen(store).record()
    store.close()


def test_what_is_done_beside_a_write_comes_after_its_work(home: Path) -> None:
    """It begins when the works are done and ends with the write; a snapshot of its own may be of before or after."""
    store = open_store(home)
    pen, uid, told = Pen(store), fresh_uid(), []

    def beside() -> int:
        told.append("beside")
        with store.read() as snapshot:
            return snapshot.last_seq()

    def work(txn: Txn) -> None:
        told.append("work")
        pen.record_in(txn, uid)

    written, seen = store.write_beside(work, beside)
    assert (written, told) == (None, ["work", "beside"])
    assert seen in (0, 1)
    assert pen.note(uid).uid == uid
    store.close()


def test_what_is_done_beside_a_write_that_fails_is_done_all_the_same(home: Path) -> None:
    """The write's error comes back, once nothing runs any more; so does what the other one raises where the write is durable."""
    store = open_store(home)
    pen, uid, done = Pen(store), fresh_uid(), []

    def bad(txn: Txn) -> None:
        pen.record_in(txn, uid)
        raise Broken

    def late() -> None:
        raise StoreFull

    with pytest.raises(Broken):
        store.write_beside(bad, lambda: done.append("beside"))
    assert done == ["beside"]
    with pytest.raises(StoreFull):
        store.write_beside(lambda txn: pen.record_in(txn, uid), late)
    assert pen.note(uid).uid == uid
    assert verify(store) == []
    store.close()


def test_a_work_that_is_alone_and_fails_runs_once(home: Path) -> None:
    """There is nobody to keep its failure from; with others beside it, each runs again in a transaction of its own."""
    store = open_store(home)
    pen, runs = Pen(store), []

    def bad(txn: Txn) -> None:
        runs.append("bad")
        raise Broken

    with pytest.raises(Broken):
        store.write(bad)
    assert runs == ["bad"]
    begun, go = threading.Event(), threading.Event()

    def slow(txn: Txn) -> None:
        begun.set()
        assert go.wait(30)

    blocker = store.submit(slow)
    assert begun.wait(30)
    failing, good = store.submit(bad), store.submit(lambda txn: pen.record_in(txn, fresh_uid()))
    go.set()
    blocker.result()
    assert isinstance(failing.exception(), Broken)
    assert good.result().seq == 1
    assert runs == ["bad"] * 3
    assert verify(store) == []
    store.close()


def test_what_is_on_disk_is_counted_before_anybody_hears_of_it(home: Path) -> None:
    """Whoever is told of a write finds it counted, however fast he looks; that it failed he may be told of one that is on disk."""
    store = open_store(home)
    pen, told = Pen(store), []

    def hear(_: Future[Any]) -> None:
        told.append(store.additions)

    def write() -> Future[Any]:
        future = store.submit(lambda txn: pen.record_in(txn, fresh_uid()))
        future.add_done_callback(hear)
        return future

    write().result(30)
    file = home / "store" / "log" / "data.mdb"
    file.rename(file.with_name("elsewhere"))  # what is written now is on disk, and not where the next daemon looks
    assert isinstance(write().exception(30), StoreMoved)
    with store.read() as snapshot:
        assert len(list(snapshot.notes())) == 2
        assert snapshot.additions == 2
    assert told == [1, 2]
    file.with_name("elsewhere").rename(file)
    store.close()
