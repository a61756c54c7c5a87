"""What became of a file that is not in the checkout, on real histories."""

import os
import shutil
import time
from pathlib import Path

import pytest

from memd_daemon import limits
from memd_daemon.ground import renames
from memd_daemon.ground.deadline import OutOfTime
from memd_daemon.ground.renames import ABSENT, MISSING, Gone, Renames
from memd_daemon.model.event import Anchor
from tests.ground.gitted import Gitted, code

HURRIED = 1
"""A deadline: which one does not matter, since with any no process is started."""


@pytest.fixture
def repo(tmp_path: Path) -> Gitted:
    made = Gitted(tmp_path / "repo")
    made.commit(a=code("alpha"), z=code("zeta"))
    return made


def look(repo: Gitted, anchor: Anchor, *, by: Renames | None = None) -> Gone:
    assert not os.path.lexists(repo.top / anchor.path)
    return (by or Renames()).look(repo.top, repo.branch, anchor, None)


def renamed(to: str) -> Gone:
    return Gone("anchor_renamed", to)


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


# --- branches


def on_a_branch(repo: Gitted, name: str = "side") -> Anchor:
    """A note on a file that only the branch has; the checkout is back on main."""
    repo.git("switch", "-q", "-c", name)
    repo.commit(n=code("novel"))
    anchor = repo.anchor("n.py")
    repo.git("switch", "-q", "main")
    return anchor


def test_a_file_of_another_branch_is_absent_until_the_merge(repo: Gitted) -> None:
    """And after it is simply there."""
    anchor = on_a_branch(repo)
    repo.commit(z=code("zeta", 20))
    assert look(repo, anchor) == ABSENT
    repo.git("merge", "-q", "--no-edit", "side")
    assert (repo.top / "n.py").exists()


def test_a_note_from_before_the_files_first_commit_is_absent_elsewhere(repo: Gitted) -> None:
    """Its commit is one that main has too, without the file."""
    before = repo.git("rev-parse", "HEAD")
    anchor = on_a_branch(repo)
    anchor = Anchor(path=anchor.path, digest=anchor.digest, checkout_branch="side", commit=before)
    assert look(repo, anchor) == ABSENT


def test_a_file_that_its_own_branch_gave_up_is_missing_elsewhere_too(repo: Gitted) -> None:
    """No branch has it."""
    anchor = on_a_branch(repo)
    repo.git("switch", "-q", "side")
    (repo.top / "n.py").unlink()
    repo.commit()
    repo.git("switch", "-q", "main")
    assert look(repo, anchor) == MISSING


def test_a_file_that_was_merged_and_then_deleted_is_missing_though_its_branch_stands(repo: Gitted) -> None:
    """The note's commit is part of main, so it was here."""
    anchor = on_a_branch(repo)
    repo.git("merge", "-q", "--no-ff", "--no-edit", "side")
    (repo.top / "n.py").unlink()
    repo.commit()
    assert look(repo, anchor) == MISSING


@pytest.mark.parametrize("keeps_branch", [True, False])
def test_a_file_that_came_by_a_squash_and_was_then_renamed_is_followed(repo: Gitted, *, keeps_branch: bool) -> None:
    """The note's commit is no part of main, but the file was, since both parted."""
    anchor = on_a_branch(repo)
    repo.git("merge", "-q", "--squash", "side")
    repo.commit()
    if not keeps_branch:
        repo.git("branch", "-q", "-D", "side")
    repo.git("mv", "n.py", "m.py")
    repo.commit()
    assert look(repo, anchor) == renamed("m.py")


def test_a_rename_squashed_into_the_coming_is_found_by_the_two_ends(repo: Gitted) -> None:
    """Main never had the old path."""
    anchor = on_a_branch(repo)
    repo.git("switch", "-q", "side")
    repo.git("mv", "n.py", "m.py")
    repo.commit()
    repo.git("switch", "-q", "main")
    repo.git("merge", "-q", "--squash", "side")
    repo.commit()
    repo.git("branch", "-q", "-D", "side")
    assert look(repo, anchor) == renamed("m.py")


def test_a_rename_is_found_though_the_notes_commit_was_rebased_and_is_gone(repo: Gitted) -> None:
    """A commit that no clone has any more is as one that is not known."""
    anchor = repo.anchor("a.py", commit="f" * 40)
    repo.git("mv", "a.py", "b.py")
    repo.commit()
    assert look(repo, anchor) == renamed("b.py")


