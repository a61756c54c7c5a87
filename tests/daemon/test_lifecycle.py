"""One daemon per home: how it starts, who may talk to it, and what it leaves behind. Real processes, real sockets."""

import contextlib
import fcntl
import os
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from memd_client import address, api, link, wire, zmtp
from memd_daemon import holder, lifecycle, limits

PATIENCE_NS = 60_000_000_000


@pytest.fixture
def home() -> Iterator[Path]:
    """A home with a path short enough for a socket."""
    folder = Path(tempfile.mkdtemp(prefix="memd-", dir="/tmp"))
    yield folder / "h"
    shutil.rmtree(folder, ignore_errors=True)


def spawn(home: Path, **env: str) -> "subprocess.Popen[bytes]":
    words = {"PATH": os.environ["PATH"], "HOME": str(home.parent), "MEMD_HOME": str(home), **env}
    return subprocess.Popen([sys.executable, "-m", "memd_daemon"], env=words, stderr=subprocess.PIPE)


def reached(home: Path, process: "subprocess.Popen[bytes] | None" = None) -> address.Address:
    """The address of a daemon that answers a ping."""
    end = time.monotonic_ns() + PATIENCE_NS
    while time.monotonic_ns() < end:
        known = address.read(os.fsencode(home))
        pong = ask(home, api.Ping()) if known is not None else None
        if known is not None and isinstance(pong, api.Pong) and pong.pid == known.pid:  # not what a dead one left
            return known
        assert process is None or process.poll() is None, process.stderr and process.stderr.read()
        time.sleep(0.01)
    raise AssertionError("no daemon answered")


def ask(home: Path, request: api.Request) -> object:
    known = address.read(os.fsencode(home))
    if known is None:
        return None
    body = msgspec.msgpack.encode(request)
    outcome = link.request(known, wire.request(request.VERB.encode(), body), time.monotonic_ns() + PATIENCE_NS)
    if not isinstance(outcome, wire.Reply) or outcome.status != wire.DONE:
        return outcome
    return msgspec.msgpack.decode(outcome.body[0], type=request.REPLY)


@pytest.fixture
def daemon(home: Path) -> Iterator["subprocess.Popen[bytes]"]:
    process = spawn(home)
    reached(home, process)
    yield process
    end(process)


def end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.terminate()
    process.wait(30)
    if process.stderr:
        process.stderr.close()


def test_many_starts_at_once_give_one_daemon(home: Path) -> None:
    """Eight starters: one serves, the others end with exit 0 and say nothing."""
    starters = [spawn(home) for _ in range(8)]
    try:
        known = reached(home)
        losers = [p for p in starters if p.pid != known.pid]
        assert [p.wait(30) for p in losers] == [0] * 7
        assert [p.stderr.read() for p in losers if p.stderr] == [b""] * 7
        pong = ask(home, api.Ping())
        assert isinstance(pong, api.Pong)
        assert pong.pid == known.pid
    finally:
        for process in starters:
            end(process)


def test_a_stop_answers_then_leaves_nothing(home: Path, daemon: "subprocess.Popen[bytes]") -> None:
    """The reply comes, the address is gone before it, the socket after it, and a deliberate stop is remembered."""
    told = ask(home, api.Stop())
    assert isinstance(told, api.StopReply)
    assert told.pid == daemon.pid
    assert daemon.wait(30) == 0
    assert sorted(p.name for p in (home / "run").iterdir()) == ["daemon.lock", "stopped"]


def test_what_a_killed_daemon_left_is_taken_over(home: Path) -> None:
    """A stale address, socket and lock file stop nobody, and what was acknowledged is there."""
    first = spawn(home)
    reached(home, first)
    made = ask(home, api.Remember(content="Acknowledged before the kill.", cwd=str(home.parent)))
    assert isinstance(made, api.Remembered)
    first.send_signal(signal.SIGKILL)
    end(first)
    assert address.read(os.fsencode(home)) is not None
    second = spawn(home)
    try:
        known = reached(home, second)
        assert known.pid == second.pid
        notes = ask(home, api.ListNotes(cwd=str(home.parent)))
        assert isinstance(notes, api.NotesReply)
        assert [n.content for n in notes.notes] == ["Acknowledged before the kill."]
        report = ask(home, api.Verify())
        assert isinstance(report, api.VerifyReply)
        assert report.faults == []
    finally:
        end(second)


