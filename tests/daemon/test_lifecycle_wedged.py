"""A daemon that no longer answers: who ends it, what it leaves, and that no two ever write one store. Real processes."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import msgspec
import pytest

from memd_client import address, api, link, reach, spawn, wire
from memd_daemon import holder
from tests.daemon.housed import QUICK, WAIT_S, House, ended, frozen, opens, state, until, until_gone
from tests.daemon.test_lifecycle import end

LOOKS = """
from memd_daemon import holder
look = holder._is_locked
holder._is_locked = lambda writer: (looks.write(b"."), look(writer))[1]
"""
CLAIM = "Acknowledged before the daemon was stopped."


@pytest.fixture
def house() -> Iterator[House]:
    made = House()
    yield made
    made.close()


@pytest.fixture
def daemon(house: House) -> Iterator["subprocess.Popen[bytes]"]:
    """One that serves, and has acknowledged a note."""
    process = house.daemon()
    house.reached(process.pid)
    with house.client() as memd:
        memd.remember(CLAIM)
    yield process
    end(process)


def notes(house: House) -> list[str]:
    """What the store holds, after it was found whole."""
    with house.client(starts=False) as memd:
        assert memd.verify().faults == []
        return [note.content for note in memd.notes(limit=0).notes]


def test_a_wedged_daemon_is_ended_and_replaced(house: House, daemon: "subprocess.Popen[bytes]") -> None:
    """AT8: stopped, it answers no ping; its successor ends it and serves with everything that was acknowledged."""
    with frozen(daemon.pid):
        successor = house.daemon(QUICK)
        try:
            house.reached(successor.pid)
            assert daemon.wait(WAIT_S) == -signal.SIGKILL
            assert notes(house) == [CLAIM]
            assert f"(pid {daemon.pid}) did not answer" in house.said()
        finally:
            end(successor)


def test_one_that_was_stopped_for_a_moment_stays(house: House, daemon: "subprocess.Popen[bytes]") -> None:
    """AT8: a successor asks more than once; where it is answered in the end it leaves without a word."""
    with frozen(daemon.pid):
        successor = house.daemon("limits.WEDGED_PINGS = 1_000")
        until(lambda: opens(successor.pid, house.home / holder.DOOR))
    assert successor.wait(WAIT_S) == 0
    assert house.reached().pid == daemon.pid
    assert daemon.poll() is None


def test_a_stop_is_kept_to_by_a_successor_that_waits(house: House, daemon: "subprocess.Popen[bytes]") -> None:
    """AT8: one that a late hook had started finds the door free because of the stop: nobody has asked for a daemon since."""
    with frozen(daemon.pid):
        successor = house.daemon("limits.WEDGED_PINGS = 1_000")
        until(lambda: opens(successor.pid, house.home / holder.DOOR))
        os.kill(successor.pid, signal.SIGSTOP)
        until(lambda: state(successor.pid) == "T")
    with house.client(starts=False) as memd:
        memd.stop()
    os.kill(successor.pid, signal.SIGCONT)
    assert (successor.wait(WAIT_S), daemon.wait(WAIT_S)) == (0, 0)
    assert house.daemons() == []
    house.hook("session-start")
    assert len(house.alone()) == 1


def test_successors_end_nobody_who_answers(house: House, daemon: "subprocess.Popen[bytes]") -> None:
    """AT4: whoever was started in vain, or for a daemon that was only slow, goes."""
    successors = [house.daemon() for _ in range(8)]
    assert [process.wait(WAIT_S) for process in successors] == [0] * 8
    assert house.reached().pid == daemon.pid


def test_a_stopped_daemon_that_lost_its_door_never_writes_beside_its_successor(
    house: House, daemon: "subprocess.Popen[bytes]"
) -> None:
    """AT8: `run` was taken away from under it. When it goes on it finds that out and leaves; only then its successor opens the
    store. What was asked of it meanwhile is done by it alone, or not at all.
    """
    known = house.reached()
    asked = link.open(known, time.monotonic_ns() + int(WAIT_S * 1e9))
    assert isinstance(asked, link.Link)
    data = house.home / "store" / "log" / "data.mdb"
    with frozen(daemon.pid):
        body = msgspec.msgpack.encode(api.Remember(content="Asked of one that was stopped.", cwd=str(house.repository)))
        assert asked.tell(wire.request(b"remember", body), time.monotonic_ns() + int(WAIT_S * 1e9))
        shutil.rmtree(house.home / "run")
        looks = house.folder / "looks"
        successor = house.daemon(f"limits.LEAVING_WAIT_S = 3600.0\nlooks = open({str(looks)!r}, 'ab', 0)\n{LOOKS}")
        until(lambda: looks.exists() and looks.stat().st_size > 1)
        assert not opens(successor.pid, data)
    try:
        answered = asked.heard(time.monotonic_ns() + int(WAIT_S * 1e9))
        assert daemon.wait(WAIT_S) == 0
        house.reached(successor.pid)
        was_done = isinstance(answered, list) and answered[0].status == wire.DONE
        assert sorted(notes(house)) == sorted([CLAIM, *["Asked of one that was stopped."] * was_done])
    finally:
        asked.close()
        end(successor)


def test_a_stopped_daemon_that_lost_its_door_is_ended(house: House, daemon: "subprocess.Popen[bytes]") -> None:
    """AT8: nobody can ask it any more, and as long as it is stopped it finds nothing out."""
    with frozen(daemon.pid):
        shutil.rmtree(house.home / "run")
        successor = house.daemon("limits.LEAVING_WAIT_S = 0.2")
        try:
            house.reached(successor.pid)
            assert daemon.wait(WAIT_S) == -signal.SIGKILL
            assert notes(house) == [CLAIM]
        finally:
            end(successor)


def test_a_hook_that_is_late_has_the_wedged_daemon_replaced(house: House) -> None:
    """AT1, AT8: the hook that opens the breaker starts the successor; the prompt is kept, and is a turn by the next one."""
    house.patch(QUICK)
    house.hook("session-start")
    wedged = house.reached().pid
    with frozen(wedged):
        assert house.hook("prompt-submit", "said to one that was stopped") == b""
        assert house.spooled() == 1
        until_gone(wedged)
        assert house.reached().pid != wedged
    assert not (house.home / "run" / "unreachable-until").exists()
    house.hook("prompt-submit", "said to its successor")
    assert house.prompts() == ["said to one that was stopped", "said to its successor"]
    assert len(house.alone()) == 1


def test_a_late_hook_whose_breaker_is_open_starts_nobody(house: House) -> None:
    """AT1: one successor for each time the breaker opens, however many hooks are late."""
    house.patch("limits.WEDGED_PINGS = 1_000")
    house.hook("session-start")
    wedged = house.reached().pid
    with frozen(wedged):
        ended(house.hooks("pre-edit", *["x"] * 6))
        until(lambda: len(house.daemons()) == 2)
        ended(house.hooks("pre-edit", *["x"] * 6))
        assert len(house.daemons()) == 2
    assert house.alone() == [wedged]


def test_a_command_replaces_a_wedged_daemon(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """AT8: `memd list` and its like wait for the successor, and are answered by it."""
    house.patch(QUICK)
    monkeypatch.setattr(spawn, "write_launcher", lambda home, **_: None)
    house.hook("session-start")
    wedged = house.reached().pid
    with frozen(wedged), house.client() as memd:
        assert memd.ping().pid != wedged
        assert state(wedged) in "ZX"


def test_a_wedged_daemon_can_be_stopped(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """AT5: `memd stop` leaves no process, whatever state the daemon is in, and counts as deliberate."""
    monkeypatch.setattr(reach, "STATUS_WAIT_S", 0.3)
    monkeypatch.setattr(reach, "SIGNAL_WAIT_S", 0.3)
    house.hook("session-start")
    wedged = house.reached().pid
    with frozen(wedged), house.client(starts=False) as memd:
        assert memd.stop() == wedged
    assert house.daemons() == []
    assert (house.home / "run" / "stopped").exists()
    assert house.hook("prompt-submit") == b""
    assert house.daemons() == []


def test_a_foreign_process_that_got_the_pid_is_left_alone(house: House) -> None:
    """AT8: a pid is used again. The address names one that is another's now, by its start time: nobody asks it, nobody ends it."""
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        start = address.process_start(stranger.pid)
        assert start
        socket = os.fsencode(house.home / "run" / "memd.sock")
        (house.home / "run").mkdir(mode=0o700)
        stale = address.Address(wire.PROTOCOL, stranger.pid, start - 1, socket)
        (house.home / "run" / "address").write_bytes(address.encode(stale))
        with house.client() as memd:
            assert memd.ping().pid != stranger.pid
            (house.home / "run" / "address").write_bytes(address.encode(stale))
            memd.restart()
        assert stranger.poll() is None
        assert stranger.stdin
        stranger.stdin.close()


def test_a_request_that_never_ends_keeps_no_daemon_from_leaving(house: House) -> None:
    """AT5: nor from ending: the process does not wait for a thread that hangs."""
    hung = (
        "limits.STOP_GRACE_S = 0.2\n"
        "import threading\nfrom memd_daemon.daemon import Daemon\n"
        "Daemon.hook = lambda *_: threading.Event().wait()"
    )
    process = house.daemon(hung)
    house.reached(process.pid)
    assert house.hook("pre-edit") == b""
    process.terminate()
    assert process.wait(WAIT_S) == 0


def test_an_end_that_hangs_has_a_bound() -> None:
    """AT5: who cannot close its store for a minute goes all the same."""
    hangs = "import threading\nfrom memd_daemon.lifecycle import _bounded\nwith _bounded(0.05):\n    threading.Event().wait()"
    assert subprocess.run([sys.executable, "-I", "-c", hangs], timeout=WAIT_S, check=False).returncode == 1
