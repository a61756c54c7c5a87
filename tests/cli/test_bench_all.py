"""`memd bench all`: a tiny run through everything, and what becomes of it. No speed."""

import json
import math
import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import click
import msgspec
import pytest
from click.testing import CliRunner

from memd_client.cli import (
    bench,
    bench_all,
    bench_all_compiled,
    bench_all_history,
    bench_all_rows,
    bench_compare,
    bench_load,
    bench_notes,
    bench_report,
    bench_rounds,
    bench_stock,
    bench_writes,
)
from memd_client.cli.bench_all import Asked
from memd_client.cli.bench_all_compiled import NO_COMPILER, NotCompiled
from memd_client.cli.bench_all_rows import BASES, COMPILED, HOOKS, WRITES
from memd_client.cli.bench_report import MISSED, OK, Measure, fixed
from memd_client.cli.bench_rounds import Round
from tests.cli.runs import line, run_of

NOTES = 30
PAIR = {"name": "p", "language": "en", "turns": ["Use tabs."], "note": "Use tabs.", "stated": ["Use tabs."], "why": "w"}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything as small as it gets."""
    monkeypatch.setattr(bench_rounds, "IDLE_S", 0.05)
    monkeypatch.setattr(bench_rounds, "COLD_STARTS", 1)
    for module in (bench_rounds, bench_writes, bench_all_compiled):
        monkeypatch.setattr(module, "REPEATS", 1)
    monkeypatch.setattr(bench_writes, "EACH", 1)
    monkeypatch.setattr(bench_stock, "TRULY", 5)
    monkeypatch.setattr(bench_notes, "RULES", 10)
    monkeypatch.setattr(bench_all, "SPOKEN_REPEATS", 1)
    for name, value in (("CASES", 2), ("IMAGINED", 4), ("COMMITS", 1)):
        monkeypatch.setattr(bench_all, name, value)
        monkeypatch.setattr(bench_all, f"QUICK_{name}", value)


def asked(at: Path, repo: Path | None = None, pairs: Path | None = None) -> Asked:
    """A tiny run below ``at``."""
    return Asked(
        at=at, notes=10, rounds=1, cases=1, imagined=1, commits=1, sessions=1, load_minutes=0, repo=repo, pairs=pairs
    )


def children() -> set[int]:
    """Processes that this one started and that have not been waited for."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            told = stat.read_text(encoding="utf-8", errors="replace")
        except OSError:  # gone meanwhile
            continue
        if int(told.rpartition(")")[2].split()[1]) == os.getpid():
            found.add(int(stat.parent.name))
    return found


