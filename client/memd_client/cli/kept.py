"""Stores that a restore or an import took out of use: whole copies of all that memd knew, until somebody removes them.

What one has left behind that was broken off, or has made ready and is at work in, is among them, named `….staged`."""

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memd_client.cli import screen
from memd_client.cli.screen import Part

FOLDER = "replaced"
STAGED = ".staged"
SHOWN = 5  # folders; then "and n others"


def kept(home: Path) -> list[dict[str, Any]]:
    """Each folder, the oldest first: `path`, `bytes` on disk, and whether it is `staged`."""
    try:
        found = sorted(one for one in (home / FOLDER).iterdir() if one.is_dir() and not one.is_symlink())
    except OSError:  # nothing was ever replaced
        return []
    return [{"path": str(one), "bytes": _bytes_in(one), "staged": one.name.endswith(STAGED)} for one in found]


def _bytes_in(folder: Path) -> int:
    """What its files take on disk, as far as they can be looked at: a store's file is longer than it is full."""
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                size += os.lstat(os.path.join(place, name)).st_blocks * 512
            except OSError:
                continue
    return size


def lines(found: list[dict[str, Any]], size: Callable[[int], str]) -> list[list[Part]]:
    """A line for each of the newest. ``size``: how bytes are written."""
    told = [_line(one, size) for one in reversed(found[-SHOWN:])]
    more = len(found) - SHOWN
    return [*told, [f"and {screen.count(more, 'other')} in {Path(found[0]['path']).parent}"]] if more > 0 else told


def _line(one: dict[str, Any], size: Callable[[int], str]) -> list[Part]:
    path = shlex.quote(one["path"])
    if one["staged"]:
        how = "a restore or an import is at work in it, or was broken off: the next one tidies up"
    else:
        how = f"all that was here before; `memd restore {path}` brings it back, `rm -r {path}` removes it"
    return [f"{one['path']}, {size(one['bytes'])}", (screen.spoken(f": {how}"), "dim")]
