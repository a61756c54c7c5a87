"""What a daemon has beyond hooks, pings and its own end: the other verbs, and what it looks after by itself.

**Behind the first answer.** A start is nearly all imports, and a third of them nobody needs for a ping: acts, recall, import and
export, the reading of evidence, the patterns of redaction. They come in with this module, which `Daemon.begin` imports once the
daemon can be found, or whoever asks for one of its verbs sooner. It imports too what others import where they need it, within a
function: all of a daemon is in memory a moment after its start, and when its files are exchanged under it, it goes on with those
that it began with. The modules that bring a library of their own come by themselves: those of the indexes, which begin with the
daemon, and MCP's server (mcp_door.py), with its first message.
"""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from memd_client import api
from memd_daemon.ground.shapes import table as table  # within a function: ground.syntax
from memd_daemon.redact import redactor as redactor  # within a function: redact
from memd_daemon.service import (
    chronicle,
    exchange,
    explain,
    history,
    lifecycle,
    people,
    policy_told,
    recall,
    remember,
    settings,
    stale,
    status,
    upkeep,
    why,
)
from memd_daemon.service.clients import PEER
from memd_daemon.service.deliver import Deliverer
from memd_daemon.service.parts import Parts
from memd_daemon.service.retention import Retention
from memd_daemon.service.tools import Tools
from memd_daemon.service.watch import Watch
from memd_hooks import program

Handler = Callable[[Any], msgspec.Struct]

WRITING: Final = ("remember", "seal", "act", "set")
"""Verbs behind which what is known of the log is brought up to it: the next hook would do it else."""


class Later:
    """Made, begun and closed once each. ``handlers``: verb -> function, to be called when the store has been looked at.

    ``agents``: process names of the clients that run agents; below one of those no key is enrolled.
    """

    def __init__(self, parts: Parts, deliverer: Deliverer, started_ms: int, agents: Sequence[str]) -> None:
        self.plans = people.PlanBook()
        self.tools = Tools(parts, self.plans)
        self.watch = Watch(parts)
        self.retention = Retention(parts)
        self.exports = exchange.Exports(parts)
        self._backups = exchange.Backups(parts)
        self._parts = parts
        self._agents = tuple(agents)
        self.handlers = self._handlers(parts, self.plans, deliverer, started_ms)

    def begin(self) -> None:
        self.watch.begin()
        self.retention.begin()
        threading.Thread(target=program.renew, args=(self._parts.home,), name="memd-hook", daemon=True).start()

    def close(self) -> None:
        self.watch.close()
        self.retention.close()
        self.exports.close()
        self._backups.close()

    def _handlers(
        self, parts: Parts, plans: people.PlanBook, deliverer: Deliverer, started_ms: int
    ) -> dict[str, Handler]:
        handlers: dict[str, Handler] = {
            "status": lambda _: status.status(parts, deliverer.counts, started_ms),
            "fired": lambda _: api.FiredReply(fired=deliverer.counts.last(), took_us=deliverer.counts.latest_us()),
            "remember": partial(remember.remember, parts, plans),
            "seal": partial(plans.seal, parts),
            "recall": partial(recall.recall, parts),
            "list": partial(explain.list_notes, parts),
            "show": partial(explain.show, parts),
            "log": partial(history.log_of, parts),
            "decisions": partial(chronicle.decisions, parts),
            "trace": partial(chronicle.trace, parts),
            "act": partial(lifecycle.act, parts, plans),
            "turns": partial(explain.turns, parts),
            "deliveries": partial(explain.deliveries, parts),
            "why": partial(why.why, parts, deliverer),
            "stale": partial(stale.stale, parts),
            "settings": partial(settings.told, parts),
            "set": partial(settings.change, parts, plans),
            "settings-log": partial(settings.log_of, parts),
            "policies": partial(policy_told.told, parts),
            "policy-check": partial(policy_told.check, parts),
            "enrol": self._enrol,
            "verify": lambda _: upkeep.verify(parts),
            "reindex": partial(upkeep.reindex, parts),
            "backup": self._backups.backup,
            "export": self.exports.export,
        }
        return handlers | {verb: partial(self._written, handlers[verb]) for verb in WRITING}

    def _written(self, handler: Handler, request: Any) -> msgspec.Struct:
        """An answer to what may have written to the log."""
        answer = handler(request)
        self._parts.behind.add(self._parts.catch_up)
        return answer

    def _enrol(self, request: api.Enrol) -> api.EnrolReply:
        if request.public or request.rejects:
            people.refuse_driven(PEER.get(), self._agents)
        return people.enrol(self._parts, self.plans, request)
