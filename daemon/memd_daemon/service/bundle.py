"""The bundle that a context is owed: what stands in it beside notes, what it leaves of a budget, and what becomes of it."""

from typing import Final, NamedTuple

import msgspec

from memd_daemon.model.delivery import Context
from memd_daemon.rules import Decision, Situation
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
    def goes(self) -> bool:
        """Whether anything of it goes out."""
        return bool(self.text)


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
