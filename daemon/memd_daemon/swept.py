"""What `memd bench load` puts under load: a daemon like any other, whose retention and check of the store can be set going.

It is started as ``python -m memd_daemon.swept`` with MEMD_HOME. From SIGUSR1 to SIGUSR2 one round follows the other, in the very
slices and with the very rests of the daemon: deliveries, contexts and tools' results go that are older than KEPT_MS, turns past
their days are looked for, and the whole store is looked through. Without a signal it does nothing that a daemon does not do.
"""

import logging
import signal
import sys
import threading
from typing import Final

from memd_daemon import errors, limits
from memd_daemon.daemon import Daemon
from memd_daemon.lifecycle import main
from memd_daemon.service.watch import lasting_faults

log: Final = logging.getLogger("memd.swept")

KEPT_MS: Final = 20_000  # what is older is taken for old: so that there is something to be taken away


class Swept(Daemon):
    """See the module's docstring."""

    def begin(self) -> None:
        super().begin()
        self._goes, self._is_over = threading.Event(), threading.Event()
        self._sweeper = threading.Thread(target=self._sweep, name="memd-sweep", daemon=True)
        self._sweeper.start()
        signal.signal(signal.SIGUSR1, lambda *_: self._goes.set())
        signal.signal(signal.SIGUSR2, lambda *_: self._goes.clear())

    def close(self) -> None:
        if hasattr(self, "_sweeper"):
            self._is_over.set()
            self._goes.set()
            self._sweeper.join()
        super().close()

    def _sweep(self) -> None:
        while self._goes.wait() and not self._is_over.is_set():
            try:
                removed = self.retention.prune(KEPT_MS)
                self.retention.prune_turns()
                faults = lasting_faults(self.parts.store, self._rest)
                log.info("swept: %d deliveries taken away, %d faults", removed, len(faults))
            except errors.Stopping:
                return
            except errors.MemdError as error:
                log.warning("a sweep ended: %s", error.code)

    def _rest(self) -> None:
        if self._is_over.wait(limits.CHECK_REST_MS / limits.MS_PER_S):
            raise errors.Stopping


if __name__ == "__main__":
    sys.exit(main(Swept.open))
