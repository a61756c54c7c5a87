"""The store and the ledger on LMDB: the only module that knows it.

`Environment._write` owns every write transaction of both environments. It runs all works that wait in one and commits them with one
sync. Where one of them raises it begins again with each in a nested transaction, so that the one leaves nothing of itself and
nothing of the others is lost. So a work may run twice (also when the map had to grow): what it does beside the store, it does after
its write has returned.

What is done inside a transaction is lmdb_tables.py's. LMDB's rules that are kept here: an environment is opened once in a process
and never used across a fork; a transaction belongs to one thread; the map changes size only while no transaction is open. Never
MDB_WRITEMAP: a stray pointer would write into the file, and nested transactions need it off. What LMDB would die of is looked for
before it is opened (lmdb_state.py), and a write to a file that was taken away meanwhile is not acknowledged.

No work may be waited for inside `read()`: a map that has to grow waits for the snapshots to end.
"""

import contextlib
import errno
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import lmdb

from memd_daemon.errors import MemdError, Stopping, StoreDamaged, StoreFull, StoreMoved, StoreNewer
from memd_daemon.limits import (
    LEDGER_MAP_RESERVED_BYTES,
    MAP_RESERVED_BYTES,
    MAP_SMALLEST_BYTES,
    NS_PER_MS,
    STORE_FORMAT,
    STORE_READERS_MAX,
)
from memd_daemon.store import fs, keys
from memd_daemon.store.gate import Gate
from memd_daemon.store.group import GroupStore, Outcome
from memd_daemon.store.identity import begun, info_of
from memd_daemon.store.kv import Writing
from memd_daemon.store.ledger import TableLedger
from memd_daemon.store.lmdb_copy import Copying
from memd_daemon.store.lmdb_file import refuse_cut
from memd_daemon.store.lmdb_pages import Flaw, flaws_at
from memd_daemon.store.lmdb_state import boot_id, is_as_closed, make_room, note_closed, refuse_flawed, set_aside, stamp
from memd_daemon.store.lmdb_tables import LmdbTables
from memd_daemon.store.resident import let_go

T = TypeVar("T")

_DATA: Final = "data.mdb"
_LOCK: Final = "lock.mdb"
_DRAFT: Final = "new"
_BOOT: Final = "boot"
_FILES: Final = (_DATA, _LOCK)
_HEADS_TRIES: Final = 100  # for a head that no commit overtakes while it is read


def wall_ms() -> int:
    return time.time_ns() // NS_PER_MS


class _Failed(Exception):
    """One of the works has failed: none is stored."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


def _refuse(_: object, error: BaseException | None, __: object) -> None:
    """What a work raises, told apart from what the commit raises; a full map is neither's fault."""
    if error is not None and not isinstance(error, lmdb.MapFullError):
        raise _Failed(error) from error


def _no_word() -> None:
    """Nobody waits to hear that the sync begins."""


