"""A daemon that is gone, wedged, dying or something else: the hook is silent, in time, and keeps what must not be lost."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memd_client import wire
from memd_hooks import carry
from tests.client import peers
from tests.hooks.carry.process import EVENTS, PROMPT, assert_silent, command, environ, run, spooled

Behave = Callable[[socket.socket], object]


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
def test_an_answer_that_does_not_count_is_silent_and_the_prompt_kept(answer: list[bytes], home: Path) -> None:
    """Whether it was stored is not known, and the request id makes twice no harm."""
    with peers.router(home / "s", lambda frames: answer if frames[2] == wire.HOOK else None):
        peers.announce(home, home / "s")
        assert_silent(run("prompt-submit", home))
    assert [call.hook.stdin for call in spooled(home)] == [PROMPT]


@pytest.mark.parametrize(
    "behave",
    [peers.garbage, peers.closes_at_once, peers.closes_mid_message, peers.closes_before_answer, peers.refuses],
    ids=lambda behave: behave.__name__,
)
def test_a_broken_peer_is_silent_and_the_prompt_kept(behave: Behave, home: Path) -> None:
    """Not a daemon, a dying one, or one that dies in the middle of its answer."""
    with peers.listener(home / "s", behave):
        peers.announce(home, home / "s")
        assert_silent(run("prompt-submit", home))
    assert [call.hook.stdin for call in spooled(home)] == [PROMPT]


def test_a_wedged_daemon_holds_a_hook_no_longer_than_its_deadline(home: Path) -> None:
    """Accepts and never answers: 300 ms, then a breaker makes it 50 ms, but not at a session start.

    The one timed test. Allowed on top are ten starts of the bare interpreter, measured here and now.
    """
    with peers.listener(home / "s", None):
        peers.announce(home, home / "s")
        bare = [_timed([sys.executable, "-I", "-S", "-c", "pass"], home) for _ in range(10)]
        first = _timed(command("prompt-submit"), home)
        second = _timed(command("pre-edit"), home)
        session_start = _timed(command("session-start"), home)
    assert first < wire.HOOK_DEADLINE_MS / 1_000 + sum(bare)
    assert second < wire.BREAKER_DEADLINE_MS / 1_000 + sum(bare)
    assert (wire.HOOK_DEADLINE_MS - wire.RESERVE_MS) / 1_000 < session_start < wire.HOOK_DEADLINE_MS / 1_000 + sum(bare)
    assert [call.hook.stdin for call in spooled(home)] == [PROMPT]


def _timed(line: list[str], home: Path) -> float:
    start = time.monotonic()
    assert_silent(subprocess.run(line, input=PROMPT, env=environ(home), capture_output=True, check=False))
    return time.monotonic() - start


def test_an_answer_after_the_deadline_is_not_printed_and_the_prompt_kept(home: Path) -> None:
    """It may have been stored or not: the request id in the spool is the one that was sent."""
    released = threading.Event()

    def late(frames: list[bytes]) -> list[bytes]:
        assert released.wait(peers.WAIT_S)
        return wire.hook_reply(b"0.1.0", b"too late")

    with peers.router(home / "s", late) as peer:
        peers.announce(home, home / "s")
        try:
            assert_silent(run("prompt-submit", home))
        finally:
            released.set()
        asked = wire.parse_hook(peer.wait_for(1)[0][3:])
    assert [call.hook.request_id for call in spooled(home)] == [asked.request_id]


@pytest.mark.parametrize("event", EVENTS)
def test_what_must_not_be_lost_is_spooled_when_nobody_is_there(event: str, home: Path) -> None:
    """A prompt, a commit, the end of a session or turn; the rest is empty and gone. The file is only its owner's."""
    before_ns = time.time_ns()
    assert_silent(run(event, home))
    calls = spooled(home)
    assert len(calls) == (event in wire.SPOOLED_EVENTS)
    for call in calls:
        assert before_ns <= call.at_ns <= time.time_ns()
        assert (call.hook.event, call.hook.harness) == (event, "claude")
        assert call.hook.stdin == (b"" if event == "git-commit" else PROMPT)
        assert call.hook.cwd == os.fsencode(Path.cwd())
        assert call.hook.environment == b"CLAUDECODE=1\n"
        file = next((home / "spool").iterdir())
        assert os.fsencode(file.name) == wire.spool_name(call.hook.request_id, call.at_ns)
        assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.parametrize(
    ("ahead_s", "deadline_ms"),
    [(-3_600, 300), (-1, 300), (20, 50), (29, 50), (31, 300), (10**9, 300)],
)
def test_the_breaker_is_open_only_for_a_time_it_could_have_written(ahead_s: int, deadline_ms: int, home: Path) -> None:
    """The past is over; more than 30 s ahead is from before a reboot. A session start is never shortened."""
    (home / "run").mkdir()
    until = max(time.monotonic_ns() + ahead_s * 1_000_000_000, 0)
    (home / "run" / "unreachable-until").write_bytes(b"%d" % until)
    assert carry._deadline_ms(os.fsencode(home), "pre-edit") == deadline_ms
    for event in ("session-start", "post-compaction"):
        assert carry._deadline_ms(os.fsencode(home), event) == wire.HOOK_DEADLINE_MS
    assert carry._deadline_ms(os.fsencode(home), "pre-edit", is_probe=True) == wire.STARTING_DEADLINE_MS