def test_a_file_that_the_other_branch_still_has_and_this_one_deleted_apart_is_absent(repo: Gitted) -> None:
    """Both had it when they parted; the note is from the other one."""
    repo.git("switch", "-q", "-c", "side")
    repo.commit(x=code("xi"))
    anchor = repo.anchor("a.py")
    repo.git("switch", "-q", "main")
    (repo.top / "a.py").unlink()
    repo.commit()
    assert look(repo, anchor) == ABSENT


def test_a_detached_head_before_the_file_came_is_absent(repo: Gitted) -> None:
    """Nothing has changed: it is not there yet."""
    repo.commit(n=code("novel"))
    anchor = repo.anchor("n.py")
    repo.git("checkout", "-q", "--detach", "HEAD~1")
    assert look(repo, anchor) == ABSENT


def test_a_detached_head_at_which_the_file_is_deleted_is_missing(repo: Gitted) -> None:
    """Where its commit is part of what is checked out, being detached changes nothing."""
    anchor = repo.anchor("a.py")
    (repo.top / "a.py").unlink()
    repo.commit()
    repo.git("checkout", "-q", "--detach")
    assert look(repo, anchor) == MISSING


def test_commits_taken_from_main_to_a_branch_leave_their_files_absent_on_main(repo: Gitted) -> None:
    """The note was written on main itself, which has been set back since."""
    repo.commit(n=code("novel"))
    anchor = repo.anchor("n.py")
    repo.git("branch", "side")
    repo.git("reset", "-q", "--hard", "HEAD~1")
    assert look(repo, anchor) == ABSENT


def test_a_branch_that_only_the_remote_still_has_counts(repo: Gitted, tmp_path: Path) -> None:
    """As it was fetched last."""
    on_a_branch(repo)
    repo.git("clone", "-q", str(repo.top), str(tmp_path / "clone"))
    clone = Gitted(tmp_path / "clone", begin=False)
    anchor = Anchor(path="n.py", digest=bytes(16), checkout_branch="side")
    assert look(clone, anchor) == ABSENT


def test_two_worktrees_of_a_repository_may_disagree(repo: Gitted, tmp_path: Path) -> None:
    """Each is asked for its own branch."""
    anchor = repo.anchor("a.py")
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = Gitted(tmp_path / "side", begin=False)
    side.git("mv", "a.py", "b.py")
    side.commit()
    repo.git("rm", "-q", "a.py")
    repo.commit()
    by = Renames()
    assert look(side, anchor, by=by) == renamed("b.py")
    assert look(repo, anchor, by=by) == MISSING


def test_a_file_that_was_never_committed_is_absent_where_its_branch_is_at_work_elsewhere(
    repo: Gitted, tmp_path: Path
) -> None:
    """Another working tree has the branch checked out, and the file."""
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = Gitted(tmp_path / "side", begin=False)
    side.write("n.py", code("novel"))
    anchor = side.anchor("n.py")
    assert look(repo, anchor) == ABSENT
    (side.top / "n.py").unlink()
    assert look(repo, anchor) == MISSING


# --- what is not checked out


def test_a_file_in_a_submodule_that_is_not_checked_out_is_absent(repo: Gitted, tmp_path: Path) -> None:
    """It is part of the commit, by the submodule's."""
    inner = Gitted(tmp_path / "inner")
    inner.commit(i=code("inner"))
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.top), "mod")
    repo.commit()
    anchor = repo.anchor("mod/i.py")
    repo.git("submodule", "deinit", "-q", "-f", "mod")
    assert look(repo, anchor) == ABSENT


def test_a_file_that_was_renamed_in_a_submodule_is_followed_there(repo: Gitted, tmp_path: Path) -> None:
    """The submodule's own history is asked; the path is from the outer root."""
    inner = Gitted(tmp_path / "inner")
    inner.commit(i=code("inner"))
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.top), "mod")
    repo.commit()
    anchor = repo.anchor("mod/i.py")
    module = Gitted(repo.top / "mod", begin=False)
    module.git("mv", "i.py", "j.py")
    module.commit()
    assert look(repo, anchor) == renamed("mod/j.py")


def test_a_file_that_a_sparse_checkout_leaves_out_is_absent(repo: Gitted) -> None:
    """It is not deleted."""
    repo.write("lib/l.py", code("lib"))
    repo.commit()
    anchor = repo.anchor("lib/l.py")
    repo.git("sparse-checkout", "set", "--no-cone", "/*", "!/lib/")
    assert look(repo, anchor) == ABSENT


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
