"""What is looked at once more: true while all of it is as it was, and false after any change that would lead elsewhere."""

import os
import runpy
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from memd_daemon.ground import looks_again, repository, spelling
from memd_daemon.ground.looks_again import Looks, looks_at
from memd_daemon.ground.repository import find_checkout
from memd_daemon.ground.spelling import Spelling
from tests.service.desk import make_repo


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with a file two levels down."""
    made = make_repo(tmp_path.resolve() / "above" / "repo")
    (made / "src" / "deep").mkdir(parents=True)
    (made / "src" / "deep" / "lock.py").write_text("LOCK = 1\n")
    return made


def looked(repo: Path, *files: str, cwd: str = "") -> Looks | None:
    return looks_at(find_checkout(str(repo)), str(repo / cwd), files)


def led_elsewhere(folder: Path) -> None:
    """A folder becomes a link to a copy of it."""
    folder.rename(folder.with_name("moved"))
    folder.symlink_to("moved")


CHANGES: dict[str, Callable[[Path], object]] = {
    "the file becomes a link": lambda repo: (
        (repo / "src/deep/lock.py").unlink(),
        (repo / "src/deep/lock.py").symlink_to(repo / "app.py"),
    ),
    "its folder becomes a link": lambda repo: led_elsewhere(repo / "src" / "deep"),
    "the checkout becomes a link": led_elsewhere,
    "what lies above becomes a link": lambda repo: led_elsewhere(repo.parent),
    "its folder becomes a file": lambda repo: (shutil.rmtree(repo / "src"), (repo / "src").write_text("")),
    "its folder goes": lambda repo: shutil.rmtree(repo / "src"),
    "a repository in between": lambda repo: (repo / "src" / ".git").mkdir(),
    "a submodule": lambda repo: (repo / "src" / "deep" / ".git").write_text("gitdir: elsewhere\n"),
    "a mark that leads nowhere": lambda repo: (repo / "src" / ".git").symlink_to("nowhere"),
    "a repository above": lambda repo: (repo.parent / ".git").mkdir(),
    "one far above": lambda repo: (repo.parent.parent / ".git").write_text("gitdir: elsewhere\n"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.parametrize("cwd", ["", "src"])
def test_a_change_of_the_way_is_seen(repo: Path, cwd: str, change: Callable[[Path], object]) -> None:
    """Whatever would be found otherwise now is not taken for what was found before."""
    found = looked(repo, str(repo / "src/deep/lock.py"), cwd=cwd)
    assert found is not None
    assert found.stand()
    change(repo)
    assert not found.stand()


@pytest.mark.parametrize(
    "change",
    [
        lambda repo: (repo / "src/deep/lock.py").write_text("LOCK = 2\n"),
        lambda repo: (repo / "src/deep/lock.py").unlink(),
        lambda repo: (repo / "src/other.py").write_text(""),
    ],
    ids=["written", "removed", "another beside it"],
)
def test_what_the_files_hold_is_not_asked(repo: Path, change: Callable[[Path], object]) -> None:
    """Where a file lies does not depend on it."""
    found = looked(repo, "src/deep/lock.py")
    assert found is not None
    change(repo)
    assert found.stand()


@pytest.mark.parametrize(
    "given",
    ["src/..", "src/deep/lock.py/", "src/.", "link.py", "linked/app.py", "/etc/passwd", "a\0b", "\ud800", "a" * 5_000],
)
def test_what_is_not_simple_is_not_looked_at_so(repo: Path, given: str) -> None:
    """A name that ends in dots or a slash, what leads out of the checkout, and what no path can hold."""
    (repo / "linked").symlink_to(repo.parent)
    (repo / "link.py").symlink_to("app.py")
    found = looked(repo, given)
    assert found is None or not found.stand()


def test_a_link_on_the_way_is_followed_as_long_as_it_leads_there(repo: Path) -> None:
    """A session may stand behind a link: where that leads is looked at again."""
    (repo / "way").symlink_to("src")
    behind = looked(repo, "deep/lock.py", cwd="way")
    assert behind is not None
    assert behind.directory == str(repo / "src")
    found = looked(repo, "way/deep/lock.py")
    assert found is not None
    assert found.stand()
    (repo / "way").unlink()
    (repo / "way").symlink_to(".")
    assert not found.stand()


def test_a_link_that_becomes_a_folder_between_two_looks_is_not_left_out(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies in that folder is a real path then, and says nothing of where the link led."""
    way, look = repo / "way", looks_again.resolved_folder
    way.symlink_to("src")
    (repo / "src" / "one.py").write_text("")

    def exchanged(path: str) -> str | None:
        found = look(path)
        if path == str(way):
            way.unlink()
            shutil.copytree(repo / "src", way)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(looks_again, "resolved_folder", exchanged)
        found = looked(repo, "way/one.py", "way/deep/lock.py")
    assert found is not None
    assert str(repo / "src" / "one.py") in found.files
    assert not found.stand()


