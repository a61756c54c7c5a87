"""The rows of a turn, beside the log: turns are local, stand in no commit, and are found by session, request and prompt id."""

import zlib
from collections.abc import Iterator
from typing import Final

import msgspec

from memd_daemon.model.turn import Turn
from memd_daemon.store import keys
from memd_daemon.store.kv import Reading, Writing

IMPORTED: Final = "exchange/turns"
"""The local fact that holds the number of the last turn that came by an import."""

_encoder = msgspec.msgpack.Encoder()


def add(kv: Writing, turn: Turn, turns_before: int) -> int:
    """Stores the turn under the next number and gives it. ``turns_before``: how many its session has."""
    given, newest = kv.get(keys.META, keys.META_TURN), kv.last(keys.TURNS)
    # The newest is beyond what was given only where somebody edited that: no turn is written over.
    number = 1 + max(keys.of_number(key) for key in (keys.number(0), given, newest and newest[0]) if key)
    kv.put(keys.META, keys.META_TURN, keys.number(number))
    turn = msgspec.structs.replace(turn, number=number)
    turn = msgspec.structs.replace(turn, crc=crc_of(turn))
    kv.put(keys.TURNS, keys.number(number), _encoder.encode(turn))
    enter(kv, turn, turns_before)
    return number


def crc_of(turn: Turn) -> int:
    """What `Turn.crc` is to be, never 0."""
    return zlib.crc32(_encoder.encode(msgspec.structs.replace(turn, crc=0))) or 1


def enter(kv: Writing, turn: Turn, turns_before: int) -> None:
    """The rows by which a turn is found."""
    number, session = keys.number(turn.number), keys.digest16(turn.session)
    kv.put(keys.TURN_SESSIONS, session + number, keys.number(turns_before + 1))
    for table, row in _pointing(turn):
        kv.put(table, row, number)


def leading_to(turn: Turn) -> Iterator[tuple[str, bytes]]:
    """(table, key) of each row by which a turn is found."""
    yield keys.TURN_SESSIONS, keys.digest16(turn.session) + keys.number(turn.number)
    yield from _pointing(turn)


def drop(kv: Writing, turn: Turn) -> None:
    """All rows of a turn, save those that lead to another one by now."""
    number = keys.number(turn.number)
    kv.delete(keys.TURNS, number)
    kv.delete(keys.RAISED, number)
    kv.delete(keys.TURN_SESSIONS, keys.digest16(turn.session) + number)
    for table, row in _led_to(kv, turn):
        kv.delete(table, row)


def _led_to(kv: Reading, turn: Turn) -> list[tuple[str, bytes]]:
    return [(table, row) for table, row in _pointing(turn) if kv.get(table, row) == keys.number(turn.number)]


def _pointing(turn: Turn) -> Iterator[tuple[str, bytes]]:
    if turn.request:
        yield keys.TURN_REQUESTS, keys.digest16(turn.request)
    if turn.witness.prompt_id:
        yield keys.TURN_PROMPTS, keys.digest16(turn.session) + keys.digest16(turn.witness.prompt_id)
