"""A file that is not in the checkout since another branch is, or another part of the repository."""

import os
from pathlib import Path

import msgspec
import pytest

from memd_daemon.ground.deadline import OutOfTime
from memd_daemon.ground.history import History, Standing
from memd_daemon.ground.renames import ABSENT, MISSING, Gone, Renames
from memd_daemon.model.event import Anchor
from tests.ground.gitted import Gitted, code, look, on_a_branch, renamed


@pytest.fixture
def repo(tmp_path: Path) -> Gitted:
    made = Gitted(tmp_path / "repo")
    made.commit(a=code("alpha"), z=code("zeta"))
    return made


# --- branches


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


# --- while git is at work


def test_while_git_changes_what_is_checked_out_nothing_is_said_to_be_missing(repo: Gitted) -> None:
    """The other branch's files stand there before its name does; once git is done the file is absent on this branch."""
    anchor = on_a_branch(repo)
    repo.git("switch", "-q", "side")
    (repo.top / "n.py").unlink()
    lock = repo.top / ".git" / "index.lock"
    lock.touch()
    by = Renames()
    with pytest.raises(OutOfTime):
        look(repo, anchor, by=by)
    lock.unlink()
    assert look(repo, anchor, by=by) == MISSING
    repo.git("switch", "-q", "main")
    assert look(repo, anchor, by=by) == ABSENT


def test_a_lock_that_a_dead_git_left_behind_holds_no_answer_back(repo: Gitted) -> None:
    """It may lie there for weeks."""
    anchor, lock = repo.anchor("a.py"), repo.top / ".git" / "index.lock"
    (repo.top / "a.py").unlink()
    lock.touch()
    os.utime(lock, (1_700_000_000, 1_700_000_000))
    assert look(repo, anchor) == MISSING


def test_a_switch_of_branches_during_a_look_is_not_taken_for_a_deletion(
    repo: Gitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was found belongs to neither branch, and is not kept."""
    anchor, by, ask = on_a_branch(repo), Renames(), History.at
    repo.git("switch", "-q", "side")
    (repo.top / "n.py").unlink()

    def switching(history: History, commit: str, path: str) -> Standing:
        found = ask(history, commit, path)
        repo.git("switch", "-q", "-f", "main")
        return found

    with monkeypatch.context() as patched:
        patched.setattr(History, "at", switching)
        with pytest.raises(OutOfTime):
            look(repo, anchor, by=by)
    assert look(repo, anchor, by=by) == ABSENT


# --- a clone that was cut off


@pytest.mark.parametrize(("branch", "told"), [("side", ABSENT), ("main", MISSING)])
def test_in_a_shallow_clone_the_branches_alone_are_compared(
    repo: Gitted, tmp_path: Path, branch: str, told: Gone
) -> None:
    """The note's commit and its branch are not there, and the history does not go back to where the file was."""
    anchor = on_a_branch(repo)
    repo.commit(z=code("zeta", 20))
    repo.git("clone", "-q", "--depth", "1", "-b", "main", f"file://{repo.top}", str(tmp_path / "clone"))
    clone = Gitted(tmp_path / "clone", begin=False)
    assert look(clone, msgspec.structs.replace(anchor, checkout_branch=branch)) == told
