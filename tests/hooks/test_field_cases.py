"""Cases that other memories failed in the field, each by its number, as a client sees them: AT1, AT2, AT3. The real daemon.

With MEMD_LONG=1 the store of AT3 has 100,000 notes.
"""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memd_client import wire
from memd_daemon import limits
from memd_hooks.events import Moment
from memd_hooks.harness import claude
from memd_hooks.launcher import SCRIPTS
from tests.daemon.housed import House, ended, frozen, until
from tests.hooks.carry.process import EVENTS, assert_silent
from tests.hooks.place import Place
from tests.service.bulk import Planted, plant
from tests.service.desk import Desk

NOTES = 100_000 if os.environ.get("MEMD_LONG") else 300
NO_MODEL = "from memd_daemon.service.search import Search\nSearch.load_model = lambda self: self._stop.wait()"
RULE = "The resolver holds lock_workspace() for as long as it reads the manifest."


@pytest.fixture
def house() -> Iterator[House]:
    made = House()
    yield made
    made.close()


# --- AT1: the daemon is stopped, killed or wedged


@pytest.mark.parametrize("how", ["never started", "stopped on purpose", "killed before", "killed at the request"])
def test_at1_a_hook_without_a_daemon_is_silent_and_keeps_the_prompt(house: House, how: str) -> None:
    """AT1: exit 0, nothing on stdout and stderr, and the prompt is a turn once a daemon serves again."""
    if how == "killed at the request":
        dies = "os.kill(os.getpid(), 9)"
        house.patch(f"from memd_daemon.daemon import Daemon\nDaemon.hook = lambda *_: {dies}")
    if how != "never started":
        house.hook("subagent-start")
        pid = house.reached_any() if how == "killed at the request" else house.reached().pid
        if how == "stopped on purpose":
            with house.client(starts=False) as memd:
                memd.stop()
        elif how == "killed before":
            os.kill(pid, signal.SIGKILL)
            until(lambda: house.daemons() == [])
    assert house.hook("prompt-submit", "kept whatever becomes of the daemon") == b""
    house.unpatch()
    house.hook("session-start")
    house.reached()
    assert house.prompts() == ["kept whatever becomes of the daemon"]


def test_at1_a_wedged_daemon_costs_a_hook_its_deadline_and_then_the_breakers(house: House) -> None:
    """AT1: 300 ms for the first, 50 ms for those after it; a session's start is not shortened. Timed, with ten starts of the
    bare interpreter of this very run on top."""
    house.patch("limits.WEDGED_PINGS = 1_000")  # nobody replaces it here
    house.hook("session-start")
    with frozen(house.reached().pid):
        bare = sum(_timed([sys.executable, "-I", "-S", "-c", "pass"]) for _ in range(10))
        first = _timed_hook(house, "prompt-submit")
        second = _timed_hook(house, "prompt-submit")
        third = _timed_hook(house, "pre-edit")
        start = _timed_hook(house, "session-start")
    assert max(first, start) < wire.HOOK_DEADLINE_MS / 1_000 + bare
    assert max(second, third) < wire.BREAKER_DEADLINE_MS / 1_000 + bare
    assert house.spooled() == 2


def _timed_hook(house: House, event: str) -> float:
    start = time.monotonic()
    assert house.hook(event, f"said at {start}") == b""
    return time.monotonic() - start


def _timed(line: list[str]) -> float:
    start = time.monotonic()
    subprocess.run(line, check=True)
    return time.monotonic() - start


