"""The port's `Store` over an environment of tables, with group commit.

One thread writes. It takes what has queued up, hands all of it to the environment as one commit, and only when that is on disk
tells anybody: an answered write is a durable one, and writes that come together wait for one sync.
"""

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Protocol, TypeVar

from memd_daemon.errors import MemdError, Stopping
from memd_daemon.limits import (
    GROUP_COMMIT_MAX_WRITES,
    MS_PER_S,
    REBUILD_REST_MS,
    SIGNED_LOOK_WAIT_S,
    WORDS_WAIT_S,
)
from memd_daemon.store.anew import rebuild
from memd_daemon.store.kv import Reading, Writing
from memd_daemon.store.log_read import UNREADABLE, LogSnapshot
from memd_daemon.store.log_write import LogTxn
from memd_daemon.store.port import StoreInfo
from memd_daemon.store.trusted import Trusted

T = TypeVar("T")
R = TypeVar("R")

Outcome = tuple[Any, BaseException | None]
"""What a work returned, or what it raised."""


class Environment(Protocol):
    """What keeps the tables."""

    commits: int

    def reading(self) -> contextlib.AbstractContextManager[Reading]: ...
    def write_all(self, works: Sequence[Callable[[Writing], Any]], syncing: Callable[[], None]) -> list[Outcome]: ...
    def check_process(self) -> None: ...
    def let_go(self) -> None: ...
    def copying(self) -> contextlib.AbstractContextManager[tuple[Reading, Callable[[int], None]]]: ...
    def flaws(self) -> Sequence[tuple[int, str, str]]: ...
    def is_in_place(self) -> bool: ...
    def close(self) -> None: ...


class _Job:
    """A work on its way to the writer. ``syncing`` is set once it was done and the disk is what it waits for, or it has failed."""

    def __init__(self, work: Callable[[LogTxn], Any]) -> None:
        self.work = work
        self.future: Future[Any] = Future()
        self.syncing: threading.Event | None = None


