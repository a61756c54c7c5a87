"""`memd why`: what was decided about one note in a session, and what would be decided now.

What was decided stands in the ledger. What would be is asked of the same lookups and the same rules that a hook is answered by
(`Deliverer.foresee`), at each moment of the session as it stands now; once that has ended, of one that begins here, save where its
resume is asked about. A note that no lookup brought up is put to the rules by itself, so that the first one that keeps it out has
its name. Nothing is recorded.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from memd_client import api
from memd_client.reasons import DecidedOut, ForeseenOut
from memd_daemon import errors, limits
from memd_daemon.frames.history import head
from memd_daemon.model.delivery import Context, Delivery
from memd_daemon.model.ids import uid_text
from memd_daemon.model.note import Note
from memd_daemon.model.view import NoteView
from memd_daemon.model.words import Kind, Priority, Provenance
from memd_daemon.rules import NOT_NEAR, UNLISTED, WHY, Candidate, Decision, Situation, detail, sift
from memd_daemon.service import candidates
from memd_daemon.service.asker import asker_of
from memd_daemon.service.contexts import is_live, touched
from memd_daemon.service.deliver import Deliverer, Foreseen
from memd_daemon.service.explain import iso, state_of
from memd_daemon.service.moments import FILE_MOMENTS
from memd_daemon.service.names import id_kept
from memd_daemon.service.parts import Parts
from memd_daemon.service.refs import note_at, session_begun, uid_at
from memd_daemon.service.repos import Place, place_of
from memd_daemon.service.spoken import with_spoken
from memd_daemon.service.text import quoted
from memd_daemon.service.views import Looked, grounded, quarantined, view_from_log
from memd_daemon.store.ledger_port import Ledger
from memd_daemon.store.port import Snapshot
from memd_hooks.events import HookEvent, Moment, StartSource
from memd_hooks.harness import claude

RESUME: Final = "resume"
STARTS: Final = (Moment.SESSION_START, Moment.POST_COMPACTION, Moment.SUBAGENT_START)
ASKED: Final = (
    Moment.SESSION_START,
    Moment.POST_COMPACTION,
    Moment.PROMPT_SUBMIT,
    Moment.READ,
    Moment.PRE_EDIT,
    Moment.SUBAGENT_START,
)
"""The moments that can tell; each is looked at unless the request names some."""
MOMENTS: Final[Mapping[str, Moment]] = {
    **{moment: moment for moment in (*ASKED, Moment.STOP, Moment.SESSION_END)},
    RESUME: Moment.SESSION_START,
}
_SOURCES: Final[Mapping[str, StartSource]] = {
    Moment.SESSION_START: StartSource.STARTUP,
    RESUME: StartSource.RESUME,
    Moment.POST_COMPACTION: StartSource.COMPACT,
}
_NEW_AGENT: Final = "foreseen"
"""Stands for a subagent that has not been started."""

_NO_PROMPT: Final = "it depends on the prompt"
_OTHER_MOMENT: Final = "other-moment"
_ON_A_PROMPT: Final = frozenset({"below-gate", NOT_NEAR})


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked: a note, seen from a place and a session. ``context``: None where no session was heard of here."""

    request: api.Why
    note: Note
    id: int
    place: Place
    context: Context | None
    live: bool

    def going_on(self, moment: str) -> Context | None:
        """The context that comes to a moment next; None for that of a session that begins here."""
        return self.context if self.live or moment == RESUME else None


