"""Which files are the repository's own, and which ones a call names."""

from collections.abc import Callable
from pathlib import Path

import pytest

from memd_daemon import limits
from memd_daemon.ground.repository import Checkout, find_checkout
from memd_daemon.ground.tracked import Tracked, content_of, files_named, folders_named
from tests.service.desk import git, make_repo


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "repo")


def among(repo: Path, *paths: str) -> set[str]:
    return set(Tracked().among(find_checkout(str(repo)), paths))


def test_what_git_has_is_the_repositorys(repo: Path) -> None:
    """Also what was only added; not what is ignored, untracked or not there."""
    for name in ("added.py", "loose.py", "deep/ü name.py"):
        (repo / name).parent.mkdir(exist_ok=True)
        (repo / name).touch()
    git(repo, "add", "added.py", "deep")
    assert among(repo, "app.py", "added.py", "loose.py", "missing.py", "deep/ü name.py", ".git/config") == {
        "app.py",
        "added.py",
        "deep/ü name.py",
    }


def test_a_name_is_no_pattern(repo: Path) -> None:
    """A file may be called what git would take for one."""
    (repo / "*.py").touch()
    assert among(repo, "*.py", ":(glob)*.py", ":/app.py") == set()


def test_what_git_had_a_moment_ago_is_not_asked_for_again(repo: Path) -> None:
    """A file that is given up stays the repository's for this daemon."""
    tracked, checkout = Tracked(), find_checkout(str(repo))
    assert tracked.among(checkout, ["app.py"]) == {"app.py"}
    git(repo, "rm", "-q", "--cached", "app.py")
    assert tracked.among(checkout, ["app.py", "other.py"]) == {"app.py", "other.py"}


def test_what_is_remembered_has_a_bound(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past it everything is asked for anew."""
    monkeypatch.setattr(limits, "FILES_TRACKED_KNOWN_MAX", 1)
    tracked, checkout = Tracked(), find_checkout(str(repo))
    assert tracked.among(checkout, ["app.py", "other.py"]) == {"app.py", "other.py"}
    assert tracked.among(checkout, ["app.py"]) == {"app.py"}


def test_outside_git_a_folders_files_are_its_own(tmp_path: Path) -> None:
    """There is nobody to ask."""
    assert Tracked().among(Checkout(root=str(tmp_path)), ["a", "b"]) == {"a", "b"}


def test_files_are_found_from_every_folder_once(repo: Path) -> None:
    """By their paths from the root, through links too; nothing outside, no folder, no strange name."""
    (repo / "src").mkdir()
    (repo / "src/inner.py").touch()
    (repo / "link.py").symlink_to("src/inner.py")
    (repo.parent / "outside.py").touch()
    names = ["inner.py", "src/inner.py", "link.py", "src", "../outside.py", "/etc/hostname", "", "a\0b", "x" * 9_000]
    found = files_named(str(repo), [str(repo), str(repo / "src")], names)
    assert found == ["src/inner.py"]
    assert list(folders_named(str(repo), ["src", "app.py", "a\0b", ".."])) == [f"{repo}/src", f"{repo}/.."]


def test_no_more_files_than_are_looked_at(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of them."""
    monkeypatch.setattr(limits, "RESULT_FILES_MAX", 1)
    assert files_named(str(repo), [str(repo)], ["other.py", "app.py"]) == ["other.py"]


@pytest.mark.parametrize(
    ("make", "content"),
    [
        (lambda file: file.write_bytes(b"x\xff"), "x\ufffd"),
        (lambda file: file.mkdir(), ""),
        (lambda file: file.write_bytes(b"x" * 9), ""),
        (lambda file: None, ""),
    ],
)
def test_a_content_is_text_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], object], content: str
) -> None:
    """Of a folder, a file that is too large or none at all there is none."""
    monkeypatch.setattr(limits, "RESULT_FILE_MAX_BYTES", 8)
    make(tmp_path / "file")
    assert content_of(str(tmp_path), "file") == content
