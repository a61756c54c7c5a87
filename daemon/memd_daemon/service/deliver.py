"""A hook's call from its bytes to its answer: what is stored, what is owed, what is told (delivery.md; hooks.md).

Each decision is taken and written to the ledger under one lock, so that two hooks at once never tell the same note twice. What
waits for a disk (a prompt's turn) or for a model (its vector) happens outside of it. Nothing counts as offered that is not sent: an
answer whose deadline has passed, or that the client has no way to take, leaves its context owed.
"""

import contextlib
import os
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotInTime
from functools import partial
from typing import Any, Final

import msgspec

from memd_client import wire
from memd_daemon import limits
from memd_daemon.ground.files import Glance
from memd_daemon.model.delivery import Context, Delivery
from memd_daemon.rules import Decision, Situation
from memd_daemon.service import attest, candidates, capture, holds, names, notices, tool_results
from memd_daemon.service.bundle import BLOCK_BREAK, Owed, bundle_after
from memd_daemon.service.clients import Client, client_above
from memd_daemon.service.contexts import (
    IN_FULL,
    PART_DELIVERED,
    and_over,
    continuing,
    entered,
    is_as_it_was,
    is_due,
    is_owed,
    may_be_owed,
    session_and_continued,
    sessions_of,
)
from memd_daemon.service.footing import Footing, Footings
from memd_daemon.service.hookcounts import HookCounts
from memd_daemon.service.moments import FILE_MOMENTS, Call, situation, under_settings, with_files
from memd_daemon.service.moved import look_around, moved_here
from memd_daemon.service.parts import Parts
from memd_daemon.service.repos import Place, scopes_at
from memd_daemon.service.requests import Requests
from memd_daemon.service.search import Hit
from memd_daemon.service.terms import silence_at
from memd_daemon.service.twins import Twins, name_of, told_before
from memd_daemon.service.weighing import Weighing
from memd_daemon.store.ledger_port import LedgerSnapshot
from memd_daemon.store.port import Snapshot
from memd_hooks.events import Harness, HookAnswer, HookEvent, Moment

CLIENT_MOMENTS: Final = frozenset(
    {Moment.SESSION_START, Moment.POST_COMPACTION, Moment.PROMPT_SUBMIT, Moment.MEMD_CALL, Moment.SESSION_END}
)
"""When the system is asked which client process a known context lives in."""

THAT_RECORD: Final = frozenset({Moment.PROMPT_SUBMIT, Moment.TOOL_RESULT, Moment.GIT_COMMIT})
"""Moments at which something is recorded before it is decided what to tell: a request that comes twice is told apart by then."""

LOOKED_AT: Final = frozenset({Moment.SESSION_START, Moment.POST_COMPACTION})
"""When policy files are looked at before anything is told."""


class Foreseen(msgspec.Struct, frozen=True, kw_only=True):
    """What an event would be answered, with the situations in which that was decided."""

    call: Call
    owed: Decision  # the bundle that the context is owed by then
    own: Decision
    at_bundle: Situation
    at_moment: Situation
    is_owed: bool
    is_kept_back: bool  # a silence that nobody signed keeps back what nobody endorsed of a bundle that was told


