"""Work behind an answer: one piece after the other, and what one of them does ends nobody else's."""

import threading

import pytest

from memd_daemon.service.behind import Behind


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_work_that_fails_in_a_way_that_nobody_thought_of_ends_itself_alone() -> None:
    """Its thread ends and is seen to have ended: what comes next is done, and who waits for the end does not wait for ever."""
    behind, done = Behind(), threading.Event()
    behind.add(lambda: [].pop())
    behind.join()
    behind.add(done.set)
    assert done.wait(30)
    behind.join()


def test_who_waits_for_the_end_may_wait_for_so_long_alone() -> None:
    """Past it the work goes on; without work there is nothing to wait for."""
    behind, goes_on = Behind(), threading.Event()
    behind.join(0.0)
    behind.add(lambda: goes_on.wait(30) and None)
    behind.join(0.0)
    assert not goes_on.is_set()
    goes_on.set()
    behind.join(30.0)
