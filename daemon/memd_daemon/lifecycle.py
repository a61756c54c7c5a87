"""One daemon per user and home: locks, address, signals, idle exit, a graceful stop (hooks.md, section 3).

Order at a start: locks (holder.py: a daemon that is leaving is waited for, one that does not answer is ended), then bind, then
`run/address` and `run/status.json`, so that whoever reads an address finds somebody who answers. The store opens and hooks are
served before numpy, onnxruntime or usearch are in. Then the main thread sleeps (main_thread.py). Order at a stop, whoever asked
for it (a verb, a signal, idleness): the address goes first, work in flight is finished, and then the indexes and the store are
closed.
"""

import contextlib
import hashlib
import json
import logging
import logging.handlers
import os
import resource
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final

from memd_client import __version__, address, spawn, wire
from memd_daemon import ended, errors, holder, limits, main_thread
from memd_daemon.bell import Bell
from memd_daemon.daemon import Daemon
from memd_daemon.index.native import keep_heap_small
from memd_daemon.server import Server
from memd_daemon.store import fs

log: Final = logging.getLogger("memd.lifecycle")

PRIVATE_DIRECTORY: Final = 0o700
PRIVATE_MASK: Final = 0o077

MADE_AT_START: Final = ("run", "logs")
REFUSED: Final = "refused"
"""Under `run`: why the last daemon did not serve, for whoever waits for it (memd_client.spawn)."""

STARTING: Final = "starting"
MARKS: Final = (STARTING, "stopped", "unreachable-until", REFUSED)
"""Under `run`: what no longer holds once a daemon serves."""

FILES: Final = (
    holder.WRITER,
    holder.DOOR,
    *(f"run/{name}" for name in ("address", "status.json", "memd.sock", *MARKS)),
    "logs/daemon.log",
)
"""What a daemon has to write, replace or remove to serve at all."""

MADE_LATER: Final = ("store", "index", "keys", "spool")
"""By the store, the indexes, `memd human init` and hooks: looked at where they are there."""


def main(opened: Callable[[Path], Daemon] = Daemon.open) -> int:
    """``python -m memd_daemon``: serves the home of the environment until told to stop. Exit 0 also where another serves it."""
    os.umask(PRIVATE_MASK)
    sys.setswitchinterval(limits.THREAD_TURN_S)
    home = address.home()
    if home is None:
        sys.stderr.write("memd: neither MEMD_HOME nor HOME is set; set one of them.\n")
        return wire.EXIT_USAGE
    sys.excepthook = partial(_ended, Path(os.fsdecode(home)))
    try:
        run(Path(os.fsdecode(home)), opened)
    except errors.AlreadyRunning:
        spawn.end_start(home)
        return wire.EXIT_DONE
    except (errors.MemdError, OSError) as fault:
        return _refused(Path(os.fsdecode(home)), fault)
    return wire.EXIT_DONE


def _ended(home: Path, kind: type[BaseException], fault: BaseException, trace: TracebackType | None) -> None:
    """In place of the interpreter's own words: this process's standard error leads nowhere. Who was interrupted refused nothing."""
    if issubclass(kind, KeyboardInterrupt):
        return
    log.error("the daemon has ended", exc_info=(kind, fault, trace))
    _refused(home, errors.Fault("start"))


def _refused(home: Path, fault: errors.MemdError | OSError) -> int:
    """Says why this home is not served, to whoever waits and to hooks, which then do not start the next at once; the exit code.

    A name without a word takes no room: on a full disk it says that there is a reason, and the client looks at the disk.
    """
    refusal = fault if isinstance(fault, errors.MemdError) else fs.typed(fault.errno or 0, str(fault), home)
    log.error("%s", refusal)
    mark = home / "run" / REFUSED
    try:
        _write(mark, str(refusal).encode())
    except OSError:
        with contextlib.suppress(OSError):
            mark.touch(mode=0o600)
    with contextlib.suppress(OSError):
        (home / "run" / STARTING).unlink()  # nobody is: who asks now is told of the disk as it is now
    with contextlib.suppress(OSError):
        sys.stderr.write(f"memd: {refusal}\n")
    return wire.EXIT_REFUSED


def run(home: Path, opened: Callable[[Path], Daemon] = Daemon.open) -> None:
    """Serves ``home`` with what ``opened`` makes of it. Raises AlreadyRunning, and what the store refuses."""
    _close_home(home)
    for name in FILES:
        _make_way(home / name)
    held = holder.take(home)
    keep_heap_small()
    _take_descriptors()
    try:
        _log_to(home / "logs" / "daemon.log")
        threading.excepthook = _thread_ended
        ended.listen(home)
        if held.ended:
            log.warning("the daemon before this one (pid %d) did not answer, and was ended", held.ended)
        daemon = opened(home)
        with main_thread.heeding() as bell:  # until all is closed: who asks it to leave mostly says so twice
            try:
                _serve(home, daemon, held.door, bell)
            finally:
                with _bounded(limits.LEAVE_MAX_S):
                    daemon.close()
    finally:
        _forget_address(home)
        held.free()


