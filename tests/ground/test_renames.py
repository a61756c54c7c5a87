"""What became of a file that is not in the checkout, on real histories."""

import shutil
import time
from pathlib import Path

import pytest

from memd_daemon import limits
from memd_daemon.ground import renames
from memd_daemon.ground.deadline import OutOfTime
from memd_daemon.ground.renames import ABSENT, MISSING, Renames
from memd_daemon.model.event import Anchor
from tests.ground.gitted import Gitted, code, look, on_a_branch, renamed

HURRIED = 1
"""A deadline: which one does not matter, since with any no process is started."""


@pytest.fixture
def repo(tmp_path: Path) -> Gitted:
    made = Gitted(tmp_path / "repo")
    made.commit(a=code("alpha"), z=code("zeta"))
    return made


# --- committed


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("symbol", ["", "alpha"])
def test_a_committed_rename_is_followed(repo: Gitted, symbol: str, *, known: bool) -> None:
    """From the note's commit, or, where that is not known here, through the history."""
    anchor = repo.anchor("a.py", symbol, commit=None if known else "")
    repo.git("mv", "a.py", "b.py")
    repo.commit()
    assert look(repo, anchor) == renamed("b.py")


def test_a_chain_of_renames_with_edits_between_is_followed_to_its_end(repo: Gitted) -> None:
    """Though what is there at last has nothing in common with what was there at first."""
    anchor = repo.anchor("a.py")
    for old, new in (("a", "b"), ("b", "c"), ("c", "lib/d")):
        (repo.top / "lib").mkdir(exist_ok=True)
        repo.git("mv", f"{old}.py", f"{new}.py")
        repo.commit()
        repo.commit(**{new: code(f"of_{new[-1]}")})
    assert look(repo, anchor) == renamed("lib/d.py")


def test_a_file_renamed_and_edited_in_one_commit_is_found_by_its_likeness(repo: Gitted) -> None:
    """As git judges it."""
    anchor = repo.anchor("a.py")
    repo.git("mv", "a.py", "b.py")
    repo.commit(b=code("alpha") + "\n\ndef more():\n    return 1\n")
    assert look(repo, anchor) == renamed("b.py")


def test_a_file_deleted_in_one_commit_and_added_elsewhere_in_the_next_has_moved(repo: Gitted) -> None:
    """The two ends of the history are compared."""
    anchor = repo.anchor("a.py")
    (repo.top / "a.py").unlink()
    repo.commit()
    repo.commit(b=code("alpha"))
    assert look(repo, anchor) == renamed("b.py")


def test_a_file_that_was_deleted_is_missing(repo: Gitted) -> None:
    """With its branch and commit known."""
    anchor = repo.anchor("a.py")
    (repo.top / "a.py").unlink()
    repo.commit()
    assert look(repo, anchor) == MISSING


def test_a_file_that_was_renamed_and_then_deleted_is_missing(repo: Gitted) -> None:
    """The chain ends where nothing is."""
    anchor = repo.anchor("a.py")
    repo.git("mv", "a.py", "b.py")
    repo.commit()
    (repo.top / "b.py").unlink()
    repo.commit()
    assert look(repo, anchor) == MISSING


def test_the_first_file_at_a_path_is_followed_not_one_that_came_after_it(repo: Gitted) -> None:
    """A new file under the old name, which was deleted, is another one."""
    anchor = repo.anchor("a.py")
    repo.git("mv", "a.py", "b.py")
    repo.commit()
    repo.commit(a=code("other"))
    (repo.top / "a.py").unlink()
    repo.commit()
    assert look(repo, anchor) == renamed("b.py")


def test_two_equal_places_are_not_guessed_between(repo: Gitted) -> None:
    """A file that went to two names of equal standing is missing."""
    anchor = repo.anchor("a.py")
    (repo.top / "a.py").unlink()
    repo.commit(b=code("alpha"), c=code("alpha"))
    assert look(repo, anchor) == MISSING


