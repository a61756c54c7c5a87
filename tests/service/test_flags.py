"""Stale flags: raised and cleared behind reads, once for each state of a checkout, and what is told of them."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from memd_client import api
from memd_daemon.errors import StoreFull
from memd_daemon.model.stale_flag import CLEARED, RAISED, Drift
from memd_daemon.rules import Candidate
from memd_daemon.service import candidates
from memd_daemon.service.repos import place_of
from tests.service.desk import Desk, desk_at, git

GOTCHA = "add() is called with strings by the importer: keep it duck-typed."
CHANGED = "def add(a, b):\n    return b + a\n"
AS_IT_WAS = "def add(a, b):\n    return a + b\n"


def note(desk: Desk, **words: object) -> int:
    given = {"kind": "gotcha", "priority": "high", "anchors": ["app.py"]} | words
    return int(desk.remember(GOTCHA, **given).id)


def settle(desk: Desk) -> None:
    desk.daemon.parts.behind.join()
    desk.daemon.parts.flags.behind.join()


def events(desk: Desk, ref: int) -> list[api.EventOut]:
    settle(desk)
    return [one for one in desk.ask(api.Log(ref=str(ref))).events if one.type.startswith("stale_")]


def types(desk: Desk, ref: int) -> list[str]:
    return [one.type for one in events(desk, ref)]


def write(desk: Desk, text: str) -> None:
    (desk.repo / "app.py").write_text(text)


@pytest.mark.parametrize("how", ["read", "edit", "recall", "show", "list"])
def test_every_read_of_a_drifted_note_raises_its_flag(desk: Desk, how: str) -> None:
    """A hook's, and one that somebody asked for."""
    ref = note(desk)
    write(desk, CHANGED)
    asked: dict[str, Callable[[], object]] = {
        "read": lambda: desk.read("app.py"),
        "edit": lambda: desk.edit("app.py"),
        "recall": lambda: desk.recall("called with strings by the importer"),
        "show": lambda: desk.ask(api.Show(ref=str(ref), cwd=str(desk.repo))),
        "list": lambda: desk.ask(api.ListNotes(cwd=str(desk.repo))),
    }
    asked[how]()
    assert types(desk, ref) == [RAISED]


def test_a_note_that_stands_leaves_nothing(desk: Desk) -> None:
    """However often it is read."""
    ref = note(desk)
    desk.read("app.py")
    desk.recall("called with strings by the importer")
    assert types(desk, ref) == []


def test_a_flag_is_raised_once_and_cleared_when_the_file_is_as_it_was(desk: Desk) -> None:
    """In between nothing is written, however often it is read."""
    ref = note(desk)
    write(desk, CHANGED)
    for n in range(3):
        desk.read("app.py", session=f"s{n}")
        settle(desk)
    write(desk, AS_IT_WAS)
    desk.recall("called with strings by the importer")
    told = events(desk, ref)
    assert [(one.type, one.times) for one in told] == [(RAISED, 1), (CLEARED, 1)]
    assert told[0].what == f"flagged stale in {desk.repo.resolve()} on main: app.py [anchor_changed]"
    assert told[1].what == f"stands again in {desk.repo.resolve()} on main: app.py [anchor_changed] is over"
    assert all(one.local and one.who == "local" and one.actor == "system" and not one.uid for one in told)


def test_a_confirmation_clears_it_and_a_further_change_is_another_state(desk: Desk) -> None:
    """What is compared has become another."""
    ref = note(desk)
    write(desk, CHANGED)
    desk.recall("called with strings by the importer")
    settle(desk)
    desk.act("confirm", ref)
    desk.recall("called with strings by the importer")
    assert types(desk, ref) == [RAISED, CLEARED]
    desk.clock.ms += 1
    write(desk, CHANGED + "x = 1\n")
    desk.recall("called with strings by the importer")
    assert types(desk, ref) == [RAISED, CLEARED, RAISED]


def test_a_state_that_goes_and_comes_is_counted_on_two_rows(desk: Desk) -> None:
    """A branch that is switched to and fro."""
    ref = note(desk)
    for _ in range(3):
        for text in (CHANGED, AS_IT_WAS):
            write(desk, text)
            desk.recall("called with strings by the importer")
            settle(desk)
    assert [(one.type, one.times) for one in events(desk, ref)] == [(RAISED, 3), (CLEARED, 3)]


def test_hooks_count_a_state_that_goes_and_comes_too(desk: Desk) -> None:
    """What was told of a file once and is known again is news where something else was seen in between."""
    ref = note(desk)
    for n, text in enumerate((AS_IT_WAS, CHANGED, AS_IT_WAS, CHANGED)):
        write(desk, text)
        desk.read("app.py", session=f"s{n}")
        settle(desk)
    assert [(one.type, one.times) for one in events(desk, ref)] == [(RAISED, 2), (CLEARED, 1)]


