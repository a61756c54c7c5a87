"""What is kept between edits: the very same while nothing that it was made of changes, never what was before a change."""

import tempfile
import weakref
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from memd_daemon import limits
from memd_daemon.model.view import NoteView
from memd_daemon.model.words import Kind
from memd_daemon.service import candidates
from memd_daemon.service.known import KnownViews, NotKnown, Rows, Still
from memd_daemon.service.repos import Place, place_of, scopes_at
from memd_daemon.service.standing import KnownSettings
from memd_daemon.store.port import Snapshot
from tests.service.desk import Desk, context_of, desk_at
from tests.service.test_acts_random import begun, carry_out, steps
from tests.service.test_settings import change

LOOKED_FOR = {
    "its note": lambda s, id_, _: s.note(s.uid_of(id_)),
    "its number": lambda s, id_, _: s.id_of(s.uid_of(id_)),
    "its kind": lambda s, _, scope: list(s.notes_of_kind(scope, "directive")),
    "its path": lambda s, _, scope: list(s.notes_on_path(scope, "app.py")),
    "something else": lambda s, *_: list(s.notes()),
}


def asked(desk: Desk, known: KnownViews, key: str = "app.py", look: Any = None, id_: int = 0) -> Rows[Any]:
    """The rows of a key, made by looking at something in the desk's repository."""
    scope = place_of(desk.daemon.parts, str(desk.repo)).scope

    def make(snapshot: Snapshot) -> tuple[object, ...]:
        if look is not None:
            look(snapshot, id_, scope)
        return (object(),)

    with desk.daemon.parts.store.read() as snapshot:
        return known.at(snapshot)((key,), make)


def test_rows_are_made_once_while_nothing_is_written(desk: Desk) -> None:
    """The second asker gets the same objects, another key its own."""
    known = KnownViews()
    first = asked(desk, known)
    assert asked(desk, known) is first
    assert asked(desk, known, "other.py") is not first


def test_what_is_kept_keeps_no_snapshot(desk: Desk) -> None:
    """A snapshot that somebody holds keeps its place among the store's readers, and there are not many."""
    known, made_of = KnownViews(), []

    def look(snapshot: Snapshot, *_: object) -> None:
        made_of.append(weakref.ref(snapshot._snapshot))  # type: ignore[attr-defined]  # of the one that notes what is looked at

    first = asked(desk, known, look=look)
    assert asked(desk, known) is first
    assert [snapshot() for snapshot in made_of] == [None]


@pytest.mark.parametrize("looked_for", LOOKED_FOR)
def test_rows_stand_until_what_they_were_made_of_changes(desk: Desk, looked_for: str) -> None:
    """A note about something else leaves them; where nobody can tell what they were made of, any write ends them."""
    known, look = KnownViews(), LOOKED_FOR[looked_for]
    one = desk.remember("pop() of an empty queue returns None here")
    first = asked(desk, known, look=look, id_=one.id)
    desk.remember("the queue is bounded")
    assert (asked(desk, known, look=look, id_=one.id) is first) == (looked_for != "something else")


@pytest.mark.parametrize("looked_for", LOOKED_FOR)
def test_a_write_ends_the_rows_that_it_bears_on(desk: Desk, looked_for: str) -> None:
    """An event about a note that was looked at, and a note that a lookup would now find."""
    known, look = KnownViews(), LOOKED_FOR[looked_for]
    one = desk.remember("pop() of an empty queue returns None here", kind="directive")
    first = asked(desk, known, look=look, id_=one.id)
    if looked_for in ("its note", "its number"):
        desk.act("revoke", one.id, reason="it raises")
    elif looked_for == "its path":
        desk.remember("mind the gap", kind="gotcha", anchors=["app.py"])
    else:
        desk.remember("Ask before a push.", kind="directive")
    assert asked(desk, known, look=look, id_=one.id) is not first


def test_a_note_that_a_lookup_finds_no_more_ends_the_rows(desk: Desk) -> None:
    """Also where nobody looked at more of it than its number."""
    known, look = KnownViews(), LOOKED_FOR["its path"]
    one = desk.remember("mind the gap", kind="gotcha", anchors=["app.py"])
    first = asked(desk, known, look=look)
    (desk.repo / "other.py").write_text("x = 1\n")
    desk.act("amend", one.id, anchors=["other.py"])
    assert asked(desk, known, look=look) is not first


