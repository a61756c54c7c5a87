"""Carry a hook's stdin to the daemon and the answer's bytes to stdout. Shared by the five scripts, and all they do.

Promise, whatever happens (no daemon, a wedged or dying one, garbage on stdin, no HOME, a full disk): exit 0, nothing on
stderr, on stdout the whole answer of the daemon or nothing, and back within the deadline of wire.py. Nothing is parsed,
nothing is logged, and of the environment only the names in wire.py are sent on.

1. `MEMD_OFF` set to anything but `0`, an event that is not the script's, no home: done.
2. A repeating timer is armed that ends the process with 0 at its deadline, wherever it hangs.
3. stdin is read to its end (not by git-commit: git gives it a terminal), bounded by wire.STDIN_MAX_BYTES.
4. The call goes to the daemon. On an answer: stdout is written whole, then the receipt is sent and not waited for.
5. Without an answer: what must not be lost is written to the spool; a missed deadline opens the breaker
   (`run/unreachable-until`); where there is no daemon one is started, unless it was stopped on purpose (`run/stopped`,
   which only a session start overrides). Session start and subagent start then wait for it, the others end.

The exit is always 0, also if a daemon asked for another: in a harness that is a refused tool or an erased prompt.
`MEMD_PROBE=1` marks the call as a probe.

Imports: posix, _socket (through zmtp), time, and sys and _signal, which every interpreter has loaded before its first
line. The signal is there because reading without a bound in time would need O_NONBLOCK on a descriptor shared with the
harness, and because nothing else ends a process that hangs in a write.
"""

import _signal  # type: ignore[import-not-found]  # pyright: ignore[reportMissingImports] -- no stub has it
import posix
import sys
import time

from memd_client import address, link, wire

_NS_PER_MS = 1_000_000
_NS_PER_S = 1_000_000_000


class _Clock:
    """The process's deadlines in CLOCK_MONOTONIC ns, all counted from one start, and the timer that enforces the last."""

    def __init__(self) -> None:
        self._start_ns = time.monotonic_ns()
        self.answer_ns = 0

    def allow(self, deadline_ms: int) -> None:
        """Let the process live until `deadline_ms` after its start, and wait for an answer until a little before."""
        end_ns = self._start_ns + deadline_ms * _NS_PER_MS
        self.answer_ns = end_ns - wire.RESERVE_MS * _NS_PER_MS
        left_s = max(end_ns - time.monotonic_ns(), 1) / _NS_PER_S
        _signal.setitimer(_signal.ITIMER_REAL, left_s, wire.TICK_MS / 1_000)


def main(events: tuple[str, ...], *, reads_stdin: bool = True) -> None:
    """Carry one call of a script that takes `events`; argv is EVENT HARNESS. Never returns."""
    try:
        _run(events, reads_stdin)
    finally:
        posix._exit(0)  # no traceback, no exit code, and none of the interpreter's own end


def _run(events: tuple[str, ...], reads_stdin: bool) -> None:
    clock = _Clock()
    environ = posix.environ
    home = address.home(environ)
    if environ.get(b"MEMD_OFF", b"0") not in (b"", b"0") or home is None:
        return
    if len(sys.argv) < 3 or sys.argv[1] not in events:
        return
    _keep_stdio_apart()
    event = sys.argv[1]
    _signal.signal(_signal.SIGALRM, _end)
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, (_signal.SIGALRM,))
    clock.allow(_deadline_ms(home, event))
    stdin = _read_stdin() if reads_stdin else b""
    if stdin is None:
        return
    hook = wire.Hook(
        posix.urandom(wire.REQUEST_ID_BYTES),
        clock.answer_ns,
        wire.PROBE if environ.get(b"MEMD_PROBE") == b"1" else 0,
        sys.argv[2],
        event,
        _cwd(),
        wire.environment_lines(environ),
        stdin,
    )
    outcome = _carry(home, hook)
    if outcome is None or not _owns(home):
        return
    _fall_back(home, hook, outcome)
    if isinstance(outcome, link.Unreachable) and _may_start(home, event):
        _start(home, hook, clock)


def _end(*_: object) -> None:
    posix._exit(0)


def _keep_stdio_apart() -> None:
    """Fill closed descriptors below 3: else a socket opened here could become the stdout that the answer is written to."""
    descriptor = posix.open("/dev/null", posix.O_RDWR)
    while descriptor < 3:
        descriptor = posix.open("/dev/null", posix.O_RDWR)
    posix.close(descriptor)


def _deadline_ms(home: bytes, event: str) -> int:
    if event != wire.SESSION_START and _breaker_is_open(home):
        return wire.BREAKER_DEADLINE_MS
    return wire.HOOK_DEADLINE_MS


def _read_stdin() -> bytes | None:
    """All of stdin; None when it is over its bound or can't be read."""
    chunks, size = [], 0
    try:
        while chunk := posix.read(0, wire.READ_BYTES):
            size += len(chunk)
            # What is over the bound is read and dropped: a harness that writes on must not meet a closed pipe.
            if size <= wire.STDIN_MAX_BYTES:
                chunks.append(chunk)
    except OSError:
        return None
    return b"".join(chunks) if size <= wire.STDIN_MAX_BYTES else None


def _cwd() -> bytes:
    try:
        return posix.getcwdb()
    except OSError:  # the directory is gone
        return b""


