"""A gotcha follows its file to another path within a session, before anything is committed."""

import subprocess
from pathlib import Path

import pytest

from memd_daemon import limits
from memd_daemon.ground.files import FileGround
from memd_daemon.service import moved
from tests.service.desk import Desk, context_of, desk_at, git, reason_of

GOTCHA = "add() is called with strings by the importer: keep it duck-typed."
OLD, NEW = "app.py", "lib/adding.py"
MOVED = "(anchor: app.py, status: changed since — verify)"


def move(desk: Desk, old: str = OLD, new: str = NEW, *, by_git: bool = False) -> None:
    (desk.repo / new).parent.mkdir(exist_ok=True)
    if by_git:
        git(desk.repo, "mv", old, new)
    else:
        subprocess.run(["mv", desk.repo / old, desk.repo / new], check=True)


def note(desk: Desk, *anchors: str, priority: str = "high", content: str = GOTCHA) -> int:
    return int(desk.remember(content, kind="gotcha", priority=priority, anchors=list(anchors) or [OLD]).id)


def told(out: str) -> str:
    return reason_of(out) + context_of(out)


@pytest.mark.parametrize("by_git", [True, False])
@pytest.mark.parametrize("moment", ["read", "edit"])
def test_the_gotcha_is_told_at_the_new_path(desk: Desk, moment: str, *, by_git: bool) -> None:
    """At its read, or holding its edit; the words name the anchor, and claim no more than that it is not as it was."""
    note(desk)
    move(desk, by_git=by_git)
    out = desk.read(NEW) if moment == "read" else desk.edit(NEW)
    assert bool(reason_of(out)) == (moment == "edit")
    assert GOTCHA in told(out)
    assert MOVED in told(out)


def test_it_goes_on_following_once_the_content_has_changed(desk: Desk) -> None:
    """The first look at the new path is what is remembered: another context is told after the edit, and after a restart."""
    note(desk)
    move(desk)
    assert GOTCHA in told(desk.read(NEW))
    (desk.repo / NEW).write_text("def add(a, b, c):\n    return a + b + c\n")
    assert MOVED in told(desk.edit(NEW, session="s2"))


def test_a_restart_of_the_daemon_forgets_no_move(tmp_path: Path) -> None:
    """It stands in the ledger."""
    with desk_at(tmp_path) as desk:
        note(desk)
        move(desk)
        desk.read(NEW)
        repo = desk.repo
    (repo / NEW).write_text("def add(a, b, c):\n    return a + b + c\n")
    again = Desk(tmp_path / "home", repo)
    assert MOVED in told(again.edit(NEW, session="s2"))
    again.close()


def test_a_file_that_had_changed_before_it_moved_is_followed(desk: Desk) -> None:
    """What a hook saw of it in between is what it is known by."""
    note(desk)
    (desk.repo / OLD).write_text("def add(a, b):\n    return b + a\n")
    assert GOTCHA in told(desk.read(OLD))
    move(desk)
    assert MOVED in told(desk.edit(NEW, session="s2"))


def test_a_sessions_start_looks_at_the_files_it_may_come_to(desk: Desk) -> None:
    """One that changed long ago, and is moved before any hook has seen it in this session."""
    note(desk)
    (desk.repo / OLD).write_text("def add(a, b):\n    return b + a\n")
    desk.start()
    desk.daemon.parts.behind.join()
    move(desk)
    assert MOVED in told(desk.edit(NEW))


def test_without_a_look_in_between_a_changed_file_is_not_guessed_at(desk: Desk) -> None:
    """Nothing says that it was that file."""
    note(desk)
    (desk.repo / OLD).write_text("def add(a, b):\n    return b + a\n")
    move(desk)
    assert desk.edit(NEW) == ""


def test_several_moves_in_a_row_are_one(desk: Desk) -> None:
    """Also where the content changed on the way."""
    note(desk)
    move(desk, OLD, "one.py")
    desk.read("one.py")
    (desk.repo / "one.py").write_text("def add(a, b):\n    return b + a\n")
    desk.read("one.py", session="s2")
    move(desk, "one.py", "two.py")
    assert MOVED in told(desk.edit("two.py", session="s3"))


def test_there_and_back_is_no_move(desk: Desk) -> None:
    """The old path's own file is what the note is about again, and the new path's is not."""
    note(desk)
    move(desk)
    desk.read(NEW)
    move(desk, NEW, OLD)
    assert "status: matches current state" in told(desk.edit(OLD, session="s2"))
    (desk.repo / NEW).write_text("something = 'else at that path'\n")
    assert desk.edit(NEW, session="s3") == ""


def test_a_copy_is_no_move(desk: Desk) -> None:
    """The anchored file stands where it was."""
    note(desk)
    (desk.repo / "copy.py").write_text((desk.repo / OLD).read_text())
    assert desk.edit("copy.py") == ""


