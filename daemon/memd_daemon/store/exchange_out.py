"""A store as the lines of an export: everything that is truth here and means something elsewhere, of one snapshot.

Not in it: what is made anew (folds, indexes, vectors), and what is of this machine alone (deliveries, who was shown what, stale
flags, what tools gave). Two exports of one store are the same to the byte. What cannot be read, or is not what was written, is
left out and counted: the rest of a damaged store is worth having, and `memd verify` names the places."""

import contextlib
import hashlib
from collections.abc import Iterator, Sequence

import msgspec

from memd_daemon.limits import EXPORT_FORMAT, EXPORT_FORMAT_PLAIN, SALT_BYTES
from memd_daemon.model.burst import BurstNote
from memd_daemon.store import keys, numbers
from memd_daemon.store.exchange_lines import (
    PORTABLE_FACTS,
    Commit,
    End,
    EventLine,
    Fact,
    Head,
    Held,
    Line,
    Number,
    Text,
    TurnLine,
    encode,
    named_texts,
    said,
)
from memd_daemon.store.log_read import BROKEN, LogSnapshot, decode_commit, decode_turn, is_blob
from memd_daemon.store.turn_rows import crc_of

_rows = msgspec.msgpack.Decoder(tuple[bytes, bytes])


class Outgoing:
    """One export. ``damaged``: rows that were left out so far."""

    def __init__(self, snapshot: LogSnapshot, bursts: Sequence[BurstNote]) -> None:
        self._snapshot = snapshot
        self._kv = snapshot.kv
        self._bursts = bursts
        self.damaged = 0
        self.counts = snapshot.counts()

    def expected(self) -> int:
        """About how many lines there will be."""
        tables = (keys.IDS, keys.COMMITS, keys.EVENTS, keys.BLOBS, keys.TURNS)
        return sum(self._kv.count(table) for table in tables)

    def lines(self) -> Iterator[bytes]:
        """Every line, encoded, the end among them."""
        digest, count = hashlib.sha256(), 0
        for line in self._lines():
            raw = encode(line)
            digest.update(raw)
            count += 1
            yield raw
        yield encode(End(lines=count, sha256=digest.hexdigest()))

    def _lines(self) -> Iterator[Line]:
        yield self._head()
        for key, uid in self._kv.scan(keys.IDS):
            is_unwanted = self._kv.get(keys.UNWANTED, key) is not None
            yield Number(id=keys.of_number(key), note=uid.hex(), unwanted=is_unwanted)
        for key, raw in self._kv.scan(keys.COMMITS):
            yield from self._commit(key, raw)
        for key, raw in self._kv.scan(keys.TURNS):
            with self._counted():
                turn = decode_turn(raw)
                if turn.crc and turn.crc != crc_of(turn):
                    self.damaged += 1
                    continue
                yield TurnLine(turn=turn, raised=self._snapshot.raised(keys.of_number(key)))
        for prefix in sorted(PORTABLE_FACTS):
            for name, value in self._snapshot.settings(prefix):
                yield Fact(name=name, value=value)
        for burst in sorted(self._bursts, key=lambda one: one.note):
            yield Held(burst=burst)

    def _head(self) -> Head:
        info, last = self._snapshot.info, self._kv.get(keys.META, keys.META_TURN)
        passed = numbers.passed(self._kv)
        return Head(
            format=EXPORT_FORMAT if passed else EXPORT_FORMAT_PLAIN,
            store_format=info.format,
            store=info.store.hex(),
            origin=info.origin.hex(),
            last_turn=0 if last is None else keys.of_number(last),
            notes=self.counts.notes,
            commits=self.counts.commits,
            events=self.counts.events,
            turns=self.counts.turns,
            passed=passed,
        )

    def _commit(self, key: bytes, raw: bytes) -> Iterator[Line]:
        with self._counted():
            header, digests = decode_commit(raw)
            origin, seq = keys.of_commit_key(key)
            yield Commit(origin=origin.hex(), seq=seq, header=header, digests=[digest.hex() for digest in digests])
            for event_key, row in self._kv.scan(keys.EVENTS, key):
                yield from self._event(keys.of_event_key(event_key)[2], row)

    def _event(self, index: int, row: bytes) -> Iterator[Line]:
        with self._counted():
            body, sig = _rows.decode(row)
            yield EventLine(index=index, body=body, sig=sig, says=said(body))
            for digest in named_texts(body):
                blob = self._kv.get(keys.BLOBS, digest)
                if blob is not None and is_blob(digest, blob):
                    yield Text(digest=digest.hex(), salt=blob[:SALT_BYTES].hex(), text=blob[SALT_BYTES:].decode())
                elif blob is not None:
                    self.damaged += 1

    @contextlib.contextmanager
    def _counted(self) -> Iterator[None]:
        try:
            yield
        except BROKEN:
            self.damaged += 1
