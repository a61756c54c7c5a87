"""Stale flags: that a note's ground was found moved in one checkout, and that it was found standing again (staleness.md). Local.

A flag is keyed (note, checkout, **state** of its anchors) and each of both events stands once per key: when the same state comes
again after it went, the row counts it.
"""

import hashlib
from collections.abc import Iterable
from typing import Final

import msgspec

from memd_daemon.model.event import Anchor
from memd_daemon.model.view import GroundStatus

RAISED: Final = "stale_raised"
CLEARED: Final = "stale_cleared"
STATE_BYTES: Final = 16


class Drift(msgspec.Struct, frozen=True, array_like=True):
    """One anchor that is not as it was. What it is now is the file's own, and is not kept."""

    path: str
    signal: str
    to: str = ""  # where it was renamed to


class StaleFlag(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One event of a flag, by memd itself."""

    note: bytes
    type: str  # RAISED or CLEARED
    root: str  # of the checkout
    state: bytes
    at: int  # UTC, Unix milliseconds: the first time
    last_at: int  # the last time that it came
    times: int = 1
    branch: str = ""  # of the first time
    drifts: tuple[Drift, ...] = ()


def drifts_of(ground: Iterable[GroundStatus]) -> tuple[Drift, ...]:
    """What of the ground has moved, each once."""
    moved = (Drift(one.path, one.signal, _to(one)) for one in ground if one.drifted)
    return tuple(dict.fromkeys(moved))


def _to(one: GroundStatus) -> str:
    return one.detail if one.signal == "anchor_renamed" else one.to


def state_of(anchors: Iterable[Anchor], ground: Iterable[GroundStatus]) -> bytes:
    """A digest of what is compared and what came of it: a confirmed note that drifts again is in another state."""
    kept = [[anchor.path, anchor.part, anchor.digest] for anchor in anchors]
    found = [[one.path, one.part, one.signal, one.detail, one.to] for one in ground if one.drifted]
    return hashlib.sha256(msgspec.msgpack.encode([kept, found])).digest()[:STATE_BYTES]
