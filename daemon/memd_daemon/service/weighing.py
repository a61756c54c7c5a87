"""What a hook brings, weighed by the rules: the bundle that its context is owed, and what is of the moment itself (delivery.md).

A hook's answer asks, and `memd why`, which foretells it. A context that is owed nothing is asked about its moment alone.
"""

from collections.abc import Sequence
from functools import partial

from memd_daemon import limits
from memd_daemon.model.delivery import Context
from memd_daemon.rules import Candidate, Decision, Situation, decide
from memd_daemon.service import candidates, notices, policy_rules
from memd_daemon.service.bundle import BLOCK_BREAK, Owed, Question, after, brought, sharing, stands
from memd_daemon.service.contexts import is_due
from memd_daemon.service.decisions import Decisions
from memd_daemon.service.moments import FILE_MOMENTS, Call, situation
from memd_daemon.service.outer import brought as brought_around
from memd_daemon.service.parts import Parts
from memd_daemon.service.terms import gates_of
from memd_daemon.store.ledger_port import LedgerSnapshot
from memd_daemon.store.port import Snapshot
from memd_hooks.events import Harness, Moment


class Weighing:
    """Under the delivery lock."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._board = notices.Board(parts)
        self.decisions = Decisions()

    def of(
        self, snapshot: Snapshot, ledger: LedgerSnapshot, call: Call, context: Context, harness: Harness
    ) -> tuple[Owed, Decision]:
        """(the bundle that is owed, what this very moment brings); both are within what the client takes."""
        if not is_due(context, call.here, self._parts.now_ms()):
            return Owed(), self._own(snapshot, ledger, call, context, harness, Owed())
        if call.event.moment in FILE_MOMENTS:
            return self._beside_files(snapshot, ledger, call, context, harness)
        owed, _ = self._bundle(snapshot, ledger, call, context, harness)
        return owed, self._own(snapshot, ledger, call, context, harness, owed)

    def own_situation(
        self, ledger: LedgerSnapshot, call: Call, context: Context, harness: Harness, owed: Owed
    ) -> Situation:
        """The moment itself, beside a bundle."""
        cap = harness.CAP_UNITS - (harness.cost_units(owed.text + BLOCK_BREAK) if owed.text else 0)
        return situation(self._parts, ledger, call, context, harness, call.event.moment, cap, owed.told.chosen)

    def _bundle(
        self,
        snapshot: Snapshot,
        ledger: LedgerSnapshot,
        call: Call,
        context: Context,
        harness: Harness,
        elsewhere: frozenset[bytes] = frozenset(),
    ) -> tuple[Owed, Question]:
        """(the bundle as it is alone, what its notes were decided by). ``elsewhere``: uids of the notes that the moment brings."""
        trigger = Moment(context.bundle_trigger)
        now = situation(self._parts, ledger, call, context, harness, trigger, harness.CAP_UNITS)
        is_silent = bool(call.here.everything)
        is_persons = partial(notices.is_a_persons, ledger, context, call.pid, harness.PERSON_ENTRY_POINTS)
        lines = self._board.at_start(snapshot, call.place, is_persons) if not context.agent else None
        # Also where the lines stand: the rules are told again where their words change.
        room = after(now, lines, harness, 0)
        policy = policy_rules.at_start(self._parts, snapshot, call.place, room, is_silent=is_silent)
        blocks = tuple(block for block in (lines, policy) if block is not None and not stands(now, block))
        if is_silent:
            return Owed(Decision(), blocks), Question(now)
        found = candidates.at_start(self._parts, snapshot, ledger, call.place, context)
        found = [one for one in found if one.view.note.uid not in elsewhere]
        if policy in blocks:
            now = after(now, policy, harness, limits.POLICY_LEAVES_TOKENS)
        if lines in blocks:
            least = limits.POLICY_LEAVES_TOKENS if policy in blocks else limits.SETTING_START_MIN_TOKENS
            now = after(now, lines, harness, least)
        return Owed(self.decisions.of(harness.NAME, now, found), blocks), Question(now, found)

    def _beside_files(
        self, snapshot: Snapshot, ledger: LedgerSnapshot, call: Call, context: Context, harness: Harness
    ) -> tuple[Owed, Decision]:
        """A bundle, and the gotchas about the files that are read or edited: the moment brings those, and may hold."""
        found = () if call.there.everything else self._on_files(snapshot, call, context)
        of_own = Question(self.own_situation(ledger, call, context, harness, Owed()), found)
        own = self.decisions.of(harness.NAME, *of_own) if found else Decision()
        owed, of_bundle = self._bundle(snapshot, ledger, call, context, harness, brought(own))
        return sharing(harness, owed, of_bundle, own, of_own)

    def _own(
        self,
        snapshot: Snapshot,
        ledger: LedgerSnapshot,
        call: Call,
        context: Context,
        harness: Harness,
        owed: Owed,
    ) -> Decision:
        """What this very moment brings; a start brings nothing beyond its bundle."""
        if call.there.everything:
            return Decision()
        if call.brought_up is not None:
            now = self.own_situation(ledger, call, context, harness, owed)
            gates = gates_of(call.settings, self._parts.now_ms())
            asked = candidates.on_prompt(self._parts, snapshot, call.place, call.hits, call.brought_up, gates, now)
            return decide(now, asked)
        found = self._on_files(snapshot, call, context) if call.event.moment in FILE_MOMENTS else ()
        if not found:
            return Decision()
        return self.decisions.of(harness.NAME, self.own_situation(ledger, call, context, harness, owed), found)

    def _on_files(self, snapshot: Snapshot, call: Call, context: Context) -> Sequence[Candidate]:
        """The gotchas about the files of a file moment."""
        sessions = (context.session, *context.continues)
        found = candidates.on_paths(
            self._parts, snapshot, call.at, sessions, call.paths, moved=call.moved, glance=call.glance
        )
        outer = brought_around(self._parts, snapshot, call.settings, call.around, sessions)
        return [*found, *outer] if outer else found
