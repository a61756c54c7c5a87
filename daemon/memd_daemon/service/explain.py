"""What stands here and why: list, show, turns, deliveries, and the shapes in which they are told."""

import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, TypeVar

from memd_client import api
from memd_daemon import errors, limits
from memd_daemon.frames import words
from memd_daemon.frames.attested import why_not_typed
from memd_daemon.frames.show import proposed, shown
from memd_daemon.model import event as ev
from memd_daemon.model.delivery import NOTICES_UID, POLICY_UID, Delivery
from memd_daemon.model.fold import Effect, trace
from memd_daemon.model.ids import NO_UID, shown_ms, uid_text
from memd_daemon.model.note import Note, Revocation
from memd_daemon.model.turn import Turn
from memd_daemon.model.view import EvidenceView, FullView, NoteView, ReasonView, RevisionView
from memd_daemon.model.words import Actor
from memd_daemon.rules import WHY
from memd_daemon.service import attest, holds
from memd_daemon.service.asker import asker_of
from memd_daemon.service.contexts import sessions_of
from memd_daemon.service.parts import Parts
from memd_daemon.service.refs import holder_of, note_at, session_begun
from memd_daemon.service.repos import Place, place_of, scopes_at
from memd_daemon.service.shown import row, showed
from memd_daemon.service.spoken import Bound, bound_to, has_words
from memd_daemon.service.views import is_outside, view_of
from memd_daemon.store.port import Snapshot

T = TypeVar("T")

SILENT: Final = "silent"
"""What the state of a delivery is called whose notes were all left out."""


