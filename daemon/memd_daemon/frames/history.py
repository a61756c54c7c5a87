"""A note's history as `memd log` tells it: one line for each thing that happened, when, who through which door, and what.

    2026-03-04 10:21  agent by mcp, session s1  revoked by [52] (reason: "…")
    2026-03-04 10:25  local  told at session-start, 3 times in 3 sessions, until 2026-03-09 08:00
    2026-03-04 10:26  local  shown by recall, session s2
    2026-03-04 10:27  local  held from push: 4 others of its source said the same within minutes
    2026-03-05 09:12  local  flagged stale in /home/dev/agent on main: agent/resolver.rs [anchor_changed]

An event that had no plain effect says so at its end, in brackets. What happened on this machine alone is marked `local`. Neither
content nor summary stands here: what a note says is told by its frames alone. Other notes are named by their ids.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, cast

import msgspec

from memd_daemon.frames.escape import escape_line, held_apart
from memd_daemon.frames.show import state
from memd_daemon.frames.words import COMMAND_LINE, NO_SESSION, minute, target
from memd_daemon.limits import ID_SHOWN_CHARS
from memd_daemon.model import event as ev
from memd_daemon.model.burst import QUARANTINED, BurstEvent
from memd_daemon.model.fold import Effect
from memd_daemon.model.ids import NO_UID
from memd_daemon.model.note import Note
from memd_daemon.model.stale_flag import RAISED, Drift, StaleFlag
from memd_daemon.model.view import EventView, TellingView
from memd_daemon.model.words import Actor, Surface

LOCAL: Final = "local"
UNREADABLE: Final = "an event this version cannot read"
_ELSEWHERE: Final = "a note that is not here"
_EFFECTS: Final = {
    Effect.KEPT: "kept beside what stood: nothing changed",
    Effect.PROPOSED: "a proposal: only the user can do it",
    Effect.NONE: "without effect",
    "waits": "waits for an earlier event that is not here",
}
_RESOLUTIONS: Final = {
    "a_wins": "this note holds",
    "b_wins": "the other one holds",
    "both_demoted": "neither holds as it stood",
    "merged": "the two were merged",
}


class Line(NamedTuple):
    """One line, in the parts that a table has columns for."""

    when: str
    who: str
    what: str

    @property
    def text(self) -> str:
        """The parts in their order; no line end."""
        return "  ".join(self)


class _Names:
    """What the payload's uids and blobs stand for, made fit for a line."""

    def __init__(self, view: EventView, tags: Sequence[str]) -> None:
        self._view = view
        self.tags = tags

    def note(self, uid: bytes) -> str:
        known = self._view.ids.get(uid)
        return f"[{known}]" if known else _ELSEWHERE

    def notes(self, uids: Iterable[bytes]) -> str:
        """Each once; those that are not here together."""
        return ", ".join(dict.fromkeys(map(self.note, uids)))

    def by(self, uid: bytes, lead: str = "by") -> str:
        return "" if uid == NO_UID else f" {lead} {self.note(uid)}"

    def reason(self, blob: bytes) -> str:
        if not blob:
            return ""
        text = self._view.texts.get(blob)
        return " (reason forgotten)" if text is None else f' (reason: "{escape_line(text, self.tags)}")'

    def line(self, text: str) -> str:
        return escape_line(text, self.tags)

    def part(self, text: str) -> str:
        """Of a list whose commas and semicolons are memd's own."""
        return held_apart(text, self.tags, stops=",;")

    def anchors(self, anchors: Iterable[ev.Anchor]) -> str:
        """As people write them, a proxy by that word; a list, whose semicolons are memd's own too."""
        return ", ".join(target(a, self.tags, stops=",;") + " (proxy)" * a.proxy for a in anchors)

    def listed(self, texts: Iterable[str]) -> str:
        return ", ".join(map(self.part, texts)) or "none"


def head(id_: int, note: Note, tags: Sequence[str]) -> str:
    """``[47] gotcha: held, current, active, revision 1, class agent``: where all that has led to.

    Of a curated note its rung too: ``[47] finding (principle leeway): …``.
    """
    rung = " ".join(escape_line(name, tags, stops="()") for name in (note.level, note.slug) if name)
    return f"[{id_}] {escape_line(note.kind, tags)}{f' ({rung})' if rung else ''}: {', '.join(state(note))}"


def event_line(view: EventView, tags: Sequence[str]) -> Line:
    """One event."""
    event = view.stored.event
    names = _Names(view, tags)
    effect = _EFFECTS.get(view.effect)
    mark = f"  [{effect}]" if effect else ""
    return Line(minute(event.at), _who(view, names), _what(view, names) + _settled(view.settled) + mark)


