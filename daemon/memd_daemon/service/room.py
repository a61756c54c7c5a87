"""Whether the rules that hold at a place still fit into the start of a session: who writes the one that is too many is told.

It is asked of the very lookup and rules that a session's start is answered by, for a session that begins there now. It only
informs, so it comes after the write and is no part of it.
"""

import itertools
from typing import Final

import msgspec

from memd_client import wire
from memd_daemon import limits
from memd_daemon.frames.words import no_room
from memd_daemon.model.words import Kind
from memd_daemon.rules import Situation, decide
from memd_daemon.rules.order import place as order_of
from memd_daemon.rules.pack import BUDGET, HARNESS_CAP
from memd_daemon.service import candidates
from memd_daemon.service.contexts import entered
from memd_daemon.service.moments import Call, situation, under_settings
from memd_daemon.service.parts import Parts
from memd_daemon.service.repos import Place, scopes_at
from memd_daemon.service.wanted import Wanted
from memd_daemon.store.port import Snapshot
from memd_hooks.events import HookEvent, Moment, StartSource
from memd_hooks.harness import claude

_NO_ROOM: Final = frozenset({BUDGET, HARNESS_CAP})
_NO_HOOK: Final = wire.Hook(b"", 0, wire.PROBE, claude.NAME, Moment.SESSION_START, b"", b"", b"")


def told_of_room(parts: Parts, wanted: Wanted, place: Place) -> list[str]:
    """A line where a directive that was just recorded leaves rules without room; none for other kinds and a session's own."""
    if wanted.kind is not Kind.DIRECTIVE or wanted.scope.startswith("session:"):
        return []
    at = msgspec.structs.replace(place, inside=wanted.under)
    with parts.store.read() as snapshot:
        now, left = _left_out(parts, snapshot, at)
    return [] if left == [] else [no_room(now.budget_tokens, left or [])]


def _are_too_many(snapshot: Snapshot, place: Place) -> bool:
    """Whether there are more rules than any budget has room for: then a write does not look at each of them."""
    rules = itertools.chain.from_iterable(snapshot.notes_of_kind(s, Kind.DIRECTIVE) for s in scopes_at(place, ""))
    return next(itertools.islice(rules, limits.ROOM_RULES_MAX, None), None) is not None


def _start(parts: Parts, snapshot: Snapshot, place: Place) -> Call:
    """The start of a session that begins at this place now."""
    event = HookEvent(moment=Moment.SESSION_START, harness=claude.NAME, session="", cwd="", source=StartSource.STARTUP)
    return under_settings(parts, snapshot, Call(hook=_NO_HOOK, event=event, place=place, at=place, paths=()))


def _left_out(parts: Parts, snapshot: Snapshot, place: Place) -> tuple[Situation, list[int] | None]:
    """(the moment; ids of the rules that find no room in it, the most important first, None for too many to look at)."""
    call = _start(parts, snapshot, place)
    context = entered(None, call.event, place, None, parts.now_ms())
    with parts.ledger.read() as ledger:
        now = situation(parts, ledger, call, context, claude, Moment.SESSION_START, claude.CAP_UNITS)
        if _are_too_many(snapshot, place):
            return now, None
        found = candidates.at_start(parts, snapshot, ledger, place, context)
    fell = {left.id for left in decide(now, found).left_out if left.rule in _NO_ROOM}
    rules = [
        one for one in found if one.view.id in fell and one.view.note.kind == Kind.DIRECTIVE and not one.view.revoked
    ]
    return now, [one.view.id for one in sorted(rules, key=order_of)]
