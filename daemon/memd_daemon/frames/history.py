"""One line per event, for `memd log`: when, who through which door, what, and where it had no plain effect.

Neither content nor summary stands here: what a note says is told by its frames alone.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, cast

import msgspec

from memd_daemon.frames.escape import escape_line, held_apart
from memd_daemon.frames.words import date
from memd_daemon.model import event as ev
from memd_daemon.model.fold import Effect
from memd_daemon.model.ids import NO_UID
from memd_daemon.model.view import EventView

UNREADABLE: Final = "an event this version cannot read"
_EFFECTS: Final = {
    Effect.KEPT: "kept, nothing changed",
    Effect.PROPOSED: "stands as a proposal for the user",
    Effect.NONE: "without effect",
    "waits": "waits for an earlier event",
}


class _Names:
    """What the payload's uids and blobs stand for, made fit for a line."""

    def __init__(self, view: EventView, tags: Sequence[str]) -> None:
        self._view = view
        self.tags = tags

    def note(self, uid: bytes) -> str:
        known = self._view.ids.get(uid)
        return f"[{known}]" if known else "a note that is not here"

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


def event_line(view: EventView, tags: Sequence[str]) -> str:
    """``2026-03-04  agent by mcp  revoked by [52] (reason: "…")  [without effect]``; no line end."""
    event = view.stored.event
    names = _Names(view, tags)
    actor = f"{names.line(event.actor)}{', signed' if view.stored.signed else ''}"
    session = f", session {names.part(event.session)}" if event.session else ""
    line = f"{date(event.at)}  {actor} by {names.line(event.surface)}{session}  {_what(view, names)}"
    effect = _EFFECTS.get(view.effect)
    return f"{line}  [{effect}]" if effect else line


def _what(view: EventView, names: _Names) -> str:
    event = view.stored.event
    try:
        payload = ev.payload_of(event)
    except (msgspec.ValidationError, msgspec.DecodeError):
        payload = None
    if payload is None:
        return f"{names.line(event.type)}: {UNREADABLE}"
    tell = _TELL.get(event.type, _plain)
    return names.line(event.type).replace("_", " ") + tell(payload, names)


_Tell = Callable[[msgspec.Struct, _Names], str]


def _plain(payload: msgspec.Struct, names: _Names) -> str:
    return ""


def _recorded(payload: msgspec.Struct, names: _Names) -> str:
    p = cast(ev.Recorded, payload)
    source = " ".join(filter(None, (p.source.type, p.source.ref)))
    parts = (p.kind, p.priority, p.provenance, f"scope {p.scope.partition(':')[0]}", f"source {source}")
    facts = [", ".join(map(names.part, parts))]
    facts += [f"corrects {names.note(uid)}" for uid in p.corrects]
    facts += [f"derived from {names.note(uid)}" for uid in p.derived_from]
    return ": " + "; ".join(facts)


def _promoted(payload: msgspec.Struct, names: _Names) -> str:
    p = cast(ev.Promoted, payload)
    return f" to {names.line(p.to)} (revision {p.revision})"


def _reasoned(payload: msgspec.Struct, names: _Names) -> str:
    p = cast(ev.Reasoned | ev.ByNote, payload)
    return names.by(p.by) + names.reason(p.reason)


def _absorbed(payload: msgspec.Struct, names: _Names) -> str:
    p = cast(ev.ByNote, payload)
    return names.by(p.by, "into") + names.reason(p.reason)


def _revised(payload: msgspec.Struct, names: _Names) -> str:
    p = cast(ev.Revised, payload)
    return f" from revision {p.expected_revision}{names.reason(p.reason)}"


def _confirmed(payload: msgspec.Struct, names: _Names) -> str:
    anchors = cast(ev.Confirmed, payload).anchors
    return f": {', '.join(names.part(a.path) for a in anchors)}" if anchors else ""


def _conflict(payload: msgspec.Struct, names: _Names) -> str:
    p = cast(ev.ConflictOpened | ev.ConflictResolved, payload)
    settled = f" as {names.line(p.resolution)}{names.reason(p.reason)}" if isinstance(p, ev.ConflictResolved) else ""
    return names.by(p.other, "with") + settled


def _amended(payload: msgspec.Struct, names: _Names) -> str:
    p = cast(ev.Amended, payload)
    changes = [f"priority {names.part(p.priority)}"] if p.priority else []
    changes += [f"tags {_listed(p.tags, names)}"] if p.tags is not None else []
    changes += [f"anchors {_listed((a.path for a in p.anchors), names)}"] if p.anchors is not None else []
    changes += [f"scope {names.part(p.scope.partition(':')[0])}"] if p.scope else []
    changes += [f"under {names.part(p.under) or 'the whole repository'}"] if p.under is not None else []
    return ": " + "; ".join(changes)


def _listed(texts: Iterable[str], names: _Names) -> str:
    return ", ".join(map(names.part, texts)) or "none"


def _evidence(payload: msgspec.Struct, names: _Names) -> str:
    bound = cast(ev.EvidenceBound, payload).evidence
    return ": " + ", ".join(f"turn {e.turn} ({names.part(e.attestation)})" for e in bound)


def _flagged(payload: msgspec.Struct, names: _Names) -> str:
    p = cast(ev.ReviewFlagged, payload)
    return f": derived from {names.note(p.ancestor)}, {names.line(p.what)}"


def _proposed(payload: msgspec.Struct, names: _Names) -> str:
    p = cast(ev.Proposed, payload)
    return f": {names.line(p.act)}{names.by(p.by)}{names.reason(p.reason)}"


def _key(payload: msgspec.Struct, names: _Names) -> str:
    return f" {cast(ev.KeyEnrolled | ev.KeyRejected, payload).key_id.hex()}"


def _setting(payload: msgspec.Struct, names: _Names) -> str:
    p = cast(ev.SettingChanged, payload)
    return f': {names.line(p.key)} = "{names.line(p.value)}"'


_TELL: Final[Mapping[str, _Tell]] = {
    "recorded": _recorded,
    "promoted": _promoted,
    "revoked": _reasoned,
    "reinstated": _reasoned,
    "superseded": _reasoned,
    "unsuperseded": _reasoned,
    "absorbed": _absorbed,
    "released": _reasoned,
    "revised": _revised,
    "confirmed": _confirmed,
    "corroborated": _reasoned,
    "rederived": _reasoned,
    "conflict_opened": _conflict,
    "conflict_resolved": _conflict,
    "archived": _reasoned,
    "restored": _reasoned,
    "amended": _amended,
    "closed": _reasoned,
    "reopened": _reasoned,
    "evidence_bound": _evidence,
    "review_flagged": _flagged,
    "proposed": _proposed,
    "key_enrolled": _key,
    "key_rejected": _key,
    "setting_changed": _setting,
}
