"""Moments and candidates for tests of the rules, with a cost like the real one: word pieces, never under a quarter of the bytes."""

import re
from typing import Any

from memd_daemon.rules import Candidate, GateEvidence, Situation, budget_tokens
from memd_hooks.events import Moment
from tests.frames.make import REPO, TAGS, make_view

PIECES = re.compile(r"[^\W_]{1,6}|[^\w\s]|_")
THROUGH = GateEvidence(cosine=1.0, weight=100.0)


def cost(text: str) -> int:
    return max(len(PIECES.findall(text)), -(-len(text.encode("utf-8", "surrogatepass")) // 4))


def utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def make_now(trigger: Moment = Moment.SESSION_START, **changes: Any) -> Situation:
    """A plain moment of a person's session in REPO."""
    fields: dict[str, Any] = {
        "trigger": trigger,
        "session": "s1",
        "repo": REPO,
        "paths": ("a.py",),
        "tags": TAGS,
        "cost": cost,
        "budget_tokens": budget_tokens(trigger),
        "units": utf16_units,
        "cap_units": 9_500,
    }
    return Situation(**{**fields, **changes})


def make_one(id_: int = 47, *, score: float = 0.5, gate: GateEvidence | None = THROUGH, **changes: Any) -> Candidate:
    """A candidate; a gotcha is anchored to a.py and brought by it unless told otherwise."""
    if changes.get("kind") == "gotcha" and not {"matched_path", "ground"} & set(changes):
        changes = {"stands": "a.py", "matched_path": "a.py", **changes}
    return Candidate(view=make_view(id_, **changes), score=score, gate=gate)
