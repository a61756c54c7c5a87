"""Who is let go of a crowd, and who never is."""

import contextlib
import errno
import os
import select
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from memd_daemon import connections, limits
from memd_daemon.connections import Connections


class Listening:
    """A listening socket with connections to it, each end of which a test can look at."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "s")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.path)
        self._listener.listen()
        self.peers: dict[int, socket.socket] = {}
        self._ours: list[socket.socket] = []

    def one_more(self) -> int:
        """The descriptor by which it was accepted."""
        peer = socket.socket(socket.AF_UNIX)
        peer.connect(self.path)
        ours, _ = self._listener.accept()
        self._ours.append(ours)
        self.peers[ours.fileno()] = peer
        return ours.fileno()

    def read(self, descriptor: int) -> None:
        """What waits at our end, as libzmq would; nothing where nothing does."""
        for ours in self._ours:
            if ours.fileno() == descriptor:
                with contextlib.suppress(BlockingIOError):
                    ours.recv(1_000, socket.MSG_DONTWAIT)

    def is_open(self, descriptor: int) -> bool:
        """Whether the peer can still talk."""
        try:
            self.peers[descriptor].send(b"x")
        except BrokenPipeError:
            return False
        return True

    def close(self) -> None:
        for one in (self._listener, *self._ours, *self.peers.values()):
            one.close()


@pytest.fixture
def listening() -> Iterator[Listening]:
    """One under /tmp, since a socket's path is short."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="memd-") as folder:
        made = Listening(Path(folder))
        yield made
        made.close()