def _carry(home: bytes, hook: wire.Hook) -> link.Outcome | None:
    """Ask the daemon and write out its answer. None when it was answered, else what came instead."""
    found = address.read(home)
    if found is None:
        return link.Unreachable("no address")
    opened = link.open(found, hook.deadline_ns)
    if not isinstance(opened, link.Link):
        return opened
    outcome = opened.ask(wire.hook_request(hook), hook.deadline_ns)
    if not isinstance(outcome, wire.Reply):
        return outcome
    if outcome.status == wire.STOPPING:
        return link.Unreachable("the daemon is stopping")
    if outcome.status != wire.DONE or len(outcome.body) < 3:
        return outcome
    exit_code, stdout = outcome.body[:2]
    # The deadline of a frame that goes into a socket's buffer is only a formality, but it must lie ahead.
    if exit_code == b"0" and len(stdout) <= wire.STDOUT_MAX_BYTES and _write_stdout(stdout):
        opened.tell(wire.request(wire.RECEIPT, hook.request_id), hook.deadline_ns + wire.RESERVE_MS * _NS_PER_MS)
    return None


def _write_stdout(stdout: bytes) -> bool:
    """Write all of it; whether that worked."""
    rest = memoryview(stdout)
    try:
        while rest:
            rest = rest[posix.write(1, rest) :]
    except OSError:
        return False
    return True


def _owns(home: bytes) -> bool:
    """Whether the home exists and is this user's: a root shell that kept HOME must leave nothing in it."""
    try:
        return posix.stat(home).st_uid == posix.geteuid()
    except OSError:
        return False


def _fall_back(home: bytes, hook: wire.Hook, outcome: link.Outcome) -> None:
    """Keep what must not be lost, and remember a missed deadline. A home that can't be written is left as it is."""
    try:
        is_empty = not hook.stdin and hook.event != wire.GIT_COMMIT
        if hook.event in wire.SPOOLED_EVENTS and not hook.is_probe and not is_empty:
            _spool(home, hook)
        if isinstance(outcome, link.Late):
            _open_breaker(home)
    except OSError:
        return


def _spool(home: bytes, hook: wire.Hook) -> None:
    """Write the call into the spool, whole or not at all. Raises OSError."""
    directory = home + b"/spool"
    _make_directory(directory)
    at_ns = time.time_ns()
    content = wire.encode_spool(wire.Spooled(hook, at_ns))
    if _size(directory) + len(content) > wire.SPOOL_MAX_BYTES:
        return
    name = wire.spool_name(hook.request_id, at_ns)
    draft = directory + b"/." + name
    try:
        descriptor = _write_file(draft, content, posix.O_EXCL)
    except OSError:
        posix.unlink(draft)  # the disk is full: what is half there would only fill it further
        raise
    # The name first: a slow disk may hold the next call beyond the deadline, and the bytes are readable from here on.
    posix.rename(draft, directory + b"/" + name)
    posix.fsync(descriptor)


def _size(directory: bytes) -> int:
    with posix.scandir(directory) as files:
        return sum(file.stat(follow_symlinks=False).st_size for file in files)


def _make_directory(directory: bytes) -> None:
    try:
        posix.mkdir(directory, 0o700)
    except FileExistsError:
        return


def _may_start(home: bytes, event: str) -> bool:
    return event == wire.SESSION_START or not posix.access(home + b"/run/stopped", posix.F_OK)


def _start(home: bytes, hook: wire.Hook, clock: _Clock) -> None:
    """Start a daemon; with an event that carries the rules, also wait for it and ask again under the same request id."""
    from memd_client import spawn  # here, since a hook that is answered has no use for it

    if not spawn.start(home) or hook.event not in wire.WAITING_EVENTS:
        return
    clock.allow(wire.STARTING_DEADLINE_MS)
    hook.deadline_ns = clock.answer_ns
    while isinstance(_carry(home, hook), link.Unreachable) and spawn.start(home):
        time.sleep(wire.POLL_MS / 1_000)


def _breaker_path(home: bytes) -> bytes:
    return home + b"/run/unreachable-until"


def _breaker_is_open(home: bytes) -> bool:
    until = address.read_file(_breaker_path(home))
    if until is None or not until.isdigit() or len(until) > wire.DECIMAL_MAX_BYTES:
        return False
    # The clock starts again at every boot: a time further ahead than this breaker ever reaches is from before.
    return 0 < int(until) - time.monotonic_ns() <= wire.BREAKER_S * _NS_PER_S


def _open_breaker(home: bytes) -> None:
    """Open it for BREAKER_S, unless it is open: a daemon that is only slow must get its full time again. Raises OSError."""
    if not _breaker_is_open(home):
        until_ns = time.monotonic_ns() + wire.BREAKER_S * _NS_PER_S
        posix.close(_write_file(_breaker_path(home), b"%d" % until_ns, posix.O_TRUNC))


def _write_file(file: bytes, content: bytes, flags: int) -> int:
    """Write `content` to a file of mode 0600 and give its open descriptor, which the end of the process closes.

    Raises OSError.
    """
    descriptor = posix.open(file, posix.O_WRONLY | posix.O_CREAT | posix.O_CLOEXEC | flags, 0o600)
    rest = memoryview(content)
    while rest:
        rest = rest[posix.write(descriptor, rest) :]
    return descriptor
