"""Who is asking: the session, agent and turn that a request belongs to (trust-boundary.md, "Who is asking").

A session counts only where memd has seen it live, under the client whose variable names it; an environment that names an unknown
or ended session, or two live ones, joins nothing.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from memd_daemon import errors, limits
from memd_daemon.model.delivery import Context
from memd_daemon.model.words import Actor, Surface
from memd_daemon.service.names import id_kept
from memd_daemon.store.port import Ledger

SESSION_NAMES: Final = {
    "CLAUDE_CODE_SESSION_ID": "claude",
    "CODEX_SESSION_ID": "codex",
    "CODEX_THREAD_ID": "codex",
    "COPILOT_AGENT_SESSION_ID": "copilot",
    "GEMINI_SESSION_ID": "gemini",
}
"""Environment variables by which a client's own shell says which session it is of, and that client."""

CLAIMABLE: Final = (Surface.CLI, Surface.MCP, Surface.TUI, Surface.UI, Surface.IMPORT)
"""Surfaces that a client may say it is; the others are the daemon's own doors."""


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
    """The asker of a command. Raises UnknownWord for a surface that nobody may claim."""
    if surface not in CLAIMABLE:
        raise errors.UnknownWord("surface", repr(surface[: limits.QUOTED_INPUT_MAX_CHARS]), ", ".join(CLAIMABLE))
    context = live_session(ledger, env)
    if context is None:
        return Asker(actor=Actor.AGENT, surface=Surface(surface))
    return Asker(
        actor=Actor.AGENT,
        surface=Surface(surface),
        session=context.session,
        turn=context.turn,
        epoch=context.epoch,
        harness=context.harness,
    )


def live_session(ledger: Ledger, env: Mapping[str, str]) -> Context | None:
    """The one live session that the environment names.

    None for none, and for two: a client that was started from another one's shell has inherited that one's id, and which of them
    it is would be a guess.
    """
    found: dict[str, Context] = {}
    for name, harness in SESSION_NAMES.items():
        context = ledger.context(id_kept(env[name]), "") if env.get(name) else None
        if context is not None and not context.ended and context.harness == harness:
            found[context.session] = context
    return next(iter(found.values())) if len(found) == 1 else None


def system(surface: Surface) -> Asker:
    """memd itself."""
    return Asker(actor=Actor.SYSTEM, surface=surface)
