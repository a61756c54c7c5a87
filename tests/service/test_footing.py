"""Where an event happens, known from the one before: always what would be found anew, whatever has happened in between."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from memd_daemon import limits
from memd_daemon.service import footing
from memd_daemon.service.footing import Footing, Footings
from memd_hooks.events import HookEvent, Moment
from tests.service.desk import Desk, git, make_repo


def event(cwd: Path, *paths: str) -> HookEvent:
    return HookEvent(harness="claude", moment=Moment.PRE_EDIT, session="s", cwd=str(cwd), paths=paths)


def found(desk: Desk, cwd: Path, *paths: str) -> Footing:
    """As it is found without anything that is known."""
    return Footings().of(desk.daemon.parts, event(cwd, *paths), "")


def known(desk: Desk, footings: Footings, cwd: Path, *paths: str) -> Footing:
    """As it is told by what is known, once that has been learned."""
    first = footings.of(desk.daemon.parts, event(cwd, *paths), "")
    desk.daemon.parts.behind.join(limits.RESULTS_WAIT_S)
    assert footings.of(desk.daemon.parts, event(cwd, *paths), "") == first
    return first


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The directories for which all was found anew."""
    seen: list[str] = []
    anew = footing._found

    def count(parts: object, cwd: str, *rest: object) -> Footing:
        seen.append(cwd)
        return anew(parts, cwd, *rest)  # type: ignore[arg-type]  # what it was called with

    monkeypatch.setattr(footing, "_found", count)
    return seen


def test_the_same_event_finds_nothing_anew(desk: Desk, counted: list[str]) -> None:
    """Neither where it stands nor where its file lies; another file is another question."""
    footings = Footings()
    known(desk, footings, desk.repo, "app.py")
    counted.clear()
    footings.of(desk.daemon.parts, event(desk.repo, "app.py"), "")
    assert not counted
    footings.of(desk.daemon.parts, event(desk.repo, "other.py"), "")
    assert counted


CHANGES: dict[str, Callable[[Path], object]] = {
    "another branch": lambda repo: git(repo, "switch", "-q", "-c", "topic"),
    "no repository any more": lambda repo: shutil.rmtree(repo / ".git"),
    "a link to another file": lambda repo: ((repo / "lib/a.py").unlink(), (repo / "lib/a.py").symlink_to("../app.py")),
    "its folder is another's": lambda repo: ((repo / "lib").rename(repo / "was"), (repo / "lib").symlink_to("was")),
    "a repository in between": lambda repo: git(repo / "lib", "init", "-q"),
    "a repository around": lambda repo: git(repo.parent, "init", "-q"),
    "its folder goes": lambda repo: shutil.rmtree(repo / "lib"),
    "moved away": lambda repo: repo.rename(repo.with_name("elsewhere")),
    "a link in its place": lambda repo: (
        repo.rename(repo.with_name("elsewhere")),
        repo.symlink_to(repo.with_name("elsewhere")),
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.parametrize("cwd", ["", "lib"])
def test_after_a_change_it_is_what_is_found(desk: Desk, cwd: str, change: Callable[[Path], object]) -> None:
    """At once, at the very next event."""
    (desk.repo / "lib").mkdir()
    (desk.repo / "lib" / "a.py").write_text("A = 1\n")
    said, footings = (desk.repo / cwd, str(desk.repo / "lib" / "a.py")), Footings()
    scope = known(desk, footings, *said).place.scope
    change(desk.repo)
    told = footings.of(desk.daemon.parts, event(*said), scope)  # before anybody else looks, which may be seen too
    anew = Footings().of(desk.daemon.parts, event(*said), scope)
    assert told == anew
    desk.daemon.parts.behind.join(limits.RESULTS_WAIT_S)
    assert footings.of(desk.daemon.parts, event(*said), scope) == anew


def test_what_is_not_simple_is_found_each_time(desk: Desk, counted: list[str]) -> None:
    """Outside git, and in another repository than the session's."""
    other = make_repo(desk.repo.parent / "other")
    footings = Footings()
    for cwd, path in ((desk.repo.parent, "note.md"), (desk.repo, str(other / "app.py"))):
        known(desk, footings, cwd, path)
        counted.clear()
        footings.of(desk.daemon.parts, event(cwd, path), "")
        assert counted


def test_a_change_while_it_is_learned_is_not_missed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known was found between two looks that saw the same."""
    (desk.repo / "lib").mkdir()
    (desk.repo / "lib" / "a.py").write_text("A = 1\n")
    look = footing.looks_at

    def changed_meanwhile(*asked: object) -> object:
        seen = look(*asked)  # type: ignore[arg-type]  # what it was called with
        git(desk.repo / "lib", "init", "-q")
        return seen

    monkeypatch.setattr(footing, "looks_at", changed_meanwhile)
    footings = Footings()
    footings.of(desk.daemon.parts, event(desk.repo, "lib/a.py"), "")
    desk.daemon.parts.behind.join(limits.RESULTS_WAIT_S)
    assert footings.of(desk.daemon.parts, event(desk.repo, "lib/a.py"), "") == found(desk, desk.repo, "lib/a.py")


def test_what_has_changed_before_it_was_learned_is_learned_at_the_next_event(
    desk: Desk, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another branch between the answer and what is done behind it does not make the file one that is found anew for ever."""
    footings, parts, later = Footings(), desk.daemon.parts, []
    with monkeypatch.context() as until_then:
        until_then.setattr(parts.behind, "add", later.append)
        footings.of(parts, event(desk.repo, "app.py"), "")
    git(desk.repo, "switch", "-q", "-c", "topic")
    for work in later:
        work()
    known(desk, footings, desk.repo, "app.py")
    counted.clear()
    footings.of(parts, event(desk.repo, "app.py"), "")
    assert not counted


def test_a_directory_that_is_gone_before_it_is_learned_is_no_repository(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worktree that a session made, looked into and removed: nothing is recorded of what is there no more."""
    tree, footings, parts, later = desk.repo.parent / "tree", Footings(), desk.daemon.parts, []
    git(desk.repo, "worktree", "add", "-q", str(tree))
    monkeypatch.setattr(parts.behind, "add", later.append)
    footings.of(parts, event(tree, "app.py"), "")
    shutil.rmtree(tree)
    with parts.store.read() as snapshot:
        before = list(snapshot.settings("repo/"))
    for work in later:
        work()
    with parts.store.read() as snapshot:
        assert list(snapshot.settings("repo/")) == before
    assert len(later) == 1


def test_their_number_is_bounded(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past it they are learned again."""
    monkeypatch.setattr(limits, "FOOTINGS_KNOWN_MAX", 3)
    footings = Footings()
    for number in range(10):
        known(desk, footings, desk.repo, f"{number}.py")
        assert len(footings._known) <= 3