class GroupStore:
    """`memd_daemon.store.port.Store`."""

    def __init__(self, environment: Environment, info: StoreInfo) -> None:
        self.info = info
        self.trouble: MemdError | None = None
        self.additions = 0
        self._environment = environment
        self.trusted = Trusted()
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closing = threading.Lock()
        self._closed = False
        self._writer = threading.Thread(target=self._drain, name="store-writer", daemon=True)
        self._writer.start()
        self._looked = threading.Event()
        self._looker = threading.Thread(target=self._look_through, name="store-looker", daemon=True)
        self._looker.start()

    @property
    def commits(self) -> int:
        """How many transactions were put on disk; concurrent writes share one."""
        return self._environment.commits

    @property
    def doubt(self) -> threading.Event:
        return self.trusted.doubt

    def signed(self) -> list[bytes]:
        return self.trusted.signed_subjects()

    def await_look(self) -> None:
        if not self._looked.is_set():
            self._looked.wait(SIGNED_LOOK_WAIT_S)

    def fallen(self, since: int) -> list[bytes]:
        self._looked.wait(WORDS_WAIT_S)
        return self.trusted.fallen[since:]

    @contextlib.contextmanager
    def read(self) -> Iterator[LogSnapshot]:
        additions = self.additions  # before it is opened: it sees all that was counted until now
        with self._environment.reading() as tables:
            yield LogSnapshot(tables, self.info, self.trusted, additions)

    def write(self, work: Callable[[LogTxn], T]) -> T:
        """Raises whatever ``work`` raises, Stopping after `close`, and StoreFull, StoreReadOnly or StoreDamaged where nothing
        could be put on disk."""
        self._refuse_writer()
        return self.submit(work).result()

    def write_beside(self, work: Callable[[LogTxn], T], beside: Callable[[], R]) -> tuple[T, R]:
        """Begins ``beside`` when the works of the commit are done: until then it would only keep them from the interpreter."""
        self._refuse_writer()
        job = _Job(work)
        job.syncing = threading.Event()
        self._put(job)
        job.syncing.wait()
        try:
            found = beside()
        finally:
            written = job.future.result()
        return written, found

    def _refuse_writer(self) -> None:
        if threading.current_thread() is self._writer:
            raise RuntimeError("a work cannot wait for another one")

    def submit(self, work: Callable[[LogTxn], T]) -> "Future[T]":
        job = _Job(work)
        self._put(job)
        return job.future

    def _put(self, job: _Job) -> None:
        self._environment.check_process()
        with self._closing:
            if self._closed:
                raise Stopping
            self._queue.put(job)

    def let_go(self) -> None:
        self._environment.let_go()

    def flaws(self) -> Sequence[tuple[int, str, str]]:
        return self._environment.flaws()

    def in_place(self) -> bool:
        return self._environment.is_in_place()

    @contextlib.contextmanager
    def copying(self) -> Iterator[tuple[LogSnapshot, Callable[[int], None]]]:
        """A snapshot, and what writes a copy of it to a descriptor (lmdb_copy.py)."""
        with self._environment.copying() as (tables, copy):
            yield LogSnapshot(tables, self.info, self.trusted), copy

    def rebuild(self, progress: Callable[[int, int], None] | None = None) -> int:
        return rebuild(self.write, partial(time.sleep, REBUILD_REST_MS / MS_PER_S), progress)

    def close(self) -> None:
        with self._closing:
            already, self._closed = self._closed, True
        if not already:
            self._queue.put(None)
            self._writer.join()
            self._looker.join()
            self._environment.close()

    def _look_through(self) -> None:
        """Learns which notes a person has signed for, and makes those anew that stand otherwise than their log says.

        First those that look wrong, which takes no signature: `await_look` waits for them. Then the others, so that a hook finds
        them compared.
        """
        odd: list[bytes] = []
        try:
            with contextlib.suppress(MemdError, *UNREADABLE), self.read() as snapshot:
                snapshot.learn()
                odd = [uid for uid in self.trusted.signed_subjects() if not snapshot.seems_to_stand(uid)]
            self._put_right(odd)
        finally:
            self._looked.set()
        self._put_right(self.trusted.signed_subjects())
        with contextlib.suppress(MemdError):  # it is closing
            self.let_go()

    def _put_right(self, subjects: Sequence[bytes]) -> None:
        for subject in subjects:
            with contextlib.suppress(MemdError, *UNREADABLE):  # what is damaged is named by `memd verify`
                with self.read() as snapshot:
                    stands = snapshot.stands(subject)
                if not stands:
                    try:
                        self.write(partial(LogTxn.refold, subject=subject))
                    finally:  # not before: whoever is told looks at what stands now
                        self.trusted.raise_doubt(subject)

    def _drain(self) -> None:
        last = False
        while not last:
            batch = [self._queue.get()]
            while len(batch) < GROUP_COMMIT_MAX_WRITES and not self._queue.empty():
                batch.append(self._queue.get())
            last = None in batch
            self._run([job for job in batch if job is not None and job.future.set_running_or_notify_cancel()])

    def _run(self, jobs: Sequence[_Job]) -> None:
        if not jobs:
            return
        waiting = [job.syncing for job in jobs if job.syncing is not None]
        syncing = partial(_set_all, waiting)
        begun: list[LogTxn] = []
        try:
            outcomes = self._environment.write_all([self._inside(job, begun) for job in jobs], syncing)
        except BaseException as error:  # noqa: BLE001 - nothing is on disk: each caller is told, and the writer lives on
            outcomes = [(None, error)] * len(jobs)
            self.trouble = error if isinstance(error, MemdError) and not isinstance(error, Stopping) else None
        else:
            self.trouble = None
        self.additions += any(txn.adds for txn in begun)  # before anybody hears that it is done
        syncing()
        for job, (result, raised) in zip(jobs, outcomes, strict=True):
            if raised is None:
                job.future.set_result(result)
            else:
                job.future.set_exception(raised)

    def _inside(self, job: _Job, begun: list[LogTxn]) -> Callable[[Writing], Any]:
        def work(tables: Writing) -> Any:
            begun.append(txn := LogTxn(tables, self.info, self.trusted))
            return job.work(txn)

        return work


def _set_all(events: Sequence[threading.Event]) -> None:
    for event in events:
        event.set()
