"""What befalls a note on one machine alone, as `memd log` has to tell it."""

import msgspec

from memd_daemon.model.stale_flag import CLEARED, RAISED, Drift, StaleFlag
from memd_daemon.model.view import TellingView
from tests.frames.make import DAY_MS, MARCH_4

LATER = MARCH_4 + 10 * DAY_MS


def flags() -> dict[str, StaleFlag]:
    """What became of a note's ground in a checkout."""
    changed = Drift("agent/resolver.rs", "anchor_changed")
    renamed = Drift("agent/lock.rs", "anchor_renamed", "core/lock.rs")
    once = StaleFlag(
        note=bytes(16),
        type=RAISED,
        root="/home/dev/agent",
        branch="main",
        state=b"",
        at=MARCH_4,
        last_at=MARCH_4,
        drifts=(changed, renamed),
    )
    return {
        "flagged": once,
        "flagged, detached, several times": msgspec.structs.replace(once, branch="", times=3, last_at=LATER),
        "stands again": msgspec.structs.replace(once, type=CLEARED, drifts=(changed,)),
        "flagged in a folder of an odd name": msgspec.structs.replace(once, root="/home/dev, on main: x"),
    }


def tellings() -> dict[str, TellingView]:
    """How a note was told."""
    once = TellingView(trigger="pre-edit", times=1, at=MARCH_4, last_at=MARCH_4, session="s1")
    often = TellingView(trigger="session-start", times=12, at=MARCH_4, last_at=LATER, session="s1", sessions=11)
    return {
        "told once": once,
        "told to a subagent whose session has a long name": msgspec.structs.replace(
            once, trigger="subagent-start", session="3f2a1b9c-0d4e-4c1a-9b7e-5d1f8a2c3b4d", agent="a1"
        ),
        "told once, held the edit, no receipt": msgspec.structs.replace(once, held=1, unconfirmed=1),
        "told many times": often,
        "told many times, held some, some without receipt": msgspec.structs.replace(often, held=2, unconfirmed=3),
        "told many times in one session": msgspec.structs.replace(often, sessions=1, held=1),
    }
