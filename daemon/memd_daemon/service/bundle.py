"""The bundle that a context is owed: what stands in it beside notes, what it leaves of a budget, and what becomes of it.

**What it gives way to.** An edit and a read do not come back, and what they bring is about what is done right then. So where the
bundle and their gotchas, each as it is alone, are more than the client takes in one answer, the bundle keeps what no agent may
crowd out: its blocks, the notes that a person endorsed, and their corrections. Beside that the gotchas are decided, and then all
else of the bundle goes in as far as there is room. Lines below the notes take no note's room, on either side. What does not fit is
named: a gotcha by a block of its own and, where not even that has room, by the bundle's last line.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from memd_daemon.model.delivery import Context
from memd_daemon.rules import HARNESS_CAP, RULES, Candidate, Decision, Leeway, Situation, decide, endorsed_of
from memd_daemon.service import notices, policy_rules
from memd_daemon.service.contexts import DELIVERED, OFFERED, PART_DELIVERED, PART_OFFERED, is_due
from memd_daemon.service.terms import Silence
from memd_hooks.events import Harness

BLOCK_BREAK: Final = "\n"
"""Between the bundle a context was owed and the block of the moment itself."""

Block = notices.Notices | policy_rules.Block
"""What stands before the notes of a start's bundle and is no note."""


class Owed(NamedTuple):
    """The bundle that a context was owed: memd's own lines, the rules of policy files, then the notes."""

    told: Decision = Decision()
    blocks: tuple[Block, ...] = ()

    @property
    def text(self) -> str:
        return BLOCK_BREAK.join(filter(None, (*(block.text for block in self.blocks), self.told.text)))

    @property
    def tokens(self) -> int:
        return self.told.tokens + sum(block.tokens for block in self.blocks)

    @property
    def over(self) -> tuple[bytes, ...]:
        """What is over and memd's own lines tell a person of."""
        return tuple(one for block in self.blocks if isinstance(block, notices.Notices) for one in block.over)

    @property
    def goes(self) -> bool:
        """Whether anything of it goes out."""
        return bool(self.text)

    def with_told(self, told: Decision) -> "Owed":
        return self._replace(told=told)


class Question(NamedTuple):
    """What the rules are asked."""

    now: Situation
    found: Sequence[Candidate] = ()

    def within(self, cap_units: int, leeway: Leeway) -> Decision:
        return decide(msgspec.structs.replace(self.now, cap_units=cap_units), self.found, leeway)


_JUDGED_ALONE: Final = frozenset(rule.name for rule in RULES)


def brought(own: Decision) -> frozenset[bytes]:
    """Uids of the notes that the moment itself brings, whether they fit or not."""
    left = (one.uid for one in own.left_out if one.rule not in _JUDGED_ALONE)
    return frozenset((*_told(own), *left))


def _told(decision: Decision) -> list[bytes]:
    return [chosen.candidate.view.note.uid for chosen in decision.chosen]


def sharing(
    harness: Harness, owed: Owed, of_bundle: Question, own: Decision, of_own: Question
) -> tuple[Owed, Decision]:
    """The bundle and what the moment itself brings, as they go out in one answer.

    ``owed``, ``own``: each as it is alone, by ``of_bundle`` and ``of_own``, which have no note in common.
    """

    def beside(bundle: Owed) -> int:
        return of_own.now.cap_units - (harness.cost_units(bundle.text + BLOCK_BREAK) if bundle.text else 0)

    is_within = harness.cost_units(own.text) <= beside(owed)
    if is_within if own.text else all(one.rule != HARNESS_CAP for one in own.left_out):
        return owed, own
    kept = endorsed_of(owed.told)
    only_kept = Leeway(sure=kept, only_sure=True, bare=True)
    least = of_bundle.within(of_bundle.now.cap_units, only_kept)
    if not kept.issubset(_told(least)):  # what is kept leaves no room to name the rest
        return owed, of_own.within(beside(owed), Leeway(names=True))
    bare = of_own.within(beside(owed.with_told(least)), Leeway(bare=True, names=True))
    room = of_bundle.now.cap_units - (harness.cost_units(BLOCK_BREAK + bare.text) if bare.text else 0)
    also = () if bare.text else tuple(one.id for one in bare.left_out if one.rule not in _JUDGED_ALONE)
    ways = (Leeway(sure=kept, also=also), only_kept._replace(also=also), Leeway(sure=kept))
    fuller = (of_bundle.within(room, way) for way in ways)
    bundle = owed.with_told(next((told for told in fuller if kept.issubset(_told(told))), least))
    full = of_own.within(beside(bundle), Leeway(names=True))
    return bundle, full if _tells_the_same(full, bare) else bare


def _tells_the_same(one: Decision, other: Decision) -> bool:
    return _told(one) == _told(other) and (one.hold is None) == (other.hold is None)


def stands(now: Situation, block: Block) -> bool:
    row = block.delivered()
    return now.standing.get(row.uid) == row.digest


def after(now: Situation, block: Block | None, harness: Harness, least: int) -> Situation:
    """The moment with what a block leaves of budget and cap; ``least`` tokens stay in any case, as far as there were any."""
    if block is None:
        return now
    cost = block.tokens + 1

    def left(budget: int) -> int:
        return max(budget - cost, min(budget, least))

    return msgspec.structs.replace(
        now,
        budget_tokens=left(now.budget_tokens),
        rest=now.rest and msgspec.structs.replace(now.rest, budget_tokens=left(now.rest.budget_tokens)),
        cap_units=now.cap_units - harness.cost_units(block.text + BLOCK_BREAK),
    )


def bundle_after(context: Context, owed: Owed, here: Silence, now_ms: int) -> Context:
    """The context with what becomes of its bundle: offered, or settled where there was nothing to tell; of one that a silence keeps
    back in part, that part. One that waits for a receipt, or of which a silence keeps back all, stays as it was."""
    if here.everything or not is_due(context, here, now_ms):
        return context
    if owed.goes:
        return msgspec.structs.replace(context, bundle=PART_OFFERED if here.rest else OFFERED, bundle_at=now_ms)
    return msgspec.structs.replace(context, bundle=PART_DELIVERED if here.rest else DELIVERED)
