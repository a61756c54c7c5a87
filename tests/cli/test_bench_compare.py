"""One run beside the one before: which runs are alike, what is a change, and the file in between."""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_client.cli import bench_compare
from memd_client.cli.bench_all_rows import Line, judged
from memd_client.cli.bench_compare import BETTER, FEW, HIGHER, LOWER, NEW, OTHER, SAME, WORSE, beside, compared, unlike
from tests.cli.runs import GIVEN, PLACE, line, run_of


def share(value: float, *, at_least: bool = True) -> Line:
    """A judged row."""
    return judged("guard/all/x", "of 100 cases", value, 0.9, at_least=at_least, verdict="ok")


@pytest.mark.parametrize(
    ("was", "now", "change", "changed"),
    [
        # a ratio's median, and quartiles a tenth of it to either side
        (line("hooks/a", 1.00), line("hooks/a", 1.19), 0.19, SAME),
        (line("hooks/a", 1.00), line("hooks/a", 1.25), 0.25, WORSE),
        (line("hooks/a", 1.25), line("hooks/a", 1.00), -0.2, BETTER),
        (line("hooks/a", 1.00), line("hooks/a", 2.00, 0.5), 1.0, SAME),
        (line("hooks/a", 1.00, 0.0), line("hooks/a", 1.001, 0.0), 0.001, WORSE),
        (line("hooks/a", 1.00, 0.0), line("hooks/a", 1.00, 0.0), 0.0, SAME),
        # what is compared of a row with a base is the ratio, whatever the machine did to the milliseconds
        (line("hooks/a", 1.00), line("hooks/a", 1.00, value=99.0), 0.0, SAME),
        # a base is the machine: neither good nor bad
        (line("base/bare", 10.0), line("base/bare", 20.0), 1.0, HIGHER),
        (line("base/bare", 20.0), line("base/bare", 10.0), -0.5, LOWER),
        (line("base/bare", 10.0), line("base/bare", 11.0), 0.1, SAME),
        # a share has no spread, and a side on which it has to be
        (share(0.90), share(0.91), 0.0111, BETTER),
        (share(0.91), share(0.90), -0.011, WORSE),
        (share(0.90), share(0.90), 0.0, SAME),
        (share(0.01, at_least=False), share(0.02, at_least=False), 1.0, WORSE),
        (share(0.0, at_least=False), share(0.02, at_least=False), None, WORSE),
        # too few rounds for quartiles
        (line("hooks/a", 1.00, rounds=2), line("hooks/a", 9.00), 8.0, FEW),
        (line("hooks/a", 1.00), line("hooks/a", 9.00, rounds=1), 8.0, FEW),
        (line("hooks/a", 1.00, rounds=3), line("hooks/a", 9.00, rounds=3), 8.0, WORSE),
        # another row under the same name
        (line("hooks/a", 1.00, base="1 ms"), line("hooks/a", 9.00), None, OTHER),
        (line("hooks/a", 1.00, unit="MB"), line("hooks/a", 9.00), None, OTHER),
        (share(0.9, at_least=False), share(0.95), None, OTHER),
        # nothing to compare
        (line("hooks/b", 1.00), line("hooks/a", 1.00), None, NEW),
        (line("hooks/a", 1.00, value=None, p25=None, p75=None), line("hooks/a", 1.00), None, ""),
        (line("hooks/a", 1.00), line("hooks/a", 1.00, value=None, ratio=None, p25=None, p75=None), None, ""),
    ],
)
def test_a_change_is_one_beyond_the_spread_of_both(was: Line, now: Line, change: float | None, changed: str) -> None:
    """Quartiles that overlap or touch are the same; better is less, but of a share that has to be large."""
    told = compared(now, {was.name: was})
    assert (told.change, told.changed) == (change if change is None else pytest.approx(change, abs=1e-4), changed)


@given(st.lists(st.tuples(st.floats(0.1, 50), st.floats(0, 0.9)), min_size=2, max_size=2))
def test_two_runs_never_both_call_it_better(figures: list[tuple[float, float]]) -> None:
    """What is better one way is worse the other; what is the same is the same both ways."""
    first, second = (line("hooks/a", middle, spread) for middle, spread in figures)
    there, back = (compared(b, {a.name: a}).changed for a, b in ((first, second), (second, first)))
    assert {BETTER: WORSE, WORSE: BETTER, SAME: SAME}[there] == back
    assert compared(first, {first.name: first}).changed == SAME


