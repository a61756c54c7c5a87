"""The lines of an export as they come: their order, digest and end, and which belong together.

What is wrong with a line is named by its number and passed over; what is kept of that does not grow with the file.
"""

import hashlib
import os
from collections.abc import Iterator
from typing import BinaryIO, Final

import msgspec

from memd_daemon.limits import COMMIT_EVENTS_MAX, IMPORT_LINE_MAX_BYTES, IMPORT_TOLD_MAX
from memd_daemon.model.burst import BurstNote
from memd_daemon.store import exchange_lines as ln
from memd_daemon.store.log_read import BROKEN

UNREADABLE: Final = (*BROKEN, RecursionError)
"""What decoding a line raises: also one that is nested deeper than anything memd writes."""


class Group(msgspec.Struct, kw_only=True):
    """A commit with its events and their texts, each with the number of its line."""

    at: int
    commit: ln.Commit
    events: list[tuple[int, ln.EventLine, list[tuple[int, ln.Text]]]]


class Named(msgspec.Struct, kw_only=True):
    """Lines and what is to be said of each: the first of them, and how many there are."""

    first: list[tuple[int, str]] = []
    count: int = 0

    def add(self, number: int, what: str) -> None:
        self.count += 1
        if len(self.first) < IMPORT_TOLD_MAX:
            self.first.append((number, what))

    def join(self, other: "Named") -> None:
        self.count += other.count
        self.first = (self.first + other.first)[:IMPORT_TOLD_MAX]


class Taken(msgspec.Struct, kw_only=True):
    """What came of the lines so far."""

    lines: int = 0
    commits: int = 0
    events: int = 0
    texts: int = 0
    turns: int = 0
    turns_left: int = 0
    others: int = 0  # numbers, facts and held notes that were taken
    forgotten: int = 0
    withheld: Named = msgspec.field(default_factory=Named)
    wrong: Named = msgspec.field(default_factory=Named)
    held: list[BurstNote] = []

    @property
    def is_news(self) -> bool:
        return any((self.commits, self.events, self.texts, self.turns, self.others))

    def add(self, other: "Taken") -> None:
        for field in ("commits", "events", "texts", "turns", "turns_left", "others", "forgotten"):
            setattr(self, field, getattr(self, field) + getattr(other, field))
        self.withheld.join(other.withheld)
        self.wrong.join(other.wrong)
        self.held += other.held


class Reader:
    """The lines of a stream, in their order, digest and end checked. ``taken`` is told what is wrong with them."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._digest = hashlib.sha256()
        self.number = 0
        self.done_bytes = 0
        self.size = _size_of(stream)

    def raw(self) -> bytes:
        """The next line; b"" at the end."""
        line = self._stream.readline(IMPORT_LINE_MAX_BYTES + 1)
        self.number += bool(line)
        self.done_bytes += len(line)
        return line

    def skip_rest(self, line: bytes) -> None:
        while line and not line.endswith(b"\n"):
            line = self._stream.readline(IMPORT_LINE_MAX_BYTES)
            self.done_bytes += len(line)

    def rest(self, first: bytes, taken: Taken) -> Iterator[tuple[int, ln.AnyLine]]:
        """Every line but the first and the end, each with its number. ``first``: the raw first one."""
        self._digest.update(first)
        rank, ended = 0, False
        while raw := self.raw():
            if ended:
                taken.wrong.add(self.number, "stands behind the end")
                return
            line = self._read(raw, taken)
            if line is None:
                continue
            if ln.ORDER[type(line)] < max(rank, 1):
                taken.wrong.add(self.number, "stands in the wrong place")
                continue
            rank = ln.ORDER[type(line)]
            if isinstance(line, ln.End):
                ended = True
                self._check_end(line, taken)
            else:
                yield self.number, line
        if not ended:
            taken.wrong.add(self.number + 1, "is missing: the export was cut off before its end")
        taken.lines = self.number

    def _read(self, raw: bytes, taken: Taken) -> ln.AnyLine | None:
        if len(raw) > IMPORT_LINE_MAX_BYTES:
            self.skip_rest(raw)
            taken.wrong.add(self.number, "is too long")
            return None
        try:
            line = ln.decode(raw)
        except UNREADABLE:
            line = None
            taken.wrong.add(self.number, "is no line of an export")
        if not isinstance(line, ln.End):
            self._digest.update(raw)
        return line

    def _check_end(self, end: ln.End, taken: Taken) -> None:
        if end.lines != self.number - 1:
            taken.wrong.add(self.number, f"says {end.lines} lines before it, and there are {self.number - 1}")
        elif end.sha256 != self._digest.hexdigest():
            taken.wrong.add(self.number, "has another digest than the lines before it: some were changed")


def grouped(lines: Iterator[tuple[int, ln.AnyLine]], taken: Taken) -> Iterator[Group | tuple[int, ln.AnyLine]]:
    """Each commit with what belongs to it; every other line by itself."""
    group: Group | None = None
    for number, line in lines:
        if isinstance(line, ln.EventLine) and group is not None and len(group.events) < COMMIT_EVENTS_MAX:
            group.events.append((number, line, []))
        elif isinstance(line, ln.Text) and group is not None and group.events:
            group.events[-1][2].append((number, line))
        elif isinstance(line, ln.EventLine | ln.Text):
            taken.wrong.add(number, "belongs to nothing before it")
        else:
            if group is not None:
                yield group
            group = Group(at=number, commit=line, events=[]) if isinstance(line, ln.Commit) else None
            if group is None:
                yield number, line
    if group is not None:
        yield group


def _size_of(stream: BinaryIO) -> int:
    """How many bytes come; 0 where nobody can tell."""
    try:
        return os.fstat(stream.fileno()).st_size
    except OSError:  # also of a stream that is no file
        return 0
