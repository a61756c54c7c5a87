"""A hook that finds no daemon starts one: once, detached, and waits only where the rules depend on it."""

import os
import select
import subprocess
from pathlib import Path

import pytest

from memd_client import address, wire
from tests.client import peers
from tests.hooks.carry.process import PROMPT, assert_silent, command, environ, run, spooled


def test_a_first_hook_starts_a_daemon_and_does_not_wait_for_it() -> None:
    """It falls back at once: its prompt is in the spool before the daemon looks there."""
    with peers.startable_home() as home:
        assert_silent(run("prompt-submit", home))
        assert [call.hook.stdin for call in spooled(home)] == [PROMPT]
        pid = peers.wait_until_ready(home)
        assert run("prompt-submit", home).stdout == b"from a fresh daemon"
        assert peers.starts(home) == [pid]


@pytest.mark.parametrize("event", wire.WAITING_EVENTS)
def test_what_carries_the_rules_waits_for_a_starting_daemon(event: str) -> None:
    """A stale address of a daemon that is gone included."""
    with peers.startable_home() as home:
        peers.announce(home, home / "run" / "gone", pid=2**22 + 1, start_time=1)
        (home / "ready").unlink()
        ran = run(event, home)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"from a fresh daemon", b"")


def test_a_daemon_that_was_stopped_is_started_by_a_session_start_alone() -> None:
    """`memd stop` means it; the prompt is kept all the same."""
    with peers.startable_home() as home:
        (home / "ready").unlink()
        (home / "run").mkdir()
        (home / "run" / "stopped").touch()
        for event in ("prompt-submit", "pre-edit", "subagent-start"):
            assert_silent(run(event, home))
        assert not (home / "run" / "starting").exists()
        assert len(spooled(home)) == 1
        assert run("session-start", home).stdout == b"from a fresh daemon"


def test_a_daemon_that_cannot_start_is_silent(home: Path) -> None:
    """A launcher whose interpreter is gone; a session start waits in vain and ends by its deadline."""
    (home / "bin").mkdir()
    launcher = home / "bin" / "memd-daemon"
    launcher.write_text("#!/bin/sh\nexec /no/such/python -I -m memd_daemon\n", encoding="utf-8")
    launcher.chmod(0o700)
    assert_silent(run("session-start", home))
    assert_silent(run("pre-edit", home))


def test_thirty_hooks_at_once_start_one_daemon() -> None:
    """Thirty exits 0, thirty prompts kept or answered, and ready for the next."""
    with peers.startable_home() as home:
        (home / "prompt").write_bytes(PROMPT)  # a file, so that no hook has to wait for its stdin until all are started
        running = [_start(home) for _ in range(30)]
        done = [(*process.communicate(None, peers.WAIT_S), process.returncode) for process in running]
        pid = peers.wait_until_ready(home)
        assert {(stderr, code) for _, stderr, code in done} == {(b"", 0)}
        assert sum(stdout == b"from a fresh daemon" for stdout, _, _ in done) + len(spooled(home)) == 30
        assert (
            run("prompt-submit", home, MEMD_PROBE="1").stdout == b"from a fresh daemon"
        )  # whatever the breaker says by now
        for successor in set(peers.starts(home)) - {pid}:  # of a hook that the one daemon kept waiting
            peers.wait_until_gone(successor)
        found = address.read(os.fsencode(home))
        assert found is not None
        assert (found.pid, address.is_alive(found)) == (pid, True)


def _start(home: Path) -> "subprocess.Popen[bytes]":
    with (home / "prompt").open("rb") as prompt:
        return subprocess.Popen(
            command("prompt-submit"), stdin=prompt, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ(home)
        )


def test_a_started_daemon_holds_no_descriptor_of_the_hook() -> None:
    """The hook's stdout is at its end when the hook is: nothing it started keeps the harness's pipe open."""
    with peers.startable_home() as startable:
        process = subprocess.Popen(
            command("pre-edit"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environ(startable)
        )
        with process:
            assert process.stdout
            peers.wait_until_ready(startable)
            assert process.wait(peers.WAIT_S) == 0
            assert select.select([process.stdout], [], [], peers.WAIT_S)[0]
            assert process.stdout.read() == b""