def test_hooks_flag_each_worktree(desk: Desk, tmp_path: Path) -> None:
    """Its file looks the same in both."""
    ref = note(desk)
    git(desk.repo, "worktree", "add", "-q", str(tmp_path / "tree"))
    for repo in (tmp_path / "tree", desk.repo):
        desk.repo = repo
        write(desk, CHANGED)
        desk.read("app.py", session=repo.name)
    assert types(desk, ref) == [RAISED, RAISED]


def test_checkouts_side_by_side_take_nothing_from_each_other(desk: Desk, tmp_path: Path) -> None:
    """What is known of a file's notes in three of them stays known by turns, with what was told of their flags: an edit is fast."""
    note(desk)
    parts, places = desk.daemon.parts, [place_of(desk.daemon.parts, str(desk.repo))]
    for name in ("one", "two"):
        git(desk.repo, "worktree", "add", "-q", str(tmp_path / name))
        (tmp_path / name / "app.py").write_text(f"{name} = 1\n")
        places.append(place_of(parts, str(tmp_path / name)))

    def look() -> list[Sequence[Candidate]]:
        found = []
        for place in places:
            with parts.store.read() as snapshot:
                found.append(candidates.on_paths(parts, snapshot, place, ("s1",), ["app.py"], moved={}))
            settle(desk)
        return found

    for _ in range(3):  # until each flag is written
        look()
    assert all(one is again for one, again in zip(look(), look(), strict=True))


