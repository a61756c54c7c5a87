"""The event table of model.md, section 2, a second time: written from the page alone, to hold against `model.fold`.

`expected` says what one event that comes next in fold order makes of a note, and by what names its effect may be called. Each row
of the table is one function here, with its words above it. A row gives the note that the act makes, `None` where its "legal when"
does not hold, or `Kept` where the page keeps the event and changes nothing (or only what it says).

model_replay.py makes a whole fold of it.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from memd_daemon.model.ids import NO_UID
from memd_daemon.model.note import Note, Proposal, Reinstatement, ReviewFlag, Revision, Revocation

KINDS = ("directive", "task", "gotcha", "finding", "decision")
PRIORITIES = ("low", "medium", "high")
RUNGS = ("auto", "agent", "human")
LEVELS = ("", "atom", "principle", "doctrine")
SOURCES = ("user", "inference", "tool", "document", "commit", "curation", "import", "cli")
RESOLUTIONS = ("a_wins", "b_wins", "both_demoted", "merged")
FALLS = ("revoked", "superseded", "forgotten")
PROPOSALS_APART = 32

PROPOSAL_OF = {
    "revoked": "revoke",
    "superseded": "supersede",
    "absorbed": "absorb",
    "revised": "revise",
    "archived": "archive",
    "amended": "change",
    "closed": "close",
    "conflict_resolved": "change",
}
"""What an unsigned act on a note of class `human` is recorded as proposing."""

APPLIED = frozenset({"applied"})
KEPT = frozenset({"kept"})
PROPOSED = frozenset({"proposed"})
NOTHING = frozenset({"without effect"})
IDLE = frozenset({"applied", "kept", "without effect"})  # legal, and it changes nothing: the page gives it no name


class Deed(msgspec.Struct, frozen=True, kw_only=True):
    """An event as the page speaks of it. ``payload`` is None where it does not fit its type, or where nobody knows the type."""

    uid: bytes
    type: str
    actor: str
    signed: bool
    at: int
    payload: Any
    note: bytes = b""
    parents: tuple[bytes, ...] = ()
    surface: str = ""
    session: str = ""
    agent: str = ""
    key_id: bytes = b""

    @property
    def by_person(self) -> bool:
        """An act of `human` is an event signed; nobody else's is one."""
        return self.actor == "human" and self.signed


class Kept(msgspec.Struct, frozen=True):
    """The event is kept: ``note`` is what it makes."""

    note: Note


Row = Callable[[Note, Deed, Any], Note | Kept | None]


def expected(note: Note | None, deed: Deed) -> tuple[Note | None, frozenset[str]]:
    """The note after ``deed``, and what its effect may be called."""
    ignored = deed.actor == "human" and not deed.signed
    if note is None:
        begun = None if ignored or deed.type != "recorded" else recorded(deed)
        return begun, APPLIED if begun else NOTHING
    noted = changed(note, heads=tuple(sorted({*note.heads} - {*deed.parents} | {deed.uid})), events=note.events + 1)
    row = ROWS.get(deed.type)
    ignored = ignored or (deed.type == "revoked" and deed.actor == "system")
    if ignored or note.forgotten or row is None or deed.payload is None:
        return noted, NOTHING
    further = deed.type == "revoked" and note.revoked  # its own cell: kept as a further reason
    for_person = deed.type in PROPOSAL_OF and note.provenance == "human" and not deed.by_person and not further
    made = row(noted, signed(deed) if for_person else deed, deed.payload)  # what nobody could do is no proposal
    if made is None:
        return noted, NOTHING
    if isinstance(made, Kept):
        return settled(note, made.note, deed), KEPT
    if for_person:
        return proposing(noted, made, deed), PROPOSED
    if deed.type == "proposed":
        return made, PROPOSED
    return settled(note, made, deed), IDLE if made == noted else APPLIED


def changed(note: Note, **fields: Any) -> Note:
    return msgspec.structs.replace(note, **fields)


def signed(deed: Deed) -> Deed:
    return msgspec.structs.replace(deed, actor="human", signed=True)


def proposing(note: Note, done: Note, deed: Deed) -> Note:
    """The act as a proposal. A new wording is kept beside the endorsed one, which "goes on rendering until a person signs the new
    one"; of any other act nothing else is left.
    """
    p = deed.payload
    by = getattr(p, "by", NO_UID)
    made = Proposal(event=deed.uid, act=PROPOSAL_OF[deed.type], at=deed.at, reason=getattr(p, "reason", b""), by=by)
    base = done if deed.type == "revised" else note
    return changed(base, proposals=queued(note, made))


