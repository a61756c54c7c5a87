"""git's post-commit hook as a harness: whose commit it was, and when it tells nothing."""

import subprocess
from pathlib import Path

import pytest

from memd_hooks.events import HookAnswer, HookEvent, Moment
from memd_hooks.harness import git


@pytest.mark.parametrize(
    ("env", "session"),
    [
        ({}, ""),
        ({"CLAUDE_CODE_SESSION_ID": "c"}, "c"),
        ({"CODEX_SESSION_ID": "x", "CODEX_THREAD_ID": "t"}, "x"),
        ({"CODEX_THREAD_ID": "t"}, "t"),
        ({"COPILOT_AGENT_SESSION_ID": "p"}, "p"),
        ({"CLAUDE_CODE_SESSION_ID": "c", "CODEX_SESSION_ID": "x"}, ""),
        ({"CLAUDE_CODE_SESSION_ID": "", "COPILOT_AGENT_SESSION_ID": "p"}, "p"),
        ({"OPENCODE": "1"}, ""),
        ({"CLAUDE_CODE_SESSION_ID": "a\udcff"}, ""),
    ],
)
def test_the_session_comes_from_the_environment(env: dict[str, str], session: str) -> None:
    """One client's id is the session; two clients' ids are not guessed between."""
    assert git.parse("git-commit", b"", "/r", env) == HookEvent(
        moment=Moment.GIT_COMMIT, harness="git", session=session, cwd="/r"
    )


@pytest.mark.parametrize("event", [m for m in Moment if m is not Moment.GIT_COMMIT])
def test_only_a_commit_is_told(event: str) -> None:
    """git knows no other moment, whatever stands on stdin."""
    assert git.parse(event, b"{}", "/r", {}) is None


def test_without_a_directory_there_is_no_commit() -> None:
    """The commit is HEAD of the directory the hook ran in."""
    assert git.parse("git-commit", b"", "", {}) is None


@pytest.mark.parametrize(
    ("action", "is_replay"),
    [
        ("", False),
        ("commit", False),
        ("commit: rebase the wall", False),
        ("commit (initial): a", False),
        ("commit (amend): a", False),
        ("commit (merge): a", True),
        ("commit (cherry-pick): a", True),
        ("rebase", True),
        ("rebase (pick): a", True),
        ("rebase -i (pick)", True),
        ("cherry-pick: a", True),
        ("am: a", True),
        ("merge f: Merge made", True),
        ("pull --rebase", True),
        ("revert: a", False),
    ],
)
def test_a_replayed_commit_is_recognized(action: str, is_replay: bool) -> None:
    """The words that git writes into its reflog, as seen there."""
    assert git.is_replay(action) is is_replay
    assert (git.parse("git-commit", b"", "/r", {"GIT_REFLOG_ACTION": action}) is None) is is_replay


def test_the_reflog_tells_a_replay_while_the_hook_runs(tmp_path: Path) -> None:
    """With a real git: the reflog line that stands there in post-commit separates own commits from replayed ones."""

    def run(*arguments: str) -> None:
        identity = [
            "-c",
            "user.name=n",
            "-c",
            "user.email=e@x",
            "-c",
            "core.hooksPath=.git/hooks",
            "-c",
            "commit.gpgsign=false",
        ]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    def commit(name: str) -> None:
        (tmp_path / name).write_text(name)
        run("add", name)
        run("commit", "-m", name)

    run("init", "-b", "main")
    hook = tmp_path / ".git/hooks/post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ngit reflog -1 --format=%gs HEAD >>.git/told\n")
    hook.chmod(0o755)
    commit("a")
    run("checkout", "-b", "side")
    commit("b")
    run("checkout", "main")
    commit("c")
    run("cherry-pick", "side")
    run("checkout", "-b", "other", "HEAD~1")
    commit("d")
    run("rebase", "main")
    run("commit", "--amend", "-m", "d2")
    told = (tmp_path / ".git/told").read_text().splitlines()
    assert [git.is_replay(line) for line in told] == [False, False, False, True, False, True, False]


def test_nothing_is_printed() -> None:
    """What a git hook prints lands in a person's terminal."""
    event = HookEvent(moment=Moment.GIT_COMMIT, harness="git", session="", cwd="/r")
    assert git.render(event, HookAnswer(context="x")) == b""
    assert git.cost_units("x") == 1
