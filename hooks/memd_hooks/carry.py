"""Carry a hook's stdin to the daemon and the answer's bytes to stdout. Shared by the five scripts, and all they do.

Promise, whatever happens (no daemon, a wedged or dying one, garbage on stdin, no HOME, a full disk): exit 0, nothing on
stderr, on stdout the whole answer of the daemon or nothing, and back within the deadline of wire.py. Nothing is parsed,
nothing is logged, and of the environment only the names in wire.py are sent on.

1. `MEMD_OFF` set to anything but `0`, an event that is not the script's, no home: done.
2. A repeating timer is armed that gets the process out of wherever it hangs at its deadline. The one thing that may outlast
   it, by wire.KEEP_MS at most, is the write of a prompt that would be lost otherwise.
3. stdin is read to its end (not by git-commit: git gives it a terminal), bounded by wire.STDIN_MAX_BYTES. What waits in it at the
   deadline is taken all the same, for the spool: a process that was given no processor for so long loses no prompt.
4. The call goes to the daemon. On an answer: stdout is written whole, then the receipt is sent and not waited for.
5. Without an answer: what must not be lost is written to the spool. A missed deadline opens the breaker
   (`run/unreachable-until`), and who opens it starts a successor, which finds out whether the daemon is wedged. Where there is
   no daemon one is started, unless it was stopped on purpose (`run/stopped`, which only a session start overrides). Session
   start and subagent start then wait for it, the others end.

The exit is always 0, also if a daemon asked for another: in a harness that is a refused tool or an erased prompt.
`MEMD_PROBE=1` marks the call as a probe.

Imports: posix, _socket (through zmtp), time, and sys and _signal, which every interpreter has loaded before its first
line. The signal is there because reading without a bound in time would need O_NONBLOCK on a descriptor shared with the
harness, and because nothing else ends a process that hangs in a write.
"""

import _signal  # type: ignore[import-not-found]  # pyright: ignore[reportMissingImports] -- no stub has it
import _socket
import posix
import sys
import time

from memd_client import address, link, wire

_NS_PER_MS = 1_000_000
_NS_PER_S = 1_000_000_000
_KIND, _FILE, _SOCKET = 0o170000, 0o100000, 0o140000  # of a file's mode, as every system has them


class _Clock:
    """The process's deadlines in CLOCK_MONOTONIC ns, all counted from one start, and the timer that enforces them.

    At the deadline it raises TimeoutError once, wherever the process hangs; after that, and KEEP_MS later, it ends the process.
    """

    def __init__(self) -> None:
        self._start_ns = time.monotonic_ns()
        self._last_ns = 0
        self._may_raise = False
        self.answer_ns = 0

    def allow(self, deadline_ms: int) -> None:
        """Set the deadline, counted from the start; an answer is waited for until a little before."""
        end_ns = self._start_ns + deadline_ms * _NS_PER_MS
        self.answer_ns = end_ns - wire.RESERVE_MS * _NS_PER_MS
        self._last_ns = end_ns + wire.KEEP_MS * _NS_PER_MS
        self._may_raise = True
        _signal.signal(_signal.SIGALRM, self._ring)
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, (_signal.SIGALRM,))  # a mask is inherited
        left_s = max(end_ns - time.monotonic_ns(), 1) / _NS_PER_S
        _signal.setitimer(_signal.ITIMER_REAL, left_s, wire.TICK_MS / 1_000)

    def keep(self) -> None:
        """From here on nobody is waited for, and what is left to do must not be torn: raise no more.

        KEEP_MS count from here: a process that was given no processor for long has its work still before it.
        """
        self._may_raise = False
        self._last_ns = max(self._last_ns, time.monotonic_ns() + wire.KEEP_MS * _NS_PER_MS)

    def _ring(self, *_: object) -> None:
        if self._may_raise:
            self._may_raise = False
            raise TimeoutError
        if time.monotonic_ns() >= self._last_ns:
            posix._exit(0)


def main(events: tuple[str, ...], *, reads_stdin: bool = True) -> None:
    """Carry one call of a script that takes `events`; argv is EVENT HARNESS. Never returns."""
    try:
        _run(events, reads_stdin)
    finally:
        posix._exit(0)  # no traceback, no exit code, and none of the interpreter's own end


class _Unasked:
    """What comes of a call whose stdin had no end: the daemon was not asked."""


