"""`memd bench hooks`: the shape of its report from a tiny run through the real daemon, and how rows are judged. No speed."""

import json
import math
import os
import signal
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from memd_client.cli import bench, bench_notes, bench_report, bench_rounds, bench_stock
from memd_client.cli.bench_report import MEASURES, MISSED, OK, UNMEASURED, Measure, fixed
from memd_client.cli.bench_rounds import Key, Round

NOTES = 30
RULES = 20
TRULY = 10
ROUNDS = 2
WORDS_LEAST, WORDS_MOST = 12, 36  # of a note


def round_of(value: float | None, unanswered: int = 0) -> Round:
    """A round in which a pre-edit took ``value`` ms."""
    made = Round()
    made.samples[Key.PRE_EDIT] += [] if value is None else [value]
    made.unanswered[Key.PRE_EDIT] = unanswered
    return made


def judged(rounds: list[Round], bar: float | None = 1.35) -> bench_report.Row:
    """The row of these rounds against 10 ms."""
    return bench_report.row(Measure("edit", "an edit", Key.PRE_EDIT, fixed(10.0), "10 ms", bar), rounds)


def test_a_tiny_run_has_every_row_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """All rows are measured through the real daemon, each ratio is a number, all notes have vectors, and the scratch is gone."""
    monkeypatch.setattr(bench_rounds, "IDLE_S", 0.05)
    monkeypatch.setattr(bench_rounds, "REPEATS", 2)
    monkeypatch.setattr(bench_rounds, "COLD_STARTS", 1)
    monkeypatch.setattr(bench_stock, "TRULY", TRULY)
    monkeypatch.setattr(bench_notes, "RULES", RULES)
    at = tmp_path_factory.mktemp("b")
    ran = CliRunner().invoke(
        bench.hooks, ["--notes", str(NOTES), "--rounds", str(ROUNDS), "--at", str(at), "--json"], catch_exceptions=False
    )
    told = json.loads(ran.stdout)
    rows = {row["name"]: row for row in told["rows"]}
    assert list(rows) == [measure.name for measure in MEASURES]
    assert all(math.isfinite(row["ratio"]) and row["p25"] <= row["ratio"] <= row["p75"] for row in rows.values())
    assert all(len(row["rounds"]) == ROUNDS and row["unanswered"] == 0 for row in rows.values())
    assert (told["store"]["notes"], told["store"]["vectors"], told["rounds"]) == (NOTES, NOTES + RULES, ROUNDS)
    assert told["store"]["by_model"] == TRULY
    assert told["missed"] == [row["name"] for row in told["rows"] if row["verdict"] == MISSED]
    assert list(at.iterdir()) == []


@pytest.mark.parametrize(
    ("rounds", "bar", "verdict"),
    [
        ([round_of(13.5)], 1.35, OK),
        ([round_of(13.6)], 1.35, MISSED),
        ([round_of(9.0), round_of(10.0), round_of(99.0)], 1.35, OK),
        ([round_of(9.0, unanswered=1)], 1.35, MISSED),
        ([round_of(None)], 1.35, UNMEASURED),
        ([round_of(None, unanswered=1)], 1.35, MISSED),
        ([round_of(99.0)], None, ""),
    ],
)
def test_a_bar_bounds_the_median_ratio(rounds: list[Round], bar: float | None, verdict: str) -> None:
    """One slow round misses nothing; a hook that was not answered in time does, whatever the others took."""
    assert judged(rounds, bar).verdict == verdict


def test_a_ratio_is_taken_within_its_round() -> None:
    """A machine that is twice as slow in one round changes no ratio: value and reference are of the same round."""
    slow, quick = Round(), Round()
    for made, factor in ((quick, 1.0), (slow, 2.0)):
        made.samples[Key.PRE_EDIT].append(13.0 * factor)
        made.samples[Key.BARE].append(10.0 * factor)
    row = bench_report.row(MEASURES[0], [quick, slow])
    assert (row.p25, row.ratio, row.p75) == (1.3, 1.3, 1.3)