@pytest.mark.parametrize("content", [b"", b"soon", b"-1", b"1e99", b"\xff" * 40, b"9" * 4_000])
def test_a_breaker_file_with_anything_else_in_it_is_no_breaker(content: bytes, home: Path) -> None:
    """Half written or not ours; a hook with it still asks."""
    (home / "run").mkdir()
    (home / "run" / "unreachable-until").write_bytes(content)
    assert carry._deadline_ms(os.fsencode(home), "pre-edit") == wire.HOOK_DEADLINE_MS


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff" * 40, b"memd/1 %b 1 /s\n" % (b"9" * 5_000), b"memd/1 1 1 /x\0/run/memd.sock\n"],
)
def test_an_address_with_anything_else_in_it_loses_no_prompt(content: bytes, home: Path) -> None:
    """There is nobody to be asked, and what was typed is kept for the next daemon."""
    (home / "run").mkdir()
    (home / "run" / "address").write_bytes(content)
    assert_silent(run("prompt-submit", home))
    assert [one.hook.stdin for one in spooled(home)] == [PROMPT]


@pytest.mark.parametrize("name", ["unreachable-until", "address", "starting", "stopped"])
def test_a_fifo_in_the_place_of_a_run_file_holds_nobody(name: str, home: Path) -> None:
    """Nobody writes into it, so who waited for its end would wait for ever."""
    (home / "run").mkdir()
    os.mkfifo(home / "run" / name)
    for event in ("pre-edit", "prompt-submit", "session-start"):
        assert_silent(run(event, home))


def test_a_missed_deadline_opens_the_breaker_and_a_second_one_does_not_extend_it(home: Path) -> None:
    """A daemon that was only slow gets its full time again after 30 s."""
    breaker = home / "run" / "unreachable-until"
    with peers.listener(home / "s", None):
        peers.announce(home, home / "s")
        assert_silent(run("pre-edit", home))
        opened = breaker.read_bytes()
        assert 0 < int(opened) - time.monotonic_ns() <= wire.BREAKER_S * 1_000_000_000
        assert_silent(run("pre-edit", home))
        assert breaker.read_bytes() == opened
    assert breaker.stat().st_mode & 0o777 == 0o600


def test_a_probe_that_is_late_opens_no_breaker(home: Path) -> None:
    """A question whether the path works must not shorten the turns that follow."""
    with peers.listener(home / "s", None):
        peers.announce(home, home / "s")
        assert_silent(run("pre-edit", home, MEMD_PROBE="1"))
    assert not (home / "run" / "unreachable-until").exists()


def test_nobody_there_opens_no_breaker(home: Path) -> None:
    """That costs no time, and the daemon may be up at the next call."""
    peers.announce(home, home / "nobody")
    assert_silent(run("prompt-submit", home))
    assert not (home / "run" / "unreachable-until").exists()
