"""The wall clock set back and far ahead, between runs and under a daemon that runs: nothing is lost, out of order, or told twice.

The processes are real; a small preloaded library moves CLOCK_REALTIME for them (clock.c).
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from memd_client import wire
from memd_daemon import limits
from memd_daemon.service import believed, spool
from memd_daemon.service.believed import Looks
from tests.daemon.test_lifecycle import end, reached
from tests.faults.place import Place
from tests.service.desk import Desk

DAY_S: Final = 86_400
YEAR_S: Final = 365 * DAY_S
DAY_MS: Final = limits.TIME_MS_PER_DAY


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    made = tmp_path_factory.mktemp("clock") / "clock.so"
    source = Path(__file__).with_name("clock.c")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", str(made), str(source), "-ldl"], check=True)
    return made


class Moved(Place):
    """A place whose processes have a clock that the test moves."""

    def __init__(self, library: Path) -> None:
        super().__init__()
        self.environ |= {"LD_PRELOAD": str(library), "MEMD_CLOCK": str(self.folder / "clock")}
        self.move(0)

    def move(self, seconds: int) -> None:
        draft = self.folder / "clock.new"
        draft.write_text(str(seconds))
        draft.replace(self.folder / "clock")

    def serve(self) -> "subprocess.Popen[bytes]":
        """A daemon under that clock: one that a hook or a command starts is given no such environment."""
        return subprocess.Popen([sys.executable, "-m", "memd_daemon"], env=self.environ, start_new_session=True)


@pytest.fixture
def moved(library: Path) -> Iterator[Moved]:
    made = Moved(library)
    yield made
    made.close()


def test_a_clock_that_is_set_back_and_ahead_under_a_daemon_changes_no_order_and_loses_nothing(moved: Moved) -> None:
    """Years back, years ahead, and right again, while notes and prompts come; the daemon lives on, and the log goes one way."""
    process = moved.serve()
    try:
        reached(moved.home, process)
        assert moved.start().harmless
        said = []
        for number, seconds in enumerate((0, -10 * YEAR_S, -3_600, 3 * YEAR_S, 0, -60)):
            moved.move(seconds)
            moved.note(f"Claim {number}.")
            assert moved.prompt(f"prompt {number}").harmless
            assert moved.hook("stop", "Stop").silent
            said.append(f"prompt {number}")
        with moved.client(starts=False) as memd:
            notes = memd.notes(all_scopes=True, limit=0).notes
            assert [(note.id, note.content) for note in notes] == [(n + 1, f"Claim {n}.") for n in reversed(range(6))]
            memd.act("revoke", "2", reason="said by a clock that was ten years behind")
            events = memd.log("2").events
            assert [event.type for event in events] == ["recorded", "revoked"]
            assert memd.verify().faults == []
        assert list(reversed(moved.turns())) == said
        assert process.poll() is None
        year = time.gmtime().tm_year
        assert {int(note.created_at[:4]) for note in notes} == {year, year - 10, year + 3}
    finally:
        end(process)
    moved.move(-10 * YEAR_S)
    process = moved.serve()
    try:
        reached(moved.home, process)
        moved.note("Claim 6.")
        with moved.client(starts=False) as memd:
            assert memd.verify().faults == []
            assert len(memd.notes(all_scopes=True, superseded=True, limit=0).notes) == 7
    finally:
        end(process)


# --- what is taken away in time


def say(desk: Desk, text: str) -> None:
    desk.prompt(text, prompt_id=text)


def turns(desk: Desk) -> list[str]:
    with desk.daemon.parts.store.read() as snapshot:
        return sorted(turn.text for turn in snapshot.turns())


def pruned(desk: Desk) -> None:
    """What the daemon does daily."""
    retention = desk.daemon.retention
    now_ms = believed.believed_ms(desk.daemon.parts)
    retention.prune(now_ms=now_ms)
    retention.prune_turns(now_ms)


def used_daily(desk: Desk, days: int) -> None:
    for _ in range(days):
        desk.clock.ms += DAY_MS
        pruned(desk)


def test_a_clock_that_leapt_ahead_takes_nothing_away(desk: Desk) -> None:
    """Ten years ahead, for minutes or days, and right again: every turn and delivery is still there."""
    desk.remember("Never push by force.", kind="directive")
    used_daily(desk, limits.CLOCK_SETTLES_DAYS + 1)
    desk.start("s-1")
    say(desk, "said in time")
    right = desk.clock.ms
    for days in (3_650, 3_651, 3_653):
        desk.clock.ms = right + days * DAY_MS
        pruned(desk)
        say(desk, f"said {days} days ahead")
    desk.clock.ms = right + DAY_MS
    pruned(desk)
    assert turns(desk) == ["said 3650 days ahead", "said 3651 days ahead", "said 3653 days ahead", "said in time"]
    assert list(desk.daemon.parts.ledger.deliveries())


def test_what_is_old_goes_by_a_clock_that_goes_on(desk: Desk) -> None:
    """Daily looks, and one after a long absence: after it the clock is believed once it was seen to go on."""
    used_daily(desk, limits.CLOCK_SETTLES_DAYS + 1)
    say(desk, "said long ago")
    used_daily(desk, limits.TURNS_KEPT_DAYS)
    assert turns(desk) == ["said long ago"]
    used_daily(desk, 1)
    assert turns(desk) == []
    say(desk, "said before an absence")
    desk.clock.ms += 2 * limits.TURNS_KEPT_DAYS * DAY_MS
    pruned(desk)
    assert turns(desk) == ["said before an absence"]
    used_daily(desk, limits.CLOCK_SETTLES_DAYS)
    assert turns(desk) == []


@pytest.mark.parametrize("off_days", [-20_000, 400])
def test_a_turn_of_a_wrong_time_goes_with_its_neighbours(desk: Desk, off_days: int) -> None:
    """Said by a clock that was off: neither taken away at once nor kept for ever."""
    used_daily(desk, limits.CLOCK_SETTLES_DAYS + 1)
    say(desk, "before")
    desk.clock.ms += off_days * DAY_MS
    say(desk, "by a wrong clock")
    desk.clock.ms -= off_days * DAY_MS
    say(desk, "behind")
    used_daily(desk, limits.TURNS_KEPT_DAYS)
    assert turns(desk) == ["before", "behind", "by a wrong clock"]
    used_daily(desk, 1)
    assert turns(desk) == []


LEAP: Final = believed.LEAP_MS
SETTLES: Final = believed.SETTLES_MS


@pytest.mark.parametrize(
    ("looks", "now", "after"),
    [
        (Looks(), 100, Looks(0, 100, 100)),
        (Looks(0, 100, 100), 100 + SETTLES, Looks(100 + SETTLES)),
        (Looks(0, 100, 100), 99 + SETTLES, Looks(0, 100, 99 + SETTLES)),
        (Looks(100), 100 + LEAP, Looks(100 + LEAP)),
        (Looks(100), 101 + LEAP, Looks(100, 101 + LEAP, 101 + LEAP)),
        (Looks(100), 5, Looks(5)),
        (Looks(100, 10 * LEAP, 10 * LEAP), 100 + LEAP, Looks(100 + LEAP)),
        (Looks(100, 10 * LEAP, 10 * LEAP), 30 * LEAP, Looks(100, 30 * LEAP, 30 * LEAP)),
        (Looks(100, 10 * LEAP, 10 * LEAP), 9 * LEAP, Looks(100, 9 * LEAP, 9 * LEAP)),
    ],
)
def test_when_a_clock_is_believed(looks: Looks, now: int, after: Looks) -> None:
    """A step of a fortnight at once, a longer one after a week of looks, a step back at once."""
    assert looks.at(now) == after


def test_what_stands_in_the_setting_is_read_or_is_nothing(desk: Desk) -> None:
    """Whatever bytes another program put there."""
    for stored in (b"", b"1 2", b"x y z", b"-1 0 0", b"1 2 3 4"):
        desk.daemon.parts.store.write(lambda txn, raw=stored: txn.put_setting(believed.KEY, raw))
        assert believed.believed_ms(desk.daemon.parts) == 0


def test_an_offer_that_was_lost_is_made_again_also_where_the_clock_was_set_back(desk: Desk) -> None:
    """What is not receipted is owed: not in a year, when the clock comes to where it was."""
    desk.remember("Never push by force.", kind="directive")
    assert "Never push by force." in desk.start("s-1", receipt=False)
    desk.clock.ms -= 365 * DAY_MS
    assert "Never push by force." in desk.prompt("and now?", session="s-1")


def test_a_file_in_the_spool_is_as_old_as_its_own_file_says(desk: Desk) -> None:
    """One that nobody can read goes after a day, not before; from a time to come it stays, and is bounded by the spool's size."""
    folder = desk.home / "spool"
    folder.mkdir(exist_ok=True)
    for name, age_s in (("young", 0), ("old", wire.SPOOL_MAX_AGE_S + 60), ("to come", -YEAR_S)):
        file = folder / f"{name}.spool"
        file.write_bytes(b"no call")
        at = time.time() - age_s
        os.utime(file, (at, at))
    desk.prompt("now")
    assert sorted(path.stem for path in spool.waiting(desk.home)) == ["to come", "young"]
