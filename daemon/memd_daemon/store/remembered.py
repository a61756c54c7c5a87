"""What was read of the ledger before, kept until something is written that may have changed it.

A snapshot takes the tables of its time along and fills them; a write puts new ones in their place, without what it may have
changed. So what a snapshot from before a write reads late never stands for what is there after it. One session's deliveries leave
what is known of the others: a hundred rows of an edited file are not read again because a session has started elsewhere.
"""

import threading
from typing import Final, NamedTuple, TypeVar

import msgspec

from memd_daemon.limits import TOLD_KNOWN_MAX
from memd_daemon.model.delivery import Context, Hold
from memd_daemon.store import keys

T = TypeVar("T")


class Standing(msgspec.Struct, frozen=True, array_like=True):
    """What of one note is in one context: the newest rendering delivered, and the newest offered since; whether an edit was held
    for it."""

    delivered: bytes = b""
    offered: bytes = b""
    offered_at: int = 0
    held: bool = False


standing_of: Final = msgspec.msgpack.Decoder(Standing).decode
"""A row of the table of what stands."""


class Epoch:
    """What is in one context. ``settled``: by note, the rendering that stands; None while an offer is open, where it depends on
    the time."""

    __slots__ = ("_sent", "held", "rows", "settled")

    def __init__(self, rows: list[tuple[bytes, Standing]]) -> None:
        self.rows = rows
        self.held = frozenset(uid for uid, row in rows if row.held)
        is_settled = not any(row.offered for _, row in rows)
        self.settled = {uid: row.delivered for uid, row in rows if row.delivered} if is_settled else None
        self._sent: tuple[frozenset[bytes], frozenset[bytes]] = (frozenset(), frozenset())

    def standing_of(self, notes: frozenset[bytes]) -> frozenset[bytes]:
        """Of a turn's notes those that stand in a settled context; known for the very set that was asked about last."""
        asked, found = self._sent
        if asked is not notes:
            found = notes.intersection(self.settled or ())
            self._sent = (notes, found)
        return found


class Told(NamedTuple):
    """What was read before: what stands in an epoch, a turn's notes, tokens and hold (none: ()), where files were before,
    contexts."""

    epochs: dict[bytes, Epoch]
    turns: dict[bytes, frozenset[bytes]]
    tokens: dict[bytes, int]
    holds: dict[bytes, tuple[Hold, ...]]
    moves: dict[bytes, tuple[str, ...]]
    contexts: dict[bytes, Context]

    @property
    def size(self) -> int:
        in_turns = len(self.turns) + len(self.tokens) + len(self.holds)
        return in_turns + len(self.epochs) + len(self.moves) + len(self.contexts)


class Remembered:
    """What was read, as long as nothing is written that may have changed it: the edit of a known file tells nothing new, and would
    read the same hundred rows as the one before it. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.forget()

    def forget(self) -> None:
        """After each write that may have changed any. New tables: a snapshot from before it goes on with the old ones."""
        with self._lock:
            self._told = Told({}, {}, {}, {}, {}, {})

    def forget_session(self, session: str) -> None:
        """After a write about one session: what is known of others, and of where files were, stands."""
        its = keys.digest16(session)
        with self._lock:
            told = self._told
            self._told = Told(
                epochs=_without(told.epochs, its),
                turns=_without(told.turns, its),
                tokens=_without(told.tokens, its),
                holds=_without(told.holds, its),
                moves=told.moves.copy(),
                contexts=_without(told.contexts, its),
            )

    def forget_contexts(self, session: str) -> None:
        """After a write of the session's contexts alone."""
        with self._lock:
            self._told = self._told._replace(contexts=_without(self._told.contexts, keys.digest16(session)))

    @property
    def now(self) -> Told:
        """To be taken before the snapshot that fills it begins."""
        told = self._told
        if told.size > TOLD_KNOWN_MAX:
            self.forget()
        return told


def _without(known: dict[bytes, T], session: bytes) -> dict[bytes, T]:
    """The rows of other sessions, whose keys begin otherwise. Copied first: a snapshot may fill them meanwhile."""
    return {key: value for key, value in known.copy().items() if not key.startswith(session)}
