"""Who called a hook, asked of the system: real processes that stand as a client, its hook and its shells."""

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from memd_daemon.service import clients, witness
from memd_daemon.service.clients import client_above

NAMES = {"claude": ("claude",)}
LINE = "[ ! -x '@/bin/hook' ] || '@/bin/hook' prompt-submit claude"

# A client: starts a shell with the line it is given, whose output is the socket pair, pipe or file that is asked for, and says the
# shell's pid. Everything ends with the client's standard input.
CLIENT = """
    import os, socket, subprocess, sys
    line, kind, path = sys.argv[1:]
    (mine, theirs), (lost, alone), (out, inward) = socket.socketpair(), socket.socketpair(), os.pipe()
    lost.close()
    to = {"socket": theirs, "lost": alone, "pipe": inward, "file": open(path, "wb"), "own": None}[kind]
    child = subprocess.Popen(["/bin/sh", "-c", line], stdin=subprocess.PIPE, stdout=to)
    theirs.close()
    alone.close()
    os.close(inward)
    print(child.pid, flush=True)
    sys.stdin.read()
    child.stdin.close()
    child.wait()
"""


@contextlib.contextmanager
def called(tmp_path: Path, line: str, kind: str) -> Iterator[clients.Client]:
    """The client as it is seen from the hook's process, which lives as long as the block."""
    shell = tmp_path / "claude"
    shell.symlink_to(sys.executable)
    hook = tmp_path / "bin" / "hook"
    hook.parent.mkdir()
    hook.write_text("#!/bin/sh\ncat\nexit 0\n")
    hook.chmod(0o755)
    line = line.replace("@", str(tmp_path))
    words = [str(shell), "-c", dedent(CLIENT), line, kind, str(tmp_path / "out")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        try:
            pid = int(run.stdout.readline())
            yield client_above(_lowest(pid), NAMES, "claude")
        finally:
            run.stdin.close()


def _lowest(pid: int) -> int:
    """The `cat` at the end of the shells below ``pid``, once it is there."""
    while (here := clients.process(pid)) is not None and here.name != "cat":
        numbers = (int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit())
        pid = next((n for n in numbers if (one := clients.process(n)) is not None and one.parent == pid), pid)
    return pid


@pytest.mark.parametrize("kind", ["socket", "pipe"])
def test_a_hook_that_the_client_called_is_direct(tmp_path: Path, kind: str) -> None:
    """By the line of its settings, and it reads what the hook prints."""
    with called(tmp_path, LINE, kind) as client:
        assert client.pid
        assert witness.is_direct(client, "claude")


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (LINE, "file"),  # the line is right, what it prints goes elsewhere: an agent's shell
        (LINE, "lost"),  # a socket whose other end is nobody's
        (LINE, "own"),  # the client's own output, which somebody else reads
        ("cat; exit 0; " + LINE + " # and more", "socket"),
        ("'@/bin/hook' prompt-submit codex", "socket"),
        ("'@/bin/hook' session-end claude", "socket"),
        ("cat", "socket"),
        ("'@/bin/hook' prompt-submit claude | cat", "socket"),
    ],
)
def test_what_an_agents_shell_runs_is_not(tmp_path: Path, line: str, kind: str) -> None:
    """Another line, or a line that somebody else reads."""
    with called(tmp_path, line, kind) as client:
        assert client.pid
        assert not witness.is_direct(client, "claude")


def test_what_is_gone_is_not_direct() -> None:
    """Without processes nothing is known."""
    assert not witness.is_direct(clients.Client(), "claude")
    assert not witness.is_direct(clients.Client(peer=1 << 22, pid=1 << 22, child=1 << 22), "claude")


def test_the_other_end_of_a_socket() -> None:
    """Each end knows the other; one that is alone, or no socket at all, has none."""
    one, other = socket.socketpair()
    with one, other:
        inodes = [os.fstat(end.fileno()).st_ino for end in (one, other)]
        assert [witness.peer_of_socket(inode) for inode in inodes] == inodes[::-1]
        other.close()
        assert witness.peer_of_socket(inodes[0]) == 0
    assert witness.peer_of_socket(0) == 0


@pytest.mark.parametrize(
    "told",
    [
        b"",
        b"\0" * 15,
        b"\0" * 64,
        bytes(range(64)),
        b"\x40\0\0\0\x14\0" + b"\0" * 26 + b"\0\0\2\0",
        b"\x40\0\0\0\x14\0" + b"\0" * 26,
    ],
)
def test_an_odd_answer_of_the_system_names_no_other_end(told: bytes) -> None:
    """Cut, of another kind, or with an attribute that has no length."""
    assert witness._peer_in(told) == 0


def test_what_a_process_was_started_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what it has set since; nothing of a process that is gone."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, env={"HOME": "/h", "CLAUDECODE": "1", "ODD": "a=b"}) as run:
        assert run.stdin is not None
        while "ODD" not in witness.started_with(run.pid):  # until it is no copy of this process
            assert run.poll() is None
        assert witness.started_with(run.pid) == {"HOME": "/h", "CLAUDECODE": "1", "ODD": "a=b"}
        run.stdin.close()
    assert witness.started_with(run.pid) == {}
