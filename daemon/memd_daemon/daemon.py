"""One daemon put together: the parts, the use cases, and the table of verbs that the server serves.

`open` does only what the first answer needs: store and ledger. What else there is (later.py), indexes and the model come in behind
`begin`.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from memd_client import __version__, api, wire
from memd_daemon import ended, errors, limits
from memd_daemon.mcp_door import Door
from memd_daemon.redact import redact
from memd_daemon.service import deliver, notices, spool
from memd_daemon.service.asker import asker_of
from memd_daemon.service.behind import Behind, Underway
from memd_daemon.service.cost import Costs
from memd_daemon.service.parts import Parts
from memd_daemon.service.search import Search
from memd_daemon.service.terms import idle_exit_s
from memd_daemon.store.lmdb_log import open_ledger, open_store
from memd_hooks import harness

if TYPE_CHECKING:
    from memd_daemon.later import Later
    from memd_daemon.service.people import PlanBook
    from memd_daemon.service.retention import Retention
    from memd_daemon.service.watch import Watch

Handler = Callable[[Any], msgspec.Struct]


class Daemon:
    """Everything between the socket and the disk."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.mcp = Door(lambda: self.later.tools)
        self._deliverer = deliver.Deliverer(parts, harness.BY_NAME)
        self._started_ms = parts.now_ms()
        # On a queue of its own, at most once ahead: where hooks never cease, what else is to be done behind them has no end.
        self.letting_go = Behind(parts.underway, 1)
        self._ledger_let_go_at = 0.0  # monotonic seconds: not before
        self._spool = spool.Spool(parts, harness.BY_NAME)
        self._later: Later | None = None
        self._making_later = threading.Lock()

    @classmethod
    def open(cls, home: Path) -> "Daemon":
        """The daemon of a home. Raises what the store refuses."""
        after_fault = ended.by_fault(home)
        store = open_store(home, waits=False, after_fault=after_fault)
        tags = sorted({tag for one in harness.BY_NAME.values() for tag in one.TAGS})
        underway = Underway()
        parts = Parts(
            home=home,
            store=store,
            ledger=open_ledger(home, after_fault=after_fault),
            search=Search(home / "index", store),
            redact=redact,
            cost=Costs().of,
            chance=os.urandom,
            tags=tuple(tags),
            underway=underway,
            behind=Behind(underway),
            reading=Behind(underway, limits.RESULTS_WAITING_MAX),
        )
        ended.forget(home)
        parts.policies.look(parts)  # before the first answer: what it locks is locked from the beginning
        notices.take_in_stop(parts)
        return cls(parts)

    def begin(self) -> None:
        """Loads the rest and the indexes, takes in the spool and looks through the store and the hooks' program, behind the
        first answers."""
        later = self.later
        self.parts.search.begin()
        later.begin()
        self._spool.begin()

    @property
    def later(self) -> "Later":
        """Imported and made at the first use, from any thread."""
        with self._making_later:
            if self._later is None:
                from memd_daemon.later import Later

                self._later = Later(self.parts, self._deliverer, self._started_ms, CLIENT_NAMES)
            return self._later

    @property
    def plans(self) -> "PlanBook":
        return self.later.plans

    @property
    def watch(self) -> "Watch":
        return self.later.watch

    @property
    def retention(self) -> "Retention":
        return self.later.retention

    def close(self) -> None:
        self.mcp.close()
        if self._later is not None:
            self._later.close()
        self._deliverer.close()
        self.parts.reading.join(limits.RESULTS_WAIT_S)
        self.parts.flags.behind.join(limits.RESULTS_WAIT_S)
        self.parts.search.close()
        self.parts.ledger.close()
        self.parts.store.close()

    # hooks

    def hook(self, call: wire.Hook, pid: int) -> bytes:
        """The bytes for a hook's stdout. A prompt comes after what was spooled before it."""
        self.parts.store.await_look()
        if call.event == PROMPT and not call.is_probe:
            self._spool.before_prompt()
        try:
            answer = self._deliverer.answer(call, pid)
        except (
            errors.MemdError
        ):  # what the ledger had no room for is owed still; the hook need not keep the prompt as well
            if not self._deliverer.kept(call):
                raise
            return b""
        if call.event in WIDE:
            self.letting_go.add(self._let_go)
        return answer

    def _let_go(self) -> None:
        """The store's pages each time, the ledger's seldom: each hook looks at some of those, and they grow with each hook."""
        self.parts.store.let_go()
        now = time.monotonic()
        if now >= self._ledger_let_go_at:
            self._ledger_let_go_at = now + limits.LEDGER_LET_GO_S
            self.parts.ledger.let_go()

    def receipt(self, request: bytes) -> None:
        self._deliverer.receipt(request)

    # verbs

    def handlers(self, stop: Callable[[], None]) -> dict[str, Handler]:
        """Every verb of the wire and the function that serves it.

        ``stop`` takes the address away and ends the serving; it is called from a worker thread.
        """
        at_once: dict[str, Handler] = {"ping": self._ping, "stop": partial(self._stop, stop)}
        return {verb: partial(self._answered, verb) for verb in api.VERBS} | at_once

    def _answered(self, verb: str, request: Any) -> msgspec.Struct:
        """An answer that speaks of notes: not before the store has been looked at."""
        self.parts.store.await_look()
        return self.later.handlers[verb](request)

    def idle_exit_s(self) -> int:
        """Seconds without a session after which there is no use for a daemon."""
        return idle_exit_s(self.parts.settings(), self.parts.now_ms())

    def _ping(self, _: api.Ping) -> api.Pong:
        parts = self.parts
        store = parts.store.info.store.hex()
        return api.Pong(
            pid=os.getpid(), version=__version__, home=str(parts.home), ready=parts.search.ready, store=store
        )

    def _stop(self, stop: Callable[[], None], request: api.Stop) -> api.StopReply:
        """A deliberate stop is marked before the address goes: a hook that finds none would start the next daemon."""
        if request.announced:
            asker = asker_of(self.parts.ledger, request.env, request.surface)
            with contextlib.suppress(OSError):  # a disk that takes no mark must not keep a daemon from going
                notices.mark_stop(self.parts.home, notices.Stop(at=self.parts.now_ms(), session=asker.session))
        stop()
        return api.StopReply(pid=os.getpid())


CLIENT_NAMES: Final = tuple(name for one in harness.BY_NAME.values() if one.CAP_UNITS for name in one.CLIENT_NAMES)
"""Process names of the clients that run agents."""

PROMPT: Final = "prompt-submit"
"""The event before which the spool is taken in."""

WIDE: Final = frozenset({PROMPT, "session-start", "post-compaction", "subagent-start"})
"""Events that look at many places of the store, each of which brings its neighbours into memory: let go behind the answer."""
