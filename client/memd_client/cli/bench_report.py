"""The reports of `memd bench`: rows, bars, and how they are judged (docs/benchmarks.md).

In each round every row's value is divided by its reference's value in the same round. A row shows the median of the values, of the
references and of the ratios, and the ratios' quartiles (p25, p75). A bar is an upper bound of the median ratio; a row one of whose
hooks was not answered in time has missed it.
"""

import os
import platform
import statistics
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from memd_client import __version__
from memd_client.cli.bench_notes import HOT_GOTCHAS, RULES
from memd_client.cli.bench_rounds import IDLE_S, PRINTED_CHARS, Key, Round
from memd_client.cli.bench_scratch import WRITERS

OK = "ok"
MISSED = "missed"
UNMEASURED = "unmeasured"
PROMPT_ALLOWANCE_MS = 5.0  # beyond the pre-edit hook and one embedding: turn stored, searched, gated
IN_DAEMON_MS = 1.0
START_MS = 10.0  # in the daemon, with RULES rules
MEMORY_MB = 200.0
LARGE_NOTES = 10_000  # beyond them
MEMORY_LARGE_MB = 250.0

Reference = Callable[[Round], float | None]


class Measure(NamedTuple):
    """A row as it is defined. ``bar`` None: shown, not judged."""

    name: str
    says: str
    key: str  # of a round's samples
    reference: Reference
    reference_says: str
    bar: float | None = None
    unit: str = "ms"


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A row as it was measured; None where nothing was. ``rounds`` holds (value, reference) of each round."""

    name: str
    says: str
    unit: str
    median: float | None
    reference: float | None
    reference_says: str
    ratio: float | None
    p25: float | None
    p75: float | None
    bar: float | None
    verdict: str  # ok, missed, unmeasured; "" without a bar
    unanswered: int
    rounds: list[tuple[float, float]]


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """Where it was measured."""

    at: str
    cores: int
    cpu: str
    system: str
    python: str
    memd: str
    file_system: str
    load_before: float  # processes that wanted to run, before anything began: above the cores the machine was not quiet


class Filled(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured on."""

    notes: int
    rules: int  # of another repository, beside the notes
    vectors: int
    by_model: int  # of these; the others are the token table's
    hot_gotchas: int  # on one file; a second has as many
    record_seconds: float
    embed_seconds: float
    index_seconds: float
    prompt_tokens: int


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The whole of `memd bench hooks --json`."""

    machine: Machine
    store: Filled
    rounds: int
    rows: list[Row]
    missed: list[str]


def key(name: str) -> Reference:
    """The round's value of another key."""
    return lambda done: done.value(name)


def fixed(value: float) -> Reference:
    """The same in every round."""
    return lambda _: value


def edited_reference(done: Round) -> float | None:
    """What an edit may take, and reading and hashing its file."""
    hashed = done.value(Key.HASH)
    return None if hashed is None else IN_DAEMON_MS + hashed


def memory_mb(notes: int) -> float:
    """What a daemon with so many notes may take."""
    return MEMORY_MB if notes <= LARGE_NOTES else MEMORY_LARGE_MB


def prompt_reference(done: Round) -> float | None:
    """A pre-edit hook, one embedding and the allowance."""
    edit, embed = done.value(Key.PRE_EDIT), done.value(Key.EMBED)
    return None if edit is None or embed is None else edit + embed + PROMPT_ALLOWANCE_MS


