"""Edits that were held back once, and what came of them (delivery.md, "Before the edit, truly before").

A hold is **repeated** when the very same call comes again (tool and input by their digest), **changed** when the agent edits that
file in another way, both within the turn, and **abandoned** when the turn or the session ends without either. A prompt ends the
turns of its session's own, but not an agent's: one that works in the background goes on with the turn that it was begun in.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from typing import Final

from memd_daemon import limits
from memd_daemon.model.delivery import Context, Hold, HoldOutcome
from memd_daemon.rules import Decision
from memd_daemon.service.contexts import is_live
from memd_daemon.service.moments import Call
from memd_daemon.service.parts import Parts
from memd_daemon.store.ledger_port import LedgerSnapshot
from memd_hooks.events import HookEvent, Moment

_ENDS: Final = frozenset({Moment.SESSION_END, Moment.SESSION_START})
"""After which nothing comes of what was held before; a compaction is none of them, since its turn goes on."""


def begun(call: Call, context: Context, own: Decision, now_ms: int) -> Hold | None:
    """The hold that this answer is; None where it holds nothing back."""
    if own.hold is None:
        return None
    return Hold(
        at=now_ms,
        session=context.session,
        agent=context.agent,
        turn=context.turn,
        repo=call.at.scope,
        paths=call.paths,
        call=_digest(call.event),
        notes=tuple(chosen.candidate.view.note.uid for chosen in own.chosen),
    )


def settled(ledger: LedgerSnapshot, call: Call, context: Context) -> Iterator[tuple[Hold, HoldOutcome]]:
    """The open holds that this event is the outcome of."""
    event = call.event
    if event.moment == Moment.PRE_EDIT:
        hold = ledger.hold(context.session, context.agent, context.turn)
        outcome = _of_edit(call, hold) if hold is not None and hold.outcome == HoldOutcome.OPEN else None
        if hold is not None and outcome is not None:
            yield hold, outcome
    elif event.moment in _ENDS or event.moment in (Moment.PROMPT_SUBMIT, Moment.STOP):
        for hold in ledger.open_holds(context.session):
            if _is_over(event, context, hold):
                yield hold, HoldOutcome.ABANDONED


def _of_edit(call: Call, hold: Hold) -> HoldOutcome | None:
    event = call.event
    if hold.call == _digest(event):
        return HoldOutcome.REPEATED
    is_there = hold.repo == call.at.scope and not set(hold.paths).isdisjoint(call.paths)
    return HoldOutcome.CHANGED if is_there else None


def _is_over(event: HookEvent, context: Context, hold: Hold) -> bool:
    if event.moment == Moment.PROMPT_SUBMIT:
        return hold.agent == event.agent and hold.turn != context.turn
    if event.moment == Moment.SESSION_END and not context.ended:  # another's word for it
        return False
    return event.moment in _ENDS or hold.agent == event.agent


def _digest(event: HookEvent) -> bytes:
    said = event.tool.encode("utf-8", "surrogatepass") + b"\0" + event.tool_input
    return hashlib.sha256(said).digest()[: limits.CALL_DIGEST_BYTES]


def outcome(parts: Parts, hold: Hold) -> str:
    """What came of a hold, as far as can be told now: an open one of a session that is over was abandoned."""
    if hold.outcome != HoldOutcome.OPEN:
        return hold.outcome
    context = parts.ledger.context(hold.session, "")
    goes_on = context is not None and is_live(parts.ledger, context, parts.now_ms())
    return HoldOutcome.OPEN if goes_on else HoldOutcome.ABANDONED


def counted(parts: Parts) -> dict[str, int]:
    """How many holds came to what; every outcome stands in it."""
    found = Counter(outcome(parts, hold) for hold in parts.ledger.holds())
    return {str(one): found[one] for one in HoldOutcome}
