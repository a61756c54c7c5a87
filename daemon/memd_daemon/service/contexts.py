"""Contexts: which stretch of a conversation a hook belongs to, and which bundle it is owed (delivery.md, "Once")."""

from typing import Final, TypeVar

import msgspec

from memd_daemon import limits
from memd_daemon.model.delivery import Context
from memd_daemon.service.clients import Client, command_line, is_running, resumed_by
from memd_daemon.service.names import id_kept
from memd_daemon.service.repos import Place
from memd_daemon.service.terms import LOUD, Silence
from memd_daemon.store.ledger_port import LedgerSnapshot
from memd_hooks.events import HookEvent, Moment, StartSource

_P = TypeVar("_P")

OWED: Final = "owed"
OFFERED: Final = "offered"
DELIVERED: Final = "delivered"
PART_OFFERED: Final = "part-offered"
PART_DELIVERED: Final = "part-delivered"
"""What a silence that nobody signed left of the bundle; the rest is owed when that is over."""

IN_FULL: Final = {OFFERED: DELIVERED, PART_OFFERED: PART_DELIVERED}
"""What an offer becomes by its receipt."""

CARRIED: Final = frozenset({StartSource.RESUME, StartSource.FORK})
"""Starts of a conversation that has gone on before."""

NEW_EPOCH: Final = frozenset({StartSource.STARTUP, StartSource.CLEAR, StartSource.FORK})


def sessions_of(ledger: LedgerSnapshot, session: str) -> tuple[str, ...]:
    """The session, and those it continues, whose notes hold in it too."""
    return session_and_continued(session, ledger.context(session, "") if session else None)


def session_and_continued(session: str, main: Context | None) -> tuple[str, ...]:
    """``main``: the context of the session's main agent, where there is one."""
    return (session, *main.continues) if main else (session,)


def entered(known: Context | None, event: HookEvent, place: Place, client: Client | None, now_ms: int) -> Context:
    """The context as it is once this event has come."""
    here = known or Context(
        session=event.session,
        agent=event.agent,
        harness=event.harness,
        bundle_trigger=Moment.SUBAGENT_START if event.agent else Moment.SESSION_START,
        started_at=now_ms,
        carried=event.source in CARRIED,
    )
    changes = {
        "repo": place.scope,
        "last_at": now_ms,
        "ended": event.moment == Moment.SESSION_END and _may_end(here, client),
        "entry_point": event.entry_point or here.entry_point,
        **_paths_at(here, place),
        **_turn(here, event),
        **_epoch(known, here, event, place),
    }
    return msgspec.structs.replace(here, **changes, **_client(here, client))


def _paths_at(here: Context, place: Place) -> dict[str, object]:
    """A path is one of the repository that the session was in; what it says elsewhere is another file."""
    if not here.repo or here.repo == place.scope:
        return {}
    read, edited = (tuple((here.repo, path) for path in paths) for paths in (here.read, here.edited))
    return {
        "read": (),
        "edited": (),
        "read_elsewhere": _later(here.read_elsewhere, read),
        "edited_elsewhere": _later(here.edited_elsewhere, edited),
    }


def touched(context: Context, scope: str) -> tuple[str, ...]:
    """The paths of one repository that the context has read or edited."""
    own = (*context.read, *context.edited) if context.repo == scope else ()
    elsewhere = (*context.read_elsewhere, *context.edited_elsewhere)
    return (*own, *(path for there, path in elsewhere if there == scope))


def _client(here: Context, client: Client | None) -> dict[str, object]:
    """A context moves to another client only when its own has gone or has ended it: a hook from under another client, be it one
    that a model put together in its shell, takes no session away."""
    if client is None or (not here.ended and client.pid != here.client_pid and _still_there(here)):
        return {}
    return {
        "with_person": client.with_person,
        "client_pid": client.pid,
        "client_started": client.started,
        "above": client.above,
    }


def _may_end(here: Context, client: Client | None) -> bool:
    """A session is ended by the client that it lives in. Another's word for it, or that of a process that left its client, counts
    only once that one has gone; where the system does not say who asks, it has to do."""
    return client is None or client.pid == here.client_pid or not _still_there(here)


def and_over(
    ledger: LedgerSnapshot, known: Context | None, main: Context | None, context: Context
) -> tuple[Context, tuple[Context, ...]]:
    """The event's context, and the session's agents that are over by the event. ``main``: the session's own.

    All of them are where the session ends, or comes back, be it by a client that takes it up from one that has gone without a
    word: they lived in that client. One that is taken up again says so itself; what is heard of one while its session is over was
    on its way when that ended.
    """
    if context.agent:
        is_over = main is not None and main.ended
        return (msgspec.structs.replace(context, ended=True) if is_over else context), ()
    if not (context.ended or (known is not None and _comes_back(known, context))):
        return context, ()
    agents = (one for one in ledger.contexts_of(context.session) if one.agent and not one.ended)
    return context, tuple(msgspec.structs.replace(one, ended=True) for one in agents)


def _comes_back(known: Context, context: Context) -> bool:
    was, now = ((one.client_pid, one.client_started) for one in (known, context))
    return known.ended or bool(known.client_pid and was != now)


def is_live(ledger: LedgerSnapshot, context: Context, now_ms: int) -> bool:
    """Whether the context goes on: neither it nor its session has ended, its client's process is there as far as it is known, and
    it was heard of within `limits.SESSION_LIVE_MS`."""
    main = ledger.context(context.session, "") if context.agent else context
    return context.last_at >= now_ms - limits.SESSION_LIVE_MS and not any(
        one.ended or _has_gone(one) for one in (context, main) if one is not None
    )


