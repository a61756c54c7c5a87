"""The ledger's rows of what tools gave: the oldest go where a session's, or all together, are too many."""

from collections.abc import Iterator
from typing import Final

import msgspec

from memd_daemon import limits
from memd_daemon.model.tool_result import ToolResult
from memd_daemon.store import keys
from memd_daemon.store.kv import Reading, Writing

HASH_BYTES: Final = 8

_encoder: Final = msgspec.msgpack.Encoder()
_results: Final = msgspec.msgpack.Decoder(ToolResult)


def put(kv: Writing, result: ToolResult) -> None:
    """Adds it, and takes away what is too much then."""
    last = kv.last(keys.RESULTS)
    number = keys.number(1 if last is None else keys.of_number(last[0]) + 1)
    kv.put(keys.RESULTS, number, _encoder.encode(result))
    count = keys.number(len(result.hashes) // HASH_BYTES)
    kv.put(keys.RESULTS_BY_SESSION, keys.digest16(result.session) + number, count)
    _drop_oldest(kv, keys.digest16(result.session), limits.RESULTS_SESSION_MAX, limits.RESULT_HASHES_SESSION_MAX)
    _drop_oldest(kv, b"", limits.RESULTS_MAX, limits.RESULT_HASHES_MAX)


def _drop_oldest(kv: Writing, prefix: bytes, rows_max: int, hashes_max: int) -> None:
    """Of what begins with ``prefix``; the newest result stays, however large it is."""
    rows = [(key, keys.of_number(count)) for key, count in kv.scan(keys.RESULTS_BY_SESSION, prefix)]
    hashes = sum(count for _, count in rows)
    rows.sort(key=lambda row: row[0][-8:])
    for at, (key, count) in enumerate(rows[:-1]):
        if len(rows) - at <= rows_max and hashes <= hashes_max:
            return
        _drop(kv, key)
        hashes -= count


def _drop(kv: Writing, key: bytes) -> None:
    """By its key in RESULTS_BY_SESSION."""
    kv.delete(keys.RESULTS_BY_SESSION, key)
    kv.delete(keys.RESULTS, key[-8:])


def drop_before(kv: Writing, before: int, most: int) -> int:
    """Takes away up to ``most`` of those that are older (UTC, Unix ms), oldest first; gives how many."""
    dropped = 0
    while dropped < most and (row := kv.seek(keys.RESULTS, b"")) is not None:
        result = _results.decode(row[1])
        if result.at >= before:
            break
        _drop(kv, keys.digest16(result.session) + row[0])
        dropped += 1
    return dropped


def of_session(kv: Reading, session: str) -> Iterator[ToolResult]:
    """Oldest first."""
    for key, _ in kv.scan(keys.RESULTS_BY_SESSION, keys.digest16(session)):
        raw = kv.get(keys.RESULTS, key[-8:])
        if raw is not None:
            yield _results.decode(raw)


def since(kv: Reading, at: int) -> list[ToolResult]:
    """Every session's that came then (UTC, Unix ms) or later, oldest first."""
    found: list[ToolResult] = []
    for _, raw in kv.scan(keys.RESULTS, reverse=True):
        result = _results.decode(raw)
        if result.at < at:
            break
        found.append(result)
    return found[::-1]
