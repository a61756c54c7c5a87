"""One client that asks without waiting, and others that wait for their answers: what the one may take of the workers."""

import threading
import time
from collections.abc import Iterator

import pytest

from memd_client import link, wire, zmtp
from memd_daemon import limits
from tests.daemon.test_server import PATIENCE_NS, Served

FLOODING = 40


class Gate:
    """Holds every hook of the flood until it is opened, and counts those that are held."""

    def __init__(self) -> None:
        self.opened, self.changed, self.held = threading.Event(), threading.Condition(), 0

    def hook(self, call: wire.Hook, pid: int) -> bytes:
        if call.stdin == b"flood":
            with self.changed:
                self.held += 1
                self.changed.notify_all()
            self.opened.wait(30)
        return call.stdin


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def served(gate: Gate) -> Iterator[Served]:
    made = Served(gate.hook, lambda _: None)
    yield made
    gate.opened.set()
    made.close()


def until() -> int:
    return time.monotonic_ns() + PATIENCE_NS


def call(stdin: bytes, number: int = 0) -> list[bytes]:
    request = number.to_bytes(wire.REQUEST_ID_BYTES, "big")
    return wire.hook_request(wire.Hook(request, until(), 0, "claude", "pre-edit", b"/", b"", stdin))


def test_a_flood_that_is_held_up_keeps_nobody_else_waiting(served: Served, gate: Gate) -> None:
    """While one peer's hooks hang, all that it may have in hand, everybody else is answered; and then all of its own are."""
    flood = zmtp.Dealer(served.address.socket, until())
    for number in range(FLOODING):
        flood.send(call(b"flood", number), until())
    with gate.changed:
        assert gate.changed.wait_for(lambda: gate.held == limits.PEER_IN_HAND_MAX, 30)
    for _ in range(2 * limits.WORKER_THREADS):
        reply = served.ask(*call(b"quiet"))
        assert isinstance(reply, link.Reply)
        assert reply.body[1] == b"quiet"
    assert gate.held == limits.PEER_IN_HAND_MAX < limits.WORKER_THREADS
    gate.opened.set()
    answers = [wire.parse_reply(flood.receive(until()))[1] for _ in range(FLOODING)]
    flood.close()
    assert {answer.status for answer in answers} == {wire.DONE}