@contextlib.contextmanager
def _bounded(seconds: float) -> Iterator[None]:
    """Ends the process where the block takes longer: one that hangs at its end would keep the home from the next daemon."""
    end = threading.Timer(seconds, os._exit, (wire.EXIT_REFUSED,))
    end.daemon = True
    end.start()
    try:
        yield
    finally:
        end.cancel()


def _take_descriptors() -> None:
    """As many open files as the system allows: at the last one libzmq ends the process, whoever opened the connections."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = limits.DESCRIPTORS_MAX if hard == resource.RLIM_INFINITY else min(hard, limits.DESCRIPTORS_MAX)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


def _close_home(home: Path) -> None:
    """The home and what memd keeps in it, closed to everybody else, also where it stood open before. Raises FolderUnsafe."""
    fs.make_own(home, may_be_link=True)
    for name in MADE_AT_START:
        fs.make_own(home / name)
    for name in MADE_LATER:
        with contextlib.suppress(FileNotFoundError):
            fs.close_to_others(home / name)


def _make_way(path: Path) -> None:
    """Moves a folder aside that stands in the place of a file: no daemon could start again. Nothing of it is lost."""
    if path.is_dir() and not path.is_symlink():
        path.rename(path.with_name(f"{path.name}.aside.{time.time_ns()}"))


def _log_to(path: Path) -> None:
    """One JSON object a line, rotated; never a text that a user typed."""
    handler = logging.handlers.RotatingFileHandler(
        path, maxBytes=limits.LOG_FILE_MAX_BYTES, backupCount=limits.LOG_FILES_KEPT, encoding="utf-8"
    )
    handler.setFormatter(_JsonLines())
    root = logging.getLogger("memd")
    root.handlers = [handler]
    root.setLevel(logging.INFO)
    root.propagate = False


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        told = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "from": record.name,
            "say": record.getMessage(),
        }
        if record.exc_info and record.exc_info[0]:
            told["trace"] = _trace(record)
        return json.dumps(told, ensure_ascii=False)


def _trace(record: logging.LogRecord) -> str:
    """Kind of the error and the places it came through; not its words, which may quote what a user typed."""
    kind, _, trace = record.exc_info or (None, None, None)
    places = []
    while trace is not None:
        code = trace.tb_frame.f_code
        places.append(f"{Path(code.co_filename).name}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return f"{kind.__name__ if kind else '?'} at " + " > ".join(places)


def _thread_ended(ended: threading.ExceptHookArgs) -> None:
    """The daemon's own standard error leads nowhere, and a thread that is missed is looked for in the log."""
    name = ended.thread.name if ended.thread else "?"
    if ended.exc_value is not None:
        log.error("the thread %s has ended", name, exc_info=ended.exc_value)


def socket_path(home: Path) -> str:
    """`run/memd.sock`, or one in a short private directory where that is too long for a socket address, or no one line.

    Raises SocketFolderUnsafe where none of the places that there are for one will do.
    """
    wanted = str(home / "run" / "memd.sock")
    if _fits(wanted):
        return wanted
    name = f"memd-{os.getuid()}-{hashlib.sha256(os.fsencode(home)).hexdigest()[: limits.SHORT_NAME_CHARS]}"
    folders = [above / name for above in _short_places() if _fits(str(above / name / "memd.sock"))]
    for folder in folders:
        if _is_private(folder):
            return str(folder / "memd.sock")
    raise errors.SocketFolderUnsafe(folders[-1])


def _leave_short_place(home: Path, path: str) -> None:
    """Takes the short directory away, before the next daemon can make it again."""
    folder = Path(path).parent
    if folder != home / "run":
        with contextlib.suppress(OSError):  # somebody else's file in it
            folder.rmdir()


def _fits(path: str) -> bool:
    return len(os.fsencode(path)) <= limits.SOCKET_PATH_MAX_BYTES and "\n" not in path


def _short_places() -> Iterator[Path]:
    """Where sockets go, the best place first. XDG_RUNTIME_DIR may be another user's (su keeps it), gone, or itself too long."""
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR") or "nowhere")
    with contextlib.suppress(OSError):
        if runtime.is_absolute() and runtime.stat().st_uid == os.getuid():
            yield runtime
    import tempfile  # seldom asked for, and no start waits for it

    yield from (Path(tempfile.gettempdir()), Path(limits.SHORT_PLACE))


