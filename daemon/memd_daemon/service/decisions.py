"""Decisions that were taken before: starts of a repository are told the very same, edits of a file find the same notes standing.

A decision depends on the candidates, what stands of them, and the moment. All of that is the key: what `rules.decide` comes to look
at has to stand in it. Candidates are immutable and known by being the same objects (known.py); those that a key speaks of are kept
with it, so that no other object can pass for one of them.
"""

from collections.abc import Sequence

from memd_daemon import limits
from memd_daemon.rules import Candidate, Decision, Situation, decide


class Decisions:
    """What `decide` says, kept. Under the delivery lock, as every decision."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], tuple[Sequence[Candidate], Decision]] = {}

    def of(self, harness: str, now: Situation, found: Sequence[Candidate]) -> Decision:
        """The decision about these notes. ``harness``: the name of the client, whose units and tags ``now`` has."""
        uids = [one.view.note.uid for one in found]
        key = (harness, _moment(now, found, uids), tuple(map(id, found)), tuple(map(now.standing.get, uids)))
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= limits.DECISIONS_KNOWN_MAX:
                self._known.clear()
            known = self._known[key] = (tuple(found), decide(now, found))
        return known[1]


def _moment(now: Situation, found: Sequence[Candidate], here: Sequence[bytes]) -> tuple[object, ...]:
    """What the rules look at beside the notes; of notes that are not here nothing."""
    has_own_notes = any(one.view.note.scope.startswith("session:") for one in found)
    return (
        now.trigger,
        now.repo,
        now.around,
        (now.session, now.continues) if has_own_notes else "",
        now.paths,
        now.directory,
        now.with_person,
        now.permission_mode,
        now.held_this_turn,
        now.held_for.intersection(here),
        now.sent_this_turn.intersection(here),
        now.edited_here,
        now.budget_tokens,
        now.gate,
        now.hold_enabled,
        now.rest,
        now.cap_units,
    )
