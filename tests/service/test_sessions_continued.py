"""Notes of a session hold in the session that was forked from it, or that its client began by a clear (recall.md, "The sweep")."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memd_client import api
from memd_daemon.service.clients import PEER, resumed_by
from tests.service.desk import Desk, context_of, desk_at
from tests.service.processes import Client, client

RULE = "In this session, answer in rhymes."
OTHER = "In this session, leave the tests alone."


@contextmanager
def shell_of(one: Client | None) -> Iterator[None]:
    """Requests come from below this client."""
    token = PEER.set(one.carrier if one else 0)
    try:
        yield
    finally:
        PEER.reset(token)


def own(
    desk: Desk, one: Client | None, session: str, content: str = RULE, kind: str = "directive", **words: Any
) -> int:
    """A note of this session alone."""
    with shell_of(one):
        env = {"CLAUDE_CODE_SESSION_ID": session}
        return int(desk.remember(content, kind=kind, scope="session", env=env, **words).id)


def begin(desk: Desk, session: str, source: str, pid: int = 0) -> str:
    desk.clock.ms += 60_000
    return context_of(desk.start(session, source, pid=pid))


def end(desk: Desk, session: str, reason: str, pid: int = 0) -> None:
    desk.hook("session-end", desk.payload("SessionEnd", session, reason=reason), pid=pid)


def test_a_clear_continues_the_session_of_its_client(desk: Desk, tmp_path: Path) -> None:
    """Over several clears; a session of another client does not continue it, nor does a new start in the same one."""
    with client(tmp_path) as first, client(tmp_path) as second:
        begin(desk, "s1", "startup", first.hook)
        own(desk, first, "s1")
        assert RULE in begin(desk, "s1", "resume", first.hook)
        assert RULE not in begin(desk, "t1", "startup", second.hook)
        end(desk, "s1", "clear", first.hook)
        assert RULE in begin(desk, "s2", "clear", first.hook)
        end(desk, "t1", "clear", second.hook)
        assert RULE not in begin(desk, "t2", "clear", second.hook)
        own(desk, first, "s2", OTHER)
        end(desk, "s2", "clear", first.hook)
        told = begin(desk, "s3", "clear", first.hook)
        assert (RULE in told, OTHER in told) == (True, True)
        assert RULE not in begin(desk, "s4", "startup", first.hook)


def test_a_session_that_is_taken_up_again_at_once_is_the_one_that_a_clear_continues(desk: Desk, tmp_path: Path) -> None:
    """Nothing else has come to its context, and it is the client's session all the same; no end of either was heard."""
    with client(tmp_path) as one:
        desk.start("s1", pid=one.hook)
        desk.start("s2", pid=one.hook)
        desk.start("s1", "resume", pid=one.hook)
        desk.start("s3", "clear", pid=one.hook)
    context = desk.daemon.parts.ledger.context("s3", "")
    assert context is not None
    assert context.continues == ("s1",)


def test_a_fork_within_the_client_continues_its_session(desk: Desk, tmp_path: Path) -> None:
    """And not the other way round: what the fork adds does not hold in the session it came from."""
    with client(tmp_path) as one:
        begin(desk, "s1", "startup", one.hook)
        own(desk, one, "s1")
        end(desk, "s1", "resume", one.hook)
        assert RULE in begin(desk, "f1", "fork", one.hook)
        own(desk, one, "f1", OTHER)
        end(desk, "f1", "resume", one.hook)
        assert OTHER not in begin(desk, "s1", "resume", one.hook)
        end(desk, "s1", "resume", one.hook)
        assert OTHER in begin(desk, "f1", "compact", one.hook)