def test_what_cannot_be_told_ends_all(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of the settings, more commits than are looked through, and rows of the log that were made anew."""
    known = KnownViews()
    first = asked(desk, known)
    change(desk, "budget.prompt", "700")
    second = asked(desk, known)
    monkeypatch.setattr(limits, "CATCH_UP_COMMITS_MAX", 1)
    desk.remember("the queue is bounded")
    third = asked(desk, known)
    desk.remember("and the stack is not")
    desk.remember("nor is the heap")
    fourth = asked(desk, known)
    known.forget()
    fifth = asked(desk, known)
    assert [first is second, second is third, third is fourth, fourth is fifth] == [False, True, False, False]


def test_a_snapshot_from_before_a_write_keeps_nothing_for_after_it(desk: Desk) -> None:
    """Two hooks at once: the one that read earlier and finishes later must not leave what it read, nor find what came later."""
    known = KnownViews()
    with desk.daemon.parts.store.read() as earlier:

        def make_late(_: Snapshot) -> tuple[object, ...]:
            desk.remember("the queue is bounded")
            asked(desk, known)
            return ()

        known.at(earlier)(("app.py",), make_late)
        assert asked(desk, known).rows != ()
        assert known.at(earlier)(("app.py",), lambda _: (1, 2)).rows == (1, 2)
    assert len(asked(desk, known).rows) == 1


def test_a_snapshot_from_before_all_was_forgotten_leaves_nothing(desk: Desk) -> None:
    """Rows that were made anew are no commit: who reads late what was there before must not leave it for those who come after."""
    parts = desk.daemon.parts
    fact = lambda snapshot: (snapshot.setting("x"),)  # noqa: E731
    with parts.store.read() as earlier:
        late = parts.views.at(earlier)
        parts.store.write(lambda txn: txn.put_setting("x", b"y"))
        parts.forget()
        assert late(("late",), fact).rows == (None,)
        assert parts.views.at(earlier)(("later",), fact).rows == (None,)
        with parts.store.read() as snapshot:
            assert parts.views.at(snapshot)(("new",), fact).rows == (b"y",)
            assert late(("new",), fact).rows == (None,)
            assert late(("latest",), fact).rows == (None,)
    with parts.store.read() as snapshot:
        known = parts.views.at(snapshot)
        assert [known((key,), fact).rows for key in ("late", "later", "latest")] == [(b"y",)] * 3


def test_their_number_is_bounded(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that edits every file of a large repository does not grow the daemon, nor does a file that never looks the same."""
    monkeypatch.setattr(limits, "VIEWS_KNOWN_MAX", 3)
    known = KnownViews()
    for number in range(10):
        asked(desk, known, f"{number}.py")
    assert len(known._known) <= limits.VIEWS_KNOWN_MAX  # pyright: ignore[reportPrivateUsage] -- what is bounded
    rows = Rows((1, 2))
    for number in range(20):
        assert rows.derived(number, lambda made: made[::-1]) == (2, 1)
    assert len(rows._derived) <= limits.DERIVED_KNOWN_MAX  # pyright: ignore[reportPrivateUsage] -- what is bounded


def views_of(desk: Desk, snapshot: Snapshot, known: KnownViews, place: Place) -> list[tuple[NoteView, ...]]:
    """Every view that a start or an edit could ask for."""
    parts, at = desk.daemon.parts, known.at(snapshot)
    of_kinds = [
        candidates._of_kind(parts, at, place, scope, kind).rows  # pyright: ignore[reportPrivateUsage] -- what is kept
        for scope in scopes_at(place, "s1")
        for kind in (Kind.DIRECTIVE, Kind.TASK)
    ]
    return [*of_kinds, candidates._on_path(parts, at, place, place.scope, "app.py").rows]  # pyright: ignore[reportPrivateUsage] -- as above


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps)
def test_what_is_kept_is_what_would_be_made(asked_for: list[dict[str, Any]]) -> None:
    """After any act by anybody the kept views are those that a fresh look makes."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, desk_at(Path(folder)) as desk:
        person = begun(desk)
        desk.remember("add() wraps at 32 bits", kind="gotcha", anchors=["app.py"], derived_from=["2", "3"])
        desk.daemon.parts.sift()
        place = place_of(desk.daemon.parts, str(desk.repo))
        for step in asked_for:
            carry_out(desk, person, step)
            with desk.daemon.parts.store.read() as snapshot:
                kept = views_of(desk, snapshot, desk.daemon.parts.views, place)
                assert kept == views_of(desk, snapshot, KnownViews(), place)
                assert not any(map(desk.daemon.parts.known_at(snapshot).lacks, snapshot.anchor_digests()))


def test_behind_a_write_all_is_brought_up_to_it(desk: Desk) -> None:
    """No hook has to look through the commits of a write first; what the write did not bear on is still there."""
    parts = desk.daemon.parts
    desk.remember("Calls are retried.", kind="gotcha", anchors=["app.py"])
    desk.edit("app.py")
    before = set(parts.views._known)  # pyright: ignore[reportPrivateUsage] -- what is kept
    desk.remember("The report is slow.", kind="finding")
    parts.behind.join()
    with parts.store.read() as snapshot:
        assert parts.views._at is not None  # pyright: ignore[reportPrivateUsage] -- as above
        assert parts.views._at.version == snapshot.version()  # pyright: ignore[reportPrivateUsage] -- as above
    assert before
    assert set(parts.views._known) == before  # pyright: ignore[reportPrivateUsage] -- as above


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

    def looking(root: Path, branch: str, anchors: Any, deadline_ns: int | None = None, **more: Any) -> Any:
        deadlines.add(deadline_ns)
        return look(root, branch, anchors, deadline_ns, **more)

    monkeypatch.setattr(desk.daemon.parts.ground, "statuses", looking)
    desk.read("app.py")
    assert len(deadlines) == 1
    assert None not in deadlines


def test_a_store_in_doubt_is_looked_at_anew(desk: Desk) -> None:
    """Once something did not fit, nothing is told from memory until the store was looked through."""
    known = desk.daemon.parts.known_at
    with desk.daemon.parts.store.read() as snapshot:
        first = known(snapshot)(("app.py",), lambda _: (1,))
        assert known(snapshot)(("app.py",), lambda _: (2,)) is first
        desk.daemon.parts.store.doubt.set()
        assert known(snapshot)(("app.py",), lambda _: (3,)).rows == (3,)
        assert known(snapshot)(("app.py",), lambda _: (4,)).rows == (4,)


# --- the log where nothing was added to it


def opened(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A mark for each snapshot of the store that is opened from here on."""
    store, seen = desk.daemon.parts.store, []
    read = store.read

    def count() -> Any:
        seen.append("read")
        return read()

    monkeypatch.setattr(store, "read", count)
    return seen


