"""The calls of hooks by their request ids: under what each is kept until its receipt, and which were answered before.

A hook whose answer was lost asks again under its own id, of this daemon or of the next one. Safe to call from any thread without
a lock, since each step is one of a dict's own; only `answered`, which lets old ones go, is for one thread at a time.
"""

import time

from memd_client import wire
from memd_daemon import limits
from memd_daemon.service import names
from memd_daemon.store.ledger_port import LedgerSnapshot
from memd_hooks.events import HookEvent


class Requests:
    """Those that this daemon has heard of."""

    def __init__(self) -> None:
        self._began_ns = time.monotonic_ns()
        self._open: dict[bytes, bytes] = {}  # as they came -> as they are kept, until their receipts
        self._answered: dict[bytes, None] = {}  # with an answer in the ledger, the newest last

    def bound(self, hook: wire.Hook, event: HookEvent) -> wire.Hook:
        """The call under its request id as it is kept: bound to its session, so that another's answer is never its own."""
        request = names.request_kept(hook.request_id, event)
        if len(self._open) >= limits.REQUESTS_OPEN_MAX:
            self._open.clear()
        self._open[hook.request_id] = request
        deadline_ns, flags, cwd = hook.deadline_ns, hook.flags, hook.cwd
        return wire.Hook(request, deadline_ns, flags, hook.harness, hook.event, cwd, hook.environment, hook.stdin)

    def kept_as(self, came: bytes) -> bytes | None:
        """The id under which an open call is kept; None for one that is not open."""
        return self._open.get(came)

    def ended(self, came: bytes) -> bytes:
        """The id under which the call of a receipt was kept: as it came where nobody knows of it any more."""
        return self._open.pop(came, came)

    def replied(self, ledger: LedgerSnapshot, hook: wire.Hook) -> bytes | None:
        """The answer that was given to this very call before. One that began after this daemon was answered by no other: only where
        it may be older, or was answered here, the ledger is asked."""
        is_asked = self.may_be_older(hook) or hook.request_id in self._answered
        return ledger.replied(hook.request_id) if is_asked else None

    def may_be_older(self, hook: wire.Hook) -> bool:
        """Whether the hook may have begun before this daemon."""
        return hook.deadline_ns < self._began_ns + limits.HOOK_LIFE_MAX_MS * limits.NS_PER_MS

    def answered(self, request: bytes) -> None:
        """Its answer is in the ledger, as it is kept there."""
        if len(self._answered) >= limits.REPLIES_KEPT:
            del self._answered[next(iter(self._answered))]
        self._answered[request] = None
