"""Cases that other memories failed in the field, each by its number: AT4, AT5, AT8. Real daemons, real hooks.

The further promises of AT8 are held by tests/daemon/test_lifecycle_wedged.py (a wedged daemon), test_lifecycle_restart.py (two
versions) and test_lifecycle_homes.py (two homes, nothing inherited). With MEMD_LONG=1 the herd of AT5 has 200 sessions, else 20.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from memd_client import __version__, address, api, link, wire
from tests.daemon.housed import WAIT_S, House, ended

THIRTY = [f"prompt {number}" for number in range(30)]
SESSIONS = 200 if os.environ.get("MEMD_LONG") else 20
SEED = int(os.environ.get("MEMD_SEED", "20261130"))
HERD = Path(__file__).with_name("herd.py")
APART = ["unshare", "--net", "--pid", "--fork", "--mount-proc", "--kill-child"]


@pytest.fixture
def house() -> Iterator[House]:
    made = House()
    yield made
    made.close()


def may_stand_apart() -> bool:
    """Whether a PID namespace of one's own can be had here."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*APART, "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("event", ["prompt-submit", "session-start"])
def test_at4_thirty_hooks_and_no_daemon_give_one_daemon(house: House, event: str) -> None:
    """AT4: thirty exits 0 with nothing on stderr, one daemon, ready for the next prompt; every prompt becomes a turn, once."""
    assert (house.daemons(), house.said()) == ([], "")
    ended(house.hooks(event, *THIRTY))
    known = house.reached()
    assert house.alone() == [known.pid]
    assert house.said().count("serving, version") == 1
    house.hook("prompt-submit", "the next one")
    assert house.reached().pid == known.pid
    assert sorted(house.prompts()) == sorted([*(THIRTY if event == "prompt-submit" else ()), "the next one"])


@pytest.mark.skipif(not may_stand_apart(), reason="a PID namespace of its own needs unshare(1) and the right to use it")
def test_at5_a_herd_of_killed_clients_and_hooks_leaves_one_daemon(house: House) -> None:
    """AT5: clients and hooks killed at any moment, stdins that never end: one daemon is left, and after `memd stop` nothing."""
    line = [sys.executable, str(HERD), str(house.home), str(house.repository), str(SESSIONS), str(SEED)]
    environ = {**house.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    ran = subprocess.run([*APART, *line], env=environ, capture_output=True, timeout=10 * WAIT_S, check=False)
    assert ran.returncode == 0, ran.stderr.decode()
    told = json.loads(ran.stdout)
    assert list(told["left"]) == [str(told["served"])], f"seed {SEED}: {told}"
    assert told["orphans"] == [told["served"]]
    assert 0 < told["killed"] < SESSIONS
    assert told["stopped"] == {}


def test_at8_a_handshake_tells_which_daemon_it_is(house: House) -> None:
    """AT8: version and protocol in every reply; pid, home and store to whoever asks. The pid is the announced one's and the
    socket's own, so that what listens at a path is known to be what wrote the address."""
    house.hook("session-start")
    known = house.reached()
    body = msgspec.msgpack.encode(api.Ping())
    reply = link.request(known, wire.request(wire.PING, body), wire_deadline())
    assert isinstance(reply, link.Reply)
    pong = msgspec.msgpack.decode(reply.body[0], type=api.Pong)
    assert (reply.version.decode(), pong.version, pong.pid, pong.home) == (
        __version__,
        __version__,
        known.pid,
        str(house.home),
    )
    told = json.loads((house.home / "run" / "status.json").read_text())
    assert (told["pid"], told["version"], told["socket"], told["protocol"]) == (
        known.pid,
        __version__,
        os.fsdecode(known.socket),
        wire.PROTOCOL.decode(),
    )
    assert address.process_start(known.pid) == known.start_time
    other = House()
    try:
        other.hook("session-start")
        other.reached()
        with other.client(starts=False) as memd, house.client() as own:
            assert len(bytes.fromhex(pong.store)) == 16
            assert own.restart().store == pong.store != memd.ping().store
    finally:
        other.close()


def wire_deadline() -> int:
    """A deadline that a passing test never reaches, CLOCK_MONOTONIC ns."""
    return time.monotonic_ns() + int(WAIT_S * 1e9)
