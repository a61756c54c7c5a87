"""Pauses, starts, days and restarts in any order, against a model: a pause is told for a day, and then until a person was told."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from memd_daemon import limits
from memd_daemon.frames import notices as words
from memd_daemon.frames.words import date
from tests.service.desk import Desk, desk_at
from tests.service.test_notices import restarted, told
from tests.service.test_settings import change

MINUTE_MS = limits.MS_PER_MINUTE
HEADLESS = b"CLAUDE_CODE_ENTRYPOINT=sdk-cli"

STEPS = st.one_of(
    st.tuples(st.just("pause"), st.sampled_from([1, 60, 3 * 24 * 60])),
    st.tuples(st.just("resume"), st.just(0)),
    st.tuples(st.just("wait"), st.sampled_from([1, 59, 60, 24 * 60 - 1, 24 * 60, 9 * 24 * 60])),
    st.tuples(st.just("person"), st.just(0)),
    st.tuples(st.just("agent"), st.just(0)),
    st.tuples(st.just("restart"), st.just(0)),
)


class Model:
    """What is to be told, in the plainest words: pauses as [begun, end], and which of them, with their ends, were told."""

    def __init__(self) -> None:
        self.pauses: list[list[int]] = []
        self.told: set[tuple[int, int]] = set()

    def pause(self, now: int, end: int) -> None:
        if self.pauses and now <= self.pauses[-1][1]:  # one that goes on is one
            self.pauses[-1][1] = end
        else:
            self.pauses.append([now, end])

    def resume(self, now: int) -> None:
        if self.pauses and now < self.pauses[-1][1]:
            self.pauses[-1][1] = now

    def lines(self, now: int, *, is_persons: bool) -> list[str]:
        if self.pauses and now < self.pauses[-1][1]:
            return [f"memd: paused since {date(self.pauses[-1][0])} by {words.UNJOINED}"]
        due = [(begun, end) for begun, end in self.pauses if now - end < limits.NOTICE_TOLD_MS]
        due += [(begun, end) for begun, end in self.pauses if (begun, end) not in {*due, *self.told}]
        self.told |= set(due) if is_persons else set()
        return [words.pause_over(sorted(due), words.UNJOINED)] if due else []


def taken(desk: Desk, model: Model, number: int, step: str, minutes: int) -> None:
    """One step, in the daemon and in the model."""
    now = desk.clock.ms
    if step == "pause":
        change(desk, "pause", f"{minutes}m")
        model.pause(now, now + minutes * MINUTE_MS)
    elif step == "resume":
        change(desk, "pause", how="unset")
        model.resume(now)
    elif step == "wait":
        desk.clock.ms += minutes * MINUTE_MS
    elif step == "restart":
        restarted(desk)
    else:
        is_persons = step == "person"
        lines = told(desk.start(f"s{number}", env=b"" if is_persons else HEADLESS))
        expected = model.lines(now, is_persons=is_persons)
        assert [line[: len(say)] for line, say in zip(lines, expected, strict=True)] == expected


@settings(max_examples=15, deadline=None)
@given(steps=st.lists(STEPS, min_size=6, max_size=24))
def test_each_pause_is_told_as_the_model_says(steps: list[tuple[str, int]]) -> None:
    """At every start the very lines that are due, no pause lost and none told for ever; what never started is due at the end."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, desk_at(Path(folder)) as desk:
        model = Model()
        closing = [("resume", 0), ("wait", 9 * 24 * 60), ("agent", 0), ("person", 0), ("person", 0)]
        for number, (step, minutes) in enumerate([*steps, *closing]):
            taken(desk, model, number, step, minutes)
        assert told(desk.start("last")) == []