def test_a_link_says_nothing_of_the_folders_above_it(repo: Path) -> None:
    """It may lead to the same place from a copy of them."""
    (repo / "other").mkdir()
    for name in ("other/one.py", "src/two.py"):
        (repo / name).write_text("")
    (repo / "src" / "way").symlink_to(repo / "other")
    found = looked(repo, "src/way/one.py", "src/two.py")
    assert found is not None
    assert found.stand()
    led_elsewhere(repo / "src")
    assert not found.stand()


def test_folders_above_one_that_is_looked_at_are_not_asked_for(repo: Path) -> None:
    """Whatever the order in which they are named; a folder beside it whose name only begins so, and one behind a link, are."""
    (repo / "src" / "de").mkdir()
    (repo / "way").symlink_to("src")
    for name in ("src/one.py", "src/de/two.py"):
        (repo / name).write_text("")
    found = looked(repo, "src/deep/lock.py", "src/one.py", "src/de/two.py", "way/one.py")
    assert found is not None
    assert found.directory == str(repo)
    assert dict(found.named) == {str(repo / name): str(repo / real) for name, real in BESIDE.items()}


BESIDE = {"src/deep": "src/deep", "src/de": "src/de", "way": "src"}


def test_outside_git_nothing_is_kept(tmp_path: Path) -> None:
    """Any folder above may become a repository."""
    (tmp_path / "a.py").write_text("")
    assert looked(tmp_path, "a.py") is None


def test_where_case_is_folded_nothing_is_kept(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """How a name is spelled there is the folder's to say, each time."""
    monkeypatch.setattr(spelling, "ON_DISK", Spelling(lambda directory, name: directory == str(repo / "src")))
    assert looked(repo, "src/deep/lock.py") is None
    assert looked(repo, "app.py") is not None


def test_a_mark_is_there_whatever_it_is(tmp_path: Path) -> None:
    """A file, a folder, a link to nowhere; without a way of asking that raises nothing it is the same."""
    for mark in ("file", "folder", "link", "none"):
        path = tmp_path / mark
        {"file": path.touch, "folder": path.mkdir, "link": lambda path=path: path.symlink_to("x")}.get(mark, str)()
        assert repository.is_there(str(path)) == os.path.lexists(path) == (mark != "none")


@pytest.mark.parametrize("befalls", ["it is refused", "it is not known"])
def test_a_mark_is_there_also_where_the_system_refuses_to_look_so(
    tmp_path: Path, befalls: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In some containers the call that follows no link is always answered by no."""

    def access(*_: object, **__: object) -> bool:
        return False

    monkeypatch.setattr(os, "access", access)
    monkeypatch.setattr(os, "supports_follow_symlinks", {access} if befalls == "it is refused" else set())
    is_there = runpy.run_path(repository.__file__)["is_there"]
    assert is_there(str(tmp_path))
    assert not is_there(str(tmp_path / "none"))
