"""``<home>/install.json``: what was put where, so that all of it can be taken out again, from any directory.

Version 1: ``{"version": 1, "settings": [SettingsRecord…], "git": [GitRecord…]}``; a digest is SHA-256 in hex. What a file held
before lies in ``<home>/backup/install-<first 16 digits of the digest of its path>`` and goes with the record. The record is written
before the file that it tells of: a crash in between leaves a record of what is not there, which taking out can cope with.
"""

import contextlib
import hashlib
import os
from pathlib import Path

import msgspec

from memd_hooks.files import replace_file, sync_folder
from memd_hooks.settings import Group

VERSION = 1


class RegistryDamaged(Exception):
    """The list of what memd installed cannot be read ({}). Delete it and run `memd install` again: that finds what is there."""

    def __str__(self) -> str:
        return (self.__doc__ or "").format(*self.args)


class RegistryNewer(RegistryDamaged):
    """The list of what memd installed ({}) was written by a newer memd; use that one."""


class SettingsRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One settings file with memd's groups in it."""

    harness: str
    level: str
    path: str
    groups: tuple[Group, ...]
    made: tuple[tuple[str, ...], ...]  # the objects and arrays that had to be made in it
    folders: tuple[str, ...]  # the folders that had to be made above it, outermost first
    existed: bool
    after: str  # the digest of what memd wrote


class GitRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One ``post-commit`` hook with memd's block in it."""

    path: str
    folders: tuple[str, ...]
    after: str


class Registry(msgspec.Struct, frozen=True):
    version: int = VERSION
    settings: tuple[SettingsRecord, ...] = ()
    git: tuple[GitRecord, ...] = ()

    def of(self, path: Path) -> SettingsRecord | GitRecord | None:
        """The record of ``path``."""
        records: tuple[SettingsRecord | GitRecord, ...] = (*self.settings, *self.git)
        return next((record for record in records if record.path == str(path)), None)

    def with_record(self, record: SettingsRecord | GitRecord) -> "Registry":
        """This registry with ``record`` in place of the one of the same path."""
        rest = self.without(Path(record.path))
        if isinstance(record, GitRecord):
            return Registry(VERSION, rest.settings, (*rest.git, record))
        return Registry(VERSION, (*rest.settings, record), rest.git)

    def without(self, path: Path) -> "Registry":
        """This registry without the record of ``path``."""
        settings = tuple(r for r in self.settings if r.path != str(path))
        return Registry(VERSION, settings, tuple(r for r in self.git if r.path != str(path)))


def digest(content: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(content).hexdigest()


def load(home: Path) -> Registry:
    """What is installed; nothing when there is no such file. Raises RegistryDamaged, RegistryNewer, OSError."""
    file = _file(home)
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return Registry()
    try:
        if msgspec.json.decode(content, type=_Versioned).version > VERSION:
            raise RegistryNewer(file)
        return msgspec.json.decode(content, type=Registry)
    except msgspec.DecodeError as error:
        raise RegistryDamaged(file) from error


def save(home: Path, registry: Registry) -> None:
    """Writes it; an empty one is removed. Raises OSError."""
    if registry.settings or registry.git:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(_file(home), msgspec.json.format(msgspec.json.encode(registry)) + b"\n", mode=0o600)
        return
    with contextlib.suppress(FileNotFoundError):
        _file(home).unlink()
        sync_folder(home)


def keep_backup(home: Path, path: Path, content: bytes | None) -> None:
    """Keeps what ``path`` held before, for its owner's eyes only (settings may hold keys); None forgets it. Raises OSError."""
    backup = backup_path(home, path)
    if content is None:
        with contextlib.suppress(FileNotFoundError):
            backup.unlink()
        with contextlib.suppress(OSError):
            backup.parent.rmdir()  # only when nothing else is in it
        return
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    backup.parent.mkdir(mode=0o700, exist_ok=True)
    replace_file(backup, content, mode=0o600)


def backup_of(home: Path, path: Path) -> bytes | None:
    """What ``path`` held before memd's first word in it; None when that is not known."""
    try:
        return backup_path(home, path).read_bytes()
    except FileNotFoundError:
        return None


def backup_path(home: Path, path: Path) -> Path:
    """Where what ``path`` held before is kept."""
    return home / "backup" / f"install-{digest(os.fsencode(path))[:16]}"


class _Versioned(msgspec.Struct):
    version: int


def _file(home: Path) -> Path:
    return home / "install.json"
