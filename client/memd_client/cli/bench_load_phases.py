"""The phases of a measurement under load, one after the other on one daemon, its sessions going on through all of them.

=============  ==================================================================================
phase          what happens beside the sessions
=============  ==================================================================================
warm           nothing; not judged
quiet          nothing: what the others are compared with
reindex        `memd reindex`, one after the other
sweep          the daemon's retention and its look through the store, one round after the other
flood          one connection that always has as many hooks waiting as the daemon lets it
saturate       nothing, and nobody thinks: until so many events were answered in all phases (`--events`), a
               quarter of them in this one
=============  ==================================================================================

A phase lasts its seconds, and until as many events were answered as it wants.
"""

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from memd_client import address, link, wire
from memd_client.cli import bench_process
from memd_client.cli.bench_load_calls import Calls, Samples, together
from memd_client.cli.bench_load_daemon import Served, Watch
from memd_client.cli.bench_load_session import Acknowledged, Client, Pace
from memd_client.cli.bench_notes import HOT_FILE
from memd_client.cli.bench_scratch import Scratch, Tell
from memd_client.memd import MemdError
from memd_hooks.events import Moment
from memd_hooks.harness import claude

WARM, QUIET, REINDEX, SWEEP, FLOOD, SATURATE = "warm", "quiet", "reindex", "sweep", "flood", "saturate"
SHARES: Final = {WARM: 0.1, QUIET: 0.3, REINDEX: 0.2, SWEEP: 0.2, FLOOD: 0.2}  # of the time
FLOODING: Final = 64  # hooks of one connection at a time: what the daemon lets wait
FLOOD_WAIT_NS: Final = 200_000_000
LOOK_S: Final = 0.05
SATURATED_SHARE: Final = 0.25
ENDED_WAIT_S: Final = 60.0


class Phase(NamedTuple):
    """``think_s``: the mean of what each session thinks before a step."""

    name: str
    seconds: float
    events: int
    think_s: float


class Beside:
    """What goes on beside the sessions in a phase, on a thread of its own, and how often it was done."""

    def __init__(self, once: Callable[[threading.Event], int]) -> None:
        self.count = 0
        self.trouble = ""
        self._once = once
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Beside":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._is_over.is_set():
                self.count += self._once(self._is_over)
        except (MemdError, OSError) as fault:
            self.trouble = str(fault) or type(fault).__name__


@dataclass
class Measured:
    """What came of it. ``beside``: how many reindexes were made, and hooks of the flood answered."""

    samples: Samples
    acknowledged: Sequence[Acknowledged]
    watch: Watch
    behind: int
    beside: dict[str, int]
    seconds: dict[str, float]


def run(made: Scratch, served: Served, sessions: int, phases: Sequence[Phase], tell: Tell) -> Measured:
    """All phases. Raises OSError where the daemon is gone."""
    pace = Pace(phases[0].name, phases[0].think_s)
    committing = threading.Lock()
    clients = [Client(made, number, pace, committing) for number in range(sessions)]
    threads = [threading.Thread(target=client.run, daemon=True) for client in clients]

    def answered() -> int:
        return sum(client.samples.answered for client in clients)

    beside: dict[str, int] = {}
    seconds: dict[str, float] = {}
    trouble = Samples()
    with Watch(served.pid, lambda: pace.phase, answered) as watch:
        for thread in threads:
            thread.start()
        try:
            for phase in phases:
                pace.phase, pace.think_s = phase.name, phase.think_s
                with _beside(made, served, phase.name) as going:
                    seconds[phase.name] = _wait(phase, served, answered, tell)
                if going is not None:
                    beside[phase.name] = going.count
                    if going.trouble:
                        trouble.failed((phase.name, phase.name), going.trouble)
        finally:
            pace.is_over.set()
            for thread in threads:
                thread.join(ENDED_WAIT_S)
    return Measured(
        samples=together([trouble, *(client.samples for client in clients)]),
        acknowledged=[client.acknowledged for client in clients],
        watch=watch,
        behind=sum(client.behind for client in clients),
        beside=beside,
        seconds=seconds,
    )


def touch(made: Scratch) -> None:
    """A call of each way, once: what a daemon opens for the first of its kind stays open for all."""
    calls = Calls(made, lambda: WARM)
    calls.begin("touch")
    calls.hook(Moment.SESSION_START, bench_process.payload(made, Moment.SESSION_START, "touch"))
    calls.tool("recall", {"query": "what memd knows"})
    calls.hook(Moment.SESSION_END, bench_process.payload(made, Moment.SESSION_END, "touch"))
    calls.close()


def _wait(phase: Phase, served: Served, answered: Callable[[], int], tell: Tell) -> float:
    began, before = time.monotonic(), answered()
    wanted = phase.events
    if phase.name == SATURATE:
        # Those before it may have had them all.
        wanted = max(phase.events - before, int(SATURATED_SHARE * phase.events))
    while True:
        took, events = time.monotonic() - began, answered() - before
        if took >= phase.seconds and events >= wanted:
            return took
        if not served.is_alive:
            raise OSError("the daemon of the measurement has ended")
        tell(f"{phase.name}: {took:.0f} s of {phase.seconds:.0f}, {events:,} events")
        time.sleep(LOOK_S)


@contextlib.contextmanager
def _beside(made: Scratch, served: Served, phase: str) -> Iterator[Beside | None]:
    if phase == SWEEP:
        with served.sweeping():
            yield None
    elif phase in (REINDEX, FLOOD):
        with Beside({REINDEX: _reindex, FLOOD: _flood}[phase](made)) as going:
            yield going
    else:
        yield None


def _reindex(made: Scratch) -> Callable[[threading.Event], int]:
    def once(_: threading.Event) -> int:
        with made.memd() as memd:
            memd.reindex()
        return 1

    return once


def _flood(made: Scratch) -> Callable[[threading.Event], int]:
    """One connection; what it is refused for want of room it asks again."""
    payload = json.loads(bench_process.payload(made, Moment.PRE_EDIT, "flood"))
    payload["tool_input"] = {"file_path": str(made.repository / HOT_FILE), "old_string": "a", "new_string": "b"}

    def hook() -> list[bytes]:
        request = os.urandom(wire.REQUEST_ID_BYTES)
        stdin = json.dumps({**payload, "tool_use_id": request.hex()}).encode()
        until = time.monotonic_ns() + 10 * FLOOD_WAIT_NS
        where = os.fsencode(made.repository)
        return wire.hook_request(wire.Hook(request, until, 0, claude.NAME, Moment.PRE_EDIT, where, b"", stdin))

    def once(is_over: threading.Event) -> int:
        found = address.read(os.fsencode(made.home))
        opened = link.open(found, time.monotonic_ns() + FLOOD_WAIT_NS) if found else None
        if not isinstance(opened, link.Link):
            raise OSError("nobody to be flooded")
        done = waiting = 0
        try:
            while not is_over.is_set():
                while waiting < FLOODING and opened.tell(hook(), time.monotonic_ns() + FLOOD_WAIT_NS):
                    waiting += 1
                came = opened.heard(time.monotonic_ns() + FLOOD_WAIT_NS)
                if not isinstance(came, list):
                    return done  # answers that came too late are not sent: it begins anew
                waiting -= len(came)
                done += sum(reply.status == wire.DONE for reply in came)
        finally:
            opened.close()
        return done

    return once
