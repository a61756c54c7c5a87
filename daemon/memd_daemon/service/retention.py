"""What goes in time, behind everything else: deliveries and contexts past `limits.DELIVERIES_KEPT_DAYS` (store/prune.py).

Once a while after a start, and then daily, in slices with rests between them, as the watch looks through the store. Who was ever
shown a note stays known as long as there is the note, since independence is judged by it (same.py).
"""

import logging
import threading
from typing import Final

from memd_daemon import errors, limits
from memd_daemon.service.parts import Parts

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
                self.prune()
            except errors.Stopping:
                return
            except errors.MemdError as error:
                log.warning("the ledger could not be pruned: %s", error.code)

    def prune(self) -> int:
        """Takes away what is past its time; gives how many deliveries that were. Raises Stopping, StoreFull."""
        before = self._parts.now_ms() - limits.DELIVERIES_KEPT_DAYS * limits.TIME_MS_PER_DAY
        removed = self._parts.ledger.prune(before, self._is_gone, self._rest)
        if removed:
            log.info("%d deliveries past their time were taken away", removed)
        return removed

    def _is_gone(self, uid: bytes) -> bool:
        """Whether the note was forgotten. One that is not here may come back, with whatever brought it before."""
        with self._parts.store.read() as snapshot:
            note = snapshot.note(uid)
        return note is not None and note.forgotten

    def _rest(self) -> None:
        if self._stop.wait(limits.CHECK_REST_MS / limits.MS_PER_S):
            raise errors.Stopping