def iso(unix_ms: int) -> str:
    """UTC as ISO 8601 to the second; "" for never."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(shown_ms(unix_ms) / limits.MS_PER_S)) if unix_ms else ""


def note_out(parts: Parts, snapshot: Snapshot, view: NoteView) -> api.NoteOut:
    """A note as `--json` tells it (surfaces.md)."""
    note = view.note
    return api.NoteOut(
        id=view.id,
        uid=uid_text(note.uid),
        content=view.content,
        summary=view.summary,
        kind=note.kind,
        priority=note.priority,
        provenance=note.provenance,
        frame_class=view.frame_class,
        source=api.SourceOut(type=note.source.type, ref=note.source.ref),
        scope=note.scope,
        under=note.under,
        tags=list(note.tags),
        anchors=[api.AnchorOut(path=a.path, part=a.part, proxy=a.proxy, form=a.form) for a in note.anchors],
        evidence=[_evidence_out(snapshot, one) for one in bound_to(parts, snapshot, note)],
        stated=view.stated_turn,
        level=note.level,
        slug=note.slug,
        revision_count=note.revision,
        state=api.StateOut(belief=note.belief, currency=note.currency, shelf=note.shelf, task=note.task),
        stale=[
            api.StaleOut(path=g.path, signal=g.signal or "unknown", detail=g.detail, form=g.form, part=g.part, to=g.to)
            for g in view.ground
            if g.drifted
        ],
        created_at=iso(note.created_at),
        last_confirmed_at=iso(note.last_confirmed_at),
        valid_until=iso(note.valid_until),
        tombstone=words.tombstone(view, parts.tags) if view.revoked else None,
        superseded_by=view.superseded_by,
        absorbed_by=view.absorbed_by,
        conflicts=list(view.conflicts),
        proposals=[
            api.ProposalOut(act=p.act, reason=p.reason, at=iso(p.at), by=p.by, times=p.times) for p in view.proposals
        ],
        review=[api.FlagOut(id=f.id, what=f.what, at=iso(f.at)) for f in view.fallen_sources],
    )


def _evidence_out(snapshot: Snapshot, one: Bound) -> api.EvidenceOut:
    evidence, turn = one.evidence, one.turn
    return api.EvidenceOut(
        turn=evidence.turn,
        excerpt=snapshot.text(evidence.excerpt) or "",
        attestation=one.attestation or evidence.attestation,
        sentence=snapshot.text(evidence.sentence) or "" if evidence.sentence else "",
        at=iso(turn.at) if turn is not None else "",
    )


def _page(found: Iterable[T], limit: int, offset: int) -> tuple[list[T], int]:
    """One page, and how many follow it. ``limit`` 0 is all."""
    rest: Iterator[T] = islice(found, offset, None)
    page = list(islice(rest, limit)) if limit else list(rest)
    return page, sum(1 for _ in rest)


def list_notes(parts: Parts, request: api.ListNotes) -> api.NotesReply:
    """Notes that hold where the asker stands, newest first."""
    asker = asker_of(parts.ledger, request.env, request.surface)
    place = place_of(parts, request.cwd)
    scopes = scopes_at(place, *sessions_of(parts.ledger, asker.session))
    with parts.store.read() as snapshot:
        wanted = (
            note
            for _, note in snapshot.notes()
            if _listed(note, request) and (request.all_scopes or note.scope in scopes)
        )
        page, more = _page(wanted, request.limit, request.offset)
        notes = [_out(parts, snapshot, note, place) for note in page]
    rows = ((note.uid, out.id, out.tombstone or out.content) for note, out in zip(page, notes, strict=True))
    showed(parts, asker, "list", place, rows)
    return api.NotesReply(notes=notes, more=more)


def _listed(note: Note, request: api.ListNotes) -> bool:
    if note.forgotten or (request.kind and note.kind != request.kind):
        return False
    if request.provenance and note.provenance != request.provenance:
        return False
    if request.revoked:
        return note.revoked
    return request.superseded or note.live


def _out(parts: Parts, snapshot: Snapshot, note: Note, place: Place) -> api.NoteOut:
    return note_out(parts, snapshot, view_of(parts, snapshot, note, place))


def show(parts: Parts, request: api.Show) -> api.ShowReply:
    """One note with everything that is known of it."""
    asker = asker_of(parts.ledger, request.env, request.surface)
    place = place_of(parts, request.cwd)
    with parts.store.read() as snapshot:
        bound = bound_to(parts, snapshot, note_at(snapshot, request.ref))
    attest.look_again(parts, [one.turn for one in bound if one.turn is not None])
    with parts.store.read() as snapshot:
        note = note_at(snapshot, request.ref)
        full = _full(parts, snapshot, view_of(parts, snapshot, note, place), place)
        text = shown(full, parts.now_ms(), parts.tags)
        reply = api.ShowReply(note=note_out(parts, snapshot, full.view), text=text + "\n")
    showed(parts, asker, "show", place, (row(view, text) for view in (full.view, full.holder) if view is not None))
    return reply


def _full(parts: Parts, snapshot: Snapshot, view: NoteView, place: Place) -> FullView:
    note = view.note
    holder = holder_of(snapshot, note)
    return FullView(
        view=view,
        reasons=_reasons(snapshot, note),
        evidence=tuple(_evidence(snapshot, one) for one in bound_to(parts, snapshot, note)),
        informed_by=ids_of(snapshot, note.informed_by),
        corroborated_by=ids_of(snapshot, note.corroborations),
        sessions=_sessions(snapshot, note),
        revisions=_revisions(snapshot, note) if note.level or note.revision > 1 else (),
        absorbed=ids_of(snapshot, snapshot.absorbed_by(note.uid)),
        demoted_with=ids_of(snapshot, note.demoted),
        holder=view_of(parts, snapshot, holder, place) if holder.uid != note.uid else None,
    )


def _evidence(snapshot: Snapshot, one: Bound) -> EvidenceView:
    evidence, turn = one.evidence, one.turn
    return EvidenceView(
        turn=evidence.turn,
        attestation=one.attestation or evidence.attestation,
        excerpt=snapshot.text(evidence.excerpt) or "",
        at=turn.at if turn is not None else 0,
        holds=has_words(snapshot, one),
        sentence=snapshot.text(evidence.sentence) or "" if evidence.sentence else "",
    )


def _sessions(snapshot: Snapshot, note: Note) -> int:
    """How many sessions came to the claim by themselves."""
    voices = (note, *(n for n in map(snapshot.note, note.corroborations) if n is not None))
    return len({one.session for one in voices if one.session}) if note.corroborations else 0


def _revisions(snapshot: Snapshot, note: Note) -> tuple[RevisionView, ...]:
    """Each wording with why it came; its words too, unless they stand above or behind a tombstone."""
    shown_at = max(i for i, one in enumerate(note.revisions) if one == note.shown)
    return tuple(
        RevisionView(
            number=i + 1,
            at=one.at,
            provenance=one.provenance,
            reason=_given(snapshot, one.reason),
            content="" if note.revoked or one.content == note.shown.content else snapshot.text(one.content) or "",
            told=i == shown_at,
            waits=i > shown_at,
        )
        for i, one in enumerate(note.revisions)
    )


def _reasons(snapshot: Snapshot, note: Note) -> tuple[ReasonView, ...]:
    """Every judgment on the note, oldest first."""
    fallen = [
        ReasonView(
            what="revoked",
            at=r.at,
            actor=r.actor,
            signed=r.signed,
            reason=_given(snapshot, r.reason),
            by=snapshot.id_of(r.by) or 0,
            at_command_line=_was_outside(snapshot, r.event),
            with_signed=not r.signed and _is_with_signed(snapshot, r),
        )
        for r in (*note.past_revocations, *note.revocations)
    ]
    lifted = _lifted(snapshot, note) if note.reinstated else ()
    wished = [
        ReasonView(
            what=proposed(p.act, p.times),
            at=p.at,
            actor="agent",
            reason=_given(snapshot, p.reason),
            by=snapshot.id_of(p.by) or 0,
            at_command_line=_was_outside(snapshot, p.event),
        )
        for p in note.proposals
    ]
    return tuple(sorted((*fallen, *lifted, *wished), key=lambda r: r.at))


def _lifted(snapshot: Snapshot, note: Note) -> Iterator[ReasonView]:
    """Each time that the note was revoked and came back: the note itself keeps the last one, and no reason of it."""
    for stored, effect in trace(snapshot.events_of(note.uid)):
        event = stored.event
        if event.type == "reinstated" and effect == Effect.APPLIED:
            is_signed = stored.signed and event.actor == Actor.HUMAN
            yield ReasonView(
                what="reinstated",
                at=event.at,
                actor=event.actor,
                signed=is_signed,
                reason=_given(snapshot, getattr(ev.payload_of(event), "reason", b"")),
                at_command_line=not is_signed and is_outside(event),
            )


def _given(snapshot: Snapshot, reason: bytes) -> str:
    """A reason's words; "" only where none was given."""
    text = snapshot.text(reason) if reason else ""
    return words.REASON_FORGOTTEN if text is None else text


