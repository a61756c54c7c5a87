"""A note of a burst: many that support each other and come from one source within minutes (evidence.md, "Sources"). Local.

It is held from what is told unasked until another session or a person has looked at it, and never held again then.
"""

from typing import Final

import msgspec

QUARANTINED: Final = "quarantined"
CLEARED: Final = "cleared"


class BurstNote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """That a note is held, and since when it no longer is."""

    note: bytes
    at: int  # UTC, Unix milliseconds
    others: int  # notes of its source that support it, as many as there were then
    sessions: tuple[str, ...] = ()  # that recorded any of them: their own look clears nothing
    cleared_at: int = 0
    cleared_by: str = ""  # the session that looked; "" with ``cleared_at``: a person
    how: str = ""  # what it did, a word


class BurstEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two things that can happen to such a note, as its history tells it."""

    type: str  # QUARANTINED or CLEARED
    at: int
    note: BurstNote


def events_of(one: BurstNote) -> list[BurstEvent]:
    """Oldest first."""
    cleared = [BurstEvent(type=CLEARED, at=one.cleared_at, note=one)] if one.cleared_at else []
    return [BurstEvent(type=QUARANTINED, at=one.at, note=one), *cleared]
