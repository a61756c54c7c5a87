"""A daemon that is found, and whose other half is not in yet (memd_daemon/later.py)."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue

import pytest

from memd_client import address, api, link, wire
from tests.daemon.housed import WAIT_S, House
from tests.daemon.test_lifecycle import ask

NS_PER_S = 1_000_000_000
AT_IMPORT = """
from importlib.machinery import PathFinder
class Met:
    def find_spec(self, name, path, _=None):
        if name == "memd_daemon.later":
            spec = PathFinder.find_spec(name, path)
            run = spec.loader.exec_module
            spec.loader.exec_module = lambda module: ({befalls}, run(module))
            return spec
sys.meta_path.insert(0, Met())
"""
"""Lines before a daemon begins: what befalls it where it loads the rest."""


@pytest.fixture
def house() -> Iterator[House]:
    built = House()
    yield built
    built.close()


@pytest.fixture
def gate(house: House) -> Path:
    """Whoever reads it waits until somebody writes to it."""
    path = house.folder / "gate"
    os.mkfifo(path)
    return path


def waiting(gate: Path) -> str:
    return AT_IMPORT.format(befalls=f"open({str(gate)!r}).read()")


def prompted(house: House, prompt: str) -> int:
    """How a prompt's hook that has all the time it wants is answered."""
    by = time.monotonic_ns() + int(WAIT_S * NS_PER_S)
    body = house.payload("prompt-submit", prompt=prompt)
    place = os.fsencode(house.repository)
    asked = wire.request(wire.HOOK, os.urandom(16), b"%d" % by, b"\0", b"claude", b"prompt-submit", place, b"", body)
    told = link.request(house.reached(), asked, by)
    assert isinstance(told, wire.Reply)
    return told.status


def test_hooks_and_pings_wait_for_nothing_of_it_and_a_verb_until_it_is_in(house: House, gate: Path) -> None:
    """A hook may be the one that began the daemon; whoever asks too early is told nothing wrong."""
    house.patch(waiting(gate))
    house.hook("session-start")
    house.reached()
    assert prompted(house, "use tabs") == wire.DONE
    prompts: SimpleQueue[list[str]] = SimpleQueue()
    asking = threading.Thread(target=lambda: prompts.put(house.prompts()), daemon=True)
    asking.start()
    assert prompted(house, "use spaces") == wire.DONE
    assert prompts.empty()
    gate.write_bytes(b"")
    assert prompts.get(timeout=WAIT_S) == ["use tabs", "use spaces"]
    asking.join()


HELD_BEHIND_ITS_BEGIN = """
from memd_daemon.server import Server
begin = Server.begin
Server.begin = lambda self, ended: (begin(self, ended), open({gate!r}).read())
"""
"""Lines before a daemon begins: it answers, and goes no further until somebody writes to the gate."""


def test_a_daemon_that_answers_has_said_in_its_log_that_it_serves(house: House, gate: Path) -> None:
    """However long what comes behind the first answer takes."""
    house.patch(HELD_BEHIND_ITS_BEGIN.format(gate=str(gate)))
    house.hook("session-start")
    house.reached()
    assert house.said().count("serving, version") == 1
    gate.write_bytes(b"")


@contextlib.contextmanager
def begun(house: House, patch: str = "") -> "Iterator[subprocess.Popen[bytes]]":
    """A daemon that has ended behind the block, whatever befalls it."""
    process = house.daemon(patch)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("how", ["signal", "verb"])
def test_a_stop_that_comes_before_it_is_in_is_heard_behind_it(house: House, gate: Path, how: str) -> None:
    """No signal is lost by it, what has begun is ended, and what was received is kept."""
    with begun(house, waiting(gate)) as process:
        house.reached(process.pid)
        assert prompted(house, "use tabs") == wire.DONE
        if how == "signal":
            process.send_signal(signal.SIGTERM)
        else:
            assert isinstance(ask(house.home, api.Stop()), api.StopReply)
            assert address.read(os.fsencode(house.home)) is None
        gate.write_bytes(b"")
        assert process.wait(WAIT_S) == wire.EXIT_DONE
    assert address.read(os.fsencode(house.home)) is None
    assert "error" not in house.said()
    with begun(house) as next_:
        house.reached(next_.pid)
        assert house.prompts() == ["use tabs"]


def test_one_that_cannot_load_it_says_so_and_goes(house: House) -> None:
    """Half of a daemon would keep a whole one from starting."""
    with begun(house, AT_IMPORT.format(befalls="__import__('memd_daemon.gone')")) as process:
        assert process.wait(WAIT_S) != wire.EXIT_DONE
    assert (house.home / "run" / "refused").exists()
    assert address.read(os.fsencode(house.home)) is None
    with begun(house) as next_:
        house.reached(next_.pid)
        assert house.prompts() == []
