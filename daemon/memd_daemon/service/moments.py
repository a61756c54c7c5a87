"""One moment of a session as the rules are asked about it: what a hook says, what the ledger and the settings make of it.

A hook is answered by it (deliver.py), `memd why` foretells by it, and a write looks by it whether the rules still fit (room.py).
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from memd_client import wire
from memd_daemon import limits
from memd_daemon.ground.files import Glance
from memd_daemon.model.delivery import Context
from memd_daemon.model.settings import Settings
from memd_daemon.rules import Chosen, Situation
from memd_daemon.service.brought_up import BroughtUp
from memd_daemon.service.contexts import with_paths
from memd_daemon.service.parts import Parts
from memd_daemon.service.repos import Files, Place
from memd_daemon.service.search import Hit
from memd_daemon.service.terms import LOUD, Silence, silence_at, terms_of
from memd_daemon.store.ledger_port import LedgerSnapshot
from memd_daemon.store.port import Snapshot
from memd_hooks.events import Harness, HookEvent, Moment

FILE_MOMENTS: Final = frozenset({Moment.READ, Moment.PRE_EDIT})

DEFAULTS: Final = Settings()


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One hook call, understood, with what does not change while it is answered."""

    hook: wire.Hook
    event: HookEvent
    place: Place
    at: Place  # where the files of a file moment lie: another checkout than the session's, or another repository
    paths: tuple[str, ...]  # from the root of that checkout
    around: Sequence[Files] = ()  # the same files in the repositories that this checkout lies in
    glance: Glance | None = None  # the answer's look at them
    moved: Mapping[str, str] = {}  # where gotchas' files that are at these paths now were before: old path -> path
    hits: Sequence[Hit] = ()  # what a prompt found, best first, and what is known of that
    brought_up: BroughtUp | None = None
    vectors: str = ""
    pid: int = 0  # of the hook's process; 0 where the system does not say
    settings: Settings = DEFAULTS  # as they stand when it is decided
    here: Silence = LOUD  # where the session works
    there: Silence = LOUD  # there, or where the files lie

    @property
    def own_paths(self) -> tuple[str, ...]:
        """Paths in the session's own repository, which its context remembers."""
        return tuple(path for scope, path in self._seen if scope == self.place.scope)

    @property
    def paths_elsewhere(self) -> tuple[tuple[str, str], ...]:
        """(scope, path) of those in other repositories."""
        return tuple(one for one in self._seen if one[0] != self.place.scope)

    @property
    def _seen(self) -> tuple[tuple[str, str], ...]:
        """The files in each repository that has them, as far as memd is not kept out of it."""
        if self.here.everything:
            return ()
        inner = ((self.at.scope, path) for path in (*self.paths, *self.moved))
        outer = ((files.at.scope, path) for files in self.around for path in files.paths)
        return (*inner, *outer)

    def edited_before(self, context: Context) -> frozenset[str]:
        """Of the paths that this call's repositories have, those that the context has edited."""
        scopes = {self.at.scope, *(files.at.scope for files in self.around)}
        elsewhere = (path for scope, path in context.edited_elsewhere if scope in scopes)
        own = context.edited if self.place.scope in scopes else ()
        return frozenset((*own, *elsewhere, *self.moved))


def with_files(context: Context, call: Call) -> Context:
    """The context that has read, or edited, the call's files too."""
    return with_paths(context, call.event.moment, call.own_paths, call.paths_elsewhere)


def under_settings(parts: Parts, snapshot: Snapshot, call: Call) -> Call:
    """The call with the settings of this snapshot, and where they make memd silent."""
    settings = parts.settings(snapshot)
    if settings.is_default:
        return call
    now_ms = parts.now_ms()
    here = silence_at(settings, now_ms, call.place)
    there = here if call.at is call.place else silence_at(settings, now_ms, call.place, call.at)
    return msgspec.structs.replace(call, settings=settings, here=here, there=there)


def _sent_before(ledger: LedgerSnapshot, context: Context) -> frozenset[bytes]:
    """The notes that were sent in this turn, whether they stand or not."""
    return ledger.turn_notes(context.session, context.agent, context.turn) if context.turn else frozenset()


def situation(
    parts: Parts,
    ledger: LedgerSnapshot,
    call: Call,
    context: Context,
    harness: Harness,
    trigger: Moment,
    cap_units: int,
    told: Sequence[Chosen] = (),
) -> Situation:
    """What the rules look at. ``trigger``: the call's own moment, or that of the bundle which the context is owed; ``told``: what
    stands before it in the same answer, and ``cap_units`` what the client still takes after that."""
    event, is_edit = call.event, trigger == Moment.PRE_EDIT
    open_since = parts.now_ms() - limits.OFFER_OPEN_MS
    standing = ledger.standing(context.session, context.agent, context.epoch, open_since=open_since)
    sent: frozenset[bytes] = frozenset()
    if context.turn:
        sent = ledger.sent(context.session, context.agent, context.epoch, context.turn, open_since=open_since)
    if told:
        here = {c.candidate.view.note.uid: c.digest for c in told}
        standing, sent = {**standing, **here}, sent | (_sent_before(ledger, context) & here.keys())
    spent = ledger.turn_tokens(context.session, context.turn, Moment.SUBAGENT_START)
    entries = harness.PERSON_ENTRY_POINTS
    own, rest = terms_of(call.settings, trigger, context, entries, spent, parts.now_ms())
    silent = (call.there if trigger in FILE_MOMENTS else call.here).rest
    if silent:
        rest = msgspec.structs.replace(rest, silent=silent)
    return Situation(
        trigger=trigger,
        session=context.session,
        continues=context.continues,
        repo=(call.at if trigger in FILE_MOMENTS else call.place).scope,
        around=tuple(files.at.scope for files in call.around),
        paths=(*call.paths, *(path for files in call.around for path in files.paths)),
        directory=call.place.inside,
        with_person=context.with_person,
        permission_mode=event.permission_mode,
        hold_enabled=own.hold_enabled,
        held_this_turn=ledger.hold(context.session, context.agent, context.turn) is not None,
        held_for=ledger.held_for(context.session, context.agent, context.epoch) if is_edit else frozenset(),
        sent_this_turn=sent,
        standing=standing,
        edited_here=call.edited_before(context) if trigger in FILE_MOMENTS else frozenset(context.edited),
        tags=parts.tags,
        cost=parts.cost,
        budget_tokens=own.budget_tokens,
        gate=own.gate,
        rest=None if rest is own else rest,
        units=harness.cost_units,
        cap_units=cap_units,
    )
