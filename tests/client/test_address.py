"""Where a daemon is: the line it writes, the home it belongs to, and whether its process lives."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_client import address
from memd_client.address import Address
from tests.client import peers


@given(
    st.integers(1, 2**31 - 1),
    st.integers(0, 2**63),
    st.binary(max_size=90).filter(lambda tail: not {*b"\n\0"} & {*tail}),
)
def test_the_line_gives_back_what_was_written(pid: int, start_time: int, tail: bytes) -> None:
    """Whatever the path holds, blanks included."""
    read = address.parse(address.encode(Address(b"memd/1", pid, start_time, b"/" + tail)))
    assert read is not None
    assert (read.protocol, read.pid, read.start_time, read.socket) == (b"memd/1", pid, start_time, b"/" + tail)


@given(st.binary(max_size=60))
def test_no_line_raises(line: bytes) -> None:
    """An address is there or it is not."""
    read = address.parse(line)
    assert read is None or read.socket.startswith(b"/")


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"memd/1 1 2 /run/s",
        b"memd/1 1 2\n",
        b"memd/1 1 /run/s\n",
        b"memd/1 x 2 /run/s\n",
        b"memd/1 -1 2 /run/s\n",
        b"memd/1 1 2 /x\0/run/memd.sock\n",
        b"memd/1 %b 2 /run/s\n" % (b"9" * 5_000),
        b"memd/1 1 %b /run/s\n" % (b"9" * 5_000),
        b"memd/1 1 2 run/s\n",
        b"memd/1 1 2 \n",
        b"memd/1 1 2 /run/s\nmore\n",
    ],
)
def test_a_line_of_another_form_is_none(line: bytes) -> None:
    """Half written, too short, not a number, a relative path, a second line."""
    assert address.parse(line) is None


@pytest.mark.parametrize(
    ("environ", "home"),
    [
        ({b"HOME": b"/home/ann"}, b"/home/ann/.local/share/memd"),
        ({b"HOME": b"/home/ann/"}, b"/home/ann/.local/share/memd"),
        ({b"HOME": b"/home/ann", b"XDG_DATA_HOME": b"/x"}, b"/home/ann/.local/share/memd"),
        ({b"HOME": b"/home/ann", b"MEMD_HOME": b"/m"}, b"/m"),
        ({b"HOME": b"/home/ann", b"MEMD_HOME": b"/m e'\xc3\xbc\\/"}, b"/m e'\xc3\xbc\\"),
        ({b"HOME": b"/home/ann", b"MEMD_HOME": b""}, b"/home/ann/.local/share/memd"),
        ({b"HOME": b"/home/ann", b"MEMD_HOME": b"relative"}, None),
        ({b"HOME": b"relative"}, None),
        ({b"HOME": b""}, None),
        ({}, None),
    ],
)
def test_the_home_is_one_directory_or_none(environ: dict[bytes, bytes], home: bytes | None) -> None:
    """Whatever XDG says, and nothing that depends on the directory a process runs in."""
    assert address.home(environ) == home


def test_the_live_environment_counts_where_os_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that sets MEMD_HOME for itself means it."""
    monkeypatch.setenv("MEMD_HOME", "/set/later")
    assert address.home() == b"/set/later"


def test_reading_gives_what_was_announced_or_none(tmp_path: Path) -> None:
    """No home, no run directory and a directory in the file's place are all nobody."""
    home = os.fsencode(tmp_path)
    assert address.read(home) is None
    peers.announce(tmp_path, Path("/run/s"))
    read = address.read(home)
    assert read is not None
    assert (read.pid, read.socket) == (os.getpid(), b"/run/s")
    (tmp_path / "run" / "address").unlink()
    (tmp_path / "run" / "address").mkdir()
    assert address.read(home) is None


def test_an_address_that_came_along_with_a_copied_home_is_none(tmp_path: Path) -> None:
    """AT8: its daemon serves the other home. A link leads to the same one, and a socket in a short place tells nothing."""
    first, copy, link = tmp_path / "first", tmp_path / "copy", tmp_path / "link"
    first.mkdir()
    link.symlink_to(first)
    line = address.encode(peers.announce(first, first / "run" / "memd.sock"))
    for home in (first, copy, link):
        (home / "run").mkdir(parents=True, exist_ok=True)
        (home / "run" / "address").write_bytes(line)
    found = [address.read(os.fsencode(home)) for home in (first, copy, link)]
    assert [known and known.socket for known in found] == [
        os.fsencode(first / "run" / "memd.sock"),
        None,
        os.fsencode(first / "run" / "memd.sock"),
    ]
    peers.announce(copy, Path("/tmp/memd-0-0123456789abcdef/memd.sock"))
    assert address.read(os.fsencode(copy)) is not None
    (copy / "run" / "address").write_bytes(line)
    (first / "run" / "address").unlink()
    (first / "run").rmdir()  # moved or gone: whoever is there answers nobody
    assert address.read(os.fsencode(copy)) is None


def test_a_process_is_known_by_pid_and_start_time() -> None:
    """Alive as itself, not alive under another start time, and gone once it has ended, also while nobody has asked for it."""
    sleeper = subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE)
    start = address.process_start(sleeper.pid)
    assert start
    assert address.is_alive(Address(b"memd/1", sleeper.pid, start, b"/s"))
    assert not address.is_alive(Address(b"memd/1", sleeper.pid, start - 1, b"/s"))
    assert address.is_alive(Address(b"memd/1", sleeper.pid, 0, b"/s"))
    assert sleeper.stdin
    sleeper.stdin.close()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)  # ended, and still a zombie
    assert not address.is_alive(Address(b"memd/1", sleeper.pid, start, b"/s"))
    sleeper.wait()
    assert address.process_start(sleeper.pid) is None
    assert not address.is_alive(Address(b"memd/1", sleeper.pid, 0, b"/s"))


def test_the_start_time_is_counted_behind_a_name_with_parentheses(tmp_path: Path) -> None:
    """A process may call itself anything."""
    odd = tmp_path / "a) R 1 (b"
    odd.symlink_to("/bin/cat")
    with subprocess.Popen([odd], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b".")
        process.stdin.flush()
        assert process.stdout.read(1) == b"."  # it runs under its own name by now
        stat = Path(f"/proc/{process.pid}/stat").read_bytes()
        assert b"(a) R 1 (b)" in stat
        assert address.process_start(process.pid) == int(stat.rsplit(b") ", 1)[1].split()[19])
