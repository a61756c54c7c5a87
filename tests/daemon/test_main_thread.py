"""What the main thread of a daemon does: what wakes it, what it looks at, and what ends it."""

import math
import os
import queue
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from memd_daemon import errors, limits, main_thread


def leaving_at_the(look: Callable[[threading.Event], float | None]) -> threading.Event:
    """Attends with this one look, which is given what ends it; and what it set."""
    leaving = threading.Event()
    with main_thread.heeding() as bell:
        main_thread.attend(bell, leaving, leaving.set, [lambda: look(leaving)])
    return leaving


@pytest.mark.parametrize("number", main_thread.SIGNALS)
def test_a_signal_is_time_to_leave_and_what_it_did_before_stands_again(number: signal.Signals) -> None:
    """Also where it comes before anybody sleeps: the system writes it down."""
    before = signal.getsignal(number)
    leaving, left = threading.Event(), []
    with main_thread.heeding() as bell:
        os.kill(os.getpid(), number)
        main_thread.attend(bell, leaving, lambda: (left.append(1), leaving.set()), [])  # type: ignore[func-returns-value]
    assert left == [1]
    assert signal.getsignal(number) is before


def test_a_signal_is_heard_as_soon_as_it_no_longer_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is neither here nor there would be lost, and the daemon stay."""
    heed = signal.signal

    def heeded(number: int, handler: Any) -> Any:
        before = heed(number, handler)
        if number == signal.SIGTERM and callable(handler):
            signal.raise_signal(number)
        return before

    monkeypatch.setattr(signal, "signal", heeded)
    with main_thread.heeding() as bell:
        assert main_thread.sleep(bell, 0.0)


def test_another_signal_that_somebody_heeds_is_no_time_to_leave() -> None:
    """Its number comes by the same pipe, and wakes the thread; whoever heeds it hears of it."""
    heard: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: heard.append(number))
    leaving, left = threading.Event(), []

    def look() -> float | None:
        if heard:
            leaving.set()
        else:
            os.kill(os.getpid(), signal.SIGUSR1)
        return 0.0

    try:
        with main_thread.heeding() as bell:
            main_thread.attend(bell, leaving, lambda: left.append(1), [look])
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert heard == [signal.SIGUSR1]
    assert left == []


def test_a_look_is_taken_again_when_it_says_so_and_no_more_when_it_says_never() -> None:
    """The first time at once."""
    said, seen = iter([0.0, 0.001, 0.0]), []

    def look(leaving: threading.Event) -> float | None:
        seen.append(again := next(said, None))
        if again is None:
            leaving.set()
        return again

    leaving_at_the(look)
    assert seen == [0.0, 0.001, 0.0, None]


@pytest.mark.parametrize(
    "fault", [OSError("no descriptor is left"), errors.Fault("look"), RecursionError(), ValueError()]
)
def test_a_look_that_fails_is_told_in_the_log_and_waits_its_time(
    caplog: pytest.LogCaptureFixture, fault: Exception
) -> None:
    """Whatever it fails by, the daemon serves on, and its other looks go on."""
    leaving, failed, seen = threading.Event(), [], []

    def fails() -> float | None:
        failed.append(1)
        raise fault

    def other() -> float | None:
        seen.append(1)
        if len(seen) == 3:
            leaving.set()
        return 0.0

    with main_thread.heeding() as bell:
        main_thread.attend(bell, leaving, leaving.set, [fails, other])
    assert failed == [1]
    assert [record.getMessage() for record in caplog.records] == ["a look has failed"]


def test_a_look_that_failed_is_taken_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it failed by may have passed: a daemon that looks no more whether it is idle would stay for ever."""
    monkeypatch.setattr(limits, "LOOK_FAILED_S", 0.0)
    seen: list[int] = []

    def look(leaving: threading.Event) -> float | None:
        seen.append(1)
        if len(seen) == 1:
            raise OSError("no descriptor is left")
        leaving.set()
        return 0.0

    leaving_at_the(look)
    assert len(seen) == 2


def test_another_thread_wakes_it_and_rings_nobodys_descriptor_later() -> None:
    """However often it rings; a worker that is late finds the pipe closed."""
    leaving = threading.Event()
    with main_thread.heeding() as bell:

        def leave() -> None:
            leaving.set()
            for _ in range(100_000):  # more than a pipe holds
                bell.ring()

        thread = threading.Thread(target=leave)
        thread.start()
        main_thread.attend(bell, leaving, leave, [])
        thread.join(30)
    after = os.pipe()
    bell.ring()
    os.set_blocking(after[0], False)
    with pytest.raises(BlockingIOError):
        os.read(after[0], 1)
    for descriptor in after:
        os.close(descriptor)


@pytest.mark.parametrize("seconds", [-1.0, 0.0, 0.001])
def test_sleep_has_an_end(seconds: float) -> None:
    """A time that has passed is none to wait for, and without a signal there was none."""
    with main_thread.heeding() as bell:
        assert not main_thread.sleep(bell, seconds)


def test_who_sleeps_for_ever_is_woken_by_a_ring() -> None:
    """And not before; it is heard once, and is no signal."""
    with main_thread.heeding() as bell:
        slept: queue.SimpleQueue[bool] = queue.SimpleQueue()
        threading.Thread(target=lambda: slept.put(main_thread.sleep(bell, math.inf)), daemon=True).start()
        with pytest.raises(queue.Empty):
            slept.get(timeout=0.01)
        bell.ring()
        assert slept.get(timeout=30) is False
        assert bell.heard() == b""
