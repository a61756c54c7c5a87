"""The ledger's rows of notes that came in a burst: one a note, held or cleared, as long as there is the note."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import msgspec

from memd_daemon.model.burst import BurstNote
from memd_daemon.store import keys
from memd_daemon.store.kv import Keeper, Writing

_encoder: Final = msgspec.msgpack.Encoder()
_notes: Final = msgspec.msgpack.Decoder(BurstNote)


class BurstRows:
    """The part of a ledger that keeps them."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    def put_bursts(self, notes: Sequence[BurstNote]) -> None:
        """Each in place of what was kept of its note, in one write."""
        if notes:
            self._keeper.writing(partial(_put_all, notes))

    def bursts(self) -> list[BurstNote]:
        """All of them, cleared ones too."""
        with self._keeper.reading() as kv:
            return [_notes.decode(raw) for _, raw in kv.scan(keys.BURSTS)]

    def burst_of(self, uid: bytes) -> BurstNote | None:
        with self._keeper.reading() as kv:
            raw = kv.get(keys.BURSTS, uid)
        return None if raw is None else _notes.decode(raw)


def _put_all(notes: Sequence[BurstNote], kv: Writing) -> None:
    for one in notes:
        kv.put(keys.BURSTS, one.note, _encoder.encode(one))


def drop_gone(keeper: Keeper, uids: Sequence[bytes], is_gone: Callable[[bytes], bool]) -> None:
    """Takes away the rows of these notes that are forgotten."""
    gone = [uid for uid in uids if is_gone(uid)]

    def work(kv: Writing) -> None:
        for uid in gone:
            kv.delete(keys.BURSTS, uid)

    if gone:
        keeper.writing(work)
