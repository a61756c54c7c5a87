"""A backup is one moment of a store in use, and what is not whole is found before anything is touched."""

import io
import os
import stat
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.store.exchanging import backed_up, lived_in, opened, place, quick_folder, rows_of
from tests.store.making import ANNA, Pen

from memd_client.placing import placed
from memd_daemon import errors
from memd_daemon.service.exchange_place import restore
from memd_daemon.store import backup, backup_refused, keys
from memd_daemon.store.check import verify


@pytest.fixture
def home() -> Iterator[Path]:
    """In memory where that can be."""
    with quick_folder() as folder:
        yield folder / "home"


@pytest.fixture
def made(home: Path) -> Path:
    """A backup of a store with a history."""
    with opened(home) as (store, _):
        lived_in(store)
    path = home.parent / "a.backup"
    backed_up(home, path)
    return path


def all_rows(home: Path) -> dict[str, dict[bytes, bytes]]:
    with opened(home) as (store, _):
        return rows_of(store)


def test_a_backup_put_into_an_empty_home_is_the_same_store(home: Path, made: Path) -> None:
    """Every row of it, verify clean, and the ledger with it."""
    other = home.parent / "other"
    reply = restore(place(other), made)
    assert (reply.kept, reply.notes, reply.turns, reply.faults) == ("", 4, 2, 0)
    assert all_rows(other) == all_rows(home)
    with opened(other) as (store, _):
        assert verify(store) == []
    assert not (other / "replaced").exists()
    assert (other / "store" / "ledger" / "data.mdb").exists()


def test_it_is_an_archive_that_anybody_can_look_into(made: Path) -> None:
    """Four members, the manifest first, readable without memd."""
    with tarfile.open(made) as archive:
        assert archive.getnames() == ["manifest.json", "ledger.mdb", "log.mdb", "sha256"]
        file = archive.extractfile("manifest.json")
        assert file is not None
        told = msgspec.json.decode(file.read())
    assert (told["format"], told["notes"], told["turns"]) == (1, 4, 2)


def test_a_backup_of_a_store_that_is_being_written_to_is_one_moment_of_it(home: Path) -> None:
    """A writer goes on all the while: what the copy holds is whole, and as much as its manifest says."""
    path = home.parent / "hot.backup"
    with opened(home) as (store, ledger):
        pen = Pen(store)
        pen.record()
        is_over = threading.Event()
        wrote = threading.Event()

        def write() -> None:
            while not is_over.is_set():
                pen.record("more and more of it")
                wrote.set()

        writer = threading.Thread(target=write)
        writer.start()
        wrote.wait()
        with path.open("w+b") as file:
            manifest = backup.write(file.fileno(), store, ledger, memd="0.1.0", made_at=0)
        is_over.set()
        writer.join()
        with store.read() as snapshot:
            assert snapshot.counts().commits >= manifest.commits
    other = home.parent / "other"
    reply = restore(place(other), path)
    assert (reply.commits, reply.notes) == (manifest.commits, manifest.notes)


def cut(path: Path, at: int) -> None:
    os.truncate(path, at if at >= 0 else path.stat().st_size + at)


def flip(path: Path, at: int) -> None:
    raw = bytearray(path.read_bytes())
    raw[at] ^= 1
    path.write_bytes(raw)


def with_manifest(path: Path, **fields: object) -> None:
    """Another manifest, in an archive of the same form."""
    with tarfile.open(path) as archive:
        parts = [(one.name, (archive.extractfile(one) or io.BytesIO()).read()) for one in archive.getmembers()]
    told = msgspec.json.decode(parts[0][1]) | fields
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as archive:
        for name, raw in [("manifest.json", msgspec.json.encode(told)), *parts[1:]]:
            head = tarfile.TarInfo(name)
            head.size = len(raw)
            archive.addfile(head, io.BytesIO(raw))


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


