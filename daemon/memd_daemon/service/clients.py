"""Which client a hook belongs to, and whether a person can be there (trust-boundary.md, "Who is asking"; Linux's /proc)."""

from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Final

import msgspec

PEER: Final[ContextVar[int]] = ContextVar("peer", default=0)
"""The pid of the process whose request is being served; 0 where the system does not say, and outside any request."""

_STATE_FIELDS: Final = ("state", "ppid", "pgrp", "session", "tty")


class Process(msgspec.Struct, frozen=True, kw_only=True):
    pid: int
    name: str
    parent: int
    terminal: bool


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """The client above a hook. ``nested``: another harness, or the same once more, stands above it."""

    pid: int = 0
    nested: bool = False
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
    return Process(pid=pid, name=name, parent=int(fields["ppid"]), terminal=fields["tty"] != "0")


def ancestors(pid: int) -> Iterator[Process]:
    """The process's parents, nearest first."""
    seen = {pid}
    here = process(pid)
    while here is not None and here.parent > 0 and here.parent not in seen:
        seen.add(here.parent)
        here = process(here.parent)
        if here is not None:
            yield here


def client_above(pid: int, names: Mapping[str, tuple[str, ...]], harness: str) -> Client:
    """The client of ``harness`` above a process. ``names``: process names by harness."""
    if not pid:
        return Client()
    above = list(ancestors(pid))
    own = next((p for p in above if p.name in names.get(harness, ())), None)
    everybody = {name for of_one in names.values() for name in of_one}
    further = above[above.index(own) + 1 :] if own else above
    return Client(
        pid=own.pid if own else 0,
        nested=any(p.name in everybody for p in further),
        terminal=own.terminal if own else False,
        ancestors=tuple(p.name for p in above),
    )
