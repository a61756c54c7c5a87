"""Views that are kept between edits: the very ones while nothing is written, never one from before a write."""

from pathlib import Path
from typing import Any

import pytest

from memd_daemon import limits
from memd_daemon.model.view import NoteView
from memd_daemon.service.known import KnownViews, Views
from tests.service.desk import Desk, context_of


def asked(desk: Desk, known: KnownViews, key: str = "app.py") -> tuple[Views, bool]:
    """(the views, whether they were made for this call)."""
    made: list[Views] = []

    def make() -> Views:
        made.append((NoteView(id=len(made), note=None, content="", summary="", frame_class="agent"),))  # type: ignore[arg-type]
        return made[-1]

    with desk.daemon.parts.store.read() as snapshot:
        views = known.at(snapshot)((key,), make)
    return views, bool(made)


def test_views_are_made_once_while_nothing_is_written(desk: Desk) -> None:
    """The second asker gets the same objects, another key its own."""
    known = KnownViews()
    first, was_made = asked(desk, known)
    again, was_made_again = asked(desk, known)
    assert (was_made, was_made_again, again is first) == (True, False, True)
    assert asked(desk, known, "other.py")[1]


def test_a_write_forgets_them_all(desk: Desk) -> None:
    """Any event may change any view: lineage reaches over notes."""
    known = KnownViews()
    asked(desk, known)
    desk.remember("pop() of an empty queue returns None here")
    assert asked(desk, known)[1]


def test_a_snapshot_from_before_a_write_keeps_nothing_for_after_it(desk: Desk) -> None:
    """Two hooks at once: the one that read earlier and finishes later must not leave what it read."""
    known = KnownViews()
    with desk.daemon.parts.store.read() as earlier:

        def make_late() -> Views:
            desk.remember("the queue is bounded")
            asked(desk, known)
            return ()

        known.at(earlier)(("app.py",), make_late)
    assert asked(desk, known)[0] != ()


def test_their_number_is_bounded(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that edits every file of a large repository does not grow the daemon."""
    monkeypatch.setattr(limits, "VIEWS_KNOWN_MAX", 3)
    known = KnownViews()
    for number in range(10):
        asked(desk, known, f"{number}.py")
    assert sum(len(views) for views in known._known.values()) <= limits.VIEWS_KNOWN_MAX


def test_a_revoked_gotcha_is_struck_through_at_the_next_edit(desk: Desk) -> None:
    """What is kept between two edits is not what was true before the revocation."""
    note = desk.remember("add() overflows on 32 bit", kind="gotcha", anchors=["app.py"])
    desk.start()
    assert "add() overflows" in context_of(desk.edit("app.py"))
    desk.act("revoke", note.id, reason="it does not")
    assert "it does not" in context_of(desk.edit("app.py", prompt_id="p2"))


def test_a_changed_file_is_seen_though_the_views_are_kept(desk: Desk) -> None:
    """The ground is looked at at every edit: a file changes without any write of memd's."""
    desk.remember("add() overflows on 32 bit", kind="gotcha", anchors=["app.py"])
    desk.start()
    assert "matches" in context_of(desk.edit("app.py"))
    (desk.repo / "app.py").write_text("def add(a, b):\n    return b + a\n")
    assert "changed" in context_of(desk.edit("app.py", session="s2"))


def test_all_files_of_one_answer_share_one_deadline(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty slow files hold other hooks up no longer than one does; what there was no time for is to be verified."""
    for number in range(20):
        (desk.repo / f"{number}.py").write_text("x = 1\n")
        anchors = ["app.py", f"{number}.py"]
        desk.remember(f"caveat number {number} of the adder", kind="gotcha", priority="low", anchors=anchors)
    deadlines = set()
    look = desk.daemon.parts.ground.statuses

    def looking(root: Path, branch: str, anchors: Any, deadline_ns: int | None = None) -> Any:
        deadlines.add(deadline_ns)
        return look(root, branch, anchors, deadline_ns)

    monkeypatch.setattr(desk.daemon.parts.ground, "statuses", looking)
    desk.read("app.py")
    assert len(deadlines) == 1
    assert None not in deadlines
