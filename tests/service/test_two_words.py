"""Two words of one event, as where a client's settings name memd's hook twice: the first is answered, the second is silence, also
where the daemon is replaced in between (delivery.md, "Once").
"""

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memd_client import api, wire
from memd_daemon import limits
from memd_daemon.service import deliver
from tests.service.desk import Desk, context_of, make_repo
from tests.service.processes import client
from tests.service.test_once import FINDING, GOTCHA, QUESTION, RULE, many_rules, told

PATIENCE_MS = 60_000


def many_caveats(desk: Desk) -> None:
    for number in range(20):
        words = f"Caveat {number}: " + "mind the order of the operands, since strings are added here too; " * 3
        desk.remember(words, kind="gotcha", priority="high", anchors=["app.py"])


def many_findings(desk: Desk) -> None:
    for number in range(40):
        desk.remember(f"{FINDING} Of importer number {number}, that is, with a schema of its own and more such words.")


@pytest.mark.parametrize("source", ["startup", "clear", "fork", "resume", "compact"])
def test_a_start_that_two_entries_tell_of_is_one_start(desk: Desk, source: str) -> None:
    """The second adds no epoch and no second budget: what did not fit stays out."""
    many_rules(desk)
    first = context_of(desk.start(source=source))
    assert "did not fit" in first
    assert desk.start(source=source) == ""
    assert [c["epoch"] for c in desk.ask(api.Status()).sessions] == [0]


def test_a_later_start_is_another_one(desk: Desk) -> None:
    """Two compactions of a long turn, each as long as a summary takes apart."""
    desk.remember(RULE, kind="directive")
    for _ in range(2):
        assert RULE in context_of(desk.start(source="compact"))
        desk.clock.ms += limits.SAME_START_WINDOW_MS + 1


@pytest.mark.parametrize("source", ["startup", "clear", "fork", "compact"])
def test_a_start_that_another_client_made_up_silences_none(desk: Desk, tmp_path: Path, source: str) -> None:
    """Somebody who knows a session's name tells of its start, or its compaction, just before it comes."""
    desk.remember(RULE, kind="directive")
    desk.start()
    with client(tmp_path) as mine, client(tmp_path) as other:
        assert RULE in context_of(desk.start(source=source, pid=other.hook))
        assert RULE in context_of(desk.start(source=source, pid=mine.hook))


def test_a_session_that_is_resumed_at_once_is_told_what_is_new(desk: Desk, tmp_path: Path) -> None:
    """A script can be as fast as the client: another process, or an end in between, makes it another start."""
    desk.start(source="resume")
    desk.hook("session-end", desk.payload("SessionEnd", "s1", reason="other"))
    desk.remember(RULE, kind="directive")
    assert RULE in context_of(desk.start(source="resume"))
    with client(tmp_path) as first, client(tmp_path) as second:
        desk.start("s2", source="resume", pid=first.hook)
        desk.remember("Never touch the generated files.", kind="directive")
        assert "generated files" in context_of(desk.start("s2", source="resume", pid=second.hook))
        assert desk.start("s2", source="resume", pid=second.hook) == ""


def test_another_sessions_end_is_not_this_ones(desk: Desk) -> None:
    """A start whose second word comes behind it is told of once."""
    many_rules(desk)
    desk.start("s2")
    assert desk.start()
    desk.hook("session-end", desk.payload("SessionEnd", "s2", reason="other"))
    assert desk.start() == ""


def test_a_prompt_that_two_entries_tell_of_is_one_prompt(desk: Desk) -> None:
    """One turn is stored, and one budget spent."""
    many_findings(desk)
    first = context_of(desk.prompt(QUESTION))
    assert "did not fit" in first
    assert desk.prompt(QUESTION) == ""
    assert len(desk.ask(api.Turns()).turns) == 1


def test_a_read_that_two_entries_tell_of_is_one_read(desk: Desk) -> None:
    """Gotchas that did not fit into the first answer do not come with the second."""
    many_caveats(desk)
    assert "did not fit" in context_of(desk.read("app.py", use="toolu_r"))
    assert desk.read("app.py", use="toolu_r") == ""


