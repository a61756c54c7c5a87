"""Of a report: the end of the daemon's log, its last faults, and the marks that a start or a stop left.

The log holds nothing that anybody typed. Its lines go through the redactor all the same, in a process of its own, and then word by
word past what memd itself says (bundle_clean.py). Where the redactor cannot be started no line is told.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from memd_client import spawn
from memd_client.cli.bundle_scene import Scene, Section, tried

LINES = 200
FAULTS = 20
READ_BYTES = 1_000_000  # of the end of each of the log's files: thousands of lines
LEVELS = ("debug", "info", "warning", "error", "critical")
MARKS = ("starting", "stopped", "unreachable-until", "refused")
FATAL_ERROR = "Fatal Python error: "
FATAL = ("Segmentation fault", "Bus error", "Aborted", "Floating point exception", "Illegal instruction")
FAULT_BYTES = 20_000
FAULT_FRAMES = 30
REDACT_WAIT_S = 30  # it takes a tenth of a second
_FRAME = re.compile(r'^  File "([^"\n]+)", line (\d{1,6}) in (\S+)$', re.MULTILINE)


def log(scene: Scene) -> Section:
    """The last lines, and the last ones of faults from further back."""
    if scene.home is None:
        return {"lines": "no home"}
    folder = scene.home / "logs"
    rows = [row for name in ("daemon.log.1", "daemon.log") for row in _read(folder / name)]
    faults = [row for row in rows[:-LINES] if row.get("level") in ("error", "critical") or "trace" in row]
    return {
        "lines": [_line(scene, row) for row in _redacted(rows[-LINES:])],
        "faults further back": [_line(scene, row) for row in _redacted(faults[-FAULTS:])],
    }


def marks(scene: Scene) -> Section:
    """What stands under `run` beside the socket: who is about to start, why the last one did not serve."""
    if scene.home is None:
        return {"run": "no home"}
    run = scene.home / "run"
    found = {name: tried(_age, run / name) for name in MARKS}
    return {
        **found,
        "why the last daemon did not serve": tried(_refused, scene, scene.home),
        "how the last daemon ended": tried(_fault, scene, scene.home),
    }


def _age(path: Path) -> str:
    try:
        return f"written {max(0, int(time.time() - path.stat().st_mtime))} s ago"
    except FileNotFoundError:
        return "not there"


def _refused(scene: Scene, home: Path) -> str:
    said = spawn.refusal(os.fsencode(home))
    return "nothing is said" if said is None else scene.clean.line(_redacted([{"say": said}])[0]["say"])


def _fault(scene: Scene, home: Path) -> list[str] | str:
    """What the system wrote of a daemon that a fault ended: its word for that, and where in memd's source, the innermost first."""
    try:
        told = (home / "logs" / "fault").read_bytes()[:FAULT_BYTES].decode("utf-8", "replace")
    except FileNotFoundError:
        return "nothing is said"
    kind = next((one for one in FATAL if f"{FATAL_ERROR}{one}" in told), "another fault")
    places = [f"{Path(file).name}:{line} {name}" for file, line, name in _FRAME.findall(told)[:FAULT_FRAMES]]
    return [kind, *map(scene.clean.place, places)] if told else "by no fault"


def _read(path: Path) -> list[dict[str, str]]:
    """The log's objects; of a line that is none only that it is there."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - READ_BYTES))
            lines = file.read().splitlines()
    except FileNotFoundError:
        return []
    return [_row(line) for line in lines]


def _row(line: bytes) -> dict[str, str]:
    try:
        told = msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.MsgspecError, ValueError):  # cut at the front, or written by somebody else
        return {}
    return {name: value for name, value in told.items() if isinstance(value, str)}


def _redacted(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """The same rows with every text of theirs redacted. Raises OSError, SubprocessError where the redactor does not run."""
    texts = [text for row in rows for text in row.values()]
    if not texts:
        return rows
    done = subprocess.run(
        [sys.executable, "-I", "-m", "memd_daemon.redacted"],
        cwd="/",
        input=msgspec.json.encode(texts),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=REDACT_WAIT_S,
        check=True,
    )
    found = iter(msgspec.json.decode(done.stdout, type=list[str]))
    return [{name: next(found) for name in row} for row in rows]


def _line(scene: Scene, row: dict[str, str]) -> str:
    if not row:
        return "a line that is none of the log's"
    clean, level = scene.clean, row.get("level", "")
    parts = [clean.at(row.get("at")), level if level in LEVELS else "?", clean.word(row.get("from", ""))]
    trace = f" ({clean.trace(row['trace'])})" if "trace" in row else ""
    return f"{' '.join(parts)}: {clean.line(row.get('say', ''))}{trace}"