def test_two_places_nearly_as_like_are_not_guessed_between(repo: Gitted) -> None:
    """Neither is the file's content."""
    anchor = repo.anchor("a.py")
    (repo.top / "a.py").unlink()
    repo.commit(b=code("alpha") + "b = 1\n", c=code("alpha") + "c = 1\n")
    assert look(repo, anchor) == MISSING


def test_of_two_equal_places_the_one_that_ends_as_the_path_did_is_the_file(repo: Gitted) -> None:
    """A folder that moved takes its equal files along, each to its own name."""
    for name in ("one", "two"):
        repo.write(f"src/{name}/conf.py", code("conf"))
    repo.commit()
    anchors = {name: repo.anchor(f"src/{name}/conf.py") for name in ("one", "two")}
    (repo.top / "lib").mkdir()
    for name in ("one", "two"):
        repo.git("mv", f"src/{name}", f"lib/{name}")
    repo.commit()
    assert {name: look(repo, anchor).to for name, anchor in anchors.items()} == {
        "one": "lib/one/conf.py",
        "two": "lib/two/conf.py",
    }


def test_a_file_too_small_to_be_told_from_another_is_not_followed(repo: Gitted) -> None:
    """An empty `__init__.py` is like every other."""
    repo.write("p/__init__.py", "")
    repo.commit()
    anchor = repo.anchor("p/__init__.py")
    repo.move("p/__init__.py", "q/__init__.py")
    repo.commit()
    assert look(repo, anchor) == MISSING


@pytest.mark.parametrize("name", ["mit leer.py", "ümlaut.py", "-rf.py", "a[1]*.py", 'quo"te.py', "tab\tname.py"])
def test_names_of_every_kind_are_paths_and_nothing_else(repo: Gitted, name: str) -> None:
    """To git and to memd."""
    repo.write(name, code("named"))
    repo.commit()
    anchor = repo.anchor(name)
    repo.move(name, f"new/{name}")
    repo.commit()
    assert look(repo, anchor) == renamed(f"new/{name}")


# --- not committed


@pytest.mark.parametrize("symbol", ["", "alpha"])
@pytest.mark.parametrize("by_git", [True, False])
def test_a_move_that_is_not_committed_is_followed(repo: Gitted, symbol: str, *, by_git: bool) -> None:
    """Whether git was told of it or not."""
    anchor = repo.anchor("a.py", symbol)
    (repo.top / "lib").mkdir()
    repo.git("mv", "a.py", "lib/b.py") if by_git else repo.move("a.py", "lib/b.py")
    assert look(repo, anchor) == renamed("lib/b.py")


def test_a_moved_file_of_which_only_the_new_path_was_added_is_followed(repo: Gitted) -> None:
    """The index has both then."""
    anchor = repo.anchor("a.py")
    repo.move("a.py", "b.py")
    repo.git("add", "b.py")
    assert look(repo, anchor) == renamed("b.py")


def test_a_file_moved_and_then_edited_is_known_by_its_block(repo: Gitted) -> None:
    """Though little else is as it was."""
    anchor = repo.anchor("a.py", "alpha")
    repo.move("a.py", "b.py")
    repo.write("b.py", code("other", 60) + code("alpha") + code("third", 60))
    assert look(repo, anchor) == renamed("b.py")


def test_a_file_moved_and_then_edited_is_known_by_most_of_its_lines(repo: Gitted) -> None:
    """Where no block says more."""
    anchor = repo.anchor("a.py")
    repo.move("a.py", "b.py")
    repo.write("b.py", code("alpha") + "MORE = 1\n")
    repo.write("c.py", code("gamma"))
    assert look(repo, anchor) == renamed("b.py")