@pytest.mark.parametrize(
    "words", [("--resume", "s1", "--fork-session"), ("--resume=s1", "--fork-session"), ("-r", "s1")]
)
def test_a_client_that_was_started_to_fork_names_the_session(
    desk: Desk, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """On its command line; the client of the other session may be there still."""
    with client(tmp_path) as first, client(tmp_path, words=("claude", "-p", "hi", *words)) as second:
        begin(desk, "s1", "startup", first.hook)
        own(desk, first, "s1")
        assert RULE in begin(desk, "f1", "fork", second.hook)


@pytest.mark.parametrize("words", [("--resume", "no-such", "--fork-session"), ("--continue", "--fork-session"), ()])
def test_what_nobody_says_is_not_guessed(desk: Desk, tmp_path: Path, words: tuple[str, ...]) -> None:
    """An unknown session, the latest of whoever's, none at all: the fork begins with the repository's notes alone."""
    with client(tmp_path) as first, client(tmp_path, words=("claude", *words)) as second:
        begin(desk, "s1", "startup", first.hook)
        own(desk, first, "s1")
        assert RULE not in begin(desk, "f1", "fork", second.hook)


def test_where_the_system_says_nothing_a_clear_is_a_new_session(desk: Desk) -> None:
    """No process is known, so nothing is continued."""
    begin(desk, "s1", "startup")
    own(desk, None, "s1")
    assert RULE not in begin(desk, "s2", "clear")


def test_the_line_outlives_the_daemon(tmp_path: Path) -> None:
    """Which session lived in a client stands in the ledger."""
    with client(tmp_path) as one:
        with desk_at(tmp_path) as desk:
            begin(desk, "s1", "startup", one.hook)
            own(desk, one, "s1")
            end(desk, "s1", "clear", one.hook)
            repo = desk.repo
        again = Desk(tmp_path / "home", repo)
        assert RULE in begin(again, "s2", "clear", one.hook)
        again.close()


def test_what_is_continued_holds_at_every_moment_and_for_every_question(desk: Desk, tmp_path: Path) -> None:
    """A gotcha at its file, a finding on a prompt, for a subagent too; recall and list name them."""
    with client(tmp_path) as one:
        begin(desk, "s1", "startup", one.hook)
        own(desk, one, "s1", "app.py is frozen while this session works on it.", "gotcha", anchors=["app.py"])
        own(desk, one, "s1", "The importer retries three times on a locked database.", "finding")
        own(desk, one, "s1")
        end(desk, "s1", "clear", one.hook)
        begin(desk, "s2", "clear", one.hook)
        assert "frozen" in context_of(desk.read("app.py", session="s2"))
        question = "why does the importer retry three times when the database is locked?"
        assert "retries three times" in context_of(desk.prompt(question, session="s2"))
        payload = desk.payload("SubagentStart", "s2", agent_id="a1", agent_type="x", prompt_id="p1")
        assert RULE in context_of(desk.hook("subagent-start", payload))
        env = {"CLAUDE_CODE_SESSION_ID": "s2"}
        with shell_of(one):
            assert len(desk.ask(api.ListNotes(cwd=str(desk.repo), env=env)).notes) == 3
            assert "retries three times" in desk.recall("importer retries", env=env).text
        assert "retries three times" not in desk.recall("importer retries").text


def test_a_line_is_bounded_and_never_a_ring(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty clears in a row; and a client that goes back and forth."""
    from memd_daemon import limits

    monkeypatch.setattr(limits, "SESSIONS_CONTINUED_MAX", 3)
    with client(tmp_path) as one:
        for number in range(6):
            begin(desk, f"s{number}", "clear" if number else "startup", one.hook)
        context = desk.daemon.parts.ledger.context("s5", "")
        assert context is not None
        assert context.continues == ("s4", "s3", "s2")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("claude", "--resume", "s1"), "s1"),
        (("claude", "--resume=s1", "x"), "s1"),
        (("claude", "-r", "s1", "--fork-session"), "s1"),
        (("claude", "--resume"), ""),
        (("claude", "--resume", "--fork-session"), ""),
        (("claude", "--resumed", "s1"), ""),
        (("claude", "-p", "--resume is a flag"), ""),
        ((), ""),
    ],
)
def test_a_command_line_names_a_session_or_none(words: tuple[str, ...], named: str) -> None:
    """Behind the option, or in the same word."""
    assert resumed_by(words, ("--resume", "-r")) == named