def test_a_told_gotcha_is_not_told_again_for_a_new_name(desk: Desk) -> None:
    """The context knows it, and moved the file itself."""
    note(desk)
    assert GOTCHA in told(desk.read(OLD))
    move(desk)
    assert desk.read(NEW) == ""
    desk.daemon.parts.behind.join()  # by then it is known what became of the old path
    assert desk.read(NEW, prompt_id="p2") == ""
    assert desk.edit(NEW, prompt_id="p2") == ""


def test_the_edits_of_a_moved_file_are_its_contexts_own(desk: Desk) -> None:
    """What this context then changes in it is no news of the anchor."""
    note(desk)
    move(desk)
    assert GOTCHA in told(desk.edit(NEW))
    assert desk.edit(NEW) == ""
    (desk.repo / NEW).write_text("def add(a, b, c):\n    return a + b + c\n")
    assert desk.edit(NEW, prompt_id="p2") == ""
    assert desk.read(NEW, prompt_id="p3") == ""


def test_every_gotcha_of_the_old_path_follows(desk: Desk) -> None:
    """One was recorded of an earlier content."""
    note(desk, content="An early caveat about the adding.", priority="medium")
    (desk.repo / OLD).write_text("def add(a, b):\n    return b + a\n")
    note(desk, priority="medium")
    move(desk)
    out = told(desk.edit(NEW))
    assert "An early caveat" in out
    assert GOTCHA in out


def test_a_note_of_two_files_names_the_one_that_moved(desk: Desk) -> None:
    """The target is the anchor that the status is said of, whichever file is at hand."""
    note(desk, "other.py", OLD)
    move(desk)
    assert MOVED in told(desk.edit(NEW))
    assert MOVED in told(desk.edit("other.py", session="s2"))


def test_on_another_branch_a_moved_file_is_not_absent(desk: Desk) -> None:
    """A file that is there under another name is there."""
    note(desk)
    git(desk.repo, "switch", "-qc", "topic")
    move(desk)
    assert MOVED in told(desk.edit(NEW))


def test_a_subagent_is_told_of_a_file_that_its_session_moved(desk: Desk) -> None:
    """The session has read it at its new path."""
    note(desk)
    desk.start()
    move(desk)
    desk.read(NEW)
    payload = desk.payload("SubagentStart", "s1", agent_id="a1", agent_type="general-purpose", prompt_id="p1")
    assert MOVED in context_of(desk.hook("subagent-start", payload))


def test_a_move_in_one_checkout_is_none_in_another(desk: Desk, tmp_path: Path) -> None:
    """There the file stands where it was."""
    note(desk)
    git(desk.repo, "worktree", "add", "-q", str(tmp_path / "tree"))
    move(desk)
    desk.read(NEW)
    main, desk.repo = desk.repo, tmp_path / "tree"
    (desk.repo / "lib").mkdir()
    (desk.repo / NEW).write_text((desk.repo / OLD).read_text())
    assert desk.edit(NEW, session="s2") == ""
    assert "status: matches current state" in told(desk.edit(OLD, session="s2"))
    desk.repo = main


@pytest.mark.parametrize(
    ("content", "follows"),
    [(b"", False), (b"x" * (limits.MOVED_FILE_MIN_BYTES - 1), False), (b"x" * limits.MOVED_FILE_MIN_BYTES, True)],
)
def test_very_small_files_are_alike_by_chance(desk: Desk, content: bytes, *, follows: bool) -> None:
    """An empty `__init__.py` is like any other."""
    (desk.repo / "a" / "b").mkdir(parents=True)
    for name in ("a/__init__.py", "a/b/__init__.py"):
        (desk.repo / name).write_bytes(content)
    note(desk, "a/__init__.py")
    (desk.repo / "a/__init__.py").unlink()
    assert bool(desk.edit("a/b/__init__.py")) == follows


def test_a_large_file_is_not_read_for_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook has no time for it."""
    monkeypatch.setattr(limits, "MOVED_FILE_MAX_BYTES", 20)
    note(desk)
    move(desk)
    assert desk.edit(NEW) == ""


def test_a_repository_without_gotchas_costs_no_reading(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nothing to follow."""
    monkeypatch.setattr(FileGround, "digest", None)
    assert desk.edit(OLD) == desk.read(OLD) == ""


def test_a_probe_remembers_no_move(desk: Desk) -> None:
    """It is answered, and leaves nothing behind."""
    note(desk)
    move(desk)
    payload = desk.payload(
        "PreToolUse",
        "s1",
        prompt_id="p1",
        tool_name="Edit",
        tool_input={"file_path": str(desk.repo / NEW), "old_string": "a", "new_string": "b"},
        permission_mode="default",
    )
    assert GOTCHA in reason_of(desk.hook("pre-edit", payload, probe=True))
    root = str(desk.repo.resolve())
    assert desk.daemon.parts.ledger.moved_from(root, NEW) == ()
    desk.edit(NEW)
    assert desk.daemon.parts.ledger.moved_from(root, NEW) == (OLD,)