def queued(note: Note, made: Proposal) -> tuple[Proposal, ...]:
    """ "Queue and one warning line": what was proposed before is no second item of the queue, it is wished for once more. An act
    that was proposed for very many notes is one item as well, so that no note grows without end.
    """
    alike = [p for p in note.proposals if (p.act, p.by) == (made.act, made.by)]
    alike += [p for p in note.proposals if len(note.proposals) >= PROPOSALS_APART and p.act == made.act]
    if not alike:
        return (*note.proposals, made)
    more = msgspec.structs.replace(alike[0], times=alike[0].times + 1)
    return tuple(more if p is alike[0] else p for p in note.proposals)


def settled(before: Note, note: Note, deed: Deed) -> Note:
    """An item of the queue is gone when a person has settled it (curation.md), be it by keeping, confirming or doing something else
    than was proposed: any act of a person on the note settles its proposals. But "nothing wrong is hidden": of a person who had not
    seen all that had befallen the note when signing, nobody knows which proposals were decided.
    """
    seen_all = not {*before.heads} - {*deed.parents}
    return changed(note, proposals=()) if deed.by_person and seen_all else note


# `recorded` | new uid | initial axes | same digest again: idempotent; else refused


def recorded(deed: Deed) -> Note | None:
    p = deed.payload
    if p is None or p.kind not in KINDS or p.priority not in PRIORITIES or p.level not in LEVELS:
        return None
    if p.provenance not in ("auto", "agent") or p.source.type not in SOURCES:
        return None  # a note begins below `human`: nothing but `promoted` leads there
    first = Revision(content=p.content, summary=p.summary, provenance=p.provenance, at=deed.at, event=deed.uid)
    taken = ("kind", "priority", "source", "scope", "under", "tags", "anchors", "evidence", "derived_from")
    more = ("informed_by", "corrects", "process", "level", "slug", "turn", "harness")
    return Note(
        uid=deed.note,
        **{field: getattr(p, field) for field in (*taken, *more)},
        session=deed.session,
        agent=deed.agent,
        surface=deed.surface,
        actor=deed.actor,
        created_at=deed.at,
        revisions=(first,),
        task="open" if p.kind == "task" else "",
        heads=(deed.uid,),
        events=1,
    )


def again(note: Note, deed: Deed, p: Any) -> Note | Kept | None:
    first = note.revisions[0]
    return Kept(note) if (p.content, p.summary) == (first.content, first.summary) else None


# `promoted` | held; target exactly one rung up; the signed revision is the current one | class | skipping, lowering, revoked:
# refused
# What is not signed names the current revision as well: words that nobody looked at gain nothing.


def promoted(note: Note, deed: Deed, p: Any) -> Note | None:
    newest = note.revisions[-1]
    one_up = p.to in RUNGS and RUNGS.index(p.to) == RUNGS.index(newest.provenance) + 1
    current = p.revision == len(note.revisions) and p.content == newest.content
    if note.revoked or not one_up or not current or (p.to == "human" and not deed.by_person):
        return None
    key = deed.key_id if p.to == "human" else b""
    return changed(note, revisions=(*note.revisions[:-1], changed_revision(newest, p.to, key)))


def changed_revision(revision: Revision, to: str, key: bytes) -> Revision:
    return msgspec.structs.replace(revision, provenance=to, key_id=key)


# `revoked` | held; actor not `system`; a reason {text, by: uid?} | revoked; shelf active; its open conflicts closed. `valid_until`,
# content, embedding untouched | already revoked: kept as a further reason; the tombstone keeps the first date and reason


def revoked(note: Note, deed: Deed, p: Any) -> Note | Kept | None:
    if not (p.reason or p.by != NO_UID):
        return None
    fall = Revocation(event=deed.uid, at=deed.at, reason=p.reason, by=p.by, actor=deed.actor, signed=deed.by_person)
    told = changed(note, revocations=(*note.revocations, fall))
    if note.revoked:
        return Kept(told)
    return changed(told, belief="revoked", shelf="active", conflicts=())


# `reinstated` | always, except forgotten; anybody, any number of times | held | on a held note: kept, no effect


