"""`memd bench evidence`: a small run through the daemon's own code, how rows are judged, and where texts come from."""

import json
import random
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from click.testing import CliRunner

from memd_client.cli import bench_evidence, bench_texts
from memd_client.cli.bench_report import MISSED, OK
from memd_client.wire import EXIT_DONE, EXIT_REFUSED

CASES = 12


def ran(*words: str) -> bench_evidence.Report:
    told = CliRunner().invoke(
        bench_evidence.evidence, [*words, "--json"], catch_exceptions=False, standalone_mode=False
    )
    return msgspec.json.decode(told.stdout, type=bench_evidence.Report)


def test_copies_are_found_and_other_words_are_not() -> None:
    """On texts that are made: every row meets its bar, and the report says of what it is."""
    report = ran("--cases", str(CASES))
    assert report.missed == []
    assert {row.part for row in report.rows} == {"sources"}
    assert {(row.cases, row.verdict) for row in report.rows} == {(CASES, OK)}
    names = [row.name for row in report.rows]
    assert "20 words copied, written otherwise" in names
    assert names[-2:] == ["other words stamped", "a rule of other words refused"]


def test_public_sets_are_read_where_they_lie(tmp_path: Path) -> None:
    """Each by its own shape; what a set's halves have in common is shown and not judged."""
    words = bench_texts.made(2)
    functions = {str(n): text for n, text in enumerate(words.read[:8])}
    turns = {f"session_{n}": [{"text": text}, {"text": "Yes."}] for n, text in enumerate(words.elsewhere[:8])}
    for name, file, told in (
        ("cosqa", "ds_cosqa.json", [{"docs": functions, "queries": []}]),
        ("locomo", "locomo10.json", [{"conversation": {"speaker_a": "Ann", **turns}}]),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text(json.dumps(told))
    report = ran("--cases", "4", "--data", str(tmp_path))
    assert {row.set for row in report.rows} == {"cosqa", "locomo"}
    alike = [row for row in report.rows if "same kind" in row.name]
    assert {(row.bar, row.verdict) for row in alike} == {(None, "")}
    assert len(alike) == 4


def test_developers_conversations_are_texts(tmp_path: Path) -> None:
    """One of each conversation."""
    (tmp_path / "devmembench").mkdir()
    told = [{"messages": [{"content": "one"}, {"content": "two"}]}, {"messages": [{"content": "three"}]}]
    (tmp_path / "devmembench/sessions.json").write_text(json.dumps(told))
    (texts,) = bench_texts.sets(tmp_path, 1)
    assert {*texts.read, *texts.elsewhere} == {"one\ntwo", "three"}


def pairs_in(folder: Path, *lines: str | dict[str, Any]) -> Path:
    file = folder / "pairs.jsonl"
    file.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return file


def pair(language: str, turn: str, note: str, *stated: str, name: str = "plain: one") -> dict[str, Any]:
    return {"name": name, "language": language, "turns": [turn], "note": note, "stated": stated, "why": "whole"}


def test_pairs_are_judged_by_what_a_daemon_shows(tmp_path: Path) -> None:
    """By language and in all: what is marked falsely is held against none, what is shown against nine in ten."""
    never = "Never commit to main."
    file = pairs_in(
        tmp_path,
        pair("de", "Nie nach main pushen.", "Nie nach main pushen. Sonst nichts.", "Nie nach main pushen."),
        "",
        pair("en", never, "User: never commit to main", "never commit to main"),
        pair("en", "Keep it. Always write a test.", "Always write a test.", "Always write a test.", name="plain: two"),
        pair("en", never, "commit to main.", "commit to main.", name="wrong: shown"),
        pair("en", never, "Never commit to main. Bye.", name="wrong: false"),
        pair("fr", "Jamais vers main.", "vers main."),
    )
    report = ran("--cases", "4", "--pairs", str(file))
    rows = {(row.set, row.name): row for row in report.rows if row.part == "guard"}
    false, shown = "marked, not the user's", "the user's, marked"
    assert {key: (row.cases, round(row.share, 2), row.bar, row.verdict) for key, row in rows.items()} == {
        ("de", false): (1, 0.0, 0.0, OK),
        ("de", shown): (1, 1.0, 0.9, OK),
        ("en", false): (4, 0.25, 0.0, MISSED),
        ("en", shown): (3, 0.67, 0.9, MISSED),
        ("fr", false): (1, 0.0, 0.0, OK),
        ("all", false): (6, 0.17, 0.0, MISSED),
        ("all", shown): (4, 0.75, 0.9, MISSED),
    }
    assert rows["en", false].examples == ["wrong: false: Never commit to main."]
    assert rows["en", shown].examples == ["wrong: shown: committomain"]
    assert {*report.missed} == {f"en/{false}", f"en/{shown}", f"all/{false}", f"all/{shown}"}


GOOD = pair("en", "Never commit.", "Never commit.", "Never commit.")


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([GOOD, "not JSON"], "line 2 is no pair: JSON is malformed"),
        (["\udcff"], "line 1 is no pair: "),
        (
            [{key: value for key, value in GOOD.items() if key != "stated"}],
            "line 1 is no pair: Object missing required field `stated`",
        ),
        ([{**GOOD, "turns": "Never commit."}], "line 1 is no pair: Expected `array`, got `str` - at `$.turns`"),
        ([{**GOOD, "said": []}], "line 1 is no pair: Object contains unknown field `said`"),
        (["[]"], "line 1 is no pair: Expected `object`, got `array`"),
        ([{**GOOD, "stated": ["commit", "Never"]}], "line 1 is no pair: `stated` does not stand in `note`"),
        ([{**GOOD, "stated": [""]}], "line 1 is no pair: `stated` does not stand in `note`"),
        ([""], "there is no pair in "),
    ],
    ids=[
        "not JSON",
        "not UTF-8",
        "a field less",
        "another type",
        "a field more",
        "no object",
        "out of order",
        "nothing stated",
        "empty",
    ],
)
def test_a_file_of_anything_else_is_a_usage_error(tmp_path: Path, lines: list[Any], told: str) -> None:
    """That names the file, the line and what is wrong with it, before anything is measured."""
    file = tmp_path / "pairs.jsonl"
    words = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    file.write_bytes("\n".join(words).encode(errors="surrogateescape"))
    with pytest.raises(click.UsageError) as refused:
        CliRunner().invoke(
            bench_evidence.evidence, ["--pairs", str(file)], catch_exceptions=False, standalone_mode=False
        )
    assert told in refused.value.message
    assert str(file) in refused.value.message


