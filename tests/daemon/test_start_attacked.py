"""A start that is attacked at each of its steps: by signals, and by a package that is no longer whole."""

import signal
from collections.abc import Iterator

import pytest

from memd_client import api
from tests.daemon.housed import WAIT_S, House, ended

STEPS = {
    "the address is told": """\
from memd_daemon import lifecycle as place
real = place._tell_address
def struck(*given):
    real(*given)
    os.kill(os.getpid(), {number})
place._tell_address = struck
""",
    "the rest is to come in": """\
from memd_daemon.daemon import Daemon
real = Daemon.begin
def struck(daemon):
    os.kill(os.getpid(), {number})
    real(daemon)
Daemon.begin = struck
""",
    "the rest comes in": """\
import builtins
real = builtins.__import__
def struck(name, *given, **named):
    if name == "memd_daemon.later":
        os.kill(os.getpid(), {number})
    return real(name, *given, **named)
builtins.__import__ = struck
""",
    "the rest is there": """\
from memd_daemon.daemon import Daemon
real = Daemon.begin
def struck(daemon):
    real(daemon)
    os.kill(os.getpid(), {number})
Daemon.begin = struck
""",
}
BROKEN = """\
import builtins
real = builtins.__import__
def gone(name, *given, **named):
    if name == "memd_daemon.later":
        raise {fault}("half of it is another version's")
    return real(name, *given, **named)
builtins.__import__ = gone
"""


@pytest.fixture
def house() -> Iterator[House]:
    house = House()
    yield house
    house.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
@pytest.mark.parametrize("step", STEPS)
def test_a_signal_at_any_step_of_a_start_keeps_nobody_from_the_next(
    house: House, step: str, number: signal.Signals
) -> None:
    """Who is told to go has gone in order, and refused nothing; who was killed is in nobody's way."""
    struck = house.daemon(STEPS[step].format(number=int(number)))
    code = struck.wait(WAIT_S)
    assert code == (0 if number == signal.SIGTERM else -number), house.said()
    left = {file.name for file in (house.home / "run").iterdir()}
    assert "refused" not in left
    assert number == signal.SIGKILL or not left & {"address", "status.json", "memd.sock"}
    after = house.daemon()
    assert house.reached(after.pid).pid == after.pid
    with house.client(starts=False) as memd:
        assert memd.ask(api.Verify(), api.VerifyReply).faults == []
    after.terminate()
    assert after.wait(WAIT_S) == 0


@pytest.mark.parametrize("fault", ["ImportError", "AttributeError", "SyntaxError"])
def test_a_start_whose_rest_cannot_be_imported_says_so_and_loses_no_prompt(house: House, fault: str) -> None:
    """The package is exchanged while it comes in: the hook is silent, what was typed is kept, and the next daemon has it."""
    broken = house.daemon(BROKEN.format(fault=fault))
    assert broken.wait(WAIT_S) != 0
    assert "`start`" in (house.home / "run" / "refused").read_text()
    assert ended(house.hooks("prompt-submit", "use tabs")) == [b""]
    assert house.daemons() == []
    with house.client() as memd:
        memd.ping()
    assert house.prompts() == ["use tabs"]
