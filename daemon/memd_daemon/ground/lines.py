"""A stretch of lines, and where it stands now.

A stretch is compared by 16 bytes of SHA-256 over its lines as they are (joined by LF, no LF after the last). It is found again
wherever it has moved: where it was, then at every line that equals its first one (``lead``), the nearest first; where several
stretches are equal, the nearest is the one. Cost is bounded: at most LINES_LOOKED_AT_MAX stretches and LINES_HASHED_MAX_BYTES bytes
are hashed, so that a stretch that begins with a blank line or a brace is looked for around where it was.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final

from memd_daemon import limits
from memd_daemon.ground.digests import lasting, quick

_LF: Final = b"\n"


class Lines:
    """The lines of one content, counted from 1. ``text`` has LF alone at its line ends; one at its end begins no further line."""

    def __init__(self, text: bytes) -> None:
        self._lines = text.removesuffix(_LF).split(_LF) if text else []

    def __len__(self) -> int:
        return len(self._lines)

    def stretch(self, first: int, last: int) -> bytes | None:
        """The text of the lines from first to last, both included; None where the file has not all of them."""
        return _LF.join(self._lines[first - 1 : last]) if 1 <= first <= last <= len(self._lines) else None

    def offset(self, first: int) -> int:
        """Where a line begins in the text."""
        return sum(map(len, self._lines[: first - 1])) + first - 1

    def lead(self, first: int) -> bytes:
        """By which a stretch that begins with this line is looked for; b"" where there is no such line."""
        return quick(self._lines[first - 1]) if 1 <= first <= len(self._lines) else b""

    def found(self, digest: bytes, first: int, count: int, lead: bytes) -> int:
        """The first line of the nearest stretch of ``count`` lines that has this digest; 0 where none was found.

        With lead b"" every line is one that it may begin with.
        """
        room = limits.LINES_HASHED_MAX_BYTES
        for looked_at, at in enumerate(self._places(first, count, lead)):
            stretch = self.stretch(at, at + count - 1)
            if stretch is None:
                continue
            if lasting(stretch) == digest:
                return at
            room -= len(stretch)
            if room < 0 or looked_at >= limits.LINES_LOOKED_AT_MAX:
                break
        return 0

    def _places(self, first: int, count: int, lead: bytes) -> Iterator[int]:
        """Where a stretch may begin: where it was, then the nearest first."""
        if count < 1:
            return
        yield first
        starts = range(1, len(self._lines) - count + 2)
        known: Sequence[int] = self._led_by(lead) if lead else starts
        after = bisect_left(known, first + 1)
        before = bisect_left(known, first) - 1
        while before >= 0 or after < len(known):
            is_before = before >= 0 and (after >= len(known) or first - known[before] <= known[after] - first)
            yield known[before if is_before else after]
            before, after = (before - 1, after) if is_before else (before, after + 1)

    def _led_by(self, lead: bytes) -> list[int]:
        is_lead = {line: quick(line) == lead for line in set(self._lines)}
        return [number for number, line in enumerate(self._lines, 1) if is_lead[line]]
