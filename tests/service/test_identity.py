"""Which repository a place belongs to, as paths and remotes come and go (hooks.md, section 5)."""

import shutil
from pathlib import Path

import pytest

from memd_client import api
from memd_daemon import limits
from memd_daemon.service import repos
from tests.service.desk import Desk, context_of, git, make_repo

RULE = "Always run the tests with the project's own virtual environment."


def told_at(desk: Desk, path: Path, session: str) -> str:
    desk.repo = path
    return context_of(desk.start(session))


def test_a_copy_takes_nothing_while_the_original_stands_though_a_clone_is_gone(desk: Desk, tmp_path: Path) -> None:
    """The repository was last seen first at a clone; that this one was removed does not make the original gone."""
    original = desk.repo
    desk.remember(RULE, kind="directive")
    git(tmp_path, "clone", "-q", str(original), str(tmp_path / "clone"))
    assert RULE in told_at(desk, tmp_path / "clone", "c1")
    shutil.rmtree(tmp_path / "clone")
    shutil.copytree(original, tmp_path / "copy")
    assert told_at(desk, tmp_path / "copy", "c2") == ""
    assert RULE in told_at(desk, original, "c3")


def test_a_remote_that_comes_later_is_learned(desk: Desk, tmp_path: Path) -> None:
    """A repository that was published after its first note is known in a clone of what was published."""
    here = desk.repo
    desk.remember(RULE, kind="directive")
    git(here, "remote", "add", "origin", "https://git.example/team/app.git")
    assert RULE in told_at(desk, here, "c1")
    elsewhere = make_repo(tmp_path / "elsewhere")
    git(elsewhere, "remote", "add", "origin", "git@git.example:team/app")
    assert RULE in told_at(desk, elsewhere, "c2")


def test_a_remote_that_names_another_repository_stays_with_it(desk: Desk, tmp_path: Path) -> None:
    """Two repositories that were told apart do not become one by a changed setting, and neither loses its notes."""
    first = desk.repo
    git(first, "remote", "add", "origin", "https://git.example/team/app.git")
    desk.remember(RULE, kind="directive")
    second = make_repo(tmp_path / "second")
    desk.repo = second
    desk.remember("Deploys go through staging first.", kind="directive")
    git(second, "remote", "add", "origin", "https://git.example/team/app.git")
    told = told_at(desk, second, "c1")
    assert ("staging" in told, RULE in told) == (True, False)
    assert RULE in told_at(desk, first, "c2")


def test_a_fork_beside_its_upstream_never_mixes(desk: Desk, tmp_path: Path) -> None:
    """The same root commits and the same folder name, other remotes."""
    upstream = desk.repo
    git(upstream, "remote", "add", "origin", "https://git.example/team/app.git")
    desk.remember(RULE, kind="directive")
    fork = tmp_path / "fork" / "repo"
    shutil.copytree(upstream, fork)
    git(fork, "remote", "set-url", "origin", "https://git.example/me/app.git")
    git(fork, "remote", "add", "upstream", "https://git.example/team/app.git")
    assert told_at(desk, fork, "c1") == ""


def test_a_directory_that_becomes_a_repository_keeps_its_notes(desk: Desk, tmp_path: Path) -> None:
    """What was said about a folder before `git init` holds after it; a repository below it is another one."""
    folder = tmp_path / "plain"
    folder.mkdir()
    desk.repo = folder
    desk.remember(RULE, kind="directive")
    git(folder, "init", "-q", "-b", "main")
    assert RULE in told_at(desk, folder, "c1")
    assert told_at(desk, make_repo(folder / "inner"), "c2") == ""


def test_a_submodule_is_a_repository_of_its_own(desk: Desk, tmp_path: Path) -> None:
    """Notes of the outer repository stay out of it, and it is the repository that it was made from."""
    outer, inner = desk.repo, make_repo(tmp_path / "inner")
    desk.remember(RULE, kind="directive")
    desk.repo = inner
    desk.remember("Deploys go through staging first.", kind="directive")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    told = told_at(desk, outer / "sub", "c1")
    assert ("staging" in told, RULE in told) == (True, False)


def test_a_bare_repository_is_that_of_its_worktrees_and_clones(desk: Desk, tmp_path: Path) -> None:
    """Standing in the bare folder, in a worktree of it, or in a clone is standing in one repository."""
    bare = tmp_path / "app.git"
    git(tmp_path, "clone", "-q", "--bare", str(make_repo(tmp_path / "seed")), str(bare))
    git(bare, "remote", "remove", "origin")
    git(bare, "worktree", "add", "-q", str(tmp_path / "tree"), "main")
    desk.repo = tmp_path / "tree"
    desk.remember(RULE, kind="directive")
    git(tmp_path, "clone", "-q", str(bare), str(tmp_path / "clone"))
    assert [RULE in told_at(desk, tmp_path / name, name) for name in ("tree", "clone", "app.git")] == [True] * 3


@pytest.mark.parametrize("scope", ["repo", "session"])
def test_a_note_is_confirmed_from_wherever_one_stands(desk: Desk, tmp_path: Path, scope: str) -> None:
    """Elsewhere the date is set and the hashes stay; a note of a session has no repository to look at."""
    desk.start("s1")
    env = {"CLAUDE_CODE_SESSION_ID": "s1"}
    note = desk.remember("add() is duck-typed.", kind="gotcha", anchors=["app.py"], scope=scope, env=env)
    desk.repo = make_repo(tmp_path / "elsewhere")
    done = desk.act("confirm", note.id)
    assert (done.effect, done.told) == ("applied", [])
    assert desk.ask(api.Show(ref=str(note.id), cwd=str(desk.repo))).note.last_confirmed_at != ""


def test_a_long_history_is_read_behind_the_first_look(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repository whose root commits could not be had in time is known all the same after a move."""
    parts, read = desk.daemon.parts, repos.root_commits

    def slow(root: str, deadline_s: float) -> tuple[str, ...]:
        return () if deadline_s < limits.GIT_HISTORY_DEADLINE_S else read(root, deadline_s)

    monkeypatch.setattr(repos, "root_commits", slow)
    desk.remember(RULE, kind="directive")
    parts.behind.join()
    monkeypatch.undo()
    moved = desk.repo.rename(tmp_path / "moved")
    assert RULE in told_at(desk, moved, "c1")
