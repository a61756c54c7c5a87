"""The numbers that people quote: which was given last, and which are passed over.

A number that somebody has seen names no other note, ever. A restore takes a store back to where it was, so the numbers that the
store which it replaces gave since are written into the one that comes as passed over: stretches [first, last] in meta, in order
and apart. The next note gets the number behind them, and `memd verify` misses no note there.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from memd_daemon.store import keys
from memd_daemon.store.kv import Reading, Writing

Stretch = tuple[int, int]
"""The first and the last number of it."""

_decoder: Final = msgspec.msgpack.Decoder(tuple[Stretch, ...])
_encoder: Final = msgspec.msgpack.Encoder()


def passed(kv: Reading) -> tuple[Stretch, ...]:
    """The stretches that are passed over, in order; none where what stands there cannot be read."""
    return _read(kv) or ()


def are_lost(kv: Reading) -> bool:
    """Whether something is passed over, and cannot be read."""
    return _read(kv) is None


def _read(kv: Reading) -> tuple[Stretch, ...] | None:
    raw = kv.get(keys.META, keys.META_PASSED)
    try:
        return () if raw is None else _decoder.decode(raw)
    except msgspec.MsgspecError:
        return None


def given_last(kv: Reading) -> int:
    """The greatest number that was given in this store or in one that it replaced; 0 before the first."""
    row, stretches = kv.last(keys.IDS), passed(kv)
    return max(0 if row is None else keys.of_number(row[0]), stretches[-1][1] if stretches else 0)


def pass_up_to(kv: Writing, last: int) -> None:
    """Passes over what was not given here by now, up to ``last``."""
    first = given_last(kv) + 1
    if last >= first:
        pass_over(kv, [(first, last)])


def pass_over(kv: Writing, stretches: Iterable[Stretch]) -> bool:
    """Passes over these too; whether any was not passed over by now."""
    before = passed(kv)
    now = _joined([*before, *stretches])
    if now == before:
        return False
    kv.put(keys.META, keys.META_PASSED, _encoder.encode(now))
    return True


def fit(kv: Reading, stretches: Iterable[Stretch], most: int) -> bool:
    """Whether no more than ``most`` are passed over with these: an export of this store is to be taken again."""
    return len(_joined([*passed(kv), *stretches])) <= most


def is_missed(stretches: Sequence[Stretch], first: int, last: int) -> bool:
    """Whether a number from ``first`` to ``last`` was not passed over."""
    return not any(begin <= first and last <= end for begin, end in stretches)


def are_in_order(stretches: Sequence[Stretch], most: int) -> bool:
    """Whether they are as memd writes them, none beyond ``most``."""
    at = 0
    for first, last in stretches:
        if not at < first <= last <= most:
            return False
        at = last + 1
    return True


def _joined(stretches: Iterable[Stretch]) -> tuple[Stretch, ...]:
    found: list[Stretch] = []
    for first, last in sorted(stretches):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return tuple(found)
