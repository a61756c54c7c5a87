"""A daemon of this version to ask: found, started, or put in the place of an older one. memd.py asks it.

**Starting.** Where nobody answers, a daemon is started and waited for; a `Reach` with ``starts=False`` never does. After a
deliberate stop (`run/stopped`) only a request that writes starts one. A daemon of an older version is asked to finish what it has
in hand and replaced; a newer one is refused. One that does not answer is left to its successor (memd_daemon.holder).

**Asked once.** A request is sent again only where the daemon said that it was stopping and took nothing. One whose answer never
came may have been carried out; the error says so.
"""

import contextlib
import errno
import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from memd_client import __version__, address, api, link, spawn, wire

READ_ONLY = "{} lies on a file system that is mounted read-only: mount it for writing and say it again."
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
START_WAIT_S = 10.0  # a daemon answers within 0.3 s; a machine under load is given thirty times that
ANSWER_WAIT_S = 30.0  # what is slow on purpose has LONG_WAIT_S
LONG_WAIT_S = 3_600.0  # verify and reindex read everything there is
STATUS_WAIT_S = 2.0  # status never queues behind work: what takes longer does not answer
GONE_WAIT_S = 15.0  # a daemon finishes what it has in hand (5 s at most), then closes its indexes
SIGNAL_WAIT_S = 6.0  # a little longer than its own grace for work in hand
REPLACE_TRIES = (
    3  # of putting an older daemon out: hooks may have begun to start it again, as long as the launcher was its own
)
CONNECT_TRIES = 5  # of connecting to a daemon that leaves just then: its successor answers the next
POLL_S = 0.01  # the pace at which a daemon that is going is looked at

WRITES = frozenset({"remember", "seal", "act", "enrol", "set"})
"""Verbs that start a daemon also after a deliberate stop."""
PLACELESS = frozenset({"ping", "status", "stop", "fired"})
"""Verbs that are not told where the asker stands: they work in a directory whose name is not UTF-8, or that is gone."""
LOOKING = frozenset({"status", "stop"})
"""Verbs that never start a daemon, and are asked of one of any version."""


class MemdError(Exception):
    """memd did not do it. ``code`` is a stable word, ``message`` one line for a person, ``exit_code`` that of the command."""

    exit_code = wire.EXIT_REFUSED

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Refused(MemdError):
    """A rule says no; the message says why and what to do."""


class BadUsage(MemdError):
    """The request itself is wrong."""

    exit_code = wire.EXIT_USAGE


class Unreachable(MemdError):
    """No daemon answers, and none could be started, or none may be."""

    exit_code = wire.EXIT_UNREACHABLE


class Reach:
    """One connection to the daemon of one home, opened at the first request."""

    def __init__(self, home: Path, *, starts: bool) -> None:
        self.home = home
        self._home = os.fsencode(home)
        self._starts = starts
        self._overrides_stop = False
        self._link: link.Link | None = None
        self._replaced = 0

    def close(self) -> None:
        """Closes the connection; the next request opens another."""
        if self._link is not None:
            self._link.close()
            self._link = None

    def override_stop(self) -> None:
        """From here on also a request that only reads starts a daemon that was stopped on purpose."""
        self._overrides_stop = True

    def ended(self, known: address.Address | None) -> bool:
        """Waits until the daemon that wrote this address is gone; whether it is."""
        self.close()
        return known is None or _until(lambda: not address.is_alive(known), GONE_WAIT_S)

    def announced(self) -> address.Address | None:
        """What the daemon of this home last announced."""
        return address.read(self._home)

    def end(self) -> None:
        """Has the daemon that runs, of whatever version, finish what it has in hand and go."""
        self.close()
        found = self.announced()
        if found is not None and address.is_alive(found):
            _end(found)

    def answer(self, verb: str, frames: list[bytes], wait_s: float) -> link.Reply:
        """The reply to one request, whatever its status but STOPPING. Raises Refused, Unreachable."""
        for _ in range(2):
            outcome = self._linked(verb).ask(frames, time.monotonic_ns() + int(wait_s * 1e9))
            if isinstance(outcome, link.Reply) and outcome.status != wire.STOPPING:
                return outcome
            self.close()
            if not isinstance(outcome, link.Reply):
                raise _unanswered(outcome, wait_s)
            _until(lambda: self.announced() is None, GONE_WAIT_S)
        raise Unreachable("stopping", "The daemon is stopping; say it again in a moment.")

    def _linked(self, verb: str) -> link.Link:
        if self._link is None:
            self._link = self._connected(verb)
        return self._link

    def _connected(self, verb: str, tries: int = CONNECT_TRIES) -> link.Link:
        """A connection to a daemon of this version; again where one left between two looks at it. Raises Refused, Unreachable."""
        try:
            found = self._started(verb) if self._starts and verb not in LOOKING else self._found()
        except spawn.DaemonMismatch as strange:
            return self._without(strange.mismatch.version, verb)
        opened = link.open(found, _deadline(STATUS_WAIT_S))
        may_try = self._starts and verb not in LOOKING and tries > 1
        if isinstance(opened, link.Unreachable) and may_try:
            return self._connected(verb, tries - 1)
        if not isinstance(opened, link.Link):
            raise _unanswered(opened, STATUS_WAIT_S) if isinstance(opened, link.Late) else _not_running()
        if verb in LOOKING:
            return opened
        outcome = opened.ask(wire.request(wire.PING, wire.EMPTY_BODY), _deadline(STATUS_WAIT_S))
        if isinstance(outcome, link.Reply) and outcome.version.decode("ascii", "replace") == __version__:
            return opened
        opened.close()
        if isinstance(outcome, link.Reply | link.Mismatch):
            return self._without(outcome.version, verb)
        if isinstance(outcome, link.Unreachable) and may_try:
            return self._connected(verb, tries - 1)
        raise _unanswered(outcome, STATUS_WAIT_S)

    def _found(self) -> address.Address:
        found = self.announced()
        if found is None:
            raise _not_running()
        return found

    def _started(self, verb: str) -> address.Address:
        is_reading = verb not in WRITES and not self._overrides_stop
        if is_reading and self.announced() is None and is_stopped(self.home):
            raise Unreachable(
                "stopped", "memd was stopped on purpose: `memd start`, or the next session start, starts it again."
            )
        try:
            return spawn.ensure_daemon(self._home, START_WAIT_S)
        except spawn.StartFailed as failed:
            raise Unreachable("start-failed", str(failed)) from failed
        except OSError as error:
            if error.errno in FULL or spawn.is_full(self._home):
                why = f"The disk of {self.home} is full: free some space and say it again."
                raise Unreachable("disk-full", why) from error
            if error.errno == errno.EROFS:
                raise Unreachable("disk-read-only", READ_ONLY.format(self.home)) from error
            why = f"{self.home} cannot be written ({error.strerror or error})"
            raise Unreachable("home-unwritable", f"{why}: check its owner and mode, or set MEMD_HOME.") from error

    def _without(self, version: bytes, verb: str) -> link.Link:
        """A connection after the daemon of another version is gone, when it is older and may be replaced."""
        told = version.decode("ascii", "replace")
        if spawn.version_order(version) > spawn.version_order(__version__.encode()):
            what = f"A newer memd ({told}) is running here, and this is {__version__}"
            raise Refused("daemon-newer", f"{what}: use the newer one, or stop it with its own `memd stop`.")
        if self._replaced >= REPLACE_TRIES or not self._starts:
            what = f"The daemon that runs is of another version ({told}; this is {__version__})"
            raise Unreachable("daemon-older", f"{what}: `memd restart` replaces it.")
        self._replaced += 1
        with contextlib.suppress(OSError):  # told where one is to be started
            spawn.write_launcher(self._home, yields=True)  # first: a hook that finds nobody starts what it names
        found = self.announced()
        if found is not None:
            _end(found)
        return self._connected(verb)


