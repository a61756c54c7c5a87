"""One JSON file of a client's, given another text: read again before it is written, its old text kept, the record written first."""

import contextlib
from pathlib import Path

from memd_hooks import jsonc, registry
from memd_hooks.files import missing_folders, remove_folders, replace_file, sync_folder
from memd_hooks.registry import ServerRecord, SettingsRecord
from memd_hooks.steps import Changed, Step


class FileStep(Step, frozen=True, kw_only=True):
    """A file's new content. ``base``: what it held without memd; ``old``: the record that a removal takes away."""

    before: bytes | None
    after: bytes | None
    base: bytes | None = None
    record: SettingsRecord | ServerRecord | None = None
    old: SettingsRecord | ServerRecord | None = None

    def run(self, home: Path) -> None:
        if content(self.path) != self.before:
            raise Changed
        if self.record is None:
            self._take_out(home)
        else:
            self._put_in(home, self.record)

    def _put_in(self, home: Path, record: SettingsRecord | ServerRecord) -> None:
        known = registry.load(home)
        backup = registry.backup_of(home, self.path)
        with contextlib.ExitStack() as undo:
            undo.callback(registry.keep_backup, home, self.path, backup)
            registry.keep_backup(home, self.path, self.base)
            undo.callback(registry.save, home, known)
            registry.save(home, known.with_record(record))
            for folder in missing_folders(self.path):
                folder.mkdir(mode=0o700)
            self._write()
            undo.pop_all()

    def _take_out(self, home: Path) -> None:
        self._write()
        registry.save(home, registry.load(home).without(self.path))
        registry.keep_backup(home, self.path, None)

    def _write(self) -> None:
        if content(self.path) != self.before:
            raise Changed
        if self.after is not None:
            if self.after != self.before:
                replace_file(self.path, self.after)
        elif self.before is not None:
            self.path.unlink()
            sync_folder(self.path.parent)
            remove_folders(tuple(Path(f) for f in (self.old.folders if self.old else ())))


def content(path: Path) -> bytes | None:
    """What the file holds; None where there is none. Raises OSError for one that may not be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def place_of_bytes(held: bytes, error: UnicodeDecodeError) -> jsonc.Malformed:
    """Where the bytes that are no UTF-8 stand."""
    return jsonc.Malformed(held.decode(errors="replace"), len(held[: error.start].decode()), "not UTF-8")
