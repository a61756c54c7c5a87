"""Which notes may be told at a moment, before the rules decide: lookups by index, never a scan of the store."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from memd_daemon import limits
from memd_daemon.model.delivery import Context
from memd_daemon.model.note import Note
from memd_daemon.model.view import NoteView
from memd_daemon.model.words import Kind, Priority
from memd_daemon.rules.situation import Candidate, GateEvidence
from memd_daemon.service.parts import Parts
from memd_daemon.service.recall import weighed
from memd_daemon.service.repos import Place, scopes_at
from memd_daemon.service.views import Looked, grounded, view_from_log, view_of
from memd_daemon.store.port import Snapshot
from memd_hooks.events import Moment


def at_start(parts: Parts, snapshot: Snapshot, place: Place, context: Context) -> list[Candidate]:
    """Standing rules and, for a main agent, open tasks; for a subagent, `high` gotchas on files the session touched."""
    scopes = scopes_at(place, context.session)
    kinds = (Kind.DIRECTIVE,) if context.agent else (Kind.DIRECTIVE, Kind.TASK)
    found = [note for scope in scopes for kind in kinds for note in _of_kind(snapshot, scope, kind) if _worth(note)]
    looked: Looked = {}
    candidates = [_candidate(parts, snapshot, place, note, looked) for note in found]
    if context.agent:
        parent = parts.ledger.context(context.session, "")
        touched = (*parent.read, *parent.edited) if parent else ()
        candidates += on_paths(parts, snapshot, place, context.session, touched, only_high=True)
    return candidates


def _worth(note: Note) -> bool:
    """Spares the view of what could not arrive anyway: tasks below `high`, which may be many."""
    return note.kind != Kind.TASK or note.priority == Priority.HIGH


def _of_kind(snapshot: Snapshot, scope: str, kind: Kind) -> Iterator[Note]:
    for id_ in snapshot.notes_of_kind(scope, kind):
        uid = snapshot.uid_of(id_)
        note = snapshot.note(uid) if uid else None
        if note is not None:
            yield note


def _candidate(parts: Parts, snapshot: Snapshot, place: Place, note: Note, looked: Looked) -> Candidate:
    return Candidate(view=view_of(parts, snapshot, note, place, ground_ms=limits.GROUND_DEADLINE_MS, looked=looked))


def on_paths(
    parts: Parts, snapshot: Snapshot, place: Place, session: str, paths: Iterable[str], *, only_high: bool = False
) -> list[Candidate]:
    """Gotchas anchored to these files of the repository."""
    found: dict[bytes, NoteView] = {}
    for path in paths:
        for view in _on_path(parts, snapshot, place, session, path):
            if not only_high or view.note.priority == Priority.HIGH:
                found.setdefault(view.note.uid, view)
    looked: Looked = {}
    return [Candidate(view=grounded(parts, view, place, limits.GROUND_DEADLINE_MS, looked)) for view in found.values()]


def _on_path(parts: Parts, snapshot: Snapshot, place: Place, session: str, path: str) -> tuple[NoteView, ...]:
    """The views of a file's gotchas, their ground not looked at."""
    scopes = scopes_at(place, session)

    def made() -> tuple[NoteView, ...]:
        ids = (id_ for scope in scopes for id_ in snapshot.notes_on_path(scope, path))
        uids = [uid for uid in map(snapshot.uid_of, ids) if uid]
        notes = [note for note in map(snapshot.note, uids) if note is not None]
        views = (view_from_log(snapshot, note, place) for note in notes)
        return tuple(msgspec.structs.replace(view, matched_path=path) for view in views)

    return parts.views.of(snapshot, (*scopes, path), made)


def on_prompt(
    parts: Parts, snapshot: Snapshot, place: Place, session: str, prompt: str, vector: Any
) -> list[Candidate]:
    """Findings that the prompt brings up, best first, each with the evidence that the gate reads."""
    hits = parts.search.find(prompt, scopes_at(place, session), limits.FUSION_CANDIDATES, vector=vector)
    match: Callable[[str], Any] = parts.search.matcher(prompt)
    found = []
    for hit in hits:
        uid = snapshot.uid_of(hit.id)
        note = snapshot.note(uid) if uid else None
        if note is None or note.kind != Kind.FINDING:
            continue
        evidence = match(snapshot.text(note.shown.content) or "")
        gate = GateEvidence(
            cosine=hit.cosine,
            idf_share=evidence.idf_share,
            terms=evidence.terms,
            identifiers=evidence.identifiers,
        )
        score, _ = weighed(parts, note, hit.relevance)
        found.append((score, note, gate))
        if len(found) >= limits.PROMPT_CANDIDATES:
            break
    found.sort(key=lambda f: (-f[0], f[1].uid))
    return [
        Candidate(
            view=view_of(parts, snapshot, note, place, ground_ms=limits.GROUND_DEADLINE_MS), score=score, gate=gate
        )
        for score, note, gate in found
    ]


MOMENTS_THAT_TELL = frozenset(
    {
        Moment.SESSION_START,
        Moment.POST_COMPACTION,
        Moment.PROMPT_SUBMIT,
        Moment.READ,
        Moment.PRE_EDIT,
        Moment.SUBAGENT_START,
    }
)
"""Moments at which memd may speak."""