def test_a_move_with_other_line_ends_is_followed(repo: Gitted) -> None:
    """As a checkout with `autocrlf` has them."""
    anchor = repo.anchor("a.py")
    content = (repo.top / "a.py").read_bytes()
    (repo.top / "a.py").unlink()
    (repo.top / "b.py").write_bytes(content.replace(b"\n", b"\r\n"))
    assert look(repo, anchor) == renamed("b.py")


def test_a_deletion_that_is_not_committed_is_missing(repo: Gitted) -> None:
    """With a stranger's file beside it."""
    anchor = repo.anchor("a.py")
    (repo.top / "a.py").unlink()
    repo.write("b.py", code("beta"))
    assert look(repo, anchor) == MISSING


def test_two_copies_that_are_not_committed_are_not_guessed_between(repo: Gitted) -> None:
    """Whichever of them it is."""
    anchor = repo.anchor("a.py")
    repo.write("c.py", code("alpha"))
    repo.move("a.py", "b.py")
    assert look(repo, anchor) == MISSING


def test_a_file_renamed_in_a_commit_and_moved_again_since_is_followed(repo: Gitted) -> None:
    """A chain whose last step is not committed."""
    anchor = repo.anchor("a.py")
    repo.git("mv", "a.py", "b.py")
    repo.commit()
    repo.move("b.py", "c.py")
    assert look(repo, anchor) == renamed("c.py")


def test_what_git_ignores_is_no_place_of_a_file(repo: Gitted) -> None:
    """A copy among what was built."""
    repo.write(".gitignore", "out/\n")
    repo.commit()
    anchor = repo.anchor("a.py")
    repo.move("a.py", "out/a.py")
    assert look(repo, anchor) == MISSING


# --- where git has nothing to say


def test_outside_git_a_file_that_is_gone_is_missing(tmp_path: Path) -> None:
    """At once: nobody is asked."""
    anchor = Anchor(path="a.py", digest=bytes(16))
    assert Renames().look(tmp_path, "", anchor, HURRIED) == MISSING


def test_a_repository_that_is_gone_itself_asks_none_that_lies_around_it(repo: Gitted, tmp_path: Path) -> None:
    """A home directory under git is another repository."""
    Gitted(tmp_path)
    anchor = repo.anchor("a.py")
    shutil.rmtree(repo.top)
    assert Renames().look(repo.top, "main", anchor, HURRIED) == MISSING


def test_before_the_first_commit_the_branches_alone_are_compared(tmp_path: Path) -> None:
    """There is no history to ask."""
    repo = Gitted(tmp_path)
    assert look(repo, Anchor(path="a.py", checkout_branch="side")) == ABSENT
    assert look(repo, Anchor(path="a.py", checkout_branch="main")) == MISSING


