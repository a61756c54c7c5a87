"""Which contents no anchor has: never said of one that an anchor has, and mostly said of the others."""

import random
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_daemon import limits
from memd_daemon.ground.files import Glance
from memd_daemon.model.event import Anchor
from memd_daemon.service.known import Known, KnownViews, NotKnown
from memd_daemon.service.moved import moved_here
from memd_daemon.service.repos import place_of
from memd_daemon.service.sieve import Sieve
from tests.service.desk import Desk, context_of, desk_at
from tests.service.test_moved import GOTCHA, MOVED, NEW, OLD, move, note, told
from tests.store.making import event, foreign_commit, fresh_uid, recorded

NEVER = b"n" * 16


@given(st.lists(st.binary(max_size=20), max_size=50))
def test_what_was_added_may_be_there(added: list[bytes]) -> None:
    """Digests of whatever length: those of another store are what it made them."""
    sieve = Sieve()
    for digest in added:
        sieve.add(digest)
    assert all(map(sieve.may_hold, added))


def test_most_others_are_not_there() -> None:
    """As `limits.SIEVE_BITS` says, of as many as a large store has."""
    dice = random.Random(1)
    sieve = Sieve()
    assert len(sieve._bits) * 8 == limits.SIEVE_BITS  # pyright: ignore[reportPrivateUsage] -- what it costs
    assert not sieve.may_hold(dice.randbytes(16))
    for _ in range(100_000):
        sieve.add(dice.randbytes(16))
    passed = sum(sieve.may_hold(dice.randbytes(16)) for _ in range(10_000))
    assert 200 < passed < 400


def digest(desk: Desk) -> bytes:
    """Of the file that the notes are about."""
    found = desk.daemon.parts.ground.digest(str(desk.repo), "app.py")
    assert found is not None
    return found


def sifted(desk: Desk, known: KnownViews, give_way: Callable[[], None] = lambda: None) -> KnownViews:
    with desk.daemon.parts.store.read() as snapshot:
        known.sift(snapshot, give_way)
    return known


def now(desk: Desk, known: KnownViews) -> Known:
    """What is known of the log as it stands."""
    with desk.daemon.parts.store.read() as snapshot:
        return known.at(snapshot)


def test_before_all_were_gone_through_none_is_lacking(desk: Desk) -> None:
    known = KnownViews()
    assert not now(desk, known).lacks(NEVER)
    assert now(desk, sifted(desk, known)).lacks(NEVER)


def test_the_contents_of_gotchas_are_there_those_of_before_and_those_that_come(desk: Desk) -> None:
    first, other = KnownViews(), KnownViews()
    sifted(desk, first)
    assert now(desk, first).lacks(digest(desk))
    note(desk)
    now(desk, first)
    sifted(desk, other)
    assert [now(desk, known).lacks(digest(desk)) for known in (first, other)] == [False, False]
    assert [now(desk, known).lacks(NEVER) for known in (first, other)] == [True, True]


def test_all_anchors_of_a_gotcha_that_comes_are_there(desk: Desk) -> None:
    known = sifted(desk, KnownViews())
    (desk.repo / "other.py").write_text("def other():\n    return 'nothing of the kind'\n")
    note(desk, "app.py", "other.py")
    with desk.daemon.parts.store.read() as snapshot:
        held = set(snapshot.anchor_digests())
    assert len(held) == 2
    assert not any(map(now(desk, known).lacks, held))


def test_an_earlier_state_is_gone_through_in_vain(desk: Desk) -> None:
    """Another thread may have come to a later one before it began."""
    known = KnownViews()
    with desk.daemon.parts.store.read() as earlier:
        note(desk)
        now(desk, known)
        known.sift(earlier, lambda: None)
    assert not now(desk, known).lacks(digest(desk))


def test_a_gotcha_that_returns_brings_its_content_back(desk: Desk) -> None:
    """It was not there when all were gone through."""
    away = note(desk)
    desk.act("archive", away)
    known = sifted(desk, KnownViews())
    assert now(desk, known).lacks(digest(desk))
    desk.act("restore-note", away)
    assert not now(desk, known).lacks(digest(desk))


