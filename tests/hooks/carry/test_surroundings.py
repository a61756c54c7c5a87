"""A hook whose descriptors, home or disk are not what they should be harms nothing."""

import fcntl
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from memd_client import wire
from tests.client import peers
from tests.hooks.carry.process import EVENTS, PROMPT, SCRIPTS, assert_silent, command, environ, run, spooled


def test_a_stdin_over_its_bound_is_read_to_its_end_and_dropped(home: Path, daemon: peers.Router) -> None:
    """The harness that writes it does not meet a closed pipe, and no half prompt is sent or kept."""
    assert_silent(run("prompt-submit", home, stdin=b"x" * (wire.STDIN_MAX_BYTES + 1)))
    assert daemon.received == []
    assert spooled(home) == []


@pytest.mark.parametrize("event", EVENTS)
def test_a_closed_stdin_is_an_empty_one(event: str, home: Path, daemon: peers.Router) -> None:
    """No descriptor 0 at all: the socket must not take its place."""
    line = ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *command(event)]
    ran = subprocess.run(line, env=environ(home), capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert wire.parse_hook(daemon.wait_for(1)[0][3:]).stdin == b""


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stdout_is_not_receipted_and_never_the_socket(closed: str, home: Path, daemon: peers.Router) -> None:
    """What was not written was not shown: it stays owed. Without stderr all is as always."""
    line = ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *command("pre-edit")]
    ran = subprocess.run(line, input=PROMPT, env=environ(home), capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")
    expected = [wire.HOOK, wire.RECEIPT] if closed == "2>&-" else [wire.HOOK]
    run("pre-edit", home)  # another call behind it: by its end everything before has arrived
    assert [frames[2] for frames in daemon.wait_for(len(expected) + 2)] == [*expected, wire.HOOK, wire.RECEIPT]


@pytest.mark.parametrize(("stdin", "kept"), [(PROMPT + b"\n", [PROMPT + b"\n"]), (PROMPT[:-1], [])])
def test_a_stdin_that_never_ends_ends_with_the_deadline(
    stdin: bytes, kept: list[bytes], home: Path, daemon: peers.Router
) -> None:
    """A harness that forgot to close its end: a prompt that is there in full is kept, half of one is nobody's word."""
    with subprocess.Popen(
        command("prompt-submit"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environ(home),
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(stdin)
        process.stdin.flush()
        assert process.wait(peers.WAIT_S) == 0
        assert (process.stdout.read(), process.stderr.read()) == (b"", b"")
    assert daemon.received == []
    assert [call.hook.stdin for call in spooled(home)] == kept
    assert not (home / "run" / "unreachable-until").exists()


def test_a_blocked_alarm_signal_does_not_disarm_the_self_kill(home: Path) -> None:
    """A signal mask is inherited, and whoever started this may have set one."""
    with subprocess.Popen(
        command("prompt-submit"),
        stdin=subprocess.PIPE,
        env=environ(home),
        preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM]),
    ) as process:
        assert process.wait(peers.WAIT_S) == 0


def test_a_stdout_that_nobody_reads_ends_with_the_deadline(home: Path) -> None:
    """An answer that no pipe holds; what was not read whole has no receipt."""
    with peers.router(home / "s", peers.answer_hook(b"x" * wire.STDOUT_MAX_BYTES)) as peer:
        peers.announce(home, home / "s")
        with subprocess.Popen(
            command("pre-edit"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environ(home)
        ) as process:
            assert process.wait(peers.WAIT_S) == 0
        assert [frames[2] for frames in peer.wait_for(1)] == [wire.HOOK]


# A hook that the clock interrupts before it has read anything, or with all of it in its hands.
STARVED = """
import posix, sys
sys.path[:0] = {paths!r}
from memd_hooks import carry
def before(*_):
    raise TimeoutError
def behind(descriptor, pieces):
    read(descriptor, pieces)
    raise TimeoutError
read, posix.readv = posix.readv, {when}
carry.main(("prompt-submit",))
"""


@pytest.mark.parametrize("when", ["before", "behind"])
@pytest.mark.parametrize("kind", ["file", "pipe", "pipe that stays open", "socket", "socket that stays open"])
@pytest.mark.parametrize(("stdin", "is_whole"), [(PROMPT, True), (PROMPT * 2_000, True), (PROMPT[:-1], False)])
def test_a_hook_that_got_no_processor_until_its_deadline_keeps_its_prompt(
    stdin: bytes, is_whole: bool, kind: str, when: str, home: Path, daemon: peers.Router
) -> None:
    """AT4: thirty at once on two cores. What waits in stdin is read all the same; what is half there and may go on is not kept."""
    paths = [str(SCRIPTS.parent), str(Path(wire.__file__).parent.parent)]
    line = [sys.executable, "-I", "-S", "-c", STARVED.format(paths=paths, when=when), "prompt-submit", "claude"]
    if kind == "file":
        (home / "stdin").write_bytes(stdin)
        reads, writes = os.open(home / "stdin", os.O_RDONLY), -1
    elif kind.startswith("pipe"):
        reads, writes = os.pipe()
        fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, 1 << 20)
    else:
        reads, writes = (end.detach() for end in socket.socketpair())
    if writes >= 0:
        os.write(writes, stdin)
        if "open" not in kind:
            os.close(writes)
    try:
        assert_silent(subprocess.run(line, stdin=reads, env=environ(home), capture_output=True, check=False))
        assert os.get_blocking(reads)
    finally:
        os.close(reads)
        if "open" in kind:
            os.close(writes)
    assert daemon.received == []
    assert [call.hook.stdin for call in spooled(home)] == [stdin] * (is_whole or "open" not in kind)


@pytest.mark.parametrize("variables", [{}, {"HOME": ""}, {"HOME": "/nowhere/at/all"}, {"MEMD_HOME": "relative"}])
def test_no_home_is_silent(variables: dict[str, str], tmp_path: Path) -> None:
    """Unset, empty, absent, relative: and nothing is made."""
    ran = subprocess.run(
        command("prompt-submit"), input=PROMPT, env=variables, capture_output=True, cwd=tmp_path, check=False
    )
    assert_silent(ran)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("event", EVENTS)
def test_an_absent_home_stays_absent(event: str, tmp_path: Path) -> None:
    """After `uninstall --purge` a hook that is left over makes no new store."""
    assert_silent(run(event, tmp_path / "purged"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="another uid is root's to take on")
def test_a_home_of_another_user_is_silent_and_left_alone(home: Path) -> None:
    """Readable or not, nothing is written, and a root shell that kept HOME leaves no files of root's in it either."""
    home.chmod(0o755)
    stranger = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    python = next(
        (
            python
            for python in (sys.executable, "/usr/bin/python3")
            if subprocess.run(
                [*stranger, python, "-I", "-S", "-c", "import _socket"], capture_output=True, check=False
            ).returncode
            == 0
        ),
        None,
    )
    if python is None:
        pytest.skip("no interpreter here can be run by another user")
    line = [*stranger, *command("prompt-submit", python=python)]
    assert_silent(subprocess.run(line, input=PROMPT, env=environ(home), capture_output=True, check=False))
    os.chown(home, 65534, 65534)
    assert_silent(run("prompt-submit", home))
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("size", [0, 512])
def test_a_full_disk_is_silent_and_leaves_no_half_file(size: int, home: Path) -> None:
    """A write that fails at once, and one that fails in its middle: a name without content says that one was lost."""
    ran = subprocess.run(
        command("prompt-submit"),
        input=PROMPT * 100,
        env=environ(home),
        capture_output=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
    )
    assert_silent(ran)
    assert [(file.suffix, file.stat().st_size) for file in (home / "spool").iterdir()] == [(".lost", 0)]


def test_a_full_spool_is_not_grown(home: Path) -> None:
    """Drafts count: they fill the disk as well."""
    (home / "spool").mkdir(mode=0o700)
    with (home / "spool" / ".draft").open("wb") as file:
        file.truncate(wire.SPOOL_MAX_BYTES)
    assert_silent(run("prompt-submit", home))
    assert sorted(file.suffix or file.name for file in (home / "spool").iterdir()) == [".draft", ".lost"]


@pytest.mark.parametrize("stdin", [b"", PROMPT])
def test_a_probe_or_an_empty_prompt_is_not_spooled(stdin: bytes, home: Path) -> None:
    """There is nothing in it to lose."""
    assert_silent(run("prompt-submit", home, stdin=stdin, MEMD_PROBE="1" if stdin else "0"))
    assert spooled(home) == []
