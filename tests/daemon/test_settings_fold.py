"""What the events about settings make: who may change what, in any order, with duplicates, and whatever stands in the store."""

import itertools
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import settings as times
from hypothesis import strategies as st

from memd_daemon.model import event as ev
from memd_daemon.model.event import Event, Stored
from memd_daemon.model.fold import Effect
from memd_daemon.model.ids import uid_text
from memd_daemon.model.setting_keys import KEYS, NOT_PAUSED, OPEN_END, covers, moment, written
from memd_daemon.model.settings import Change, Settings, folded, locked, traced

STORE, ORIGIN = b"S" * 16, b"O" * 16
NOON = 1_772_600_000_000
HOUR = 3_600_000
REPO = "repo:" + uid_text(b"R" * 16)


def at(number: int, key: str, text: str, *, by: str = "agent", after: int = 0, **changes: Any) -> Stored:
    """The change number ``number``, an hour after the one before; ``by`` "human" is signed, ``after`` the number it has seen."""
    fields = {
        "uid": number.to_bytes(16, "big"),
        "note": STORE,
        "type": "setting_changed",
        "at": NOON + number * HOUR,
        "actor": by,
        "surface": "cli",
        "parents": (after.to_bytes(16, "big"),) if after else (),
        "payload": ev.make_payload(ev.SettingChanged(key=key, value=text)),
    }
    event = Event(**{**fields, **{k: v for k, v in changes.items() if k in Event.__struct_fields__}})
    return Stored(
        event=event,
        body=b"",
        sig=b"s" if by == "human" else b"",
        hlc=number,
        origin=ORIGIN,
        seq=number,
        index=0,
        store=changes.get("store", STORE),
        signed=changes.get("signed", by == "human"),
    )


def value(events: list[Stored], key: str, now: int = NOON + 100 * HOUR, *, endorsed: bool = False) -> object:
    return folded(events, STORE).value(key, now, endorsed=endorsed)


def test_without_events_everything_is_its_default() -> None:
    """And no key is without one that its own bounds take."""
    assert Settings().is_default
    for key in KEYS.values():
        assert Settings().value(key.name, NOON) == key.default
        if key.default not in (NOT_PAUSED, ()):
            assert key.read(written(key.name, key.default)) == key.default


@pytest.mark.parametrize(
    ("key", "good", "bad"),
    [
        ("budget.session_start", ["500", "2000", "8000"], ["499", "8001", "-1", "1e3", "2,000", " 600", "", "٦٠٠"]),
        ("budget.prompt", ["0", "8000"], ["8001", "none"]),
        ("budget.edit", ["0", "600"], ["99999999999999999999"]),
        ("budget.subagent", ["0", "600"], ["6.5"]),
        ("gate.cosine", ["0.2", "0.6", "1", "1.0"], ["0.1", "1.01", "nan", "inf", ".5", "0,6", "-0.5"]),
        ("gate.idf_share", ["0", "0.6", "1"], ["2", "1e-1"]),
        ("hold", ["on", "off", "interactive"], ["On", "yes", "true"]),
        ("idle_exit_hours", ["1", "720"], ["0", "721", "8h"]),
        (
            "pause",
            ["on", "2026-03-04T12:00:00Z"],
            ["off", "2h", "2026-03-04", "1970-01-01T00:00:00Z", "1900-01-01T00:00:00Z"],
        ),
        (
            "ignore",
            [f'["{REPO}"]', '["/home/a"]'],
            ["[]", "/home/a", '["home"]', '["repo:x"]', '["/a","/a"]', "[1]", "{}"],
        ),
        (
            "only",
            ['["/a","/b"]'],
            ["[" * 100_000, '["/a\\u0000"]', str([f"/{n}" for n in range(101)]).replace("'", '"')],
        ),
    ],
)
def test_each_key_takes_what_it_says(key: str, good: list[str], bad: list[str]) -> None:
    """What is out of bounds has no effect, whoever wrote it into the store, signed or not."""
    assert set(KEYS) >= {key}
    for text in good:
        value_read = KEYS[key].read(text)
        assert value([at(1, key, text)], key, NOON - HOUR) == value_read
        assert KEYS[key].read(written(key, value_read)) == value_read
    for text, by in itertools.product(bad, ("agent", "human")):
        assert value([at(1, key, text, by=by)], key) == KEYS[key].default


