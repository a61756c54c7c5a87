"""Decisions that were taken before: starts of a repository are told the very same, edits of a file find the same notes standing.

A decision depends on the candidates, what stands of them, and the moment. All of that is the key: what `rules.decide` comes to look
at has to stand in it. Candidates are immutable and known by being the same objects (known.py); those that a key speaks of are kept
with it, so that no other object can pass for one of them. Where all of them are one tuple that was asked about before, and what
stands is the very mapping of then, it is not gone through again: a file may have hundreds.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from memd_daemon import limits
from memd_daemon.ground.contents import bounded
from memd_daemon.model.settings import IGNORED_RULE, PAUSED_RULE
from memd_daemon.rules import Candidate, Decision, Situation, decide

NO_NEWS: Final = frozenset({"standing", "sent-this-turn", PAUSED_RULE, IGNORED_RULE})
"""Rules whose silence the ledger does not keep: the context was told it, and `status` tells of a pause, and `memd config log`."""


class _Of:
    """Candidates, with what a key says of them."""

    __slots__ = ("found", "has_own", "here", "uids")

    def __init__(self, found: Sequence[Candidate]) -> None:
        self.found = tuple(found)  # of a tuple itself
        self.uids = tuple(one.view.note.uid for one in found)
        self.here = frozenset(self.uids)
        self.has_own = any(one.view.note.scope.startswith("session:") for one in found)


class _Last:
    """The decision about one tuple of candidates that was taken last. ``standing`` is known by being the same object."""

    __slots__ = ("decision", "moment", "of", "standing")

    def __init__(
        self, of: _Of, standing: Mapping[bytes, bytes], moment: tuple[object, ...], decision: Decision
    ) -> None:
        self.of, self.standing, self.moment, self.decision = of, standing, moment, decision


class Decisions:
    """What `decide` says, kept. Under the delivery lock, as every decision."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], tuple[Sequence[Candidate], Decision]] = {}
        self._last: dict[tuple[str, int], _Last] = {}
        self._news: dict[int, tuple[Decision, bool]] = {}

    def of(self, harness: str, now: Situation, found: Sequence[Candidate]) -> Decision:
        """The decision about these notes. ``harness``: the name of the client, whose units and tags ``now`` has."""
        last = self._last.get((harness, id(found)))
        if last is not None and last.of.found is found:
            moment = _moment(now, last.of)
            if last.standing is now.standing and last.moment == moment:
                return last.decision
            of = last.of
        else:
            of = _Of(found)
            moment = _moment(now, of)
        decision = self._looked_up(harness, now, of, moment)
        if of.found is found:  # a tuple: it stays as it is, and nothing else takes its place while it is kept
            last = _Last(of, now.standing, moment, decision)
            bounded(self._last, limits.DECISIONS_KNOWN_MAX)[harness, id(found)] = last
        return decision

    def is_news(self, decision: Decision) -> bool:
        """Whether there is anything in it that the ledger keeps: a file's fifty notes that stand are gone through once."""
        known = self._news.get(id(decision))
        if known is None or known[0] is not decision:
            is_news = bool(decision.chosen) or any(left.rule not in NO_NEWS for left in decision.left_out)
            known = bounded(self._news, limits.DECISIONS_KNOWN_MAX)[id(decision)] = (decision, is_news)
        return known[1]

    def _looked_up(self, harness: str, now: Situation, of: _Of, moment: tuple[object, ...]) -> Decision:
        key = (harness, moment, tuple(map(id, of.found)), tuple(map(now.standing.get, of.uids)))
        known = self._known.get(key)
        if known is None:
            known = bounded(self._known, limits.DECISIONS_KNOWN_MAX)[key] = (of.found, decide(now, of.found))
        return known[1]


def _moment(now: Situation, of: _Of) -> tuple[object, ...]:
    """What the rules look at beside the notes; of notes that are not here nothing."""
    return (
        now.trigger,
        now.repo,
        now.around,
        (now.session, now.continues) if of.has_own else "",
        now.paths,
        now.directory,
        now.with_person,
        now.permission_mode,
        now.held_this_turn,
        now.held_for and now.held_for & of.here,
        now.sent_this_turn and now.sent_this_turn & of.here,
        now.edited_here,
        now.budget_tokens,
        now.gate,
        now.hold_enabled,
        now.rest,
        now.cap_units,
    )
