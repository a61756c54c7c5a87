"""Work behind an answer: one piece after the other, and what one of them does ends nobody else's."""

import threading
import time
from functools import partial

import pytest

from memd_daemon import limits
from memd_daemon.service.behind import Behind, Underway


def test_work_that_fails_in_a_way_that_nobody_thought_of_ends_itself_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its thread ends and is seen to have ended: what comes next is done, and who waits for the end does not wait for ever."""
    behind, done, told = Behind(), threading.Event(), threading.Event()
    monkeypatch.setattr(threading, "excepthook", lambda _: told.set())
    behind.add(lambda: [].pop())
    behind.join()
    assert told.wait(30)
    behind.add(done.set)
    assert done.wait(30)
    behind.join()


def test_where_the_system_has_no_thread_to_give_the_work_waits_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever added it goes on, a hook above all; nobody waits for a thread that never began."""
    behind, done = Behind(), []

    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", refused)
        behind.add(lambda: done.append(1))
        behind.join(30.0)
        behind.join_added(30.0)
    assert done == []
    behind.add(lambda: done.append(2))
    behind.join(30.0)
    assert done == [1, 2]


def test_a_full_queue_that_found_no_thread_is_emptied_once_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is told that there is no room has it begun; else nothing would ever be done again."""
    behind, done = Behind(most=1), threading.Event()

    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", refused)
        assert behind.add(done.set)
    assert not behind.add(done.clear)
    assert done.wait(30)


def test_who_waits_for_the_end_may_wait_for_so_long_alone() -> None:
    """Past it the work goes on; without work there is nothing to wait for."""
    behind, goes_on = Behind(), threading.Event()
    behind.join(0.0)
    behind.add(lambda: goes_on.wait(30))
    behind.join(0.0)
    assert not goes_on.is_set()
    goes_on.set()
    behind.join(30.0)


def test_who_waits_for_what_was_added_waits_for_nothing_that_came_later() -> None:
    """Others go on adding, and a write must not be held up by what their tools gave after it began."""
    behind, later, done = Behind(), threading.Event(), threading.Event()

    def adds_when_somebody_waits() -> None:
        while not behind._changed._waiters:  # type: ignore[attr-defined]  # only then is it known what was added by now
            done.wait(0.001)
        behind.add(lambda: later.wait(30))
        done.set()

    behind.add(adds_when_somebody_waits)
    behind.join_added(30.0)
    assert done.is_set()
    assert not later.is_set()
    later.set()
    behind.join(30.0)


def test_many_threads_may_add_and_wait_at_once() -> None:
    """Nobody meets a thread that is about to begin: whoever waits finds what it had added done."""
    behind, missed = Behind(), []

    def add_and_wait() -> None:
        for _ in range(200):
            done = threading.Event()
            behind.add(done.set)
            behind.join_added(30.0)
            if not done.is_set():
                missed.append(1)

    threads = [threading.Thread(target=add_and_wait) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30.0)
    assert not missed
    assert not any(thread.is_alive() for thread in threads)


def test_a_hook_that_is_on_its_way_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work begins when the last of them has its answer, and under a load that never ends it has its turn as well."""
    monkeypatch.setattr(limits, "BEHIND_YIELDS_MS", 30_000)
    underway, order = Underway(), []
    behind = Behind(underway)
    underway.begin()
    underway.begin()
    behind.add(lambda: order.append("work"))
    for number in (1, 2):
        order.append(f"hook {number}")
        underway.end()
    behind.join(30.0)
    assert order == ["hook 1", "hook 2", "work"]
    monkeypatch.setattr(limits, "BEHIND_YIELDS_MS", 1)
    underway.begin()
    behind.add(lambda: order.append("more"))
    behind.join(30.0)
    assert order[-1] == "more"


def test_its_thread_stays_for_a_while_and_then_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes soon begins no other; what comes later does."""
    behind, threads = Behind(), []

    def add() -> None:
        behind.add(lambda: threads.append(threading.current_thread()))
        behind.join(30.0)

    add()
    add()
    assert threads[0] is threads[1]
    monkeypatch.setattr(limits, "BEHIND_LINGERS_S", 0.0)
    add()  # it looks at the new bound when it is done with this
    threads[0].join(30.0)
    assert not threads[0].is_alive()
    add()
    assert threads[3] is not threads[0]


def test_nothing_wakes_up_while_a_hook_is_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is added then begins when the last answer is out, and where hooks never end when something else is added later."""
    monkeypatch.setattr(limits, "BEHIND_YIELDS_MS", 30_000)
    underway, done, late = Underway(), threading.Event(), threading.Event()
    behind = Behind(underway)
    underway.begin()
    behind.add(done.set)
    assert not behind._has_thread  # pyright: ignore[reportPrivateUsage] -- what would take its time from the hook
    underway.end()
    assert done.wait(30)
    behind.join(30.0)
    other = Behind(underway)
    underway.begin()
    other.add(late.set)
    monkeypatch.setattr(limits, "BEHIND_YIELDS_MS", -1)
    other.add(lambda: None)
    assert late.wait(30)
    underway.end()
    other.join(30.0)


