"""One thing broken on purpose: a write that fails half-way, a disk that is full, a folder that is not ours, a file that was cut."""

import contextlib
import errno
import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import lmdb
import msgspec
import pytest
from tests.faults.apart import apart, mount
from tests.store.making import HERE, Pen, event, fresh_uid, recorded

from memd_daemon.errors import (
    DiskFailing,
    DiskReadOnly,
    MemdError,
    NetworkFileSystem,
    StoreDamaged,
    StoreFull,
    StoreMoved,
    StoreNewer,
    StoreReadOnly,
)
from memd_daemon.limits import STORE_FORMAT
from memd_daemon.model import event as ev
from memd_daemon.store import keys
from memd_daemon.store.check import verify
from memd_daemon.store.kv import Writing
from memd_daemon.store.lmdb_log import Environment, open_ledger, open_store
from memd_daemon.store.log_write import LogTxn
from memd_daemon.store.memory_log import MemoryStore
from memd_daemon.store.port import Draft, Store, Txn
from memd_daemon.store.trusted import Trusted

ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not ROOT, reason="mounts, or acts as another user")
NOBODY = 65534


class Broken(Exception):
    """The write that was made to fail."""


class Failing:
    """Tables whose n-th change raises; without n it counts."""

    def __init__(self, tables: Writing, fail_at: int = 0) -> None:
        self._tables = tables
        self._fail_at = fail_at
        self.changes = 0

    def _change(self) -> None:
        self.changes += 1
        if self.changes == self._fail_at:
            raise Broken

    def put(self, table: str, key: bytes, value: bytes) -> None:
        self._change()
        self._tables.put(table, key, value)

    def delete(self, table: str, key: bytes) -> bool:
        self._change()
        return self._tables.delete(table, key)

    def __getattr__(self, name: str) -> object:
        return getattr(self._tables, name)


@pytest.fixture(params=["memory", "lmdb"])
def store(request: pytest.FixtureRequest, home: Path) -> Iterator[Store]:
    made: Store = MemoryStore() if request.param == "memory" else open_store(home)
    yield made
    made.close()


def contradict(txn: Txn, old: bytes, at: int) -> bytes:
    """A new gotcha that contradicts another one: one commit of two subjects."""
    note = txn.note(old)
    assert note is not None
    uid, reason = fresh_uid(), txn.put_text("contradicted")
    content = txn.put_text("the other way round")
    new = event(
        "recorded",
        uid,
        recorded(content=content, summary=content, kind="gotcha", anchors=(ev.Anchor(path="p"),), corrects=(old,)),
    )
    fall = event("revoked", old, ev.Reasoned(reason=reason, by=uid), parents=note.heads)
    txn.append([Draft(body=ev.encode_event(e)) for e in (new, fall)], at=at)
    return uid


def rows_of(store: Store) -> dict[str, list[tuple[bytes, bytes]]]:
    with store.read() as snapshot:
        return {table: list(snapshot.kv.scan(table)) for table in keys.STORE_TABLES}  # type: ignore[attr-defined]


def test_a_commit_of_two_notes_is_whole_or_not_there(store: Store) -> None:
    """A failure at every single change of the transaction: nothing of it is left, and the whole thing goes through afterwards."""
    pen = Pen(store)
    old = pen.record(kind="gotcha", anchors=(ev.Anchor(path="p"),))
    counted: list[Failing] = []

    def count(txn: LogTxn) -> None:
        counted.append(Failing(txn.kv))
        contradict(LogTxn(counted[0], txn.info, Trusted()), old, pen.tick())
        raise Broken

    with pytest.raises(Broken):
        store.write(count)
    before = rows_of(store)
    assert counted[0].changes > 10
    for fail_at in range(1, counted[0].changes + 1):
        with pytest.raises(Broken):
            store.write(
                lambda txn, n=fail_at: contradict(LogTxn(Failing(txn.kv, n), txn.info, Trusted()), old, pen.tick())
            )
        assert rows_of(store) == before
    new = store.write(lambda txn: contradict(txn, old, pen.tick()))
    assert pen.note(old).revocations[0].by == new
    with store.read() as snapshot:
        assert list(snapshot.notes_on_path(HERE, "p")) == [2, 1]
    assert verify(store) == []


