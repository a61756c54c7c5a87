"""A backup: one file with the store and the ledger in it, each as it was at one moment while memd went on working.

The file is a plain tar archive, so that anybody can look into it without memd. Its members, in this order and no others:

    manifest.json   `Manifest`: which store, when, and how much is in it
    ledger.mdb      the ledger's environment, compacted
    log.mdb         the store's environment, compacted: the log, texts, turns, numbers, vectors
    sha256          64 hexadecimal digits: SHA-256 of every byte of the file before this member

What can be made anew (the word and vector indexes) is not in it, nor what is only under way (the spool, logs, sockets). A
person's key file is not in it either: a backup lies in more places than a home does, and whoever has the file can guess at its
passphrase.

Nothing of a backup is believed before its digest is. A folder that a restore or an import has kept (backup_swap.py) can be read in
the place of a file: the two environments as they lie in it.
"""

import hashlib
import os
import shutil
import stat
import tarfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from memd_daemon import errors
from memd_daemon.limits import (
    BACKUP_FORMAT,
    BACKUP_MANIFEST_MAX_BYTES,
    DISK_FULL_BYTES,
    FILE_BLOCK_BYTES,
    MS_PER_S,
    STORE_FORMAT,
    TAR_BLOCK_BYTES,
)
from memd_daemon.model.ids import uid_text
from memd_daemon.store import fs, keys
from memd_daemon.store.backup_refused import BackupDamaged, BackupFaulty, BackupNewer, NotABackup, NotReadable
from memd_daemon.store.group import GroupStore
from memd_daemon.store.lmdb_file import refuse_cut
from memd_daemon.store.lmdb_log import LmdbLedger, stored_format
from memd_daemon.store.lmdb_pages import flaw_in_heads
from memd_daemon.store.lmdb_state import refuse_flawed

MANIFEST: Final = "manifest.json"
LEDGER: Final = "ledger.mdb"
LOG: Final = "log.mdb"
DIGEST: Final = "sha256"

_PLACES: Final = {LEDGER: "ledger", LOG: "log"}
_DATA: Final = "data.mdb"
_END: Final = bytes(2 * TAR_BLOCK_BYTES)
_MODE: Final = 0o600
_DIGEST_CHARS: Final = 64

Tell = Callable[[int, int], None]
"""(bytes done, bytes of all)."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a backup says of itself."""

    format: int
    memd: str
    made_at: int  # UTC, Unix milliseconds
    store: str
    origin: str
    store_format: int
    notes: int
    events: int
    commits: int
    turns: int


class _Hash(Protocol):
    def update(self, raw: bytes, /) -> None: ...


# --- making one


def write(descriptor: int, store: GroupStore, ledger: LmdbLedger, *, memd: str, made_at: int) -> Manifest:
    """Writes a backup into an empty file. Raises StoreFull, StoreDamaged, OSError."""
    with ExitStack() as opened:
        _, copy_ledger = opened.enter_context(ledger.copying())
        snapshot, copy_log = opened.enter_context(store.copying())
        counts = snapshot.counts()
        manifest = Manifest(
            format=BACKUP_FORMAT,
            memd=memd,
            made_at=made_at,
            store=uid_text(store.info.store),
            origin=uid_text(store.info.origin),
            store_format=store.info.format,
            notes=counts.notes,
            events=counts.events,
            commits=counts.commits,
            turns=counts.turns,
        )
        raw = msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"
        _member(descriptor, MANIFEST, made_at, lambda: _write_all(descriptor, raw))
        _member(descriptor, LEDGER, made_at, lambda: copy_ledger(descriptor))
        _member(descriptor, LOG, made_at, lambda: copy_log(descriptor))
    digest = _digest_of(descriptor, os.lseek(descriptor, 0, os.SEEK_END))
    _member(descriptor, DIGEST, made_at, lambda: _write_all(descriptor, digest.encode()))
    _write_all(descriptor, _END)
    return manifest