def why(parts: Parts, deliverer: Deliverer, request: api.Why) -> api.WhyReply:
    """Why the note was told or not, and what would be decided now. Raises NoSuchNote, NoSuchSession, UnknownWord, BadRequest."""
    asked = _asked(request)
    place = place_of(parts, request.cwd)
    with parts.store.read() as snapshot:
        uid = uid_at(snapshot, request.ref)
        note = snapshot.note(uid) or note_at(snapshot, request.ref)  # which says that there is none
        id_ = snapshot.id_of(uid) or 0
    context = _context(parts, place, request)
    is_alive = context is not None and _is_live(parts, context)
    subject = Subject(request=request, note=note, id=id_, place=place, context=context, live=is_alive)
    decided, more = _decided(parts, subject)
    paths = _paths(subject)
    return api.WhyReply(
        id=id_,
        uid=uid_text(note.uid),
        head=head(id_, note, parts.tags),
        session=context.session if context else "",
        agent=context.agent if context else "",
        harness=context.harness if context else "",
        live=is_alive,
        decided=decided,
        had_moment=bool(decided) or context is None or _had_moment(parts, subject),
        foreseen=[one for moment in asked for one in _foreseen(parts, deliverer, subject, moment, paths)],
        more=more,
        more_files=0 if request.paths else max(0, len(note.anchors) - len(paths)),
    )


def _asked(request: api.Why) -> list[str]:
    unknown = next((moment for moment in request.at if moment not in MOMENTS), None)
    if unknown is not None:
        raise errors.UnknownWord("moment", quoted(unknown), ", ".join(MOMENTS))
    if len(request.paths) > limits.WHY_PATHS_MAX:
        raise errors.BadRequest(f"at most {limits.WHY_PATHS_MAX} files are asked about at once")
    return list(dict.fromkeys(request.at or ASKED))


def _paths(subject: Subject) -> list[str]:
    """The files that are read or edited: those asked for, else the gotcha's own; one nameless file for other kinds."""
    if subject.request.paths:
        return list(subject.request.paths)
    anchors = subject.note.anchors if subject.note.kind == Kind.GOTCHA else ()
    return [anchor.path for anchor in anchors[: limits.WHY_FILES_MAX]] or [""]


# --- which session


def _context(parts: Parts, place: Place, request: api.Why) -> Context | None:
    named = request.session or asker_of(parts.ledger, request.env, request.surface).session
    if named:
        session = session_begun(parts.ledger, named)
        if not parts.ledger.contexts_of(session):
            raise errors.NoSuchSession(quoted(named))
        return _context_of(parts.ledger, session, request.agent)
    here = [c for c in parts.ledger.contexts() if c.repo == place.scope and not c.agent]
    newest = max(here, key=lambda c: (_is_live(parts, c), c.last_at), default=None)
    return newest and _context_of(parts.ledger, newest.session, request.agent)


def _context_of(ledger: Ledger, session: str, agent: str) -> Context | None:
    """The session's context of that agent, which is named as a session is. Raises NoSuchSession."""
    exact = ledger.context(session, id_kept(agent)) if agent else ledger.context(session, "")
    begun = [c for c in ledger.contexts_of(session) if agent and c.agent.startswith(agent)]
    found = exact or (begun[0] if len(begun) == 1 else None)
    if found is None and agent:
        raise errors.NoSuchSession(quoted(f"{session}/{agent}"))
    return found


def _is_live(parts: Parts, context: Context) -> bool:
    return is_live(parts.ledger, context, parts.now_ms())


# --- what was decided


def _decided(parts: Parts, subject: Subject) -> tuple[list[DecidedOut], int]:
    """(a page of the decisions about the note, newest first; how many follow it)."""
    if subject.context is None:
        return [], 0
    rows = _rows(parts, subject.context.session, subject.request.agent and subject.context.agent, subject.note.uid)
    page = list(islice(rows, subject.request.limit or None))
    return page, sum(1 for _ in rows)


def _rows(parts: Parts, session: str, agent: str, uid: bytes) -> Iterator[DecidedOut]:
    for delivery in parts.ledger.deliveries(session=session):
        if agent and delivery.agent != agent:
            continue
        told = next((one for one in delivery.notes if one.uid == uid), None)
        left = next((one for one in delivery.left_out if one.uid == uid), None)
        if told is not None:
            yield _row(delivery, "", told.tokens)
        elif left is not None:
            yield _row(delivery, left.rule, 0)


