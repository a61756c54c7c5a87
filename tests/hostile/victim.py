"""The daemon under attack: a process whose memory, descriptors and log are read from outside, and a client that is quiet.

What is measured is the kernel's: ``VmHWM``, which begins anew with `watched`, and the names in ``/proc/<pid>/fd``.
"""

import json
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

from memd_client import address, wire, zmtp
from memd_daemon import limits
from tests.attack.siege import Siege
from tests.cli.world import WAIT_S

MB: Final = 1024 * 1024
KNOWN: Final = "Gotcha: app.py adds with a plus sign, and the release job depends on that."
CANARY: Final = "xyzzy-canary-9c1f"
"""Stands in everything that is sent, and never in the log."""

# What the guard allows, and what comes in between the two looks that it needs: at three gigabytes a second, a tenth of a second
# each, and as much again where a busy machine is late.
TRAFFIC_PEAK_MB: Final = limits.TRAFFIC_MAX_BYTES // MB + 1_000


IS_LONG: Final = bool(os.environ.get("MEMD_FUZZ_LONG"))
"""Whether everything is tried, as scripts/fuzz does; else every few of what is most, always the same ones."""

T = TypeVar("T")


def some(all_: Iterable[T], of: int) -> Iterator[T]:
    """Every so manyth, from a different one in each list; all in the long form."""
    tried = list(all_)
    return iter(tried if IS_LONG else tried[len(tried) % of :: of])


class Victim(Siege):
    """A home whose daemon was started here. ``descriptors``: how many it may have open; 0 is what the machine allows."""

    def __init__(self, descriptors: int = 0) -> None:
        super().__init__()
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        allowed = str(descriptors or hard) if (descriptors or hard) != resource.RLIM_INFINITY else "unlimited"
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", 'ulimit -n "$1"; shift; exec "$@"', "sh", allowed, sys.executable, "-m", "memd_daemon"],
            cwd=self.folder,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        until(lambda: address.read(os.fsencode(self.home)) is not None, "the daemon has started")
        self.settled()
        self.until_model()
        self.written(KNOWN, kind="gotcha", anchors=["app.py"])
        self.written(f"Another note, to be tried on: {CANARY}.")
        self.quiet_is_served()
        self.idle_descriptors = self.descriptors()

    def close(self) -> None:
        super().close()
        self.process.wait(WAIT_S)

    def until_model(self) -> None:
        """The model takes memory once, and that is no attacker's."""
        until(lambda: self.typed.ping().ready, "the model is in")

    # --- what the kernel says of it

    def descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def peak_mb(self) -> int:
        """The most memory that it had since it was `watched`."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) // 1024

    def anonymous_mb(self) -> int:
        """The memory that it has now, and that no file stands behind."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) // 1024

    def log(self) -> list[dict[str, str]]:
        files = sorted((self.home / "logs").glob("daemon.log*"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    # --- attacks

    @property
    def address(self) -> bytes:
        return self._address().socket

    def connected(self) -> socket.socket:
        """A raw connection; waits where the queue of those that the system holds is full."""
        raw = socket.socket(socket.AF_UNIX)
        raw.settimeout(WAIT_S)
        raw.connect(self.address)
        return raw

    def dealer(self) -> zmtp.Dealer:
        return zmtp.Dealer(self.address, time.monotonic_ns() + int(WAIT_S * 1e9))

    @contextmanager
    def watched(self, peak_mb: int = 400) -> Iterator[None]:
        """Around an attack: the daemon is the same process, had at no time more memory than that beyond what it had before, has its
        descriptors back, answers a quiet client, and its log says nothing of what was sent."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")
        before = self.peak_mb()
        yield
        self.quiet_is_served()
        took = self.peak_mb() - before
        assert took < peak_mb, f"{took} MB more than before"
        assert self.process.poll() is None
        until(lambda: self.descriptors() <= self.idle_descriptors + 8, "the descriptors are back")
        said = self.log()
        assert CANARY not in json.dumps(said)
        assert not [line for line in said if "trace" in line], said[-3:]
        print(f"{took} MB")

    def quiet_is_served(self) -> None:
        """A ping is answered; a session's start is told what is known; a prompt is taken and stored."""
        assert self.typed.ping().pid == self.process.pid
        session, prompt = self.session(), f"what does the quiet client want of app.py? {time.monotonic_ns()}"
        assert KNOWN in self.touched(session)
        payload = self.payload("UserPromptSubmit", session, prompt=prompt, prompt_id=os.urandom(4).hex())
        end = time.monotonic_ns() + int(WAIT_S * 1e9)
        call = wire.Hook(
            os.urandom(16),
            end,
            0,
            "claude",
            "prompt-submit",
            os.fsencode(self.repository),
            b"",
            json.dumps(payload).encode(),
        )
        answer = self.ask(*wire.hook_request(call))
        assert isinstance(answer, wire.Reply), answer
        assert answer.status == wire.DONE
        assert prompt in [turn.text for turn in self.typed.turns(session=session).turns]


def until(is_so: Callable[[], bool], what: str) -> None:
    """Waits for what has to come."""
    end = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.02)
