"""`memd bench load`: AT6 and AT13 in their short form, through a real daemon on its socket (long: scripts/soak). No speed."""

import json
from collections import Counter
from collections.abc import Callable

import pytest
from click.testing import CliRunner

from memd_client.cli import bench_load
from memd_client.cli.bench_load_calls import ECHO, ECHO_KEPT, Samples, percentile, together
from memd_client.cli.bench_load_check import Checked
from memd_client.cli.bench_load_daemon import Sample, growth
from memd_client.cli.bench_load_phases import FLOOD, QUIET, REINDEX, SATURATE, SWEEP, WARM, Phase
from memd_client.cli.bench_load_session import Acknowledged, Client
from memd_client.cli.bench_report import MISSED
from memd_daemon.index.embed import MODEL_DATA, open_session

SESSIONS = 8
NOTES = 30
THINK_S = 0.01
# answered in each phase; of the last in all of them
EVENTS = {WARM: 40, QUIET: 120, REINDEX: 60, SWEEP: 60, FLOOD: 60, SATURATE: 420}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> bench_load.Report:
    """Some hundred events of eight sessions, in all phases."""
    phases = [Phase(name, 0.0, events, 0.0 if name == SATURATE else THINK_S) for name, events in EVENTS.items()]
    at = tmp_path_factory.mktemp("l")
    made = bench_load.measure(at, SESSIONS, NOTES, phases, lambda _: None, idle_s=0.05)
    assert list(at.iterdir()) == []
    return made


def test_nothing_fails_and_nothing_acknowledged_is_lost_under_load(report: bench_load.Report) -> None:
    """AT6. Every call is answered; each note, prompt and commit is there once, none told twice in a turn, the store whole."""
    assert (report.errors, report.trouble, report.logged) == (0, [], [])
    assert report.checked.is_clean, report.checked
    assert report.checked.notes > 0
    assert report.checked.prompts >= SESSIONS
    assert report.events >= EVENTS[SATURATE]
    assert report.is_whole


def test_no_descriptor_is_left_open_by_a_thousand_connections(report: bench_load.Report) -> None:
    """AT6. The daemon has as many open as before, once the sessions are gone."""
    judged = {one.name: one.value for one in report.judged}
    assert judged["descriptors"] is not None
    assert judged["descriptors"] <= 0


def test_each_phase_is_measured_beside_its_echo(report: bench_load.Report) -> None:
    """AT13. Prompts were answered while a reindex, a sweep and a flood went on, and the bare way was measured in each."""
    rows = {(row.phase, row.name): row for row in report.rows}
    for phase in EVENTS:
        for name in ("prompt-submit", "pre-edit"):
            row = rows[phase, name]
            assert row.count > 0
            assert row.p50 is not None
            assert row.p99 is not None
            assert row.p50 <= row.p99
        assert rows[phase, ECHO].count > 0
        assert rows[phase, ECHO_KEPT].count > 0
    assert report.beside[REINDEX] >= 1
    assert report.beside[FLOOD] > 0
    assert report.daemon[-1].events >= report.daemon[0].events
    assert report.missed == [one.name for one in report.judged if one.verdict == MISSED]


def test_the_model_runs_on_one_thread() -> None:
    """AT6. Neither within an operator nor between them: a daemon behind an editor takes one core at most for it."""
    options = open_session(MODEL_DATA).get_session_options()
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({}, 0),
        ({"errors": 1}, 1),
        ({"checked": {"missing": 1}}, 1),
        ({"checked": {"twice": 1}}, 1),
        ({"checked": {"faults": ["event 3 is gone"]}}, 1),
        ({"missed": ["growth"]}, 0),
        ({"missed": ["growth"], "strict": True}, 1),
    ],
)
def test_what_was_lost_is_an_error_and_what_was_slow_is_not(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, object], code: int
) -> None:
    """A noisy machine fails no script that did not ask for it; a lost note fails every one."""
    made = told(change)
    monkeypatch.setattr(bench_load, "measure", lambda *_: made)
    words = ["--strict"] if change.get("strict") else []
    ran = CliRunner().invoke(bench_load.load, words, standalone_mode=False)
    assert ran.return_value == code