def test_a_commit_that_comes_while_they_are_gone_through_is_not_missed(desk: Desk) -> None:
    """The snapshot that is gone through does not have it."""
    note(desk, content="one that is gone through")
    known = KnownViews()
    (desk.repo / "app.py").write_text("def add(a, b, c):\n    return a + b + c\n")

    def meanwhile() -> None:
        note(desk, content="one more")
        now(desk, known)

    sifted(desk, known, meanwhile)
    assert not now(desk, known).lacks(digest(desk))
    assert now(desk, sifted(desk, known)).lacks(NEVER)
    assert not now(desk, known).lacks(digest(desk))


def test_at_an_earlier_state_of_the_log_nothing_is_lacking(desk: Desk) -> None:
    """A gotcha that stood there may have gone since, before all were gone through."""
    parts, known = desk.daemon.parts, KnownViews()
    gone, held = note(desk), digest(desk)
    now(desk, known)
    still = known.still(parts.store.additions)
    assert still is not None
    with parts.store.read() as snapshot:
        before = known.at(snapshot)
        desk.act("archive", gone)
        assert now(desk, sifted(desk, known)).lacks(held)
        assert [one.lacks(held) for one in (before, known.at(snapshot), still)] == [False, False, False]
        assert list(snapshot.notes_anchored_as(place_of(parts, str(desk.repo)).scope, held))
    with pytest.raises(NotKnown):
        still(("anything",), lambda _: ())
    lasting = known.still(parts.store.additions)
    assert lasting is not None
    assert lasting.lacks(held)


def test_events_that_fill_in_a_commit_of_another_store_are_not_missed(desk: Desk) -> None:
    """Of how many commits there are they change nothing, and a commit of this store comes with them."""
    parts, other = desk.daemon.parts, b"theirs" * 2
    anchor = Anchor(path="app.py", form="file", digest=other)
    theirs = event("recorded", fresh_uid(), recorded(kind="gotcha", anchors=(anchor,), scope="global"))
    commit = foreign_commit([(theirs, b"")], origin=b"F" * 16, seq=1, hlc=5)
    parts.store.write(lambda txn: txn.receive(commit[0], commit[1], [None]))  # type: ignore[attr-defined]  # as an import
    known = sifted(desk, KnownViews())
    global_ones = lambda snapshot: tuple(snapshot.notes_of_kind("global", "gotcha"))  # noqa: E731
    assert now(desk, known).lacks(other)
    with parts.store.read() as snapshot:
        assert known.at(snapshot)(("global",), global_ones).rows == ()
    parts.store.write(lambda txn: txn.receive(*commit))  # type: ignore[attr-defined]  # as above
    desk.remember("of another thing", kind="finding")
    assert not now(desk, known).lacks(other)
    with parts.store.read() as snapshot:
        assert known.at(snapshot)(("global",), global_ones).rows != ()


def test_what_is_forgotten_lacks_nothing(desk: Desk) -> None:
    """Rows that were made anew without a commit, and a commit that bears on all."""
    known = sifted(desk, KnownViews())
    known.forget()
    assert not now(desk, known).lacks(NEVER)
    sifted(desk, known)
    for number in range(limits.CATCH_UP_COMMITS_MAX + 1):
        note(desk, content=f"note {number}")
    assert not now(desk, known).lacks(NEVER)


