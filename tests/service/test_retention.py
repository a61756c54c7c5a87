"""What goes in time: deliveries and contexts, not what independence is judged by; behind everything else."""

import threading
from collections.abc import Callable
from functools import partial

import pytest

from memd_client import api, signing
from memd_daemon import errors, limits
from memd_daemon.model import event as ev
from memd_daemon.model import trust
from memd_daemon.model.words import Surface
from memd_daemon.service.asker import system
from memd_daemon.service.retention import Retention, _drop
from memd_daemon.store.check import verify
from memd_daemon.store.port import Draft
from tests.service.desk import Desk, context_of
from tests.service.test_people import PASSPHRASE, Person
from tests.service.test_same import AGAIN, CLAIM, said_in
from tests.service.test_settings import change, signed

PAST_MS = (limits.DELIVERIES_KEPT_DAYS + 1) * limits.TIME_MS_PER_DAY


def kept(desk: Desk) -> int:
    return len(list(desk.daemon.parts.ledger.deliveries()))


def forget(desk: Desk, person: Person, uid: bytes) -> None:
    """What `memd forget` would sign."""
    parts = desk.daemon.parts
    with parts.store.read() as snapshot:
        note = snapshot.note(uid)
    act = parts.event("forgotten", uid, ev.Nothing(), asker=system(Surface.CLI), after=note, key_id=person.key.key_id)
    body = ev.encode_event(act)
    digest = signing.signed_digest(parts.store.info.store, body, *trust.what_is_signed(act, note))
    sig = signing.sign(person.key, PASSPHRASE, digest)
    parts.store.write(lambda txn: txn.append([Draft(body=body, sig=sig)], at=parts.now_ms()))


def test_what_a_session_was_shown_is_known_for_ever(desk: Desk) -> None:
    """Its deliveries go, and it is an echo still; a session that was not told corroborates."""
    desk.start("s1")
    first = said_in(desk, "s1", CLAIM, kind="directive").id
    desk.start("s2")
    desk.clock.ms += PAST_MS
    desk.start("s3", source="startup")
    before = kept(desk)
    assert desk.daemon.retention.prune() == before - 1
    assert desk.daemon.parts.ledger.context("s2", "") is None
    desk.start("s2", source="resume")
    told = said_in(desk, "s2", AGAIN, same_as=str(first))
    assert any("this session was shown the note" in line for line in told.told)


def test_a_session_that_lives_on_is_told_nothing_twice(desk: Desk) -> None:
    """What was told it long ago still stands in its context."""
    rule = desk.remember("Never commit to main.", kind="directive").id
    assert f"[{rule}]" in context_of(desk.start("s1"))
    desk.clock.ms += PAST_MS
    desk.prompt("go on", "s1", "p2")
    desk.daemon.retention.prune()
    assert kept(desk) == 0
    assert context_of(desk.start("s1", source="resume")) == ""


def test_who_was_shown_a_note_goes_with_the_note(desk: Desk) -> None:
    """Once it was forgotten; a note that is not here at all may come back, and its row waits for it."""
    person = Person(desk)
    desk.start("s1")
    rule = desk.remember("Never commit to main.", kind="directive").id
    desk.start("s2")
    with desk.daemon.parts.store.read() as snapshot:
        uid = snapshot.uid_of(rule) or b""
    ledger = desk.daemon.parts.ledger
    desk.daemon.retention.prune()
    assert ledger.was_shown(uid, "s2")
    forget(desk, person, uid)
    desk.daemon.retention.prune()
    assert not ledger.was_shown(uid, "s2")


def test_the_log_says_from_when_on_it_knows(desk: Desk) -> None:
    """Of a note that is older than what is kept."""
    made = desk.remember("Never commit to main.", kind="directive").id
    assert desk.ask(api.Log(ref=str(made))).local_since == ""
    desk.clock.ms += PAST_MS
    assert desk.ask(api.Log(ref=str(made))).local_since == "2026-03-05T04:53:20Z"


@pytest.mark.parametrize("fault", [None, errors.StoreFull])
def test_it_runs_behind_the_answers(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, fault: type[errors.MemdError] | None
) -> None:
    """Some time after a start, then again and again, also after a full disk; until the daemon goes."""
    monkeypatch.setattr(limits, "PRUNE_FIRST_S", 0.0)
    monkeypatch.setattr(limits, "PRUNE_EVERY_S", 0.0)
    times, again = [], threading.Event()

    def prune(before: int, is_gone: Callable[[bytes], bool], rest: Callable[[], None]) -> int:
        times.append(threading.current_thread().name)
        if len(times) > 1:
            again.set()
        if fault is not None:
            raise fault
        return 0

    monkeypatch.setattr(desk.daemon.parts.ledger, "prune", prune)
    retention = Retention(desk.daemon.parts)
    retention.begin()
    assert again.wait(10)
    retention.close()
    assert set(times) == {"memd-retention"}