def told(change: dict[str, object]) -> bench_load.Report:
    """A report of nothing much."""
    lost = change.get("checked")
    fields: dict[str, object] = {
        "notes": 1, "prompts": 1, "commits": 0, "told": 0, "missing": 0, "missing_first": [], "twice": 0,
        "twice_first": [], "faults": [], "events": 3, **(lost if isinstance(lost, dict) else {}),
    }  # fmt: skip
    missed = change.get("missed")
    return bench_load.Report(
        machine=bench_load.bench_report.machine("ext4"),
        sessions=1,
        notes=10,
        think_ms=0.0,
        seconds={QUIET: 1.0},
        beside={},
        events=3,
        errors=1 if change.get("errors") else 0,
        trouble=[],
        logged=[],
        behind=0,
        rows=[],
        daemon=[],
        checked=Checked(**fields),  # type: ignore[arg-type]
        judged=[],
        missed=missed if isinstance(missed, list) else [],
    )


def sample(events: int, memory_mb: float) -> Sample:
    return Sample(at_s=0.0, phase=QUIET, events=events, memory_mb=memory_mb, anonymous_mb=0.0, descriptors=1, threads=1)


@pytest.mark.parametrize(
    ("memory_at", "expected"),
    [
        (lambda events: 100.0, 0.0),
        (lambda events: 100.0 + events / 10_000, 1.0),
        (lambda events: min(events, 3_000) / 100.0, 0.0),  # grew while it was warming up, and no more
    ],
)
def test_growth_is_what_ten_thousand_events_add_once_it_is_warm(
    memory_at: Callable[[int], float], expected: float
) -> None:
    """The slope over the events, its first third left out."""
    grown = growth([sample(events, memory_at(events)) for events in range(0, 10_001, 500)], lambda one: one.memory_mb)
    assert grown == pytest.approx(expected)


def test_of_nothing_there_is_no_growth() -> None:
    """Too few samples say nothing, and that is told as unmeasured."""
    assert growth([], lambda one: one.memory_mb) is None
    assert growth([sample(5, 1.0)], lambda one: one.memory_mb) is None


def test_of_few_events_there_is_no_growth() -> None:
    """A hundred events told nothing of ten thousand but what the first pages of a daemon cost."""
    assert growth([sample(events, 100.0 + events) for events in range(0, 105, 5)], lambda one: one.memory_mb) is None


def test_samples_of_several_threads_are_those_of_all() -> None:
    """Counts and errors add up, percentiles are of everybody's."""
    one, other = Samples(), Samples()
    one.took[QUIET, "x"].extend([3.0, 1.0])
    other.took[QUIET, "x"].append(2.0)
    other.failed((QUIET, "x"), "gone")
    joined = together([one, other])
    assert joined.of(QUIET, "x") == [1.0, 2.0, 3.0]
    assert joined.errors[QUIET, "x"] == 1
    assert joined.trouble == ["quiet, x: gone"]
    assert percentile(joined.of(QUIET, "x"), 0.99) == 3.0
    assert percentile([], 0.5) is None


def test_a_note_that_is_told_again_within_a_turn_is_seen() -> None:
    """What a client hears is looked through: the check would find a note that came twice, and a held edit."""
    client = Client.__new__(Client)
    client.acknowledged = Acknowledged()
    client._told, client._prompt_id = Counter(), "turn-1"
    client._calls = type("Calls", (), {"session": "s"})()  # type: ignore[assignment]
    context = {
        "additionalContext": "memd: 1 note.\n[7] [agent, inferred] so\n  | [8] no line of memd's own\nmemd: end."
    }
    said = json.dumps({"hookSpecificOutput": context}).encode()
    assert client._listen(said, "") is False
    assert client.acknowledged.twice == []
    client._listen(said, "agent")
    assert client.acknowledged.twice == []
    client._listen(said, "")
    assert client.acknowledged.twice == ["[7] in turn-1 of s"]
    held = {"permissionDecision": "deny", "permissionDecisionReason": "[9] x"}
    assert client._listen(json.dumps({"hookSpecificOutput": held}).encode(), "") is True
    assert client.acknowledged.told == 4


def test_the_phases_share_the_minutes() -> None:
    """A tenth to warm up, and the rest for what is compared; events that are still wanted come last, without thinking."""
    phases = bench_load.planned(10, 1.0, 5_000)
    assert [phase.name for phase in phases] == list(EVENTS)
    assert sum(phase.seconds for phase in phases) == pytest.approx(600)
    assert (phases[-1].events, phases[-1].think_s) == (5_000, 0.0)
    assert [phase.name for phase in bench_load.planned(1, 0.0, 0)][-1] == FLOOD