def _was_outside(snapshot: Snapshot, event: bytes) -> bool:
    """Whether an act came unsigned from the command line outside a session."""
    stored = snapshot.event(event)
    return stored is not None and not stored.signed and is_outside(stored.event)


def _is_with_signed(snapshot: Snapshot, fall: Revocation) -> bool:
    """Whether the commit that revoked the note also has what a person signed on the note that stands against it."""
    stored = snapshot.event(fall.event)
    others = snapshot.events_of(fall.by) if stored is not None and fall.by != NO_UID else []
    return any(s.signed and (s.origin, s.seq) == (stored.origin, stored.seq) for s in others if stored is not None)


def ids_of(snapshot: Snapshot, uids: Iterable[bytes]) -> tuple[int, ...]:
    """Numbers of the notes that are known here."""
    return tuple(i for i in (snapshot.id_of(uid) for uid in uids) if i)


def turns(parts: Parts, request: api.Turns) -> api.TurnsReply:
    """What the user said, newest first."""
    with parts.store.read() as snapshot:
        session = session_begun(parts.ledger, request.session)
        page, more = _page(_turns(snapshot, request.turn, session), request.limit, request.offset)
    looks = attest.look_again(parts, page)
    return api.TurnsReply(turns=[turn_out(t, looks[t.number]) for t in page], more=more)


def _turns(snapshot: Snapshot, number: int, session: str) -> Iterator[Turn]:
    """That turn, or the session's, or all. Raises NoSuchTurn."""
    if not number:
        return snapshot.turns(session=session or None)
    turn = snapshot.turn(number)
    if turn is None or (session and turn.session != session):
        raise errors.NoSuchTurn(number)
    return iter((turn,))


def turn_out(turn: Turn, look: attest.Look) -> api.TurnOut:
    """A turn with what is known of who typed it now."""
    return api.TurnOut(
        turn=turn.number,
        session=turn.session,
        n=turn.n,
        text=turn.text,
        attestation=look.attestation,
        not_typed=why_not_typed(look.why),
        at=iso(turn.at),
        harness=turn.harness,
        agent=turn.agent,
    )


def deliveries(parts: Parts, request: api.Deliveries) -> api.DeliveriesReply:
    """What memd told which agent, when and why; and what it left out, by which rule."""
    every = parts.ledger.deliveries(session=session_begun(parts.ledger, request.session) or None)
    found = (one for one in every if one.notes or not request.told)
    page, more = _page(found, request.limit, request.offset)
    return api.DeliveriesReply(deliveries=[delivery_out(parts, d) for d in page], more=more)


def state_of(delivery: Delivery) -> str:
    """How far an answer came; `silent` of one in which nothing was told."""
    return delivery.state if delivery.notes else SILENT


def delivery_out(parts: Parts, delivery: Delivery) -> api.DeliveryOut:
    held = parts.ledger.hold(delivery.session, delivery.agent, delivery.turn) if delivery.held else None
    return api.DeliveryOut(
        at=iso(delivery.at),
        trigger=delivery.trigger,
        harness=delivery.harness,
        session=delivery.session,
        agent=delivery.agent,
        turn=delivery.turn,
        epoch=delivery.epoch,
        state=state_of(delivery),
        held=delivery.held,
        outcome=holds.outcome(parts, held) if held else "",
        notes=[
            api.DeliveredOut(id=n.id, digest=n.digest.hex(), tokens=n.tokens)
            for n in delivery.notes
            if n.uid not in (NOTICES_UID, POLICY_UID)
        ],
        notices=any(n.uid == NOTICES_UID for n in delivery.notes),
        policy=any(n.uid == POLICY_UID for n in delivery.notes),
        left_out=[
            api.LeftOutOut(id=left.id, rule=left.rule, says=WHY.get(left.rule, left.rule)) for left in delivery.left_out
        ],
        tokens=delivery.tokens,
        vectors=delivery.vectors,
    )
