"""A client of `memd mcp` that speaks bytes: the carrier as a process, lines in and out, whatever is in them."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.cli.world import PROGRAM, WAIT_S, World

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


class Client:
    """One carrier. ``environ`` goes on top of the world's."""

    def __init__(self, world: World, *, cwd: Path | None = None, **environ: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-c", PROGRAM, "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd or world.repository,
            env={**world.environ, **environ},
            start_new_session=True,
        )
        self._seen = b""
        self._number = 0
        self._others: list[dict[str, Any]] = []

    # --- lines

    def send(self, message: dict[str, Any] | bytes) -> None:
        """One line."""
        assert self.process.stdin is not None
        raw = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(raw + b"\n")
        self.process.stdin.flush()

    def line(self) -> dict[str, Any]:
        """The next line that the carrier writes."""
        assert self.process.stdout is not None
        end = time.monotonic() + WAIT_S
        while b"\n" not in self._seen:
            assert time.monotonic() < end, f"waited in vain; so far {self._seen[:200]!r}"
            if select.select([self.process.stdout], [], [], 1.0)[0]:
                chunk = os.read(self.process.stdout.fileno(), 65_536)
                assert chunk, f"the carrier has ended: {self.process.stderr.read()!r}"  # type: ignore[union-attr]
                self._seen += chunk
        line, _, self._seen = self._seen.partition(b"\n")
        told: dict[str, Any] = json.loads(line)
        return told

    # --- requests

    def request(self, method: str, params: dict[str, Any] | None = None) -> int:
        """Sends a request; its id."""
        self._number += 1
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": self._number, "method": method}
        self.send(message if params is None else message | {"params": params})
        return self._number

    def answer(self, id_: int) -> dict[str, Any]:
        """The answer to the request with this id; others are kept for whoever asks for them."""
        for kept in self._others:
            if kept["id"] == id_:
                self._others.remove(kept)
                return kept
        while (told := self.line())["id"] != id_:
            self._others.append(told)
        return told

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return self.answer(self.request(method, params))

    def hello(self) -> dict[str, Any]:
        """The handshake; what the server says of itself."""
        told: dict[str, Any] = self.ask("initialize", HELLO)["result"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return told

    def call(self, tool: str, **arguments: object) -> tuple[str, bool]:
        """The text that a tool answers, and whether it is a refusal."""
        told = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert "result" in told, told
        result = told["result"]
        (content,) = result["content"]
        assert content["type"] == "text"
        return content["text"], result.get("isError", False)

    # --- the end

    def leave(self) -> int:
        """stdin's end; the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(WAIT_S)

    def kill(self) -> None:
        """For the end of a test, however it went."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait(WAIT_S)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None and not pipe.closed:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue
