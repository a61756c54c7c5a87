"""A process of many connections, since the system gives a daemon's descriptors for every one that an attacker has.

``python crowd.py SOCKET COUNT MANNER``: prints a line once all stand, or the daemon takes no more, and keeps them until its stdin
ends. Manners: ``silent`` says nothing, ``half`` half a greeting, ``shaken`` shakes hands, ``drip`` sends a greeting byte by byte,
``vanish`` closes each at once.
"""

import contextlib
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from memd_client import zmtp

PATIENCE_S = 3.0
"""Without one more connection, after which it is the daemon's bound that was met."""

SAID = {"silent": b"", "half": zmtp.GREETING[:40], "shaken": zmtp.GREETING + zmtp.READY, "drip": b"", "vanish": b""}


@contextlib.contextmanager
def crowd(path: bytes, count: int, manner: str) -> Iterator[subprocess.Popen[bytes]]:
    """Such a process, with its connections standing."""
    command = [sys.executable, __file__, path.decode(), str(count), manner]
    root = Path(__file__).parents[2]
    env = {"PYTHONPATH": f"{root}/client"}
    process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline()
        yield process
    finally:
        process.communicate()


def connected(path: str) -> socket.socket | None:
    """One more; None where the daemon takes none any more."""
    raw, end = socket.socket(socket.AF_UNIX), time.monotonic() + PATIENCE_S
    raw.setblocking(False)
    while time.monotonic() < end:
        with contextlib.suppress(BlockingIOError):  # the queue is full for now
            raw.connect(path)
            return raw
        time.sleep(0.001)
    raw.close()
    return None


def say(raw: socket.socket, said: bytes) -> None:
    """As far as anybody listens."""
    with contextlib.suppress(OSError):
        raw.send(said)


def main(path: str, count: int, manner: str) -> None:
    """Stands there until stdin ends."""
    opened: list[socket.socket] = []
    for _ in range(count):
        raw = connected(path)
        if raw is None:
            break
        say(raw, SAID[manner])
        opened.append(raw)
        if manner == "vanish":
            opened.pop().close()
    print(len(opened), flush=True)
    at = 0
    while not select.select([sys.stdin], [], [], 0.01 if manner == "drip" else None)[0]:
        for raw in opened:
            say(raw, zmtp.GREETING[at : at + 1])
        at += 1


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