@pytest.mark.parametrize(
    "changes",
    [
        {"by": "human", "signed": False},
        {"store": b"T" * 16},
        {"note": b"N" * 16},
        {"type": "confirmed"},
        {"v": 2},
        {"payload": msgspec.Raw(b"\xc1")},
        {"payload": ev.make_payload(ev.Nothing())},
        {"at": -1},
        {"at": 1 << 62},
        {"parents": (b"?" * 16,)},
    ],
)
def test_what_does_not_fit_has_no_effect(changes: dict[str, Any]) -> None:
    """A claimed person, another store's commit, another subject, another type or version, garbage, no time, a missing parent."""
    assert value([at(1, "hold", "off", **changes)], "hold") == "on"


def test_the_latest_wins_and_can_be_taken_back() -> None:
    """By the fold's order: a parent first, whatever the clocks say."""
    assert value([at(1, "hold", "off"), at(2, "hold", "interactive")], "hold") == "interactive"
    assert value([at(2, "hold", "off"), at(1, "hold", "interactive", after=2)], "hold") == "interactive"
    assert value([at(1, "hold", "off"), at(2, "hold", "")], "hold") == "on"


SIGNED = at(1, "budget.prompt", "100", by="human")


@pytest.mark.parametrize(
    ("later", "everybody", "endorsed"),
    [
        ([], 100, 100),
        ([at(2, "budget.prompt", "0")], 100, 100),
        ([at(2, "budget.prompt", "")], 100, 100),
        ([at(2, "budget.prompt", "200", by="human")], 200, 200),
        ([at(2, "budget.prompt", "", by="human")], 800, 800),
        ([at(2, "budget.prompt", "", by="human"), at(3, "budget.prompt", "0")], 0, 800),
        ([at(2, "budget.prompt", "0"), at(3, "budget.prompt", "", by="human")], 800, 800),
    ],
)
def test_what_a_person_signed_only_a_person_changes(later: list[Stored], everybody: int, endorsed: int) -> None:
    """Until it is taken back by a signature; an unsigned change never counts for what was endorsed."""
    events = [SIGNED, *later]
    assert value(events, "budget.prompt") == everybody
    assert value(events, "budget.prompt", endorsed=True) == endorsed


def test_a_signed_pause_that_is_over_stands_in_nobodys_way() -> None:
    """Before its end an unsigned change has no effect, after it one has."""
    until = at(1, "pause", moment(NOON + 3 * HOUR), by="human")
    early, late = at(2, "pause", "on"), at(5, "pause", "on")
    assert value([until, early], "pause", NOON + 4 * HOUR) == NOT_PAUSED
    assert value([until, late], "pause", NOON + 6 * HOUR) == OPEN_END
    assert value([until, late], "pause", NOON + 6 * HOUR, endorsed=True) == NOT_PAUSED
    assert [effect for _, _, effect in traced([until, early, late], STORE)] == [
        Effect.APPLIED,
        Effect.NONE,
        Effect.APPLIED,
    ]


def test_an_unsigned_change_from_the_future_lifts_no_signed_pause() -> None:
    """Its clock is what its writer says; whether the pause is over is asked of the reader's."""
    until = at(1, "pause", moment(NOON + 10 * HOUR), by="human")
    future: dict[str, Any] = {"at": NOON + 1000 * HOUR}
    forged = at(2, "pause", "", **future)
    assert folded([until, forged], STORE).is_paused(NOON + 3 * HOUR)
    assert folded([until, forged], STORE).paused_at(NOON + 3 * HOUR)


