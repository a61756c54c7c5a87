"""The daemon under load, seen from outside: memory, descriptors, threads, processor time, and how they grow.

**Memory** is its share of what is in memory, and what of it was swapped out. **Growth** is the slope of a line through the samples
(least squares) over what had been answered by then, in MB for 10,000 events; what came before `WARM_SHARE` of them is left out,
since caches fill and libraries come in. Linux only; elsewhere there are no samples.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from memd_client import address
from memd_client.cli import bench_process
from memd_client.cli.bench_scratch import Scratch
from memd_client.memd import Memd
from memd_client.reach import Unreachable

CHILD: Final = "memd_daemon.swept"
SAMPLE_S: Final = 1.0
WARM_SHARE: Final = 0.3  # of all events
PER_EVENTS: Final = 10_000
GROWTH_EVENTS_MIN: Final = 1_000  # fewer, and a page more or less is made a hundred MB
BYTES_PER_KB: Final = 1_024
BYTES_PER_MB: Final = 1_000_000
START_WAIT_S: Final = 30.0
STOP_WAIT_S: Final = 20.0
LOOK_S: Final = 0.02
LET_GO_S: Final = 10.0


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """The daemon at one moment."""

    at_s: float  # since the first sample
    phase: str
    events: int  # answered until then
    memory_mb: float  # its share of what is in memory, and what was swapped out
    anonymous_mb: float  # of that what is no file's
    descriptors: int
    threads: int


def seen(pid: int) -> dict[str, float]:
    """Memory (MB), descriptors and threads of a process; {} where the system does not tell."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii", errors="replace").splitlines()[1:]
        kb = {line.partition(":")[0]: int(line.split()[1]) for line in lines}
        return {
            "memory_mb": (kb["Pss"] + kb["SwapPss"]) * BYTES_PER_KB / BYTES_PER_MB,
            "anonymous_mb": kb.get("Pss_Anon", 0) * BYTES_PER_KB / BYTES_PER_MB,
            "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
            "threads": len(os.listdir(f"/proc/{pid}/task")),
        }
    except (OSError, KeyError, ValueError, IndexError):
        return {}


def faults_logged(home: Path) -> list[str]:
    """What the daemon wrote down as an error, each once and the oldest first. Nothing of it is a text that somebody typed."""
    found: dict[str, None] = {}
    for file in sorted((home / "logs").glob("daemon.log*"), reverse=True):
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            told = json.loads(line)
            if told["level"] == "error":
                found[f"{told['from']}: {told['say']}; {told.get('trace', '')}"] = None
    return list(found)


def growth(samples: Sequence[Sample], of: Callable[[Sample], float]) -> float | None:
    """How much ``of`` grows with PER_EVENTS events, once it is warm; None for too few samples, or too few events to go by."""
    if not samples:
        return None
    warm = [one for one in samples if one.events >= WARM_SHARE * samples[-1].events]
    if warm[-1].events - warm[0].events < GROWTH_EVENTS_MIN:
        return None
    mean_events = sum(one.events for one in warm) / len(warm)
    mean = sum(map(of, warm)) / len(warm)
    spread = sum((one.events - mean_events) ** 2 for one in warm)
    if not spread:
        return None
    return sum((one.events - mean_events) * (of(one) - mean) for one in warm) / spread * PER_EVENTS


class Watch:
    """Samples a daemon every SAMPLE_S on a thread of its own."""

    def __init__(self, pid: int, phase: Callable[[], str], events: Callable[[], int]) -> None:
        self._pid = pid
        self._phase = phase
        self._events = events
        self._is_over = threading.Event()
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.samples: list[Sample] = []

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self._look()
            if self._is_over.wait(SAMPLE_S):
                return self._look()

    def _look(self) -> None:
        found = seen(self._pid)
        if found:
            self.samples.append(
                Sample(
                    at_s=round(time.monotonic() - self._began, 2),
                    phase=self._phase(),
                    events=self._events(),
                    memory_mb=round(found["memory_mb"], 2),
                    anonymous_mb=round(found["anonymous_mb"], 2),
                    descriptors=int(found["descriptors"]),
                    threads=int(found["threads"]),
                )
            )


@contextlib.contextmanager
def serving(made: Scratch) -> Iterator["Served"]:
    """The scratch home's daemon, one whose sweep can be set going. Raises OSError."""
    environ = {name: value for name, value in made.environ.items() if not name.startswith("CLAUDE")}
    process = subprocess.Popen(
        [sys.executable, "-I", "-m", CHILD],
        env={**environ, "MEMD_HOME": str(made.home)},
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield Served(made, process)
    finally:
        made.stop()
        try:
            process.wait(STOP_WAIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Served:
    """The daemon, which answers from here on."""

    def __init__(self, made: Scratch, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self.pid = process.pid
        until = time.monotonic() + START_WAIT_S
        while not self._answers(made):
            if process.poll() is not None or time.monotonic() > until:
                raise OSError("the daemon of the measurement did not start")
            time.sleep(LOOK_S)

    def _answers(self, made: Scratch) -> bool:
        found = address.read(os.fsencode(made.home))
        if found is None or found.pid != self.pid:
            return False
        with contextlib.suppress(Unreachable), Memd(made.home, environ={}, starts=False) as memd:
            return memd.ping().pid == self.pid
        return False

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @contextlib.contextmanager
    def sweeping(self) -> Iterator[None]:
        """Its retention and its look through the store go on as long as the block."""
        self._process.send_signal(signal.SIGUSR1)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGUSR2)

    def left(self, before: dict[str, float]) -> dict[str, float]:
        """What it has open when the sessions are gone: libzmq takes a moment to let go of the last of them."""
        until = time.monotonic() + LET_GO_S
        while True:
            found = seen(self.pid)
            if found.get("descriptors", 0) <= before.get("descriptors", 0) or time.monotonic() > until:
                return found
            time.sleep(LOOK_S)

    def idle_percent(self, seconds: float) -> float | None:
        """Of one core, what it takes while nobody asks."""
        before = bench_process.cpu_ticks(self.pid)
        began = time.monotonic()
        time.sleep(seconds)
        after, took = bench_process.cpu_ticks(self.pid), time.monotonic() - began
        if before is None or after is None:
            return None
        return (after - before) / os.sysconf("SC_CLK_TCK") / took * 100
