"""`memd doctor --bundle`: a report on how memd is, for whoever is asked why it does not work. One file of plain text.

A person reads all of it before it goes anywhere, so it is text, not an archive; nothing is sent. It is written for its owner alone
(0600), never over another file, and in one piece or not at all.

**Nothing private.** No note, no turn, no setting's text, no name of a file, a repository, a branch, a person or a machine, no
session, no remote. What is not a number, a time or a word of memd's own stands as ``<…>`` (bundle_clean.py); names of
folders stand as ``<home>``, ``~``, ``<repository 1>``.

**Whatever is broken.** Each section is looked at by itself. Where that fails, kind and place of the error are its content, and the
others come all the same. It starts no daemon and changes nothing; where a daemon runs the hooks are fired once, as by `doctor`.
"""

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memd_client.cli import (
    bundle_bench,
    bundle_daemon,
    bundle_home,
    bundle_hooks,
    bundle_log,
    bundle_machine,
    bundle_process,
    screen,
)
from memd_client.cli.bundle_scene import Scene, Section, scene, tried
from memd_client.memd import Refused

STDOUT = "-"
HEAD = """memd report, made {at} by `memd doctor --bundle`

This is everything; nothing was sent anywhere. Read it before you give it to anybody.
It holds versions, numbers, times, and words of memd's own. Whatever else stood in a message is <…>.
It holds no note, nothing that you said, no name of a file of yours, of a repository, a branch, a person or a machine.
"""

SECTIONS: tuple[tuple[str, Callable[[Scene], Section]], ...] = (
    ("memd", bundle_machine.memd),
    ("machine", bundle_machine.machine),
    ("clients", bundle_machine.clients),
    ("home", bundle_home.home),
    ("daemon", bundle_daemon.daemon),
    ("process", bundle_process.process),
    ("settings", bundle_daemon.settings),
    ("hooks", bundle_hooks.hooks),
    ("faults", bundle_daemon.faults),
    ("timings", bundle_daemon.timings),
    ("verify", bundle_daemon.verified),
    ("bench", bundle_bench.bench),
    ("marks", bundle_log.marks),
    ("log", bundle_log.log),
)


def bundle(where: str, *, verifies: bool, as_json: bool) -> None:
    """Makes the report and puts it where it was wanted: a path, a folder, ``-`` for stdout, or "" for the current directory.

    Raises Refused where a file is there already, or the path that was named cannot be written.
    """
    with screen.working("looking"):
        report = text(scene(verifies=verifies))
    if where == STDOUT:
        _tell("", report, as_json)
        return
    written = _written(where, report.encode())
    if written is None:
        screen.warn(
            "There is no room for a file here, so the report stands below; `memd doctor --bundle PATH` puts it elsewhere."
        )
    _tell("" if written is None else str(written), report, as_json)


def text(seen: Scene) -> str:
    """The whole report. Every section is there, whatever became of it."""
    lines = [HEAD.format(at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))]
    for name, look in SECTIONS:
        lines += [f"== {name}", *_laid(tried(look, seen), 0), ""]
    return seen.clean.sweep("\n".join(lines))


def _laid(value: Any, depth: int) -> Iterator[str]:
    """Maps as ``name: value``, lists a line each with a dash, what is within them two blanks further in."""
    indent = "  " * depth
    if isinstance(value, Mapping):
        for name, one in value.items():
            if isinstance(one, Mapping | list | tuple) and one:
                yield f"{indent}{name}:"
                yield from _laid(one, depth + 1)
            else:
                yield f"{indent}{name}: {_plain(one)}"
    elif isinstance(value, list | tuple):
        for one in value:
            first, *rest = [*_laid(one, 0)] or [""]
            yield f"{indent}- {first}"
            yield from (f"{indent}  {line}" for line in rest)
    else:
        yield f"{indent}{_plain(value)}"


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value in ("", None) or isinstance(value, Mapping | list | tuple) else str(value)


# --- the file


def _written(where: str, content: bytes) -> Path | None:
    """Where the report stands now; None where no path was named and no folder takes it. Raises Refused."""
    name = f"memd-report-{datetime.now(UTC).strftime('%Y%m%d-%H%M%S')}.txt"
    if where:
        path = Path(where)
        path = path / name if path.is_dir() else path
        try:
            _write(path, content)
        except FileExistsError as error:
            raise Refused("file-exists", f"{path} is there already: name another file.") from error
        except OSError as error:
            what = f"{path} cannot be written ({error.strerror or error})"
            raise Refused("report-unwritable", f"{what}: name another, or `-` prints the report.") from error
        return path
    for folder in (".", tempfile.gettempdir()):
        with contextlib.suppress(OSError):  # full, read-only, gone, or kept from this user
            _write(Path(folder, name), content)
            return Path(folder, name)
    return None


def _write(path: Path, content: bytes) -> None:
    """A new file, for its owner alone; none is left where it cannot be written whole. Raises OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        with contextlib.suppress(OSError):
            path.unlink()
        raise


def _tell(path: str, report: str, as_json: bool) -> None:
    size = len(report.encode())
    if as_json:
        screen.emit({"path": path, "bytes": size, "report": "" if path else report})
    elif not path:
        sys.stdout.buffer.write(report.encode())
    else:
        screen.say(f"{path}: a report of {size / 1_000:.0f} kB, of which nothing was sent anywhere.")
        screen.say("Read all of it before you give it to anybody. No note and no word of yours should be in it.")
