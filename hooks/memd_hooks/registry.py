"""``<home>/install.json``: what was put where, so that all of it can be taken out again, from any directory.

Version 1: ``{"version": 1, "settings": [SettingsRecord…], "git": [GitRecord…], "links": [LinkRecord…], "servers":
[ServerRecord…]}``; a digest is SHA-256 in hex. What a file held before lies in
``<home>/backup/install-<first 16 digits of the digest of its path>`` and goes with the record. The record is written before the
file that it tells of: a crash in between leaves a record of what is not there, which taking out can cope with.
"""

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterator
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
    allowed: tuple[str, ...] = ()  # the permissions that were put in
    server: bool = True  # whether the MCP server was wanted too
    made: tuple[tuple[str, ...], ...]  # the objects and arrays that had to be made in it
    folders: tuple[str, ...]  # the folders that had to be made above it, outermost first
    existed: bool
    after: str  # the digest of what memd wrote


class GitRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One ``post-commit`` hook with memd's block in it."""

    path: str
    folders: tuple[str, ...]
    after: str


class LinkRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A link to memd's program in a folder of the user's own."""

    path: str
    target: str
    folders: tuple[str, ...]


class ServerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A client's own file with memd's MCP server in it, at one place or several."""

    harness: str
    level: str
    path: str
    places: tuple[tuple[str, ...], ...]
    made: tuple[tuple[str, ...], ...]  # the objects that had to be made in it
    folders: tuple[str, ...]
    existed: bool
    after: str


Record = SettingsRecord | GitRecord | LinkRecord | ServerRecord


class Registry(msgspec.Struct, frozen=True):
    version: int = VERSION
    settings: tuple[SettingsRecord, ...] = ()
    git: tuple[GitRecord, ...] = ()
    links: tuple[LinkRecord, ...] = ()
    servers: tuple[ServerRecord, ...] = ()

    @property
    def has_hooks(self) -> bool:
        """Whether anything is left that calls memd."""
        return bool(self.settings or self.git or self.servers)

    def of(self, path: Path) -> Record | None:
        """The record of ``path``."""
        records: tuple[Record, ...] = (*self.settings, *self.git, *self.links, *self.servers)
        return next((record for record in records if record.path == str(path)), None)

    def with_record(self, record: Record) -> "Registry":
        """This registry with ``record`` in place of the one of the same path."""
        rest = self.without(Path(record.path))
        match record:
            case SettingsRecord():
                return msgspec.structs.replace(rest, settings=(*rest.settings, record))
            case GitRecord():
                return msgspec.structs.replace(rest, git=(*rest.git, record))
            case LinkRecord():
                return msgspec.structs.replace(rest, links=(*rest.links, record))
            case ServerRecord():
                return msgspec.structs.replace(rest, servers=(*rest.servers, record))

    def without(self, path: Path) -> "Registry":
        """This registry without the record of ``path``."""
        return Registry(
            VERSION,
            tuple(r for r in self.settings if r.path != str(path)),
            tuple(r for r in self.git if r.path != str(path)),
            tuple(r for r in self.links if r.path != str(path)),
            tuple(r for r in self.servers if r.path != str(path)),
        )


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
    if registry.has_hooks or registry.links:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(_file(home), msgspec.json.format(msgspec.json.encode(registry)) + b"\n", mode=0o600)
        return
    with contextlib.suppress(FileNotFoundError):
        _file(home).unlink()
        sync_folder(home)


@contextlib.contextmanager
def locked(home: Path, *, makes_home: bool) -> Iterator[None]:
    """One install at a time for a home; where there is none, a removal has nobody to wait for. Raises OSError."""
    if makes_home:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not home.is_dir():
        yield
        return
    descriptor = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


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
