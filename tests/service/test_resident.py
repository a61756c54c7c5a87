"""When the store's pages are given back to the system: behind what looks at many of them."""

import threading

import pytest

from memd_daemon import limits
from memd_daemon.store import slices
from tests.service.desk import Desk


@pytest.fixture
def let_go(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows by one whenever the store lets go."""
    calls: list[str] = []
    monkeypatch.setattr(desk.daemon.parts.store, "let_go", lambda: calls.append("let go"))
    return calls


def test_starts_and_prompts_let_go_behind_their_answer_and_edits_do_not(desk: Desk, let_go: list[str]) -> None:
    """An edit looks at the same few pages as the one before it."""
    desk.start()
    desk.daemon.letting_go.join()
    desk.prompt("what is the queue bounded by?")
    desk.daemon.letting_go.join()
    assert len(let_go) == 2
    desk.edit("app.py")
    desk.daemon.letting_go.join()
    assert len(let_go) == 2


def test_it_waits_for_nothing_else_that_is_done_behind(desk: Desk, let_go: list[str]) -> None:
    """Under a load that never ends the work behind the answers has no end either, and what more comes is not taken."""
    goes_on = threading.Event()
    desk.daemon.parts.behind.add(lambda: goes_on.wait(30))
    desk.start()
    desk.daemon.letting_go.join()
    goes_on.set()
    assert let_go == ["let go"]


def test_a_moment_without_threads_ends_it_not_for_good(
    desk: Desk, let_go: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages that nobody gives back any more would grow until the daemon is started anew."""

    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", refused)
        desk.daemon.letting_go.add(desk.daemon._let_go)
    desk.start()
    desk.daemon.letting_go.join()
    assert let_go == ["let go"]


def test_a_hook_that_is_on_its_way_goes_before_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The maps of the process are gone through for it, which takes the interpreter for a while."""
    has_let_pass: set[threading.Thread] = set()
    told: list[bool] = []
    underway, store = desk.daemon.parts.underway, desk.daemon.parts.store
    monkeypatch.setattr(underway, "let_pass", lambda: has_let_pass.add(threading.current_thread()))
    monkeypatch.setattr(store, "let_go", lambda: told.append(threading.current_thread() in has_let_pass))
    desk.start()
    desk.daemon.letting_go.join()
    assert told == [True]


def test_the_ledger_lets_go_now_and_then(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """It grows with each hook, and each looks at a few pages of it: not behind every answer, but again and again."""
    calls: list[str] = []
    monkeypatch.setattr(desk.daemon.parts.ledger, "let_go", lambda: calls.append("let go"))
    for number in range(3):
        desk.start(f"s{number}")
        desk.daemon.letting_go.join()
    assert len(calls) == 1
    monkeypatch.setattr(limits, "LEDGER_LET_GO_S", 0.0)
    desk.daemon._ledger_let_go_at = 0.0
    for number in range(3, 6):
        desk.start(f"s{number}")
        desk.daemon.letting_go.join()
    assert len(calls) == 4


def test_a_look_through_all_lets_go_on_its_way_and_at_its_end(
    desk: Desk, let_go: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store larger than the memory that memd may take is looked through in that much."""
    monkeypatch.setattr(limits, "LET_GO_SLICES", 1)
    monkeypatch.setattr(slices, "CHECK_SLICE_MS", 0)
    for number in range(20):
        desk.remember(f"note number {number} of the queue")
    desk.daemon.watch.look()
    assert len(let_go) > 2
