"""A plan of the daemon, held against what the person asked for, and shown whole before it is signed.

The daemon proposes bytes; this process believes none of its words about them. `checked` makes sure that each event is one that the
act may need, on a note that the act names, with that act's own particulars and nothing else, under this key, and that contents and
reasons are those that the digests name. What `shown` then lays out is read from the very bytes that the signature covers.
"""

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from memd_client import api
from memd_client.cli import screen
from memd_client.cli.anchors import written
from memd_client.memd import Refused

BLOB: Final = b"memd/blob/1"
UID_BYTES: Final = 16

TYPES: Final = {
    "promote": "promoted",
    "record and endorse": "promoted",
    "revoke": "revoked",
    "reinstate": "reinstated",
    "confirm": "confirmed",
    "review": "reviewed",
    "supersede": "superseded",
    "unsupersede": "unsuperseded",
    "absorb": "absorbed",
    "release": "released",
    "revise": "promoted",
    "archive": "archived",
    "restore-note": "restored",
    "amend": "amended",
    "done": "closed",
    "reopen": "reopened",
    "resolve": "conflict_resolved",
}
"""act -> the type of the event that is signed on its own note; `revise` and `resolve` may need events on other notes as well."""

REASONLESS: Final = ("promoted", "confirmed", "reviewed", "amended")
"""Types of events that carry no reason."""

UNDONE: Final = ("unsuperseded", "released")
"""Types of events that name the note which had taken this one's place, whatever that was."""

TURNED: Final = {"a_wins": "b_wins", "b_wins": "a_wins"}

OUTCOMES: Final = {
    "a_wins": "this note holds, the other one is revoked",
    "b_wins": "the other one holds, this note is revoked",
    "both_demoted": "neither holds as it stood: both stay, and count for less",
    "merged": "the two are merged into one",
}
"""Each resolution as seen from the note that the event is on."""

AMENDED: Final = {"priority": ("priority",), "tags": ("tag", "untag"), "anchors": ("anchor",), "scope": ("scope",)}
"""What an `amended` event may change, and the options that ask for it. A change of scope lets the folder go as well."""


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """Another note that the act names, as a person knows it."""

    id: int
    words: str


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What the person asked for: the act, its note (id 0 where it is recorded by this very plan), and the act's particulars.

    ``by``: the other note of `supersede`, `absorb` or `resolve`; ``folded``: the notes that a revision absorbs; both uids once they
    are known, and then in ``others``. ``options``: the options of `amend` that were given.
    """

    act: str
    id: int
    uid: str
    by: str = ""
    reason: str = ""
    resolution: str = ""
    folded: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    others: Mapping[str, Named] = {}


class PlanDiffers(Refused):
    """The daemon's plan is not what was asked for."""

    def __init__(self, what: str) -> None:
        message = f"Nothing was signed: the daemon's plan is not what was asked for ({what}). `memd doctor`."
        super().__init__("plan-differs", message)


class Read(NamedTuple):
    """An event of a plan with its bytes read."""

    event: api.PlanEvent
    type: str
    note: bytes
    key_id: bytes
    payload: dict[str, Any]


class _Body(msgspec.Struct, frozen=True):
    """The part of an event's bytes that is checked here (the daemon's model has the whole)."""

    note: bytes
    type: str
    payload: msgspec.Raw
    key_id: bytes = b""


def checked(plan: api.Plan, asked: Asked) -> list[Read]:
    """The events of the plan. Raises PlanDiffers unless they are exactly what was asked for."""
    if not plan.events:
        raise PlanDiffers("0 events")
    wanted = _wanted(asked)
    seen = [_read(event) for event in plan.events]
    for one in seen:
        _refuse_other(plan, asked, one, wanted)
    if len({(one.type, one.note) for one in seen}) < len(seen):
        raise PlanDiffers(f"{len(seen)} events, some of them twice")
    return seen


def _read(event: api.PlanEvent) -> Read:
    try:
        body = msgspec.msgpack.decode(event.body, type=_Body)
        payload = msgspec.msgpack.decode(body.payload, type=dict[str, Any])
    except msgspec.MsgspecError:
        raise PlanDiffers("an event that cannot be read") from None
    return Read(event, body.type, body.note, body.key_id, payload)


_Wanted = dict[tuple[str, bytes], dict[str, Any]]
"""(type, note) of each event that the act may need, and the particulars that it must have."""


def _wanted(asked: Asked) -> _Wanted:
    note = _bytes(asked.uid)
    if asked.act == "resolve":
        return _resolution(note, _bytes(asked.by), asked.resolution)
    of: dict[str, Any] = {"by": _bytes(asked.by)} if asked.act in ("supersede", "absorb") else {}
    wanted: _Wanted = {(TYPES.get(asked.act, ""), note): of}
    if asked.act == "revise":
        wanted |= {("absorbed", _bytes(uid)): {"by": note} for uid in asked.folded}
    return wanted


def _resolution(a: bytes, b: bytes, how: str) -> _Wanted:
    rows: _Wanted = {
        ("conflict_resolved", a): {"other": b, "resolution": how},
        ("conflict_resolved", b): {"other": a, "resolution": TURNED.get(how, how)},
    }
    loser, winner = (b, a) if how == "a_wins" else (a, b)
    if how in TURNED:
        rows["revoked", loser] = {"by": winner}
    elif how == "merged":
        rows["absorbed", b] = {"by": a}
    return rows