def _is_private(folder: Path) -> bool:
    """Whether there is such a folder by now, of this user alone."""
    try:
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=PRIVATE_DIRECTORY)
        owner = folder.lstat()
    except OSError:
        return False
    return owner.st_uid == os.getuid() and not owner.st_mode & PRIVATE_MASK and stat.S_ISDIR(owner.st_mode)


Stamp = tuple[int, int]
"""Device and inode: which file it is, whatever its name."""


def _serve(home: Path, daemon: Daemon, lock: int, bell: Bell) -> None:
    leaving = threading.Event()
    bound: Stamp | None = None

    def leave() -> None:
        """From here on nobody finds this daemon. Safe to call from any thread."""
        leaving.set()
        _forget_address(home)
        bell.ring()

    server = Server(daemon.handlers(leave), daemon.hook, daemon.receipt, daemon.mcp.take, daemon.parts.underway)
    path = socket_path(home)
    try:
        Path(path).unlink(missing_ok=True)
        server.bind(path)
        Path(path).chmod(0o600)
        bound = _stamp(path)
        door = _door(home, path, lock, leaving, leave)  # as it stands before anybody can take it away
        _tell_address(home, path)
        log.info("serving, version %s", __version__)  # before anything is answered: who was, finds it in the log
        server.begin(leave)
        daemon.begin()
        idle = partial(_look_at_idle, server, daemon.idle_exit_s, leave)
        main_thread.attend(bell, leaving, leave, (idle, partial(_look_at_store, daemon, leave), door))
        server.finish()
        log.info("stopping")
    finally:
        _forget_address(home)
        if bound is not None and _stamp(path) == bound:  # else it is a successor's
            with contextlib.suppress(OSError):  # as with the address
                Path(path).unlink()
            _leave_short_place(home, path)
        server.close()


def _look_at_idle(server: Server, idle_exit_s: Callable[[], int], leave: Callable[[], None]) -> float | None:
    """Ends the daemon after `idle_exit_hours` without a session; looks seldom, so that idling costs nothing."""
    allowed = idle_exit_s()
    left = allowed - (time.monotonic() - server.served_at)
    if left <= 0:
        log.info("idle for %d s", allowed)
        leave()
        return None
    return min(left, limits.IDLE_LOOK_S)


def _look_at_store(daemon: Daemon, leave: Callable[[], None]) -> float | None:
    """Goes where the store's file was deleted, moved or exchanged: what is written to it is nobody's any more."""
    if daemon.parts.store.in_place():
        return limits.DOOR_LOOK_S
    log.warning("the store was taken away")
    leave()
    return None


def _door(home: Path, path: str, lock: int, leaving: threading.Event, leave: Callable[[], None]) -> main_thread.Look:
    """Keeps this daemon findable, since one that holds the lock and that nobody finds keeps memd from this person for hours.

    An address that is gone or no longer this one's is written again. Without its socket, or where the lock's name leads to another
    file or none, so that a second daemon may serve this home, it goes.
    """
    bound, held, line = _stamp(path), _stamp(lock), _address_line(path)

    def look() -> float | None:
        if leaving.is_set():
            return None
        if _stamp(path) != bound or _stamp(home / holder.DOOR) != held:
            log.warning("the socket or the lock was taken away")
            leave()
            return None
        if address.read_file(address.path(os.fsencode(home))) != line:
            with contextlib.suppress(OSError):  # it is tried again
                _write(home / "run" / "address", line)
                log.warning("the address was taken away, and stands again")
            if leaving.is_set():
                _forget_address(home)
        return limits.DOOR_LOOK_S

    return look


def _stamp(file: str | Path | int) -> Stamp | None:
    """Which file this is, a link itself; None for none."""
    try:
        found = os.fstat(file) if isinstance(file, int) else os.lstat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _address_line(path: str) -> bytes:
    pid = os.getpid()
    return address.encode(address.Address(wire.PROTOCOL, pid, address.process_start(pid) or 0, os.fsencode(path)))


def _tell_address(home: Path, path: str) -> None:
    _write(home / "run" / "address", _address_line(path))
    told = {
        "pid": os.getpid(),
        "started_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "socket": path,
        "version": __version__,
        "protocol": wire.PROTOCOL.decode(),
    }
    _write(home / "run" / "status.json", json.dumps(told, indent=2).encode() + b"\n")
    for name in MARKS:
        (home / "run" / name).unlink(missing_ok=True)


def _write(path: Path, content: bytes) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(content)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
    _make_way(path)
    draft.replace(path)


def _forget_address(home: Path) -> None:
    """Removes the address if it is this process's own: a successor's must stand."""
    known = address.read(os.fsencode(home))
    if known is not None and known.pid == os.getpid():
        for name in ("address", "status.json"):
            with contextlib.suppress(OSError):  # one that stays names a process that is gone, and is passed over
                (home / "run" / name).unlink()
