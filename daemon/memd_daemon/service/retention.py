"""What goes in time, behind everything else: deliveries, contexts and tools' results past `limits.DELIVERIES_KEPT_DAYS`
(store/prune.py), and the user's turns past the days of the setting `retention.turns_days`.

A turn that a note's evidence cites stays as long as the note is not forgotten, also where it was revoked. What else is known of a
turn goes with it; its number is not given again.

Old is what is so by the time that is believed (believed.py): a clock that leapt ahead takes nothing away. A turn whose own time
cannot be right, since it lies ahead or before that of a turn before it, goes with the next one whose time can be.

Once a while after a start, and then daily, in slices with rests between them, as the watch looks through the store. Who was ever
shown a note stays known as long as there is the note, since independence is judged by it (same.py).
"""

import logging
import threading
from collections.abc import Iterable
from functools import partial
from typing import Final

from memd_daemon import errors, limits
from memd_daemon.model.note import Note
from memd_daemon.model.turn import Turn
from memd_daemon.service.believed import believed_ms
from memd_daemon.service.parts import Parts
from memd_daemon.service.terms import turns_kept_days
from memd_daemon.store.port import Txn

log: Final = logging.getLogger("memd.retention")


class Retention:
    """One thread that sleeps nearly always."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        self._thread = threading.Thread(target=self._run, name="memd-retention", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        wait_s = limits.PRUNE_FIRST_S
        while not self._stop.wait(wait_s):
            wait_s = limits.PRUNE_EVERY_S
            try:
                now_ms = believed_ms(self._parts)
                self.prune(now_ms=now_ms)
                self.prune_turns(now_ms)
            except errors.Stopping:
                return
            except errors.MemdError as error:
                log.warning("what is old could not be taken away: %s", error.code)

    def prune(
        self, kept_ms: int = limits.DELIVERIES_KEPT_DAYS * limits.TIME_MS_PER_DAY, now_ms: int | None = None
    ) -> int:
        """Takes away what is past its time, by the wall clock where no other is given; gives how many deliveries that were.

        Raises Stopping, StoreFull.
        """
        before = (self._parts.now_ms() if now_ms is None else now_ms) - kept_ms
        removed = self._parts.ledger.prune(before, self._is_gone, self._rest)
        if removed:
            log.info("%d deliveries past their time were taken away", removed)
        return removed

    def prune_turns(self, now_ms: int | None = None) -> int:
        """Takes away the turns that are past their time, by the wall clock where no other is given; gives how many.

        Raises Stopping, StoreFull.
        """
        now_ms = self._parts.now_ms() if now_ms is None else now_ms
        before = now_ms - turns_kept_days(self._parts.settings(), now_ms) * limits.TIME_MS_PER_DAY
        with self._parts.store.read() as snapshot:
            seq, cited = snapshot.last_seq(), _cited(note for _, note in snapshot.notes())
        removed, last, past = 0, 0, _Past(now_ms)
        while page := self._page(last, before, now_ms):
            last = page[-1].number
            old = [turn.number for turn in past.of(page) if turn.uid not in cited]
            removed += self._parts.store.write(partial(_drop, old, seq)) if old else 0
            self._rest()
        if removed:
            log.info("%d turns past their time were taken away", removed)
        return removed

    def _page(self, last: int, before: int, now_ms: int) -> list[Turn]:
        with self._parts.store.read() as snapshot:
            return snapshot.turns_after(last, before, limits.PRUNE_AT_ONCE, ahead=now_ms)

    def _is_gone(self, uid: bytes) -> bool:
        """Whether the note was forgotten. One that is not here may come back, with whatever brought it before."""
        with self._parts.store.read() as snapshot:
            note = snapshot.note(uid)
        return note is not None and note.forgotten

    def _rest(self) -> None:
        if self._stop.wait(limits.CHECK_REST_MS / limits.MS_PER_S):
            raise errors.Stopping


class _Past:
    """Of turns in the order in which they were said, those that are past their time."""

    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms
        self._newest = 0
        self._doubted: list[Turn] = []

    def of(self, page: Iterable[Turn]) -> list[Turn]:
        found: list[Turn] = []
        for turn in page:
            self._doubted.append(turn)
            if self._newest - limits.TIME_MS_PER_DAY <= turn.at <= self._now_ms:
                self._newest = max(self._newest, turn.at)
                found += self._doubted
                self._doubted.clear()
        return found


def _cited(notes: Iterable[Note]) -> set[bytes]:
    """Uids of the turns that these notes' evidence names."""
    return {evidence.turn_uid for note in notes if not note.forgotten for evidence in note.evidence}


def _drop(numbers: list[int], seq: int, txn: Txn) -> int:
    """``seq``: the last commit of which it is known what it cites; what came since is looked at here."""
    since = (note for uid in set(txn.changed_since(seq)) if (note := txn.note(uid)) is not None)
    cited = _cited(since)
    found = [number for number in numbers if (turn := txn.turn(number)) is not None and turn.uid not in cited]
    for number in found:
        txn.drop_turn(number)
    return len(found)
