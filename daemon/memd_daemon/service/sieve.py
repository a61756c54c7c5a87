"""A set that forgets which ones it has: whoever asks whether a digest is in it hears "no", or "it may be" (Bloom 1970).

Most contents that an edit leaves behind were never anybody's before, and to learn that from the store takes a snapshot.
"""

import struct
from typing import Final

from memd_daemon import limits

_NUMBERS: Final = struct.Struct(">II")


class Sieve:
    """Of digests of files. Adding is for one thread at a time, asking for any."""

    def __init__(self) -> None:
        self._bits = bytearray(limits.SIEVE_BITS // 8)

    def add(self, digest: bytes) -> None:
        for place in _places(digest):
            self._bits[place >> 3] |= 1 << (place & 7)

    def may_hold(self, digest: bytes) -> bool:
        """True for all that was added, and for some others."""
        first, second = _places(digest)
        return bool(self._bits[first >> 3] >> (first & 7) & self._bits[second >> 3] >> (second & 7) & 1)


def _places(digest: bytes) -> tuple[int, int]:
    """Two bits of it; the digest is random enough, and one that is not keeps nothing from being found."""
    first, second = _NUMBERS.unpack_from(digest.ljust(_NUMBERS.size, b"\0"))  # another store's may be of any length
    return first % limits.SIEVE_BITS, second % limits.SIEVE_BITS
