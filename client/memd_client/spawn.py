"""Start the daemon of a home, and wait until it ANSWERS (never: until a pid lives).

What is started is `<home>/bin/memd-daemon`, a short /bin/sh launcher that names the interpreter; install, or a command
that starts a daemon, writes it (`write_launcher`), hooks only run it. It is run only when it belongs to the user who asks:
a root shell that kept HOME must not. Of two installed versions the newer one's stays: else an older command would have the
next hook start an older daemon, and the two would replace each other in turns.

**Start lock.** `<home>/run/starting`, created exclusively by who starts; the daemon removes it once its address is
written. It saves the processes that thirty hooks at once would start; that there is one daemon is the daemon's own
lock's business. A lock older than START_LOCK_S (by its mtime) or from the future is void, so a daemon that dies at its
start is tried again then and not at every hook.

**Wedged.** A daemon that was asked and was late is left to a successor, which is started all the same (`replaces`): it asks
again, with time, and leaves again where it is answered (memd_daemon.holder). Nobody here ends a process.

**Refused.** A daemon that cannot serve its home (a damaged store, a full disk) leaves the sentence that says why in
`<home>/run/refused`, which the next start removes; who waits for the daemon then waits no longer.

**Detached fully**: own session, working directory `/`, stdio on /dev/null, no other descriptor, default signals,
adopted by init (the shell in between ends at once), and an environment of ENVIRONMENT_NAMES alone: a hook is given the
client's API keys.

Imports nothing that a hook does not have anyway: carry imports this module when it found no daemon.
"""

import _signal  # type: ignore[import-not-found]  # pyright: ignore[reportMissingImports] -- no stub has it
import posix
import sys
import time

from memd_client import __version__, link, wire
from memd_client import address as _address
from memd_client.address import Address

START_LOCK_S = 3  # a daemon is ready in under 0.3 s; ten times that on a machine under load
EROFS = 30  # on Linux and macOS; errno is not worth its import here
DISK_FULL_BYTES = 64 * 1024  # what a daemon needs to say where it is, and its log's next lines
PING_MS = 250  # how long one ping may take before the address is read again
# A fresh daemon answers at its predecessor's socket a moment before it has written its own address. Where it never comes to
# look alive, it lives in another PID namespace.
SETTLE_MS = 250
ENVIRONMENT_NAMES = (b"HOME", b"PATH", b"LANG", b"TZ", b"XDG_RUNTIME_DIR", b"USER", b"LOGNAME", b"TMPDIR")
LOCALE_PREFIX = b"LC_"
# The subshell is adopted by init and becomes the daemon; the shell that made it ends at once and can be waited for.
MADE_BY = b"# memd "  # in front of the version, in the launcher's second line
EXEC, DAEMON = b"exec ", b" -I -m memd_daemon"
DETACH = b'(cd / && exec "$0") &'


class StartFailed(Exception):
    """The daemon did not answer in time. `memd logs` shows what it said; `memd doctor` looks for the cause."""


class StartRefused(StartFailed):
    """The daemon said why it does not serve this home: that is the message."""


class DaemonMismatch(Exception):
    """A daemon of another version of memd answers. `memd restart` replaces it."""

    def __init__(self, mismatch: link.Mismatch) -> None:
        super().__init__(self.__doc__)
        self.mismatch = mismatch


def launcher_path(home: bytes) -> bytes:
    """The program that starts the daemon of `home`."""
    return home + b"/bin/memd-daemon"


def launcher_text(home: bytes, python: bytes) -> bytes:
    """The launcher's content. A MEMD_HOME in the environment goes before the one written down: the folder may have been moved."""
    return b'#!/bin/sh\n%b%b\n[ -n "$MEMD_HOME" ] || MEMD_HOME=%b\nexport MEMD_HOME\n%b%b%b\n' % (
        MADE_BY,
        __version__.encode(),
        _quoted(home),
        EXEC,
        _quoted(python),
        DAEMON,
    )


def version_order(version: bytes) -> tuple[int, ...]:
    """Versions in their order; what is no number counts as 0, so that an unreadable version is an old one."""
    return tuple(int(part) if part.isdigit() else 0 for part in version.split(b"."))