def test_a_subagents_start_that_two_entries_tell_of_is_one_start(desk: Desk) -> None:
    """By its agent's id and its turn: one that is taken up again later is told what it has not been told."""
    many_rules(desk)
    payload = desk.payload("SubagentStart", "s1", agent_id="a1", agent_type="x", prompt_id="p1")
    assert "did not fit" in context_of(desk.hook("subagent-start", payload))
    assert desk.hook("subagent-start", payload) == ""
    assert "memd: " in context_of(desk.hook("subagent-start", {**payload, "prompt_id": "p2"}))


def test_calls_that_a_gateway_numbers_anew_are_calls_of_their_own(desk: Desk) -> None:
    """Not every model's ids are unique in a session: another input, or another turn, is another call."""
    desk.remember(GOTCHA, kind="gotcha", anchors=["app.py"])
    desk.remember("The second file is generated.", kind="gotcha", anchors=["other.py"])
    assert GOTCHA in told(desk.edit("app.py", use="call_0"))
    assert "generated" in told(desk.edit("other.py", use="call_0"))
    desk.start(source="compact")
    assert GOTCHA in told(desk.edit("app.py", use="call_0", prompt_id="p2"))


def test_ids_with_spaces_are_told_apart(desk: Desk) -> None:
    """What the one ends with and the other begins with makes no event of two."""
    desk.remember(GOTCHA, kind="gotcha", anchors=["app.py"])
    assert GOTCHA in told(desk.edit("app.py", use="call 1", prompt_id="2"))
    desk.start(source="compact")
    assert GOTCHA in told(desk.edit("app.py", use="call", prompt_id="1 2"))


