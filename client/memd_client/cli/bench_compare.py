"""One run of `memd bench all` beside the one before: what has changed, and what only looks so.

**Only like with like.** Two runs are compared where machine (processor, cores, system, file system) and parameters are the same;
else it is said why not. memd, Python and the kernel may differ: that is what one compares for, and both are named.

**A change is one beyond the spread of both.** Of a row with a base the ratios are compared, of a base and of a share the values.
The medians may differ as they like: where the quartiles of the two runs overlap, it is the same. Below ROUNDS_LEAST rounds
quartiles say nothing, and neither is said here.

The file of a run is its JSON, written whole or not at all. One that cannot be read, is cut, or is something else counts as none,
and that is said.
"""

import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from memd_client.cli.bench_all_rows import FORMAT, Compared, Last, Line, Run
from memd_client.cli.bench_report import Machine
from memd_hooks.files import replace_file

ROUNDS_LEAST: Final = 3
FILE_MAX_BYTES: Final = 4 * 1024 * 1024
FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600

BETTER, WORSE, SAME = "better", "worse", "same"
LOWER, HIGHER = "lower", "higher"
NEW, OTHER, FEW = "new", "other", "few"


# --- what has changed


def beside(run: Run, last: Run | str, file: Path) -> Run:
    """The run with each row beside that of the last one; ``last`` is why there is none, where it is a text."""
    why = last if isinstance(last, str) else unlike(run, last)
    if isinstance(last, str) or why:
        return msgspec.structs.replace(run, compared=Compared(file=str(file), why=why))
    before = {line.name: line for line in last.rows}
    told = Compared(
        file=str(file),
        at=last.machine.at,
        memd=last.machine.memd,
        python=last.machine.python,
        system=last.machine.system,
        load_before=last.machine.load_before,
    )
    return msgspec.structs.replace(run, rows=[compared(line, before) for line in run.rows], compared=told)


def unlike(run: Run, last: Run) -> str:
    """Why two runs are not to be compared, "" where they are."""
    now, then = _place(run.machine), _place(last.machine)
    differ = [f"{name} was {then[name] or 'unknown'}" for name in now if now[name] != then[name]]
    if differ:
        return f"the last run was on another machine: {', '.join(differ)}"
    mine, theirs = (msgspec.structs.asdict(one.parameters) for one in (run, last))
    differ = [f"{name} was {theirs[name] or 'none'}" for name in mine if mine[name] != theirs[name]]
    return f"the last run had other parameters: {', '.join(differ)}" if differ else ""


def _place(machine: Machine) -> dict[str, str]:
    """What makes a machine the same one; a kernel's release is a version, not a machine."""
    system = machine.system.split(" ", 1)[0]
    return {"cpu": machine.cpu, "cores": str(machine.cores), "system": system, "file system": machine.file_system}


def compared(line: Line, before: Mapping[str, Line]) -> Line:
    """The row with what it was, by how much it moved, and whether that is a change."""
    last = before.get(line.name)
    if last is None:
        return msgspec.structs.replace(line, changed=NEW)
    if last.value is None or last.p25 is None or last.p75 is None:
        return line
    was = Last(value=last.value, ratio=last.ratio, p25=last.p25, p75=last.p75)
    told = msgspec.structs.replace(line, last=was)
    now, then = _figure(line), _figure(last)
    if now is None or then is None:
        return told
    if (line.unit, line.base, line.at_least) != (last.unit, last.base, last.at_least):
        return msgspec.structs.replace(told, changed=OTHER)
    change = round((now - then) / abs(then), 4) if then else None
    return msgspec.structs.replace(told, change=change, changed=_word(line, last, now - then))


def _figure(line: Line) -> float | None:
    """What is compared."""
    return line.value if line.ratio is None else line.ratio


def _word(line: Line, last: Line, difference: float) -> str:
    if any(0 < rounds < ROUNDS_LEAST for rounds in (line.rounds, last.rounds)):
        return FEW
    if not _is_beyond(line, last):
        return SAME
    if line.is_base:
        return HIGHER if difference > 0 else LOWER
    return BETTER if (difference > 0) == line.at_least else WORSE


def _is_beyond(line: Line, last: Line) -> bool:
    """Whether the quartiles of the two lie apart."""
    if line.p25 is None or line.p75 is None or last.p25 is None or last.p75 is None:
        return False
    return line.p25 > last.p75 or line.p75 < last.p25


def gone(run: Run, last: Run | str) -> list[str]:
    """Names of the last run's rows that this one does not have."""
    if isinstance(last, str):
        return []
    names = {line.name for line in run.rows}
    return [line.name for line in last.rows if line.name not in names]


def named(lines: Sequence[Line], changed: str) -> list[str]:
    """Names of the rows that changed so."""
    return [line.name for line in lines if line.changed == changed]


# --- the file of a run


def read(file: Path) -> Run | str:
    """The run that a file holds, or why there is none."""
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            return f"{file} is no file"
        with file.open("rb") as opened:
            content = opened.read(FILE_MAX_BYTES + 1)
    except FileNotFoundError:
        return "there is no run before this one"
    except OSError as error:
        return f"the last run cannot be read: {error}"
    if len(content) > FILE_MAX_BYTES:
        return f"{file} is no run of `memd bench all`: too long"
    try:
        form = msgspec.json.decode(content, type=_Form).format
        if form != FORMAT:
            return f"the last run is of another form ({form}) and is not compared"
        return msgspec.json.decode(content, type=Run)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return f"{file} holds no run of `memd bench all`, or half of one ({error})"


class _Form(msgspec.Struct):
    format: str


def keep(file: Path, run: Run) -> None:
    """Writes a run in the place of the last one, whole or not at all; makes the folder, and none above it. Raises OSError."""
    file.parent.mkdir(mode=FOLDER_MODE, exist_ok=True)
    replace_file(file, msgspec.json.format(msgspec.json.encode(run), indent=1) + b"\n", mode=FILE_MODE)
