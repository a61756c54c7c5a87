"""What only a person can do, told by a signature (model.md, section 2; trust-boundary.md).

Two kinds of acts. Those of `PERSON_ONLY` stand as proposals where a session takes them on what a person endorsed. Of those that
`needs_signature` names nothing is left without one: the fold gives them no effect, and a store appends none, by the very same rule.
"""

from collections.abc import Callable, Mapping
from typing import Final, cast

import msgspec

from memd_daemon.model import event as ev
from memd_daemon.model.note import Note
from memd_daemon.model.words import Actor, Kind, Provenance

PERSON_ONLY: Final[dict[str, str]] = {
    "revoked": "revoke",
    "superseded": "supersede",
    "absorbed": "absorb",
    "revised": "revise",
    "archived": "archive",
    "amended": "change",
    "closed": "close",
    "conflict_resolved": "change",
}
"""Acts on an endorsed note that only a person may take, and the word under which they are proposed."""


def is_endorsed(note: Note) -> bool:
    return note.provenance == Provenance.HUMAN


def needs_signature(note: Note | None, event: ev.Event, payload: msgspec.Struct) -> bool:
    """Whether the event has an effect only where a person signed it. ``note``: as it stands before; ``payload``: the event's own.

    That is whatever claims a person as its actor, forgetting, the rung `human`, bringing back what a person endorsed and put away
    (archived, superseded, absorbed, closed), and a directive in more places than it was recorded for.
    """
    if event.actor == Actor.HUMAN:
        return True
    rule = _SIGNED.get(event.type)
    return rule is not None and rule(note, payload)


def widens(old_scope: str, old_under: str, scope: str, under: str) -> bool:
    """Whether the new scope may hold somewhere the old one does not."""
    if old_scope == "global":
        return False
    if scope == old_scope:
        return old_under != "" and under != old_under and not under.startswith(old_under + "/")
    return not scope.startswith("session:") or old_scope.startswith("session:")


def _brings_back_endorsed(note: Note | None, payload: msgspec.Struct) -> bool:
    """A person put it away, or endorsed it as it lay there: brought back it would be the user's own, an imperative even.

    A revocation is not among these: anybody may reinstate, and what a person revoked then comes back without the imperative.
    """
    return note is not None and is_endorsed(note)


def _widens_directive(note: Note | None, payload: msgspec.Struct) -> bool:
    """On an endorsed one it is a proposal."""
    if note is None or note.kind != Kind.DIRECTIVE or is_endorsed(note):
        return False
    p = cast(ev.Amended, payload)
    return widens(note.scope, note.under, p.scope or note.scope, note.under if p.under is None else p.under)


_SIGNED: Final[Mapping[str, Callable[[Note | None, msgspec.Struct], bool]]] = {
    "forgotten": lambda note, payload: True,
    "promoted": lambda note, payload: cast(ev.Promoted, payload).to == Provenance.HUMAN,
    "restored": _brings_back_endorsed,
    "unsuperseded": _brings_back_endorsed,
    "released": _brings_back_endorsed,
    "reopened": _brings_back_endorsed,
    "amended": _widens_directive,
}