def test_an_edit_that_brings_nothing_new_opens_no_snapshot(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that it asks of the log is known: after a note about something else too, once that has been caught up with."""
    desk.remember("mind the lock", kind="gotcha", priority="high", anchors=["app.py"])
    for _ in range(3):
        desk.edit("app.py")
    desk.remember("of another thing", kind="finding")
    desk.daemon.parts.behind.join(limits.RESULTS_WAIT_S)
    desk.edit("app.py")
    seen = opened(desk, monkeypatch)
    assert desk.edit("app.py") == ""
    assert seen == []


@pytest.mark.parametrize("is_caught_up", [True, False])
def test_what_was_added_a_moment_ago_is_told(desk: Desk, is_caught_up: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether or not anybody has looked at the log since."""
    first = desk.remember("mind the lock", kind="gotcha", priority="high", anchors=["app.py"])
    for _ in range(3):
        desk.edit("app.py")
    if not is_caught_up:
        monkeypatch.setattr(type(desk.daemon.parts), "catch_up", lambda parts: None)
    desk.remember("mind the other lock", kind="gotcha", anchors=["app.py"])
    desk.daemon.parts.behind.join(limits.RESULTS_WAIT_S)
    assert "mind the other lock" in context_of(desk.edit("app.py"))
    desk.act("revoke", str(first.id), reason="it was removed")
    desk.daemon.parts.behind.join(limits.RESULTS_WAIT_S)
    assert "it was removed" in context_of(desk.edit("app.py", prompt_id="p2"))


def test_settings_stand_still_until_something_is_added(desk: Desk) -> None:
    """A pause counts at once, though nobody has looked at the log since; what was added by then is in the next look."""
    known, store = KnownSettings(), desk.daemon.parts.store
    assert known.still(store.additions) is None
    with store.read() as snapshot:
        before = known.at(snapshot, store.info.store)
        assert known.still(store.additions) is before
        change(desk, "pause", "on")
        assert known.at(snapshot, store.info.store) is before
    assert known.still(store.additions) is None
    with store.read() as snapshot:
        paused = known.at(snapshot, store.info.store)
    assert not paused.is_default
    assert known.still(store.additions) is paused
    store.write(lambda txn: txn.put_setting("x", b"y"))
    assert known.still(store.additions) is paused


def test_work_is_done_with_a_snapshot_where_something_is_not_known(desk: Desk) -> None:
    """From its beginning, so that all of it is of one moment."""
    parts, steps = desk.daemon.parts, []
    parts.catch_up()

    def work(snapshot: Snapshot) -> int:
        steps.append(Still.of(snapshot) is not None)
        parts.known_at(snapshot)
        parts.settings(snapshot)
        return snapshot.counts().notes

    assert parts.look(work) == 0
    assert steps == [True, False]


def test_nothing_stands_still_while_it_is_not_known_or_in_doubt(desk: Desk) -> None:
    """A log that nobody has looked at, one with something added to it, and one of which a row did not fit."""
    parts = desk.daemon.parts
    is_still = lambda: parts.look(lambda snapshot: Still.of(snapshot) is not None)  # noqa: E731
    parts.views.forget()
    assert not is_still()
    parts.catch_up()
    assert is_still()
    parts.store.write(lambda txn: txn.put_setting("x", b"y"))
    assert is_still()
    parts.store.doubt.set()
    assert not is_still()
    parts.store.doubt.clear()
    desk.remember("one more", kind="finding")
    desk.daemon.parts.behind.join(limits.RESULTS_WAIT_S)
    assert is_still()
    parts.known_settings.hold_fast({})
    assert not is_still()


def test_rows_of_a_later_log_are_not_taken_for_those_of_an_earlier(desk: Desk) -> None:
    """Another thread may come to a later one meanwhile: then the one that still looks begins again with a snapshot."""
    known, parts = KnownViews(), desk.daemon.parts
    asked(desk, known)
    still = known.still(parts.store.additions)
    assert still is not None
    assert still(("app.py",), lambda _: ()) is asked(desk, known)
    desk.remember("of another thing", kind="finding")
    asked(desk, known)
    assert known.still(parts.store.additions - 1) is None
    with pytest.raises(NotKnown):
        still(("app.py",), lambda _: ())