def test_they_are_gone_through_once_in_a_while_and_at_once_where_all_was_forgotten(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = KnownViews()
    assert [known.is_to_sift() for _ in range(3)] == [True, False, False]
    known.forget()
    assert [known.is_to_sift() for _ in range(2)] == [True, False]
    monkeypatch.setattr(limits, "SIFT_PAUSE_S", 0)
    assert known.is_to_sift()
    assert not sifted(desk, known).is_to_sift()
    known.forget()
    assert known.is_to_sift()


def test_others_pass_while_they_are_gone_through(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each thousand or so, not after each."""
    monkeypatch.setattr(limits, "SIFTED_AT_ONCE", 2)
    for number in range(5):
        note(desk, content=f"note {number}")
    passed = []
    sifted(desk, KnownViews(), lambda: passed.append(threading.get_ident()))
    assert len(passed) == 3


def test_hooks_pass_while_they_are_gone_through(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    passed = []
    monkeypatch.setattr(desk.daemon.parts.behind, "give_way", lambda: passed.append(threading.get_ident()))
    note(desk)
    desk.daemon.parts.behind.join()
    passed.clear()
    desk.daemon.parts.sift()
    assert passed == [threading.get_ident()]


def test_an_edit_behind_the_first_asks_the_store_for_no_content_that_is_new(desk: Desk) -> None:
    """Each edit leaves one behind."""
    note(desk)
    desk.read("app.py")
    desk.daemon.parts.behind.join()
    views = desk.daemon.parts.views
    before = set(views._known)  # pyright: ignore[reportPrivateUsage] -- what was asked for
    (desk.repo / "app.py").write_text("def add(a, b, c):\n    return a + b + c\n")
    desk.edit("app.py")
    asked = {key[0] for key in set(views._known) - before}  # pyright: ignore[reportPrivateUsage] -- as above
    assert "content" not in asked


@pytest.mark.parametrize("is_late", [False, True])
def test_a_file_that_was_moved_over_another_is_found(desk: Desk, *, is_late: bool) -> None:
    """Whether its note was there when all contents were gone through, or came later."""
    (desk.repo / "other.py").write_text("def other():\n    return 'nothing of the kind'\n")
    desk.remember("other() is called at night.", kind="gotcha", anchors=["other.py"])
    if not is_late:
        note(desk)
    desk.read("other.py")
    desk.daemon.parts.behind.join()
    assert now(desk, desk.daemon.parts.views).lacks(NEVER)
    if is_late:
        note(desk)
    move(desk, new="other.py")
    out = told(desk.edit("other.py", prompt_id="p2"))
    assert GOTCHA in out
    assert MOVED in out


def test_a_store_in_doubt_is_not_gone_through(desk: Desk) -> None:
    """Its rows may be wrong."""
    parts = desk.daemon.parts
    parts.store.doubt.set()
    parts.sift()
    assert not now(desk, parts.views).lacks(NEVER)
    parts.store.doubt.clear()
    parts.sift()
    assert now(desk, parts.views).lacks(NEVER)
    assert context_of(desk.read("app.py")) == ""


@pytest.mark.parametrize("is_sifted", [False, True])
def test_a_file_that_moved_while_no_daemon_ran_is_known_by_what_its_anchor_held(
    tmp_path: Path, *, is_sifted: bool
) -> None:
    """Nobody has seen its content in this daemon's time: the store alone knows it."""
    with desk_at(tmp_path) as desk:
        note(desk)
        repo = desk.repo
    (repo / NEW).parent.mkdir(exist_ok=True)
    (repo / OLD).rename(repo / NEW)
    again = Desk(tmp_path / "home", repo)
    if is_sifted:
        again.daemon.parts.sift()
    assert now(again, again.daemon.parts.views).lacks(NEVER) == is_sifted
    out = told(again.edit(NEW))
    again.close()
    assert GOTCHA in out
    assert MOVED in out


@pytest.mark.parametrize("keeps", [False, True])
def test_only_who_keeps_what_is_found_begins_to_go_through_them(desk: Desk, *, keeps: bool) -> None:
    """Whoever asks what would be told changes nothing, and leaves no work behind."""
    parts = desk.daemon.parts
    note(desk)
    moved_here(parts, place_of(parts, str(desk.repo)), [], ["app.py"], Glance(), keeps=keeps)
    parts.behind.join()
    assert now(desk, parts.views).lacks(NEVER) == keeps
