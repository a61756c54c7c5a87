"""The server alone, on a real socket: what a hook is told when the daemon fails it, and what ends the serving."""

import asyncio
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memd_client import link, wire
from memd_client.address import Address
from memd_daemon.server import Server

PATIENCE_NS = 30_000_000_000


class Served:
    """A server on a thread of its own, without verbs."""

    def __init__(self, hook: Callable[[wire.Hook, int], bytes], receipt: Callable[[bytes], None]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="memd-", dir="/tmp"))
        self.address = Address(wire.PROTOCOL, 0, 0, bytes(self.folder / "s"))
        self._bound = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run(hook, receipt)))
        self._thread.start()
        assert self._bound.wait(30)

    async def _run(self, hook: Callable[[wire.Hook, int], bytes], receipt: Callable[[bytes], None]) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        self.server = Server({}, hook, receipt)
        self.server.bind(str(self.folder / "s"))
        self._bound.set()
        await self.server.serve(self._stopped)
        self.server.close()

    def ask(self, *frames: bytes) -> link.Outcome:
        return link.request(self.address, list(frames), time.monotonic_ns() + PATIENCE_NS)

    def ended(self) -> bool:
        self._thread.join(30)
        return not self._thread.is_alive()

    def close(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopped.set)
        assert self.ended()
        shutil.rmtree(self.folder)


def fails(*_: object) -> bytes:
    raise RuntimeError("the disk is gone")


def loses(_: bytes) -> None:
    raise RuntimeError("the disk is gone")


@pytest.fixture
def failing() -> Iterator[Served]:
    served = Served(fails, loses)
    yield served
    served.close()


def call() -> list[bytes]:
    deadline_ns = time.monotonic_ns() + PATIENCE_NS
    return wire.hook_request(wire.Hook(b"r" * 16, deadline_ns, 0, "claude", "prompt-submit", b"/", b"", b"{}"))


def test_a_hook_that_failed_here_is_told_so_and_says_nothing(failing: Served) -> None:
    """DONE would make the hook forget a prompt that nobody stored; its stdout stays empty and its exit code 0."""
    reply = failing.ask(*call())
    assert isinstance(reply, wire.Reply)
    assert reply.status == wire.FAULT
    assert reply.body == [b"0", b"", b""]


def test_a_receipt_that_fails_is_logged_and_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """Nobody waits for it, and the next asker is served."""
    served = Served(lambda *_: b"", loses)
    opened = link.open(served.address, time.monotonic_ns() + PATIENCE_NS)
    assert isinstance(opened, link.Link)
    assert opened.tell(wire.request(wire.RECEIPT, b"r" * 16), time.monotonic_ns() + PATIENCE_NS)
    reply = opened.ask(call(), time.monotonic_ns() + PATIENCE_NS)
    opened.close()
    served.close()
    assert isinstance(reply, wire.Reply)
    assert reply.status == wire.DONE
    assert "a receipt failed" in caplog.text


def test_a_server_that_can_receive_no_more_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon that lives and never answers would keep the next one from starting."""

    async def broken(self: Server) -> None:
        raise RuntimeError("the socket is gone")

    monkeypatch.setattr(Server, "_receive_all", broken)
    served = Served(fails, lambda _: None)
    assert served.ended()
    served.close()
