"""What is told now, and why not the rest: pure rules over candidates (delivery.md).

`decide` first sifts each candidate by itself (`sift.RULES`, in that order), then lets a gotcha hold its edit back (`hold`), then
packs what is left into the budget and the client's cap (`pack`), in the bundle's order (`order`). Every candidate is in the
answer once: chosen, or left out by the name of one rule. `WHY` has the sentence behind each name.

Where a change that nobody signed bears on the moment (`Situation.rest`), what a person endorsed is told as if it had not been made:
the decision is first taken without it, and the endorsed notes of that one, with their corrections, are sure of their place.

Where a bundle and what a moment brings share one answer, `decide` is asked with a `Leeway` (service/bundle.py).
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from memd_daemon.frames.hold import HELD
from memd_daemon.model.delivery import LeftOut
from memd_daemon.rules.detail import detail
from memd_daemon.rules.hold import holds
from memd_daemon.rules.pack import HARNESS_CAP, SAYS, WHOLE, Leeway, corrections_of, pack
from memd_daemon.rules.sift import RULES, Rule, sift
from memd_daemon.rules.situation import (
    Candidate,
    Chosen,
    Decision,
    Gate,
    GateEvidence,
    Situation,
    Terms,
    budget_tokens,
)

__all__ = [
    "HARNESS_CAP",
    "NOT_NEAR",
    "RULES",
    "UNLISTED",
    "WHY",
    "Candidate",
    "Chosen",
    "Decision",
    "Gate",
    "GateEvidence",
    "Leeway",
    "Rule",
    "Situation",
    "Terms",
    "budget_tokens",
    "decide",
    "detail",
    "endorsed_of",
    "sift",
]

ONCE: Final = "once"
AFTER_THE_HOLD: Final = "after-the-hold"
NOT_NEAR: Final = "not-near"
UNLISTED: Final = "unlisted"

WHY: Final[dict[str, str]] = {
    **{rule.name: rule.says for rule in RULES},
    ONCE: "it qualified twice and arrives once",
    AFTER_THE_HOLD: "the edit is held for a more important note; this one comes with the edit's result",
    **SAYS,
    NOT_NEAR: "other notes are nearer to the prompt",
    UNLISTED: "the index by which notes are looked up does not list it: `memd reindex`",
}
"""The name of every rule that can leave a note out, and what it says. The last two are of notes that no lookup brought up, so they
stand in no delivery: `memd why` alone gives them."""


def decide(now: Situation, candidates: Iterable[Candidate], leeway: Leeway = WHOLE) -> Decision:
    """What goes out at this moment. Depends on the set of candidates and on ``now`` and ``leeway`` alone, not on the candidates'
    order."""
    candidates = list(candidates)
    if sure := _sure(now, candidates):
        leeway = leeway._replace(sure=leeway.sure | sure)
    left: list[LeftOut] = []
    pool: dict[bytes, Candidate] = {}
    for one in candidates:
        rule = sift(now, one) or (ONCE if one.view.note.uid in pool else "")
        if rule:
            left.append(_left_out(one, rule))
        else:
            pool[one.view.note.uid] = one
    found = list(pool.values())
    return _held(now, found, left, leeway) or _packed(now, found, left, leeway)


def _sure(now: Situation, candidates: Sequence[Candidate]) -> frozenset[bytes]:
    """Uids of the notes that are told as always, whatever nobody signed.

    Under a silence only endorsed ones are looked at, so that nothing is in their way.
    """
    if now.rest is None or now.rest.silent:
        return frozenset()
    return endorsed_of(decide(msgspec.structs.replace(now, rest=None), candidates))


def endorsed_of(decision: Decision) -> frozenset[bytes]:
    """Uids of the notes told that a person endorsed, with their corrections."""
    told = [chosen.candidate for chosen in decision.chosen]
    endorsed = [one for one in told if one.endorsed]
    return frozenset(one.view.note.uid for one in (*endorsed, *corrections_of(endorsed, told)))


def _left_out(one: Candidate, rule: str) -> LeftOut:
    return LeftOut(uid=one.view.note.uid, id=one.view.id, rule=rule)


def _packed(
    now: Situation, pool: Sequence[Candidate], left: Sequence[LeftOut], leeway: Leeway, suffix: str = ""
) -> Decision:
    if not pool:
        return Decision(left_out=tuple(left))
    text, tokens, packed = pack(now, pool, suffix, leeway)
    fell = [_left_out(one, packed.left[one.view.id]) for one in pool if one.view.id in packed.left]
    return Decision(text=text, tokens=tokens, chosen=packed.chosen(), left_out=(*left, *fell))


def _held(now: Situation, pool: Sequence[Candidate], left: Sequence[LeftOut], leeway: Leeway) -> Decision | None:
    """The answer that holds the edit back, with every note that is worth it and fits; None where there is none."""
    worth = {one.view.note.uid: one for one in pool if holds(now, one)}
    rest = [_left_out(one, AFTER_THE_HOLD) for one in pool if one.view.note.uid not in worth]
    decision = _packed(now, list(worth.values()), [*left, *rest], leeway, HELD)
    if not decision.chosen:
        return None
    return msgspec.structs.replace(decision, hold=decision.chosen[0].candidate)