def telling_line(view: TellingView, tags: Sequence[str]) -> Line:
    """The note was told, once or many times in a row."""
    facts = [f"{'shown by' if view.asked else 'told at'} {escape_line(view.trigger, tags, stops=',;')}"]
    if view.times > 1:
        sessions = "one session" if view.sessions == 1 else f"{view.sessions} sessions"
        facts += [f"{view.times} times in {sessions}", f"until {minute(view.last_at)}"]
    else:
        facts += [where] if (where := _session(view.session, view.agent, tags)) else []
    held = "this held an edit back once" if view.held == 1 else f"{view.held} of them held an edit back"
    lost = f"{view.unconfirmed} of them without a sign that it arrived" if view.times > 1 else "no sign that it arrived"
    more = [held] * bool(view.held) + [lost] * bool(view.unconfirmed)
    return Line(minute(view.at), LOCAL, "; ".join([", ".join(facts), *more]))


def flag_line(flag: StaleFlag, tags: Sequence[str]) -> Line:
    """The note's ground was found moved in a checkout, or standing again."""
    moved = ", ".join(_drift(one, tags) for one in flag.drifts) or "its ground"
    where = f"in {held_apart(flag.root, tags, stops=',;')}"
    where += f" on {held_apart(flag.branch, tags, stops=',;')}" if flag.branch else ""
    facts = [f"flagged stale {where}: {moved}" if flag.type == RAISED else f"stands again {where}: {moved} is over"]
    facts += [f"{flag.times} times", f"until {minute(flag.last_at)}"] if flag.times > 1 else []
    return Line(minute(flag.at), LOCAL, ", ".join(facts))


def burst_line(one: BurstEvent, tags: Sequence[str]) -> Line:
    """The note came in a burst and is held, or somebody has looked at it since."""
    burst = one.note
    if one.type == QUARANTINED:
        others = "1 other" if burst.others == 1 else f"{burst.others} others"
        return Line(minute(one.at), LOCAL, f"held from push: {others} of its source said the same within minutes")
    who = _session(burst.cleared_by, "", tags) or "no session"
    return Line(minute(one.at), LOCAL, f"held no more: looked at by {escape_line(burst.how, tags)}, {who}")


def _drift(one: Drift, tags: Sequence[str]) -> str:
    to = f" to {held_apart(one.to, tags, stops=',;')}" if one.to else ""
    return f"{held_apart(one.path, tags, stops=',;')} [{escape_line(one.signal, tags)}{to}]"


def _who(view: EventView, names: _Names) -> str:
    """An unsigned act at the command line outside a session may have been anybody's: it is called by its door alone."""
    event = view.stored.event
    where = _session(event.session, event.agent, names.tags)
    if not where and (event.actor, event.surface) == (Actor.AGENT, Surface.CLI):
        return f"{COMMAND_LINE}, {NO_SESSION}"
    parts = (f"{names.line(event.actor)} by {names.line(event.surface)}", "signed" if view.stored.signed else "", where)
    return ", ".join(filter(None, parts))


def _settled(proposals: int) -> str:
    if not proposals:
        return ""
    return (
        "; the proposal before it is settled"
        if proposals == 1
        else f"; the {proposals} proposals before it are settled"
    )


def _session(session: str, agent: str, tags: Sequence[str]) -> str:
    """``session 3f2a1b9c…, subagent a1``: long ids are cut, `--json` has them whole."""
    told = (("session", session), ("subagent", agent))
    return ", ".join(f"{what} {held_apart(_short(id_), tags, stops=',;')}" for what, id_ in told if id_)


def _short(id_: str) -> str:
    return id_ if len(id_) <= ID_SHOWN_CHARS else id_[: ID_SHOWN_CHARS - 1] + "…"


def _what(view: EventView, names: _Names) -> str:
    event = view.stored.event
    try:
        payload = ev.payload_of(event)
    except (msgspec.ValidationError, msgspec.DecodeError):
        payload = None
    if payload is None:
        return f"{names.line(event.type)}: {UNREADABLE}"
    tell = _TELL.get(event.type)
    return tell(payload, names) if tell else names.line(event.type).replace("_", " ")


_Tell = Callable[[msgspec.Struct, _Names], str]


def _recorded(payload: msgspec.Struct, names: _Names) -> str:
    p = cast(ev.Recorded, payload)
    source = " ".join(filter(None, (p.source.type, p.source.ref)))
    parts = (p.kind, f"{p.priority} priority", f"class {p.provenance}", f"scope {p.scope.partition(':')[0]}")
    facts = [", ".join(map(names.part, (*parts, f"source {source}")))]
    facts += [f"under {names.part(p.under)}"] if p.under else []
    facts += [f"about {names.anchors(p.anchors)}"] if p.anchors else []
    facts += [f"tags {names.listed(p.tags)}"] if p.tags else []
    facts += [f"evidence {_bound(p.evidence, names)}"] if p.evidence else []
    facts += [" ".join(names.part(name) for name in (p.level, p.slug) if name)] if p.level or p.slug else []
    links = (("corrects", p.corrects), ("derived from", p.derived_from), ("informed by", p.informed_by))
    facts += [f"{how} {names.notes(uids)}" for how, uids in links if uids]
    return "recorded: " + "; ".join(facts) + names.reason(p.reason)