def test_a_path_in_which_a_secret_stands_is_not_remembered(desk: Desk) -> None:
    """Such a file is followed nowhere."""
    secret = "AKIA" + "Q3EGRIVVTM2KDXWZ" + ".py"
    note(desk)
    (desk.repo / secret).write_text((desk.repo / OLD).read_text())
    (desk.repo / OLD).unlink()
    assert desk.edit(secret) == ""


# --- what git knows


LONG = "def add(a, b):\n" + "".join(f"    step_{n} = a * {n} + b\n" for n in range(20)) + "    return a + b\n"


def commit(desk: Desk) -> None:
    git(desk.repo, "add", "-A")
    git(desk.repo, "commit", "-qm", "work")


@pytest.mark.parametrize("anchor", [OLD, f"{OLD}::add", f"{OLD}#L1-L2"])
def test_a_rename_that_was_committed_is_followed_in_a_later_session(desk: Desk, anchor: str) -> None:
    """Its content changed with it, and nobody looked in between: git knows. It is told at the new path, read or edited."""
    (desk.repo / OLD).write_text(LONG)
    commit(desk)
    note(desk, anchor)
    move(desk, by_git=True)
    (desk.repo / NEW).write_text(LONG + "\n\ndef more():\n    return 1\n")
    commit(desk)
    desk.start("s2")
    desk.daemon.parts.behind.join()
    assert GOTCHA in told(desk.read(NEW, session="s2"))
    assert GOTCHA in reason_of(desk.edit(NEW, session="s3"))


def test_a_block_that_was_moved_and_changed_around_is_told_at_its_edit(desk: Desk) -> None:
    """Nothing is committed: the read of a file that no gotcha is about has the gone ones looked for."""
    (desk.repo / OLD).write_text(LONG)
    commit(desk)
    note(desk, f"{OLD}::add")
    move(desk)
    (desk.repo / NEW).write_text("".join(f"X_{n} = {n}\n" for n in range(90)) + LONG)
    assert desk.read(NEW) == ""
    desk.daemon.parts.behind.join()
    assert GOTCHA in reason_of(desk.edit(NEW))


def test_what_is_gone_is_not_looked_for_at_every_read(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once in a while, in each checkout."""
    note(desk)
    looked: list[object] = []
    monkeypatch.setattr(moved, "look_for_gone", lambda *_: looked.append(1))
    for _ in range(3):
        desk.read("other.py")
        desk.daemon.parts.behind.join()
    assert len(looked) == 1
    monkeypatch.setattr(limits, "MOVED_LOOK_PAUSE_S", 0)
    desk.read("other.py")
    desk.daemon.parts.behind.join()
    assert len(looked) == 2


def test_a_rename_that_was_reverted_leaves_the_new_path_alone(desk: Desk) -> None:
    """The gotcha is about the old path again."""
    (desk.repo / OLD).write_text(LONG)
    commit(desk)
    note(desk)
    move(desk, by_git=True)
    commit(desk)
    desk.start("s2")
    desk.daemon.parts.behind.join()
    git(desk.repo, "revert", "--no-edit", "HEAD")
    (desk.repo / "lib").mkdir(exist_ok=True)
    (desk.repo / NEW).write_text("something = 'else at that path'\n")
    assert desk.edit(NEW, session="s3") == ""
    assert "status: matches current state" in told(desk.edit(OLD, session="s3"))


@pytest.mark.parametrize("first", ["app.py", "other.py"])
def test_a_note_on_two_files_that_came_to_be_one_is_told_in_the_same_words(desk: Desk, first: str) -> None:
    """The look that finds the second move names the same of them as the next one, which knows both."""
    second = {"app.py": "other.py", "other.py": "app.py"}[first]
    (desk.repo / "other.py").write_text("def other():\n    return 'nothing of the kind'\n")
    note(desk, "app.py", "other.py", priority="medium")
    move(desk, first, "one.py")
    assert GOTCHA in told(desk.read("one.py"))
    move(desk, second, "one.py")
    found = told(desk.read("one.py", session="s2"))
    assert GOTCHA in found
    assert told(desk.edit("one.py", session="s3")) == found


def test_what_another_checkout_holds_has_not_moved_here(desk: Desk) -> None:
    """A file of that name lies in a checkout beside this one, and a copy of it comes here: the file that is gone held something
    else."""
    note(desk)
    beside = desk.repo.with_name(desk.repo.name[:-1] + "2")
    beside.mkdir()
    for path in (beside / OLD, desk.repo / "other.py"):
        path.write_text("def other():\n    return 'nothing of the kind'\n")
    assert desk.daemon.parts.ground.digest(str(beside), OLD) is not None
    (desk.repo / OLD).unlink()
    assert GOTCHA not in told(desk.read("other.py"))
    desk.daemon.parts.behind.join()
    assert GOTCHA not in told(desk.edit("other.py"))