def reinstated(note: Note, deed: Deed, _: Any) -> Note | Kept | None:
    if not note.revoked:
        return Kept(note)
    by_person_at = next((fall.at for fall in note.revocations if fall.signed), 0)
    before = note.reinstated
    if not by_person_at and before is not None and not before.signed:
        by_person_at = before.revoked_by_person_at  # what the user revoked is told until a person lifts it
    lifted = Reinstatement(at=deed.at, actor=deed.actor, signed=deed.by_person, revoked_by_person_at=by_person_at)
    past = (*note.past_revocations, *note.revocations)
    return changed(note, belief="held", revocations=(), past_revocations=past, reinstated=lifted)


# `superseded` / `unsuperseded` | no cycle | currency and `valid_until` set / cleared | on a revoked note: allowed


def superseded(note: Note, deed: Deed, p: Any) -> Note | None:
    if p.by in (NO_UID, note.uid):
        return None
    return changed(note, currency="superseded", superseded_by=p.by, absorbed_by=NO_UID, valid_until=deed.at)


def unsuperseded(note: Note, deed: Deed, _: Any) -> Note | None:
    if note.currency != "superseded" or put_away_by_person(note, deed):
        return None
    return changed(note, currency="current", superseded_by=NO_UID, valid_until=0)


def put_away_by_person(note: Note, deed: Deed) -> bool:
    """ "What a person endorsed, only a person changes": it was a person who put it away, and a person brings it back."""
    return note.provenance == "human" and not deed.by_person


# `absorbed` / `released` | target held, no cycle | currency; old references resolve to the target |
# The target is what took the note in: it is not this note's events that say whether it is held. The axis has one value, so that
# `valid_until` goes with the supersession that an absorption takes the place of.


def absorbed(note: Note, deed: Deed, p: Any) -> Note | None:
    if p.by in (NO_UID, note.uid):
        return None
    return changed(note, currency="absorbed", absorbed_by=p.by, superseded_by=NO_UID, valid_until=0)


def released(note: Note, deed: Deed, _: Any) -> Note | None:
    if note.currency != "absorbed" or put_away_by_person(note, deed):
        return None
    return changed(note, currency="current", absorbed_by=NO_UID)


# `revised` | held; level principle or doctrine; `expected_revision` | new revision with its own class | revoked: reinstate first


def revised(note: Note, deed: Deed, p: Any) -> Note | None:
    if note.revoked or note.level not in ("principle", "doctrine") or p.expected_revision != len(note.revisions):
        return None
    if p.provenance not in ("auto", "agent"):
        return None
    new = Revision(
        content=p.content, summary=p.summary, provenance=p.provenance, at=deed.at, event=deed.uid, reason=p.reason
    )
    return changed(note, revisions=(*note.revisions, new))


# `confirmed` | held | date, anchor hashes; never class or confidence | revoked: refused


def confirmed(note: Note, deed: Deed, p: Any) -> Note | None:
    if note.revoked:
        return None
    taken = {(a.form, a.path, a.part, a.proxy): a for a in p.anchors}
    anchors = tuple(taken.get((a.form, a.path, a.part, a.proxy), a) for a in note.anchors)
    by_person = {"person_confirmed_at": deed.at} if deed.by_person else {}
    return changed(note, last_confirmed_at=deed.at, anchors=anchors, **by_person)


# `corroborated` | held; independent | count + 1 | revoked: `rederived`, for the queue only


def corroborated(note: Note, deed: Deed, p: Any) -> Note | Kept | None:
    if p.by in (NO_UID, note.uid):
        return None
    if note.revoked:
        return Kept(note)
    return None if p.by in note.corroborations else changed(note, corroborations=(*note.corroborations, p.by))


def rederived(note: Note, deed: Deed, p: Any) -> Note | Kept | None:
    return Kept(note)


# `conflict_opened` / `conflict_resolved` | both held, no open row / open | recall.md: what a conflict took from both sides stays
# taken where it was settled against both


def conflict_opened(note: Note, deed: Deed, p: Any) -> Note | None:
    if note.revoked or p.other in (NO_UID, note.uid) or p.other in note.conflicts:
        return None
    return changed(note, conflicts=(*note.conflicts, p.other))


def conflict_resolved(note: Note, deed: Deed, p: Any) -> Note | None:
    if p.other not in note.conflicts or p.resolution not in RESOLUTIONS:
        return None
    demoted = {*note.demoted, p.other} if p.resolution == "both_demoted" else note.demoted
    left = tuple(other for other in note.conflicts if other != p.other)
    return changed(note, conflicts=left, demoted=tuple(sorted(demoted)))


# `archived` / `restored` | held; not human unless signed; never a directive, an open task or a tombstone | shelf | refused


