"""A belief that was taken back is not recorded again unnoticed, whoever took it back and whatever was made anew since."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memd_daemon import errors
from memd_daemon.service.claim import Claim
from memd_daemon.service.struck import Struck
from memd_daemon.store.memory_log import MemoryStore
from tests.service.desk import Desk, desk_at
from tests.store.making import ANNA, HERE, Pen

WRONG = "The cache is invalidated on every write to the table."
AGAIN = "Note that the cache is invalidated on every write to the table."


def is_refused(desk: Desk, content: str = AGAIN) -> bool:
    """Whether recording it is answered with a tombstone."""
    try:
        desk.remember(content)
    except errors.KnownMistake:
        return True
    return False


def test_it_follows_revoking_and_reinstating(desk: Desk) -> None:
    """Held, revoked, reinstated, revoked again: refused exactly while it stands revoked."""
    made = desk.remember(WRONG)
    desk.act("revoke", made.id, reason="read the code")
    assert is_refused(desk)
    desk.act("reinstate", made.id)
    assert not is_refused(desk)
    desk.act("revoke", made.id, reason="no, really")
    assert is_refused(desk)


def test_a_correction_takes_back_what_it_names(desk: Desk) -> None:
    """A write with `contradicts` revokes in its own commit, and the next writer of the old belief is told."""
    made = desk.remember(WRONG)
    desk.remember("The cache is invalidated on schema changes alone.", contradicts=str(made.id))
    assert is_refused(desk)


def test_it_is_known_after_a_restart_and_after_a_rebuild(tmp_path: Path) -> None:
    """What is known comes from the log: no index has to stand."""
    with desk_at(tmp_path) as desk:
        made = desk.remember(WRONG)
        desk.act("revoke", made.id, reason="read the code")
        repo = desk.repo
    again = Desk(tmp_path / "home", repo)
    try:
        assert is_refused(again)
        again.daemon.parts.store.rebuild()
        assert is_refused(again)
    finally:
        again.close()


def test_another_scope_has_beliefs_of_its_own(desk: Desk) -> None:
    """What was wrong of one repository may be true of another, and a session's note is nobody else's."""
    desk.start()
    made = desk.remember(WRONG, scope="session", env={"CLAUDE_CODE_SESSION_ID": "s1"})
    desk.act("revoke", made.id, reason="only a test double")
    assert not is_refused(desk)


def test_writers_at_once_are_all_refused(desk: Desk) -> None:
    """Eight who record one revoked belief together: none of them is stored, and each is told."""
    made = desk.remember(WRONG)
    desk.act("revoke", made.id, reason="read the code")
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda _: is_refused(desk), range(16)))
    with desk.daemon.parts.store.read() as snapshot:
        assert snapshot.counts().notes == 1


def test_what_fell_in_a_write_that_is_under_way_is_taken_in_with_it() -> None:
    """A note that is recorded and revoked in one commit is heard of before it can be read; it is looked for again."""
    store, struck = MemoryStore(), Struck()
    pen = Pen(store)
    claim = Claim.of(WRONG)
    with store.read() as before:
        uid = pen.record(WRONG)
        pen.revoke(uid)
        assert struck.again(store, before, claim, (HERE,)) == []
    with store.read() as after:
        assert [note.uid for note in struck.again(store, after, claim, (HERE,))] == [uid]
    store.close()


def test_forgotten_words_are_let_go() -> None:
    """After a person's forgetting nothing of the note is kept here."""
    store, struck = MemoryStore(), Struck()
    pen = Pen(store)
    pen.enrol(ANNA)
    uid = pen.record(WRONG)
    pen.revoke(uid)
    with store.read() as snapshot:
        assert struck.again(store, snapshot, Claim.of(WRONG), (HERE,))
    assert len(struck) == 1
    pen.act(uid, "forgotten", by=ANNA)
    with store.read() as snapshot:
        assert struck.again(store, snapshot, Claim.of(WRONG), (HERE,)) == []
    assert len(struck) == 0
    store.close()


@pytest.mark.parametrize("notes", [0, 3, 40])
def test_none_is_overlooked_among_many(notes: int) -> None:
    """Beliefs of other sizes and senses lie beside it, and the one is found."""
    store, struck = MemoryStore(), Struck()
    pen = Pen(store)
    for number in range(notes):
        pen.revoke(pen.record(f"{WRONG} It holds for shard {number}. " * (1 + number % 3)))
    uid = pen.record(WRONG)
    pen.revoke(uid)
    with store.read() as snapshot:
        assert [n.uid for n in struck.again(store, snapshot, Claim.of(AGAIN), (HERE,))] == [uid]
    store.close()
