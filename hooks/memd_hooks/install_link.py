"""``~/.local/bin/memd``: a link to the program in memd's own environment, so that the word `memd` works in every shell.

Only where that folder is on the PATH or there already, and never over anything that is there: a program of that name may be
anybody's. What memd linked is recorded, and taken away again only while it is still that very link.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from memd_hooks import registry
from memd_hooks.files import missing_folders, remove_folders
from memd_hooks.registry import LinkRecord
from memd_hooks.steps import Changed, Step

NAME = "command"
WORD = "memd"


def folder(environ: Mapping[str, str]) -> Path | None:
    """Where this user's own programs lie; None where there is no such folder and none is looked for."""
    home = environ.get("HOME")
    if not home:
        return None
    place = Path(home) / ".local" / "bin"
    return place if place.is_dir() or is_on_path(place, environ) else None


def is_on_path(place: Path, environ: Mapping[str, str]) -> bool:
    """Whether shells look for programs in ``place``."""
    return str(place) in environ.get("PATH", "").split(os.pathsep)


def addition(home: Path, program: Path, environ: Mapping[str, str]) -> Step | None:
    """The step that links to ``program``; None where there is no place for it, something else has it, or `memd` works already."""
    place = folder(environ)
    if place is None or not os.access(program, os.X_OK) or _works(program, environ):
        return None
    path = place / WORD
    record = registry.load(home).of(path)
    stands = _target(path)
    if os.path.lexists(path) and not (isinstance(record, LinkRecord) and record.target == stands):
        return None
    if stands == str(program) or not _may_write(place):
        return None
    made = LinkRecord(path=str(path), target=str(program), folders=tuple(str(f) for f in missing_folders(path)))
    line = f"{path}: link to {program}, so that `memd` works in every shell"
    return _Addition(harness=NAME, path=path, lines=(line,), brief=line, stands=stands, record=made)


def removal(home: Path, path: Path) -> Step | None:
    """The step that takes the recorded link away; None when none is recorded."""
    record = registry.load(home).of(path)
    if not isinstance(record, LinkRecord):
        return None
    is_ours = _target(path) == record.target
    line = f"{path}: {'remove the link' if is_ours else 'memd has no link there any more'}"
    return _Removal(harness=NAME, path=path, lines=(line,), brief=line, record=record)


class _Addition(Step, frozen=True, kw_only=True):
    """``stands``: where an earlier link of memd's leads, which goes."""

    stands: str | None
    record: LinkRecord

    def run(self, home: Path) -> None:
        if _target(self.path) != self.stands or (self.stands is None and os.path.lexists(self.path)):
            raise Changed
        registry.save(home, registry.load(home).with_record(self.record))
        for made in missing_folders(self.path):
            made.mkdir()
        if self.stands is not None:
            self.path.unlink()
        self.path.symlink_to(self.record.target)


class _Removal(Step, frozen=True, kw_only=True):
    record: LinkRecord

    def run(self, home: Path) -> None:
        if _target(self.path) == self.record.target:
            self.path.unlink()
            remove_folders(tuple(Path(f) for f in self.record.folders))
        registry.save(home, registry.load(home).without(self.path))


def _works(program: Path, environ: Mapping[str, str]) -> bool:
    """Whether `memd` is this program in any shell; an activated environment works in its own alone."""
    found = shutil.which(WORD, path=environ.get("PATH", ""))
    return found is not None and not environ.get("VIRTUAL_ENV") and os.path.realpath(found) == os.path.realpath(program)


def _target(path: Path) -> str | None:
    """Where the link at ``path`` leads; None for no link."""
    try:
        return os.readlink(path)
    except OSError:
        return None


def _may_write(place: Path) -> bool:
    there = next(f for f in (place, *place.parents) if f.exists())
    return os.access(there, os.W_OK | os.X_OK)
