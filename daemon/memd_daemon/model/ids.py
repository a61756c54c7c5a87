"""Identities: UUIDv7 bytes (RFC 9562, section 5.7) and the hybrid logical clock (Kulkarni et al. 2014).

A uid is 16 bytes: 48 bits of Unix milliseconds, version, 74 random bits. The caller supplies time and randomness.
A hybrid time is one integer below 2**64: 48 bits of milliseconds, then a 16-bit counter. It never goes back, so a
wall clock that was set back changes no order.
"""

import uuid
from typing import Final

from memd_daemon.limits import HYBRID_TIME_MAX

UID_BYTES: Final = 16
NO_UID: Final = bytes(UID_BYTES)

_COUNTER_BITS: Final = 16
_MS_MASK: Final = (1 << 48) - 1


def uuid7(unix_ms: int, randomness: bytes) -> bytes:
    """A UUIDv7 from milliseconds and 10 random bytes."""
    value = (unix_ms & _MS_MASK) << 80 | int.from_bytes(randomness[:10], "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return value.to_bytes(UID_BYTES, "big")


def uid_text(uid: bytes) -> str:
    """The uid as people write it: 8-4-4-4-12 hexadecimal digits."""
    return str(uuid.UUID(bytes=uid))


def uid_from_text(text: str) -> bytes | None:
    """The uid that ``text`` names in full, or None."""
    try:
        return uuid.UUID(text).bytes
    except ValueError:
        return None


def hybrid_next(last: int, wall_ms: int) -> int:
    """The hybrid time after ``last`` at wall time ``wall_ms``: always greater than ``last``."""
    return max(last + 1, (wall_ms & _MS_MASK) << _COUNTER_BITS)


def hybrid_ms(hybrid: int) -> int:
    """The milliseconds part of a hybrid time."""
    return hybrid >> _COUNTER_BITS


def is_time(unix_ms: int) -> bool:
    """Whether a clock that memd goes by can have shown it: from 1970 to the year 6429."""
    return 0 <= unix_ms <= hybrid_ms(HYBRID_TIME_MAX)


def shown_ms(unix_ms: int) -> int:
    """The nearest such time: what a calendar has a day for, whatever a row says."""
    return min(max(unix_ms, 0), hybrid_ms(HYBRID_TIME_MAX))