class Deliverer:
    """Answers hooks. Safe to call from any thread."""

    def __init__(self, parts: Parts, harnesses: Mapping[str, Harness]) -> None:
        self._parts = parts
        self._harnesses = harnesses
        self._names = {name: h.CLIENT_NAMES for name, h in harnesses.items() if h.CAP_UNITS}
        self._weighing = Weighing(parts)
        self._footings = Footings()
        self._lock = threading.Lock()
        self._twins = Twins()
        self._requests = Requests()
        self._embedding = ThreadPoolExecutor(1, thread_name_prefix="memd-query")
        self.counts = HookCounts()

    def close(self) -> None:
        self._embedding.shutdown(wait=False, cancel_futures=True)

    def answer(self, hook: wire.Hook, pid: int) -> bytes:
        """The bytes for the hook's stdout; b"" is silence."""
        began_ns = time.monotonic_ns()
        with self.counts.failure_of(hook.harness, hook.event):
            stdout = self._answer(hook, pid)
        took_us = (time.monotonic_ns() - began_ns) // limits.NS_PER_US
        self.counts.fired(hook.harness, hook.event, self._parts.now_ms(), took_us)
        return stdout

    def kept(self, hook: wire.Hook) -> bool:
        """Whether the prompt of a call that could not be answered is stored all the same."""
        request = self._requests.kept_as(hook.request_id)
        with self._parts.store.read() as snapshot:
            return request is not None and snapshot.turn_of_request(request) is not None

    def _answer(self, hook: wire.Hook, pid: int) -> bytes:
        harness = self._harnesses.get(hook.harness)
        event = self._understood(harness, hook)
        if harness is None or event is None:
            return b""
        hook = self._requests.bound(hook, event)
        ledger = self._parts.ledger
        if (
            event.moment in THAT_RECORD
            and not hook.is_probe
            and (before := self._requests.replied(ledger, hook)) is not None
        ):
            return before
        known = ledger.context(event.session, event.agent)
        main = ledger.context(event.session, "") if event.agent else known
        before_it = known or main
        footing = self._footings.of(self._parts, event, before_it.repo if before_it else "")
        place = footing.place
        if event.moment == Moment.GIT_COMMIT:
            if not hook.is_probe:
                capture.record_commit(self._parts, event, place, pid=pid)
            return b""
        if not event.session:
            return b""
        pending = self._embedded(event, place)
        if not hook.is_probe:
            tool_results.heard(self._parts, harness, event, place)
        if event.moment == Moment.TOOL_RESULT and known is not None and not may_be_owed(known, self._parts.now_ms()):
            attest.look_behind(self._parts, event.session)
            return b""
        looks = known is None or event.moment in CLIENT_MOMENTS
        client = client_above(pid, self._names, event.harness) if looks and pid else None
        sessions = session_and_continued(event.session, main)
        call = self._called(hook, harness, event, footing, sessions, client, pending)
        call = msgspec.structs.replace(call, pid=pid)
        return self._answer_session(harness, call, client)

    def _understood(self, harness: Harness | None, hook: wire.Hook) -> HookEvent | None:
        if harness is None:
            return None
        event = harness.parse(hook.event, hook.stdin, os.fsdecode(hook.cwd), wire.parse_environment(hook.environment))
        return None if event is None else names.heard(event)

    def _is_second(
        self, ledger: LedgerSnapshot, hook: wire.Hook, event: HookEvent, client: Client | None, known: Context | None
    ) -> bool:
        """Whether another hook of the same event was answered, by this daemon or by one before it."""
        now_ms = self._parts.now_ms()
        if self._twins.is_second(event, client, now_ms):
            return True
        return self._requests.may_be_older(hook) and told_before(ledger, event, client, known, now_ms)

    def _answer_session(self, harness: Harness, call: Call, client: Client | None) -> bytes:
        hook, event = call.hook, call.event
        with self._lock, contextlib.ExitStack() as unanswered:
            with self._parts.ledger.at_hand() as ledger:
                known = ledger.context(event.session, event.agent)
                if not hook.is_probe:
                    if (before := self._requests.replied(ledger, hook)) is not None:
                        return before
                    if self._is_second(ledger, hook, event, client, known):
                        return b""
                    unanswered.callback(self._twins.forget, event, client)  # also where answering fails
                context = entered(known, event, call.place, client, self._parts.now_ms())
                if known is None:
                    context = continuing(ledger, context, event, client, harness.RESUME_FLAGS)
                main = ledger.context(event.session, "") if event.agent else context
                context, over = and_over(ledger, known, main, context)
                settled = list(holds.settled(ledger, call, context))
                if event.moment == Moment.MEMD_CALL and not hook.is_probe:
                    self._parts.calls.register(main, context, event, call.pid)
                answer, delivery, after = self._decide(call, ledger, context, harness)
            reply = harness.render(event, answer)
            is_told = delivery is None or _goes_out(hook, delivery, reply)
            if not is_told:
                reply, delivery, after = b"", None, with_files(context, call)
            if delivery is not None:
                delivery = msgspec.structs.replace(delivery, event=name_of(event, client))
            if not hook.is_probe:
                is_start = event.moment == Moment.SESSION_START  # it says whose client runs the session by now
                self._record(delivery, None if is_start else known, (after, *over), reply)
                for hold, outcome in settled:
                    self._parts.ledger.settle(hold, outcome, self._parts.now_ms())
            if is_told:
                unanswered.pop_all()
        if not hook.is_probe:
            attest.look_behind(self._parts, event.session)
        return reply

    def foresee(self, event: HookEvent, known: Context | None, like: Context | None = None) -> Foreseen:
        """What this very event would be answered now; nothing is recorded, and no client is told.

        ``known``: its context, None for one that begins with it; ``like``: the context whose client that one would have.
        Raises KeyError for a harness that there is not.
        """
        harness = self._harnesses[event.harness]
        patience_ms = limits.QUERY_EMBEDDING_SHARE_MS + limits.REPLY_MARGIN_MS
        deadline_ns = time.monotonic_ns() + patience_ms * limits.NS_PER_MS
        hook = wire.Hook(b"", deadline_ns, wire.PROBE, event.harness, event.moment, os.fsencode(event.cwd), b"", b"")
        sessions = sessions_of(self._parts.ledger, event.session)
        footing = self._footings.of(self._parts, event, "")
        pending = self._embedded(event, footing.place)
        call = self._called(hook, harness, event, footing, sessions, None, pending)
        with self._lock, self._parts.ledger.read() as ledger, self._parts.store.read() as snapshot:
            call = under_settings(self._parts, snapshot, call)
            context = entered(known, event, call.place, None, self._parts.now_ms())
            if known is None and like is not None:
                context = msgspec.structs.replace(context, with_person=like.with_person, entry_point=like.entry_point)
            owed, own = self._weighing.of(snapshot, ledger, call, context, harness)
            trigger = Moment(context.bundle_trigger)
            return Foreseen(
                call=call,
                owed=owed.told,
                own=own,
                at_bundle=situation(self._parts, ledger, call, context, harness, trigger, harness.CAP_UNITS),
                at_moment=self._weighing.own_situation(ledger, call, context, harness, owed),
                is_owed=is_due(context, call.here, self._parts.now_ms()),
                is_kept_back=context.bundle == PART_DELIVERED,
            )

    def _embedded(self, event: HookEvent, place: Place) -> "Future[Any] | None":
        """A prompt's vector on its way: it takes longest, and all else is done meanwhile. None where nothing is told."""
        if event.moment != Moment.PROMPT_SUBMIT:
            return None
        if silence_at(self._parts.settings(), self._parts.now_ms(), place).everything:
            return None
        return self._embedding.submit(self._parts.search.embed, event.prompt)

    def _called(
        self,
        hook: wire.Hook,
        harness: Harness,
        event: HookEvent,
        footing: Footing,
        sessions: tuple[str, ...],
        client: Client | None,
        pending: "Future[Any] | None",
    ) -> Call:
        """Stores a prompt's turn and searches the notes for it; finds where a file moment's files were before.

        ``sessions``: the event's, and those it continues. ``pending``: `_embedded`.
        """
        place, at, paths, outer = footing
        asked, vectors = None, ""
        hits: Sequence[Hit] = ()
        if event.moment in LOOKED_AT:
            self._parts.policies.look(self._parts)
        if event.moment == Moment.PROMPT_SUBMIT:
            if not hook.is_probe:
                now_ms = self._parts.now_ms()
                capture.store_prompt(self._parts, hook, harness, event, place, client, now_ms, spooled=False)
            if pending is not None:
                scopes = scopes_at(place, *sessions)
                asked = candidates.Asked(self._parts, place, scopes, event.prompt)
                asked.read_ahead(pending.done)
                vector, vectors = self._query_vector(event.prompt, pending, hook.deadline_ns)
                hits = asked.hits(vector, by_table=vectors == "table")
        if event.moment == Moment.SESSION_START and not hook.is_probe:
            self._parts.behind.add(partial(look_around, self._parts, place))
        glance = Glance()
        return Call(
            hook=hook,
            event=event,
            place=place,
            at=at,
            paths=paths,
            around=outer,
            glance=glance,
            moved=moved_here(self._parts, at, sessions, paths, glance, keeps=not hook.is_probe),
            hits=hits,
            brought_up=asked.brought_up if asked else None,
            vectors=vectors,
        )

    def _query_vector(self, prompt: str, pending: "Future[Any]", deadline_ns: int) -> tuple[Any, str]:
        """The full vector if it is there within its share of the deadline, else the token table's."""
        left_ms = (deadline_ns - time.monotonic_ns()) / limits.NS_PER_MS - limits.REPLY_MARGIN_MS
        wait_s = max(0.0, min(limits.QUERY_EMBEDDING_SHARE_MS, left_ms)) / limits.MS_PER_S
        try:
            full = pending.result(wait_s)
        except NotInTime:
            pending.cancel()
            full = None
        if full is not None:
            return full, "full"
        table = self._parts.search.table_vector(prompt)
        return table, "table" if table is not None else ""

    # deciding

    def _decide(
        self, call: Call, ledger: LedgerSnapshot, context: Context, harness: Harness
    ) -> tuple[HookAnswer, Delivery | None, Context]:
        """What is told now: first the bundle that the context is owed, then what belongs to the moment.

        By the log as it stands under the lock: an older snapshot would tell what another hook has told the end of by now, and
        a map that has to grow would wait for whoever waits for the lock with one.
        """
        if call.event.moment not in candidates.MOMENTS_THAT_TELL:
            return HookAnswer(), None, context

        def weigh(snapshot: Snapshot) -> tuple[Call, Owed, Decision]:
            under = under_settings(self._parts, snapshot, call)
            return under, *self._weighing.of(snapshot, ledger, under, context, harness)

        if call.event.moment in FILE_MOMENTS and not is_owed(context, self._parts.now_ms()):
            call, owed, own = self._parts.look(weigh)
        else:  # a bundle, or what a prompt finds, asks for more than is known
            with self._parts.store.read() as snapshot:
                call, owed, own = weigh(snapshot)
        return self._told(call, context, owed, own)

    def _told(
        self, call: Call, context: Context, owed: Owed, own: Decision
    ) -> tuple[HookAnswer, Delivery | None, Context]:
        held = own.hold is not None
        context = context if held else with_files(context, call)
        now_ms = self._parts.now_ms()
        context = bundle_after(context, owed, call.here, now_ms)
        said = BLOCK_BREAK.join(text for text in (owed.text, own.text) if text)
        answer = HookAnswer(hold=said) if held else HookAnswer(context=said)
        is_news = self._weighing.decisions.is_news
        if not owed.blocks and not is_news(owed.told) and not is_news(own):
            return answer, None, context
        chosen, left_out = (*owed.told.chosen, *own.chosen), (*owed.told.left_out, *own.left_out)
        delivery = Delivery(
            request=call.hook.request_id,
            at=now_ms,
            trigger=call.event.moment,
            harness=call.event.harness,
            session=context.session,
            agent=context.agent,
            epoch=context.epoch,
            turn=context.turn,
            repo=call.place.scope,
            held=held,
            hold=holds.begun(call, context, own, now_ms),
            bundle=owed.goes,
            bundle_trigger=context.bundle_trigger if owed.goes else "",
            bundle_tokens=owed.tokens,
            notes=(*(block.delivered() for block in owed.blocks), *(c.delivered() for c in chosen)),
            left_out=left_out,
            over=owed.over,
            tokens=owed.tokens + own.tokens,
            vectors=call.vectors,
        )
        return answer, delivery, context

    def _record(self, delivery: Delivery | None, known: Context | None, now: Sequence[Context], reply: bytes) -> None:
        if delivery is None:
            if len(now) > 1 or not is_as_it_was(known, now[0]):
                self._parts.ledger.put_context(*now)
        else:
            self._requests.answered(delivery.request)
            self._parts.ledger.offer(delivery, reply, *now)

    def receipt(self, request: bytes) -> None:
        """The hook has written its answer out: what was offered is delivered, and a bundle is owed no longer."""
        with self._lock:
            delivery = self._parts.ledger.receipt(self._requests.ended(request))
            if delivery is None or not delivery.bundle:
                return
            context = self._parts.ledger.context(delivery.session, delivery.agent)
            if context is not None and context.epoch == delivery.epoch and context.bundle in IN_FULL:
                settled = msgspec.structs.replace(context, bundle=IN_FULL[context.bundle])
                self._parts.ledger.put_context(settled)
        if delivery.over:
            notices.keep_told(self._parts, delivery.over)


def _goes_out(hook: wire.Hook, delivery: Delivery, reply: bytes) -> bool:
    """Whether the notes of this delivery leave the daemon at all."""
    return bool(reply or not delivery.notes) and hook.deadline_ns > time.monotonic_ns()