def _run(events: tuple[str, ...], reads_stdin: bool) -> None:
    clock = _Clock()
    environ = posix.environ
    home = address.home(environ)
    if environ.get(b"MEMD_OFF", b"0") not in (b"", b"0") or home is None:
        return
    if len(sys.argv) < 3 or sys.argv[1] not in events:
        return
    _keep_stdio_apart()
    hook = _hook(environ, sys.argv[1], sys.argv[2])
    outcome: link.Outcome | _Unasked | None = _Unasked()
    taken: list[bytearray] = []
    try:
        clock.allow(_deadline_ms(home, hook.event, hook.is_probe))
        outcome = _call(home, hook, clock, taken if reads_stdin else None)
        clock.keep()
    except TimeoutError:  # the clock's, wherever it found this process
        clock.keep()
    if reads_stdin and not hook.stdin:
        _keep_stdin(hook, taken)
    if outcome is None or not _owns(home):
        return
    _spool(home, hook)
    if isinstance(outcome, link.Late) and not hook.is_probe and _open_breaker(home):
        _start_successor(home)
    if isinstance(outcome, link.Unreachable) and _may_start(home, hook.event):
        _start(home, hook, clock)


def _hook(environ: dict[bytes, bytes], event: str, harness: str) -> wire.Hook:
    """The call, all but its deadline and its stdin."""
    flags = wire.PROBE if environ.get(b"MEMD_PROBE") == b"1" else 0
    request_id = posix.urandom(wire.REQUEST_ID_BYTES)
    return wire.Hook(request_id, 0, flags, harness, event, _cwd(), wire.environment_lines(environ), b"")


def _call(home: bytes, hook: wire.Hook, clock: _Clock, taken: list[bytearray] | None) -> link.Outcome | _Unasked | None:
    """Read stdin, where there is one, and ask. None when it was answered, else what came instead."""
    if taken is not None:
        if not _read_stdin(taken) or sum(map(len, taken)) > wire.STDIN_MAX_BYTES:
            return _Unasked()
        hook.stdin = b"".join(taken)
    hook.deadline_ns = clock.answer_ns
    return _carry(home, hook)


def _keep_stdio_apart() -> None:
    """Fill closed descriptors below 3: else a socket opened here could become the stdout that the answer is written to.

    Read-only, so that writing to a closed stdout still fails, and no receipt says that it was read.
    """
    descriptor = posix.open("/dev/null", posix.O_RDONLY)
    while descriptor < 3:
        descriptor = posix.open("/dev/null", posix.O_RDONLY)
    posix.close(descriptor)


def _deadline_ms(home: bytes, event: str, is_probe: bool = False) -> int:
    """The deadline in ms. A probe is somebody's question whether this path works, not a turn that waits."""
    if is_probe:
        return wire.STARTING_DEADLINE_MS
    if event not in wire.UNSHORTENED_EVENTS and _breaker_is_open(home):
        return wire.BREAKER_DEADLINE_MS
    return wire.HOOK_DEADLINE_MS


def _read_stdin(taken: list[bytearray]) -> bool:
    """Read all of stdin; whether its end came in time.

    Each piece is in `taken` before it is read into, filled with zeros: whatever the clock interrupts, none that was read is lost.
    """
    total = 0
    try:
        while True:
            taken.append(piece := bytearray(wire.READ_BYTES))
            size = posix.readv(0, (piece,))
            del piece[size:]
            if not size:
                return True
            total += size
            _bound(taken, total)
    except OSError:  # also the clock's TimeoutError
        return False


def _bound(taken: list[bytearray], total: int) -> None:
    """What is over the bound is read and dropped: a harness that writes on must not meet a closed pipe."""
    if len(taken[0]) > wire.STDIN_MAX_BYTES:
        del taken[1:]
    elif total > wire.STDIN_MAX_BYTES:
        taken[:] = [bytearray(b"-" * (wire.STDIN_MAX_BYTES + 1))]


def _keep_stdin(hook: wire.Hook, taken: list[bytearray]) -> None:
    """Put into the call, for the spool, what stdin held at the deadline, if it is whole.

    A harness may write all and forget to close, and a process that was given no processor finds its stdin unread.
    """
    if taken:
        taken[-1] = taken[-1].rstrip(b"\0")  # what a harness writes holds none
    has_ended = _drain(taken)
    stdin = b"".join(taken)
    if len(stdin) <= wire.STDIN_MAX_BYTES and (has_ended or stdin.rstrip().endswith(b"}")):
        hook.stdin = stdin


def _drain(taken: list[bytearray]) -> bool:
    """Take what waits in stdin by now; whether its end was there.

    Never waits: a file does not, a socket is told so, and a pipe is opened anew, since the harness's own is shared.
    """
    total = sum(map(len, taken))
    try:
        kind = posix.fstat(0).st_mode & _KIND
        peer = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, posix.dup(0)) if kind == _SOCKET else None
        own = posix.open("/dev/fd/0", posix.O_RDONLY | posix.O_NONBLOCK) if kind not in (_FILE, _SOCKET) else 0
        while piece := peer.recv(wire.READ_BYTES, _socket.MSG_DONTWAIT) if peer else posix.read(own, wire.READ_BYTES):
            taken.append(bytearray(piece))
            total += len(piece)
            _bound(taken, total)
    except OSError:  # nothing waits, or it is nothing that can be asked so
        return False
    return True


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


