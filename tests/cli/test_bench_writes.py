"""`memd bench writes`: the shape of its report from a tiny run through both daemons. No speed."""

import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner

from memd_client.cli import bench_report, bench_scratch, bench_writes
from memd_client.cli.bench_report import MISSED, OK
from memd_client.cli.bench_rounds import Round
from memd_client.cli.bench_writes import MEASURES, WRITERS, Key

NOTES = 20
ROUNDS = 2


def test_a_tiny_run_has_every_row_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Every row is measured, the store is whole at the end with all that was written to it, and the scratch is gone."""
    monkeypatch.setattr(bench_writes, "REPEATS", 2)
    monkeypatch.setattr(bench_writes, "EACH", 1)
    at = tmp_path_factory.mktemp("b")
    ran = CliRunner().invoke(
        bench_writes.writes,
        ["--notes", str(NOTES), "--rounds", str(ROUNDS), "--at", str(at), "--json"],
        catch_exceptions=False,
    )
    told = json.loads(ran.stdout)
    rows = {row["name"]: row for row in told["rows"]}
    assert list(rows) == [measure.name for measure in MEASURES]
    assert all(math.isfinite(row["ratio"]) and row["p25"] <= row["ratio"] <= row["p75"] for row in rows.values())
    assert all(len(row["rounds"]) == ROUNDS for row in rows.values())
    store = told["store"]
    assert (store["notes"], store["faults"]) == (NOTES, 0)
    assert store["events"] == NOTES + ROUNDS * (2 + 1 + WRITERS)  # in the daemon without a socket
    assert store["note_rows"] > 10
    assert store["note_bytes"] > 1_000
    assert told["missed"] == [row["name"] for row in told["rows"] if row["verdict"] == MISSED]
    assert list(at.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "value", "against", "verdict"),
    [
        ("remember", 2.0, 1.0, OK),
        ("remember", 2.1, 1.0, MISSED),
        ("writers", 1.0, 3.0, OK),
        ("writers", 1.1, 3.0, MISSED),
        ("verify", 0.05, None, OK),
        ("verify", 0.051, None, MISSED),
        ("fold", 5.0, None, OK),
        ("fold", 5.1, None, MISSED),
    ],
)
def test_the_bars_are_those_of_the_page(name: str, value: float, against: float | None, verdict: str) -> None:
    """Twice a raw commit, a third of a note's time, 20,000 events a second, five milliseconds: at the bar is within it."""
    measure = next(one for one in MEASURES if one.name == name)
    made = Round()
    made.samples[measure.key].append(value)
    reference = {"remember": Key.RAW, "writers": Key.INSIDE_ONE}.get(name)
    if reference is not None and against is not None:
        made.samples[reference].append(against)
    assert bench_report.row(measure, [made]).verdict == verdict


def test_strict_fails_where_a_bar_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is the same; only the exit code says it."""
    made = Round()
    made.samples[Key.FOLD].append(6.0)
    rows = bench_report.rows_of(MEASURES, [made])
    store = bench_writes.Written(
        notes=1, note_rows=13, note_bytes=1_400, events=1, faults=0, record_seconds=1.0, embed_seconds=1.0
    )
    report = bench_writes.Report(
        machine=bench_report.machine("ext4"), store=store, rounds=1, rows=rows, missed=bench_report.missed(rows)
    )
    monkeypatch.setattr(bench_writes, "measure", lambda *_: report)
    told = CliRunner().invoke(bench_writes.writes, [], standalone_mode=False)
    strict = CliRunner().invoke(bench_writes.writes, ["--strict"], standalone_mode=False)
    assert (told.return_value, strict.return_value) == (0, 1)
    assert "missed: fold" in told.stdout


def test_a_run_that_fails_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The scratch goes also where filling it fails."""

    def fails(*_: object) -> float:
        raise OSError("no room")

    monkeypatch.setattr(bench_scratch, "fill", fails)
    with pytest.raises(OSError, match="no room"):
        bench_writes.measure(10, 1, tmp_path, lambda _: None)
    assert list(tmp_path.iterdir()) == []
