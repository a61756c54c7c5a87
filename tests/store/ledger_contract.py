"""What every adapter of the ledger's port has to keep; test_ledger.py runs it."""

from memd_daemon.limits import LEDGER_PAGE_ROWS
from memd_daemon.model.delivery import Context, DeliveredNote, Delivery, DeliveryState, LeftOut
from memd_daemon.store.port import Ledger

A, B = b"a" * 16, b"b" * 16
OLD, NEW = b"old" + bytes(13), b"new" + bytes(13)


def delivery(request: bytes, *notes: tuple[bytes, bytes], **fields: object) -> Delivery:
    given: dict[str, object] = {
        "at": 100,
        "trigger": "edit",
        "harness": "claude",
        "session": "s",
        "turn": "1",
        "tokens": 7,
    }
    told = tuple(DeliveredNote(uid=uid, id=1, digest=digest, tokens=3) for uid, digest in notes)
    return Delivery(request=request, notes=told, **(given | fields))  # type: ignore[arg-type]  # decoding checks the fields


class LedgerContract:
    """Contexts, deliveries, and what stands."""

    def test_a_context_is_kept_by_session_and_agent(self, ledger: Ledger) -> None:
        """The newest word on each stands; unknown ones are None."""
        for context in (
            Context(session="s", turns=1, last_at=5),
            Context(session="s", turns=2, last_at=9),
            Context(session="s", agent="x", last_at=7),
        ):
            ledger.put_context(context)
        assert ledger.context("s", "") == Context(session="s", turns=2, last_at=9)
        assert ledger.context("sx", "") is ledger.context("", "s") is None
        assert {(c.session, c.agent) for c in ledger.contexts()} == {("s", ""), ("s", "x")}
        assert [c.agent for c in ledger.contexts(live_since=8)] == [""]

    def test_an_offer_is_answered_the_same_again(self, ledger: Ledger) -> None:
        """A request that comes twice gets its first reply, and counts once."""
        ledger.offer(delivery(b"r", (A, OLD)), b"reply")
        ledger.offer(delivery(b"r", (B, OLD)), b"another")
        assert (ledger.replied(b"r"), ledger.replied(b"q")) == (b"reply", None)
        assert (ledger.turn_notes("s", "", "1"), ledger.turn_tokens("s", "1", "edit")) == ({A}, 7)
        assert len(list(ledger.deliveries())) == 1

    def test_a_receipt_makes_it_delivered(self, ledger: Ledger) -> None:
        """Once or twice; for what was never offered there is none."""
        ledger.offer(delivery(b"r", (A, OLD)), b"")
        assert [d.state for d in ledger.deliveries()] == [DeliveryState.OFFERED]
        for _ in range(2):
            told = ledger.receipt(b"r")
            assert told is not None
            assert told.state == DeliveryState.DELIVERED
        assert [d.state for d in ledger.deliveries()] == [DeliveryState.DELIVERED]
        assert ledger.receipt(b"q") is None

    def test_what_stands_is_the_newest_rendering(self, ledger: Ledger) -> None:
        """Of each note, in this epoch of this context, delivered or offered."""
        ledger.offer(delivery(b"1", (A, OLD), (B, OLD)), b"")
        ledger.receipt(b"1")
        ledger.offer(delivery(b"2", (A, NEW), at=200), b"")
        assert ledger.standing("s", "", 0) == {A: NEW, B: OLD}
        assert ledger.standing("s", "", 1) == ledger.standing("s", "x", 0) == ledger.standing("t", "", 0) == {}

    def test_an_offer_that_was_lost_does_not_stand(self, ledger: Ledger) -> None:
        """Older than the caller's bound and never receipted; what was delivered before it stands again."""
        ledger.offer(delivery(b"1", (A, OLD)), b"")
        ledger.receipt(b"1")
        ledger.offer(delivery(b"2", (A, NEW), (B, NEW), at=200), b"")
        assert ledger.standing("s", "", 0, open_since=200) == {A: NEW, B: NEW}
        assert ledger.standing("s", "", 0, open_since=201) == {A: OLD}
        ledger.receipt(b"2")
        assert ledger.standing("s", "", 0, open_since=201) == {A: NEW, B: NEW}

    def test_a_late_receipt_leaves_the_newer_offer(self, ledger: Ledger) -> None:
        """The receipt of the first comes after the second was offered."""
        ledger.offer(delivery(b"1", (A, OLD)), b"")
        ledger.offer(delivery(b"2", (A, NEW), at=200), b"")
        ledger.receipt(b"1")
        assert ledger.standing("s", "", 0) == {A: NEW}
        assert ledger.standing("s", "", 0, open_since=201) == {A: OLD}

    def test_a_turn_is_an_agents_and_its_tokens_the_sessions(self, ledger: Ledger) -> None:
        """Notes and holds by agent, tokens over all agents and by trigger."""
        ledger.offer(delivery(b"1", (A, OLD), held=True), b"")
        ledger.offer(delivery(b"2", (B, OLD), agent="x"), b"")
        ledger.offer(delivery(b"3", agent="x", trigger="prompt"), b"")
        ledger.offer(delivery(b"4", (B, OLD), turn="2"), b"")
        assert ledger.turn_notes("s", "", "1") == {A}
        assert ledger.turn_notes("s", "x", "1") == ledger.turn_notes("s", "", "2") == {B}
        assert ledger.turn_tokens("s", "1", "edit") == 14
        assert [ledger.turn_tokens("s", "1", t) for t in ("prompt", "start")] == [7, 0]
        assert [ledger.held_in_turn("s", a, t) for a, t in (("", "1"), ("x", "1"), ("", "2"))] == [True, False, False]

    def test_names_do_not_run_into_each_other(self, ledger: Ledger) -> None:
        """Session and agent are told apart whatever stands in them."""
        ledger.offer(delivery(b"1", (A, OLD), session="ab", agent="c"), b"")
        assert ledger.standing("a", "bc", 0) == {}
        assert ledger.turn_notes("ab", "c", "1") == {A}

    def test_deliveries_come_newest_first(self, ledger: Ledger) -> None:
        """All, or a session's, over more pages than one, while new ones are made."""
        many = LEDGER_PAGE_ROWS + 5
        for n in range(many):
            ledger.offer(delivery(b"%d" % n, session="ab"[n % 2], at=n), b"")
        assert [d.at for d in ledger.deliveries()] == list(range(many - 1, -1, -1))
        assert [d.at for d in ledger.deliveries(session="a")] == [n for n in range(many - 1, -1, -1) if n % 2 == 0]
        assert list(ledger.deliveries(session="c")) == []
        walk = ledger.deliveries()
        assert next(walk).at == many - 1
        ledger.offer(delivery(b"late", at=many), b"")
        assert [d.at for d in walk] == list(range(many - 2, -1, -1))

    def test_everything_of_a_delivery_comes_back(self, ledger: Ledger) -> None:
        """What was left out and why, the hold, the vectors that were used."""
        made = delivery(
            b"r", (A, OLD), epoch=3, repo="repo:r", vectors="table", left_out=(LeftOut(uid=B, id=2, rule="budget"),)
        )
        ledger.offer(made, b"")
        assert list(ledger.deliveries()) == [made]

    def test_one_read_answers_every_question_of_one_moment(self, ledger: Ledger) -> None:
        """What is written while it is open is not in it, and each answer is the ledger's own."""
        ledger.offer(delivery(b"1", (A, OLD), held=True), b"first", Context(session="s", turns=1))
        with ledger.read() as before:
            ledger.offer(delivery(b"2", (B, NEW)), b"second", Context(session="s", turns=2))
            assert before.context("s", "") == Context(session="s", turns=1)
            assert (before.replied(b"1"), before.replied(b"2")) == (b"first", None)
            assert before.standing("s", "", 0) == {A: OLD}
            assert before.turn_notes("s", "", "1") == {A}
            assert (before.turn_tokens("s", "1", "edit"), before.held_in_turn("s", "", "1")) == (7, True)
        assert ledger.standing("s", "", 0) == {A: OLD, B: NEW}

    def test_an_offer_takes_its_context_along(self, ledger: Ledger) -> None:
        """One write for both; also for a request that was answered before, whose first answer stays."""
        for turns, reply in ((1, b"first"), (2, b"again")):
            ledger.offer(delivery(b"r", (A, OLD)), reply, Context(session="s", turns=turns))
            assert ledger.context("s", "") == Context(session="s", turns=turns)
        assert ledger.replied(b"r") == b"first"
