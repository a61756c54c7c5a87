"""The compiled hook that `memd bench all` measures keeps carry.py's promises; else its figure would be of something else.

It is compiled with the sanitizers of addresses and of undefined behaviour where the compiler has them: what they find ends it with
another status and a word on stderr, which every test here would see.
"""

import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memd_client import wire, zmtp
from memd_client.cli import bench_all_compiled
from memd_client.cli.bench_all_compiled import NotCompiled, compile_hook
from memd_hooks.program import STALE
from tests.client import peers
from tests.hooks.carry.process import PROMPT, assert_silent, environ, spooled

CHECKED = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
ANSWER = b'{"answer": "\xc3\xbc"}\n'
Behave = Callable[[socket.socket], object]


@pytest.fixture(scope="module")
def hook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client, checked as it runs where that can be had."""
    folder = tmp_path_factory.mktemp("compiled")
    try:
        bench_all_compiled.compiler()
    except NotCompiled as error:
        pytest.skip(str(error))
    try:
        return compile_hook(folder, *CHECKED)
    except NotCompiled:
        return compile_hook(folder)


@pytest.fixture
def home() -> Iterator[Path]:
    """A home with room for a socket."""
    with peers.short_directory() as directory:
        yield directory


def run(
    hook: Path, event: str, home: Path, stdin: bytes = PROMPT, more: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[bytes]":
    """The client, to its end."""
    return subprocess.run(
        [hook, event, "claude"],
        input=stdin,
        env=environ(home, ASAN_OPTIONS="detect_leaks=0", **(more or {})),
        capture_output=True,
        timeout=peers.WAIT_S,
        check=False,
    )


def test_it_compiles_without_a_warning(tmp_path: Path, hook: Path) -> None:
    """And with the very numbers and names of the wire."""
    assert hook.exists()
    assert compile_hook(tmp_path, "-Werror").stat().st_size > 0


@pytest.mark.parametrize(
    "event", ["prompt-submit", "pre-edit", "read", "tool-result", "stop", "session-end", "git-commit"]
)
def test_what_it_sends_is_what_the_script_sends(hook: Path, home: Path, event: str) -> None:
    """Stdin raw, the answer raw to stdout, the named variables in their order and no other, then the receipt."""
    named = {name.decode(): f"value of {name.decode()}" for name in wire.ENVIRONMENT_NAMES}
    stdin = PROMPT + b"\x00\xff" + b"x" * 70_000
    with peers.router(home / "s", peers.answer_hook(ANSWER)) as daemon:
        peers.announce(home, home / "s")
        ran = run(hook, event, home, stdin, named)
        asked, receipt = daemon.wait_for(2)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, ANSWER, b"")
    sent = wire.parse_hook(asked[3:])
    assert (sent.event, sent.harness, sent.flags, sent.cwd) == (event, "claude", 0, os.fsencode(Path.cwd()))
    assert sent.stdin == (b"" if event == "git-commit" else stdin)
    assert sent.environment == wire.environment_lines({os.fsencode(k): os.fsencode(v) for k, v in named.items()})
    assert receipt == wire.request(wire.RECEIPT, sent.request_id)
    assert spooled(home) == []


@pytest.mark.parametrize("event", ["prompt-submit", "pre-edit", *wire.WAITING_EVENTS])
def test_where_nobody_listens_the_script_is_asked_for(hook: Path, home: Path, event: str) -> None:
    """With its stdin as it was, and nothing written: a daemon is started in one place only."""
    read, write = os.pipe()
    os.write(write, PROMPT)
    os.close(write)
    with os.fdopen(read, "rb") as stdin:
        ran = subprocess.run([hook, event, "claude"], stdin=stdin, env=environ(home), capture_output=True, check=False)
        assert stdin.read() == PROMPT
    assert (ran.returncode, ran.stdout, ran.stderr) == (STALE, b"", b"")
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    "arguments", [[], ["pre-edit"], ["nonsense", "claude"], ["pre-edit", ""], ["pre-edit", "ü"], ["pre-edit", "x" * 65]]
)
def test_a_wrong_command_line_is_silent(hook: Path, home: Path, arguments: list[str]) -> None:
    """Nothing is asked and nothing is kept."""
    assert_silent(subprocess.run([hook, *arguments], input=PROMPT, env=environ(home), capture_output=True, check=False))


@pytest.mark.parametrize("variables", [{"MEMD_OFF": "1"}, {"MEMD_HOME": "relative"}, {"MEMD_HOME": "", "HOME": ""}])
def test_memd_off_and_no_home_are_silent(hook: Path, home: Path, variables: dict[str, str]) -> None:
    """Also where a daemon would answer."""
    with peers.router(home / "s", peers.answer_hook(ANSWER)) as daemon:
        peers.announce(home, home / "s")
        assert_silent(run(hook, "pre-edit", home, more=variables))
        assert daemon.received == []


@pytest.mark.parametrize(
    "answer",
    [
        [b"", b"memd/7", b"7.0", b"\x00", b"0", b"shown?", b""],
        wire.reply(b"0.1.0", wire.FAULT, b"0", b"shown?", b""),
        wire.reply(b"0.1.0", wire.STOPPING, b"0", b"shown?", b""),
        wire.reply(b"0.1.0", wire.DONE, b"0"),
        [b"", wire.PROTOCOL],
    ],
    ids=["another protocol", "fault", "stopping", "too few frames", "no reply"],
)
def test_an_answer_that_does_not_count_is_silent_and_the_prompt_kept(
    hook: Path, home: Path, answer: list[bytes]
) -> None:
    """Under the request id that was sent, so that twice does no harm."""
    with peers.router(home / "s", lambda frames: answer if frames[2] == wire.HOOK else None) as daemon:
        peers.announce(home, home / "s")
        assert_silent(run(hook, "prompt-submit", home))
        sent = wire.parse_hook(daemon.wait_for(1)[0][3:])
    assert [(one.hook.stdin, one.hook.request_id) for one in spooled(home)] == [(PROMPT, sent.request_id)]
    assert (home / "spool").stat().st_mode & 0o777 == 0o700
    assert [one.stat().st_mode & 0o777 for one in (home / "spool").iterdir()] == [0o600]


@pytest.mark.parametrize(
    "answer", [wire.reply(b"0.1.0", wire.DONE, b"2", b"no!", b""), wire.hook_reply(b"0.1.0", b"x" * 300_000)]
)
def test_an_answer_no_daemon_should_give_is_not_passed_on(hook: Path, home: Path, answer: list[bytes]) -> None:
    """An exit code, or a flood: it was delivered all the same."""
    with peers.router(home / "s", lambda frames: answer if frames[2] == wire.HOOK else None):
        peers.announce(home, home / "s")
        assert_silent(run(hook, "prompt-submit", home))
    assert spooled(home) == []


@pytest.mark.parametrize(
    "behave",
    [peers.garbage, peers.closes_at_once, peers.closes_mid_message, peers.closes_before_answer, peers.refuses],
    ids=lambda behave: behave.__name__,
)
def test_a_broken_peer_is_silent_and_the_prompt_kept(hook: Path, home: Path, behave: Behave) -> None:
    """As with the script."""
    with peers.listener(home / "s", behave):
        peers.announce(home, home / "s")
        assert_silent(run(hook, "prompt-submit", home))
    assert [one.hook.stdin for one in spooled(home)] == [PROMPT]
    assert not (home / "run" / "unreachable-until").exists()


def test_a_dribbling_peer_is_understood(hook: Path, home: Path) -> None:
    """A PING, a command nobody knows and an answer, byte by byte."""
    with peers.listener(home / "s", peers.dribbles):
        peers.announce(home, home / "s")
        ran = run(hook, "pre-edit", home)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"byte by byte", b"")


def test_a_wedged_daemon_opens_the_breaker_and_a_dead_one_does_not(hook: Path, home: Path) -> None:
    """Accepts and never answers: the prompt is kept; whether the process behind it lives decides the rest."""
    with peers.listener(home / "s", None):
        peers.announce(home, home / "s", pid=2**22 + 1, start_time=1)
        assert_silent(run(hook, "prompt-submit", home))
        assert not (home / "run" / "unreachable-until").exists()
        peers.announce(home, home / "s")
        assert_silent(run(hook, "prompt-submit", home))
        assert (home / "run" / "unreachable-until").read_bytes().isdigit()
    assert [one.hook.stdin for one in spooled(home)] == [PROMPT, PROMPT]


def test_what_nobody_reads_is_not_receipted(hook: Path, home: Path) -> None:
    """A stdout that is full, and one that is closed."""
    with peers.router(home / "s", peers.answer_hook(b"x" * wire.STDOUT_MAX_BYTES)) as daemon:
        peers.announce(home, home / "s")
        with subprocess.Popen(
            [hook, "pre-edit", "claude"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environ(home)
        ) as process:
            assert process.wait(peers.WAIT_S) == 0
        line = ["/bin/sh", "-c", 'exec "$@" >&-', "sh", str(hook), "pre-edit", "claude"]
        assert_silent(subprocess.run(line, input=PROMPT, env=environ(home), capture_output=True, check=False))
        assert [frames[2] for frames in daemon.wait_for(2)] == [wire.HOOK, wire.HOOK]


@pytest.mark.parametrize(("stdin", "kept"), [(PROMPT + b"\n", [PROMPT + b"\n"]), (PROMPT[:-1], [])])
def test_a_stdin_that_never_ends_ends_with_the_deadline(
    hook: Path, home: Path, stdin: bytes, kept: list[bytes]
) -> None:
    """A prompt that is there in full is kept, half of one is nobody's word."""
    with peers.router(home / "s", peers.answer_hook(ANSWER)) as daemon:
        peers.announce(home, home / "s")
        with subprocess.Popen([hook, "prompt-submit", "claude"], stdin=subprocess.PIPE, env=environ(home)) as process:
            assert process.stdin
            process.stdin.write(stdin)
            process.stdin.flush()
            assert process.wait(peers.WAIT_S) == 0
        assert daemon.received == []
    assert [one.hook.stdin for one in spooled(home)] == kept


