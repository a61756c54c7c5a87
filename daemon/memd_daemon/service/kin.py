"""Sessions that are one source with another: their clients were started one from the other, or from one and the same third.

What a session's client was started from is known from its hooks (`Context.above`) and kept with its context, so it holds also when
the processes have gone: a client that runs one prompt and ends is where this matters most.
"""

from collections.abc import Collection

from memd_daemon.model.delivery import Context
from memd_daemon.store.ledger_port import Ledger

Client = tuple[int, int]
"""pid and start of a client's process."""


def kin_of(ledger: Ledger, own: Collection[str]) -> set[str]:
    """The sessions, none of ``own`` among them, whose clients stand above one of these sessions' clients, below one, or beside one
    under the same client."""
    contexts = [context for context in ledger.contexts() if context.client_pid]
    mine = [context for context in contexts if context.session in own]
    clients, above = {_client(context) for context in mine}, {one for context in mine for one in context.above}
    found = {c.session for c in contexts if _client(c) in above or not (clients | above).isdisjoint(c.above)}
    return found - set(own)


def _client(context: Context) -> Client:
    return context.client_pid, context.client_started
