"""Who is asking: joined to a session only where there is no doubt (trust-boundary.md, "Who is asking")."""

import pytest

from memd_client import api
from memd_daemon import errors
from memd_daemon.model.delivery import Context
from memd_daemon.service import people
from memd_daemon.service.asker import asker_of
from memd_daemon.service.hookcounts import HookCounts
from tests.service.desk import Desk, context_of, git

CLAUDE, CODEX = "CLAUDE_CODE_SESSION_ID", "CODEX_SESSION_ID"


@pytest.mark.parametrize(
    ("env", "joined"),
    [
        ({}, ""),
        ({CLAUDE: "c1"}, "c1"),
        ({CLAUDE: "unknown"}, ""),
        ({CLAUDE: "ended"}, ""),
        ({CODEX: "x1", "CODEX_THREAD_ID": "x1"}, "x1"),
        ({CLAUDE: "c1", CODEX: "unknown"}, "c1"),
        ({CLAUDE: "c1", CODEX: "x1"}, ""),
        ({CODEX: "c1"}, ""),
    ],
    ids=[
        "nothing",
        "one",
        "unknown",
        "ended",
        "two names of one",
        "one of them live",
        "two live",
        "another client's id",
    ],
)
def test_an_environment_joins_the_one_live_session_that_it_names(desk: Desk, env: dict[str, str], joined: str) -> None:
    """Never the first of two, never one of another client that happens to have the same id."""
    ledger = desk.daemon.parts.ledger
    for session, harness in (("c1", "claude"), ("x1", "codex"), ("ended", "claude")):
        ledger.put_context(Context(session=session, harness=harness, ended=session == "ended"))
    assert asker_of(ledger, env, "cli").session == joined


@pytest.mark.parametrize("surface", ["git", "hook", "sweep", "sync", "", "nonsense"])
def test_a_client_does_not_pass_for_a_door_of_the_daemon(desk: Desk, surface: str) -> None:
    """Refused with the list of what it may be, and nothing is recorded."""
    with pytest.raises(errors.UnknownWord):
        desk.remember("A claim.", surface=surface)
    assert desk.ask(api.ListNotes(cwd=str(desk.repo))).notes == []


def test_a_commit_names_no_session_that_was_never_heard_of(desk: Desk) -> None:
    """The environment of a hook is anybody's to set."""
    (desk.repo / "app.py").write_text("x = 2\n")
    git(desk.repo, "commit", "-qam", "Change it")
    desk.hook("git-commit", b"", env=b"CLAUDE_CODE_SESSION_ID=made-up\n")
    assert "made-up" not in desk.ask(api.ListNotes(cwd=str(desk.repo))).notes[0].content


def test_commits_do_not_crowd_out_what_may_be_told(desk: Desk) -> None:
    """Thirty commits that speak of it, and the one finding that somebody wrote still arrives."""
    for number in range(30):
        desk.remember(f"importer retries on locked database, number {number}", provenance="auto")
    desk.remember("The importer retries three times when the database file is found to be locked by another process.")
    told = context_of(desk.prompt("why does the importer retry on a locked database?"))
    assert "three times" in told


@pytest.mark.parametrize("sizes", [(5, 32), (32, 5), (32, 0)])
def test_what_is_no_key_is_not_enrolled(desk: Desk, sizes: tuple[int, int]) -> None:
    """Such a key could never sign, and the first one keeps out every other."""
    with pytest.raises(errors.BadRequest):
        people.enrol(desk.daemon.parts, desk.plans, api.Enrol(public=b"k" * sizes[0], recovery_public=b"r" * sizes[1]))
    assert desk.ask(api.Enrol()).enrolled == []


def test_an_event_that_only_ever_failed_is_told() -> None:
    """Down never looks like no results."""
    counts = HookCounts()
    with pytest.raises(ZeroDivisionError), counts.failure_of("claude", "read"):
        raise ZeroDivisionError
    assert counts.told()["claude read"]["failures"] == 1


def test_a_block_counts_as_failed_where_it_raises_whatever_it_is_that_it_raises() -> None:
    """Also what ends a thread; who says that he is of something unknown is counted under no name of his own."""
    counts = HookCounts()
    with counts.failure_of("claude", "read"):
        pass
    assert counts.told() == {}
    with pytest.raises(KeyboardInterrupt), counts.failure_of("made\nup", "anything"):
        raise KeyboardInterrupt
    assert {name: told["failures"] for name, told in counts.told().items()} == {"unknown unknown": 1}
