"""A bounded queue with a turn for every peer, so that one that asks a thousand things at once delays another by one of them.

Each peer's requests wait in the order in which they came; `take` goes round the peers that have any. What would break a bound is
refused at once: so many of one peer, so many together (a peer that has nothing waiting always has room for its first), so many
bytes. Not safe to call from several threads: the server's loop alone uses it.

A turn alone is not enough where several are served at once: whoever always has something waiting would have nearly all hands, and
each of them takes the processor from everybody. So one peer has so many of its requests in hand at most, and the others wait until
`done` says that one of them is; a client that sends its next request after an answer never notices.
"""

from collections import Counter, deque
from typing import Generic, TypeVar

from memd_daemon import limits

T = TypeVar("T")


class FairQueue(Generic[T]):
    """What waits, by peer. ``each``: how many of one peer are in hand at most, from `take` until `done`."""

    def __init__(self, each: int) -> None:
        self._each = each
        self._in_hand: Counter[bytes] = Counter()
        self._waiting: dict[bytes, deque[tuple[T, int]]] = {}
        self._round: deque[bytes] = (
            deque()
        )  # the peers that have something waiting and a hand for it, whose turn is next first
        self._count = 0
        self._bytes = 0

    def __len__(self) -> int:
        return self._count

    def put(self, peer: bytes, request: T, size: int) -> bool:
        """Whether there was room. ``size``: bytes that the request holds while it waits."""
        mine = self._waiting.get(peer)
        if mine and (len(mine) >= limits.PEER_WAITING_MAX or self._count >= limits.WAITING_MAX):
            return False
        if self._bytes + size > limits.WAITING_MAX_BYTES:
            return False
        if mine is None:
            mine = self._waiting[peer] = deque()
            if self._in_hand[peer] < self._each:
                self._round.append(peer)
        mine.append((request, size))
        self._count += 1
        self._bytes += size
        return True

    def take(self) -> T | None:
        """The next request, of the peer that has waited longest for its turn; it is in hand until `done` says so, once."""
        if not self._round:
            return None
        peer = self._round.popleft()
        request, size = self._waiting[peer].popleft()
        self._in_hand[peer] += 1
        if not self._waiting[peer]:
            del self._waiting[peer]
        elif self._in_hand[peer] < self._each:
            self._round.append(peer)
        self._count -= 1
        self._bytes -= size
        return request

    def done(self, peer: bytes) -> None:
        """One of the peer's requests is in hand no longer."""
        had = self._in_hand[peer]
        if had > 1:
            self._in_hand[peer] = had - 1
        else:
            del self._in_hand[peer]
        if had == self._each and peer in self._waiting:
            self._round.append(peer)