def test_a_folder_without_a_set_is_an_error(tmp_path: Path) -> None:
    """Nothing was measured, so nothing is reported."""
    with pytest.raises(click.UsageError):
        bench_evidence.measure(tmp_path, 1, 1, lambda _: None)


@pytest.mark.parametrize(
    ("wrong", "at_least", "bar", "share", "verdict"),
    [
        (0, True, 0.99, 1.0, OK),
        (1, True, 0.99, 0.99, OK),
        (2, True, 0.99, 0.98, MISSED),
        (0, False, 0.005, 0.0, OK),
        (1, False, 0.01, 0.01, OK),
        (1, False, 0.005, 0.01, MISSED),
        (0, False, 0.0, 0.0, OK),
        (1, False, 0.0, 0.01, MISSED),
        (50, False, None, 0.5, ""),
    ],
)
def test_a_bar_is_on_one_side(wrong: int, at_least: bool, bar: float | None, share: float, verdict: str) -> None:
    """A least share of copies, a greatest one of the others; some of what was judged wrongly is kept to be looked at."""
    row = bench_evidence.row("p", "s", "n", 100, [f"case {n}" for n in range(wrong)], at_least=at_least, bar=bar)
    assert (row.share, row.verdict) == (pytest.approx(share), verdict)
    assert len(row.examples) == min(wrong, bench_evidence.EXAMPLES)


def test_a_missed_bar_is_told_and_with_strict_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what was judged wrongly."""
    missed = bench_evidence.row(
        "sources", "made", "20 words copied", 2, ["what was\nnot found"], at_least=True, bar=0.99
    )
    report = bench_evidence.Report(machine=bench_evidence.bench_report.machine(""), seed=1, rows=[missed], missed=["x"])
    monkeypatch.setattr(bench_evidence, "measure", lambda *_: report)
    told = CliRunner().invoke(bench_evidence.evidence, [], standalone_mode=False)
    strict = CliRunner().invoke(bench_evidence.evidence, ["--strict"], standalone_mode=False)
    assert (told.return_value, strict.return_value) == (EXIT_DONE, EXIT_REFUSED)
    assert "50.00%" in told.stdout
    assert "what was not found" in told.stdout


@pytest.mark.parametrize("seed", range(5))
def test_the_same_words_are_written_otherwise(seed: int) -> None:
    """In their order, none more and none less."""
    chance = random.Random(seed)
    run = bench_texts.made(seed).read[0][:400]
    other = bench_evidence.otherwise(chance, run)
    bare = [word.strip(".,;—>").casefold() for word in other.split()]
    assert [word for word in bare if word] == [word.strip(".").casefold() for word in run.split()]
    assert other != run


def test_texts_are_the_same_for_the_same_seed() -> None:
    """And others for another."""
    assert bench_texts.made(3) == bench_texts.made(3)
    assert bench_texts.made(3) != bench_texts.made(4)
