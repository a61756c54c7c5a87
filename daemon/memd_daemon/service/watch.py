"""Looks through the whole store behind the hooks: once after a start, and again whenever something did not fit.

Folds and indexes are rows that anybody who may write the file can edit. What a person signed is believed from the log alone
(store/trusted.py); the rest is compared here, as `memd verify` does it, in slices and with pauses, so that no hook waits for it.
Rows that do not follow from the log are made anew; where another version of memd, which reads events otherwise, had the store
before, that is no news. Where the log itself is damaged nothing is touched: the rows may be all that is left of what it held, and
`memd status` says so.
"""

import logging
import threading
from collections.abc import Sequence
from typing import Final

from memd_daemon import errors, limits
from memd_daemon.model import event as ev
from memd_daemon.service import upkeep
from memd_daemon.service.explain import iso
from memd_daemon.service.parts import Parts
from memd_daemon.store.check import Fault, verify_in_slices
from memd_daemon.store.log_read import UNREADABLE
from memd_daemon.store.port import Store

log: Final = logging.getLogger("memd.watch")


READ_BY: Final = "watch/read-by"
"""Setting: `model.event.reading` of the memd that looked through the store last."""


class Watch:
    """One thread, woken by the store's doubts.

    It rests nine tenths of its time. The system's priority of a thread would do harm: one that is put off while it holds the
    interpreter's lock puts off all others.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._slices = 0

    def begin(self) -> None:
        self._parts.findings.looking = True
        self._thread = threading.Thread(target=self._run, name="memd-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._parts.store.doubt.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        for _ in range(limits.WATCH_START_WAITS):
            if self._parts.search.ready or self._stop.wait(limits.WATCH_START_WAIT_S):
                break
        while not self._stop.is_set():
            try:
                self.look()
            except errors.Stopping:
                return
            except (errors.MemdError, *UNREADABLE) as error:
                log.warning("the store could not be looked through: %s", type(error).__name__)
            self._parts.findings.looking = False
            if not self._stop.is_set():  # `close` says stop before it wakes
                self._parts.store.doubt.wait()
                self._parts.findings.looking = True

    def look(self) -> list[Fault]:
        """Looks through everything, makes anew what can be made anew, and tells the rest. Raises Stopping."""
        store = self._parts.store
        store.doubt.clear()
        self._parts.forget()  # the store itself may have put right what was read before it was in doubt
        faults = lasting_faults(store, self._rest)
        store.let_go()
        self._parts.forget()  # it may have done so since
        damage = [fault for fault in faults if not fault.derived]
        problems = [_damage(damage)] if damage else []
        is_read_otherwise = self._is_read_otherwise()
        if faults and not damage:
            log.warning("%d faults in derived rows, made anew; the first: %s", len(faults), faults[0].where)
            self._mend()
            problems = [] if is_read_otherwise else [_mended(len(faults), iso(self._parts.now_ms()))]
        elif damage:
            log.error("%d faults in the log, the first: %s", len(damage), damage[0].where)
        self._parts.findings.tell(problems)
        if not damage:
            self._note_reading()
        return faults

    def _is_read_otherwise(self) -> bool:
        """Whether the memd that looked last read events of other versions than this one."""
        with self._parts.store.read() as snapshot:
            before = snapshot.setting(READ_BY)
        return before is not None and before != ev.reading()

    def _note_reading(self) -> None:
        with self._parts.store.read() as snapshot:
            is_noted = snapshot.setting(READ_BY) == ev.reading()
        if not is_noted:
            self._parts.store.write(lambda txn: txn.put_setting(READ_BY, ev.reading()))

    def _mend(self) -> None:
        if self._parts.search.ready:
            upkeep.made_anew(self._parts)
        else:
            upkeep.refold(self._parts)

    def _rest(self) -> None:
        self._slices += 1
        if self._slices % limits.LET_GO_SLICES == 0:
            self._parts.store.let_go()
        if self._stop.wait(limits.CHECK_REST_MS / limits.MS_PER_S):
            raise errors.Stopping


def lasting_faults(store: Store, rest: upkeep.Rest) -> list[Fault]:
    """What two looks find alike: a write in between makes a fault that the second one does not find."""
    found = verify_in_slices(store, rest)
    if not found:
        return []
    again = set(verify_in_slices(store, rest))
    return [fault for fault in found if fault in again]


def _damage(faults: Sequence[Fault]) -> dict[str, str]:
    first = faults[0]
    more = f", and {len(faults) - 1} more" if len(faults) > 1 else ""
    return {
        "code": "store-damaged",
        "what": f"the store is damaged: {first.where} {first.what}{more}",
        "fix": f"`memd verify` names every place; {first.remedy}",
    }


def _mended(faults: int, at: str | None) -> dict[str, str]:
    return {
        "what": f"{faults} rows of the store did not follow from its log and were made anew ({at}): another program edited them",
        "fix": "`memd verify` should be clean now; look what else writes into this home",
    }
