"""The time by which what is old goes: the wall clock, once it is believed.

A clock that leapt ahead, be it by an empty battery, a typed date or a machine that woke up, would have everything look past its
time, and what is taken away does not come back when the clock is put right. So a leap of more than `limits.CLOCK_LEAP_DAYS` since
memd last looked is doubted: until the clock was seen to go on from there for `limits.CLOCK_SETTLES_DAYS`, the time of the last look
holds. A clock that was set back is believed at once, since by it less is old.

Nothing else waits for it: what is told and written goes by the wall clock, and the order of events by the log's own.
"""

from typing import Final, NamedTuple

from memd_daemon import limits
from memd_daemon.service.parts import Parts
from memd_daemon.store.port import Txn

KEY: Final = "retention/clock"
"""Setting: the fields of `Looks`, in Unix ms, with a space between them."""

LEAP_MS: Final = limits.CLOCK_LEAP_DAYS * limits.TIME_MS_PER_DAY
SETTLES_MS: Final = limits.CLOCK_SETTLES_DAYS * limits.TIME_MS_PER_DAY


class Looks(NamedTuple):
    """The last time that was believed, and of the one that is doubted the first look and the last; 0 is none."""

    believed: int = 0
    since: int = 0
    last: int = 0

    def at(self, now_ms: int) -> "Looks":
        """After a look at the clock."""
        if self.believed and now_ms - self.believed <= LEAP_MS:
            return Looks(believed=now_ms)
        if not (self.since and 0 <= now_ms - self.last <= LEAP_MS):
            return Looks(self.believed, now_ms, now_ms)
        is_settled = now_ms - self.since >= SETTLES_MS
        return Looks(believed=now_ms) if is_settled else Looks(self.believed, self.since, now_ms)


def believed_ms(parts: Parts) -> int:
    """Looks at the clock, and gives the time that is believed (Unix ms); 0 where none is yet. Raises what the store refuses."""

    def work(txn: Txn) -> int:
        looks = _looks(txn.setting(KEY)).at(parts.now_ms())
        txn.put_setting(KEY, b"%d %d %d" % looks)
        return looks.believed

    return parts.store.write(work)


def _looks(stored: bytes | None) -> Looks:
    words = (stored or b"").split()
    return Looks(*map(int, words)) if len(words) == len(Looks._fields) and all(map(bytes.isdigit, words)) else Looks()