def archived(note: Note, deed: Deed, _: Any) -> Note | None:
    if note.revoked or note.kind == "directive" or note.task == "open":
        return None
    return changed(note, shelf="archived")


def restored(note: Note, deed: Deed, _: Any) -> Note | None:
    if note.shelf == "active" or put_away_by_person(note, deed):
        return None
    return changed(note, shelf="active")


# `amended` | priority, tags, anchors, scope; widening a directive's scope is signed | field |


def amended(note: Note, deed: Deed, p: Any) -> Note | None:
    scope, under = p.scope or note.scope, note.under if p.under is None else p.under
    wider = bool(territory(scope, under) - territory(note.scope, note.under))
    if (p.priority and p.priority not in PRIORITIES) or (note.kind == "directive" and wider and not deed.by_person):
        return None
    return changed(
        note,
        priority=p.priority or note.priority,
        tags=note.tags if p.tags is None else p.tags,
        anchors=note.anchors if p.anchors is None else p.anchors,
        scope=scope,
        under=under,
        scope_signed=deed.by_person if p.scope or p.under is not None else note.scope_signed,
    )


PATHS = ("top", "pkg/x", "pkg/sub/x", "pkgs/x", "elsewhere")
PLACES = {(r, path, session) for r in ("r", "other", "elsewhere") for path in PATHS for session in ("s1", "s2", "else")}
"""Where a note of these tests may be asked for: a repository, a path in it, a session."""


def territory(scope: str, under: str) -> set[tuple[str, str, str]]:
    """The places at which a scope holds."""
    sort, _, name = scope.partition(":")
    if sort == "session":
        return {place for place in PLACES if place[2] == name}
    return {
        (repo, path, session)
        for repo, path, session in PLACES
        if (sort == "global" or repo == name) and (not under or path.startswith(under + "/"))
    }


# `closed` / `reopened` | tasks | task |


def closed(note: Note, deed: Deed, _: Any) -> Note | None:
    return changed(note, task="closed") if note.task == "open" else None


def reopened(note: Note, deed: Deed, _: Any) -> Note | None:
    if note.task != "closed" or put_away_by_person(note, deed):
        return None
    return changed(note, task="open")


# `evidence_bound` | excerpt is in the turn | evidence | refused


def evidence_bound(note: Note, deed: Deed, p: Any) -> Note | None:
    new = tuple(e for e in p.evidence if e not in note.evidence)
    return changed(note, evidence=(*note.evidence, *new)) if new else None


# `review_flagged` / `reviewed` | per causing event | adds / clears the causes seen | other causes stay


def review_flagged(note: Note, deed: Deed, p: Any) -> Note | None:
    if p.what not in FALLS or any(flag.cause == p.cause for flag in note.flags):
        return None
    flag = ReviewFlag(ancestor=p.ancestor, cause=p.cause, what=p.what, at=deed.at)
    return changed(note, flags=(*note.flags, flag))


def reviewed(note: Note, deed: Deed, p: Any) -> Note | None:
    left = tuple(flag for flag in note.flags if flag.cause not in p.causes)
    return changed(note, flags=left) if left != note.flags else None


# `proposed` | on a note that a person endorsed | queue and one warning line |


def proposed(note: Note, deed: Deed, p: Any) -> Note | None:
    if note.provenance != "human" or p.act not in PROPOSAL_OF.values():
        return None
    made = Proposal(event=deed.uid, act=p.act, at=deed.at, reason=p.reason, by=p.by)
    return changed(note, proposals=queued(note, made))


# `forgotten` | signed | blobs and salts dropped | later events: refused here, without effect from elsewhere


def forgotten(note: Note, deed: Deed, _: Any) -> Note | None:
    return changed(note, forgotten=True) if deed.by_person else None


ROWS: dict[str, Row] = {
    "recorded": again,
    "promoted": promoted,
    "revoked": revoked,
    "reinstated": reinstated,
    "superseded": superseded,
    "unsuperseded": unsuperseded,
    "absorbed": absorbed,
    "released": released,
    "revised": revised,
    "confirmed": confirmed,
    "corroborated": corroborated,
    "rederived": rederived,
    "conflict_opened": conflict_opened,
    "conflict_resolved": conflict_resolved,
    "archived": archived,
    "restored": restored,
    "amended": amended,
    "closed": closed,
    "reopened": reopened,
    "evidence_bound": evidence_bound,
    "review_flagged": review_flagged,
    "reviewed": reviewed,
    "proposed": proposed,
    "forgotten": forgotten,
}