@pytest.mark.parametrize("program", ["", "#!/bin/sh\nexit 1\n", "#!/bin/sh\nexec sleep 60\n"])
def test_git_that_is_missing_or_broken_or_slow_changes_no_more_than_what_is_known(
    repo: Gitted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    """A look ends in its time, with what the branches say."""
    anchor, other = repo.anchor("a.py"), repo.anchor("a.py", branch="side")
    repo.git("mv", "a.py", "b.py")
    repo.commit()
    (tmp_path / "bin").mkdir()
    if program:
        (tmp_path / "bin" / "git").write_text(program)
        (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin" if program else str(tmp_path / "bin"))
    monkeypatch.setattr(limits, "RENAME_LOOK_MS", 200)
    monkeypatch.setattr(limits, "RENAME_SLOW_LOOK_MS", 1)
    by = Renames()
    assert look(repo, anchor, by=by) == MISSING
    assert look(repo, other, by=by) == ABSENT


@pytest.mark.parametrize("name", ["--upload-pack=x", "HEAD", "main", "f" * 65, "ABCDEF12", "a.py", "^abcdef1"])
def test_a_commit_that_is_none_is_no_word_of_gits(repo: Gitted, name: str) -> None:
    """What an imported note says is nothing that git would take for an option or a branch."""
    anchor = repo.anchor("a.py", commit=name)
    repo.git("mv", "a.py", "b.py")
    repo.commit()
    assert look(repo, anchor) == renamed("b.py")


# --- what is kept, and the way of a hook


def test_in_a_hurry_git_is_not_asked_and_what_was_found_is_told(repo: Gitted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is known, then it is looked for behind, and then it is."""
    anchor, by = repo.anchor("a.py"), Renames()
    repo.git("mv", "a.py", "b.py")
    repo.commit()
    with pytest.raises(OutOfTime):
        by.look(repo.top, "main", anchor, time.monotonic_ns() + 10**12)
    look(repo, anchor, by=by)
    monkeypatch.setattr(renames, "History", None)
    assert by.look(repo.top, "main", anchor, HURRIED) == renamed("b.py")


def test_what_is_known_is_not_asked_again_while_no_branch_moves(repo: Gitted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also without a hurry."""
    anchor, by = repo.anchor("a.py"), Renames()
    repo.git("mv", "a.py", "b.py")
    repo.commit()
    look(repo, anchor, by=by)
    monkeypatch.setattr(renames, "History", None)
    repo.write("new.py", "x = 1\n")
    repo.git("add", "new.py")
    assert look(repo, anchor, by=by) == renamed("b.py")


def test_a_rename_that_went_on_is_not_told_from_memory(repo: Gitted) -> None:
    """The place that is remembered is empty."""
    anchor, by = repo.anchor("a.py"), Renames()
    repo.git("mv", "a.py", "b.py")
    repo.commit()
    look(repo, anchor, by=by)
    repo.git("mv", "b.py", "c.py")
    with pytest.raises(OutOfTime):
        by.look(repo.top, "main", anchor, HURRIED)
    assert look(repo, anchor, by=by) == renamed("c.py")
    repo.commit()
    assert look(repo, anchor, by=by) == renamed("c.py")


def test_a_switch_of_branches_is_seen(repo: Gitted) -> None:
    """What was found on one is not told on another."""
    anchor, by = on_a_branch(repo), Renames()
    assert look(repo, anchor, by=by) == ABSENT
    repo.git("switch", "-q", "side")
    repo.git("mv", "n.py", "m.py")
    repo.commit()
    with pytest.raises(OutOfTime):
        by.look(repo.top, "side", anchor, HURRIED)
    assert look(repo, anchor, by=by) == renamed("m.py")
    repo.git("switch", "-q", "main")
    assert look(repo, anchor, by=by) == MISSING


def test_an_absent_file_stays_absent_in_a_hurry_when_this_branch_goes_on(repo: Gitted) -> None:
    """A commit of something else says nothing of it; without a hurry it is looked at."""
    anchor, by = on_a_branch(repo), Renames()
    look(repo, anchor, by=by)
    repo.commit(z=code("zeta", 30))
    assert by.look(repo.top, "main", anchor, HURRIED) == ABSENT
    repo.git("branch", "-q", "-D", "side")
    assert look(repo, anchor, by=by) == MISSING


def test_a_missing_file_is_looked_for_again_after_a_while(repo: Gitted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that git replaces says that it has come back elsewhere."""
    anchor, by = repo.anchor("a.py"), Renames()
    (repo.top / "a.py").unlink()
    assert look(repo, anchor, by=by) == MISSING
    repo.write("b.py", code("alpha"))
    assert look(repo, anchor, by=by) == MISSING
    monkeypatch.setattr(limits, "RENAME_MISSING_KNOWN_S", 0)
    assert look(repo, anchor, by=by) == renamed("b.py")


def test_packed_branches_are_seen_to_move(repo: Gitted) -> None:
    """Their names are not files of their own."""
    anchor, by = on_a_branch(repo), Renames()
    assert look(repo, anchor, by=by) == ABSENT
    repo.git("pack-refs", "--all")
    repo.git("branch", "-q", "-D", "side")
    assert look(repo, anchor, by=by) == MISSING
