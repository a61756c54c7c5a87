"""The curated ladder at a write: what an atom, a principle or a doctrine needs before it is recorded (curation.md).

A principle or doctrine is a judgment that somebody answers for: it has a name of its own (slug), what taught it (sources) and why
it was made. Where one that says nearly the same stands already, that one is revised instead: rules get sharper and not more.
"""

import re
from typing import Final

import msgspec

from memd_client import api
from memd_daemon import errors, limits
from memd_daemon.model.ids import uid_from_text
from memd_daemon.model.note import Note
from memd_daemon.model.words import Provenance
from memd_daemon.service.acts_currency import CURATED
from memd_daemon.service.claim import Claim
from memd_daemon.service.names import is_safe
from memd_daemon.service.near import Look, Verdict
from memd_daemon.service.parts import Parts
from memd_daemon.service.refs import held_by
from memd_daemon.service.repos import GLOBAL
from memd_daemon.service.text import quoted
from memd_daemon.service.wanted import Wanted, checked_reason
from memd_daemon.store.port import Snapshot

SLUG: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
LEVELS: Final = ("atom", *CURATED)


def placed(parts: Parts, request: api.Remember, wanted: Wanted) -> Wanted:
    """The note on the rung that the request names. Raises UnknownWord, SourceUnknown, TranscriptsNotKept, SlugWrong, SourcesNeeded,
    WhyNeeded, JudgmentNeeded, OnlyOnLadder."""
    level, why = request.level, checked_reason(parts, request.why)
    if not level:
        given = {"slug": request.slug, "sources": request.sources, "source-ref": request.source_ref}
        for name, value in {**given, "distinct": request.distinct, "why": why}.items():
            if value:
                raise errors.OnlyOnLadder(name)
        return wanted
    if level not in LEVELS:
        raise errors.UnknownWord("level", quoted(level), ", ".join(LEVELS))
    if level == "atom":
        raise errors.TranscriptsNotKept if request.source_ref else errors.SourceUnknown
    if wanted.provenance is Provenance.AUTO:
        raise errors.JudgmentNeeded(level)
    if not SLUG.fullmatch(request.slug) or _is_other_ref(request.slug):
        raise errors.SlugWrong(level)
    if not request.sources:
        raise errors.SourcesNeeded(level)
    if not why:
        raise errors.LevelWhyNeeded(level)
    return msgspec.structs.replace(wanted, level=level, slug=request.slug, why=why)


def _is_other_ref(slug: str) -> bool:
    """Whether the name would be read as an id or a uid, or is none that may be kept."""
    too_long = len(slug) > limits.SLUG_MAX_CHARS
    return too_long or slug.isdigit() or uid_from_text(slug) is not None or not is_safe(slug)


def sources_of(snapshot: Snapshot, request: api.Remember, told: list[str]) -> list[Note]:
    """The notes that taught it. Raises NoteRevoked for one that was found wrong."""
    found = [held_by(snapshot, ref, told) for ref in request.sources]
    for note in found:
        if note.revoked:
            id_ = snapshot.id_of(note.uid)
            raise errors.NoteRevoked(id_, "a source", id_)
    return found


def refuse_taken(snapshot: Snapshot, slug: str) -> None:
    """Raises SlugTaken; called inside the write too, so that of two writers one is told."""
    uid = snapshot.uid_of_slug(slug) if slug else None
    if uid is not None:
        raise errors.SlugTaken(slug, snapshot.id_of(uid), slug)


def refuse_near(parts: Parts, snapshot: Snapshot, wanted: Wanted, *, distinct: bool) -> None:
    """Raises NearRule where a rule of the same level says nearly the same, unless the writer says why this one is another."""
    if wanted.level not in CURATED or distinct:
        return
    look = Look(parts.search, wanted.content, Claim.of(wanted.content))
    for hit in parts.search.find(wanted.content, (wanted.scope, GLOBAL), limits.RECALL_MAX_K):
        uid = snapshot.uid_of(hit.id)
        note = snapshot.note(uid) if uid else None
        if note is None or note.level != wanted.level or note.revoked or not note.live:
            continue
        said = snapshot.text(note.revisions[-1].content)
        if said is not None and look.at(said) is not Verdict.APART:
            raise errors.NearRule(wanted.level, hit.id, note.slug, note.slug)
