"""Where a daemon can be reached: the one line that it wrote into `<MEMD_HOME>/run/address` after it had bound its
socket.

    <protocol> <pid> <start time> <socket path>\\n        memd/1 4711 8812345 /home/ann/.local/share/memd/run/memd.sock

The start time is that of the process in clock ticks since boot (field 22 of /proc/<pid>/stat), 0 where the system has
no such file; pid and start time together name one process. The path is the rest of the line, absolute, and never holds
a newline or a NUL. The line is written to another name and renamed; one that does not end in a newline, or has another form,
counts as none. So does one that came along with the copy of a home: its daemon serves the other one.

MEMD_HOME is one directory: the variable if it is set (absolute, since hooks run in every directory), else
`~/.local/share/memd` whatever XDG says: a terminal, tmux and a client's own daemon differ there, and two daemons would
be the result.
"""

import posix
import sys

from memd_client import wire

DEFAULT_HOME = b"/.local/share/memd"
SOCKET_NAME = b"memd.sock"
FILE_MAX_BYTES = 8_192  # a line with the longest path is half of it


class Address:
    """One daemon as it announced itself."""

    __slots__ = ("pid", "protocol", "socket", "start_time")

    def __init__(self, protocol: bytes, pid: int, start_time: int, socket: bytes) -> None:
        self.protocol = protocol
        self.pid = pid
        self.start_time = start_time
        self.socket = socket


def home(environ: dict[bytes, bytes] | None = None) -> bytes | None:
    """The directory that holds everything of this user, existing or not; None when no variable names an absolute one.

    `environ` defaults to the process's own: the live one where `os` is loaded, else the one it was started with.
    """
    if environ is None:
        environ = _environ()
    named = environ.get(b"MEMD_HOME")
    if named:
        return named.rstrip(b"/") if named.startswith(b"/") else None
    user_home = environ.get(b"HOME", b"")
    return user_home.rstrip(b"/") + DEFAULT_HOME if user_home.startswith(b"/") else None


def _environ() -> dict[bytes, bytes]:
    os = sys.modules.get("os")
    return posix.environ if os is None else os.environb.copy()


def path(home: bytes) -> bytes:
    """The file that holds the line."""
    return home + b"/run/address"


def encode(address: Address) -> bytes:
    """The line, as the daemon writes it."""
    return b"%b %d %d %b\n" % (address.protocol, address.pid, address.start_time, address.socket)


def parse(line: bytes) -> Address | None:
    """The address in `line`; None when it has another form."""
    fields = line[:-1].split(b" ", 3)
    if not line.endswith(b"\n") or len(fields) != 4:
        return None
    protocol, pid, start_time, socket = fields
    if not socket.startswith(b"/") or b"\n" in socket or b"\0" in socket:
        return None
    try:
        return Address(protocol, wire.decimal(pid), wire.decimal(start_time), socket)
    except wire.Malformed:
        return None


def read(home: bytes) -> Address | None:
    """The address of the daemon of `home`; None when there is no such file, it can't be read, has another form or is another's."""
    line = read_file(path(home))
    found = None if line is None else parse(line)
    return found if found and _is_of(home, found.socket) else None


def _is_of(home: bytes, socket: bytes) -> bool:
    """Whether a socket in a home is in this one, whatever the links that lead there; one in a short place tells nothing."""
    folder, _, name = socket.rpartition(b"/")
    if folder == home + b"/run" or not folder.endswith(b"/run") or name != SOCKET_NAME:
        return True
    try:
        there, here = posix.stat(folder), posix.stat(home + b"/run")
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)


def read_file(file: bytes) -> bytes | None:
    """The first FILE_MAX_BYTES of a small file; None when there is none or it can't be read. A FIFO in its place is empty."""
    try:
        descriptor = posix.open(file, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NONBLOCK)
    except OSError:
        return None
    try:
        return posix.read(descriptor, FILE_MAX_BYTES)
    except OSError:
        return None
    finally:
        posix.close(descriptor)


def process_start(pid: int) -> int | None:
    """The start time of a running process in clock ticks since boot; 0 on a system without /proc.

    None when there is no such process; a zombie counts as none.
    """
    stat = read_file(b"/proc/%d/stat" % pid)
    if stat is None:
        return None if _has_proc() else 0
    # The command's name stands in parentheses and may hold anything, also blanks and parentheses: count from the last
    # one.
    fields = stat[stat.rfind(b")") + 2 :].split()
    return int(fields[19]) if len(fields) > 19 and fields[0] not in (b"Z", b"X") else None


def is_alive(address: Address) -> bool:
    """Whether the very process that wrote `address` still runs. That it does is no proof that it answers: link.py asks."""
    start = process_start(address.pid)
    if start == 0 or address.start_time == 0:
        return _is_running(address.pid)
    return start == address.start_time


def _is_running(pid: int) -> bool:
    try:
        posix.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def _has_proc() -> bool:
    return read_file(b"/proc/self/stat") is not None