def _spool(home: bytes, hook: wire.Hook) -> None:
    """Write a call that must not be lost into the spool, whole or not at all.

    Where there is no room for it an empty file says so, which takes none; without a writable disk it is lost in silence.
    """
    is_empty = not hook.stdin and hook.event != wire.GIT_COMMIT
    if hook.event not in wire.SPOOLED_EVENTS or hook.is_probe or is_empty:
        return
    directory = home + b"/spool"
    at_ns = time.time_ns()
    content = wire.encode_spool(wire.Spooled(hook, at_ns))
    name = wire.spool_name(hook.request_id, at_ns)
    try:
        _make_directory(directory)
        if _size(directory) + len(content) <= wire.SPOOL_MAX_BYTES:
            return _write_whole(directory, name, content)
    except OSError:
        pass
    if hook.event in wire.LOST_EVENTS:
        _mark_lost(directory + b"/" + name.replace(wire.SPOOL_SUFFIX, wire.LOST_SUFFIX))


def _mark_lost(file: bytes) -> None:
    try:
        _write_file(file, b"", posix.O_EXCL)
    except OSError:
        return


def _write_whole(directory: bytes, name: bytes, content: bytes) -> None:
    draft = directory + b"/." + name
    try:
        _write_file(draft, content, posix.O_EXCL)
    except OSError:
        posix.unlink(draft)  # the disk is full: what is half there would only fill it further
        raise
    # No fsync: no signal ends one, and a disk under load would hold the turn for seconds. What a power failure leaves of the
    # file does not decode; what dies with this process, or with the daemon, loses nothing.
    posix.rename(draft, directory + b"/" + name)


def _size(directory: bytes) -> int:
    with posix.scandir(directory) as files:
        return sum(map(_file_size, files))


def _file_size(file: "posix.DirEntry[bytes]") -> int:
    try:
        return file.stat(follow_symlinks=False).st_size
    except FileNotFoundError:  # another hook's draft that has got its name, or what the daemon has taken in
        return 0


def _make_directory(directory: bytes) -> None:
    try:
        posix.mkdir(directory, 0o700)
    except FileExistsError:
        return


def _may_start(home: bytes, event: str) -> bool:
    return event == wire.SESSION_START or not (posix.access(home + b"/run/stopped", posix.F_OK) or _was_refused(home))


def _was_refused(home: bytes) -> bool:
    """Whether a daemon said lately that it cannot serve this home: the next would say it again, and nobody has mended it yet."""
    try:
        return 0 <= time.time() - posix.stat(home + b"/run/refused").st_mtime <= wire.REFUSED_S
    except OSError:
        return False


def _start_successor(home: bytes) -> None:
    from memd_client import spawn

    spawn.start(home, replaces=True)


def _start(home: bytes, hook: wire.Hook, clock: _Clock) -> None:
    """Start a daemon; with an event that carries the rules, also wait for it and ask again under the same request id."""
    from memd_client import spawn  # here, since a hook that is answered has no use for it

    if not spawn.start(home) or hook.event not in wire.WAITING_EVENTS:
        return
    clock.allow(wire.STARTING_DEADLINE_MS)
    hook.deadline_ns = clock.answer_ns
    while isinstance(_carry(home, hook), link.Unreachable) and not _was_refused(home) and spawn.start(home):
        time.sleep(wire.POLL_MS / 1_000)


def _breaker_path(home: bytes) -> bytes:
    return home + b"/run/unreachable-until"


def _breaker_is_open(home: bytes) -> bool:
    until = address.read_file(_breaker_path(home))
    if until is None or not until.isdigit() or len(until) > wire.DECIMAL_MAX_BYTES:
        return False
    # The clock starts again at every boot: a time further ahead than this breaker ever reaches is from before.
    return 0 < int(until) - time.monotonic_ns() <= wire.BREAKER_S * _NS_PER_S


def _open_breaker(home: bytes) -> bool:
    """Open it for BREAKER_S, unless it is open: a daemon that is only slow must get its full time again. Whether it did."""
    if _breaker_is_open(home):
        return False
    until_ns = time.monotonic_ns() + wire.BREAKER_S * _NS_PER_S
    try:
        _write_file(_breaker_path(home), b"%d" % until_ns, posix.O_TRUNC)
    except OSError:
        return False
    return True


def _write_file(file: bytes, content: bytes, flags: int) -> None:
    """Write `content` to a file of mode 0600, which the end of the process closes. Raises OSError."""
    descriptor = posix.open(file, posix.O_WRONLY | posix.O_CREAT | posix.O_CLOEXEC | flags, 0o600)
    rest = memoryview(content)
    while rest:
        rest = rest[posix.write(descriptor, rest) :]
