"""Stops, restarts, upgrades and idle ends while hooks are in flight: no prompt is lost, and no two versions take turns."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memd_client import Memd, __version__, spawn
from tests.daemon.housed import WAIT_S, House, ended, until, until_gone
from tests.daemon.test_lifecycle import end

THIRTY = [f"prompt {number}" for number in range(30)]
OLDER, NEWER = "0.0.1", "99.0.0"
# An installed memd of another version, as far as a home can tell: what its launcher names, and its command.
INSTALLED = """\
#!/bin/sh
exec '{python}' -I -c '
import os, sys
import memd_client
memd_client.__version__ = "{version}"
if sys.argv[-1] == "memd_daemon":
    from memd_daemon.__main__ import main
    os._exit(main())
import json
sys.executable = "{installed}"
from memd_client.memd import Memd, MemdError
for line in sys.stdin:
    try:
        with Memd() as memd:
            pong = memd.ping()
        said = [pong.version, pong.pid]
    except MemdError as refused:
        said = [refused.code, 0]
    print(json.dumps(said), flush=True)
' "$@"
"""


@pytest.fixture
def house() -> Iterator[House]:
    made = House()
    yield made
    made.close()


class Installed:
    """A command of another version that asks the daemon of a house, again and again."""

    def __init__(self, house: House, version: str) -> None:
        self.python = house.folder / f"python {version}"
        self.python.write_text(INSTALLED.format(python=sys.executable, version=version, installed=self.python))
        self.python.chmod(0o700)
        self._process = subprocess.Popen(
            [self.python], env=house.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def asks(self) -> tuple[str, int]:
        """The version that answered and its pid, or why none did."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write("ping\n")
        self._process.stdin.flush()
        said, pid = json.loads(self._process.stdout.readline())
        return said, pid

    def close(self) -> None:
        self._process.communicate(timeout=WAIT_S)


@pytest.fixture
def older(house: House) -> Iterator[Installed]:
    made = Installed(house, OLDER)
    yield made
    made.close()


@pytest.fixture
def newer(house: House) -> Iterator[Installed]:
    made = Installed(house, NEWER)
    yield made
    made.close()


def test_two_installed_versions_never_restart_each_other_in_turns(
    house: House, older: Installed, newer: Installed
) -> None:
    """AT8: fifty commands in turns. The newer one replaces the older one's daemon once, the older one is told so, and what hooks
    start from then on is the newer one's."""
    launcher = Path(os.fsdecode(spawn.launcher_path(os.fsencode(house.home))))
    launcher.unlink()
    version, first = older.asks()
    assert version == OLDER
    version, second = newer.asks()
    assert version == NEWER
    assert first != second
    for _ in range(25):
        assert older.asks() == ("daemon-newer", 0)
        assert newer.asks() == (NEWER, second)
    assert house.daemons() == [second]
    os.kill(second, signal.SIGKILL)
    until_gone(second)
    assert older.asks()[0] == "daemon-newer"  # there was none to find: it has started the newer one's
    third = house.reached_any()
    os.kill(third, signal.SIGKILL)
    until_gone(third)
    house.hook("session-start")
    assert newer.asks() == (NEWER, house.reached_any())


def test_an_older_install_may_start_where_the_newer_one_is_gone(
    house: House, older: Installed, newer: Installed
) -> None:
    """AT8: one that was removed leaves a launcher that starts nothing any more."""
    _, pid = newer.asks()
    os.kill(pid, signal.SIGKILL)
    until_gone(pid)
    newer.python.unlink()
    assert older.asks()[0] == OLDER


def test_an_upgrade_loses_nothing_in_flight(house: House, older: Installed) -> None:
    """AT8: thirty hooks of an older daemon's time, and a command of the newer version among them: every prompt is a turn."""
    Path(os.fsdecode(spawn.launcher_path(os.fsencode(house.home)))).unlink()
    assert older.asks()[0] == OLDER
    running = house.hooks("prompt-submit", *THIRTY)
    with house.client() as memd:
        assert memd.ping().version == __version__
    ended(running)
    house.hook("prompt-submit", "the last one")
    assert sorted(house.prompts()) == sorted([*THIRTY, "the last one"])
    assert len(house.alone()) == 1


def test_hooks_during_restarts_lose_no_prompt(house: House) -> None:
    """AT1: whoever finds nobody, or somebody who is leaving, keeps its prompt for the next."""
    house.hook("session-start")
    running = house.hooks("prompt-submit", *THIRTY)
    with Memd(house.home) as memd:
        pids = {memd.restart().pid for _ in range(3)}
    assert len(pids) == 3
    ended(running)
    house.hook("prompt-submit", "the last one")
    assert sorted(house.prompts()) == sorted([*THIRTY, "the last one"])
    assert len(house.alone()) == 1


def test_a_stop_during_thirty_hooks_leaves_no_process_and_loses_no_prompt(house: House) -> None:
    """AT5: it is deliberate, so none of the hooks starts the next one; a session's start does, and takes in what they kept."""
    house.hook("session-start")
    running = house.hooks("prompt-submit", *THIRTY)
    with house.client(starts=False) as memd:
        memd.stop()
    ended(running)
    assert house.daemons() == []
    left = {path.name for path in (house.home / "run").iterdir()}
    assert {"daemon.lock", "stopped"} <= left <= {"daemon.lock", "stopped", "unreachable-until"}
    for event in ("prompt-submit", "pre-edit", "session-end"):
        assert house.hook(event, "said while it was off") == b""
    assert house.daemons() == []
    house.hook("session-start")
    house.hook("prompt-submit", "the last one")
    assert sorted(house.prompts()) == sorted([*THIRTY, "said while it was off", "the last one"])


def test_an_idle_end_that_meets_a_hook_loses_no_prompt(house: House) -> None:
    """AT1: a daemon that goes at any moment, between a hook's look at the address and its call too."""
    house.patch("from memd_daemon.daemon import Daemon\nDaemon.idle_exit_s = lambda _: 0.02")
    prompts = [f"prompt {number}" for number in range(12)]
    for prompt in prompts:
        house.hook("prompt-submit", prompt)
    until(lambda: house.daemons() == [])
    house.unpatch()
    house.hook("session-start")
    house.hook("prompt-submit", "the last one")
    assert sorted(house.prompts()) == sorted([*prompts, "the last one"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_is_a_stop_in_good_order_and_no_announced_one(house: House, number: signal.Signals) -> None:
    """Also the one that a closed terminal sends to `memd daemon`: nothing is left, and the next hook starts another."""
    process = house.daemon()
    try:
        house.reached(process.pid)
        process.send_signal(number)
        assert process.wait(WAIT_S) == 0
    finally:
        end(process)
    assert [path.name for path in (house.home / "run").iterdir()] == ["daemon.lock"]
    house.hook("session-start")
    assert len(house.alone()) == 1
