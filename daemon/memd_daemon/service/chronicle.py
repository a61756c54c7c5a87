"""Decisions in the order of time, and the way from a note down to the words it stands on and up to what stands on it.

A decision arrives only when somebody asks (delivery.md), also as a sequence with its neighbours: superseded and revoked ones stand
in it at their place, so that the reader sees how it came to what holds now.

Down from a note lead its sources: the notes that it is derived from, and those it has absorbed; to each belong the turns that were
bound to it, in the user's words. Up lead the notes built on it, the one that absorbed it and the one that superseded it.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from memd_client import api
from memd_daemon import limits
from memd_daemon.frames.chronicle import chronicle, traced
from memd_daemon.frames.recall import recalled
from memd_daemon.model import event as ev
from memd_daemon.model.ids import NO_UID
from memd_daemon.model.note import Note
from memd_daemon.model.turn import Turn
from memd_daemon.model.view import BehindView, StepView
from memd_daemon.model.words import Kind
from memd_daemon.service import attest
from memd_daemon.service.asker import asker_of
from memd_daemon.service.contexts import sessions_of
from memd_daemon.service.explain import note_out, turn_out
from memd_daemon.service.parts import Parts
from memd_daemon.service.refs import note_at
from memd_daemon.service.repos import Place, place_of, scopes_at
from memd_daemon.service.shown import Row, row, showed
from memd_daemon.service.views import view_of
from memd_daemon.store.port import Snapshot

Link = tuple[str, bytes]
"""(how, uid of the other note)."""


def decisions(parts: Parts, request: api.Decisions) -> api.DecisionsReply:
    """The decisions that hold here, oldest first; with a ref the stretch around that note. Raises NoSuchNote, Forgotten."""
    asker = asker_of(parts.ledger, request.env, request.surface)
    place = place_of(parts, request.cwd)
    scopes = scopes_at(place, *sessions_of(parts.ledger, asker.session))
    with parts.store.read() as snapshot:
        middle = note_at(snapshot, request.ref) if request.ref else None
        if middle is not None:
            scopes = (*scopes, middle.scope)
        found = {n.uid: n for n in _decisions(snapshot) if request.all_scopes or n.scope in scopes}
        if middle is not None:
            found[middle.uid] = middle
        ordered = sorted(found.values(), key=lambda n: (n.created_at, snapshot.id_of(n.uid) or 0))
        first, last = _stretch(ordered, middle, request)
        views = [view_of(parts, snapshot, note, place) for note in ordered[first:last]]
        texts = [recalled(view, parts.now_ms(), parts.tags) for view in views]
        told = [
            api.Found(note=note_out(parts, snapshot, view), text=text, score=0.0, factors={})
            for view, text in zip(views, texts, strict=True)
        ]
    showed(parts, asker, "decisions", place, map(row, views, texts))
    before, after = first, len(ordered) - last
    return api.DecisionsReply(
        found=told, text=chronicle(views, texts, before, after) + "\n", before=before, after=after
    )


def _decisions(snapshot: Snapshot) -> Iterator[Note]:
    return (note for _, note in snapshot.notes() if note.kind == Kind.DECISION and not note.forgotten)


def _stretch(ordered: list[Note], middle: Note | None, request: api.Decisions) -> tuple[int, int]:
    """(first, one past the last) of what is shown."""
    if middle is not None:
        at = next(i for i, note in enumerate(ordered) if note.uid == middle.uid)
        around = max(0, request.around)
        return max(0, at - around), min(len(ordered), at + around + 1)
    last = max(0, len(ordered) - max(0, request.offset))
    return (max(0, last - request.limit) if request.limit > 0 else 0), last


def trace(parts: Parts, request: api.Trace) -> api.TraceReply:
    """A note with what it stands on and what stands on it. Raises NoSuchNote, Forgotten."""
    asker = asker_of(parts.ledger, request.env, request.surface)
    place = place_of(parts, request.cwd)
    with parts.store.read() as snapshot:
        note = note_at(snapshot, request.ref)
        walk = _Walk(parts, snapshot, place, note)
        down = walk.along(_down(snapshot))
        up = walk.along(_up(snapshot))
        view, behind = walk.first, behind_of(parts, snapshot, note)
        first = recalled(view, parts.now_ms(), parts.tags)
        text = traced(
            view,
            first,
            [b for _, b in behind],
            ([step for _, step in down], [step for _, step in up]),
            walk.left_out,
            parts.tags,
        )
        reply = api.TraceReply(
            note=note_out(parts, snapshot, view),
            behind=[out for out, _ in behind],
            down=[out for out, _ in down],
            up=[out for out, _ in up],
            text=text + "\n",
            left_out=walk.left_out,
        )
    showed(parts, asker, "trace", place, [row(view, first), *walk.shown])
    return reply


def _down(snapshot: Snapshot) -> Callable[[Note], Iterable[Link]]:
    def links(note: Note) -> Iterable[Link]:
        folded = dict.fromkeys(snapshot.absorbed_by(note.uid))
        yield from (("absorbed", uid) for uid in folded)
        yield from (("derived from", uid) for uid in note.derived_from if uid not in folded)

    return links


def _up(snapshot: Snapshot) -> Callable[[Note], Iterable[Link]]:
    def links(note: Note) -> Iterable[Link]:
        ends = (("absorbed into", note.absorbed_by), ("superseded by", note.superseded_by))
        yield from ((how, uid) for how, uid in ends if uid != NO_UID)
        yield from (("built on", uid) for uid in snapshot.children_of(note.uid) if uid != note.absorbed_by)

    return links


class _Walk:
    """Steps from one note over links, nearest first, each note told once, within the bound on either way."""

    def __init__(self, parts: Parts, snapshot: Snapshot, place: Place, note: Note) -> None:
        self._parts, self._snapshot, self._place, self._note = parts, snapshot, place, note
        self._told = {note.uid}
        self.first = view_of(parts, snapshot, note, place)
        self.left_out = 0
        self.shown: list[Row] = []

    def along(self, links: Callable[[Note], Iterable[Link]]) -> list[tuple[api.StepOut, StepView]]:
        steps: list[tuple[api.StepOut, StepView]] = []
        left: set[bytes] = set()
        waiting, walked = [(self._note, 0)], {self._note.uid}
        for note, depth in waiting:
            for how, uid in links(note):
                other = self._snapshot.note(uid)
                if other is None:
                    continue
                if len(steps) >= limits.TRACE_STEPS_MAX:
                    left.add(uid)
                    continue
                steps.append(self._step(how, note, other, depth + 1))
                if uid not in walked:
                    walked.add(uid)
                    waiting.append((other, depth + 1))
        self.left_out += len(left - self._told)
        return steps

    def _step(self, how: str, of: Note, note: Note, depth: int) -> tuple[api.StepOut, StepView]:
        view = view_of(self._parts, self._snapshot, note, self._place)
        text = recalled(view, self._parts.now_ms(), self._parts.tags)
        behind = behind_of(self._parts, self._snapshot, note)
        id_, is_new = self._snapshot.id_of(of.uid) or 0, note.uid not in self._told
        self._told.add(note.uid)
        self.shown.append(row(view, text))
        out = api.StepOut(
            how=how,
            of=id_,
            depth=depth,
            note=note_out(self._parts, self._snapshot, view),
            text=text,
            behind=[b for b, _ in behind],
        )
        shown = StepView(how=how, of=id_, view=view)
        if is_new:
            shown = msgspec.structs.replace(shown, text=text, behind=tuple(b for _, b in behind))
        return out, shown


def behind_of(parts: Parts, snapshot: Snapshot, note: Note) -> list[tuple[api.BehindOut, BehindView]]:
    """The user's words that were bound to a note; none for one that is revoked or forgotten, since they repeat its content."""
    if note.revoked or note.forgotten:
        return []
    found = [(evidence, snapshot.turn(evidence.turn)) for evidence in note.evidence]
    here = [
        (evidence, turn if turn is not None and turn.uid == evidence.turn_uid else None) for evidence, turn in found
    ]
    looks = attest.look_again(parts, (turn for _, turn in here if turn is not None))
    return [_behind(snapshot, evidence, turn, looks.get(evidence.turn)) for evidence, turn in here]


def _behind(
    snapshot: Snapshot, evidence: ev.Evidence, turn: Turn | None, look: attest.Look | None
) -> tuple[api.BehindOut, BehindView]:
    excerpt = snapshot.text(evidence.excerpt) or ""
    view = BehindView(turn=evidence.turn, attestation=evidence.attestation, excerpt=excerpt)
    if turn is None or look is None:
        return api.BehindOut(excerpt=excerpt, attestation=evidence.attestation, turn=None), view
    text = _around(turn, evidence)
    out = api.BehindOut(excerpt=excerpt, attestation=evidence.attestation, turn=turn_out(turn, look))
    return out, msgspec.structs.replace(
        view, attestation=look.attestation, at=turn.at, text=text, more_chars=len(turn.text) - len(text)
    )


def _around(turn: Turn, evidence: ev.Evidence) -> str:
    """The turn; of one that is too long the part around what was bound, never less than that."""
    room = max(0, limits.TRACE_TURN_MAX_CHARS - (evidence.end - evidence.start))
    start = max(0, evidence.start - room // 2)
    return turn.text[start : max(evidence.end, start + limits.TRACE_TURN_MAX_CHARS)]
