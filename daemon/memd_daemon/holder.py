"""Who holds a home: one daemon, and what becomes of one that no longer answers.

Two locks, which the system takes back from a process however it ends:

- ``run/daemon.lock`` (flock), the door: one daemon serves this home. Who starts takes it, or finds out who has it.
- ``writer.lock`` in the home itself (a POSIX lock): one process writes this home's store, also where somebody took ``run`` away
  from under a daemon, and its door with it. Asked for it, the system names the process that has it.

**Alive means answers.** Who finds the door held asks its holder. One that answers is left alone, whatever its version. One that is
not to be found is about to leave, or to serve, and is waited for. One that was announced, lives, and misses
`limits.WEDGED_PINGS` pings one after the other is wedged (stopped, or deadlocked): it is told to go and, two pings later, ended.
So a successor never serves beside it, and nothing that it acknowledged is lost: that was on disk. Pings are counted, not seconds:
after a machine's sleep both wake up together.

Who waited for the door and finds that memd was stopped on purpose meanwhile was not asked for since, and goes.

A daemon whose door was taken away leaves by itself within seconds (lifecycle.py); one that does not, because it is stopped, can be
asked by nobody any more and is ended.

Standard library and memd_client alone: the look that costs a second start nothing (`is_served`) comes before anything is imported.
"""

import contextlib
import fcntl
import os
import signal
import struct
import sys
import time
from pathlib import Path
from typing import Final, NamedTuple

from memd_client import address, link, wire
from memd_client.address import Address
from memd_daemon import errors, limits

DOOR: Final = "run/daemon.lock"
WRITER: Final = "writer.lock"
STOPPED: Final = "run/stopped"

_MODE: Final = 0o600
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
# struct flock: Linux begins with type and whence, macOS ends with them.
_IS_LINUX: Final = sys.platform == "linux"
_FLOCK: Final = "hhqqi" if _IS_LINUX else "qqihh"


class Held(NamedTuple):
    """Both locks' descriptors, and the pid of the wedged daemon that was ended for them; 0 for none."""

    door: int
    writer: int
    ended: int

    def free(self) -> None:
        """Gives both up: the writer's first, so that who has the door need not wait."""
        os.close(self.writer)
        os.close(self.door)


def is_served(home: bytes) -> bool:
    """Whether a daemon of any version answers for this home."""
    known = address.read(home)
    return known is not None and address.is_alive(known) and _answers(_ping(known))


def take(home: Path) -> Held:
    """Both locks of this home, held as long as the process lives. Raises AlreadyRunning."""
    door = os.open(home / DOOR, _FLAGS, _MODE)
    writer = os.open(home / WRITER, _FLAGS, _MODE)
    began_ns = time.time_ns()
    try:
        ended = _await_door(os.fsencode(home), door)
        if _was_stopped(home, began_ns):
            raise errors.AlreadyRunning("none any more")
        return Held(door, writer, _await_writer(writer) or ended)
    except errors.AlreadyRunning:
        os.close(writer)
        os.close(door)
        raise


def _was_stopped(home: Path, since_ns: int) -> bool:
    """Whether there was a deliberate stop since; a mark from the future is one of before the clock was set back."""
    try:
        marked_ns = (home / STOPPED).stat().st_mtime_ns
    except OSError:
        return False
    return since_ns < marked_ns <= time.time_ns()


def _await_door(home: bytes, door: int) -> int:
    """Waits for the one that leaves, since whoever started this process asks no second time; ends the one that is wedged."""
    end, missed, ended = time.monotonic() + limits.LEAVING_WAIT_S, 0, 0
    while not _is_taken(door):
        known = address.read(home)
        outcome = _ping(known) if known is not None and address.is_alive(known) else None
        if known is not None and _answers(outcome):
            raise errors.AlreadyRunning(known.pid)
        missed = missed + 1 if isinstance(outcome, link.Late) else 0
        if known is not None and missed >= limits.WEDGED_PINGS:
            is_last = missed >= limits.WEDGED_PINGS + limits.WEDGED_LEAVE_PINGS
            _signal(known, signal.SIGKILL if is_last else signal.SIGTERM)
            ended = known.pid
        if time.monotonic() >= end:
            raise errors.AlreadyRunning(known.pid if known else "unknown")
        if not missed:
            time.sleep(limits.LEAVING_LOOK_S)
    return ended


def _await_writer(writer: int) -> int:
    """Behind the door. Whoever still writes has lost it and leaves by itself; one that does not is stopped, and is ended."""
    end, ended = time.monotonic() + limits.LEAVING_WAIT_S, 0
    while not _is_locked(writer):
        if time.monotonic() >= end:
            pid = _writer_of(writer)
            if ended or not pid:  # in the hands of the kernel, or of another PID namespace
                raise errors.AlreadyRunning(pid or "unknown")
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
            end, ended = time.monotonic() + limits.KILLED_WAIT_S, pid
        time.sleep(limits.LEAVING_LOOK_S)
    return ended


def _is_taken(door: int) -> bool:
    try:
        fcntl.flock(door, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_locked(writer: int) -> bool:
    try:
        fcntl.lockf(writer, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _writer_of(writer: int) -> int:
    """The process that has the writer's lock; 0 where nobody has, or where it cannot be seen from here."""
    asked = (fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0) if _IS_LINUX else (0, 0, 0, fcntl.F_WRLCK, os.SEEK_SET)
    told = struct.unpack(_FLOCK, fcntl.fcntl(writer, fcntl.F_GETLK, struct.pack(_FLOCK, *asked)))
    kind, pid = (told[0], told[4]) if _IS_LINUX else (told[3], told[2])
    return pid if kind != fcntl.F_UNLCK else 0


def _ping(known: Address) -> link.Outcome:
    by_ns = time.monotonic_ns() + limits.WEDGED_PING_MS * limits.NS_PER_MS
    return link.request(known, wire.request(wire.PING, wire.EMPTY_BODY), by_ns)


def _answers(outcome: link.Outcome | None) -> bool:
    return isinstance(outcome, link.Reply | link.Mismatch)


def _signal(known: Address, number: signal.Signals) -> None:
    """To the very process that wrote the address: held by a descriptor, its pid cannot become another's in between."""
    with contextlib.suppress(OSError):
        if sys.platform != "linux":
            if address.is_alive(known):
                os.kill(known.pid, number)
            return
        process = os.pidfd_open(known.pid)
        try:
            if address.is_alive(known):
                signal.pidfd_send_signal(process, number)
        finally:
            os.close(process)