def test_the_one_too_many_costs_the_newest_of_whoever_has_the_most(
    listening: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process with one connection keeps it, however late it came."""
    monkeypatch.setattr(limits, "CONNECTIONS_MAX", 3)
    crowd = Connections(listening.path)
    of_crowd = [listening.one_more() for _ in range(3)]
    pids = dict.fromkeys(of_crowd, 1)
    lone = listening.one_more()
    monkeypatch.setattr(connections, "_peer_of", lambda descriptor: pids.get(descriptor, 2))
    for descriptor in (*of_crowd, lone):
        crowd.came(descriptor)
    assert [listening.is_open(one) for one in (*of_crowd, lone)] == [True, True, False, True]
    assert len(crowd) == 3


def test_a_number_that_came_again_is_another_connection(listening: Listening) -> None:
    """What is let go is one of this socket's, whatever the number meant before."""
    crowd = Connections(listening.path)
    ours, other = socket.socketpair()
    crowd.let_go(ours.fileno(), "nothing")
    other.send(b"x")
    assert ours.recv(1) == b"x"
    ours.close()
    other.close()


def test_a_number_that_is_a_files_by_now_costs_no_descriptor(listening: Listening, tmp_path: Path) -> None:
    """A connection that ended before it was heard of, again and again, would use up the ones that there are."""
    crowd = Connections(listening.path)
    (tmp_path / "file").touch()
    with (tmp_path / "file").open("rb") as file:
        for deed in (crowd.came, lambda descriptor: crowd.let_go(descriptor, "nothing")):
            before = os.dup(file.fileno())
            os.close(before)
            deed(file.fileno())
            after = os.dup(file.fileno())
            os.close(after)
            assert after == before
        assert file.read() == b""


def test_a_message_of_another_process_costs_nobody_its_connection(listening: Listening) -> None:
    """The number may be another's by the time the message is read."""
    crowd = Connections(listening.path)
    descriptor = listening.one_more()
    crowd.came(descriptor)
    crowd.let_go_of(descriptor, 1, "nothing")
    assert listening.is_open(descriptor)


def test_who_keeps_bytes_moving_while_memory_is_short_is_let_go(
    listening: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the second look in a row, and only where the process has grown; who is quiet stays."""
    monkeypatch.setattr(limits, "CONNECTIONS_LOOK_S", 0)
    took = [0]
    monkeypatch.setattr(connections, "_own_bytes", lambda: took[0])
    crowd = Connections(listening.path)
    quiet, busy = listening.one_more(), listening.one_more()
    for descriptor in (quiet, busy):
        crowd.came(descriptor)
    listening.peers[busy].send(b"x")
    crowd.look()
    crowd.look()
    assert listening.is_open(busy)
    took[0] = limits.TRAFFIC_MAX_BYTES + 1
    crowd.look()
    assert not listening.is_open(busy)
    assert listening.is_open(quiet)


def test_who_sends_between_looks_while_memory_is_short_is_let_go(
    listening: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """libzmq reads as fast as it sends, and no look finds anything; who sends as often, but whole messages, stays."""
    monkeypatch.setattr(limits, "CONNECTIONS_LOOK_S", 0)
    monkeypatch.setattr(connections, "_own_bytes", lambda: limits.TRAFFIC_MAX_BYTES + 1)
    crowd = Connections(listening.path)
    crowd._least_bytes = 0
    endless, whole = listening.one_more(), listening.one_more()
    for descriptor in (endless, whole):
        crowd.came(descriptor)
    crowd.look()
    for stays in (True, False):
        for descriptor in (endless, whole):
            listening.peers[descriptor].send(b"x")
        crowd.arrived()
        for descriptor in (endless, whole):
            listening.read(descriptor)
        crowd.heard(whole)
        crowd.look()
        assert [listening.is_open(one) for one in (endless, whole)] == [stays, True]
        for descriptor in (endless, whole):
            listening.read(descriptor)


def test_who_sends_in_gusts_while_memory_is_short_is_let_go(
    listening: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Silent at every other look, or for good after one gust, as each of a crowd: what was sent is kept until its message ends."""
    monkeypatch.setattr(limits, "CONNECTIONS_LOOK_S", 0)
    took = [limits.TRAFFIC_WATCHED_BYTES + 1]
    monkeypatch.setattr(connections, "_own_bytes", lambda: took[0])
    crowd = Connections(listening.path)
    crowd._least_bytes = 0
    gusts, whole, later = (listening.one_more() for _ in range(3))
    for descriptor in (gusts, whole, later):
        crowd.came(descriptor)
    crowd.look()
    for descriptor in (gusts, whole):
        listening.peers[descriptor].send(b"x")
    crowd.arrived()
    crowd.look()
    for descriptor in (gusts, whole):
        listening.read(descriptor)
    crowd.heard(whole)
    crowd.look()
    assert listening.is_open(gusts)
    took[0] = limits.TRAFFIC_MAX_BYTES + 1
    listening.peers[later].send(b"x")
    crowd.arrived()
    crowd.look()
    assert [listening.is_open(one) for one in (gusts, whole, later)] == [False, True, True]
    listening.read(later)
    took[0] = 0
    crowd.look()
    took[0] = limits.TRAFFIC_MAX_BYTES + 1
    crowd.look()
    assert listening.is_open(later)


def test_who_comes_while_memory_is_short_is_to_end_a_message(
    listening: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it sends before the kernel is told to say so, nobody sees: one gust of each of a thousand would be twelve gigabytes."""
    monkeypatch.setattr(limits, "CONNECTIONS_LOOK_S", 0)
    monkeypatch.setattr(connections, "_own_bytes", lambda: limits.TRAFFIC_MAX_BYTES + 1)
    crowd = Connections(listening.path)
    crowd._least_bytes = 0
    before = listening.one_more()
    crowd.came(before)
    crowd.look()
    gust, asks = listening.one_more(), listening.one_more()
    for descriptor in (gust, asks):
        crowd.came(descriptor)
    crowd.heard(asks)
    crowd.look()
    assert listening.is_open(gust)
    crowd.look()
    assert [listening.is_open(one) for one in (before, gust, asks)] == [True, False, True]


def test_a_number_that_comes_again_has_no_past(listening: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks come and go by the same few: the next one is not the second look at the one before it."""
    monkeypatch.setattr(limits, "CONNECTIONS_LOOK_S", 0)
    took = [0]
    monkeypatch.setattr(connections, "_own_bytes", lambda: took[0])
    crowd = Connections(listening.path)
    descriptor = listening.one_more()
    crowd.came(descriptor)
    listening.peers[descriptor].send(b"x")
    crowd.look()
    took[0] = limits.TRAFFIC_MAX_BYTES + 1
    crowd.went(descriptor)
    crowd.came(descriptor)
    crowd.look()
    assert listening.is_open(descriptor)
    crowd.look()
    assert not listening.is_open(descriptor)


def test_who_cannot_be_let_go_for_want_of_a_descriptor_is_found_again(
    listening: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody would look at it any more, and it would fill the memory."""
    monkeypatch.setattr(limits, "CONNECTIONS_LOOK_S", 0)
    took = [0]
    monkeypatch.setattr(connections, "_own_bytes", lambda: took[0])
    crowd = Connections(listening.path)
    descriptor = listening.one_more()
    crowd.came(descriptor)
    took[0] = limits.TRAFFIC_MAX_BYTES + 1
    listening.peers[descriptor].send(b"x")

    def none_left(_: int) -> int:
        raise OSError(errno.EMFILE, "too many open files")

    with monkeypatch.context() as full:
        full.setattr(os, "dup", none_left)
        crowd.look()
        crowd.look()
    assert listening.is_open(descriptor)
    crowd.look()
    assert not listening.is_open(descriptor)


@pytest.mark.parametrize("told", [[None], [limits.TRAFFIC_MAX_BYTES + 1, None]])
def test_a_moment_in_which_the_system_does_not_say_is_no_least(
    listening: Listening, monkeypatch: pytest.MonkeyPatch, told: list[int | None]
) -> None:
    """Without a descriptor to read it by nothing is known: whoever asks much of a grown daemon later is not let go for that."""
    monkeypatch.setattr(limits, "CONNECTIONS_LOOK_S", 0)
    monkeypatch.setattr(connections, "_own_bytes", lambda: told.pop(0) if told else limits.TRAFFIC_MAX_BYTES + 1)
    crowd = Connections(listening.path)
    descriptor = listening.one_more()
    crowd.came(descriptor)
    listening.peers[descriptor].send(b"x")
    for _ in range(3):
        crowd.look()
    assert not told
    assert listening.is_open(descriptor)


def test_nothing_is_looked_at_where_nobody_is_connected(listening: Listening) -> None:
    """So a daemon that nobody asks sleeps; what befell a peer is told first."""
    crowd = Connections(listening.path)
    looks = [crowd.look_in_ms]
    descriptor = listening.one_more()
    for deed in (crowd.came, crowd.went):
        deed(descriptor)
        looks.append(crowd.look_in_ms)
    crowd.tell("something")
    looks.append(crowd.look_in_ms)
    assert [look is not None for look in looks] == [False, True, False, True]


def at_rest(listening: Listening, monkeypatch: pytest.MonkeyPatch) -> tuple[Connections, int]:
    """Two looks found nothing: one connection stands, and nobody looks any more."""
    monkeypatch.setattr(limits, "CONNECTIONS_LOOK_S", 0)
    crowd = Connections(listening.path)
    descriptor = listening.one_more()
    crowd.came(descriptor)
    crowd.look()
    assert crowd.look_in_ms is not None
    crowd.look()
    assert crowd.look_in_ms is None
    return crowd, descriptor


def test_the_first_look_once_something_moves_comes_soon(listening: Listening) -> None:
    """Who begins to be greedy then is found at the second: it pours gigabytes in a second."""
    soon_ms = int(limits.CONNECTIONS_FIRST_LOOK_S * limits.MS_PER_S) + 1
    crowd = Connections(listening.path)
    crowd.came(listening.one_more())
    first = crowd.look_in_ms
    assert first is not None
    assert 0 <= first <= soon_ms < limits.CONNECTIONS_LOOK_S * limits.MS_PER_S


def is_readable(descriptor: int | None) -> bool:
    """Whether a loop that polls it would wake."""
    assert descriptor is not None
    return bool(select.select([descriptor], [], [], 0)[0])


@pytest.mark.skipif(not hasattr(select, "epoll"), reason="the system has no epoll: looks go on")
def test_looks_end_where_nothing_moves_and_bytes_begin_them_again(
    listening: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the second time; a greedy peer that was silent for long is found."""
    took = [0]
    monkeypatch.setattr(connections, "_own_bytes", lambda: took[0])
    crowd, descriptor = at_rest(listening, monkeypatch)
    for _ in range(2):
        assert not is_readable(crowd.arrivals)
        listening.peers[descriptor].send(b"x")
        assert is_readable(crowd.arrivals)
        crowd.arrived()
        assert not is_readable(crowd.arrivals)
        assert crowd.look_in_ms is not None
        listening.read(descriptor)
        crowd.look()
        crowd.look()
        assert crowd.look_in_ms is None
    took[0] = limits.TRAFFIC_MAX_BYTES + 1
    listening.peers[descriptor].send(b"x")
    crowd.arrived()
    crowd.look()
    crowd.look()
    assert not listening.is_open(descriptor)


@pytest.mark.skipif(not hasattr(select, "epoll"), reason="the system has no epoll: looks go on")
def test_what_the_daemon_itself_does_begins_looks_again(listening: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that goes out, one more that comes, something to be told; and a number that comes again wakes the loop again."""
    crowd, descriptor = at_rest(listening, monkeypatch)
    for deed in (crowd.stir, lambda: crowd.tell("something"), lambda: crowd.came(descriptor)):
        deed()
        assert crowd.look_in_ms is not None
        crowd.look()
        crowd.look()
        assert crowd.look_in_ms is None
    crowd.went(descriptor)
    crowd.came(descriptor)
    crowd.look()
    crowd.look()
    listening.peers[descriptor].send(b"x")
    assert is_readable(crowd.arrivals)


@pytest.mark.skipif(not hasattr(select, "epoll"), reason="the system has no epoll: looks go on")
def test_the_first_look_after_a_rest_waits_its_time(listening: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hook that woke the daemon is answered meanwhile."""
    crowd, descriptor = at_rest(listening, monkeypatch)
    monkeypatch.setattr(limits, "CONNECTIONS_LOOK_S", 3600)
    listening.peers[descriptor].send(b"x")
    crowd.arrived()
    looked: list[int] = []
    monkeypatch.setattr(connections, "_own_bytes", lambda: looked.append(1) or 0)
    crowd.look()
    assert not looked


@pytest.mark.skipif(not hasattr(select, "epoll"), reason="the system has no epoll: looks go on")
def test_looks_go_on_where_the_kernel_would_not_tell_of_one(
    listening: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has room for so many; as soon as it has some again there is rest."""
    monkeypatch.setattr(limits, "CONNECTIONS_LOOK_S", 0)
    crowd = Connections(listening.path)
    crowd.came(listening.one_more())

    def no_room(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no room")

    with monkeypatch.context() as full:
        full.setattr(connections, "_arm", no_room)
        for _ in range(3):
            crowd.look()
            assert crowd.look_in_ms is not None
    crowd.look()
    assert crowd.look_in_ms is None


@pytest.mark.skipif(not hasattr(select, "epoll"), reason="the system has no epoll: looks go on")
def test_bytes_of_one_that_is_gone_wake_nobody_again(listening: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its number may be a file's by now, or nothing's: it is none to be looked at."""
    crowd, descriptor = at_rest(listening, monkeypatch)
    listening.peers[descriptor].send(b"x")
    crowd.went(descriptor)
    crowd.arrived()
    armed: list[int] = []
    monkeypatch.setattr(connections, "_arm", lambda _, descriptor: armed.append(descriptor))
    crowd.tell("something")
    crowd.look()
    crowd.look()
    assert armed == []
    assert crowd.look_in_ms is None


def test_without_epoll_looks_go_on(listening: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as anybody is connected: nothing would tell that bytes come."""
    monkeypatch.setattr(limits, "CONNECTIONS_LOOK_S", 0)
    monkeypatch.delattr(select, "epoll", raising=False)
    crowd = Connections(listening.path)
    crowd.came(listening.one_more())
    crowd.look()
    crowd.look()
    assert crowd.look_in_ms is not None
    assert crowd.arrivals is None