def _bytes(uid: str) -> bytes:
    return uuid.UUID(uid).bytes


def _refuse_other(plan: api.Plan, asked: Asked, one: Read, wanted: _Wanted) -> None:
    event, payload = one.event, one.payload
    digest, is_promotion = _digest(event.content_salt, event.content), one.type == "promoted"
    particulars = wanted.get((one.type, one.note), {})
    has_reason = bool(asked.reason.strip()) and one.type not in REASONLESS
    for is_so, what in (
        (digest == event.content_digest, "another content than its digest names"),
        (event.act == asked.act and one.type in {type_ for type_, _ in wanted}, f"another act, {one.type}"),
        ((one.type, one.note) in wanted and event.id == _id(asked, one.note), "another note"),
        (one.key_id == plan.key_id and plan.key_id, "another key"),
        (not is_promotion or payload.get("to") == "human", "another class"),
        (not is_promotion or payload.get("content") == digest, "another content than the one endorsed"),
        (not is_promotion or payload.get("revision") == event.revision, "another revision"),
        (
            payload.get("reason", b"") == _digest(event.reason_salt, event.reason),
            "another reason than its digest names",
        ),
        (bool(event.reason) == has_reason, "a reason that was not given, or none where one was"),
        (one.type in UNDONE or payload.get("by", b"") == particulars.get("by", b""), "another newer note"),
        (all(payload.get(name) == value for name, value in particulars.items()), "another outcome"),
        (one.type != "amended" or _amends(payload, asked), "another change"),
    ):
        if not is_so:
            raise PlanDiffers(what)


def _amends(payload: dict[str, Any], asked: Asked) -> bool:
    """Whether nothing is changed that was not asked to be."""
    given = set(asked.options)
    allowed = {field for field, options in AMENDED.items() if given & set(options)}
    allowed |= {"under"} if given & {"under", "scope"} else set()
    return set(payload) <= allowed


def _id(asked: Asked, note: bytes) -> int:
    other = asked.others.get(str(uuid.UUID(bytes=note)))
    return asked.id if other is None else other.id


def _digest(salt: bytes, text: str) -> bytes:
    """A blob's digest; b"" where there is no text."""
    return hashlib.sha256(BLOB + salt + text.encode()).digest() if text else b""


# --- what the person sees


def shown(seen: Sequence[Read], asked: Asked) -> list[str]:
    """What will be signed, line by line, with nothing hidden in it and nothing of it left out."""
    if len(seen) == 1:
        return ["You are about to sign:", *_lines(seen[0], asked)]
    lines = [f"You are about to sign {len(seen)} events, all or none of them:"]
    for number, one in enumerate(seen, 1):
        lines += [f"{number}.", *_lines(one, asked)]
    return lines


def _lines(one: Read, asked: Asked) -> list[str]:
    event = one.event
    note = f"[{event.id}]" if event.id else "a new note"
    facts = {
        "act": f"{event.act} {note}" + (f" ({one.type.replace('_', ' ')})" if one.type != TYPES[asked.act] else ""),
        "uid": str(uuid.UUID(bytes=one.note)),
        "change": event.change if one.type != "amended" else "",
        **_particulars(one, asked),
        "kind": event.kind,
        "scope": f"{event.scope} ({event.scope_name})" if event.scope_name else event.scope,
        "priority": event.priority,
        "revision": str(event.revision),
        "reason": event.reason,
    }
    lines = [f"  {name:<9}{screen.safe_line(value)}" for name, value in facts.items() if value]
    content = [f"  │ {line}" for line in screen.safe(event.content).split("\n")]
    return [*lines, "  content", *content]


def _particulars(one: Read, asked: Asked) -> dict[str, str]:
    """What the event itself says of the act, read from its bytes."""
    payload = one.payload
    told = {name: _named(payload[name], asked) for name in ("by", "other") if _is_uid(payload.get(name))}
    if "resolution" in payload:
        told["outcome"] = OUTCOMES.get(payload["resolution"], str(payload["resolution"]))
    if "causes" in payload:
        told["flags"] = f"{len(payload['causes'])} reviewed"
    if one.type == "amended":
        told["change"] = "; ".join(f"{field} -> {_amended(field, value)}" for field, value in payload.items())
    return told


def _is_uid(value: Any) -> bool:
    return isinstance(value, bytes) and len(value) == UID_BYTES


def _named(uid: bytes, asked: Asked) -> str:
    text = str(uuid.UUID(bytes=uid))
    other = asked.others.get(text)
    return f"[{asked.id}] ({text})" if other is None else f"[{other.id}] {other.words} ({text})"


def _anchor(anchor: dict[str, Any]) -> str:
    path, part = (str(anchor.get(field, "")) for field in ("path", "part"))
    told = written(str(anchor.get("form", "file")), path, part)
    return f"{told} (proxy)" if anchor.get("proxy") else told


def _amended(field: str, value: Any) -> str:
    if field == "anchors":
        return ", ".join(map(_anchor, value)) or "none"
    if field == "tags":
        return ", ".join(map(str, value)) or "none"
    return str(value) or "the whole repository"