def write_launcher(home: bytes, python: bytes | None = None, *, yields: bool = False) -> None:
    """Write the launcher for `python` (default: the running interpreter) and the directories above it.

    Does nothing where it is as it should be, with `yields` also where it is that of a newer memd that is still there.
    Raises OSError.
    """
    text = launcher_text(home, python or sys.executable.encode(sys.getfilesystemencoding(), "surrogateescape"))
    target = launcher_path(home)
    stands = _address.read_file(target)
    if stands == text or (yields and stands and _is_newer(stands)):
        return
    _make_directories(home)
    draft = target + b".%d" % posix.getpid()
    descriptor = posix.open(draft, posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC | posix.O_CLOEXEC, 0o700)
    try:
        posix.write(descriptor, text)
        posix.fsync(
            descriptor
        )  # a power cut would leave an empty one: it starts nothing, says nothing and looks like one
    finally:
        posix.close(descriptor)
    posix.rename(draft, target)


def _is_newer(launcher: bytes) -> bool:
    """Whether a later version wrote this launcher, and what it names can be run."""
    lines = launcher.split(b"\n")
    made_by, runs = (lines[1], lines[-2]) if len(lines) > 3 else (b"", b"")
    if not made_by.startswith(MADE_BY) or not runs.startswith(EXEC) or not runs.endswith(DAEMON):
        return False
    python = runs[len(EXEC) + 1 : -len(DAEMON) - 1].replace(b"'\\''", b"'")
    is_later = version_order(made_by[len(MADE_BY) :]) > version_order(__version__.encode())
    return is_later and posix.access(python, posix.X_OK)


def start(home: bytes, *, replaces: bool = False) -> bool:
    """Start the daemon of `home` unless somebody is just doing so; whether one is starting.

    Where the one that announced itself lives there is nothing to start; with `replaces`, which says that it did not answer,
    its successor is. Does not wait for it; raises nothing.
    """
    try:
        if not _may_run(launcher_path(home)):
            return False
        if _take_start_lock(home):
            _launch_or_yield(home, replaces)
    except OSError:
        return False
    return True


def ensure_daemon(home: bytes, wait_s: float) -> Address:
    """The address of a daemon that has just answered a ping; started first when there is none, or one that is wedged.

    Blocks for at most about `wait_s` seconds. A deliberate stop is the caller's to respect. Raises StartFailed,
    DaemonMismatch, and OSError when the home can't be written.
    """
    end_ns = time.monotonic_ns() + int(wait_s * 1e9)
    settled_ns = 0
    has_asked = False
    while True:
        found = _address.read(home)
        outcome = _ping(found, end_ns) if found else None
        if found and isinstance(outcome, link.Reply) and outcome.status == wire.DONE:
            settled_ns = settled_ns or time.monotonic_ns() + SETTLE_MS * 1_000_000
            if _address.is_alive(found) or time.monotonic_ns() >= settled_ns:
                return found
        if isinstance(outcome, link.Mismatch):
            raise DaemonMismatch(outcome)
        refused = refusal(home) if has_asked else None
        if refused is not None:
            raise StartRefused(refused)
        if time.monotonic_ns() >= end_ns:
            raise StartFailed(StartFailed.__doc__)
        if is_read_only(home):  # a daemon could not even say that it cannot serve
            raise OSError(EROFS, "read-only file system")
        if not isinstance(outcome, link.Reply):
            has_asked = _begin(home, has_asked, isinstance(outcome, link.Late))
        time.sleep(wire.POLL_MS / 1_000)


def _begin(home: bytes, has_begun: bool, replaces: bool) -> bool:
    # One without its site-packages, as `bin/mcp` starts the carrier in, cannot run the daemon.
    if not has_begun and not sys.flags.no_site:
        write_launcher(home, yields=True)
    return start(home, replaces=replaces)


def refusal(home: bytes) -> str | None:
    """Why the last daemon did not serve `home`; None where none refused to."""
    said = _address.read_file(_refusal_path(home))
    return None if said is None else said.decode("utf-8", "replace") or _unsaid(home)


def _unsaid(home: bytes) -> str:
    """What to tell where the daemon had no room to say why it does not serve this home."""
    if is_full(home):
        return f"The disk of {home.decode('utf-8', 'replace')} is full: free some space and say it again."
    return StartFailed.__doc__ or ""