class Environment(Copying):
    """One LMDB environment in a private folder, with all its tables open."""

    def __init__(self, folder: Path, tables: Sequence[str], *, sync: bool, map_bytes: int) -> None:
        self._folder = folder
        self._tables = tables
        self._sync = sync
        self._map_bytes = map_bytes
        self._pid = os.getpid()
        self._gate = Gate()
        self._writing = threading.Lock()
        self.commits = 0  # transactions that reached the disk
        self._closed = False
        with self._typed():
            self._open()

    def _open(self) -> None:
        self._env = self._reserve()
        self._file = stamp(self._folder / _DATA)
        self._env.reader_check()
        # Handles that are opened in a read transaction do not outlive it; a write that changes nothing costs no sync.
        with self._env.begin(write=True) as txn:
            self._dbs = {name: self._env.open_db(name.encode(), txn=txn) for name in self._tables}

    def _reserve(self) -> lmdb.Environment:
        """The environment with as large a map as the address space allows."""
        while True:
            try:
                return lmdb.open(
                    str(self._folder),
                    map_size=self._map_bytes,
                    mode=fs.FILE_MODE,
                    sync=self._sync,
                    readahead=False,
                    max_readers=STORE_READERS_MAX,
                    max_dbs=len(self._tables),
                )
            except lmdb.MemoryError:
                if self._map_bytes <= MAP_SMALLEST_BYTES:
                    raise
                self._map_bytes = max(self._map_bytes // 4, MAP_SMALLEST_BYTES)

    @contextlib.contextmanager
    def _typed(self) -> Iterator[None]:
        """Turns what LMDB raises into memd's errors."""
        try:
            yield
        except lmdb.Error as error:
            raise _typed(error, self._folder) from error

    def check_process(self) -> None:
        if os.getpid() != self._pid:
            raise RuntimeError("a store that was opened before a fork cannot be used after it")

    def size(self) -> int:
        """Bytes that the environment takes on disk."""
        return sum(file.stat().st_blocks * 512 for file in (self._folder / _DATA, self._folder / _LOCK))

    @contextlib.contextmanager
    def reading(self) -> Iterator[LmdbTables]:
        self.check_process()
        self._gate.enter()
        try:  # one frame for all of it: a hook opens eight snapshots
            self._check_open()
            with self._env.begin() as txn:
                yield LmdbTables(txn, self._dbs, self.size)
        except lmdb.Error as error:
            raise _typed(error, self._folder) from error
        finally:
            self._gate.leave()

    def is_in_place(self) -> bool:
        """Whether the file that is written to still lies where it did: not deleted, moved, or exchanged for another."""
        return stamp(self._folder / _DATA) == self._file

    def flaws(self) -> list[Flaw]:
        """The pages that cannot be followed (lmdb_pages.py). Holds a snapshot meanwhile."""
        for _ in range(_HEADS_TRIES):
            with self.reading() as tables:
                found = flaws_at(self._folder / _DATA, tables.moment(), self._tables)
                if found is not None:
                    return found
        return []  # commits come faster than a head can be read

    def let_go(self) -> None:
        """Gives the pages of the map back to the system's cache; a snapshot keeps the map where it is meanwhile."""
        with self.reading(), contextlib.suppress(OSError):
            let_go(self._folder / _DATA)

    def _check_open(self) -> None:
        if self._closed:
            raise Stopping

    def writing(self, work: Callable[[Writing], T]) -> T:
        """One work in a transaction of its own, in the caller's thread."""
        ((result, error),) = self._write([work])
        if error is not None:
            raise error
        return result  # type: ignore[no-any-return]  # what this very work returned

    def write_all(
        self, works: Sequence[Callable[[Writing], Any]], syncing: Callable[[], None] = _no_word
    ) -> list[Outcome]:
        """Several works with one sync; gives (result, error) of each. Raises where none of them is on disk.

        ``syncing`` is called when all works are done and the sync is still to come; twice where they had to run twice.
        """
        return self._write(works, syncing)

    def _write(
        self, works: Sequence[Callable[[Writing], Any]], syncing: Callable[[], None] = _no_word
    ) -> list[Outcome]:
        """The one owner of write transactions: all works in one, and where one of them fails each again in a nested one."""
        self.check_process()
        attempt = self._attempt
        with self._writing, self._typed():
            self._check_open()
            while True:
                try:
                    outcomes = attempt(works, syncing)
                except _Failed as failed:
                    if len(works) == 1:
                        return [self._failure(failed.error)]
                    attempt = self._attempt_each
                except lmdb.MapFullError:
                    self._grow()
                except lmdb.Error:
                    self._revive()
                    raise
                else:
                    if self._sync and not self.is_in_place():
                        raise StoreMoved(self._folder)
                    self.commits += 1
                    return outcomes

    def _attempt(self, works: Sequence[Callable[[Writing], Any]], syncing: Callable[[], None]) -> list[Outcome]:
        """All in one. Raises _Failed where a work fails, with nothing done: it is rare, and a nested transaction costs."""
        with self._env.begin(write=True) as txn:
            tables = LmdbTables(txn, self._dbs, self.size)
            with contextlib.ExitStack() as failing:
                failing.push(_refuse)
                outcomes: list[Outcome] = [(work(tables), None) for work in works]
            syncing()
        return outcomes

    def _attempt_each(self, works: Sequence[Callable[[Writing], Any]], syncing: Callable[[], None]) -> list[Outcome]:
        """Each in a nested one."""
        outcomes: list[Outcome] = []
        with self._env.begin(write=True) as txn:
            for work in works:
                child = self._env.begin(parent=txn, write=True)
                try:
                    result = work(LmdbTables(child, self._dbs, self.size))
                    child.commit()
                except lmdb.MapFullError:
                    child.abort()
                    raise
                except BaseException as error:  # noqa: BLE001 - whatever a work raises belongs to its caller, not to the others
                    child.abort()
                    outcomes.append(self._failure(error))
                else:
                    outcomes.append((result, None))
            syncing()
        return outcomes

    def _failure(self, error: BaseException) -> Outcome:
        return None, _typed(error, self._folder) if isinstance(error, lmdb.Error) else error

    def _grow(self) -> None:
        with self._gate.alone():
            before = self._env.info()["map_size"]
            try:
                self._env.set_mapsize(before * 2)
            except lmdb.Error as error:  # it has let go of the map that it had
                self._map_bytes = before
                self._open_anew()
                raise StoreFull from error
            self._map_bytes = before * 2

    def _revive(self) -> None:
        """LMDB closes itself, to readers too, after a failed write of its meta page; a new look at the file is what it asks for."""
        try:
            self._env.begin().abort()
        except lmdb.Error:
            with self._gate.alone():
                self._open_anew()

    def _open_anew(self) -> None:
        """The very same file: of another in its place nobody would hear that it is none of those that were acknowledged. Raises
        StoreMoved, and is closed then."""
        self._closed = self._sync and not self.is_in_place()
        self._env.close()
        if self._closed:
            raise StoreMoved(self._folder)
        self._open()

    def close(self) -> None:
        """Waits for the snapshots that are open; one that is held for too long keeps the map until the process ends."""
        self.check_process()
        with self._writing:
            already, self._closed = self._closed, True
            if already:
                return
            with contextlib.suppress(StoreFull), self._gate.alone(), self._typed():
                self._env.sync(True)
                self._env.close()
                if self.is_in_place():
                    note_closed(self._folder, _DATA)


def _typed(error: lmdb.Error, folder: Path) -> MemdError:
    if isinstance(error, lmdb.MapFullError | lmdb.DiskError):
        return StoreFull()
    code = getattr(error, "code", 0)  # absent on what py-lmdb itself raises
    if code == errno.EIO and fs.is_full(folder):
        return StoreFull()  # LMDB says EIO for a write that the disk took only in part
    if isinstance(error, lmdb.ReadonlyError):
        return fs.typed(errno.EACCES, str(error), folder)
    return fs.typed(code, f"{folder}: {error}", folder)


# --- looking before opening


def stored_format(folder: Path) -> int | None:
    """The format of the store in ``folder``, looked up without touching a byte; None where there is none yet."""
    if not (folder / _DATA).is_file() or (folder / _DATA).stat().st_size == 0:
        return None
    with lmdb.open(str(folder), readonly=True, lock=False, create=False, max_dbs=1, map_size=MAP_SMALLEST_BYTES) as env:
        try:
            db = env.open_db(keys.META.encode(), create=False)
        except (lmdb.NotFoundError, lmdb.ReadonlyError):
            return None
        with env.begin(db) as txn:
            raw = txn.get(keys.META_FORMAT)
            return None if raw is None else keys.of_number(raw)


def _open_environment(
    folder: Path, tables: Sequence[str], *, sync: bool, map_bytes: int, after_fault: bool
) -> Environment:
    """The environment in a folder of this user alone, made where there is none.

    Raises StoreNewer, StoreDamaged, StoreReadOnly, StoreFull.
    """
    try:
        if (folder / _DATA).exists() and (folder / _DATA).stat().st_size:
            refuse_cut(folder / _DATA)
            if after_fault or not is_as_closed(folder, _DATA):
                refuse_flawed(folder / _DATA, tables, whole=after_fault)
            found = stored_format(folder)
            if found is not None and found > STORE_FORMAT:
                raise StoreNewer(found, STORE_FORMAT)
        elif sync:
            _begin(folder)
        for name in _FILES:
            fs.make_private(folder / name)
        make_room(folder / _LOCK)
        fs.sync_folder(folder)
        return Environment(folder, tables, sync=sync, map_bytes=map_bytes)
    except lmdb.Error as error:
        raise _typed(error, folder) from error
    except OSError as error:
        raise fs.typed(error.errno or 0, str(error), folder) from error


def _begin(folder: Path) -> None:
    """A new file, which has its name when it is on disk: LMDB writes the heads of one without a sync, and a power cut behind
    them would leave a file that is none of LMDB's, in the place of a store that holds nothing yet."""
    import shutil  # a start that has a store does not wait for it

    draft = folder / _DRAFT
    shutil.rmtree(draft, ignore_errors=True)  # of a start that died here
    draft.mkdir()
    draft.chmod(fs.DIRECTORY_MODE)
    fs.make_private(draft / _DATA)
    with lmdb.open(str(draft), map_size=MAP_SMALLEST_BYTES, mode=fs.FILE_MODE, sync=False, lock=False) as env:
        env.sync(True)
    (draft / _DATA).replace(folder / _DATA)
    draft.rmdir()


def open_store(
    home: Path,
    *,
    clock: Callable[[], int] = wall_ms,
    accept_any_fs: bool = False,
    store: bytes | None = None,
    map_bytes: int = MAP_RESERVED_BYTES,
    waits: bool = True,
    after_fault: bool = False,
) -> GroupStore:
    """The store under ``home``, made where there is none. ``store``: the uid of a store that a new one is to be a replica of.

    ``waits``: for `GroupStore.await_look`; who does without calls it before the first answer. ``after_fault``: a process that had
    it open was ended by the system, so it is looked through first, however large it is.

    Raises StoreNewer, StoreDamaged, StoreReadOnly, StoreFull, NetworkFileSystem.
    """
    folder = fs.prepare(home, "store", "log", accept_any_fs=accept_any_fs)
    environment = _open_environment(folder, keys.STORE_TABLES, sync=True, map_bytes=map_bytes, after_fault=after_fault)
    with environment.reading() as tables:
        is_new = tables.get(keys.META, keys.META_FORMAT) is None
        info = None if is_new else info_of(tables, folder)
    if info is None:
        info = environment.writing(lambda tables: begun(tables, folder, store, clock))
    opened = GroupStore(environment, info)
    if waits:
        opened.await_look()
    return opened


# --- the ledger


class LmdbLedger(TableLedger):
    """`memd_daemon.store.ledger_port.Ledger`."""

    def __init__(self, environment: Environment, folder: Path) -> None:
        super().__init__(environment)
        self._environment = environment
        self.copying = environment.copying
        self.let_go = environment.let_go
        self._folder = folder

    def close(self) -> None:
        """Puts everything on disk and says so, for the next start of the machine."""
        self._environment.close()
        (self._folder / _BOOT).unlink(missing_ok=True)


def open_ledger(
    home: Path,
    *,
    accept_any_fs: bool = False,
    map_bytes: int = LEDGER_MAP_RESERVED_BYTES,
    after_fault: bool = False,
) -> LmdbLedger:
    """The ledger under ``home``. One that was open when the machine went down is set aside: nobody synced it, so its pages may be
    of different moments, and a note told twice is better than a daemon that cannot start. So is one that cannot be opened.

    ``after_fault``: as for `open_store`.
    """
    folder = fs.prepare(home, "store", "ledger", accept_any_fs=accept_any_fs)
    try:
        boot = boot_id()
        if (folder / _BOOT).exists() and (folder / _BOOT).read_bytes() != boot.encode():
            set_aside(folder, _FILES)
        fs.make_private(folder / _BOOT)
        (folder / _BOOT).write_text(boot)
    except OSError as error:
        raise fs.typed(error.errno or 0, str(error), folder) from error
    opened = partial(
        _open_environment, folder, keys.LEDGER_TABLES, sync=False, map_bytes=map_bytes, after_fault=after_fault
    )
    try:
        environment = opened()
    except StoreDamaged:
        set_aside(folder, _FILES)
        environment = opened()
    return LmdbLedger(environment, folder)
