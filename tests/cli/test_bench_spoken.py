"""`memd bench evidence --times`: what is timed is what it says, and how it is judged."""

import pytest
from click.testing import CliRunner

from memd_client.cli import bench_evidence, bench_process, bench_spoken
from memd_client.cli.bench_report import MISSED, OK
from memd_client.wire import EXIT_DONE, EXIT_REFUSED


def test_what_is_timed_is_what_it_says() -> None:
    """Each recall finds all its notes, and those of the one are told in stripes."""
    with bench_process.child("-m", bench_spoken.CHILD) as child:
        plain, bound, unread = (child.ask(do=do) for do in ("recall", "recall_bound", "recall_unread"))
        assert all(child.ask(do=do)["ms"] > 0 for do in ("capture", "commit"))
    assert [(one["notes"], one["striped"]) for one in (plain, bound, unread)] == [(20, 0), (20, 20), (20, 20)]


def test_every_row_has_its_number() -> None:
    """One round is enough for all of them."""
    rows = bench_spoken.times(lambda _: None, rounds=1)
    assert [row.bar_ms for row in rows] == [1.0, None, 3.0]
    assert [row.verdict for row in rows][1] == ""
    assert all(row.beside_ms > 0 for row in rows)


@pytest.mark.parametrize(("took", "verdict"), [(2.0, OK), (2.1, MISSED), (0.5, OK)])
def test_a_row_is_the_median_of_the_differences(took: float, verdict: str) -> None:
    """One slow round moves nothing."""
    samples = [{"a": took, "b": 1.0}, {"a": took + 7.0, "b": 8.0}, {"a": 90.0, "b": 1.0}]
    row = bench_spoken._row(samples, "a beyond b", "a", "b", 1.0)
    assert (row.ms, row.beside_ms, row.verdict) == (pytest.approx(took - 1.0), 1.0, verdict)


def test_a_missed_bar_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the table, and with `--strict` by the exit code."""
    slow = bench_spoken.Took(name="a recall", ms=4.0, beside_ms=2.0, bar_ms=1.0, verdict=MISSED)
    monkeypatch.setattr(bench_spoken, "times", lambda _: [slow])
    monkeypatch.setattr(bench_evidence, "PARTS", ())
    told = CliRunner().invoke(bench_evidence.evidence, ["--times"], standalone_mode=False)
    strict = CliRunner().invoke(bench_evidence.evidence, ["--times", "--strict"], standalone_mode=False)
    assert (told.return_value, strict.return_value) == (EXIT_DONE, EXIT_REFUSED)
    assert "a recall  4.00  <= 1  missed  2.00 ms" in told.stdout


def test_a_measuring_child_that_is_gone_is_an_error_that_says_so() -> None:
    """Not a broken pipe, which is what a reader of the report that left looks like: exit 1 without a word."""
    with bench_process.child("-c", "pass") as gone, pytest.raises(OSError, match="a measuring child ended"):
        gone.ask(text="x" * 100_000)
