"""The spool: what hooks could not deliver, taken in, in order, and only then removed (hooks.md, section 3).

A file holds raw text, so it goes as soon as its turn is on disk. What cannot be read or taken in, whatever the reason, stands in
the way of nothing: it stays until `wire.SPOOL_MAX_AGE_S`, then it is removed, and `status` tells how many were. Only what the
store refuses for now (a full disk) waits for as long as it takes.
"""

import logging
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from memd_client import wire
from memd_daemon import errors, limits
from memd_daemon.service import capture
from memd_daemon.service.deliver import store_prompt
from memd_daemon.service.parts import Parts
from memd_daemon.service.repos import place_of
from memd_hooks.events import Harness, Moment

log: Final = logging.getLogger("memd.spool")

DROPPED: Final = "spool/dropped"
"""Setting: how many unreadable files were dropped."""


def waiting(home: Path) -> list[Path]:
    """Spooled files, oldest first."""
    try:
        found = [p for p in (home / "spool").iterdir() if p.name.endswith(os.fsdecode(wire.SPOOL_SUFFIX))]
    except OSError:
        return []
    return sorted(p for p in found if not p.name.startswith("."))


def drain(parts: Parts, harnesses: Mapping[str, Harness]) -> int:
    """Takes in every file that waits; how many were."""
    return sum(1 for path in waiting(parts.home) if _take(parts, harnesses, path))


def _take(parts: Parts, harnesses: Mapping[str, Harness], path: Path) -> bool:
    try:
        spooled = wire.decode_spool(path.read_bytes())
    except FileNotFoundError:
        return False
    except (OSError, wire.Malformed):
        _drop_if_old(parts, path)
        return False
    harness = harnesses.get(spooled.hook.harness)
    if harness is None:  # perhaps of a later memd, which will know it
        _drop_if_old(parts, path)
        return False
    try:
        _store(parts, harness, spooled)
    except errors.MemdError as refusal:
        log.warning("a spooled call waits on: %s", refusal.code)
        return False
    except Exception:
        # one call that cannot be taken in must not keep back those behind it, nor the prompt that waits for them
        log.exception("a spooled call could not be taken in")
        _drop_if_old(parts, path)
        return False
    path.unlink(missing_ok=True)
    return True


def _store(parts: Parts, harness: Harness, spooled: wire.Spooled) -> None:
    hook = spooled.hook
    event = harness.parse(hook.event, hook.stdin, os.fsdecode(hook.cwd), wire.parse_environment(hook.environment))
    if event is None:
        return
    at_ms = spooled.at_ns // limits.NS_PER_MS
    if event.moment == Moment.PROMPT_SUBMIT and event.session:
        store_prompt(parts, hook, harness, event, place_of(parts, event.cwd), None, at_ms, spooled=True)
    elif event.moment == Moment.GIT_COMMIT:
        capture.record_commit(parts, event, place_of(parts, event.cwd), at_ms)


def _drop_if_old(parts: Parts, path: Path) -> None:
    try:
        age_s = time.time() - path.stat().st_mtime
    except OSError:
        return
    if age_s > wire.SPOOL_MAX_AGE_S:
        log.warning("dropped a spooled file that could not be read")
        path.unlink(missing_ok=True)
        parts.store.write(lambda txn: txn.put_setting(DROPPED, str(dropped_in(txn.setting(DROPPED)) + 1).encode()))


def dropped_in(stored: bytes | None) -> int:
    """The count in the setting's bytes."""
    return int(stored) if stored and stored.isdigit() else 0


def sizes(home: Path) -> Iterator[int]:
    """Bytes of each waiting file."""
    for path in waiting(home):
        try:
            yield path.stat().st_size
        except OSError:
            continue
