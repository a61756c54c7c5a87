"""The spool: what hooks could not deliver, taken in, in order, and only then removed (hooks.md, section 3).

A file holds raw text, so it goes as soon as its turn is on disk. What cannot be read or taken in, whatever the reason (a prompt
among it that its client wrote otherwise than memd knows it), stands in the way of nothing: it stays until `wire.SPOOL_MAX_AGE_S`,
then it is removed, and `status` tells how many were. Only what the store refuses for now (a full disk) waits for as long as it
takes, and those behind it wait too.

A prompt or a commit for which a hook found no room left an empty file, which is counted and taken away: `status` tells of it for
`limits.LOST_TOLD_DAYS`.

Only this user's regular files of a hook's size are read; no link is followed, no FIFO waited for. A prompt waits for so many files
or so long; what is left then is taken in behind it, in the order of the names.
"""

import contextlib
import logging
import os
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from copy import copy
from pathlib import Path
from typing import Final

from memd_client import wire
from memd_daemon import errors, limits
from memd_daemon.ground.repository import unfollowed
from memd_daemon.service import capture, names
from memd_daemon.service.capture import store_prompt
from memd_daemon.service.parts import Parts
from memd_daemon.service.repos import place_of
from memd_hooks.events import Harness, Moment
from memd_hooks.harness import UNREAD

log: Final = logging.getLogger("memd.spool")

DROPPED: Final = "spool/dropped"
"""Setting: how many unreadable files were dropped."""

LOST: Final = "spool/lost"
"""Setting: how many calls were lost, and when memd last learned of one, as `count at_ms`."""


_FOR_NOW: Final = (
    errors.StoreFull,
    errors.StoreReadOnly,
    errors.StoreDamaged,
    errors.StoreMoved,
    errors.DiskFailing,
    errors.Stopping,
)
"""What the store refuses whatever is asked of it, until that passes or somebody mends it."""


class Unfit(Exception):
    """No file that a hook wrote."""


class Spool:
    """Takes the spool in, one round at a time. Safe to call from any thread."""

    def __init__(self, parts: Parts, harnesses: Mapping[str, Harness]) -> None:
        self._parts = parts
        self._harnesses = harnesses
        self._round = threading.Lock()
        self._behind = threading.Lock()
        self._left: dict[
            Path, tuple[int, int]
        ] = {}  # files that could not be taken in, as they were then: (inode, mtime)

    def before_prompt(self) -> None:
        """Takes in what waits, as far as a prompt may wait for it, and the rest behind it."""
        until_ns = time.monotonic_ns() + limits.SPOOL_ROUND_MS * limits.NS_PER_MS
        if not self._round.acquire(timeout=limits.SPOOL_ROUND_MS / limits.MS_PER_S):
            return  # others are at it
        try:
            is_done = self._take_in(until_ns)
        finally:
            self._round.release()
        if not is_done:
            self.begin()

    def begin(self) -> None:
        """Takes everything in on a thread of its own."""
        threading.Thread(target=self._take_all, name="memd-spool", daemon=True).start()

    def _take_all(self) -> None:
        if not self._behind.acquire(blocking=False):
            return  # it is being taken in
        try:
            is_done = False
            while not is_done:
                with self._round:
                    is_done = self._take_in(time.monotonic_ns() + limits.SPOOL_ROUND_MS * limits.NS_PER_MS)
        finally:
            self._behind.release()

    def _take_in(self, until_ns: int) -> bool:
        """One round. Whether nothing is left that could be taken in now."""
        paths = waiting(self._parts.home)
        self._left = {path: self._left[path] for path in paths if path in self._left}
        taken = 0
        try:
            _count_lost(self._parts)
            for path in paths:
                if path in self._left and not self._is_another(path):
                    continue
                if time.monotonic_ns() > until_ns:
                    return False
                taken += self._take(path)
        except _FOR_NOW as refusal:
            log.warning("spooled calls wait on: %s", refusal.code)
        finally:
            if taken:
                log.info("took in %d spooled calls", taken)
        return True

    def _is_another(self, path: Path) -> bool:
        """Whether a file that was left stands there in another shape, or is old enough to go."""
        seen = _seen(path)
        return seen is not None and (_shape(seen) != self._left[path] or _is_old(seen))

    def _take(self, path: Path) -> bool:
        """Whether the file was taken in. Raises what the store refuses for now."""
        seen = _seen(path)
        if seen is None:
            return False
        try:
            spooled = wire.decode_spool(_read(path))
            harness = self._harnesses.get(spooled.hook.harness)
            if harness is None:  # perhaps of a later memd, which will know it
                raise Unfit
            _store(self._parts, harness, spooled)
        except _FOR_NOW:
            raise
        except errors.MemdError as refusal:  # of this call alone: never dropped, tried again at the next start
            log.warning("a spooled call waits on: %s", refusal.code)
            self._left[path] = _shape(seen)
            return False
        except (OSError, wire.Malformed, Unfit):
            self._leave(path, seen)
            return False
        except Exception:
            # one call that cannot be taken in must not keep back those behind it, nor the prompt that waits for them
            log.exception("a spooled call could not be taken in")
            self._leave(path, seen)
            return False
        self._remove(path, seen)
        return True

    def _remove(self, path: Path, seen: os.stat_result) -> None:
        """What is taken in; where that fails the next start takes it in once more, and finds its turn there."""
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            log.warning("a spooled call that was taken in could not be removed: %s", error.strerror)
            self._left[path] = _shape(seen)

    def _leave(self, path: Path, seen: os.stat_result) -> None:
        if _is_old(seen):
            _drop(self._parts, path)
        self._left[path] = _shape(seen)