def test_work_that_holds_back_goes_on_when_somebody_waits_for_it() -> None:
    """However long it would hold; and what is awaited gives way to no hook."""
    underway, done = Underway(), []
    behind = Behind(underway)

    def work() -> None:
        behind.hold_until(time.monotonic() + 3600)
        underway.begin()
        behind.give_way()
        done.append("work")

    behind.add(work)
    behind.join_added(30.0)
    assert done == ["work"]


def test_work_gives_way_between_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook that comes while it is at work goes first; held until a moment that has passed it holds nobody up."""
    monkeypatch.setattr(limits, "BEHIND_YIELDS_MS", 30_000)
    underway, order, has_come, is_done = Underway(), [], threading.Event(), threading.Event()
    behind = Behind(underway)

    def work() -> None:
        behind.hold_until(time.monotonic() - 1)
        underway.begin()
        has_come.set()
        behind.give_way()
        order.append("work")
        is_done.set()

    behind.add(work)
    assert has_come.wait(30)
    order.append("hook")
    underway.end()
    assert is_done.wait(30)
    assert order == ["hook", "work"]


def test_what_waits_behind_work_that_ended_its_thread_is_done_and_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A write relies on all that had come before it, whatever befell the first of it."""
    behind, fails, goes_on, told, done = Behind(), threading.Event(), threading.Event(), threading.Event(), []
    monkeypatch.setattr(threading, "excepthook", lambda _: told.set())

    def failing() -> None:
        fails.wait(30)
        [].pop()

    def slow() -> None:
        goes_on.wait(0.2)  # longer than it takes to look, so that who does not wait is seen
        done.append(1)

    behind.add(failing)
    behind.add(slow)
    fails.set()
    behind.join_added(30.0)
    assert done == [1]
    assert told.wait(30)


def test_what_waits_behind_work_that_ended_its_thread_needs_nobody_to_add_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread begins."""
    behind, fails, done, told = Behind(), threading.Event(), threading.Event(), threading.Event()
    monkeypatch.setattr(threading, "excepthook", lambda _: told.set())

    def failing() -> None:
        fails.wait(30)
        [].pop()

    behind.add(failing)
    behind.add(done.set)
    fails.set()
    assert done.wait(10)
    assert told.wait(30)


def test_a_hook_that_never_ends_keeps_nothing_from_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was added once begins when another hook has passed, though nothing is added any more."""
    monkeypatch.setattr(limits, "BEHIND_YIELDS_MS", 3_600_000)
    underway, done = Underway(), threading.Event()
    behind = Behind(underway)
    underway.begin()
    behind.add(done.set)
    assert not done.is_set()
    monkeypatch.setattr(limits, "BEHIND_YIELDS_MS", -1)
    underway.begin()
    underway.end()
    assert done.wait(10)


def test_what_is_awaited_begins_while_hooks_are_on_their_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each piece that gave way would take its time from a write that waits for all of them."""
    monkeypatch.setattr(limits, "BEHIND_YIELDS_MS", 3_600_000)
    underway, done = Underway(), []
    behind = Behind(underway)
    underway.begin()
    for number in range(3):
        behind.add(partial(done.append, number))
    behind.join_added(10.0)
    assert done == [0, 1, 2]


def test_where_many_wait_hooks_go_first_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """There would be no room for what comes, and it would be left out."""
    monkeypatch.setattr(limits, "BEHIND_YIELDS_MS", 3_600_000)
    monkeypatch.setattr(limits, "BEHIND_CROWDED", 2)
    underway, has_begun, goes_on, done = Underway(), threading.Event(), threading.Event(), threading.Event()
    behind = Behind(underway)

    def work() -> None:
        has_begun.set()
        goes_on.wait(30)
        behind.give_way()
        done.set()

    behind.add(work)
    assert has_begun.wait(10)
    underway.begin()
    behind.add(lambda: None)
    behind.add(lambda: None)
    goes_on.set()
    assert done.wait(10)
    underway.end()
    behind.join(10.0)


def test_a_queue_has_room_for_so_many_and_so_much_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first has room however large it is; what was done holds nothing."""
    monkeypatch.setattr(limits, "BEHIND_WAITING_MAX_BYTES", 10)
    has_begun, goes_on = threading.Event(), threading.Event()
    behind = Behind(most=3)

    def hold() -> None:
        has_begun.set()
        goes_on.wait(30)

    assert behind.add(hold, 11)
    assert has_begun.wait(10)
    assert [behind.add(lambda: None, size) for size in (10, 1, 0, 0, 0)] == [True, False, True, True, False]
    goes_on.set()
    behind.join(10.0)
    assert behind.add(lambda: None, 10)
    behind.join(10.0)
