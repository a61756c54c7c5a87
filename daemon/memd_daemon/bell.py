"""What wakes a thread that sleeps in a poll: a pipe that others write into."""

import contextlib
import os
import select
import threading


class Bell:
    """Makes its ``descriptor`` readable, at most once for each time that it is heard. `ring` may be called from any thread, also
    after `close`; ``writes`` is where the system may write of signals (`signal.set_wakeup_fd`)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._has_rung = False
        self.descriptor, self.writes = os.pipe()
        for end in (self.descriptor, self.writes):
            os.set_blocking(end, False)

    def ring(self) -> None:
        with self._lock, contextlib.suppress(BlockingIOError):  # of so many signals it is readable already
            if not self._has_rung and self.writes >= 0:
                self._has_rung = True
                os.write(self.writes, b"\0")

    def heard(self) -> bytes:
        """What rang: a zero for `ring`, and the number of each signal; b"" for nothing."""
        with self._lock, contextlib.suppress(BlockingIOError):
            self._has_rung = False
            return os.read(self.descriptor, select.PIPE_BUF)
        return b""

    def close(self) -> None:
        """Whoever rings later rings nobody else's descriptor."""
        with self._lock:
            os.close(self.descriptor)
            os.close(self.writes)
            self.writes = -1