def home_of(environ: Mapping[bytes, bytes] | None = None) -> Path:
    """The home that the environment names, existing or not. Raises BadUsage when it names none, Refused for another user's."""
    home = address.home(None if environ is None else dict(environ))
    if home is None:
        raise BadUsage("no-home", "Neither MEMD_HOME (an absolute path) nor HOME is set: set one of them.")
    path = Path(os.fsdecode(home))
    if _is_anothers(path):
        what = f"{path} belongs to another user"
        raise Refused("home-not-yours", f"{what}: run memd as that user, or set MEMD_HOME to a folder of your own.")
    return path


def _is_anothers(home: Path) -> bool:
    try:
        return home.stat().st_uid != os.geteuid()
    except PermissionError:  # a folder above it keeps this user out
        return True
    except OSError:  # none yet, or no folder at all: told by what needs one
        return False


def is_stopped(home: Path) -> bool:
    """Whether the daemon was stopped on purpose and has not been started since."""
    return (home / "run" / "stopped").exists()


def mark_stopped(home: Path) -> None:
    """Notes a deliberate stop for the daemon that cannot, because none runs or it does not answer. Raises OSError."""
    mark = home / "run" / "stopped"
    mark.touch(mode=0o600)
    mark.write_bytes(msgspec.json.encode({"at": time.time_ns() // 1_000_000}))


def _end(found: address.Address) -> None:
    """Has a daemon of whatever version finish and go: by its own verb, else by a signal, a wedged one by the last of them.

    Whether the process is still the one that wrote the address is looked at before each signal.
    """
    body = msgspec.msgpack.encode(api.Stop(announced=False))
    asked = link.request(found, wire.request(wire.STOP, body), _deadline(STATUS_WAIT_S))
    if isinstance(asked, link.Reply) and _until(lambda: not address.is_alive(found), GONE_WAIT_S):
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        if address.is_alive(found):
            os.kill(found.pid, number)
            _until(lambda: not address.is_alive(found), SIGNAL_WAIT_S)


def _until(condition: Callable[[], bool], wait_s: float) -> bool:
    end = time.monotonic() + wait_s
    while not condition():
        if time.monotonic() >= end:
            return False
        time.sleep(POLL_S)
    return True


def _deadline(wait_s: float) -> int:
    return time.monotonic_ns() + int(wait_s * 1e9)


def _not_running() -> Unreachable:
    return Unreachable("not-running", "memd is not running: `memd start` starts it.")


def _unanswered(outcome: object, wait_s: float) -> Unreachable:
    if isinstance(outcome, link.Late):
        what = f"The daemon did not answer within {wait_s:g} s"
        return Unreachable(
            "silent", f"{what}; what was asked may have been done all the same. `memd doctor` looks into it."
        )
    if isinstance(outcome, link.Mismatch):
        return Unreachable("daemon-mismatch", "The daemon speaks another protocol: `memd restart` replaces it.")
    what = "The daemon went away before it answered; what was asked may have been done all the same"
    return Unreachable("gone", f"{what}: look with `memd list` or `memd log`, then say it again.")
