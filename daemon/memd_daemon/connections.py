"""Who is connected, and what keeps a crowd or a greedy peer from ending the daemon: two bounds that libzmq does not have.

**So many connections.** At the last descriptor libzmq ends the whole process, whoever opened the others. So each connection is
counted as it comes, and the one too many costs the process that has the most of them its newest. libzmq tells of a connection
before it takes the next, and waits where `limits.CONNECTIONS_AHEAD` were not heard of yet: it never runs further ahead.

**So much memory.** libzmq keeps a message until its last frame is there, however many there are, and answers until they are read.
Neither can be seen from outside. What can: how much memory the process has taken, and which connections have bytes on their way.
While it has taken more than `limits.TRAFFIC_MAX_BYTES` beyond its least, who is found with such bytes at two looks in a row is let
go. A client that asks and reads is done long before the second look. libzmq may read as fast as a peer sends, and a look would find
nothing: so once the process has grown by `limits.TRAFFIC_WATCHED_BYTES` the kernel is told to say who sends between two looks, and
who did counts as found, unless a message of theirs has ended meanwhile (`heard`). Until one has, what was sent is kept: who sent
and is silent at the next look is let go too, else a crowd, or one in gusts, would fill the memory between looks.

**Looks cost nothing while nothing moves.** Once a look finds no bytes on their way, and nobody came and no answer went out since
the one before, there are no more: the kernel is told to say when bytes come by any of the connections (``epoll``, once for each),
and `arrivals` becomes readable then. (Not for a few that libzmq has read before this thread is awake: whoever fills the memory
sends on.) Bytes the other way are the server's own answers, of which it tells (`stir`). Then it is looked again, so that whoever
begins to be greedy after an hour of silence is found as soon as one who begins at once. The first of these looks waits a moment:
it would stand in the way of the hook that woke the daemon.

A connection is let go by shutting its socket down: libzmq then drops it and all that it holds, and its process sees the end at
once. What befalls peers is told in the log once a look, with how often: a flood of faults writes no flood of lines.

All of this is of the kernel's telling (``SO_PEERCRED``, ``SIOCINQ``, ``SIOCOUTQ``, ``/proc``); where it tells nothing, nothing is
let go, and where there is no ``epoll`` looks go on as long as anybody is connected. Used by the thread that owns the socket alone.
"""

import contextlib
import errno
import fcntl
import logging
import os
import resource
import select
import socket
import struct
import termios
import time
from collections import Counter
from pathlib import Path
from typing import Final

from memd_daemon import limits
from memd_daemon.index.native import give_heap_back

log: Final = logging.getLogger("memd.connections")

CREDENTIALS: Final = struct.Struct("3i")  # ucred: pid, uid, gid
COUNT: Final = struct.Struct("i")
NONE_LEFT: Final = (errno.EMFILE, errno.ENFILE)