def test_a_daemon_that_goes_waits_for_no_end_of_it(desk: Desk) -> None:
    """A slice is finished, and no other is begun."""
    desk.remember("Never commit to main.", kind="directive")
    for n in range(limits.PRUNE_AT_ONCE + 1):
        desk.start(f"s{n}")
    desk.clock.ms += PAST_MS
    retention = Retention(desk.daemon.parts)
    retention.close()
    with pytest.raises(errors.Stopping):
        retention.prune()
    assert kept(desk) == 1


def test_turns_go_after_their_time_unless_a_note_cites_them(desk: Desk) -> None:
    """Also one that was revoked since; all that was known of the others goes too, and no number is given twice."""
    desk.start("s1")
    for at in range(3):
        desk.prompt(f"Never commit to branch {at} of this.", "s1", f"p{at}")
    cited = desk.remember("Never commit to branch 1 of this.", evidence=[(2, "Never commit to branch 1 of this.")])
    desk.act("revoke", cited.id, reason="it may be")
    desk.clock.ms += (limits.TURNS_KEPT_DAYS + 1) * limits.TIME_MS_PER_DAY
    desk.prompt("What else?", "s1", "p9")
    assert desk.daemon.retention.prune_turns() == 2
    assert desk.daemon.retention.prune_turns() == 0
    assert [one.turn for one in desk.ask(api.Turns()).turns] == [4, 2]
    assert verify(desk.daemon.parts.store) == []
    desk.daemon.parts.store.rebuild()
    assert verify(desk.daemon.parts.store) == []
    with desk.daemon.parts.store.read() as snapshot:
        assert snapshot.turn_of_prompt("s1", "p0") is None
        assert snapshot.turn_of_prompt("s1", "p1") == 2
    with pytest.raises(errors.NoSuchTurn):
        desk.ask(api.Turns(turn=1))


def test_turns_stay_until_their_time(desk: Desk) -> None:
    """A day less, and all are there."""
    desk.start("s1")
    desk.prompt("Never commit to main.", "s1")
    desk.clock.ms += (limits.TURNS_KEPT_DAYS - 1) * limits.TIME_MS_PER_DAY
    assert desk.daemon.retention.prune_turns() == 0


def test_more_turns_than_one_slice(desk: Desk) -> None:
    """A page after the other, each in a write of its own."""
    desk.start("s1")
    for at in range(limits.PRUNE_AT_ONCE + 2):
        desk.prompt(f"Prompt number {at}.", "s1", f"p{at}")
    desk.clock.ms += (limits.TURNS_KEPT_DAYS + 1) * limits.TIME_MS_PER_DAY
    assert desk.daemon.retention.prune_turns() == limits.PRUNE_AT_ONCE + 2
    assert desk.ask(api.Turns()).turns == []


def test_a_note_written_meanwhile_keeps_its_turn(desk: Desk) -> None:
    """What is cited is looked at once more inside the write."""
    desk.start("s1")
    desk.prompt("Never commit to main.", "s1")
    with desk.daemon.parts.store.read() as snapshot:
        seq = snapshot.last_seq()
    desk.remember("Never commit to main.", evidence=[(1, "Never commit to main.")])
    assert desk.daemon.parts.store.write(partial(_drop, [1], seq)) == 0


def test_only_a_person_has_turns_go_sooner(desk: Desk) -> None:
    """An unsigned change keeps them longer, and never shorter than what was signed: they are evidence."""
    person = Person(desk)
    desk.start("s1")
    desk.prompt("Never commit to main.", "s1")
    desk.clock.ms += 40 * limits.TIME_MS_PER_DAY
    change(desk, "retention.turns_days", "7")
    assert desk.daemon.retention.prune_turns() == 0
    signed(desk, person, "retention.turns_days", "30")
    assert desk.daemon.retention.prune_turns() == 1


def test_turns_are_kept_longer_where_that_is_wished(desk: Desk) -> None:
    """Signed or not."""
    desk.start("s1")
    desk.prompt("Never commit to main.", "s1")
    change(desk, "retention.turns_days", "365")
    desk.clock.ms += (limits.TURNS_KEPT_DAYS + 1) * limits.TIME_MS_PER_DAY
    assert desk.daemon.retention.prune_turns() == 0
    desk.clock.ms += 300 * limits.TIME_MS_PER_DAY
    assert desk.daemon.retention.prune_turns() == 1