def _member(descriptor: int, name: str, at_ms: int, fill: Callable[[], Any]) -> None:
    """One member; how long it is is known once it is written, so its head is written last."""
    head_at = os.lseek(descriptor, 0, os.SEEK_END)
    _write_all(descriptor, bytes(TAR_BLOCK_BYTES))
    fill()
    size = os.lseek(descriptor, 0, os.SEEK_END) - head_at - TAR_BLOCK_BYTES
    _write_all(descriptor, bytes(-size % TAR_BLOCK_BYTES))
    head = tarfile.TarInfo(name)
    head.size, head.mode, head.mtime = size, _MODE, at_ms // MS_PER_S
    os.pwrite(descriptor, head.tobuf(tarfile.GNU_FORMAT), head_at)


def _write_all(descriptor: int, raw: bytes) -> None:
    view = memoryview(raw)
    while view:
        view = view[os.write(descriptor, view) :]


def _digest_of(descriptor: int, size: int) -> str:
    digest = hashlib.sha256()
    for at in range(0, size, FILE_BLOCK_BYTES):
        digest.update(os.pread(descriptor, min(FILE_BLOCK_BYTES, size - at), at))
    return digest.hexdigest()


# --- reading one


def unpack(path: Path, folder: Path, tell: Tell) -> Manifest | None:
    """Puts the two environments of a backup into ``folder/store``, synced, as a home has them; nothing else is written.

    ``folder`` is one of this user's own, and empty; what is in it after an error is worth nothing. None where ``path`` is a
    folder that was kept. Raises NotReadable, NotABackup, BackupNewer, BackupDamaged, StoreFull, OSError for what befalls
    ``folder``."""
    descriptor = _opened(path)
    try:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            _copy_kept(path, folder, tell)
            return None
        return _Archive(path, descriptor, tell).unpack(folder)
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int:
    """The file or the folder, opened without waiting for anybody who would write into a pipe. Raises NotReadable, NotABackup."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as error:
        raise NotReadable(path, error.strerror or error) from error
    kind = os.fstat(descriptor).st_mode
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
        os.close(descriptor)
        raise NotABackup(path, "it is neither a file nor a folder")
    return descriptor


class _Archive:
    """One file, read once from its beginning to its end."""

    def __init__(self, path: Path, descriptor: int, tell: Tell) -> None:
        self._path = path
        self._descriptor = descriptor
        self._tell = tell
        self._size = os.fstat(descriptor).st_size
        self._done = 0
        self._digest = hashlib.sha256()

    def unpack(self, folder: Path) -> Manifest:
        manifest = self._manifest()
        for name in (LEDGER, LOG):
            place = fs.prepare(folder, "store", _PLACES[name])
            self._copy(self._head(name), place / _DATA)
        found = self._digest.hexdigest()
        size = self._head(DIGEST)
        told = self._read(size) if size == _DIGEST_CHARS else b""
        if told != found.encode():
            raise BackupDamaged(self._path, "its digest is not that of what is in it")
        self._refuse_more()
        return manifest

    def _refuse_more(self) -> None:
        """Behind the digest there are zeros, as many as who copied the archive wanted, and nothing else."""
        while raw := self._some(FILE_BLOCK_BYTES):
            if raw.strip(b"\0"):
                raise BackupDamaged(self._path, "there is more behind its end")

    def _manifest(self) -> Manifest:
        size = self._head(MANIFEST)
        if size > BACKUP_MANIFEST_MAX_BYTES:
            raise NotABackup(self._path, "its first part is too long")
        raw = self._read(size)
        self._read(-size % TAR_BLOCK_BYTES)
        try:
            told = msgspec.json.decode(raw, type=dict[str, Any])
            self._refuse_newer(told)
            return msgspec.convert(told, type=Manifest)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise NotABackup(self._path, "its manifest cannot be read") from error

    def _refuse_newer(self, told: dict[str, Any]) -> None:
        for field, what, newest in (
            ("format", "backup format", BACKUP_FORMAT),
            ("store_format", "store format", STORE_FORMAT),
        ):
            given = told.get(field)
            if isinstance(given, int) and given > newest:
                raise BackupNewer(self._path, what, given, newest)

    def _head(self, name: str) -> int:
        """The bytes of the member that has to come now. Raises NotABackup for the first, BackupDamaged for another."""
        raw = self._read(TAR_BLOCK_BYTES)
        try:
            head = tarfile.TarInfo.frombuf(raw, tarfile.ENCODING, "surrogateescape")
        except tarfile.HeaderError:
            head = None
        if head is None or head.name != name or not head.isreg() or head.size < 0:
            if name == MANIFEST:
                raise NotABackup(self._path, "it does not begin as one does")
            raise BackupDamaged(self._path, f"{name} is not where it should be")
        return head.size

    def _copy(self, size: int, target: Path) -> None:
        """Raises BackupDamaged, StoreFull: before anything is written, so that the daemon beside it keeps its room."""
        if size > self._size - self._done:
            raise BackupDamaged(self._path, "it was cut short")
        if size > shutil.disk_usage(target.parent).free - DISK_FULL_BYTES:
            raise errors.StoreFull
        with target.open("xb") as file:
            os.fchmod(file.fileno(), _MODE)
            for chunk in self._chunks(size):
                file.write(chunk)
            self._read(-size % TAR_BLOCK_BYTES)
            file.flush()
            os.fsync(file.fileno())
        fs.sync_folder(target.parent)

    def _chunks(self, size: int) -> Iterator[bytes]:
        left = size
        while left:
            chunk = self._read(min(left, FILE_BLOCK_BYTES))
            left -= len(chunk)
            yield chunk

    def _read(self, size: int) -> bytes:
        raw = b""
        while len(raw) < size:
            more = self._some(size - len(raw))
            if not more:
                if self._done == 0:
                    raise NotABackup(self._path, "it does not begin as one does")
                raise BackupDamaged(self._path, "it was cut short")
            raw += more
        self._done += size
        self._digest.update(raw)
        self._tell(self._done, self._size)
        return raw

    def _some(self, size: int) -> bytes:
        try:
            return os.read(self._descriptor, size)
        except OSError as error:
            raise NotReadable(self._path, error.strerror or error) from error


def _copy_kept(path: Path, folder: Path, tell: Tell) -> None:
    """The environments of a folder that was kept; its store is in nobody's use. Raises NotABackup, NotReadable."""
    for place in _PLACES.values():
        source = path / "store" / place / _DATA
        if place == "ledger" and not source.exists():
            continue  # one that was never written to, or set aside
        if source.is_symlink() or not source.is_file():
            raise NotABackup(path, "it is a folder without store/log/data.mdb")
        _copy_file(source, fs.prepare(folder, "store", place) / _DATA, tell)