class Connections:
    """Those of one bound Unix socket. ``path``: its address, by which a descriptor is known to be one of them."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._pids: dict[int, int] = {}
        self._of_pid: dict[int, dict[int, None]] = {}  # descriptors, the newest last
        self._moving: set[int] = set()
        self._least_bytes = _own_bytes()  # None until the system has said it
        self._has_freed = False
        self._untold: Counter[str] = Counter()
        self._looked_at = time.monotonic()
        self._has_stirred = False  # since the last look
        self._arrivals = select.epoll() if hasattr(select, "epoll") else None  # closed when this object goes
        self._unarmed: set[int] = set()  # whose bytes would wake nobody
        self._sent: set[int] = set()  # bytes since the last look, and no message of theirs has ended since
        self._unfinished: set[int] = set()  # bytes before the last look, once it is watched, and none has ended since
        self._is_watched = False  # the process had grown by the last look
        self._rests = False

    def __len__(self) -> int:
        return len(self._pids)

    @property
    def arrivals(self) -> int | None:
        """A descriptor to be polled: readable when `arrived` is to be called. None where the system has none."""
        return None if self._arrivals is None else self._arrivals.fileno()

    def arrived(self) -> None:
        """Bytes have come while nobody looked."""
        if self._arrivals is not None:
            by = {descriptor for descriptor, _ in self._arrivals.poll(0) if descriptor in self._pids}
            self._unarmed |= by
            self._sent |= by
        self.stir()

    def heard(self, descriptor: int) -> None:
        """A whole message has come by it: what it sent is no message without an end."""
        self._sent.discard(descriptor)
        self._unfinished.discard(descriptor)

    def stir(self) -> None:
        """Something moves: looks begin anew, the first of them soon, since by the second a greedy peer is to be found."""
        if self._sleeps:
            self._looked_at = time.monotonic() - max(limits.CONNECTIONS_LOOK_S - limits.CONNECTIONS_FIRST_LOOK_S, 0)
        self._rests, self._has_stirred = False, True

    @property
    def _sleeps(self) -> bool:
        return self._rests or not (self._pids or self._untold or self._has_freed)

    @property
    def look_in_ms(self) -> int | None:
        """How long until there is something to look at; None where nothing is: a daemon that nobody asks sleeps."""
        if self._sleeps:
            return None
        left_s = self._looked_at + limits.CONNECTIONS_LOOK_S - time.monotonic()
        return max(int(left_s * limits.MS_PER_S) + 1, 0)

    def tell(self, what: str) -> None:
        """Something that befell a peer, for the log; ``what`` is memd's own words."""
        self.stir()
        self._untold[what] += 1

    def came(self, descriptor: int) -> None:
        """libzmq has accepted a connection."""
        self.stir()
        self.went(descriptor)
        pid = _peer_of(descriptor)
        self._pids[descriptor] = pid
        self._unarmed.add(descriptor)
        if self._is_watched:  # it may have sent more than a greeting before the kernel is told to say so
            self._sent.add(descriptor)
        self._of_pid.setdefault(pid, {})[descriptor] = None
        if len(self._pids) > _connections_max():
            _, most = max(self._of_pid.items(), key=lambda pair: len(pair[1]))
            self.let_go(next(reversed(most)), "ended a connection of too many")

    def went(self, descriptor: int) -> None:
        """libzmq is about to close it, and the number may come again."""
        pid = self._pids.pop(descriptor, None)
        self._unarmed.discard(descriptor)
        self._sent.discard(descriptor)
        self._unfinished.discard(descriptor)
        self._moving.discard(descriptor)
        if pid is not None:
            self._of_pid[pid].pop(descriptor)
            if not self._of_pid[pid]:
                del self._of_pid[pid]

    def look(self) -> None:
        """Lets go who keeps the memory growing, if it is time to look."""
        if self._rests or time.monotonic() - self._looked_at < limits.CONNECTIONS_LOOK_S:
            return
        self._looked_at = time.monotonic()
        self._let_go_greedy()
        for what, times in self._untold.items():
            log.info("%s, %d times", what, times)
        self._untold.clear()
        has_stirred, self._has_stirred = self._has_stirred, False
        if not (has_stirred or self._moving or self._has_freed):
            self._rest()

    def _rest(self) -> None:
        """Looks no more until something moves, if the kernel says so of every connection."""
        self._arm_all()
        self._rests = self._arrivals is not None and not self._unarmed

    def _arm_all(self) -> None:
        """The kernel says once of each connection that bytes have come by it."""
        if self._arrivals is None:
            return
        for descriptor in tuple(self._unarmed):
            # One that has ended, of which libzmq is about to tell; or the kernel has no room.
            with contextlib.suppress(OSError):
                _arm(self._arrivals, descriptor)
                self._unarmed.discard(descriptor)

    def _let_go_greedy(self) -> None:
        grown_bytes = self._grown_bytes()
        sent = self._sent.union(d for d in self._pids if _count_of(d, termios.FIONREAD))
        moving = sent.union(d for d in self._pids if _count_of(d, termios.TIOCOUTQ))
        still = self._unfinished | (moving & self._moving)
        self._moving, self._sent = moving, set()
        if self._has_freed and not still:
            give_heap_back()
            self._has_freed = False
        self._is_watched = grown_bytes > limits.TRAFFIC_WATCHED_BYTES
        if self._is_watched:
            self._arm_all()
            self._unfinished |= sent
        else:
            self._unfinished.clear()
        if grown_bytes > limits.TRAFFIC_MAX_BYTES:
            for descriptor in still:
                self.let_go(descriptor, "ended a connection that took too much memory")
                self._has_freed = True

    def _grown_bytes(self) -> int:
        """What the process has taken beyond its least; 0 where the system does not say."""
        took = _own_bytes()
        if took is None:
            return 0
        self._least_bytes = took if self._least_bytes is None else min(self._least_bytes, took)
        return took - self._least_bytes

    def let_go_of(self, descriptor: int, pid: int, why: str) -> None:
        """Ends the connection that a message of ``pid`` came by; not another process's that bears its number by now."""
        if self._pids.get(descriptor) == pid:
            self.let_go(descriptor, why)

    def let_go(self, descriptor: int, why: str) -> None:
        """Ends one connection, and no other descriptor that may bear its number by now. ``why``: for the log.

        Where there is no descriptor left to do it by, it stays known, and is found again.
        """
        try:
            with _socket_at(descriptor) as ours:
                if ours.getsockname() == self._path:
                    ours.shutdown(socket.SHUT_RDWR)
        except OSError as fault:  # else it has ended by itself
            if fault.errno in NONE_LEFT:
                return
        self.went(descriptor)
        self.tell(why)


def _arm(arrivals: "select.epoll", descriptor: int) -> None:
    """Has it wake the loop once. Raises OSError where it is closed."""
    once = select.EPOLLIN | select.EPOLLONESHOT
    try:
        arrivals.modify(descriptor, once)
    except FileNotFoundError:  # not there yet, or another connection had the number
        arrivals.register(descriptor, once)


def _connections_max() -> int:
    """Fewer where the system allows few descriptors: what libzmq may have taken unheard, and the daemon's own files, have room."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    spare = allowed - limits.CONNECTIONS_AHEAD - limits.DESCRIPTORS_OWN
    return limits.CONNECTIONS_MAX if allowed == resource.RLIM_INFINITY else min(limits.CONNECTIONS_MAX, max(spare, 1))


def _socket_at(descriptor: int) -> socket.socket:
    """A socket by another number, which may be closed. Raises OSError where there is none: what bears the number may be a file."""
    ours = os.dup(descriptor)
    try:
        return socket.socket(fileno=ours)
    except OSError:
        os.close(ours)
        raise


def _peer_of(descriptor: int) -> int:
    """The pid of the process that connected; 0 where the system does not say, or the connection has ended."""
    try:
        with _socket_at(descriptor) as ours:
            told = ours.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    except (OSError, AttributeError):
        return 0
    return int(CREDENTIALS.unpack(told)[0])


def _count_of(descriptor: int, request: int) -> int:
    """Of the bytes on their way: ``FIONREAD`` those to here, ``TIOCOUTQ`` those to the peer."""
    try:
        return int(COUNT.unpack(fcntl.ioctl(descriptor, request, bytes(COUNT.size)))[0])
    except OSError:
        return 0


def _own_bytes() -> int | None:
    """Memory of this process that no file stands behind; None where the system does not say, or has no descriptor to say it by."""
    try:
        _, resident, shared, *_ = Path("/proc/self/statm").read_bytes().split()
    except (OSError, ValueError):
        return None
    return (int(resident) - int(shared)) * resource.getpagesize()
