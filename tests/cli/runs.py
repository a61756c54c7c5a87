"""Runs of `memd bench all` that were never run: rows with the figures that a test wants."""

from typing import Any

import msgspec

from memd_client.cli.bench_all_rows import FORMAT, Compared, Line, Parameters, Run
from memd_client.cli.bench_report import MISSED, Machine

PLACE = Machine(
    at="2026-01-01T00:00:00Z",
    cores=2,
    cpu="AMD EPYC",
    system="Linux 6.1",
    python="3.11.7",
    memd="0.1.0",
    file_system="ext4",
    load_before=0.5,
)
GIVEN = Parameters(
    notes=300,
    rounds=7,
    cases=50,
    pairs=0,
    imagined=60,
    commits=12,
    sessions=5,
    load_minutes=0.1,
    seed=1,
    history="ab" * 20,
)


def line(
    name: str, middle: float, spread: float = 0.1, *, rounds: int = 7, base: str = "base/bare", **more: Any
) -> Line:
    """A row whose figure is ``middle``, its quartiles ``spread`` of it away: a ratio, or of a base the value."""
    is_base = name.startswith("base/")
    low, high = middle * (1 - spread), middle * (1 + spread)
    made = Line(
        name=name,
        says="what it is",
        unit="ms",
        value=middle * (1 if is_base else 10),
        low=low,
        high=high,
        base="" if is_base else base,
        base_value=None if is_base else 10.0,
        ratio=None if is_base else middle,
        p25=low,
        p75=high,
        bar=None,
        at_least=False,
        verdict="",
        unanswered=0,
        rounds=rounds,
    )
    return msgspec.structs.replace(made, **more)


def run_of(*rows: Line, machine: Machine = PLACE, parameters: Parameters = GIVEN) -> Run:
    """A run with these rows."""
    return Run(
        format=FORMAT,
        machine=machine,
        parameters=parameters,
        seconds=60.0,
        rows=list(rows),
        missed=[one.name for one in rows if one.verdict == MISSED],
        compared=Compared(file="", why="not compared yet"),
    )
