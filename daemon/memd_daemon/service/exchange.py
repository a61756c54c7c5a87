"""Giving a store out while it is in use: backups, each on a thread of its own, and exports, piece by piece.

A backup is LMDB's own copy of one snapshot, made without the interpreter's lock (store/lmdb_copy.py), so nothing waits for it:
whoever asked for it asks how far it is. An export holds a snapshot as long as somebody asks for its next piece, and is let go
when nobody has for `limits.EXPORT_IDLE_S`; each piece is a request like any other, and takes some milliseconds.

What a person may not expect to be in it, or to be left out, stands in the answer.
"""

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from memd_client import __version__, api
from memd_client.placing import placed
from memd_daemon import errors, limits
from memd_daemon.frames import exchanged as words
from memd_daemon.service.explain import iso
from memd_daemon.service.parts import Parts
from memd_daemon.service.text import told_back
from memd_daemon.store import backup as copies
from memd_daemon.store.backup_refused import (
    BackupExists,
    BackupRunning,
    BackupUnwritable,
    ExportsOpen,
    NoSuchExport,
    NoSuchJob,
)
from memd_daemon.store.exchange_out import Outgoing
from memd_daemon.store.group import GroupStore
from memd_daemon.store.lmdb_log import LmdbLedger
from memd_daemon.store.log_read import LogSnapshot

KEYS: Final = "keys"
_TOKEN_BYTES: Final = 8


class _Job:
    """One backup, and how far it is."""

    def __init__(self, path: Path, of_bytes: int) -> None:
        self.path = path
        self.descriptor = -1
        self.reply = api.BackupReply(job=os.urandom(_TOKEN_BYTES).hex(), path=str(path), of_bytes=of_bytes)

    def told(self) -> api.BackupReply:
        done = self.reply.bytes
        if not self.reply.ended and self.descriptor >= 0:
            with contextlib.suppress(OSError):  # it has just ended
                done = os.fstat(self.descriptor).st_size
        return msgspec.structs.replace(self.reply, done_bytes=done)


