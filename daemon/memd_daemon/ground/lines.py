"""A stretch of lines, and where it stands now.

A stretch is compared by 16 bytes of SHA-256 over its lines as they are (joined by LF, no LF after the last). It is found again
wherever it has moved: where it was, then at every line that equals its first one (``lead``), the nearest first; where several
stretches are equal, the nearest is the one. Cost is bounded: at most LINES_LOOKED_AT_MAX stretches and LINES_HASHED_MAX_BYTES bytes
are hashed, so that a stretch that begins with a blank line or a brace is looked for around where it was.
"""

from collections.abc import Iterator
from typing import Final

from memd_daemon import limits
from memd_daemon.ground.digests import lasting, quick

_LF: Final = b"\n"


class Lines:
    """The lines of one content, counted from 1. ``text`` has LF alone at its line ends; one at its end begins no further line."""

    def __init__(self, text: bytes) -> None:
        self._lines = text.removesuffix(_LF).split(_LF) if text else []
        self._leads: dict[bytes, list[int]] | None = None

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
        if count < 1:
            return
        yield first
        starts = range(1, len(self._lines) - count + 2)
        known = self._led_by().get(lead, []) if lead else starts
        yield from sorted((at for at in known if at != first), key=lambda at: (abs(at - first), at))

    def _led_by(self) -> dict[bytes, list[int]]:
        if self._leads is None:
            self._leads = {}
            for number, line in enumerate(self._lines, 1):
                self._leads.setdefault(quick(line), []).append(number)
        return self._leads
