"""Who is asking: the session, agent and turn that a request belongs to (trust-boundary.md, "Who is asking").

A session counts only where memd has seen it live; an environment that names an unknown or ended session joins nothing.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from memd_daemon.model.words import Actor, Surface
from memd_daemon.store.port import Ledger

SESSION_NAMES: Final = (
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_SESSION_ID",
    "CODEX_THREAD_ID",
    "COPILOT_AGENT_SESSION_ID",
    "GEMINI_SESSION_ID",
)
"""Environment variables by which a client's own shell says which session it is of."""


class Asker(msgspec.Struct, frozen=True, kw_only=True):
    """``session`` is "" outside a live agent session; then the actor is still `agent`: only a signature makes a person."""

    actor: Actor
    surface: Surface
    session: str = ""
    agent: str = ""
    turn: str = ""
    epoch: int = 0
    harness: str = ""


def asker_of(ledger: Ledger, env: Mapping[str, str], surface: str) -> Asker:
    """The asker of a command."""
    for name in SESSION_NAMES:
        context = ledger.context(env[name], "") if env.get(name) else None
        if context is not None and not context.ended:
            return Asker(
                actor=Actor.AGENT,
                surface=Surface(surface),
                session=context.session,
                turn=context.turn,
                epoch=context.epoch,
                harness=context.harness,
            )
    return Asker(actor=Actor.AGENT, surface=Surface(surface))


def system(surface: Surface) -> Asker:
    """memd itself."""
    return Asker(actor=Actor.SYSTEM, surface=surface)
