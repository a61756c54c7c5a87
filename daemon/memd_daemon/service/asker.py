"""Who is asking: the session, agent and turn that a request belongs to (trust-boundary.md, "Who is asking").

**Over MCP** the door joins the request to the call that the client's hook told of (calls.py), and what it found counts whatever
else the request says: `JOINED`.

**From a command** the environment names the session, and it is believed as far as the system bears it out. A session counts only
where memd has seen it live, under the harness whose variable names it; an environment that names an unknown or ended session, or
two live ones, joins nothing. Where the session's client process is known, the command has to stand under it, with no other client
in between: variables are copied, ancestors are not. Which agent of the session it is no client tells its shells: it is the main
agent as long as the session has had no other, and unknown from then on.
"""

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Final

import msgspec

from memd_daemon import errors
from memd_daemon.model.delivery import Context
from memd_daemon.model.words import Actor, Surface
from memd_daemon.service.clients import PEER, nearest
from memd_daemon.service.names import id_kept
from memd_daemon.service.text import quoted
from memd_daemon.store.ledger_port import Ledger
from memd_hooks.harness.sessions import SESSION_NAMES

CLAIMABLE: Final = (Surface.CLI, Surface.TUI, Surface.UI, Surface.IMPORT)
"""Surfaces that a client may say it is; the others are the daemon's own doors."""


UNKNOWN_AGENT: Final = "unknown"
"""Stands for an agent's id; nothing was ever delivered to it."""


class Asker(msgspec.Struct, frozen=True, kw_only=True):
    """``session`` is "" outside a live agent session; then the actor is still `agent`: only a signature makes a person.

    ``agent`` is "" for the main agent, `UNKNOWN_AGENT` for one of the session's agents of which memd cannot tell which.
    """

    actor: Actor
    surface: Surface
    session: str = ""
    agent: str = ""
    turn: str = ""
    epoch: int = 0
    harness: str = ""


JOINED: Final[ContextVar[Asker | None]] = ContextVar("joined", default=None)
"""Whose request is being served, where the door that it came through has settled it; None where the request is to be asked."""


def asker_of(ledger: Ledger, env: Mapping[str, str], surface: str) -> Asker:
    """The asker of a request. Raises UnknownWord for a surface that nobody may claim."""
    joined = JOINED.get()
    if joined is not None:
        return joined
    if surface not in CLAIMABLE:
        raise errors.UnknownWord("surface", quoted(surface), ", ".join(CLAIMABLE))
    context = live_session(ledger, env, PEER.get())
    if context is None:
        return Asker(actor=Actor.AGENT, surface=Surface(surface))
    return Asker(
        actor=Actor.AGENT,
        surface=Surface(surface),
        session=context.session,
        agent=UNKNOWN_AGENT if any(one.agent for one in ledger.contexts_of(context.session)) else "",
        turn=context.turn,
        epoch=context.epoch,
        harness=context.harness,
    )


def live_session(ledger: Ledger, env: Mapping[str, str], pid: int) -> Context | None:
    """The one live session that the environment names and that the process stands in; ``pid`` 0 for an unknown process.

    None for none, and for two: a client that was started from another one's shell has inherited that one's id, and which of them
    it is would be a guess.
    """
    found: dict[str, Context] = {}
    for harness, name in ((harness, name) for harness, names in SESSION_NAMES.items() for name in names):
        context = ledger.context(id_kept(env[name]), "") if env.get(name) else None
        if context is not None and not context.ended and context.harness == harness:
            found[context.session] = context
    context = next(iter(found.values())) if len(found) == 1 else None
    return context if context is not None and stands_in(context, pid) else None


def stands_in(context: Context, pid: int) -> bool:
    """Whether the process was started from the session's client. Where memd never saw that client, nothing speaks against it."""
    if not context.client_pid:
        return True
    client = nearest(pid)
    return client is not None and (client.pid, client.started) == (context.client_pid, context.client_started)


def system(surface: Surface) -> Asker:
    """memd itself."""
    return Asker(actor=Actor.SYSTEM, surface=surface)