def test_a_first_answer_that_failed_leaves_it_to_the_second(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever went wrong: what was not answered was not told."""
    desk.remember(GOTCHA, kind="gotcha", anchors=["app.py"])
    desk.start()
    with monkeypatch.context() as broken:
        broken.setattr(deliver.candidates, "on_paths", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            desk.edit("app.py", use="toolu_1")
    assert GOTCHA in told(desk.edit("app.py", use="toolu_1"))


def test_a_first_answer_that_was_too_late_leaves_it_to_the_second(desk: Desk) -> None:
    """What was not sent was not told."""
    desk.remember(RULE, kind="directive")
    payload = json.dumps(desk.payload("SessionStart", "s1", source="startup")).encode()
    late = wire.Hook(
        os.urandom(16),
        time.monotonic_ns() - 1,
        0,
        "claude",
        "session-start",
        os.fsencode(desk.repo),
        b"",
        payload,
    )
    assert desk.daemon.hook(late, 0) == b""
    assert RULE in context_of(desk.start())


def test_a_probe_is_nobodys_twin(desk: Desk) -> None:
    """An installer's question does not silence the session's own."""
    desk.remember(RULE, kind="directive")
    assert RULE in context_of(desk.start(probe=True))
    assert RULE in context_of(desk.start())
    assert RULE in context_of(desk.start(probe=True, session="s3"))


def test_events_of_other_sessions_and_turns_are_no_twins(desk: Desk) -> None:
    """Neither the same words in the next turn, nor the same id in another session."""
    desk.remember(GOTCHA, kind="gotcha", priority="high", anchors=["app.py"])
    for session in ("s1", "s2"):
        assert GOTCHA in told(desk.edit("app.py", session=session, use="toolu_same"))
    for prompt in ("p1", "p2"):
        desk.prompt("the same words", prompt_id=prompt)
    assert len(desk.ask(api.Turns()).turns) == 2


def test_what_was_heard_is_bounded(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest goes; its twin would have come long ago."""
    monkeypatch.setattr(limits, "EVENTS_HEARD_MAX", 2)
    desk.remember(GOTCHA, kind="gotcha", anchors=["app.py"])
    for session in ("s1", "s2", "s3"):
        assert GOTCHA in told(desk.edit("app.py", session=session, use="toolu_same"))
        assert desk.edit("app.py", session=session, use="toolu_same") == ""


def test_hooks_at_the_same_time_tell_once(desk: Desk) -> None:
    """Eight threads, each the hook of another call on the same file."""
    desk.remember(GOTCHA, kind="gotcha", priority="high", anchors=["app.py"])
    gate, answers = threading.Barrier(8), []

    def ask() -> None:
        gate.wait()
        answers.append(told(desk.edit("app.py")))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(GOTCHA in answer for answer in answers) == 1
    assert answers.count("") == 7


# --- where the daemon is replaced in between


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook that lives for a minute may be older than a daemon that took long to come up."""
    monkeypatch.setattr(limits, "HOOK_LIFE_MAX_MS", PATIENCE_MS)


def started_again(desk: Desk, after_ms: int = 1_000) -> Desk:
    """The next daemon of the same home, that much later."""
    home, repo, now_ms = desk.home, desk.repo, desk.clock.ms + after_ms
    desk.close()
    again = Desk(home, repo)
    again.clock.ms = now_ms
    return again


def starts(desk: Desk, source: str) -> str:
    return desk.start(source=source)


def asks(desk: Desk, source: str) -> str:
    return desk.prompt(QUESTION)


def begins_an_agent(desk: Desk, source: str) -> str:
    payload = desk.payload("SubagentStart", "s1", agent_id="a1", agent_type="x", prompt_id="p1")
    return desk.hook("subagent-start", payload)


def edits(desk: Desk, source: str) -> str:
    return desk.edit("app.py", use="toolu_1")


@pytest.mark.usefixtures("patience")
@pytest.mark.parametrize(
    ("stock", "event", "source", "is_receipted"),
    [
        *((many_rules, starts, source, True) for source in ("startup", "clear", "fork", "resume", "compact")),
        (many_rules, starts, "startup", False),
        (many_findings, asks, "", True),
        (many_rules, begins_an_agent, "", True),
        (many_caveats, edits, "", True),
        (many_caveats, edits, "", False),
    ],
)
def test_a_restart_between_two_words_of_one_event_tells_nothing_again(
    tmp_path: Path,
    stock: Callable[[Desk], None],
    event: Callable[[Desk, str], str],
    source: str,
    is_receipted: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first word was answered by a daemon that is gone: no second epoch, no second budget, and nothing came of a hold yet."""
    desk = Desk(tmp_path / "home", make_repo(tmp_path / "repo"))
    stock(desk)
    if event is not starts:
        desk.start()
    if not is_receipted:
        monkeypatch.setattr(desk.daemon, "receipt", lambda request: None)
    assert "did not fit" in event(desk, source)
    deliveries = len(desk.ask(api.Deliveries()).deliveries)
    again = started_again(desk)
    try:
        assert event(again, source) == ""
        assert len(again.ask(api.Deliveries()).deliveries) == deliveries
        assert again.ask(api.Status()).holds["repeated"] == 0
    finally:
        again.close()


@pytest.mark.usefixtures("patience")
@pytest.mark.parametrize("after_ms", [PATIENCE_MS + 1, -PATIENCE_MS - 1])
def test_a_start_long_after_a_restart_is_one_of_its_own(tmp_path: Path, after_ms: int) -> None:
    """No hook lives so long; nor is it the second word by a clock that was set back."""
    desk = Desk(tmp_path / "home", make_repo(tmp_path / "repo"))
    desk.remember(RULE, kind="directive")
    assert RULE in context_of(desk.start())
    again = started_again(desk, after_ms)
    try:
        assert RULE in context_of(again.start())
    finally:
        again.close()


@pytest.mark.usefixtures("patience")
def test_a_session_that_ended_before_the_restart_starts_anew(tmp_path: Path) -> None:
    """An end in between makes it another start, as without a restart."""
    desk = Desk(tmp_path / "home", make_repo(tmp_path / "repo"))
    desk.remember(RULE, kind="directive")
    assert RULE in context_of(desk.start())
    desk.hook("session-end", desk.payload("SessionEnd", "s1", reason="other"))
    again = started_again(desk)
    try:
        assert RULE in context_of(again.start())
    finally:
        again.close()


@pytest.mark.usefixtures("patience")
def test_other_events_after_a_restart_are_no_second_words(tmp_path: Path) -> None:
    """Another client's start, another call, another turn."""
    desk = Desk(tmp_path / "home", make_repo(tmp_path / "repo"))
    desk.remember(RULE, kind="directive")
    desk.remember(GOTCHA, kind="gotcha", anchors=["app.py"])
    with client(tmp_path) as mine, client(tmp_path) as other:
        assert RULE in context_of(desk.start(pid=other.hook))
        desk.edit("other.py", use="toolu_1")
        again = started_again(desk)
        try:
            assert RULE in context_of(again.start(pid=mine.hook))
            assert GOTCHA in told(again.edit("app.py", use="toolu_1"))
        finally:
            again.close()
