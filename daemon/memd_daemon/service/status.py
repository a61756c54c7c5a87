"""How memd is: daemon, store, index, hooks, last delivery, spool, sessions, and what is wrong with its fix (surfaces.md)."""

import os
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from memd_client import __version__, api
from memd_daemon import limits
from memd_daemon.model.words import Provenance
from memd_daemon.service import holds, policy_told, settings, spool
from memd_daemon.service.contexts import is_live
from memd_daemon.service.enrolments import enrolments
from memd_daemon.service.explain import delivery_out, ids_of, iso
from memd_daemon.service.hookcounts import HookCounts
from memd_daemon.service.parts import Parts
from memd_daemon.service.tally import WAITING
from memd_daemon.service.views import is_user_stated
from memd_daemon.store.port import Snapshot


def status(parts: Parts, counts: HookCounts, started_ms: int) -> api.StatusReply:
    """Everything `memd status` says."""
    with parts.store.read() as snapshot:
        store, spooled, people = _store(parts, snapshot), _spool(parts, snapshot), _people(parts, snapshot)
        changed = [msgspec.to_builtins(one) for one in settings.changed_from_default(parts, snapshot)]
        model = parts.search.model_id
        waiting = len(snapshot.unembedded(model, limits.STATUS_QUEUE_MAX)) if model else 0
    newest = islice(parts.ledger.deliveries(), limits.STATUS_DELIVERIES_LOOKED_AT)
    last = next((one for one in newest if one.notes), None)
    policies, policy_problems = policy_told.in_status(parts)
    return api.StatusReply(
        daemon=_daemon(parts, started_ms),
        store=store,
        index={
            "model": parts.search.model_id,
            "ready": parts.search.ready,
            "vectors": parts.search.vector_count,
            "waiting": waiting,
        },
        hooks={key: {**told, "last": iso(told["last_ms"])} for key, told in counts.told().items()},
        last_delivery=_plain(delivery_out(parts, last)) if last else None,
        spool=spooled,
        queue={name: store.pop(name) for name in ("proposals", "conflicts", "review", *WAITING, "stated", "held")},
        sessions=_sessions(parts),
        people=people,
        problems=[*_problems(parts, spooled), *policy_problems, *parts.findings.told()],
        settings={"changed": changed},
        policy=policies,
        holds=holds.counted(parts),
    )


def _plain(delivery: api.DeliveryOut) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(delivery)
    return told


def _daemon(parts: Parts, started_ms: int) -> dict[str, Any]:
    return {
        "pid": os.getpid(),
        "version": __version__,
        "up_since": iso(started_ms),
        "memory_bytes": memory_bytes(),
        "home": str(parts.home),
        "looking": parts.findings.looking,
    }


def memory_bytes() -> int:
    """Resident memory of this process; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _store(parts: Parts, snapshot: Snapshot) -> dict[str, Any]:
    told = parts.tally.at(snapshot)
    counts = snapshot.counts()
    return {
        "notes": counts.notes,
        "by_kind": told.by_kind,
        "by_provenance": told.by_provenance,
        "events": counts.events,
        "commits": counts.commits,
        "turns": counts.turns,
        "bytes_on_disk": counts.bytes_on_disk,
        **told.marks,
        "stale": _stale(parts, snapshot),
        **_quarantined(parts, snapshot),
        **{name: sorted(ids_of(snapshot, uids)) for name, uids in told.waiting.items()},
        "stated": _stated(parts, snapshot, told.spoken),
    }


def _stated(parts: Parts, snapshot: Snapshot, spoken: Iterable[bytes]) -> list[int]:
    """Of the rules that nobody endorsed those that are the user's own words from end to end, the newest first."""
    found = (note for note in map(snapshot.note, islice(spoken, limits.STATUS_STATED_LOOKED_AT)) if note is not None)
    return sorted(ids_of(snapshot, [n.uid for n in found if is_user_stated(parts, snapshot, n)]), reverse=True)


def _stale(parts: Parts, snapshot: Snapshot) -> int:
    """Notes that stand and are flagged in some checkout, as far as they were read; past a bound whether they stand is not asked."""
    flagged = sorted(parts.flags.flagged(parts))
    asked = flagged[: limits.STATUS_STALE_MAX]
    standing = sum(note is not None and note.live and not note.revoked for note in map(snapshot.note, asked))
    return standing + len(flagged) - len(asked)


