"""Checking and rebuilding: verify and reindex."""

import time
from collections.abc import Callable
from functools import partial
from typing import Final

from memd_client import api
from memd_daemon import errors, limits
from memd_daemon.model.ids import uid_text
from memd_daemon.service.parts import Parts
from memd_daemon.store.check import verify as check_store
from memd_daemon.store.check import verify_in_slices
from memd_daemon.store.fault import RESTORE, Fault

LEFT_ALONE: Final = "leave it until the log is whole again: it may be all that is left of what was there"

Rest = Callable[[], None]
"""A pause between two slices of work; what it raises ends the work."""


def verify(parts: Parts) -> api.VerifyReply:
    """Chain, digests, signatures and folds of the whole log; every fault with its place and what to do."""
    began = time.monotonic()
    faults = check_store(parts.store)
    parts.store.let_go()
    with parts.store.read() as snapshot:
        counts = snapshot.counts()
    is_log_whole = all(fault.remedy != RESTORE for fault in faults)
    return api.VerifyReply(
        events=counts.events,
        commits=counts.commits,
        seconds=time.monotonic() - began,
        faults=[_fault_out(fault, is_log_whole) for fault in faults],
    )


def _fault_out(fault: Fault, is_log_whole: bool) -> api.FaultOut:
    """Where the log itself is damaged, what is made anew from it would lose what only its folds still say."""
    return api.FaultOut(
        where=fault.where,
        what=fault.what,
        remedy=LEFT_ALONE if fault.derived and not is_log_whole else fault.remedy,
        origin=uid_text(fault.origin) if fault.origin else "",
        commit=fault.seq,
        event=uid_text(fault.uid) if fault.uid and fault.index is not None else "",
        notes=list(fault.notes),
    )


def reindex(parts: Parts, request: api.Reindex) -> api.ReindexReply:
    """Folds, words and vectors anew from the log; with ``embed`` every vector is computed again too.

    Raises LogDamaged where the log is not whole and ``despite_damage`` is not said: what is made anew from it loses what the folds,
    words and vectors of before still have.
    """
    damage = next((fault for fault in _faults_beside_others(parts) if fault.remedy == RESTORE), None)
    if damage is not None and not request.despite_damage:
        raise errors.LogDamaged(f"{damage.where} {damage.what}")
    began = time.monotonic()
    notes, vectors = made_anew(parts, embed=request.embed)
    return api.ReindexReply(notes=notes, vectors=vectors, seconds=time.monotonic() - began)


def _faults_beside_others(parts: Parts) -> list[Fault]:
    """`verify` in slices, so that hooks are answered meanwhile; what looks wrong, as what was written in between may, is looked at
    again in one piece."""
    found = verify_in_slices(parts.store, partial(time.sleep, limits.REBUILD_REST_MS / limits.MS_PER_S))
    return check_store(parts.store) if found else []


def made_anew(parts: Parts, *, embed: bool = False) -> tuple[int, int]:
    """Folds and indexes anew from the log, whatever state that is in; how many notes and vectors there are."""
    made = refold(parts), parts.search.rebuild(embed=embed)
    parts.store.let_go()
    return made


def refold(parts: Parts) -> int:
    """Folds and index rows anew, and no view kept from before; how many notes there are."""
    notes = parts.store.rebuild()
    parts.forget()
    parts.tally.forget()
    return notes
