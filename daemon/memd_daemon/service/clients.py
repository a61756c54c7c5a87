"""Which client a process belongs to, and whether a person can be there (trust-boundary.md, "Who is asking"; Linux's /proc).

A process is told by its pid and the moment it started: the system gives a pid again, never both.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec

from memd_hooks.harness import BY_NAME

PEER: Final[ContextVar[int]] = ContextVar("peer", default=0)
"""The pid of the process whose request is being served; 0 where the system does not say, and outside any request."""

_STATE_FIELDS: Final = (
    *("state", "ppid", "pgrp", "session", "tty", "tty_pgrp", "flags", "min_faults", "min_faults_waited"),
    *("maj_faults", "maj_faults_waited", "user", "system", "user_waited", "system_waited", "priority", "nice"),
    *("threads", "timer", "started"),
)
"""What stands behind a process's name, as far as it is read; ``started`` in clock ticks since the system started."""

Names = Mapping[str, tuple[str, ...]]
"""The process names of each harness's client."""

AGENTS: Final[Names] = {name: one.CLIENT_NAMES for name, one in BY_NAME.items() if one.CAP_UNITS}
"""Of the clients that run agents."""


class Process(msgspec.Struct, frozen=True, kw_only=True):
    pid: int
    name: str
    parent: int
    terminal: bool
    started: int = 0


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """The client above a process, the ``peer``. ``nested``: another harness, or the same once more, stands above it."""

    peer: int = 0
    pid: int = 0
    started: int = 0
    child: int = 0  # of the client: the process by which it started the peer, or the peer itself
    nested: bool = False
    above: tuple[tuple[int, int], ...] = ()  # clients that stand above it: (pid, started)
    terminal: bool = False
    ancestors: tuple[str, ...] = ()

    @property
    def with_person(self) -> bool:
        """A client under another harness and without a terminal has nobody in front of it."""
        return self.terminal or not self.nested


def process(pid: int) -> Process | None:
    """What /proc says of a process; None where it is gone or there is no /proc."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:  # noqa: PTH123 -- a chain of them stands on the hook path
            told = file.read().decode("utf-8", "replace")
    except OSError:
        return None
    name, _, rest = told.partition("(")[2].rpartition(")")
    fields = dict(zip(_STATE_FIELDS, rest.split(), strict=False))
    return Process(
        pid=pid,
        name=name,
        parent=int(fields["ppid"]),
        terminal=fields["tty"] != "0",
        started=int(fields["started"]),
    )


def ancestors(pid: int) -> Iterator[Process]:
    """The process's parents, nearest first."""
    seen = {pid}
    here = process(pid)
    while here is not None and here.parent > 0 and here.parent not in seen:
        seen.add(here.parent)
        here = process(here.parent)
        if here is not None:
            yield here


def nearest(pid: int, names: Names = AGENTS) -> Process | None:
    """The first client, of any harness, above a process: the one it was started from. None for no client."""
    everybody = _everybody(names)
    return next((one for one in ancestors(pid) if one.name in everybody), None) if pid else None


def _everybody(names: Names) -> set[str]:
    return {name for of_one in names.values() for name in of_one}


def is_running(pid: int, started: int) -> bool:
    """Whether this very process is still there."""
    here = process(pid) if pid else None
    return here is not None and here.started == started


def command_line(pid: int) -> tuple[str, ...]:
    """The words a process was started with; () where it is gone or there is no /proc."""
    try:
        told = Path(f"/proc/{pid}/cmdline").read_bytes() if pid else b""
    except OSError:
        return ()
    return tuple(word.decode("utf-8", "replace") for word in told.split(b"\0"))


def resumed_by(words: Sequence[str], flags: Sequence[str]) -> str:
    """What a command line says after one of the ``flags``, in the next word or behind `=`; "" for nothing."""
    for word, after in pairwise((*words, "")):
        flag, _, value = word.partition("=")
        if flag in flags and (value or not after.startswith("-")):
            return value or after
    return ""


def client_above(pid: int, names: Names, harness: str) -> Client:
    """The client of ``harness`` above a process."""
    if not pid:
        return Client()
    above = list(ancestors(pid))
    own = next((p for p in above if p.name in names.get(harness, ())), None)
    child = ([pid, *(p.pid for p in above)][above.index(own)]) if own else 0
    everybody = _everybody(names)
    further = [p for p in (above[above.index(own) + 1 :] if own else above) if p.name in everybody]
    return Client(
        peer=pid,
        pid=own.pid if own else 0,
        started=own.started if own else 0,
        child=child,
        nested=bool(further),
        above=tuple((p.pid, p.started) for p in further),
        terminal=own.terminal if own else False,
        ancestors=tuple(p.name for p in above),
    )