# --- the disk


PROGRAM = """
import sys, resource
from pathlib import Path
from memd_daemon.errors import MemdError
from memd_daemon.store.check import verify
from memd_daemon.store.lmdb_log import open_store
from tests.store.making import Pen

store = open_store(Path(sys.argv[1]))
pen = Pen(store)
kept = [pen.record("before")]
resource.setrlimit(resource.RLIMIT_FSIZE, (256 * 1024, resource.RLIM_INFINITY))
told = set()
for n in range(200):
    try:
        kept.append(pen.record("x" * 8000))
    except MemdError as error:
        told.add(error.code)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
kept.append(pen.record("after"))
with store.read() as snapshot:
    assert all(snapshot.note(uid) is not None for uid in kept)
    assert snapshot.counts().notes == len(kept)
assert verify(store) == [], verify(store)
print(sorted(told), 3 < len(kept) < 200)
"""


def run(program: str, *arguments: str, prefix: tuple[str, ...] = ()) -> str:
    root = Path(__file__).parents[2]
    environ = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), *sys.path])}
    command = [*prefix, sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_file_that_may_not_grow_refuses_and_goes_on(home: Path) -> None:
    """EFBIG in mid-commit: refused with a word, nothing half-written, and the same process writes on when there is room."""
    assert run(PROGRAM, str(home)) == "['store-full'] True"


def _recorded_or_full(pen: Pen) -> bytes | None:
    try:
        return pen.record("x" * 8000)
    except StoreFull:
        return None


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        ((lmdb.PanicError, -30795), StoreDamaged),
        ((lmdb.Error, errno.EIO), DiskFailing),
        ((lmdb.DiskError, errno.ENOSPC), StoreFull),
        ((lmdb.Error, errno.EROFS), DiskReadOnly),
    ],
)
def test_a_commit_that_failed_leaves_a_store_that_works(
    home: Path, monkeypatch: pytest.MonkeyPatch, raised: tuple[type[lmdb.Error], int], told: type[MemdError]
) -> None:
    """Everybody in the batch is told in memd's words; after a panic LMDB is opened anew; the next write goes on."""
    store = open_store(home)
    pen = Pen(store)
    pen.record("before")
    sound, begun, go = Environment._attempt, threading.Event(), threading.Event()

    def broken(self: Environment, works: Sequence[Any], syncing: Any) -> Any:
        monkeypatch.setattr(Environment, "_attempt", sound)
        error = raised[0]("mdb_txn_commit")
        error.code = raised[1]  # as LMDB's own errors carry it
        raise error

    def hold(txn: Txn) -> None:
        begun.set()
        go.wait(30)

    blocker = store.submit(hold)
    assert begun.wait(30)
    futures = [store.submit(lambda txn: pen.record_in(txn, fresh_uid())) for _ in range(3)]
    before = store.commits
    monkeypatch.setattr(Environment, "_attempt", broken)
    go.set()
    blocker.result()
    assert {type(future.exception()) for future in futures} == {told}
    pen.record("after")
    assert store.commits == before + 2
    with store.read() as snapshot:
        assert snapshot.counts().notes == 2
    assert verify(store) == []
    store.close()


