"""What `memd restore` and `memd import` have done by a process of the daemon's package: it holds the home, since no daemon may.

It is started as ``python -m memd_daemon.exchanged REQUEST``, REQUEST one JSON object (`Wanted`); an export from a pipe is its
standard input. It answers with lines of JSON: ``{"say": [what, done, of]}`` now and then, at the end ``{"done": …}`` or
``{"error": {"code", "message", "status"}}``.

The daemon that runs is asked to finish what it has in hand and to go, its locks are taken (holder.py), and both are held until
all is in place: a daemon that a hook starts meanwhile waits for them, and then opens what lies there."""

import contextlib
import ctypes
import os
import shutil
import signal
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from memd_client import terminal
from memd_client.exchanging import ImportedOut, RestoredOut
from memd_client.reach import Reach
from memd_daemon import errors, holder, limits
from memd_daemon.daemon import CLIENT_NAMES
from memd_daemon.redact import Redactor
from memd_daemon.service.clients import ancestors
from memd_daemon.service.exchange_place import Place, head_of, restore, take_in
from memd_daemon.store import fs
from memd_daemon.store.backup_refused import CannotHold, NotReadable, PersonNeeded

STDIN: Final = "-"
_PR_SET_PDEATHSIG: Final = 1


class Wanted(msgspec.Struct, frozen=True):
    """A request. ``do``: restore or import; ``path`` `-` is standard input."""

    do: str
    home: str
    path: str
    damaged: bool = False
    with_forgotten: bool = False
    skip_wrong: bool = False


class Told:
    """Says how far it is, not more often than anybody can read."""

    def __init__(self) -> None:
        self._next = 0.0
        self._what = ""

    def __call__(self, what: str, done: int, of: int) -> None:
        if what != self._what or time.monotonic() >= self._next:
            self._what, self._next = what, time.monotonic() + limits.EXCHANGE_TOLD_EVERY_S
            answer({"say": [what, done, of]})


def answer(told: dict[str, Any]) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(told) + b"\n")
    sys.stdout.buffer.flush()


@contextlib.contextmanager
def held(home: Path) -> Iterator[None]:
    """The home without a daemon, and none to come meanwhile. Raises CannotHold."""
    fs.make_own(home / "run")
    reach = Reach(home, starts=False)
    for _ in range(limits.EXCHANGE_STOP_TRIES):
        reach.end()
        try:
            locks = holder.take(home)
        except errors.AlreadyRunning:  # somebody's hook was faster
            continue
        try:
            yield
        finally:
            locks.free()
        return
    found = reach.announced()
    raise CannotHold(found.pid if found else "unknown")


def refuse_agent(what: str) -> None:
    """Raises PersonNeeded where an agent's client stands above this process, or had it started. A hindrance, not a proof."""
    pid = os.getpid()
    above = [one.name for one in ancestors(pid)]
    programs = [part for _, name, program in terminal.ancestors(pid) for part in (name, program) if part]
    reason = terminal.under_harness(dict(os.environ), [*above, *programs])
    reason = reason or next((f"it runs under {name}" for name in above if name in CLIENT_NAMES), None)
    if reason is not None:
        raise PersonNeeded(what, reason)


def done(wanted: Wanted) -> RestoredOut | ImportedOut:
    home = Path(wanted.home)
    fs.refuse_unreliable(home)
    place = Place(home, lambda: time.time_ns() // limits.NS_PER_MS, lambda: held(home), Told(), refuse_agent)
    if wanted.do == "restore":
        return restore(place, Path(wanted.path), damaged=wanted.damaged, with_forgotten=wanted.with_forgotten)
    redact = Redactor.default().redact
    with (
        sys.stdin.buffer if wanted.path == STDIN else opened(Path(wanted.path)) as given,
        at_hand(home, given) as stream,
    ):
        return take_in(place, stream, redact, skip_wrong=wanted.skip_wrong)


@contextlib.contextmanager
def at_hand(home: Path, given: BinaryIO) -> Iterator[BinaryIO]:
    """A file as it is; of a pipe all that comes, before the daemon is stopped for it: who writes into it may take his time."""
    if stat.S_ISREG(os.fstat(given.fileno()).st_mode):
        yield given
        return
    first = given.readline(limits.IMPORT_LINE_MAX_BYTES)
    head_of(first)  # what is no export may never end: nothing of it goes to the disk
    fs.make_own(home, may_be_link=True)
    with tempfile.TemporaryFile(dir=home) as whole:
        whole.write(first)
        shutil.copyfileobj(given, whole)
        whole.seek(0)
        yield whole


def end_with_asker() -> None:
    """Where the command is killed this process is asked to end too (prctl(2); Linux alone has that): nobody waits for its answer,
    and no daemon comes as long as it has the home."""
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def opened(path: Path) -> BinaryIO:
    """Raises NotReadable."""
    try:
        return path.open("rb")
    except OSError as error:
        raise NotReadable(path, error.strerror or error) from error


def main(raw: str) -> int:
    """The exit code: 0 also for a refusal, which is an answer."""
    os.umask(0o077)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was staged goes with it
    try:
        told = done(msgspec.json.decode(raw, type=Wanted))
    except errors.MemdError as refusal:
        answer({"error": {"code": refusal.code, "message": refusal.message, "status": refusal.status}})
        return 0
    except OSError as error:
        named = f"{error.strerror or error}: {error.filename}" if error.filename else error.strerror or str(error)
        answer({"error": {"code": "system", "message": named, "status": "refused"}})
        return 0
    answer({"done": told})
    return 0


if __name__ == "__main__":
    end_with_asker()
    sys.exit(main(sys.argv[1]))