def is_read_only(home: bytes) -> bool:
    """Whether `home` lies on a file system that nothing can be written to."""
    try:
        return bool(posix.statvfs(home).f_flag & posix.ST_RDONLY)
    except OSError:
        return False


def is_full(home: bytes) -> bool:
    """Whether the disk that `home` lies on has hardly a page left for this user."""
    try:
        disk = posix.statvfs(home)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < DISK_FULL_BYTES


def _ping(found: Address, end_ns: int) -> link.Outcome:
    deadline_ns = min(end_ns, time.monotonic_ns() + PING_MS * 1_000_000)
    return link.request(found, wire.request(wire.PING, wire.EMPTY_BODY), deadline_ns)


def _take_start_lock(home: bytes) -> bool:
    lock = _lock_path(home)
    _make_directory(home + b"/run")
    for _ in range(2):
        try:
            posix.close(posix.open(lock, posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_CLOEXEC, 0o600))
        except FileExistsError:
            if not _is_void(lock):
                return False
            _remove(lock)
        else:
            return True
    return False


def end_start(home: bytes) -> None:
    """Free the start lock: for a daemon that was started and finds its home served."""
    try:
        posix.unlink(_lock_path(home))
    except OSError:
        return


def _lock_path(home: bytes) -> bytes:
    return home + b"/run/starting"


def _refusal_path(home: bytes) -> bytes:
    return home + b"/run/refused"


def _is_void(lock: bytes) -> bool:
    try:
        age_s = time.time() - posix.stat(lock).st_mtime
    except FileNotFoundError:
        return True
    return not -1 <= age_s <= START_LOCK_S


def _launch_or_yield(home: bytes, replaces: bool) -> None:
    # Behind the lock the address is read again: a daemon that was starting removes the lock after it wrote the address,
    # and one that is about to end must be let end first.
    found = _address.read(home)
    if found and not replaces and _address.is_alive(found):
        _remove(_lock_path(home))
    else:
        _launch(home)


def _launch(home: bytes) -> None:
    environ = {
        name: value
        for name, value in posix.environ.items()
        if name in ENVIRONMENT_NAMES or name.startswith(LOCALE_PREFIX)
    }
    environ[b"MEMD_HOME"] = home
    _remove(_refusal_path(home))
    pid = posix.posix_spawn(
        b"/bin/sh",
        [b"/bin/sh", b"-c", DETACH, launcher_path(home)],
        environ,
        file_actions=_descriptors(),
        setsid=True,
        setsigmask=(),
        setsigdef=_signal.valid_signals() - {_signal.SIGKILL, _signal.SIGSTOP},  # also what the client ignores
    )
    try:
        posix.waitpid(pid, 0)
    except ChildProcessError:  # whoever started this process has it ignore SIGCHLD: the system reaps
        return


def _descriptors() -> list[tuple[int, ...] | tuple[int, int, bytes, int, int]]:
    null = [(posix.POSIX_SPAWN_OPEN, n, b"/dev/null", posix.O_RDWR, 0) for n in range(3)]
    return [*null, *((posix.POSIX_SPAWN_CLOSE, n) for n in _open_descriptors() if n > 2)]


def _open_descriptors() -> list[int]:
    try:
        return [int(name) for name in posix.listdir("/dev/fd")]
    except OSError:  # no such directory: what an ordinary parent may have left open
        return list(range(3, 256))


def _may_run(program: bytes) -> bool:
    status = posix.stat(program)
    return status.st_uid == posix.geteuid() and posix.access(program, posix.X_OK)


def _make_directories(home: bytes) -> None:
    at = home.find(b"/", 1)
    while at > 0:
        _make_directory(home[:at])
        at = home.find(b"/", at + 1)
    for directory in (home, home + b"/bin"):
        _make_directory(directory)


def _make_directory(directory: bytes) -> None:
    try:
        posix.mkdir(directory, 0o700)
    except FileExistsError:
        return


def _remove(file: bytes) -> None:
    """Takes the file away, and a folder in its place aside, or nothing could be started any more. Raises OSError."""
    try:
        posix.unlink(file)
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):  # the one on Linux, the other on macOS
        posix.rename(file, file + b".aside.%d" % time.time_ns())


def _quoted(text: bytes) -> bytes:
    """`text` as one word of a shell, whatever is in it (shlex is not worth its import here)."""
    return b"'" + text.replace(b"'", b"'\\''") + b"'"