def test_a_pause_that_is_over_is_remembered() -> None:
    """For what was spooled meanwhile: begun, and ended by its own end or by the next change, whichever came first."""
    events = [
        at(1, "pause", moment(NOON + 3 * HOUR)),
        at(5, "pause", "on"),
        at(7, "pause", ""),
        at(8, "pause", "on", by="human"),
        at(9, "pause", ""),
        at(10, "pause", "", by="human"),
    ]
    settings = folded(events, STORE)
    paused = [hour for hour in range(12) if settings.paused_at(NOON + hour * HOUR + 1)]
    assert paused == [1, 2, 5, 6, 8, 9]


def test_a_silence_has_its_place() -> None:
    """A scope stands for a repository wherever it lies, a path for itself and what is below; `only` is the other way round."""
    ignored = folded([at(1, "ignore", f'["{REPO}","/home/a/plain"]')], STORE)
    only = folded([at(1, "only", '["/home/a/work"]', by="human")], STORE)
    later = NOON + 9 * HOUR
    assert ignored.silence(REPO, "/anywhere", later) == "ignored"
    assert ignored.silence(REPO, "/anywhere", later, endorsed=True) == ""
    assert ignored.silence("repo:x", "/home/a/plain/deep", later) == "ignored"
    assert ignored.silence("repo:x", "/home/a/plainer", later) == ""
    assert only.silence("repo:x", "/home/a/work/deep", later, endorsed=True) == ""
    assert only.silence("repo:x", "/home/a", later, endorsed=True) == "ignored"
    assert covers(["/"], "repo:x", "/home")


def test_a_lock_stands_before_everything() -> None:
    """No event changes it, it counts as signed, and the others go on."""
    lock = Change(
        key="hold",
        text="on",
        value="on",
        event=b"",
        at=NOON,
        actor="system",
        surface="policy",
        session="",
        signed=True,
    )
    settings = locked(folded([at(1, "hold", "off", by="human"), at(2, "pause", "on")], STORE), {"hold": lock})
    assert settings.value("hold", NOON + 9 * HOUR, endorsed=True) == "on"
    assert settings.is_paused(NOON + 9 * HOUR)
    assert not settings.is_default


texts = st.sampled_from([("hold", "off"), ("hold", ""), ("hold", "x"), ("pause", "on"), ("pause", ""), ("none", "1")])


@st.composite
def lives(draw: st.DrawFn) -> list[Stored]:
    """Changes that each have seen one before them, some signed; a pause may have an end."""
    made: list[Stored] = []
    for number in range(1, draw(st.integers(1, 8)) + 1):
        key, text = draw(texts)
        if text == "on" and draw(st.booleans()):
            text = moment(NOON + draw(st.integers(1, 12)) * HOUR)
        by = draw(st.sampled_from(["agent", "agent", "human"]))
        made.append(at(number, key, text, by=by, after=draw(st.integers(0, number - 1))))
    return made


@times(max_examples=150, deadline=None)
@given(lives(), st.randoms(use_true_random=False))
def test_any_order_and_duplicates_fold_to_the_same(events: list[Stored], chance: random.Random) -> None:
    """Stores that exchange their commits come to the same settings; the trace ends where the fold does."""
    shuffled = [*events, *chance.sample(events, len(events) // 2)]
    chance.shuffle(shuffled)
    settings = folded(events, STORE)
    assert folded(shuffled, STORE) == settings
    assert len(traced(shuffled, STORE)) == len(events)


@times(max_examples=150, deadline=None)
@given(lives())
def test_a_pause_that_stands_is_one_that_covers_now(events: list[Stored]) -> None:
    """The value and the stretches agree after the last change, and nothing unsigned stands in what holds for the endorsed."""
    settings = folded(events, STORE)
    for hour in range(len(events) + 1, 15):
        now = NOON + hour * HOUR + 1
        assert settings.is_paused(now) == settings.paused_at(now)
        for key in KEYS:
            endorsed = settings.change(key, now, endorsed=True)
            assert endorsed is None or endorsed.signed
            assert settings.change(key, now) == endorsed or endorsed is None