def _quarantined(parts: Parts, snapshot: Snapshot) -> dict[str, Any]:
    """How many notes of bursts nobody has looked at, as far as they are still told at all, and which, the newest first; past a
    bound that is not asked, and they are only counted."""
    held = sorted(parts.bursts.held(parts))
    asked = held[: limits.STATUS_STALE_MAX]
    notes = (note for note in map(snapshot.note, asked) if note is not None)
    standing = [note.uid for note in notes if note.live and note.provenance != Provenance.HUMAN]
    return {
        "quarantined": len(standing) + len(held) - len(asked),
        "held": sorted(ids_of(snapshot, standing), reverse=True),
    }


def _spool(parts: Parts, snapshot: Snapshot) -> dict[str, Any]:
    sizes = list(spool.sizes(parts.home))
    return {
        "waiting": len(sizes),
        "bytes": sum(sizes),
        "dropped": spool.dropped_in(snapshot.setting(spool.DROPPED)),
        "lost": _lost(parts, snapshot),
    }


def _lost(parts: Parts, snapshot: Snapshot) -> int:
    """Calls that hooks had no room for, where the last of them was not long ago."""
    count, at_ms = spool.lost_in(snapshot.setting(spool.LOST))
    return count if parts.now_ms() - at_ms < limits.LOST_TOLD_DAYS * limits.TIME_MS_PER_DAY else 0


def _people(parts: Parts, snapshot: Snapshot) -> list[dict[str, Any]]:
    """Every enrolment that counts: fingerprint, when, at which terminal, whether of the last days, and when it was rejected."""
    since = parts.now_ms() - limits.ENROLMENT_TOLD_DAYS * limits.TIME_MS_PER_DAY
    return [
        {
            "fingerprint": one.fingerprint,
            "at": iso(one.at_ms),
            "terminal": one.terminal,
            "recent": one.at_ms >= since,
            "rejected": iso(one.rejected_ms),
        }
        for one in enrolments(snapshot, parts.store.info.store)
    ]


def _sessions(parts: Parts) -> list[dict[str, Any]]:
    now_ms = parts.now_ms()
    return [
        {
            "session": c.session,
            "agent": c.agent,
            "harness": c.harness,
            "epoch": c.epoch,
            "turns": c.turns,
            "bundle": c.bundle,
            "last": iso(c.last_at),
        }
        for c in parts.ledger.contexts(live_since=now_ms - limits.SESSION_LIVE_MS)
        if is_live(parts.ledger, c, now_ms)
    ]


def _disk(parts: Parts) -> list[dict[str, str]]:
    """What keeps the store from being written: as the file system tells it now, else as the last write met it."""
    home = parts.home
    try:
        disk = os.statvfs(home / "store" / "log")
    except OSError:
        what, fix = f"the store in {home} is gone", "put it back, or `memd restart` begins a new one"
        return [{"code": "store-gone", "what": what, "fix": fix}]
    if disk.f_flag & os.ST_RDONLY:
        what = f"{home} lies on a file system that is mounted read-only: nothing is recorded"
        return [{"code": "disk-read-only", "what": what, "fix": "mount it for writing; memd goes on by itself"}]
    if disk.f_bavail * disk.f_frsize < limits.DISK_FULL_BYTES:
        what = f"the disk of {home} is full: nothing is recorded"
        return [{"code": "disk-full", "what": what, "fix": "free some space; memd goes on by itself"}]
    if parts.store.trouble is not None:
        fix = "look into the system's log (`dmesg`) and `memd logs`; memd goes on when the disk does"
        return [
            {
                "code": parts.store.trouble.code,
                "what": f"the last write was not taken: {parts.store.trouble}",
                "fix": fix,
            }
        ]
    return []


def _problems(parts: Parts, spooled: dict[str, Any]) -> list[dict[str, str]]:
    problems = _disk(parts)
    if spooled["lost"]:
        problems.append(
            {
                "what": f"{spooled['lost']} prompts or commits came while there was no room for them, and are not kept",
                "fix": "keep some space free on the disk of memd's home; say again what memd should know",
            }
        )
    if spooled["dropped"]:
        problems.append(
            {
                "what": f"{spooled['dropped']} spooled files could not be read and were dropped",
                "fix": "check the disk; `memd verify` checks the store",
            }
        )
    if parts.search.trouble:
        problems.append(
            {
                "what": f"the search indexes are behind: {parts.search.trouble} stopped the last try",
                "fix": "check the room on the disk; it is tried again by itself, and `memd logs` has the trace",
            }
        )
    return problems