def _copy_file(source: Path, target: Path, tell: Tell) -> None:
    try:
        reading = source.open("rb")
    except OSError as error:
        raise NotReadable(source, error.strerror or error) from error
    with reading, target.open("xb") as file:
        os.fchmod(file.fileno(), _MODE)
        size = os.fstat(reading.fileno()).st_size
        while chunk := reading.read(FILE_BLOCK_BYTES):
            file.write(chunk)
            tell(file.tell(), size)
        file.flush()
        os.fsync(file.fileno())
    fs.sync_folder(target.parent)


def refuse_unopenable(path: Path, folder: Path, *, damaged: bool) -> None:
    """Looks at what was unpacked before LMDB opens it: that would make a new store of a file without one, or die of a page that
    leads nowhere. ``damaged``: such pages are taken as they are, as long as the file has a head.

    Raises BackupFaulty, BackupDamaged, BackupNewer, NotABackup.
    """
    data = folder / "store" / "log"
    flaw = flaw_in_heads(data / _DATA)
    if flaw is not None:
        raise BackupDamaged(path, f"its store cannot be opened ({flaw})")
    try:
        refuse_cut(data / _DATA)
        if not damaged:
            refuse_flawed(data / _DATA, keys.STORE_TABLES, whole=True)
    except errors.StoreDamaged as error:
        raise BackupFaulty(path, error.args[0]) from error
    found = stored_format(data)
    if found is None:
        raise NotABackup(path, "the store in it is none of memd's")
    if found > STORE_FORMAT:
        raise BackupNewer(path, "store format", found, STORE_FORMAT)
