"""Carried messages at the socket: they hold no worker, and no hook waits behind them."""

import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memd_client import link, wire
from memd_client.address import Address
from memd_client.carried import Carried, carried_request, parse_carried_reply
from memd_daemon import limits
from memd_daemon.server import Server

PATIENCE_NS = 30_000_000_000


def soon() -> int:
    return time.monotonic_ns() + PATIENCE_NS


class Served:
    """A server on a thread of its own, whose messages of MCP are answered by the test."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="memd-", dir="/tmp"))
        self.address = Address(wire.PROTOCOL, 0, 0, bytes(self.folder / "s"))
        self.taken: list[tuple[Carried, Callable[..., None]]] = []
        self.came = threading.Condition()
        self._bound, self._stopped = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._bound.wait(30)

    def _run(self) -> None:
        server = Server({}, lambda hook, pid: b"told", lambda _: None, self._take)
        server.bind(str(self.folder / "s"))
        server.begin(self._stopped.set)
        self._bound.set()
        self._stopped.wait()
        server.finish()
        server.close()

    def _take(self, carried: Carried, pid: int, answer: Callable[..., None]) -> None:
        with self.came:
            self.taken.append((carried, answer))
            self.came.notify_all()

    def wait_for(self, count: int) -> None:
        with self.came:
            assert self.came.wait_for(lambda: len(self.taken) >= count, 30)

    def open(self) -> link.Link:
        opened = link.open(self.address, soon())
        assert isinstance(opened, link.Link)
        return opened

    def stop(self) -> None:
        self._stopped.set()

    def ended(self) -> bool:
        self._thread.join(30)
        return not self._thread.is_alive()

    def close(self) -> None:
        if self._thread.is_alive():
            for _, answer in self.taken:
                answer()
            self.stop()
        assert self.ended()
        shutil.rmtree(self.folder)


@pytest.fixture
def served() -> Iterator[Served]:
    made = Served()
    try:
        yield made
    finally:
        made.close()


def message(number: int) -> list[bytes]:
    return carried_request(Carried(b"s" * 16, number, b"/", b"", b"{}"))


def heard(opened: link.Link) -> list[tuple[int, int, list[bytes]]]:
    """(status, number, said) of what comes next."""
    while not (replies := opened.heard(soon())):
        continue
    assert isinstance(replies, list), replies
    return [(reply.status, *parse_carried_reply(reply)) for reply in replies]


def test_a_hook_is_answered_while_every_carried_message_waits(served: Served) -> None:
    """Many more of them than there are workers."""
    carrier, hook = served.open(), served.open()
    many = 4 * limits.WORKER_THREADS
    for number in range(1, many + 1):
        assert carrier.tell(message(number), soon())
    served.wait_for(many)
    call = wire.Hook(b"r" * 16, soon(), 0, "claude", "pre-edit", b"/", b"", b"{}")
    told = hook.ask(wire.hook_request(call), soon())
    assert isinstance(told, wire.Reply)
    assert told.body == [b"0", b"told", b""]
    carrier.close()
    hook.close()


def test_answers_find_their_messages_in_any_order(served: Served) -> None:
    """By the number; one may say several things, or nothing."""
    carrier = served.open()
    for number in (1, 2, 3):
        assert carrier.tell(message(number), soon())
    served.wait_for(3)
    answers = {carried.number: answer for carried, answer in served.taken}
    answers[3](b"c1", b"c2")
    answers[1]()
    answers[2](b"not now", status=wire.STOPPING)
    got: list[tuple[int, int, list[bytes]]] = []
    while len(got) < 3:
        got += heard(carrier)
    assert sorted(got, key=lambda one: one[1]) == [
        (wire.DONE, 1, []),
        (wire.STOPPING, 2, [b"not now"]),
        (wire.DONE, 3, [b"c1", b"c2"]),
    ]
    served.taken.clear()
    carrier.close()


def test_over_what_may_wait_a_message_is_turned_away(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once and under its number, so that the carrier can tell its client."""
    monkeypatch.setattr(limits, "WAITING_MAX_BYTES", 10)
    carrier = served.open()
    assert carrier.tell(message(9), soon())
    ((status, number, said),) = heard(carrier)
    assert (status, number) == (wire.REFUSED, 9)
    assert b"more requests" in said[0]
    carrier.close()


def test_a_malformed_message_is_answered(served: Served) -> None:
    """Nobody waits for ever, and nothing was handed on."""
    outcome = link.request(served.address, wire.request(wire.MCP, b"short"), soon())
    assert isinstance(outcome, wire.Reply)
    assert outcome.status == wire.USAGE
    assert served.taken == []


def test_a_stop_waits_for_what_was_handed_on() -> None:
    """What is in hand is finished, as any other request."""
    served = Served()
    carrier = served.open()
    assert carrier.tell(message(1), soon())
    served.wait_for(1)
    served.stop()
    (_, answer), *_ = served.taken
    answer(b"done")
    assert heard(carrier) == [(wire.DONE, 1, [b"done"])]
    assert served.ended()
    carrier.close()
    served.close()


def test_a_message_that_cannot_be_handed_on_is_told_and_the_door_stays_open(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The socket's thread is everybody's: what one message does to it ends nobody's service."""
    carrier = served.open()
    with monkeypatch.context() as broken:
        broken.setattr(served, "taken", None)  # so that handing on raises
        assert carrier.tell(message(1), soon())
        ((status, number, said),) = heard(carrier)
    assert (status, number) == (wire.FAULT, 1)
    assert b"memd logs" in said[0]
    assert "could not be handed on" in caplog.text
    assert carrier.tell(message(2), soon())
    served.wait_for(1)
    carrier.close()
