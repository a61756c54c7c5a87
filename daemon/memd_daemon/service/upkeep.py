"""Checking and rebuilding: verify and reindex."""

import time
from collections.abc import Callable

from memd_client import api
from memd_daemon.service.parts import Parts
from memd_daemon.store.check import verify as check_store

Rest = Callable[[], None]
"""A pause between two slices of work; what it raises ends the work."""


def verify(parts: Parts) -> api.VerifyReply:
    """Chain, digests, signatures and folds of the whole log; every fault with its place and what to do."""
    began = time.monotonic()
    faults = check_store(parts.store)
    with parts.store.read() as snapshot:
        counts = snapshot.counts()
    return api.VerifyReply(
        events=counts.events,
        commits=counts.commits,
        seconds=time.monotonic() - began,
        faults=[api.FaultOut(where=f.where, what=f.what, remedy=f.remedy) for f in faults],
    )


def reindex(parts: Parts, request: api.Reindex) -> api.ReindexReply:
    """Folds, words and vectors anew from the log; with ``embed`` every vector is computed again too."""
    began = time.monotonic()
    notes = refold(parts)
    vectors = parts.search.rebuild(embed=request.embed)
    return api.ReindexReply(notes=notes, vectors=vectors, seconds=time.monotonic() - began)


def refold(parts: Parts) -> int:
    """Folds and index rows anew, and no view kept from before; how many notes there are."""
    notes = parts.store.rebuild()
    parts.views.forget()
    parts.tally.forget()
    return notes