@pytest.mark.parametrize(
    ("machine", "parameters", "why"),
    [
        ({}, {}, ""),
        ({"memd": "0.0.9", "python": "3.12.1", "system": "Linux 5.4", "at": "2025-01-01", "load_before": 9.0}, {}, ""),
        ({"cpu": "ARM"}, {}, "on another machine: cpu was ARM"),
        ({"cores": 64}, {}, "on another machine: cores was 64"),
        ({"file_system": ""}, {}, "on another machine: file system was unknown"),
        ({"system": "Darwin 24"}, {}, "on another machine: system was Darwin"),
        ({}, {"notes": 10_000}, "other parameters: notes was 10000"),
        ({}, {"rounds": 3, "seed": 2}, "other parameters: rounds was 3, seed was 2"),
        ({}, {"history": ""}, "other parameters: history was none"),
    ],
)
def test_only_like_is_compared_with_like(machine: dict[str, Any], parameters: dict[str, Any], why: str) -> None:
    """Versions may differ, which is what runs are compared for; the machine and what was measured may not."""
    now = run_of(line("hooks/a", 1.0))
    last = run_of(
        line("hooks/a", 9.0),
        machine=msgspec.structs.replace(PLACE, **machine),
        parameters=msgspec.structs.replace(GIVEN, **parameters),
    )
    told = beside(now, last, Path("/x/last.json"))
    assert unlike(now, last).endswith(why)
    assert bool(why) == bool(unlike(now, last))
    assert told.compared.why.endswith(why)
    assert (told.rows[0].changed, told.compared.memd) == (("", "") if why else (BETTER, last.machine.memd))


def test_a_run_is_read_as_it_was_kept(tmp_path: Path) -> None:
    """In a folder that is made, for its owner alone; a second one takes its place and leaves nothing beside it."""
    file = tmp_path / "bench" / "last.json"
    first = beside(run_of(line("hooks/a", 1.0)), "there is none", file)
    second = beside(run_of(line("hooks/a", 2.0)), first, file)
    for run in (first, second):
        bench_compare.keep(file, run)
        assert bench_compare.read(file) == run
    assert [one.name for one in file.parent.iterdir()] == ["last.json"]
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_no_part_of_a_run_is_taken_for_one(tmp_path: Path) -> None:
    """A file that was cut anywhere is none, and it is said what is wrong with it."""
    file = tmp_path / "last.json"
    bench_compare.keep(file, run_of(line("hooks/a", 1.0)))
    whole = file.read_bytes()
    for cut in range(0, len(whole) - 2, 7):
        file.write_bytes(whole[:cut])
        told = bench_compare.read(file)
        assert isinstance(told, str)
        assert str(file) in told


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b'{"format": "memd-bench-all/9", "rows": []}', "another form"),
        (b'{"format": "memd-bench-all/1"}', "holds no run"),
        (b'{"rows": []}', "holds no run"),
        (b"null", "holds no run"),
        (b"\x00" * 64, "holds no run"),
        (b" " * (bench_compare.FILE_MAX_BYTES + 1), "too long"),
    ],
)
def test_what_is_no_run_says_so(tmp_path: Path, content: bytes, why: str) -> None:
    """Another program's file, a later memd's, an endless one."""
    file = tmp_path / "last.json"
    file.write_bytes(content)
    told = bench_compare.read(file)
    assert isinstance(told, str)
    assert why in told


def test_what_is_no_file_holds_nobody_up(tmp_path: Path) -> None:
    """A pipe nobody writes to, a folder, a name that is too long."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path, why in ((fifo, "is no file"), (tmp_path, "is no file"), (tmp_path / ("x" * 300), "cannot be read")):
        told = bench_compare.read(path)
        assert isinstance(told, str)
        assert why in told


def test_a_run_that_cannot_be_written_leaves_the_last_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole or not at all."""
    file = tmp_path / "last.json"
    bench_compare.keep(file, run_of(line("hooks/a", 1.0)))
    before = file.read_bytes()

    def fails(*_: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="no room"):
        bench_compare.keep(file, run_of(line("hooks/a", 2.0)))
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]