class Backups:
    """One at a time; the last one is told of as long as the daemon lives."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._lock = threading.Lock()
        self._job: _Job | None = None
        self._thread: threading.Thread | None = None

    def backup(self, request: api.Backup) -> api.BackupReply:
        """Begins one, or tells how far it is. Raises BackupRunning, BackupExists, NoSuchJob, BadRequest."""
        with self._lock:
            job = self._job
            if request.job:
                if job is None or job.reply.job != request.job:
                    raise NoSuchJob(told_back(request.job))
                return job.told()
            if job is not None and not job.reply.ended:
                raise BackupRunning(job.path)
            return self._begin(Path(request.path)).told()

    def close(self) -> None:
        """A copy that is under way is waited for as long as a stop may take."""
        if self._thread is not None:
            self._thread.join(limits.STOP_GRACE_S)

    def _begin(self, path: Path) -> _Job:
        if not path.is_absolute():
            raise errors.BadRequest("a backup's path is absolute")
        if os.path.lexists(path):
            raise BackupExists(path)
        with self._parts.store.read() as snapshot:
            job = _Job(path, snapshot.counts().bytes_on_disk)
        self._job = job
        self._thread = threading.Thread(target=self._run, args=(job,), name="memd-backup", daemon=True)
        self._thread.start()
        return job

    def _run(self, job: _Job) -> None:
        with contextlib.ExitStack() as failing:
            failing.callback(_failed, job, errors.Fault("backup"))  # the daemon's log has what it was
            try:
                self._make(job)
            except errors.MemdError as refusal:
                _failed(job, refusal)
            failing.pop_all()

    def _make(self, job: _Job) -> None:
        began = time.monotonic()
        made, size = self._write(job)
        job.reply = msgspec.structs.replace(
            job.reply,
            ended=True,
            bytes=size,
            made_at=iso(made.made_at) or "",
            store=made.store,
            notes=made.notes,
            events=made.events,
            commits=made.commits,
            turns=made.turns,
            seconds=time.monotonic() - began,
            told=self._told(),
        )

    def _write(self, job: _Job) -> tuple[copies.Manifest, int]:
        store, ledger = _on_disk(self._parts)
        try:
            with placed(job.path) as descriptor:
                job.descriptor = descriptor
                made = copies.write(descriptor, store, ledger, memd=__version__, made_at=self._parts.now_ms())
                size = os.fstat(descriptor).st_size
                job.descriptor = -1
            return made, size
        except FileExistsError as error:
            raise BackupExists(job.path) from error
        except OSError as error:
            raise BackupUnwritable(job.path, error.strerror or error) from error
        except errors.StoreFull as error:
            raise BackupUnwritable(job.path, "the disk is full") from error

    def _told(self) -> list[str]:
        told = list(words.damaged_too(self._parts.findings.told()))
        if any((self._parts.home / KEYS).glob("*")):
            told.append(words.KEYS_LEFT.format(folder=self._parts.home / KEYS))
        return told


def _failed(job: _Job, refusal: errors.MemdError) -> None:
    job.reply = msgspec.structs.replace(job.reply, ended=True, code=refusal.code, message=refusal.message)


def _on_disk(parts: Parts) -> tuple[GroupStore, LmdbLedger]:
    if not isinstance(parts.store, GroupStore) or not isinstance(parts.ledger, LmdbLedger):
        raise TypeError("a store that is not on a disk")
    return parts.store, parts.ledger


class _Open:
    """An export under way. One thread at a time asks it."""

    def __init__(self, outgoing: Outgoing, held: contextlib.ExitStack) -> None:
        self.token = os.urandom(_TOKEN_BYTES).hex()
        self.asked_at = time.monotonic()
        self.lock = threading.Lock()
        self._held = held
        self._outgoing = outgoing
        self._lines: Iterator[bytes] = outgoing.lines()
        self._left = b""
        self._done = 0
        self._of = outgoing.expected()

    def piece(self) -> api.ExportReply:
        ended = False
        pieces, size = [self._left], len(self._left)
        while size < limits.EXPORT_PIECE_BYTES and not ended:
            line = next(self._lines, None)
            ended = line is None
            if line is not None:
                pieces.append(line)
                size += len(line)
                self._done += 1
        whole = b"".join(pieces)
        piece, self._left = whole[: limits.EXPORT_PIECE_BYTES], whole[limits.EXPORT_PIECE_BYTES :]
        counts = self._outgoing.counts
        return api.ExportReply(
            token=self.token,
            piece=piece,
            ended=ended and not self._left,
            done=self._done,
            of=self._of,
            notes=counts.notes,
            events=counts.events,
            commits=counts.commits,
            turns=counts.turns,
            damaged=self._outgoing.damaged,
        )

    def close(self) -> None:
        self._held.close()


class Exports:
    """Those that are under way. Safe to call from any thread."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._lock = threading.Lock()
        self._open: dict[str, _Open] = {}
        self._look: threading.Timer | None = None

    def export(self, request: api.Export) -> api.ExportReply:
        """Begins one, or gives its next piece. Raises ExportsOpen, NoSuchExport."""
        one = self._found(request.token) if request.token else self._begun()
        with one.lock:
            if self._open.get(one.token) is not one:
                raise NoSuchExport
            with contextlib.ExitStack() as failing:
                failing.callback(self._drop, one)
                reply = api.ExportReply(token=one.token, piece=b"", ended=True) if request.drop else one.piece()
                failing.pop_all()
            one.asked_at = time.monotonic()
            if reply.ended:
                self._drop(one)
        return reply

    def close(self) -> None:
        with self._lock:
            if self._look is not None:
                self._look.cancel()
            left = list(self._open.values())
        for one in left:
            with one.lock:
                self._drop(one)

    def _found(self, token: str) -> _Open:
        with self._lock:
            one = self._open.get(token)
        if one is None:
            raise NoSuchExport
        return one

    def _begun(self) -> _Open:
        store, ledger = _on_disk(self._parts)
        with self._lock:
            if len(self._open) >= limits.EXPORTS_OPEN_MAX:
                raise ExportsOpen(len(self._open))
            with contextlib.ExitStack() as held:
                snapshot: LogSnapshot = held.enter_context(store.read())
                one = _Open(Outgoing(snapshot, ledger.bursts()), held.pop_all())
            self._open[one.token] = one
            if self._look is None:
                self._look_later()
        return one

    def _look_later(self) -> None:
        self._look = threading.Timer(limits.EXPORT_IDLE_S, self._drop_idle)
        self._look.daemon = True
        self._look.start()

    def _drop_idle(self) -> None:
        with self._lock:
            left = list(self._open.values())
        for one in left:
            with one.lock:
                if time.monotonic() - one.asked_at >= limits.EXPORT_IDLE_S:
                    self._drop(one)
        with self._lock:
            self._look = None
            if self._open:
                self._look_later()

    def _drop(self, one: _Open) -> None:
        """Its lock is held."""
        with self._lock:
            was_open = self._open.pop(one.token, None) is not None
        if was_open:
            one.close()