@apart
def test_a_full_disk_refuses_and_goes_on(tmp_path: Path) -> None:
    """ENOSPC on a small file system of its own: the store still reads, verifies, and writes when there is room again."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount("-t", "tmpfs", "-o", "size=1m", "tmpfs", disk)
    store = open_store(disk / "home")
    try:
        pen = Pen(store)
        kept = [pen.record("before")]
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(400 * 1024))
        while (made := _recorded_or_full(pen)) is not None:
            kept.append(made)
        assert isinstance(store.trouble, StoreFull)
        assert verify(store) == []
        with store.read() as snapshot:
            assert snapshot.counts().notes == len(kept)
        ballast.unlink()
        kept.append(pen.record("after"))
        assert store.trouble is None
        assert verify(store) == []
    finally:
        store.close()
        subprocess.run(["umount", "-l", str(disk)], check=True)


@apart
def test_a_store_opens_on_a_disk_without_a_page_left_or_says_that_it_is_full(tmp_path: Path) -> None:
    """LMDB maps its lock file and writes into it: a page of it that has no place would end the process."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount("-t", "tmpfs", "-o", "size=1m", "tmpfs", disk)
    open_store(disk / "home").close()
    (disk / "home/store/log/lock.mdb").unlink()
    (disk / "ballast").write_bytes(b"")
    with contextlib.suppress(OSError), (disk / "ballast").open("ab", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    assert run(READER, str(disk / "home")) == "store-full"
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_little_address_space_is_enough(home: Path) -> None:
    """Under `ulimit -v` a smaller map is reserved."""
    program = """
import resource, sys
from pathlib import Path
import memd_daemon.store.lmdb_log as log
from tests.store.making import Pen
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
store = log.open_store(Path(sys.argv[1]))
Pen(store).record()
print(store.commits > 0)
"""
    assert run(program, str(home)) == "True"


@pytest.mark.parametrize("kept", [0.999, 0.5, 0.1])
def test_a_file_that_was_cut_is_named(home: Path, kept: float) -> None:
    """A data file shorter than it says would kill the process at the first read: it is refused, and not a byte is changed."""
    store = open_store(home)
    pen = Pen(store)
    for n in range(50):
        pen.record(f"claim {n} " + "x" * 1000)
    store.close()
    file = home / "store/log/data.mdb"
    whole = file.read_bytes()
    os.truncate(file, int(len(whole) * kept))
    with pytest.raises(StoreDamaged, match=r"data\.mdb has \d+ of its \d+ bytes"):
        open_store(home)
    assert file.read_bytes() == whole[: int(len(whole) * kept)]
    file.write_bytes(whole)
    again = open_store(home)
    assert verify(again) == []
    again.close()


@pytest.mark.parametrize("words", [b"not a store", b"x" * 20_000])
def test_a_file_that_is_none_of_ours_is_refused(home: Path, words: bytes) -> None:
    """Something else under that name is not written over."""
    folder = home / "store/log"
    folder.mkdir(parents=True)
    (folder / "data.mdb").write_bytes(words)
    with pytest.raises(StoreDamaged):
        open_store(home)
    assert (folder / "data.mdb").read_bytes() == words


def test_a_newer_store_is_left_untouched(home: Path) -> None:
    """AT11. Refused with both numbers, byte for byte and to its times as it was, however often it is tried."""
    store = open_store(home)
    Pen(store).record()
    store.write(lambda txn: txn.kv.put(keys.META, keys.META_FORMAT, keys.number(STORE_FORMAT + 1)))
    store.close()
    folder = home / "store/log"
    (folder / "lock.mdb").unlink()
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}
    for _ in range(2):
        with pytest.raises(StoreNewer, match=rf"format {STORE_FORMAT + 1}.*up to {STORE_FORMAT}"):
            open_store(home)
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()} == before
    assert sorted(before) == ["closed", "data.mdb"]


