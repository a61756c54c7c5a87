"""What every adapter of the ledger's port has to keep; test_ledger.py runs it."""

import msgspec
import pytest

from memd_daemon.limits import DELIVERIES_AT_HAND_MAX, LEDGER_PAGE_ROWS, REPLY_KEPT_MS
from memd_daemon.model.delivery import (
    Context,
    DeliveredNote,
    Delivery,
    DeliveryState,
    Hold,
    HoldOutcome,
    LeftOut,
)
from memd_daemon.store import ledger as rows_of_ledger
from memd_daemon.store.ledger_port import Ledger
from memd_daemon.store.remembered import Remembered

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


def hold(**fields: object) -> Hold:
    given: dict[str, object] = {"at": 100, "session": "s", "turn": "1", "paths": ("p",), "notes": (A,)}
    return Hold(**(given | fields))  # type: ignore[arg-type]  # decoding checks the fields


def rows_of(ledger: Ledger) -> Remembered:
    """What it keeps of its rows."""
    return ledger._remembered  # type: ignore[attr-defined,no-any-return]  # every adapter here is over tables


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

    def test_contexts_of_a_session_are_put_together(self, ledger: Ledger) -> None:
        """By themselves or with an answer; what was read of them before is forgotten."""
        main, agent = Context(session="s"), Context(session="s", agent="x")
        ledger.put_context(main, agent)
        assert {one.agent: one for one in ledger.contexts_of("s")} == {"": main, "x": agent}
        main, agent = (msgspec.structs.replace(one, ended=True) for one in (main, agent))
        ledger.offer(delivery(b"r"), b"", main, agent)
        assert (ledger.context("s", ""), ledger.context("s", "x")) == (main, agent)

    def test_an_offer_is_answered_the_same_again(self, ledger: Ledger) -> None:
        """A request that comes twice gets its first reply, and counts once."""
        ledger.offer(delivery(b"r", (A, OLD)), b"reply")
        ledger.offer(delivery(b"r", (B, OLD)), b"another")
        assert (ledger.replied(b"r"), ledger.replied(b"q")) == (b"reply", None)
        assert (ledger.turn_notes("s", "", "1"), ledger.turn_tokens("s", "1", "edit")) == ({A}, 7)
        assert len(list(ledger.deliveries())) == 1

    def test_an_answer_of_long_ago_is_not_kept(self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of each offer the one so many before it goes, if it is old; that it was delivered, and what it told, stays."""
        monkeypatch.setattr(rows_of_ledger, "REPLIES_KEPT", 2)
        old, late = 100, 101 + REPLY_KEPT_MS
        for number, at in enumerate((old, old, old, late, late, late, late, late)):
            ledger.offer(delivery(b"%d" % number, (A, OLD), at=at), b"reply %d" % number)
        kept = [number for number in range(8) if ledger.replied(b"%d" % number) is not None]
        assert kept == [0, 3, 4, 5, 6, 7]
        assert len(list(ledger.deliveries())) == 8
        assert ledger.standing("s", "", 0) == {A: OLD}
        assert ledger.receipt(b"1") is None

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

    def test_what_was_read_before_an_offer_is_what_stood_then(self, ledger: Ledger) -> None:
        """A snapshot that is open, and what it gave out, do not change; the next one has what came."""
        ledger.offer(delivery(b"1", (A, OLD)), b"")
        ledger.receipt(b"1")
        with ledger.read() as before:
            stood = before.standing("s", "", 0)
            ledger.offer(delivery(b"2", (A, NEW), (B, NEW), at=200), b"")
            ledger.receipt(b"2")
            assert before.standing("s", "", 0) == stood == {A: OLD}
        assert ledger.standing("s", "", 0) == {A: NEW, B: NEW}

    def test_a_late_receipt_leaves_the_newer_offer(self, ledger: Ledger) -> None:
        """The receipt of the first comes after the second was offered."""
        ledger.offer(delivery(b"1", (A, OLD)), b"")
        ledger.offer(delivery(b"2", (A, NEW), at=200), b"")
        ledger.receipt(b"1")
        assert ledger.standing("s", "", 0) == {A: NEW}
        assert ledger.standing("s", "", 0, open_since=201) == {A: OLD}

    def test_a_turn_is_an_agents_and_its_tokens_the_sessions(self, ledger: Ledger) -> None:
        """Notes and holds by agent, tokens over all agents and by trigger."""
        ledger.offer(delivery(b"1", (A, OLD), held=True, hold=hold()), b"")
        ledger.offer(delivery(b"2", (B, OLD), agent="x"), b"")
        ledger.offer(delivery(b"3", agent="x", trigger="prompt"), b"")
        ledger.offer(delivery(b"4", (B, OLD), turn="2"), b"")
        assert ledger.turn_notes("s", "", "1") == {A}
        assert ledger.turn_notes("s", "x", "1") == ledger.turn_notes("s", "", "2") == {B}
        assert ledger.turn_tokens("s", "1", "edit") == 14
        assert [ledger.turn_tokens("s", "1", t) for t in ("prompt", "start")] == [7, 0]
        assert [ledger.hold("s", a, t) for a, t in (("", "1"), ("x", "1"), ("", "2"))] == [hold(), None, None]

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

    @pytest.mark.parametrize(
        ("session", "event", "since", "until", "is_told"),
        [
            ("s", b"e1", 100, 200, True),
            ("s", b"e2", 100, 200, True),
            ("s", b"e2", 160, 200, True),
            ("s", b"e1", 160, 200, False),  # before that
            ("s", b"e2", 0, 140, False),  # after it: by a clock that was set back since
            ("s", b"e3", 100, 200, False),
            ("t", b"e1", 100, 200, False),
        ],
    )
    def test_an_event_of_late_is_known(
        self, ledger: Ledger, session: str, event: bytes, since: int, until: int, is_told: bool
    ) -> None:
        """The session's own, at both ends of the time that is asked about."""
        for n, (of, at) in enumerate((("s", 100), ("u", 150), ("s", 160))):
            ledger.offer(delivery(b"%d" % n, session=of, at=at, event=b"e1" if n == 0 else b"e2"), b"")
        assert ledger.has_told(session, event, since, until) is is_told

    def test_an_event_is_looked_for_among_the_newest_alone(self, ledger: Ledger) -> None:
        """A session of many agents is read no further than a hook lives."""
        for n in range(DELIVERIES_AT_HAND_MAX + 1):
            ledger.offer(delivery(b"%d" % n, at=100, event=b"e%d" % n), b"")
        assert not ledger.has_told("s", b"e0", 100, 100)
        assert ledger.has_told("s", b"e1", 100, 100)

    def test_everything_of_a_delivery_comes_back(self, ledger: Ledger) -> None:
        """What was left out and why, the hold, the vectors that were used."""
        made = delivery(
            b"r", (A, OLD), epoch=3, repo="repo:r", vectors="table", left_out=(LeftOut(uid=B, id=2, rule="budget"),)
        )
        ledger.offer(made, b"")
        assert list(ledger.deliveries()) == [made]

    def test_one_read_answers_every_question_of_one_moment(self, ledger: Ledger) -> None:
        """What is written while it is open is not in it, and each answer is the ledger's own."""
        ledger.offer(delivery(b"1", (A, OLD), held=True, hold=hold()), b"first", Context(session="s", turns=1))
        with ledger.read() as before:
            ledger.offer(delivery(b"2", (B, NEW)), b"second", Context(session="s", turns=2))
            assert before.context("s", "") == Context(session="s", turns=1)
            assert (before.replied(b"1"), before.replied(b"2")) == (b"first", None)
            assert before.standing("s", "", 0) == {A: OLD}
            assert before.turn_notes("s", "", "1") == {A}
            assert (before.turn_tokens("s", "1", "edit"), before.hold("s", "", "1")) == (7, hold())
        assert ledger.standing("s", "", 0) == {A: OLD, B: NEW}

    def test_what_is_at_hand_is_of_the_moment_of_the_first_question(self, ledger: Ledger) -> None:
        """What was known before it began is told as it was then; nothing is asked once it has ended."""
        ledger.offer(delivery(b"1", (A, OLD)), b"")
        with ledger.at_hand() as late:
            ledger.offer(delivery(b"2", (B, OLD), hold=hold()), b"")
            assert late.turn_notes("s", "", "1") == {A, B}
            ledger.settle(hold(), HoldOutcome.REPEATED, 200)
            ledger.offer(delivery(b"3", (B, NEW)), b"")
            assert (late.turn_tokens("s", "1", "edit"), late.hold("s", "", "1")) == (14, hold())
            assert late.standing("s", "", 0) == {A: OLD, B: OLD}
        assert (ledger.turn_tokens("s", "1", "edit"), ledger.standing("s", "", 0)) == (21, {A: OLD, B: NEW})
        settled = ledger.hold("s", "", "1")
        assert settled is not None
        assert settled.outcome == HoldOutcome.REPEATED
        with ledger.at_hand() as known:
            assert known.turn_tokens("s", "1", "edit") == 21
        with ledger.at_hand() as unasked:
            pass
        for ended in (late, unasked):
            with pytest.raises(RuntimeError):
                ended.turn_notes("s", "", "another")

    @pytest.mark.parametrize("write", ["offer", "receipt", "settle", "context", "moved", "prune"])
    def test_no_session_s_write_leaves_an_old_answer_to_itself_or_to_others(self, ledger: Ledger, write: str) -> None:
        """Whatever was asked before it, of whichever session: the answers behind it are the rows'."""

        def asked() -> list[object]:
            return [
                answer
                for session in ("s", "other", "")
                for answer in (
                    ledger.context(session, ""),
                    ledger.standing(session, "", 0),
                    ledger.held_for(session, "", 0),
                    ledger.turn_notes(session, "", "1"),
                    ledger.turn_tokens(session, "1", "edit"),
                    ledger.hold(session, "", "1"),
                    ledger.sent(session, "", 0, "1"),
                    ledger.moved_from("/r", "new.py"),
                )
            ]

        for session in ("s", "other"):
            context = Context(session=session, turns=1, last_at=5)
            ledger.offer(delivery(session.encode(), (A, OLD), session=session), b"", context)
        asked()
        again = delivery(b"2", (A, NEW), (B, NEW), held=True, hold=hold())
        {
            "offer": lambda: ledger.offer(again, b"", Context(session="s", turns=2)),
            "receipt": lambda: ledger.receipt(b"s"),
            "settle": lambda: ledger.settle(hold(), HoldOutcome.REPEATED, 200),
            "context": lambda: ledger.put_context(Context(session="other", turns=3)),
            "moved": lambda: ledger.put_moved("/r", "new.py", "old.py"),
            "prune": lambda: ledger.prune(10**15, lambda uid: True, lambda: None),
        }[write]()
        told = asked()
        rows_of(ledger).forget()
        assert told == asked()

    def test_what_is_known_of_a_session_outlives_the_writes_of_others(self, ledger: Ledger) -> None:
        """The very same objects, by which a decision about them is known again."""
        ledger.offer(delivery(b"1", (A, OLD)), b"")
        ledger.receipt(b"1")
        standing, notes = ledger.standing("s", "", 0), ledger.turn_notes("s", "", "1")
        other = Context(session="other")
        ledger.offer(delivery(b"2", (B, OLD), session="other"), b"", other)
        ledger.receipt(b"2")
        ledger.put_context(other)
        assert ledger.standing("s", "", 0) is standing
        assert ledger.turn_notes("s", "", "1") is notes
        ledger.offer(delivery(b"3", (B, OLD)), b"")
        assert ledger.standing("s", "", 0) == {A: OLD, B: OLD}

    def test_of_a_turn_s_notes_those_were_sent_that_stand(self, ledger: Ledger) -> None:
        """An offer that was lost, and what stood before a compaction, may be sent again."""
        ledger.offer(delivery(b"1", (A, OLD)), b"")
        ledger.offer(delivery(b"2", (B, OLD), at=10_000), b"")
        assert ledger.sent("s", "", 0, "1") == {A, B}
        assert ledger.sent("s", "", 0, "1", open_since=9_000) == {B}
        ledger.receipt(b"1")
        ledger.receipt(b"2")
        assert ledger.sent("s", "", 0, "1", open_since=9_000) == {A, B}
        others = [ledger.sent("s", "", 1, "1"), ledger.sent("s", "", 0, "2"), ledger.sent("s", "x", 0, "1")]
        assert others == [frozenset()] * 3

    def test_an_offer_takes_its_context_along(self, ledger: Ledger) -> None:
        """One write for both; also for a request that was answered before, whose first answer stays."""
        for turns, reply in ((1, b"first"), (2, b"again")):
            ledger.offer(delivery(b"r", (A, OLD)), reply, Context(session="s", turns=turns))
            assert ledger.context("s", "") == Context(session="s", turns=turns)
        assert ledger.replied(b"r") == b"first"

    def test_a_hold_is_open_until_something_comes_of_it(self, ledger: Ledger) -> None:
        """The first word on it stays, and each agent's is its own."""
        ledger.offer(delivery(b"1", (A, OLD), held=True, hold=hold()), b"")
        ledger.offer(delivery(b"2", (A, OLD), held=True, agent="x", hold=hold(agent="x")), b"")
        ledger.offer(delivery(b"3", (A, OLD), held=True, session="t", hold=hold(session="t")), b"")
        assert sorted(one.agent for one in ledger.open_holds("s")) == ["", "x"]
        ledger.settle(hold(), HoldOutcome.REPEATED, 200)
        ledger.settle(hold(), HoldOutcome.ABANDONED, 300)
        ledger.settle(hold(turn="never"), HoldOutcome.ABANDONED, 300)
        assert ledger.hold("s", "", "1") == hold(outcome="repeated", settled_at=200)
        assert [one.agent for one in ledger.open_holds("s")] == ["x"]
        assert sorted(one.outcome for one in ledger.holds()) == ["open", "open", "repeated"]

    def test_a_note_that_an_edit_was_held_for_is_known_without_a_receipt(self, ledger: Ledger) -> None:
        """In its epoch, also once the offer counts as lost, and after later deliveries of it."""
        ledger.offer(delivery(b"1", (A, OLD), (B, OLD), held=True, hold=hold()), b"")
        assert ledger.standing("s", "", 0, open_since=201) == {}
        assert ledger.held_for("s", "", 0) == {A}
        assert ledger.held_for("s", "", 1) == ledger.held_for("s", "x", 0) == frozenset()
        ledger.offer(delivery(b"2", (A, NEW), at=200), b"")
        ledger.receipt(b"2")
        assert ledger.held_for("s", "", 0) == {A}

    def test_an_owed_bundle_counts_for_the_moment_it_was_owed_from(self, ledger: Ledger) -> None:
        """Its tokens, whatever hook carried it; the rest of the answer counts for that hook."""
        ledger.offer(delivery(b"1", agent="x", bundle=True, bundle_trigger="start", bundle_tokens=5), b"")
        assert [ledger.turn_tokens("s", "1", t) for t in ("start", "edit")] == [5, 2]

    def test_a_client_is_known_by_the_session_heard_there_last(self, ledger: Ledger) -> None:
        """Of its main agent; another process of the same pid is another client."""
        for context in (
            Context(session="s", client_pid=7, client_started=1),
            Context(session="t", client_pid=7, client_started=1),
            Context(session="u", agent="x", client_pid=7, client_started=1),
            Context(session="v", client_pid=7, client_started=2),
            Context(session="w"),
        ):
            ledger.put_context(context)
        assert [ledger.session_in(*process) for process in ((7, 1), (7, 2), (8, 1), (0, 0))] == ["t", "v", "", ""]

    def test_a_file_is_known_by_where_it_was_before(self, ledger: Ledger) -> None:
        """In its checkout; each place once."""
        for old in ("a.py", "b.py", "a.py"):
            ledger.put_moved("/r", "c.py", old)
        assert sorted(ledger.moved_from("/r", "c.py")) == ["a.py", "b.py"]
        ledger.put_moved("/r", "c.py", "d.py")
        assert sorted(ledger.moved_from("/r", "c.py")) == ["a.py", "b.py", "d.py"]
        assert ledger.moved_from("/q", "c.py") == ledger.moved_from("/r", "a.py") == ()