def test_a_flag_that_could_not_be_written_is_tried_again_by_the_next_hook(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though its file looks as it did."""
    ref = note(desk)
    write(desk, CHANGED)

    def fails(_flags: object) -> None:
        raise StoreFull

    with monkeypatch.context() as patched:
        patched.setattr(desk.daemon.parts.ledger, "put_flags", fails)
        desk.read("app.py")
        settle(desk)
    desk.read("app.py", session="s2")
    assert types(desk, ref) == [RAISED]


def test_a_revoked_note_is_flagged_no_more(desk: Desk) -> None:
    """Its tombstone says nothing of its ground."""
    ref = note(desk)
    write(desk, CHANGED)
    desk.recall("called with strings by the importer")
    settle(desk)
    desk.act("revoke", ref, reason="It was wrong.")
    desk.recall("called with strings by the importer")
    assert types(desk, ref) == [RAISED, CLEARED]


def test_two_worktrees_have_flags_of_their_own(desk: Desk, tmp_path: Path) -> None:
    """Each says where."""
    ref = note(desk)
    git(desk.repo, "worktree", "add", "-q", str(tmp_path / "tree"))
    main, desk.repo = desk.repo, tmp_path / "tree"
    write(desk, CHANGED)
    desk.recall("called with strings by the importer")
    desk.repo = main
    desk.recall("called with strings by the importer")
    told = events(desk, ref)
    assert [one.type for one in told] == [RAISED]
    assert "/tree on tree: app.py" in told[0].what


def test_a_worktree_that_was_removed_flags_nothing(desk: Desk, tmp_path: Path) -> None:
    """Nobody could ever look at it again; what was found there stays in the note's history."""
    ref = note(desk)
    git(desk.repo, "worktree", "add", "-q", str(tmp_path / "tree"))
    main, desk.repo = desk.repo, tmp_path / "tree"
    write(desk, CHANGED)
    desk.recall("called with strings by the importer")
    settle(desk)
    assert len(desk.daemon.parts.flags.flagged(desk.daemon.parts)) == 1
    git(main, "worktree", "remove", "-f", str(tmp_path / "tree"))
    assert not desk.daemon.parts.flags.flagged(desk.daemon.parts)
    assert types(desk, ref) == [RAISED]


def test_what_is_absent_on_a_branch_raises_and_clears_nothing(desk: Desk) -> None:
    """A note about a file of another branch, and one that drifted where the file is."""
    git(desk.repo, "switch", "-qc", "side")
    (desk.repo / "side.py").write_text(AS_IT_WAS * 2)
    git(desk.repo, "add", "-A")
    git(desk.repo, "commit", "-qm", "side")
    ref = note(desk, anchors=["side.py"])
    git(desk.repo, "switch", "-q", "main")
    desk.recall("called with strings by the importer")
    assert types(desk, ref) == []
    git(desk.repo, "switch", "-q", "side")
    (desk.repo / "side.py").write_text(CHANGED)
    desk.recall("called with strings by the importer")
    git(desk.repo, "checkout", "-q", "side.py")
    (desk.repo / "side.py").unlink()
    git(desk.repo, "checkout", "-q", "main")
    desk.recall("called with strings by the importer")
    assert types(desk, ref) == [RAISED]


def test_a_restart_remembers_what_is_flagged(tmp_path: Path) -> None:
    """So that it is not raised again, and can be cleared."""
    with desk_at(tmp_path) as desk:
        ref = note(desk)
        write(desk, CHANGED)
        desk.recall("called with strings by the importer")
        settle(desk)
        repo = desk.repo
    again = Desk(tmp_path / "home", repo)
    again.recall("called with strings by the importer")
    assert [(one.type, one.times) for one in events(again, ref)] == [(RAISED, 1)]
    write(again, AS_IT_WAS)
    again.recall("called with strings by the importer")
    assert types(again, ref) == [RAISED, CLEARED]
    again.close()


def test_an_answer_does_not_wait_for_its_flag(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger is not written to before the hook has its text."""
    ref = note(desk)
    write(desk, CHANGED)
    answered, ledger = threading.Event(), desk.daemon.parts.ledger
    put = ledger.put_flags

    def late(flags: object) -> None:
        assert answered.wait(10)
        put(flags)  # type: ignore[arg-type]  # what the ledger is given

    monkeypatch.setattr(ledger, "put_flags", late)
    assert GOTCHA in desk.edit("app.py")
    answered.set()
    assert types(desk, ref) == [RAISED]


def test_a_ledger_that_is_full_is_told_again_later(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be written is not taken for known."""
    ref = note(desk)
    write(desk, CHANGED)

    def full(_: object) -> None:
        raise StoreFull

    with monkeypatch.context() as patched:
        patched.setattr(desk.daemon.parts.ledger, "put_flags", full)
        desk.recall("called with strings by the importer")
        settle(desk)
    assert types(desk, ref) == []
    desk.recall("called with strings by the importer")
    assert types(desk, ref) == [RAISED]


@pytest.mark.parametrize("what", ["no room to read", "no thread"])
def test_a_first_look_that_failed_is_made_again(desk: Desk, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """What waited then keeps nothing that comes later from being written."""

    def refuse(*_: object) -> None:
        raise StoreFull if what == "no room to read" else RuntimeError("can't start new thread")

    ref = note(desk)
    write(desk, CHANGED)
    settle(desk)
    with monkeypatch.context() as failing:
        if what == "no room to read":
            failing.setattr(desk.daemon.parts.ledger, "flags_standing", refuse)
        else:
            failing.setattr(threading.Thread, "start", refuse)
        desk.recall("called with strings by the importer")
        settle(desk)
    desk.recall("called with strings by the importer")
    assert types(desk, ref) == [RAISED]


def test_nothing_of_it_stands_in_a_commit(desk: Desk) -> None:
    """Local events leave the log as it was."""
    ref = note(desk)
    with desk.daemon.parts.store.read() as snapshot:
        before = snapshot.last_seq()
    write(desk, CHANGED)
    desk.read("app.py")
    assert types(desk, ref) == [RAISED]
    with desk.daemon.parts.store.read() as snapshot:
        assert snapshot.last_seq() == before


def test_the_ledger_keeps_what_moved_and_nothing_of_what_a_file_says_now(desk: Desk) -> None:
    """A claim's new value is the file's own."""
    (desk.repo / "conf.py").write_text("LIMIT = 5\n")
    ref = note(desk, anchors=["conf.py::LIMIT=5"])
    (desk.repo / "conf.py").write_text("LIMIT = 777123\n")
    desk.recall("called with strings by the importer")
    settle(desk)
    with desk.daemon.parts.store.read() as snapshot:
        uid = snapshot.uid_of(ref)
    assert uid is not None
    (flag,) = desk.daemon.parts.ledger.flags_of(uid)
    assert flag.drifts == (Drift("conf.py", "claim_broken"),)


def test_status_counts_the_notes_that_are_flagged(desk: Desk) -> None:
    """Those that still hold, each once."""
    first, second = note(desk), note(desk, kind="finding")
    write(desk, CHANGED)
    desk.recall("called with strings by the importer")
    settle(desk)
    assert desk.ask(api.Status()).store["stale"] == 2
    desk.act("revoke", second, reason="It was wrong.")
    assert desk.ask(api.Status()).store["stale"] == 1
    write(desk, AS_IT_WAS)
    desk.ask(api.Show(ref=str(first), cwd=str(desk.repo)))
    settle(desk)
    assert desk.ask(api.Status()).store["stale"] == 0