def _had_moment(parts: Parts, subject: Subject) -> bool:
    """Whether a moment may have come in the session at which the note could have been told unasked; False only where none did."""
    note = subject.note
    is_quiet_task = note.kind == Kind.TASK and note.priority != Priority.HIGH
    if note.kind == Kind.DECISION or note.provenance == Provenance.AUTO or is_quiet_task or subject.context is None:
        return False
    agent = subject.request.agent and subject.context.agent
    known = (c for c in parts.ledger.contexts_of(subject.context.session) if not agent or c.agent == agent)
    return any(_may_have_met(one, note) for one in known if one.last_at >= note.created_at)


def _may_have_met(context: Context, note: Note) -> bool:
    """Whether a context that was heard of since the note was recorded had a moment of the note's kind since."""
    if note.kind == Kind.GOTCHA:
        seen = (*context.read, *context.edited)
        elsewhere = (path for _, path in (*context.read_elsewhere, *context.edited_elsewhere))
        kept = (context.read, context.edited, context.read_elsewhere, context.edited_elsewhere)
        is_full = max(map(len, kept)) >= limits.CONTEXT_PATHS_MAX  # older ones are forgotten
        return is_full or not {anchor.path for anchor in note.anchors}.isdisjoint((*seen, *elsewhere))
    if note.kind == Kind.FINDING:
        return context.turns > 0
    return context.epoch > 0 or max(context.started_at, context.bundle_at) >= note.created_at


def _row(delivery: Delivery, rule: str, tokens: int) -> DecidedOut:
    return DecidedOut(
        at=iso(delivery.at),
        trigger=delivery.trigger,
        agent=delivery.agent,
        turn=delivery.turn,
        epoch=delivery.epoch,
        told=not rule,
        state=state_of(delivery),
        held=delivery.held and not rule,
        rule=rule,
        says=says_of(rule),
        tokens=tokens,
    )


def says_of(rule: str) -> str:
    """The sentence behind a rule's name; the name itself where another version gave it."""
    return WHY.get(rule, rule)


# --- what would be decided


def _foreseen(
    parts: Parts, deliverer: Deliverer, subject: Subject, moment: str, paths: list[str]
) -> Iterator[ForeseenOut]:
    for path in paths if MOMENTS[moment] in FILE_MOMENTS else [""]:
        event = _event(subject, moment, path)
        begins = moment in (Moment.SESSION_START, Moment.SUBAGENT_START)
        known = None if begins else subject.going_on(moment)
        seen = deliverer.foresee(event, known, None if known else subject.context)
        with parts.store.read() as snapshot:
            yield _out(parts, snapshot, subject, moment, path, seen)


def _event(subject: Subject, moment: str, path: str) -> HookEvent:
    """The event as the session's client would send it."""
    context, request = subject.going_on(moment), subject.request
    begins = moment == Moment.SESSION_START  # another session, which is not begun yet
    agent = context.agent if context else ""
    is_new_agent = moment == Moment.SUBAGENT_START
    return HookEvent(
        moment=MOMENTS[moment],
        harness=subject.context.harness if subject.context else claude.NAME,
        session=context.session if context and not begins else "",
        cwd=request.cwd,
        agent=_NEW_AGENT if is_new_agent else "" if begins else agent,
        prompt_id=context.turn if context and is_new_agent else "",  # it begins in this turn, and shares its budget
        prompt=request.prompt if moment == Moment.PROMPT_SUBMIT else "",
        source=_SOURCES.get(moment),
        paths=(str(_file(subject, path)),) if path else (),
    )


def _file(subject: Subject, path: str) -> Path:
    """The file as asked for, from the current directory; an anchor from the checkout's root."""
    root = subject.request.cwd if subject.request.paths else subject.place.checkout.root
    return Path(root) / path