@pytest.mark.usefixtures("small")
def test_a_tiny_run_has_every_row_and_is_kept_for_the_next(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All parts' rows with their bases, the run kept in the home and nothing else there, and the scratch gone."""
    at, pairs = tmp_path_factory.mktemp("b"), tmp_path / "pairs.jsonl"
    pairs.write_text(json.dumps(PAIR))
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("MEMD_HOME", str(home))
    words = [
        "--notes",
        str(NOTES),
        "--rounds",
        "1",
        "--quick",
        "--at",
        str(at),
        "--pairs",
        str(pairs),
        "--json",
        "--load-minutes",
        "0",
    ]
    ran = CliRunner().invoke(bench_all.all_, words, catch_exceptions=False)
    told = json.loads(ran.stdout)
    rows = {row["name"]: row for row in told["rows"]}
    assert len(rows) == len(told["rows"])
    for part, measures in ((HOOKS, bench_report.MEASURES), (WRITES, bench_writes.MEASURES)):
        assert {f"{part}/{one.name}" for one in measures} | {base.name for base in BASES[part]} <= set(rows)
    assert {"spoken/recall-bound", "staleness/precision", "staleness/recall", "guard/all/the user's, marked"} <= set(
        rows
    )
    assert rows.pop("load")["why"] == "--load-minutes 0"
    assert not [name for name, row in rows.items() if row["value"] is None or not math.isfinite(row["value"])]
    named = {row["base"] for row in rows.values() if row["base"].startswith("base/")}
    assert named <= set(rows)
    assert {"base/bare", "base/raw-commit"} <= named
    assert told["missed"] == [row["name"] for row in told["rows"] if row["verdict"] == MISSED]
    assert told["parameters"]["notes"] == NOTES
    assert "there is no run before this one" in told["compared"]["why"]
    assert [str(file.relative_to(home)) for file in home.rglob("*")] == ["bench", "bench/quick.json"]
    kept = bench_compare.read(home / "bench" / "quick.json")
    assert msgspec.to_builtins(kept) == told
    assert list(at.iterdir()) == []


@pytest.mark.usefixtures("small")
def test_a_run_that_is_broken_off_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ctrl-C with everything running: no daemon, no measuring process, no folder, and nothing is kept."""
    before = children()
    monkeypatch.setattr(bench_all, "_staleness", lambda *_: ([], ""))
    monkeypatch.setattr(bench_all, "_evidence", lambda *_: [])

    def is_ended(self: object, number: int) -> Round:
        assert len(children() - before) >= 4  # the measuring ones
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("the signal had no effect")

    monkeypatch.setattr(bench_rounds.Bench, "round", is_ended)
    with pytest.raises(KeyboardInterrupt):
        bench.reported(lambda tell: bench_all.measure(asked(tmp_path), tell), lambda _: None, False)
    assert children() <= before
    assert list(tmp_path.iterdir()) == []
    running = b"".join(_command(folder) for folder in Path("/proc").glob("[0-9]*"))
    assert os.fsencode(tmp_path) not in running


def _command(folder: Path) -> bytes:
    try:
        return (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
    except OSError:
        return b""


def test_what_was_typed_wrongly_is_told_before_anything_is_filled(tmp_path: Path) -> None:
    """A folder without a history, and a file without a pair."""
    nothing, empty = tmp_path / "nothing", tmp_path / "empty"
    nothing.mkdir()
    empty.touch()
    at = tmp_path / "at"
    at.mkdir()
    for wrong in (asked(at, repo=nothing), asked(at, pairs=empty)):
        with pytest.raises(click.UsageError):
            bench_all.measure(wrong, lambda _: None)
    assert list(at.iterdir()) == []


def test_without_a_compiler_its_row_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the others are measured."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(NotCompiled, match=NO_COMPILER.split(" (")[0]):
        bench_all_compiled.compiler()
    told = bench_all_rows.not_measured(COMPILED, "a hook in C", NO_COMPILER)
    assert (told.value, told.verdict, told.why) == (None, "unmeasured", NO_COMPILER)
    assert NO_COMPILER in str(bench_all._cells(told)[-1])


def test_a_row_is_a_ratio_of_its_base(monkeypatch: pytest.MonkeyPatch) -> None:
    """A base that is a row is named by the row's name, one that is a number by its words."""
    rounds = []
    for factor in (1.0, 2.0, 3.0):
        done = Round()
        done.samples[bench_rounds.Key.BARE].append(10.0 * factor)
        done.samples[bench_rounds.Key.PRE_EDIT].append(13.0 * factor)
        rounds.append(done)
    measures = (
        bench_report.MEASURES[0],
        Measure("edit", "an edit", bench_rounds.Key.PRE_EDIT, fixed(13.0), "13 ms", 1.0),
    )
    rows = {one.name: one for one in bench_all_rows.timed(HOOKS, measures, rounds)}
    bare, edit, number = rows["base/bare"], rows["hooks/pre-edit"], rows["hooks/edit"]
    assert (bare.value, bare.low, bare.high, bare.ratio, bare.is_base, bare.verdict) == (
        20.0,
        15.0,
        25.0,
        None,
        True,
        "",
    )
    assert (edit.base, edit.base_value, edit.ratio, edit.p25, edit.p75) == ("base/bare", 20.0, 1.3, 1.3, 1.3)
    assert (number.base, number.ratio, number.verdict, number.is_base) == ("13 ms", 2.0, MISSED, False)
    assert rows["base/embedding"].value is None


def under_load(*judged: bench_load.Judged, missing: int = 0) -> bench_load.Report:
    """What is read of a measurement under load."""
    rows = [
        SimpleNamespace(phase=phase, name="prompt-submit", p50=6.0, p99=20.0, echo_p50=2.0, echo_p99=4.0)
        for phase in ("quiet", "flood")
    ]
    rows.append(SimpleNamespace(phase="quiet", name="recall", p50=3.0, p99=4.0, echo_p50=0.5, echo_p99=1.0))
    rows.append(SimpleNamespace(phase="quiet", name="echo", p50=2.0, p99=4.0, echo_p50=2.0, echo_p99=4.0))
    checked = SimpleNamespace(missing=missing, twice=0, faults=[])
    return cast(bench_load.Report, SimpleNamespace(sessions=5, rows=rows, checked=checked, judged=judged))


def test_load_is_told_beside_the_echo_of_its_time() -> None:
    """Of the quiet phase alone; what grows with the events only where there were enough; what was lost misses its bar."""
    growth = bench_load.Judged(name="growth", value=9.0, unit="MB / 10,000 events", bar=1.0, verdict=MISSED)
    idle = bench_load.Judged(name="idle", value=0.5, unit="% of a core", bar=1.0, verdict=OK)
    short, long = (
        {one.name: one for one in bench_all_rows.of_load(under_load(growth, idle), is_long=is_long)}
        for is_long in (False, True)
    )
    assert set(long) - set(short) == {"load/growth"}
    assert (long["load/growth"].verdict, short["load/idle"].value) == (MISSED, 0.5)
    echoes = {name: one.value for name, one in short.items() if one.is_base}
    assert list(echoes.items())[:2] == [("base/echo-p50", 2.0), ("base/echo-p99", 4.0)]
    assert list(echoes.items())[2:] == [("base/echo-kept-p50", 0.5), ("base/echo-kept-p99", 1.0)]
    assert (short["load/recall-p50"].base, short["load/recall-p50"].ratio) == ("base/echo-kept-p50", 6.0)
    assert "load/echo-p50" not in short
    slow = short["load/prompt-submit-p99"]
    assert (slow.value, slow.base, slow.ratio) == (20.0, "base/echo-p99", 5.0)
    assert (short["load/lost"].value, short["load/lost"].verdict) == (0.0, OK)
    lost = {one.name: one for one in bench_all_rows.of_load(under_load(missing=2), is_long=False)}["load/lost"]
    assert (lost.value, lost.verdict) == (2.0, MISSED)
    assert (
        bench_compare.compared(slow, {slow.name: msgspec.structs.replace(slow, ratio=1.0, p25=1.0, p75=1.0)}).changed
        == "few"
    )


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """`measure` gives the runs of this list, one after the other."""
    runs: list[Any] = []
    monkeypatch.setattr(bench_all, "measure", lambda *_: runs.pop(0))
    return runs


def tried(*words: str) -> tuple[Any, str, str]:
    """(what it returned, stdout, stderr) of a call."""
    ran = CliRunner().invoke(bench_all.all_, list(words), standalone_mode=False, catch_exceptions=False)
    return ran.return_value, ran.stdout, ran.stderr


def test_a_run_is_told_beside_the_last(measured: list[Any], tmp_path: Path) -> None:
    """Better and worse by name, the base's move as the machine's, and what is no longer there; each run takes the other's place."""
    file = str(tmp_path / "last.json")
    measured += [
        run_of(line("hooks/a", 1.0), line("hooks/b", 1.0), line("base/bare", 10.0), line("hooks/old", 1.0)),
        run_of(line("hooks/a", 0.5), line("hooks/b", 2.0), line("base/bare", 20.0), line("hooks/new", 1.0)),
    ]
    _, first, _ = tried("--last", file)
    assert "Compared with nothing: there is no run before this one." in first
    _, second, errors = tried("--last", file)
    assert "Compared with the run of 2026-01-01T00:00:00Z: memd 0.1.0" in second
    assert "-50% better" in second
    assert "better than in the last run: hooks/a" in second
    assert "worse than in the last run: hooks/b" in second
    assert "higher than in the last run: base/bare" in second
    assert "rows of the last run that this one does not have: hooks/old" in errors
    kept = bench_compare.read(Path(file))
    assert not isinstance(kept, str)
    assert [one.name for one in kept.rows] == ["hooks/a", "hooks/b", "base/bare", "hooks/new"]


@pytest.mark.parametrize(
    "content", [b"", b'{"format": "memd-bench-all/1", "rows": [', b"[]", b"\xff\xfe", b'{"format": "other/2"}']
)
def test_a_last_file_that_is_none_is_told_and_replaced(measured: list[Any], tmp_path: Path, content: bytes) -> None:
    """Cut, foreign or empty: the run goes on and is kept."""
    file = tmp_path / "last.json"
    file.write_bytes(content)
    measured.append(run_of(line("hooks/a", 1.0)))
    code, told, _ = tried("--last", str(file))
    assert code == 0
    assert "Compared with nothing: " in told
    assert not isinstance(bench_compare.read(file), str)


def test_without_a_home_a_run_is_told_and_not_kept(
    measured: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After `uninstall --purge` no home comes back."""
    monkeypatch.setenv("MEMD_HOME", str(tmp_path / "none"))
    measured.append(run_of(line("hooks/a", 1.0)))
    code, told, errors = tried()
    assert (code, "hooks/a" in told) == (0, True)
    assert "this run is not kept for the next one" in errors
    assert list(tmp_path.iterdir()) == []


def test_strict_alone_makes_a_missed_bar_an_error(measured: list[Any], tmp_path: Path) -> None:
    """The table is the same."""
    missed = run_of(line("hooks/a", 2.0, verdict=MISSED))
    measured += [missed, missed]
    assert [tried("--last", str(tmp_path / "l"), *strict)[0] for strict in ([], ["--strict"])] == [0, 1]


def test_a_language_that_is_in_order_is_told_in_json_alone() -> None:
    """One that is not, or that has changed, has its row in the table."""
    good = bench_all_rows.judged("guard/de/marked", "of 9", 0.0, 0.0, at_least=False, verdict=OK)
    assert not bench_all._is_told(good)
    assert bench_all._is_told(msgspec.structs.replace(good, name="guard/all/marked"))
    assert bench_all._is_told(msgspec.structs.replace(good, verdict=MISSED))
    assert bench_all._is_told(msgspec.structs.replace(good, changed=bench_compare.BETTER))


def test_the_history_is_the_same_at_every_run(tmp_path: Path) -> None:
    """To the commit, or runs could not be compared."""
    heads = [
        (bench_all_history.make(tmp_path / name) / "refs/heads/main").read_text(encoding="ascii") for name in ("a", "b")
    ]
    assert heads[0] == heads[1] != ""
