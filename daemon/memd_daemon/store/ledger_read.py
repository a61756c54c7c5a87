"""One read of the ledger's tables: what is known already (remembered.py), and the rows of what is not.

An offer whose receipt never came stands as well, since its text may be in the context; `standing` takes ``open_since`` from a
caller that knows how long a request can stay open, and counts older offers as lost.
"""

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Final

import msgspec

from memd_daemon.limits import DELIVERIES_AT_HAND_MAX, HYBRID_TIME_MAX, OFFER_OPEN_MS
from memd_daemon.model.delivery import Context, Delivery, Hold
from memd_daemon.store import keys
from memd_daemon.store.kv import Reading
from memd_daemon.store.remembered import Epoch, Standing, Told, standing_of

contexts: Final = msgspec.msgpack.Decoder(Context)
decode_delivery: Final = msgspec.msgpack.Decoder(Delivery).decode
holds: Final = msgspec.msgpack.Decoder(Hold)


class TableLedgerSnapshot:
    """`memd_daemon.store.ledger_port.LedgerSnapshot` over one read of the tables."""

    def __init__(self, kv: Reading, told: Told) -> None:
        self._kv = kv
        self._told = told

    def context(self, session: str, agent: str) -> Context | None:
        key = keys.context_prefix(session, agent)
        known = self._told.contexts.get(key)
        if known is None:
            raw = self._kv.get(keys.CONTEXTS, key)
            if raw is None:
                return None
            known = self._told.contexts[key] = contexts.decode(raw)
        return known

    def contexts_of(self, session: str) -> list[Context]:
        """The newest context of each agent of the session."""
        return [contexts.decode(raw) for _, raw in self._kv.scan(keys.CONTEXTS, keys.digest16(session))]

    def replied(self, request: bytes) -> bytes | None:
        raw = self._kv.get(keys.REQUESTS, keys.digest16(request))
        return None if raw is None else raw[8:]

    def has_told(self, session: str, event: bytes, since: int, until: int) -> bool:
        lately = takewhile(lambda one: since <= one.at <= until, self._newest(session))
        return any(one.event == event for one in lately)

    def _newest(self, session: str) -> Iterator[Delivery]:
        """The session's last deliveries, the newest first: as many as may have come while a hook lives."""
        prefix = keys.digest16(session)
        row = self._kv.last(keys.BY_SESSION, prefix)
        for _ in range(DELIVERIES_AT_HAND_MAX):
            if row is None or not row[0].startswith(prefix):
                return
            raw = self._kv.get(keys.DELIVERIES, row[0][-8:])
            if raw is not None:
                yield decode_delivery(raw)
            row = self._kv.before(keys.BY_SESSION, row[0])

    def standing(self, session: str, agent: str, epoch: int, *, open_since: int = 0) -> Mapping[bytes, bytes]:
        """``open_since``: an offer made earlier (UTC, Unix ms), or by a clock that has been set back since, and never receipted is
        counted as lost."""
        known = self._epoch(session, agent, epoch)
        if known.settled is not None:
            return known.settled
        found: dict[bytes, bytes] = {}
        for uid, row in known.rows:
            digest = row.offered if _is_open(row, open_since) else row.delivered
            if digest:
                found[uid] = digest
        return found

    def _epoch(self, session: str, agent: str, epoch: int) -> Epoch:
        prefix = keys.epoch_prefix(session, agent, epoch)
        known = self._told.epochs.get(prefix)
        if known is None:
            rows = [(key[-16:], standing_of(raw)) for key, raw in self._kv.scan(keys.STANDING, prefix)]
            known = self._told.epochs[prefix] = Epoch(rows)
        return known

    def turn_notes(self, session: str, agent: str, turn: str) -> frozenset[bytes]:
        prefix = keys.turn_prefix(session, agent, turn)
        notes = self._told.turns.get(prefix)
        if notes is None:
            notes = self._told.turns[prefix] = frozenset(key[-16:] for key, _ in self._kv.scan(keys.TURN_NOTES, prefix))
        return notes

    def sent(self, session: str, agent: str, epoch: int, turn: str, *, open_since: int = 0) -> frozenset[bytes]:
        notes = self.turn_notes(session, agent, turn)
        if not notes:
            return notes
        known = self._epoch(session, agent, epoch)
        if known.settled is None:
            lost = {uid for uid, row in known.rows if row.offered and not _is_open(row, open_since)}
            return notes.intersection(self.standing(session, agent, epoch, open_since=open_since)) - lost
        return known.standing_of(notes)

    def turn_tokens(self, session: str, turn: str, trigger: str) -> int:
        key = keys.tokens_key(session, turn, trigger)
        known = self._told.tokens.get(key)
        if known is None:
            raw = self._kv.get(keys.TURN_TOKENS, key)
            known = self._told.tokens[key] = 0 if raw is None else keys.of_number(raw)
        return known

    def hold(self, session: str, agent: str, turn: str) -> Hold | None:
        key = keys.turn_prefix(session, agent, turn)
        known = self._told.holds.get(key)
        if known is None:
            hold = hold_of(self._kv, key)
            known = self._told.holds[key] = () if hold is None else (hold,)
        return known[0] if known else None

    def open_holds(self, session: str) -> list[Hold]:
        """Of every agent of the session."""
        found = (hold_of(self._kv, key) for key, _ in self._kv.scan(keys.OPEN_HOLDS, keys.digest16(session)))
        return [hold for hold in found if hold is not None]

    def held_for(self, session: str, agent: str, epoch: int) -> frozenset[bytes]:
        """Uids of the notes that an edit was held for in this epoch, whether or not a receipt came."""
        return self._epoch(session, agent, epoch).held

    def asked(self, session: str, agent: str, epoch: int) -> set[bytes]:
        """Uids of the notes that this context asked for and was shown."""
        return {key[-16:] for key, _ in self._kv.scan(keys.ASKED, keys.epoch_prefix(session, agent, epoch))}

    def asked_in_turn(self, session: str, agent: str, turn: str) -> set[bytes]:
        return {key[-16:] for key, _ in self._kv.scan(keys.TURN_ASKED, keys.turn_prefix(session, agent, turn))}

    def was_shown(self, uid: bytes, session: str) -> bool:
        """Whether any agent of the session was ever told the note, unasked or asked: an answer that did not arrive may have."""
        return self._kv.get(keys.SHOWN, keys.shown_key(uid, session)) is not None

    def session_in(self, pid: int, started: int) -> str:
        """The session whose main agent was heard last in this client process; "" for none."""
        return (self._kv.get(keys.CLIENTS, keys.process_key(pid, started)) or b"").decode()

    def moved_from(self, root: str, path: str) -> tuple[str, ...]:
        """The paths at which a file of this checkout was seen before."""
        prefix = keys.moved_prefix(root, path)
        known = self._told.moves.get(prefix)
        if known is None:
            known = self._told.moves[prefix] = tuple(old.decode() for _, old in self._kv.scan(keys.MOVED, prefix))
        return known


def _is_open(row: Standing, open_since: int) -> bool:
    """Whether the newest offer's receipt may still come; what stands of a note whose offer was lost is from before it."""
    open_until = open_since + 2 * OFFER_OPEN_MS if open_since else HYBRID_TIME_MAX
    return bool(row.offered) and open_since <= row.offered_at <= open_until


def hold_of(kv: Reading, turn: bytes) -> Hold | None:
    raw = kv.get(keys.TURN_HOLDS, turn)
    return holds.decode(raw) if raw else None
