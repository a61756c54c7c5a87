"""Checkouts that are remembered: always what a fresh look finds, whatever git or a person did in between."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from memd_daemon import limits
from memd_daemon.ground import checkouts
from memd_daemon.ground.checkouts import Checkouts
from memd_daemon.ground.repository import Checkout, find_checkout
from tests.service.desk import git, make_repo


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The directories that were really looked at."""
    seen: list[str] = []

    def look(directory: str) -> Checkout:
        seen.append(directory)
        return find_checkout(directory)

    monkeypatch.setattr(checkouts, "find_checkout", look)
    return seen


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with a folder two levels down."""
    made = make_repo(tmp_path.resolve() / "repo")
    (made / "src" / "deep").mkdir(parents=True)
    return made


def worktree(repo: Path) -> None:
    """The repository's folder becomes a worktree of a clone of it."""
    git(repo, "clone", "-q", "--bare", str(repo), str(repo.parent / "bare"))
    shutil.rmtree(repo / ".git")
    git(repo.parent / "bare", "worktree", "add", "-q", "-b", "side", str(repo.parent / "side"))
    (repo.parent / "side" / ".git").rename(repo / ".git")


CHANGES: dict[str, Callable[[Path], object]] = {
    "another branch": lambda repo: git(repo, "switch", "-q", "-c", "topic"),
    "detached": lambda repo: git(repo, "switch", "-q", "--detach"),
    "a remote": lambda repo: git(repo, "remote", "add", "origin", "https://example.invalid/a/b.git"),
    "a remote that is a path": lambda repo: git(repo, "remote", "add", "origin", str(repo.parent)),
    "no repository any more": lambda repo: shutil.rmtree(repo / ".git"),
    "moved away": lambda repo: (repo / ".git").rename(repo.parent / ".git"),
    "a worktree": worktree,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.parametrize("inside", ["", "src/deep"])
def test_a_change_is_seen_at_once(repo: Path, inside: str, change: Callable[[Path], object]) -> None:
    """What is remembered never outlives what it was read from."""
    here, known = str(repo / inside), Checkouts()
    before = known.at(here)
    assert known.at(here) == before == find_checkout(here)
    change(repo)
    after = known.at(here)
    assert after == find_checkout(here) != before
    assert known.at(here) == after


def test_a_repository_in_between_is_seen(repo: Path) -> None:
    """From then on the folder below is of the nearer one, and the folder above as it was."""
    known = Checkouts()
    above = known.at(str(repo)), known.at(str(repo / "src/deep"))
    make_repo(repo / "src" / "inner")
    (repo / "src" / "inner" / ".git").rename(repo / "src" / ".git")
    assert known.at(str(repo / "src/deep")).root == str(repo / "src")
    assert known.at(str(repo)) == above[0]


@pytest.mark.parametrize("mark", ["a link to nowhere", "an empty folder"])
def test_below_a_mark_that_leads_nowhere_every_call_looks(repo: Path, looks: list[str], mark: str) -> None:
    """It may come to lead somewhere, without any change of what decides now."""
    standing = repo / "src" / ".git"
    standing.mkdir() if mark == "an empty folder" else standing.symlink_to("nowhere")
    known, here = Checkouts(), str(repo / "src" / "deep")
    assert known.at(here).root == str(repo)
    assert known.known_at(here) is None
    looks.clear()
    assert known.at(here).root == str(repo)
    assert looks


@pytest.mark.parametrize("mark", ["a link to nowhere", "a link to a repository", "a file"])
def test_a_mark_that_comes_in_between_ends_what_is_known(repo: Path, mark: str) -> None:
    """Whatever it is."""
    known, here, standing = Checkouts(), str(repo / "src" / "deep"), repo / "src" / ".git"
    assert known.at(here) is known.known_at(here)
    if mark == "a file":
        standing.write_text("gitdir: elsewhere\n")
    else:
        standing.symlink_to("nowhere" if mark == "a link to nowhere" else repo / ".git")
    assert known.known_at(here) is None
    assert known.at(here) == find_checkout(here)


def test_nothing_is_read_again_while_nothing_changed(repo: Path, looks: list[str]) -> None:
    """A commit changes no branch, remote or place, so it costs no look either."""
    known = Checkouts()
    known.at(str(repo / "src/deep"))
    looks.clear()
    git(repo, "commit", "-q", "--allow-empty", "-m", "second")
    known.at(str(repo / "src/deep"))
    assert looks == []


def test_outside_git_every_call_looks(tmp_path: Path) -> None:
    """A repository may come to be at any place above."""
    here, known = tmp_path.resolve() / "plain", Checkouts()
    here.mkdir()
    assert known.at(str(here)) == Checkout(root=str(here))
    make_repo(here / "new")
    (here / "new" / ".git").rename(here / ".git")
    assert known.at(str(here)).common == str(here / ".git")


def test_the_clone_of_a_path_is_looked_at_each_time(repo: Path) -> None:
    """Its remote is named by what lies at the other path."""
    clone, known = repo.parent / "clone", Checkouts()
    git(repo, "clone", "-q", str(repo), str(clone))
    assert known.at(str(clone)).remote == str(repo / ".git")
    shutil.rmtree(repo)
    assert known.at(str(clone)).remote == str(repo)


def test_the_number_of_remembered_directories_is_bounded(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that runs in a thousand folders does not grow the daemon."""
    monkeypatch.setattr(limits, "CHECKOUTS_KNOWN_MAX", 2)
    known = Checkouts()
    for name in ("a", "b", "c", "d", "e"):
        (repo / name).mkdir()
        assert known.at(str(repo / name)).root == str(repo)
    assert len(known._known) <= 2