def waiting(home: Path) -> list[Path]:
    """Spooled files, oldest first."""
    return _named(home, wire.SPOOL_SUFFIX)


def _named(home: Path, suffix: bytes) -> list[Path]:
    try:
        found = [path for path in (home / "spool").iterdir() if path.name.endswith(os.fsdecode(suffix))]
    except OSError:
        return []
    return sorted(path for path in found if not path.name.startswith("."))


def _count_lost(parts: Parts) -> None:
    """Counts what hooks could not keep, and takes their marks away. Raises what the store refuses."""
    marks = _named(parts.home, wire.LOST_SUFFIX)
    if not marks:
        return
    parts.store.write(
        lambda txn: txn.put_setting(LOST, b"%d %d" % (lost_in(txn.setting(LOST))[0] + len(marks), parts.now_ms()))
    )
    for mark in marks:
        with contextlib.suppress(OSError):
            mark.unlink()
    log.warning("%d calls were lost: hooks had no room for them", len(marks))


def lost_in(stored: bytes | None) -> tuple[int, int]:
    """(how many calls were lost, Unix ms when memd last learned of one) from the setting's bytes."""
    words = (stored or b"").split()
    count, at_ms = (int(word) if word.isdigit() else 0 for word in (*words, b"", b"")[:2])
    return count, at_ms


def _seen(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except OSError:
        return None


def _shape(seen: os.stat_result) -> tuple[int, int]:
    return seen.st_ino, seen.st_mtime_ns


def _is_old(seen: os.stat_result) -> bool:
    return time.time() - seen.st_mtime > wire.SPOOL_MAX_AGE_S


def _read(path: Path) -> bytes:
    """The content of a file that a hook may have written. Raises OSError, Unfit."""
    if not stat.S_ISREG(path.lstat().st_mode):
        raise Unfit  # a device would do something when it is opened
    with open(path, "rb", opener=unfollowed) as file:
        seen = os.fstat(file.fileno())
        fits = stat.S_ISREG(seen.st_mode) and seen.st_uid == os.getuid() and seen.st_size <= wire.SPOOLED_MAX_BYTES
        if not fits:
            raise Unfit
        return file.read(wire.SPOOLED_MAX_BYTES)


def _store(parts: Parts, harness: Harness, spooled: wire.Spooled) -> None:
    """Raises Unfit for a prompt that cannot be read."""
    hook = copy(spooled.hook)
    told = hook.event, hook.stdin, os.fsdecode(hook.cwd), wire.parse_environment(hook.environment)
    event = harness.parse(*told)
    if event is None and harness.NAME in UNREAD and UNREAD[harness.NAME](*told):
        raise Unfit  # perhaps a later memd can read it
    if event is None:  # nothing that is kept: another client's, or a commit that nobody wrote just now
        return
    event = names.heard(event)
    hook.request_id = names.request_kept(hook.request_id, event)
    at_ms = spooled.at_ns // limits.NS_PER_MS
    if event.moment == Moment.PROMPT_SUBMIT and event.session:
        store_prompt(parts, hook, harness, event, place_of(parts, event.cwd), None, at_ms, spooled=True)
    elif event.moment == Moment.GIT_COMMIT:
        capture.record_commit(parts, event, place_of(parts, event.cwd), at_ms)


def _drop(parts: Parts, path: Path) -> None:
    """Removes what could not be read for a day; a folder stays where it is."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return
    log.warning("dropped a spooled file that could not be read")
    parts.store.write(lambda txn: txn.put_setting(DROPPED, str(dropped_in(txn.setting(DROPPED)) + 1).encode()))


def dropped_in(stored: bytes | None) -> int:
    """The count in the setting's bytes."""
    return int(stored) if stored and stored.isdigit() else 0


def sizes(home: Path) -> Iterator[int]:
    """Bytes of each waiting file."""
    for path in waiting(home):
        try:
            yield path.lstat().st_size
        except OSError:
            continue
