"""The ledger's rows of stale flags: which notes are flagged in which checkout now, and each event of a flag once."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

import msgspec

from memd_daemon.model.stale_flag import CLEARED, RAISED, StaleFlag
from memd_daemon.store import keys
from memd_daemon.store.kv import Keeper, Writing

_encoder: Final = msgspec.msgpack.Encoder()
_flags: Final = msgspec.msgpack.Decoder(StaleFlag)
_MARKS: Final = {RAISED: b"\1", CLEARED: b"\0"}


class FlagRows:
    """The part of a ledger that keeps flags."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    def put_flags(self, flags: Sequence[StaleFlag]) -> None:
        """Raises and clears them, in this order, in one write."""
        if flags:
            self._keeper.writing(partial(_put_all, flags))

    def flags_of(self, uid: bytes) -> list[StaleFlag]:
        """Every event of a note's flags, in all checkouts, oldest first."""
        with self._keeper.reading() as kv:
            found = [_flags.decode(raw) for _, raw in kv.scan(keys.STALE, uid)]
        return sorted(found, key=lambda flag: (flag.at, flag.type == CLEARED))

    def flags_standing(self) -> list[StaleFlag]:
        """The flags that are raised now."""
        with self._keeper.reading() as kv:
            return [_flags.decode(raw) for _, raw in kv.scan(keys.STALE_NOW)]


def _put_all(flags: Iterable[StaleFlag], kv: Writing) -> None:
    for flag in flags:
        _put(kv, flag)


def _put(kv: Writing, flag: StaleFlag) -> None:
    """Raises or clears a flag; nothing where it stands so already. Of one that is cleared, the one that stood says what it was."""
    key = keys.stale_key(flag.note, flag.root)
    raw = kv.get(keys.STALE_NOW, key)
    stood = None if raw is None else _flags.decode(raw)
    if flag.type == CLEARED:
        if stood is None:
            return
        kv.delete(keys.STALE_NOW, key)
        flag = msgspec.structs.replace(flag, state=stood.state, drifts=stood.drifts)
    elif stood is not None and stood.state == flag.state:
        return
    else:
        kv.put(keys.STALE_NOW, key, _encoder.encode(flag))
    _count(kv, key + flag.state + _MARKS[flag.type], flag)


def _count(kv: Writing, key: bytes, flag: StaleFlag) -> None:
    raw = kv.get(keys.STALE, key)
    if raw is not None:
        before = _flags.decode(raw)
        flag = msgspec.structs.replace(before, last_at=flag.last_at, times=before.times + 1)
    kv.put(keys.STALE, key, _encoder.encode(flag))


def is_old(raw: bytes, before: int, is_gone: Callable[[bytes], bool]) -> bool:
    """Whether an event's row is to go: it came last before then, or its note is gone."""
    flag = _flags.decode(raw)
    return flag.last_at < before or is_gone(flag.note)


def drop(kv: Writing, rows: Iterable[tuple[bytes, bytes]]) -> None:
    """Takes away rows of events; a flag goes with its raising, and is raised anew where it is seen again."""
    for key, raw in rows:
        flag = _flags.decode(raw)
        kv.delete(keys.STALE, key)
        place = keys.stale_key(flag.note, flag.root)
        now = kv.get(keys.STALE_NOW, place)
        if flag.type == RAISED and now is not None and _flags.decode(now).state == flag.state:
            kv.delete(keys.STALE_NOW, place)