def test_a_daemon_that_leaves_is_waited_for(home: Path) -> None:
    """It has taken its address away and still holds the lock: whoever starts now is its successor, not nobody."""
    (home / "run").mkdir(parents=True, mode=0o700)
    leaving = os.open(home / holder.DOOR, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(leaving, fcntl.LOCK_EX)
    process = spawn(home)
    try:
        _until_opened(process, home / holder.DOOR)
        assert process.poll() is None
        os.close(leaving)
        assert reached(home, process).pid == process.pid
    finally:
        end(process)


def _until_opened(process: "subprocess.Popen[bytes]", path: Path) -> None:
    """Until the process has this file open."""
    deadline = time.monotonic_ns() + PATIENCE_NS
    while not any(_leads_to(open_, path) for open_ in Path(f"/proc/{process.pid}/fd").iterdir()):
        assert time.monotonic_ns() < deadline
        assert process.poll() is None


def _leads_to(open_: Path, path: Path) -> bool:
    try:
        return open_.readlink() == path
    except FileNotFoundError:  # closed meanwhile
        return False


@pytest.mark.parametrize("left", [None, b"", b"garbage\n", b"memd/1 1 1 /tmp/nowhere.sock\n"])
def test_an_address_that_was_taken_away_is_written_again(
    home: Path, daemon: "subprocess.Popen[bytes]", left: bytes | None
) -> None:
    """The one process that may serve this home would be out of everybody's reach."""
    path = home / "run" / "address"
    path.unlink()
    if left is not None:
        path.write_bytes(left)
    assert reached(home, daemon).pid == daemon.pid


@pytest.mark.parametrize("name", lifecycle.FILES)
def test_a_folder_in_a_files_place_keeps_memd_from_nobody(home: Path, name: str) -> None:
    """It is moved aside with all that is in it."""
    (home / name).mkdir(parents=True)
    (home / name / "somebody's").touch()
    process = spawn(home)
    try:
        assert reached(home, process).pid == process.pid
        assert not (home / name).is_dir()
        assert len(list(home.rglob("somebody's"))) == 1
    finally:
        end(process)


def test_an_address_that_became_a_folder_is_written_again(home: Path, daemon: "subprocess.Popen[bytes]") -> None:
    """Also while the daemon serves, and though the folder is not empty."""
    path = home / "run" / "address"
    path.unlink()
    path.mkdir()
    (path / "somebody's").touch()
    assert reached(home, daemon).pid == daemon.pid
    assert len(list(home.rglob("somebody's"))) == 1


@pytest.mark.parametrize("taken", ["memd.sock", "daemon.lock", ""])
def test_a_daemon_whose_door_was_taken_away_makes_room(
    home: Path, daemon: "subprocess.Popen[bytes]", taken: str
) -> None:
    """Its socket, its lock or the whole folder is gone: it leaves in good order, and the next one serves."""
    if taken:
        (home / "run" / taken).unlink()
    else:
        shutil.rmtree(home / "run")
    assert daemon.wait(30) == 0
    second = spawn(home)
    try:
        assert reached(home, second).pid == second.pid
    finally:
        end(second)


def test_everything_is_private(home: Path, daemon: "subprocess.Popen[bytes]") -> None:
    """No file or folder under the home can be read by others, the socket included."""
    ask(home, api.Remember(content="Something private.", cwd=str(home.parent)))
    modes = {}
    for path in [home, *home.rglob("*")]:
        with contextlib.suppress(FileNotFoundError):  # an index replaces its files in the background
            modes[path] = path.lstat().st_mode
    assert any(stat.S_ISSOCK(mode) for mode in modes.values())
    assert {path for path, mode in modes.items() if mode & 0o077} == set()


@pytest.mark.parametrize("name", ["d" * 90, "two\nlines"])
def test_a_home_with_a_long_or_odd_path_gets_a_short_socket(home: Path, name: str) -> None:
    """The address says on one line where the socket is, and it goes with the daemon."""
    deep = home / name
    process = spawn(deep)
    try:
        known = reached(deep, process)
        assert len(known.socket) <= 100
        assert not os.fsdecode(known.socket).startswith(str(deep))
    finally:
        end(process)
    assert not Path(os.fsdecode(known.socket)).parent.exists()


def test_a_daemon_takes_the_descriptors_that_it_may_have(home: Path) -> None:
    """Its library ends the process at the last one, so one that was started from a narrow shell widens its own bound."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft // 2, hard))
    try:
        process = spawn(home)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    try:
        reached(home, process)
        most = limits.DESCRIPTORS_MAX if hard == resource.RLIM_INFINITY else min(hard, limits.DESCRIPTORS_MAX)
        assert resource.prlimit(process.pid, resource.RLIMIT_NOFILE) == (most, hard)
    finally:
        end(process)


MALFORMED = [
    [],
    [b""],
    [b"", b"memd/1"],
    [b"x", b"memd/1", b"ping", b"\x80"],
    [b"", b"memd/1", b"", b"\x80"],
    [b"", b"memd/1", b"ping"],
    [b"", b"memd/1", b"ping", b"\xc1"],
    [b"", b"memd/1", b"remember", b"\x80"],
    [b"", b"memd/1", b"remember", b"\x81\xa7content\x07"],
    [b"", b"memd/1", b"\xff\xfe", b""],
    [b"", b"memd/1", b"nonsense", b"\x80"],
    [b"", b"memd/9", b"ping", b"\x80"],
    [b"", b"memd/1", b"hook"],
    [b"", b"memd/1", b"hook", *[b""] * 8],
    [b"", b"memd/1", b"hook", b"i" * 16, b"-5", b"\0", b"claude", b"read", b"", b"", b""],
    [b"", b"memd/1", b"receipt", b"short"],
    [b"", b"memd/1", b"receipt"],
    [b""] * 40,
]


@pytest.mark.parametrize("frames", MALFORMED, ids=range(len(MALFORMED)))
def test_a_malformed_message_is_refused_and_the_daemon_lives(
    home: Path, daemon: "subprocess.Popen[bytes]", frames: list[bytes]
) -> None:
    """An error reply where there is somebody to tell, never a success, and the next asker is served."""
    known = address.read(os.fsencode(home))
    assert known is not None
    dealer = zmtp.Dealer(known.socket, time.monotonic_ns() + PATIENCE_NS)
    if frames:
        dealer.send(frames, time.monotonic_ns() + PATIENCE_NS)
    answerable = len(frames) > 3 and frames[0] == b"" and frames[2] in (b"ping", b"remember", b"nonsense")
    if answerable:
        _, reply = wire.parse_reply(dealer.receive(time.monotonic_ns() + PATIENCE_NS))
        assert reply.status != wire.DONE
    assert isinstance(ask(home, api.Ping()), api.Pong)
    dealer.close()


def test_raw_garbage_on_the_socket_harms_nobody(home: Path, daemon: "subprocess.Popen[bytes]") -> None:
    """A peer that speaks no ZMTP, half a greeting, or nothing at all, and others are served meanwhile."""
    known = address.read(os.fsencode(home))
    assert known is not None
    peers = []
    for junk in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" + b"\0" * 8 + b"\x7f", b"\0" * 4096, b"", os.urandom(2000)):
        peer = socket.socket(socket.AF_UNIX)
        peer.connect(known.socket)
        if junk:
            peer.sendall(junk)
        peers.append(peer)
    assert isinstance(ask(home, api.Ping()), api.Pong)
    for peer in peers:
        peer.close()
    assert isinstance(ask(home, api.Ping()), api.Pong)


def test_a_newer_store_is_refused_untouched(home: Path) -> None:
    """One clear line, exit 1, and not a byte of the store changed."""
    later = (
        "import sys; from memd_daemon import limits; limits.STORE_FORMAT += 1; "
        "from memd_daemon.lifecycle import main; sys.exit(main())"
    )
    env = {"PATH": os.environ["PATH"], "HOME": str(home.parent), "MEMD_HOME": str(home)}
    newer = subprocess.Popen([sys.executable, "-c", later], env=env)
    try:
        reached(home, newer)
    finally:
        end(newer)
    store = home / "store" / "log" / "data.mdb"
    before = store.read_bytes()
    process = spawn(home)
    try:
        assert process.wait(60) == 1
        assert process.stderr is not None
        said = process.stderr.read().decode()
    finally:
        end(process)
    assert "format" in said
    assert said.count("\n") == 1
    assert store.read_bytes() == before


def test_without_a_home_it_says_what_to_set() -> None:
    """No HOME and no MEMD_HOME: one line and exit 2."""
    done = subprocess.run([sys.executable, "-m", "memd_daemon"], env={"PATH": os.environ["PATH"]}, capture_output=True)
    assert done.returncode == wire.EXIT_USAGE
    assert b"MEMD_HOME" in done.stderr
