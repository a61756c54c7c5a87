"""What every adapter of the ledger keeps of questions that were asked, and what it lets go in time; test_ledger.py runs it."""

import pytest
from tests.store.ledger_contract import NEW, OLD, A, B, delivery

from memd_daemon.errors import Stopping
from memd_daemon.limits import PRUNE_AT_ONCE
from memd_daemon.model.delivery import NOTICES_UID, Context, Delivery, DeliveryState
from memd_daemon.store.ledger_port import Ledger


def asked(uid: bytes, **fields: object) -> Delivery:
    """The answer to a question, in which a note was shown."""
    given: dict[str, object] = {"trigger": "recall", "state": DeliveryState.ASKED}
    return delivery(b"", (uid, OLD), **(given | fields))


def never(uid: bytes) -> bool:
    """No note was forgotten."""
    return False


def no_rest() -> None:
    """The caller is in a hurry."""


class LedgerTimeContract:
    """Who was shown what, and for how long it is known."""

    # --- asked for, and ever shown

    def test_what_was_asked_for_is_told_apart_from_what_stands(self, ledger: Ledger) -> None:
        """By context and by turn; it takes no part in what hooks go by."""
        ledger.put_asked(asked(A, epoch=2))
        ledger.put_asked(asked(B, epoch=3, turn="2", agent="x"))
        assert (ledger.asked("s", "", 2), ledger.asked("s", "x", 3)) == ({A}, {B})
        assert ledger.asked("s", "", 3) == ledger.asked("s", "x", 2) == ledger.asked("t", "", 2) == set()
        assert (ledger.asked_in_turn("s", "", "1"), ledger.asked_in_turn("s", "x", "2")) == ({A}, {B})
        assert ledger.asked_in_turn("s", "", "2") == set()
        assert ledger.standing("s", "", 2) == {}
        assert ledger.turn_notes("s", "", "1") == set()
        assert ledger.turn_tokens("s", "1", "recall") == 0
        assert ledger.replied(b"") is None
        assert [d.trigger for d in ledger.deliveries(session="s")] == ["recall", "recall"]

    def test_whoever_was_told_was_shown(self, ledger: Ledger) -> None:
        """Unasked and asked, by whatever agent and in whatever epoch; nobody is no session, and memd's own lines are no note."""
        ledger.offer(delivery(b"1", (A, OLD), (NOTICES_UID, OLD), agent="x", epoch=4), b"")
        ledger.put_asked(asked(B))
        ledger.put_asked(asked(B, session=""))
        assert [ledger.was_shown(uid, s) for uid, s in ((A, "s"), (B, "s"))] == [True, True]
        assert not any(ledger.was_shown(uid, s) for uid, s in ((A, "t"), (B, ""), (NOTICES_UID, "s"), (b"c" * 16, "s")))
        assert [d.session for d in ledger.deliveries()] == ["", "s", "s"]

    # --- what goes in time

    def test_old_deliveries_go_with_all_that_follows_from_them(self, ledger: Ledger) -> None:
        """More than fit into one slice, and between them the caller rests; a second time there is nothing left to do."""
        rests: list[int] = []
        for n in range(2 * PRUNE_AT_ONCE + 1):
            ledger.offer(delivery(b"%d" % n, (A, OLD), turn=str(n), at=n, held=True), b"reply")
            ledger.put_asked(asked(B, turn=str(n), at=n))
        ledger.offer(
            delivery(b"new", (A, NEW), turn="new", at=1000), b"reply", Context(session="s", epoch=1, last_at=1000)
        )
        assert ledger.prune(1000, never, lambda: rests.append(1)) == 4 * PRUNE_AT_ONCE + 2
        assert len(rests) > 4
        assert [d.at for d in ledger.deliveries()] == [d.at for d in ledger.deliveries(session="s")] == [1000]
        assert (ledger.replied(b"0"), ledger.replied(b"new")) == (None, b"reply")
        assert ledger.turn_notes("s", "", "0") == ledger.asked_in_turn("s", "", "0") == set()
        assert (ledger.turn_tokens("s", "0", "edit"), ledger.turn_tokens("s", "new", "edit")) == (0, 7)
        assert (ledger.asked("s", "", 0), ledger.standing("s", "", 0)) == (set(), {})
        assert ledger.receipt(b"0") is None
        assert ledger.prune(1000, never, no_rest) == 0

    def test_what_stands_where_a_context_lives_on_stays(self, ledger: Ledger) -> None:
        """Its present epoch and turn, however long ago they were told; an epoch before goes."""
        ledger.put_context(Context(session="s", epoch=1, turn="2", last_at=5000))
        ledger.offer(delivery(b"1", (A, OLD), epoch=0, turn="1"), b"")
        ledger.offer(delivery(b"2", (B, OLD), epoch=1, turn="2"), b"")
        ledger.put_asked(asked(A, epoch=1, turn="2"))
        assert ledger.prune(1000, never, no_rest) == 3
        assert list(ledger.deliveries()) == []
        assert (ledger.standing("s", "", 0), ledger.standing("s", "", 1)) == ({}, {B: OLD})
        assert (ledger.turn_notes("s", "", "1"), ledger.turn_notes("s", "", "2")) == (set(), {B})
        assert (ledger.asked("s", "", 1), ledger.asked_in_turn("s", "", "2")) == ({A}, {A})
        assert ledger.turn_tokens("s", "2", "edit") == 7

    def test_a_context_that_was_not_heard_of_goes(self, ledger: Ledger) -> None:
        """With what stood in it; one that comes back meanwhile stays."""
        for agent in ("", "x"):
            ledger.offer(
                delivery(b"1" + agent.encode(), (A, OLD), agent=agent),
                b"",
                Context(session="s", agent=agent, last_at=9),
            )
        ledger.put_context(Context(session="t", last_at=9))
        back = iter([lambda: ledger.put_context(Context(session="t", last_at=2000))])
        assert ledger.prune(1000, never, lambda: next(back, lambda: None)()) == 2
        assert ledger.contexts_of("s") == []
        assert ledger.standing("s", "", 0) == ledger.standing("s", "x", 0) == {}
        assert ledger.context("t", "") == Context(session="t", last_at=2000)

    def test_that_a_note_was_shown_outlives_its_deliveries(self, ledger: Ledger) -> None:
        """As long as there is the note."""
        ledger.offer(delivery(b"1", (A, OLD)), b"")
        ledger.put_asked(asked(B))
        assert ledger.prune(1000, never, no_rest) == 2
        assert ledger.was_shown(A, "s")
        ledger.prune(1000, lambda uid: uid == A, no_rest)
        assert (ledger.was_shown(A, "s"), ledger.was_shown(B, "s")) == (False, True)

    def test_a_rest_can_end_it(self, ledger: Ledger) -> None:
        """What was taken away by then is whole, the rest stands."""
        for n in range(2 * PRUNE_AT_ONCE):
            ledger.offer(delivery(b"%d" % n, (A, OLD), at=n), b"")

        def stop() -> None:
            raise Stopping

        with pytest.raises(Stopping):
            ledger.prune(1000, never, stop)
        assert [d.at for d in ledger.deliveries()] == list(range(2 * PRUNE_AT_ONCE - 1, PRUNE_AT_ONCE - 1, -1))
        ledger.offer(delivery(b"next", at=2000), b"")
        assert next(ledger.deliveries()).at == 2000