def _promoted(payload: msgspec.Struct, names: _Names) -> str:
    p = cast(ev.Promoted, payload)
    return f"promoted to class {names.line(p.to)} (revision {p.revision})"


def _reasoned(verb: str, lead: str = "by") -> _Tell:
    """``revoked by [52] (reason: "…")``."""

    def tell(payload: msgspec.Struct, names: _Names) -> str:
        p = cast(ev.Reasoned | ev.ByNote, payload)
        return verb + names.by(p.by, lead) + names.reason(p.reason)

    return tell


def _revised(payload: msgspec.Struct, names: _Names) -> str:
    p = cast(ev.Revised, payload)
    return f"revised: revision {p.expected_revision + 1}, class {names.line(p.provenance)}{names.reason(p.reason)}"


def _confirmed(payload: msgspec.Struct, names: _Names) -> str:
    anchors = cast(ev.Confirmed, payload).anchors
    return "confirmed" + (f": {names.anchors(anchors)}" if anchors else "")


def _conflict_opened(payload: msgspec.Struct, names: _Names) -> str:
    return f"conflict opened{names.by(cast(ev.ConflictOpened, payload).other, 'with')}"


def _conflict_resolved(payload: msgspec.Struct, names: _Names) -> str:
    p = cast(ev.ConflictResolved, payload)
    how = _RESOLUTIONS.get(p.resolution) or names.line(p.resolution)
    return f"conflict{names.by(p.other, 'with')} resolved: {how}{names.reason(p.reason)}"


def _amended(payload: msgspec.Struct, names: _Names) -> str:
    p = cast(ev.Amended, payload)
    changes = [f"priority {names.part(p.priority)}"] if p.priority else []
    changes += [f"tags {names.listed(p.tags)}"] if p.tags is not None else []
    changes += [f"anchors {names.anchors(p.anchors) or 'none'}"] if p.anchors is not None else []
    changes += [f"scope {names.part(p.scope.partition(':')[0])}"] if p.scope else []
    changes += [f"under {names.part(p.under) or 'the whole repository'}"] if p.under is not None else []
    return "amended: " + "; ".join(changes)


def _bound(evidence: Iterable[ev.Evidence], names: _Names) -> str:
    return ", ".join(f"turn {e.turn} ({names.part(e.attestation)})" for e in evidence)


def _evidence(payload: msgspec.Struct, names: _Names) -> str:
    return f"evidence bound: {_bound(cast(ev.EvidenceBound, payload).evidence, names)}"


def _flagged(payload: msgspec.Struct, names: _Names) -> str:
    p = cast(ev.ReviewFlagged, payload)
    return f"flagged for review: derived from {names.note(p.ancestor)}, which was {names.line(p.what)}"


def _reviewed(payload: msgspec.Struct, names: _Names) -> str:
    return f"review flags cleared: those of {names.notes(cast(ev.Reviewed, payload).causes)}"


def _proposed(payload: msgspec.Struct, names: _Names) -> str:
    p = cast(ev.Proposed, payload)
    return f"proposed to {names.line(p.act)} it{names.by(p.by)}{names.reason(p.reason)}"


def _key(verb: str) -> _Tell:
    def tell(payload: msgspec.Struct, names: _Names) -> str:
        return f"{verb} {cast(ev.KeyEnrolled | ev.KeyRejected, payload).key_id.hex()}"

    return tell


def _setting(payload: msgspec.Struct, names: _Names) -> str:
    p = cast(ev.SettingChanged, payload)
    return f'setting changed: {names.line(p.key)} = "{names.line(p.value)}"'


_TELL: Final[Mapping[str, _Tell]] = {
    "recorded": _recorded,
    "promoted": _promoted,
    "revoked": _reasoned("revoked"),
    "reinstated": _reasoned("reinstated"),
    "superseded": _reasoned("superseded"),
    "unsuperseded": _reasoned("no longer superseded"),
    "absorbed": _reasoned("absorbed", "into"),
    "released": _reasoned("released", "from"),
    "revised": _revised,
    "confirmed": _confirmed,
    "corroborated": _reasoned("corroborated"),
    "rederived": _reasoned("said again though it is revoked,"),
    "conflict_opened": _conflict_opened,
    "conflict_resolved": _conflict_resolved,
    "archived": _reasoned("archived"),
    "restored": _reasoned("restored from the archive"),
    "amended": _amended,
    "closed": _reasoned("task closed"),
    "reopened": _reasoned("task opened again"),
    "evidence_bound": _evidence,
    "review_flagged": _flagged,
    "reviewed": _reviewed,
    "proposed": _proposed,
    "forgotten": lambda payload, names: "forgotten: what it said is gone for good",
    "key_enrolled": _key("key enrolled"),
    "key_rejected": _key("key rejected"),
    "setting_changed": _setting,
}