def _out(parts: Parts, snapshot: Snapshot, subject: Subject, moment: str, path: str, seen: Foreseen) -> ForeseenOut:
    one = _candidate(parts, snapshot, subject, seen)
    tells = MOMENTS[moment] in candidates.MOMENTS_THAT_TELL
    weighed = list(_weighed(seen, one)) if tells else []
    uid = one.view.note.uid
    found = ((c, d) for _, d in weighed for c in d.chosen if c.candidate.view.note.uid == uid)
    told, decision = next(found, (None, None))
    vectors = seen.call.vectors if subject.request.prompt else ""
    if told is not None:
        outcome = "holds" if seen.own.hold is not None else "arrives"
        in_bundle = decision is seen.owed and MOMENTS[moment] not in STARTS
        return ForeseenOut(
            moment=moment, path=path, outcome=outcome, tokens=told.tokens, bundle=in_bundle, vectors=vectors
        )
    rule, now = _rule(one, seen, weighed)
    if rule in _ON_A_PROMPT and not subject.request.prompt:
        return ForeseenOut(moment=moment, path=path, outcome="depends", says=_NO_PROMPT)
    return ForeseenOut(
        moment=moment,
        path=path,
        outcome="left-out",
        rule=rule,
        says=says_of(rule),
        detail=detail(rule, now, one),
        vectors=vectors,
    )


def _weighed(seen: Foreseen, one: Candidate) -> Iterator[tuple[Situation, Decision]]:
    """What the moment itself was asked, then the bundle that comes with it, or would if memd were not silent; a start is its
    bundle."""
    if seen.call.event.moment not in STARTS:
        yield seen.at_moment, seen.own
    if seen.is_owed or (seen.is_kept_back and not one.endorsed):
        yield seen.at_bundle, seen.owed


def _rule(one: Candidate, seen: Foreseen, weighed: list[tuple[Situation, Decision]]) -> tuple[str, Situation]:
    """The rule that keeps the note out, and where: of the moment's own and the bundle's the one that says more."""
    silent = seen.call.there.everything or seen.call.here.everything
    if silent:
        return silent, seen.at_moment
    brought = [(rule, now) for now, decision in weighed if (rule := _left_in(one, decision))]
    if brought:
        return brought[0]
    found = [(_left_by(one, now), now) for now, _ in weighed] or [(sift(seen.at_moment, one), seen.at_moment)]
    return next((pair for pair in found if pair[0] != _OTHER_MOMENT), found[0])


def _left_in(one: Candidate, decision: Decision) -> str:
    """The rule by which the decision left the note out; "" where no lookup brought it up."""
    return next((left.rule for left in decision.left_out if left.uid == one.view.note.uid), "")


def _left_by(one: Candidate, now: Situation) -> str:
    """The first rule that would have left the note out, which no lookup brought up."""
    return sift(now, one) or (NOT_NEAR if now.trigger == Moment.PROMPT_SUBMIT else UNLISTED)


def _candidate(parts: Parts, snapshot: Snapshot, subject: Subject, seen: Foreseen) -> Candidate:
    """The note as a lookup would have brought it up."""
    view = with_spoken(parts, snapshot, view_from_log(snapshot, subject.note, seen.call.place))
    view = msgspec.structs.replace(view, matched_path=_matched(parts, subject, seen, view))
    at = next((files.at for files in seen.call.around if files.at.scope == subject.note.scope), seen.call.at)
    view = grounded(parts, quarantined(parts, view), at, None, Looked())
    hit = next((hit for hit in seen.call.hits if hit.id == subject.id), None)
    if hit is None or seen.call.brought_up is None:
        return Candidate(view=view)
    return Candidate(view=view, gate=candidates.evidence_of(snapshot, subject.note, hit, seen.call.brought_up.match))


def _matched(parts: Parts, subject: Subject, seen: Foreseen, view: NoteView) -> str:
    """The anchor that brings a gotcha to this moment; "" where none does."""
    if view.note.kind != Kind.GOTCHA:
        return ""
    paths = seen.at_moment.paths
    if seen.call.event.moment == Moment.SUBAGENT_START and seen.call.event.session:
        parent = parts.ledger.context(seen.call.event.session, "")
        paths = touched(parent, seen.call.place.scope) if parent else ()
    anchored = {anchor.path for anchor in view.note.anchors}
    return next((path for path in paths if path in anchored), "")