def test_everything_is_this_users_alone_whatever_the_umask(home: Path) -> None:
    """Folders 0700, files 0600: with a umask that would open them, one that would close them, and where they lay open."""
    for umask, name in ((0, "open"), (0o777, "closed"), (0o022, "laid")):
        place = home.parent / name
        if name == "laid":
            (place / "store" / "log").mkdir(parents=True, mode=0o777)
            (place / "store").chmod(0o755)
        before = os.umask(umask)
        try:
            store, ledger = open_store(place), open_ledger(place)
        finally:
            os.umask(before)
        Pen(store).record()
        store.close()
        ledger.close()
        for path in (place / "store").rglob("*"):
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
        assert stat.S_IMODE((place / "store").stat().st_mode) == 0o700


READER = """
import sys
from pathlib import Path
from memd_daemon.errors import MemdError
from memd_daemon.store.lmdb_log import open_store
try:
    open_store(Path(sys.argv[1]))
except MemdError as error:
    print(error.code)
"""


@needs_root
@pytest.mark.parametrize("what", ["nothing there", "a store"])
def test_a_folder_of_another_user_is_refused(home: Path, what: str) -> None:
    """Neither a new store nor an existing one can be opened where this user may not write; nothing is changed there."""
    if what == "a store":
        open_store(home).close()
    else:
        home.mkdir(mode=0o755)
    home.parent.chmod(0o755)
    home.chmod(0o755)
    before = sorted(path.name for path in home.rglob("*"))
    if shutil.which("setpriv") is None:
        pytest.skip("no setpriv")
    prefix = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    assert run(READER, str(home), prefix=prefix) == "folder-unsafe"
    assert sorted(path.name for path in home.rglob("*")) == before


@apart
def test_a_store_on_a_read_only_file_system_is_refused(tmp_path: Path) -> None:
    """EROFS is told as what it is."""
    home, disk = tmp_path / "home", tmp_path / "disk"
    open_store(home).close()
    disk.mkdir()
    mount("--bind", home, disk)
    mount("-o", "remount,ro,bind", disk)
    with pytest.raises(DiskReadOnly):
        open_store(disk)
    subprocess.run(["umount", str(disk)], check=True)


def test_every_word_of_these_errors_can_be_said() -> None:
    """The messages take exactly the arguments that are given to them."""
    made: list[MemdError] = [
        StoreFull(),
        StoreReadOnly("x"),
        DiskReadOnly("x"),
        DiskFailing("x"),
        StoreMoved("x"),
        StoreDamaged("x"),
        StoreNewer(2, 1),
        NetworkFileSystem("x", "nfs"),
    ]
    assert all("{" not in str(error) for error in made)


def test_lines_of_a_commit_are_the_formats(home: Path) -> None:
    """The rows of one commit, read back without memd's own reading: keys and values are what keys.py draws."""
    store = open_store(home)
    pen = Pen(store)
    uid = pen.record("a text", slug="s")
    with store.read() as snapshot:
        rows = {table: list(snapshot.kv.scan(table)) for table in keys.STORE_TABLES}
    origin = store.info.origin
    ((commit_key, commit),) = rows[keys.COMMITS]
    ((event_key, row),) = rows[keys.EVENTS]
    assert commit_key == origin + bytes(7) + b"\1"
    assert event_key == commit_key + b"\0\0"
    header, digests = msgspec.msgpack.decode(commit)
    body, sig = msgspec.msgpack.decode(row)
    assert digests == [ev.event_digest(body, sig)]
    assert msgspec.msgpack.decode(header)["hlc"] == pen.at << 16
    place = (pen.at << 16).to_bytes(8, "big") + event_key
    assert rows[keys.SUBJECTS] == [(uid + place, b"")]
    assert rows[keys.EVENT_UIDS] == [(msgspec.msgpack.decode(body)["uid"], place)]
    assert rows[keys.IDS] == [(bytes(7) + b"\1", uid)]
    assert rows[keys.ALIASES] == [(uid, bytes(7) + b"\1")]
    texts = dict(rows[keys.BLOBS])
    assert {value[16:] for value in texts.values()} == {b"a text"}
    assert all(ev.blob_digest(value[:16], value[16:]) == key for key, value in texts.items())
    store.close()