def test_a_prompt_is_allowed_an_edit_an_embedding_and_five_ms() -> None:
    """The prompt's reference is made of the same round's values, and is not there where one of them is not."""
    made = round_of(16.0)
    assert bench_report.prompt_reference(made) is None
    made.samples[Key.EMBED].append(70.0)
    assert bench_report.prompt_reference(made) == 91.0


def test_strict_alone_makes_a_missed_bar_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A noisy machine fails no script that did not ask for it."""
    machine, store = bench_report.machine("ext4"), filled()
    report = bench_report.report(machine, store, [round_of(99.0, unanswered=1)])
    monkeypatch.setattr(bench, "measure", lambda *_: report)
    told = CliRunner().invoke(bench.hooks, [], standalone_mode=False)
    strict = CliRunner().invoke(bench.hooks, ["--strict"], standalone_mode=False)
    assert (told.return_value, strict.return_value) == (0, 1)
    assert "missed: pre-edit" in told.stdout
    assert "1 not answered in time" in told.stdout


def filled() -> bench_report.Filled:
    """Some store."""
    return bench_report.Filled(
        notes=10,
        rules=5,
        vectors=15,
        by_model=10,
        hot_gotchas=2,
        record_seconds=1.0,
        embed_seconds=1.0,
        index_seconds=1.0,
        prompt_tokens=100,
    )


@pytest.mark.parametrize("count", [10, 30, 1_000])
def test_the_notes_are_a_mix_on_files_that_exist(count: int) -> None:
    """Every kind is there, gotchas stand on files of the repository, one file has many and one a single one."""
    notes = bench_notes.said(count)
    anchored = Counter(path for note in notes if note.kind == "gotcha" for path in note.anchors)
    assert len(notes) == count
    assert {note.kind for note in notes} == {"directive", "task", "decision", "gotcha", "finding"}
    assert set(anchored) <= set(bench_notes.FILES)
    assert anchored[bench_notes.HOT_FILE] == min(bench_notes.HOT_GOTCHAS, count // 5)
    assert anchored[bench_notes.EDITED_FILE] == anchored[bench_notes.HOT_FILE]
    assert anchored[bench_notes.LONE_FILE] == 1
    assert all(note.anchors for note in notes if note.kind == "gotcha")


def test_the_notes_are_the_same_at_every_run_and_no_two_alike() -> None:
    """Runs can be compared, and no note is refused as another one said again."""
    notes = bench_notes.said(1_000)
    assert notes == bench_notes.said(1_000)
    assert len({note.content for note in notes}) == len(notes)
    rules = bench_notes.rules()
    assert rules == bench_notes.rules()
    assert len({rule.content for rule in rules}) == len(rules) == bench_notes.RULES
    assert all(WORDS_LEAST <= len(note.content.split()) <= WORDS_MOST for note in notes)


def test_progress_in_a_pipe_is_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    """A stage is told at its begin, its steps in between are not."""
    progress = bench.Progress()
    for text in ("recording: 1 of 3", "recording: 2 of 3", "embedding: 3 notes wait"):
        progress(text)
    progress.end()
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "recording: 1 of 3\nembedding: 3 notes wait\n")


def test_the_scratch_goes_when_its_filling_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever goes wrong, no scratch home stays behind and no daemon of it."""

    def fails(*_: object) -> float:
        raise OSError("no room")

    monkeypatch.setattr(bench.bench_stock, "stock", fails)
    with pytest.raises(OSError, match="no room"):
        bench.measure(10, 1, tmp_path, lambda _: None)
    assert list(tmp_path.iterdir()) == []


def test_a_signal_that_ends_it_lets_it_clean_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`timeout` and a closed terminal leave no daemon and no folder behind, and afterwards signals mean what they meant."""
    before = signal.getsignal(signal.SIGTERM)

    def is_ended(*_: object) -> float:
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("the signal had no effect")

    monkeypatch.setattr(bench.bench_stock, "stock", is_ended)
    with pytest.raises(KeyboardInterrupt), bench.ended_in_order():
        bench.measure(10, 1, tmp_path, lambda _: None)
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) == before
