"""The door for MCP: what the socket's thread hands on, and the thread on which the official SDK serves it (mcp_server.py).

The SDK costs 0.7 s and 41 MB to import, so it comes in with the first message and on its own thread. Whatever happens there, each
message is answered once: by the server, or here with a sentence and another status than DONE.
"""

import gc
import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from memd_client import wire
from memd_client.carried import Carried
from memd_daemon import errors, limits

if TYPE_CHECKING:
    import asyncio

    from memd_daemon.mcp_server import McpServer
    from memd_daemon.service.tools import Tools

log: Final = logging.getLogger("memd.mcp")

STOPPING: Final = errors.Stopping().message.encode()
FAILED: Final = errors.Fault("mcp").message.encode()


class Handed(NamedTuple):
    """One message of a client: what crossed the wire, the carrier's pid, and how it is answered."""

    carried: Carried
    pid: int
    answer: Callable[..., None]


def _sdk() -> "type[McpServer]":
    """Loads the SDK. What that leaves behind stays for good, so no collection goes through it: that took 100 ms, hooks waiting."""
    gc.disable()
    try:
        from memd_daemon.mcp_server import McpServer
    finally:
        gc.freeze()
        gc.enable()
    return McpServer


class Door:
    """Takes messages from any thread. Costs nothing until the first: ``tools`` gives them, on the door's own thread."""

    def __init__(self, tools: "Callable[[], Tools]") -> None:
        self._tools = tools
        self._lock = threading.Lock()
        self._waiting: list[Handed] = []  # until the SDK is in
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server: McpServer | None = None
        self._is_closed = False

    def take(self, carried: Carried, pid: int, answer: Callable[..., None]) -> None:
        """Hands a message on; returns at once. Raises RuntimeError where the system gives no thread; then nothing is answered."""
        handed = Handed(carried, pid, answer)
        with self._lock:
            if not self._is_closed:
                self._pass_on(handed)
                return
        answer(STOPPING, status=wire.STOPPING)

    def close(self) -> None:
        """Ends the serving; what is not answered by then is answered here."""
        with self._lock:
            self._is_closed = True
            thread = self._thread  # it takes itself off when it ends
            if self._server is not None:
                self._on_loop(self._server.stop)
        if thread is not None:
            thread.join(limits.MCP_STOP_WAIT_S)

    def _pass_on(self, handed: Handed) -> None:
        """Raises RuntimeError where the system gives no thread; then the message is not kept."""
        if self._server is not None and self._on_loop(partial(self._server.take, handed)):
            return
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="memd-mcp", daemon=True)
            thread.start()  # it waits for the lock that is held here
            self._thread = thread
        self._waiting.append(handed)

    def _on_loop(self, work: Callable[[], None]) -> bool:
        """Whether there is a loop to do it; one that has just ended answers what waits when it takes itself off."""
        try:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(work)
        except RuntimeError:
            return False
        return self._loop is not None

    def _run(self) -> None:
        try:
            import asyncio  # as the SDK: no start waits for it

            asyncio.run(self._serve(_sdk()(self._tools())))
        except (ImportError, OSError, RuntimeError):  # no module, descriptor or thread: the next message tries again
            log.exception("MCP cannot be served")
        finally:
            self._take_off()

    def _take_off(self) -> None:
        """This thread ends; what waits for it is answered, and the next message begins another."""
        with self._lock:
            left, self._waiting = self._waiting, []
            self._thread = self._loop = self._server = None
        for handed in left:
            handed.answer(FAILED, status=wire.FAULT)

    async def _serve(self, server: "McpServer") -> None:
        import asyncio

        with self._lock:
            self._loop, self._server = asyncio.get_running_loop(), server
            waiting, self._waiting = self._waiting, []
            if self._is_closed:
                server.stop()
        for handed in waiting:
            server.take(handed)
        await server.serve()
