"""Standard streams that are closed or take nothing, and how far something is where no terminal shows it."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memd_client.cli import screen
from tests.cli.world import PROGRAM, WAIT_S, World


def run(world: World, shell: str) -> subprocess.CompletedProcess[bytes]:
    """A line of a shell, in which ``memd`` is this one."""
    memd = f"'{sys.executable}' -I -c '{PROGRAM}'"
    return subprocess.run(
        ["/bin/sh", "-c", shell.replace("memd ", f"{memd} ", 1)],
        cwd=world.repository, env=world.environ, capture_output=True, timeout=WAIT_S, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("shell", "code", "err"),
    [
        ("memd list >&-", 1, b"memd: Bad file descriptor"),
        ("memd export - >&-", 1, b"memd: Bad file descriptor"),
        ("memd backup out >&-", 1, b"memd: Bad file descriptor"),
        ("memd list >/dev/full", 1, b"memd: No space left on device"),
        ("memd export - >/dev/full", 1, b"memd: No space left on device"),
        ("memd backup out2 >/dev/full", 1, b"memd: No space left on device"),
        ("memd import - <&-", 1, b"memd: Bad file descriptor"),
        ("memd remember - <&-", 1, b"memd: Bad file descriptor"),
        ("memd list <&-", 0, b""),
        ("memd list 2>&-", 0, b""),
        ("memd list <&- >&- 2>&-", 1, b""),
    ],
)
def test_a_stream_that_is_closed_or_full_is_told_in_a_line(world: World, shell: str, code: int, err: bytes) -> None:
    """Never a traceback, and never a file of memd's in the place of a stream."""
    world.memd("remember", "The lock drops on scope exit.")
    ran = run(world, shell)
    assert (ran.returncode, ran.stderr.startswith(err)) == (code, True), ran.stderr
    assert ran.stderr.count(b"\n") <= 1, ran.stderr
    assert b"The lock" in ran.stdout or ">" in shell or code


def test_what_never_ends_and_is_no_export_takes_no_room(world: World) -> None:
    """It is known by its first line, and read no further."""
    world.memd("remember", "The lock drops on scope exit.")
    ran = run(world, "memd import /dev/zero")
    assert ran.returncode == 1
    assert ran.stderr.startswith(b"memd: This is no export of memd")


def test_a_path_of_two_lines_is_told_in_one(world: World) -> None:
    """As every other text of somebody's in a line of memd's."""
    world.memd("remember", "The lock drops on scope exit.")
    ran = world.memd("restore", "/nowhere/a\nb")
    assert ran.code == 1
    assert ran.err == "memd: /nowhere/a\\u{a}b cannot be read (No such file or directory); nothing was touched.\n"


def test_a_killed_command_takes_its_process_with_it(world: World) -> None:
    """Else it would hold the home against every daemon, and nobody would hear what came of it."""
    world.memd("remember", "The lock drops on scope exit.")
    head = world.memd("export", "-").out.splitlines(keepends=True)[0]
    asker = subprocess.Popen(
        [sys.executable, "-I", "-c", PROGRAM, "import", "-"],
        cwd=world.repository, env=world.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert asker.stdin is not None
    asker.stdin.write(head)
    asker.stdin.flush()
    children = Path(f"/proc/{asker.pid}/task/{asker.pid}/children")
    until = time.monotonic() + WAIT_S
    while not (child := _exchanging(children)) and time.monotonic() < until:
        pass
    assert child
    asker.send_signal(signal.SIGKILL)
    asker.communicate()
    while Path(f"/proc/{child}").exists() and time.monotonic() < until:
        pass
    assert not Path(f"/proc/{child}").exists()
    assert world.memd("list").code == 0


def _exchanging(children: Path) -> str:
    """The process that does an import, once it does it: it has stdin open, and asks to end with its parent."""
    for pid in children.read_text().split():
        try:
            if b"memd_daemon.exchanged" in Path(f"/proc/{pid}/cmdline").read_bytes() and _has_temporary(pid):
                return pid
        except OSError:
            continue
    return ""


def _has_temporary(pid: str) -> bool:
    """Whether it has begun to put aside what comes: by then all of it is imported and its signals are set."""
    return any("(deleted)" in str(one.readlink()) for one in Path(f"/proc/{pid}/fd").iterdir())


def test_how_far_it_is_is_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where no terminal takes it away again; what is quick says nothing."""
    clock = iter([0.0, 1.0, 10.0, 10.0, 12.0, 31.0, 31.0])
    monkeypatch.setattr("memd_client.cli.screen.time.monotonic", lambda: next(clock))
    with screen.working("importing", plainly=True) as say:
        for share in (1, 20, 30, 80):
            say(f"importing: taking in, {share} %")
    assert capsys.readouterr().err.splitlines() == [
        "memd: importing: taking in, 20 %",
        "memd: importing: taking in, 80 %",
    ]
    with screen.working("importing") as say:
        say("importing: taking in, 90 %")
    assert capsys.readouterr().err == ""
