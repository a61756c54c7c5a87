"""Which contents no anchor has: never said of one that an anchor has, and mostly said of the others."""

import random
import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_daemon import limits
from memd_daemon.service.known import KnownViews
from memd_daemon.service.sieve import Sieve
from tests.service.desk import Desk, context_of
from tests.service.test_moved import GOTCHA, MOVED, move, note, told

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


def come_to_now(desk: Desk, known: KnownViews) -> None:
    with desk.daemon.parts.store.read() as snapshot:
        known.at(snapshot)


def test_before_all_were_gone_through_none_is_lacking(desk: Desk) -> None:
    known = KnownViews()
    come_to_now(desk, known)
    assert not known.lacks(NEVER)
    assert sifted(desk, known).lacks(NEVER)


def test_the_contents_of_gotchas_are_there_those_of_before_and_those_that_come(desk: Desk) -> None:
    first, other = KnownViews(), KnownViews()
    sifted(desk, first)
    assert first.lacks(digest(desk))
    note(desk)
    come_to_now(desk, first)
    sifted(desk, other)
    assert [known.lacks(digest(desk)) for known in (first, other)] == [False, False]
    assert [known.lacks(NEVER) for known in (first, other)] == [True, True]


def test_a_gotcha_that_returns_brings_its_content_back(desk: Desk) -> None:
    """It was not there when all were gone through."""
    away = note(desk)
    desk.act("archive", away)
    known = sifted(desk, KnownViews())
    assert known.lacks(digest(desk))
    desk.act("restore-note", away)
    come_to_now(desk, known)
    assert not known.lacks(digest(desk))


def test_a_commit_that_comes_while_they_are_gone_through_is_not_missed(desk: Desk) -> None:
    """The snapshot that is gone through does not have it."""
    note(desk, content="one that is gone through")
    known = KnownViews()
    (desk.repo / "app.py").write_text("def add(a, b, c):\n    return a + b + c\n")

    def meanwhile() -> None:
        note(desk, content="one more")
        come_to_now(desk, known)

    sifted(desk, known, meanwhile)
    assert not known.lacks(digest(desk))
    assert sifted(desk, known).lacks(NEVER)
    assert not known.lacks(digest(desk))


def test_what_is_forgotten_lacks_nothing(desk: Desk) -> None:
    """Rows that were made anew without a commit, and a commit that bears on all."""
    known = sifted(desk, KnownViews())
    known.forget()
    assert not known.lacks(NEVER)
    sifted(desk, known)
    for number in range(limits.CATCH_UP_COMMITS_MAX + 1):
        note(desk, content=f"note {number}")
    come_to_now(desk, known)
    assert not known.lacks(NEVER)


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


def test_others_pass_while_they_are_gone_through(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SIFTED_AT_ONCE", 1)
    for number in range(3):
        note(desk, content=f"note {number}")
    passed = []
    sifted(desk, KnownViews(), lambda: passed.append(threading.get_ident()))
    assert len(passed) == 3


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
    assert desk.daemon.parts.views.lacks(NEVER)
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
    assert not parts.views.lacks(NEVER)
    parts.store.doubt.clear()
    parts.sift()
    assert parts.views.lacks(NEVER)
    assert context_of(desk.read("app.py")) == ""