def _has_gone(context: Context) -> bool:
    return bool(context.client_pid) and not _still_there(context)


def _still_there(here: Context) -> bool:
    return is_running(here.client_pid, here.client_started)


def _turn(here: Context, event: HookEvent) -> dict[str, object]:
    if event.moment == Moment.PROMPT_SUBMIT:
        count = here.turns + (event.prompt_id != here.turn or not event.prompt_id)
        return {"turn": event.prompt_id or str(count), "turns": count}
    if event.moment == Moment.SESSION_START:
        return {"turn": event.prompt_id}  # it belongs to the turn that follows, not to the last one
    return {"turn": event.prompt_id or here.turn}


def _epoch(known: Context | None, here: Context, event: HookEvent, place: Place) -> dict[str, object]:
    """A start, clear or fork of a known context and every compaction begin a new epoch; each of them is owed a bundle.

    So is a context that comes to another repository: what stands of its bundle is not said again.
    """
    if event.moment == Moment.POST_COMPACTION:
        epoch = here.epoch + (known is not None)
        return {"epoch": epoch, "bundle": OWED, "bundle_trigger": Moment.POST_COMPACTION}
    if event.moment == Moment.SESSION_START:
        again = known is not None and event.source in NEW_EPOCH
        return {"epoch": here.epoch + again, "bundle": OWED, "bundle_trigger": Moment.SESSION_START}
    if event.moment == Moment.SUBAGENT_START:
        return {"bundle": OWED, "bundle_trigger": Moment.SUBAGENT_START}
    if here.repo != place.scope:
        return {"bundle": OWED}
    return {}


def continuing(
    ledger: LedgerSnapshot, context: Context, event: HookEvent, client: Client | None, resume_flags: tuple[str, ...]
) -> Context:
    """The context that begins, with the sessions that it continues.

    No client says which they are. A clear, and a fork within the client, follow the session that lived in the same process just
    before; a client that was started to fork names the session on its command line. An agent's are its session's.
    """
    if context.agent:
        main = ledger.context(context.session, "")
        return msgspec.structs.replace(context, continues=main.continues) if main else context
    parent = ledger.context(_before(ledger, event, client, resume_flags), "")
    if parent is None or parent.session == context.session or parent.harness != context.harness:
        return context
    line = tuple(one for one in (parent.session, *parent.continues) if one != context.session)
    return msgspec.structs.replace(context, continues=line[: limits.SESSIONS_CONTINUED_MAX])


def _before(ledger: LedgerSnapshot, event: HookEvent, client: Client | None, resume_flags: tuple[str, ...]) -> str:
    if client is None or event.source not in (StartSource.CLEAR, StartSource.FORK):
        return ""
    before = ledger.session_in(client.pid, client.started)
    if before or event.source == StartSource.CLEAR:
        return before
    return id_kept(resumed_by(command_line(client.pid), resume_flags))


def is_owed(context: Context, now_ms: int) -> bool:
    """Whether the start's bundle is to be told: it never was, or its offer was lost; one still open waits for its receipt."""
    if context.bundle in (OFFERED, PART_OFFERED):
        return abs(now_ms - context.bundle_at) > limits.OFFER_OPEN_MS  # also where the clock was set back since
    return context.bundle not in (DELIVERED, PART_DELIVERED)


def may_be_owed(context: Context, now_ms: int) -> bool:
    """Whether it is, or would be where memd is silent no more."""
    return context.bundle == PART_DELIVERED or is_owed(context, now_ms)


def is_due(context: Context, here: Silence, now_ms: int) -> bool:
    """Whether the bundle is to be told here: the whole of it, what a silence leaves of it, or what a silence that is over kept
    back. What was left out of its part for want of room is not told again and again while the silence lasts."""
    if context.bundle == PART_DELIVERED:
        return here == LOUD
    return is_owed(context, now_ms)


def is_as_it_was(known: Context | None, context: Context) -> bool:
    """Whether nothing has come to a known context but a moment more: that it was heard of is written down now and then."""
    if known is None or not 0 <= context.last_at - known.last_at < limits.CONTEXT_HEARD_MS:  # also by a clock set back
        return False
    return known == msgspec.structs.replace(context, last_at=known.last_at)


def with_paths(
    context: Context, moment: Moment, paths: tuple[str, ...], elsewhere: tuple[tuple[str, str], ...]
) -> Context:
    """The context that has read, or edited, these files too; ``elsewhere``: (scope, path) of those in other repositories."""
    if moment == Moment.READ:
        there = _later(context.read_elsewhere, elsewhere)
        return msgspec.structs.replace(context, read=_later(context.read, paths), read_elsewhere=there)
    if moment == Moment.PRE_EDIT:
        there = _later(context.edited_elsewhere, elsewhere)
        return msgspec.structs.replace(context, edited=_later(context.edited, paths), edited_elsewhere=there)
    return context


def _later(known: tuple[_P, ...], paths: tuple[_P, ...]) -> tuple[_P, ...]:
    """The paths with these among the newest: where they are already, they stay where they stand."""
    if all(path in known[-limits.CONTEXT_PATHS_MAX // 2 :] for path in paths):
        return known
    return (*(p for p in known if p not in paths), *paths)[-limits.CONTEXT_PATHS_MAX :]