@pytest.mark.parametrize("size", [wire.STDIN_MAX_BYTES, wire.STDIN_MAX_BYTES + 1])
def test_a_stdin_at_its_bound_is_carried_and_over_it_dropped(hook: Path, home: Path, size: int) -> None:
    """No half prompt is sent or kept, and the harness that writes it meets no closed pipe."""
    with peers.router(home / "s", peers.answer_hook(ANSWER)) as daemon:
        peers.announce(home, home / "s")
        ran = run(hook, "prompt-submit", home, b"x" * size, {"MEMD_PROBE": "1"})
        assert (ran.returncode, ran.stderr) == (0, b"")
        is_carried = size <= wire.STDIN_MAX_BYTES
        assert [len(frames[-1]) for frames in daemon.wait_for(is_carried)[:1]] == [size] * is_carried
    assert spooled(home) == []


FRAME = st.builds(lambda flags, size: bytes((flags, size)), st.integers(0, 255), st.integers(0, 255)) | st.builds(
    lambda flags, size: bytes((flags,)) + size.to_bytes(8, "big"), st.integers(0, 7), st.integers(0, 2**64 - 1)
)
GREETED = st.just(zmtp.GREETING + zmtp.READY.replace(b"DEALER", b"ROUTER"))
SAID = st.lists(st.binary(max_size=40) | FRAME | GREETED, max_size=8).map(b"".join)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(is_greeted=st.booleans(), said=SAID)
def test_whatever_a_peer_says_it_is_silent(hook: Path, home: Path, is_greeted: bool, said: bytes) -> None:
    """Frames of any flags and sizes, half ones, and noise: the sanitizers find nothing, and nothing comes out."""
    (home / "s").unlink(missing_ok=True)
    begin = zmtp.GREETING + zmtp.READY.replace(b"DEALER", b"ROUTER") if is_greeted else b""
    over = threading.Event()

    def behave(connection: socket.socket) -> None:
        connection.sendall(begin + said)
        connection.shutdown(socket.SHUT_WR)
        peers.until_gone(connection)
        over.set()

    with peers.listener(home / "s", behave):
        peers.announce(home, home / "s")
        assert_silent(run(hook, "pre-edit", home))
        assert over.wait(peers.WAIT_S)