_BARE = "bare interpreter"
MEASURES = (
    Measure("pre-edit", f"hook, {HOT_GOTCHAS} gotchas on the file", Key.PRE_EDIT, key(Key.BARE), _BARE, 1.35),
    Measure("pre-edit-one", "hook, one gotcha on the file", Key.PRE_EDIT_ONE, key(Key.BARE), _BARE, 1.35),
    Measure("pre-edit-script", "hook script without the launcher", Key.SCRIPT, key(Key.BARE), _BARE),
    Measure("pre-edit-inside", f"in the daemon, {HOT_GOTCHAS} gotchas", Key.IN_PRE_EDIT, fixed(IN_DAEMON_MS), "1 ms", 1.0),
    Measure("pre-edit-one-inside", "in the daemon, one gotcha", Key.IN_PRE_EDIT_ONE, fixed(IN_DAEMON_MS), "1 ms", 1.0),
    Measure("pre-edit-edited", f"hook, {HOT_GOTCHAS} gotchas, file just written", Key.PRE_EDIT_EDITED, key(Key.BARE), _BARE),
    Measure("pre-edit-edited-inside", "in the daemon", Key.IN_PRE_EDIT_EDITED, edited_reference, "1 ms + one hash", 1.0),
    Measure("tool-result", f"hook, {PRINTED_CHARS:,} characters of output", Key.TOOL_RESULT, key(Key.BARE), _BARE, 1.35),
    Measure("tool-result-inside", "in the daemon", Key.IN_TOOL_RESULT, fixed(IN_DAEMON_MS), "1 ms", 1.0),
    Measure("session-start", "hook, with its bundle", Key.SESSION_START, key(Key.BARE), _BARE, 1.5),
    Measure("session-start-inside", "in the daemon", Key.IN_SESSION_START, fixed(IN_DAEMON_MS), "1 ms"),
    Measure("start-rules", f"hook, {RULES} directives", Key.START_RULES, key(Key.BARE), _BARE),
    Measure("start-rules-inside", "in the daemon", Key.IN_START_RULES, fixed(START_MS), f"{START_MS:g} ms", 1.0),
    Measure("prompt", "hook, turn stored and answered", Key.PROMPT, prompt_reference, "pre-edit + embedding + 5 ms", 1.0),
    Measure("prompt-inside", "in the daemon", Key.IN_PROMPT, key(Key.EMBED), "one embedding"),
    Measure("first-request", "from spawn to a ping's answer", Key.COLD_START, key(Key.IMPORTS), "import zmq, msgspec, lmdb", 2.5),
    Measure("memory", "daemon, model and notes in", Key.MEMORY, key(Key.MEMORY_BAR), "what it may take", 1.0, "MB"),
    Measure("idle", f"daemon's CPU time in {IDLE_S:g} s", Key.IDLE, fixed(1.0), "1 tick", 0.0, "ticks"),
    Measure("ping", "round trip on an open connection", Key.PING, fixed(IN_DAEMON_MS), "1 ms"),
    Measure("remember", "one note, durable", Key.REMEMBER, key(Key.COMMIT), "one LMDB commit"),
    Measure("writers", f"a note, {WRITERS} writers at once", Key.WRITERS_ALL, key(Key.WRITER_ONE), "a note, one writer"),
)  # fmt: skip


def row(measure: Measure, rounds: Sequence[Round]) -> Row:
    """One row of these rounds."""
    pairs = [(done.value(measure.key), measure.reference(done)) for done in rounds]
    measured = [(value, reference) for value, reference in pairs if value is not None and reference]
    ratios = [value / reference for value, reference in measured]
    p25, ratio, p75 = quartiles(ratios)
    unanswered = sum(done.unanswered.get(measure.key, 0) for done in rounds)
    return Row(
        name=measure.name,
        says=measure.says,
        unit=measure.unit,
        median=_median([value for value, _ in measured]),
        reference=_median([reference for _, reference in measured]),
        reference_says=measure.reference_says,
        ratio=ratio,
        p25=p25,
        p75=p75,
        bar=measure.bar,
        verdict=_verdict(ratio, measure.bar, unanswered),
        unanswered=unanswered,
        rounds=[(round(value, 4), round(reference, 4)) for value, reference in measured],
    )


def _verdict(ratio: float | None, bar: float | None, unanswered: int) -> str:
    if bar is None:
        return ""
    if unanswered:
        return MISSED
    if ratio is None:
        return UNMEASURED
    return OK if ratio <= bar else MISSED


def _median(values: Sequence[float]) -> float | None:
    return round(statistics.median(values), 4) if values else None


def quartiles(values: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """Lower quartile, median, upper quartile; None of nothing."""
    if not values:
        return None, None, None
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def report(machine: Machine, store: Filled, rounds: Sequence[Round]) -> Report:
    """Everything that was measured."""
    rows = rows_of(MEASURES, rounds)
    return Report(machine=machine, store=store, rounds=len(rounds), rows=rows, missed=missed(rows))


def rows_of(measures: Sequence[Measure], rounds: Sequence[Round]) -> list[Row]:
    """Every row of these rounds."""
    return [row(measure, rounds) for measure in measures]


def missed(rows: Sequence[Row]) -> list[str]:
    """Names of the rows that missed their bar."""
    return [one.name for one in rows if one.verdict == MISSED]


def machine(file_system: str) -> Machine:
    """This machine, now."""
    return Machine(
        at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        cores=os.cpu_count() or 0,
        cpu=_cpu(),
        system=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        memd=__version__,
        file_system=file_system,
        load_before=round(os.getloadavg()[0], 2),
    )


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