def test_at1_a_full_disk_silences_no_later_hook(tmp_path: Path) -> None:
    """AT1: a hook writes no byte code: cut off by a full disk it would end every hook that comes after it."""
    site = tmp_path / "site"
    for package in (Path(wire.__file__).parent, Path(claude.__file__).parent.parent):
        shutil.copytree(package, site / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    (home := tmp_path / "home").mkdir()
    line = [sys.executable, "-I", "-S", str(site / "memd_hooks/prompt_submit.py"), "prompt-submit", "claude"]

    def run(most: int) -> list[str]:
        ran = subprocess.run(
            line,
            input=b'{"prompt": "x"}',
            env={"MEMD_HOME": str(home)},
            capture_output=True,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
        )
        assert_silent(ran)
        return [file.suffix for file in (home / "spool").iterdir() if file.suffix == ".spool"]

    assert run(64) == []
    assert list(site.rglob("*.pyc")) == []
    assert run(1_000_000) == [".spool"]


@pytest.mark.parametrize(("variable", "value"), [("MEMD_OFF", "1"), ("MEMD_OFF", "yes"), ("CI", "true")])
def test_only_memd_off_silences(house: House, variable: str, value: str) -> None:
    """MEMD_OFF starts nothing and keeps nothing; CI=true changes nothing, since shells of agents have it for other reasons."""
    assert house.hook("prompt-submit", "said", **{variable: value}) == b""
    if variable == "MEMD_OFF":
        assert (house.daemons(), house.spooled(), (house.home / "run").exists()) == ([], 0, False)
    else:
        house.hook("session-start", **{variable: value})
        assert house.prompts() == ["said"]


# --- AT2: the end of a turn and of a session


@pytest.mark.parametrize(("event", "active"), [("stop", True), ("session-end", False)])
def test_at2_an_end_says_nothing_and_refuses_nothing(house: House, event: str, active: bool) -> None:
    """AT2: with the daemon up, down, and with a megabyte of last words; `stop_hook_active` or not. N ends are N events."""
    long = "x" * 1_000_000
    for round_ in range(2):
        ran = [house.hooks(event, f"{round_} {n}") for n in range(2)] + [house.hooks(event, long)]
        assert [out for running in ran for out in ended(running)] == [b""] * 3
        payload = house.payload(event, stop_hook_active=active, last_assistant_message=long, reason="clear")
        stdin = house.folder / "payload"
        stdin.write_bytes(payload)
        with stdin.open("rb") as file:
            assert_silent(
                subprocess.run(
                    [str(house.home / "bin/hook"), event, "claude"],
                    stdin=file,
                    env=house.environ,
                    capture_output=True,
                    check=False,
                )
            )
        if round_ == 0:
            assert (house.home / "run" / "starting").exists() or house.daemons()
            house.reached()
            house.settle()


def test_at2_each_end_that_nobody_heard_is_kept_by_itself(house: House) -> None:
    """AT2: N stops are N events, also the very same ones, and all are taken in."""
    (house.home / "run").mkdir(mode=0o700)
    (house.home / "run" / "stopped").touch()
    ended(house.hooks("stop", *["the same"] * 5))
    ended(house.hooks("session-end", *["the same"] * 5))
    assert (house.spooled(), house.daemons()) == (10, [])
    house.hook("session-start")
    house.settle()

    def taken() -> int:
        return sum(map(int, re.findall(r"took in (\d+) spooled", house.said())))

    until(lambda: taken() >= 10)  # what was taken in is gone from the spool before the log tells of it
    assert taken() == 10


# --- AT3: deadlines and what is answered inside them


def test_at3_every_hook_ends_long_before_its_client_gives_it_up(place: Place) -> None:
    """AT3: what stands in the client's settings after an install: of each hook the timeout, and what memd may take at most."""
    place.install()
    groups = json.loads(place.settings.read_text())["hooks"]
    registered = [hook for of_event in groups.values() for group in of_event for hook in group["hooks"]]
    assert len(registered) == len(claude.REGISTRATIONS)
    for hook in registered:
        event = hook["command"].split()[-2]
        waits = event in wire.WAITING_EVENTS
        deadline_ms = wire.STARTING_DEADLINE_MS if waits else wire.HOOK_DEADLINE_MS
        assert 2 * (deadline_ms + wire.KEEP_MS) < 1_000 * hook["timeout"], event
    assert set(SCRIPTS) == set(EVENTS)
    assert {Moment(registration.event) for registration in claude.REGISTRATIONS} <= set(SCRIPTS)


def test_at3_without_a_model_the_words_answer_inside_the_deadline(house: House) -> None:
    """AT3: a store of many notes and a model that never comes: the prompt's hook gets what its words find, not nothing."""
    desk = Desk(house.home, house.repository)
    try:
        for first in range(0, NOTES, limits.COMMIT_EVENTS_MAX):
            several = range(first, min(first + limits.COMMIT_EVENTS_MAX, NOTES))
            plant(desk, [Planted(content=f"module_{n} is read by loader_{n} alone") for n in several])
        plant(desk, [Planted(content=RULE)])
    finally:
        desk.close()
    house.patch(NO_MODEL)
    house.hook("session-start")
    house.reached()
    until(lambda: RULE.encode() in house.hook("prompt-submit", _question()))
    with house.client() as memd:
        assert not memd.ping().ready


def _question() -> str:
    """In other words each time, since one that was late on a busy machine is asked again."""
    return f"why does the resolver hold lock_workspace() while it reads the manifest? {time.monotonic_ns()}"