BROKEN = {
    "empty": (lambda path: cut(path, 0), backup_refused.NotABackup),
    "cut in the first block": (lambda path: cut(path, 100), backup_refused.NotABackup),
    "cut in the middle": (lambda path: cut(path, path.stat().st_size // 2), backup_refused.BackupDamaged),
    "cut before the digest": (lambda path: cut(path, -2048), backup_refused.BackupDamaged),
    "flipped in the first name": (lambda path: flip(path, 3), backup_refused.NotABackup),
    "flipped in the manifest": (lambda path: flip(path, 600), (backup_refused.BackupDamaged, backup_refused.NotABackup)),
    "flipped in the store": (lambda path: flip(path, path.stat().st_size - 9000), backup_refused.BackupDamaged),
    "flipped in the digest": (lambda path: flip(path, path.stat().st_size - 1536 + 5), backup_refused.BackupDamaged),
    "something else": (lambda path: path.write_bytes(b"{}\n" * 1000), backup_refused.NotABackup),
    "of a newer memd": (lambda path: with_manifest(path, format=2), backup_refused.BackupNewer),
    "of a newer store": (lambda path: with_manifest(path, store_format=2), backup_refused.BackupNewer),
    "a manifest that was edited": (lambda path: with_manifest(path, notes=5), backup_refused.BackupDamaged),
    "a pipe that nobody writes to": (fifo, backup_refused.NotABackup),
    "not there": (Path.unlink, backup_refused.NotReadable),
    "a folder of something else": (lambda path: (path.unlink(), path.mkdir()), backup_refused.NotABackup),
    "a link that leads nowhere": (
        lambda path: (path.unlink(), path.symlink_to(path.parent / "nowhere")),
        backup_refused.NotReadable,
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", BROKEN)
def test_what_is_no_whole_backup_touches_nothing(home: Path, made: Path, how: str) -> None:
    """Each is refused by its name, and the home is as it was, with nothing left over."""
    harm, refusal = BROKEN[how]
    harm(made)
    before = all_rows(home)
    with pytest.raises(refusal) as told:
        restore(place(home), made)
    assert "othing was touched" in told.value.message
    assert all_rows(home) == before
    assert not (home / "replaced").exists()


def test_a_link_to_a_backup_is_as_good_as_the_backup(home: Path, made: Path) -> None:
    """A person's own link is followed."""
    link = made.with_name("link")
    link.symlink_to(made)
    assert restore(place(home.parent / "other"), link).notes == 4


@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize("raw", [b"", b"no store at all" * 1000])
def test_a_kept_folder_with_something_else_in_it(home: Path, made: Path, raw: bytes, damaged: bool) -> None:
    """It has no digest, so its file is looked at before LMDB is."""
    with opened(home) as (store, _):
        Pen(store, 1_800_000_000_000).record("Newer.")
    kept = Path(restore(place(home), made).kept)
    (kept / "store" / "log" / "data.mdb").write_bytes(raw)
    before = all_rows(home)
    with pytest.raises((backup_refused.BackupDamaged, backup_refused.NotABackup)):
        restore(place(home), kept, damaged=damaged)
    assert all_rows(home) == before


def test_a_store_with_damage_is_restored_only_where_a_person_says_so(home: Path) -> None:
    """The damage is named; with consent it is taken as it is."""
    with opened(home) as (store, _):
        pen = lived_in(store)
        store.write(lambda txn: txn.kv.delete(keys.COMMITS, keys.commit_key(store.info.origin, 3)))
        del pen
    path = home.parent / "a.backup"
    backed_up(home, path)
    other = home.parent / "other"
    with pytest.raises(backup_refused.BackupFaulty, match=r"commit 3 .* is missing.*--damaged"):
        restore(place(other), path)
    assert not (other / "store").exists()
    assert restore(place(other), path, damaged=True).faults > 0


def test_derived_rows_that_do_not_follow_are_made_anew(home: Path) -> None:
    """They are no reason to refuse a backup whose log is whole."""
    with opened(home) as (store, _):
        lived_in(store)
        store.write(lambda txn: txn.kv.clear(keys.KINDS))
    path = home.parent / "a.backup"
    backed_up(home, path)
    other = home.parent / "other"
    assert restore(place(other), path).faults == 0
    with opened(other) as (store, _):
        assert verify(store) == []


def test_what_was_there_is_kept_and_comes_back_the_same_way(home: Path, made: Path) -> None:
    """There and back again: the folder that was kept is restored like a backup."""
    with opened(home) as (store, _):
        Pen(store, 1_800_000_000_000).record("Only the newer store has this.")
    (home / "index").mkdir()
    newer = all_rows(home)
    reply = restore(place(home), made)
    assert not (home / "index").exists()
    assert all_rows(home) != newer
    back = restore(place(home), Path(reply.kept))
    assert all_rows(home) == newer
    assert back.kept != reply.kept
    assert stat.S_IMODE((home / "replaced").stat().st_mode) == 0o700


def test_what_was_forgotten_since_comes_back_only_where_that_is_said(home: Path, made: Path) -> None:
    """The backup is older than the forgetting: its note is named, and nothing is touched."""
    with opened(home) as (store, _):
        pen = Pen(store, 1_800_000_000_000)
        with store.read() as snapshot:
            uid = snapshot.uid_of(2)
        assert uid is not None
        pen.act(uid, "forgotten", by=ANNA)
    before = all_rows(home)
    with pytest.raises(backup_refused.ForgottenComesBack, match=r"since: 2\."):
        restore(place(home), made)
    assert all_rows(home) == before
    assert restore(place(home), made, with_forgotten=True).notes == 4


def test_a_full_disk_leaves_what_was_there(home: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk has no room for what is to come: told so, and nothing is left of it."""
    before = all_rows(home)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(errors.StoreFull):
        restore(place(home), made)
    monkeypatch.undo()
    assert all_rows(home) == before
    assert list((home / "replaced").iterdir() if (home / "replaced").exists() else ()) == []


# --- the file itself


def test_a_file_takes_its_name_only_once_it_is_whole(tmp_path: Path) -> None:
    """0600, nothing beside it, and no name where the writing failed."""
    path = tmp_path / "a"
    with placed(path) as descriptor:
        os.write(descriptor, b"whole")
        assert not path.exists()
    assert path.read_bytes() == b"whole"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(ZeroDivisionError), placed(tmp_path / "b"):
        raise ZeroDivisionError
    assert [one.name for one in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("kind", ["file", "folder", "dangling link"])
def test_nothing_is_written_over(tmp_path: Path, kind: str) -> None:
    """Whatever has the name keeps it, also where it came while the file was written."""
    path = tmp_path / "a"

    def make() -> None:
        {"file": path.touch, "folder": path.mkdir, "dangling link": lambda: path.symlink_to("nowhere")}[kind]()

    with pytest.raises(FileExistsError), placed(path):
        make()
    with pytest.raises(FileExistsError), placed(path):
        raise AssertionError
    assert [one.name for one in tmp_path.iterdir()] == ["a"]


def test_a_disk_without_links_renames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stick has no hard links: the file is there all the same, and nothing is written over."""

    def no_links(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    with placed(tmp_path / "a") as descriptor:
        os.write(descriptor, b"whole")
    assert (tmp_path / "a").read_bytes() == b"whole"
    with pytest.raises(FileExistsError), placed(tmp_path / "b"):
        (tmp_path / "b").write_bytes(b"another's")
    assert (tmp_path / "b").read_bytes() == b"another's"


def test_a_full_disk_is_told_while_a_backup_is_written(home: Path) -> None:
    """LMDB's own copy runs out of room."""
    with opened(home) as (store, _), Path("/dev/full").open("wb", buffering=0) as full:
        Pen(store).record()
        with pytest.raises(errors.StoreFull), store.copying() as (_, copy):
            copy(full.fileno())
        assert verify(store) == []
