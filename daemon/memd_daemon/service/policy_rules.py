"""The standing rules of policy files where they are told: at the start of a context, and where somebody asks.

At a start they come before every note, into a block of their own, and are told once in an epoch unless its words have changed. No
change that nobody signed bears on them. Where a person signed that memd be silent, what that person signed as policy is silent too;
what is out of this user's reach is told all the same. What they leave of the budget to everything else is
`limits.POLICY_LEAVES_TOKENS` at least, and in the smallest budget they have the rest of what directives are sure of. The room
is what memd's own notices leave: what is over the client's cap reaches nobody.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec

from memd_daemon import limits
from memd_daemon.frames import policy as words
from memd_daemon.model.delivery import POLICY_UID, DeliveredNote
from memd_daemon.model.policy import Behind, Directive
from memd_daemon.rules.policy import Room, Rule, packed
from memd_daemon.rules.situation import Situation
from memd_daemon.service.parts import Parts
from memd_daemon.service.policy import File
from memd_daemon.service.repos import Place, is_named
from memd_daemon.store.port import Snapshot


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """The rules as they go out."""

    text: str
    digest: bytes
    tokens: int

    def delivered(self) -> DeliveredNote:
        """The ledger's row."""
        return DeliveredNote(uid=POLICY_UID, id=0, digest=self.digest, tokens=self.tokens)


def at_start(parts: Parts, snapshot: Snapshot, place: Place, now: Situation, *, is_silent: bool) -> Block | None:
    """The block of a context that starts at this place; None where there is none. ``now``: with what the notices leave.

    ``is_silent``: a person signed that memd be silent here.
    """
    rules = [
        _rule(parts, number, file, rule)
        for number, file in enumerate(parts.policies.counting)
        if file.behind == Behind.OWNER or not is_silent
        for rule in file.policy.directives
        if _holds(snapshot, place, rule)
    ]
    text = packed(rules, _room(now))
    if not text:
        return None
    digest = hashlib.sha256(text.encode()).digest()[: limits.RENDERING_DIGEST_BYTES]
    return Block(text=text, digest=digest, tokens=now.cost(text))


def _room(now: Situation) -> Room:
    sure = limits.SETTING_START_MIN_TOKENS - limits.POLICY_LEAVES_TOKENS
    leaves_units = limits.POLICY_LEAVES_TOKENS * limits.BYTES_PER_TOKEN
    return Room(
        cost=now.cost,
        tokens=max(now.budget_tokens - limits.POLICY_LEAVES_TOKENS, sure),
        units=now.units,
        cap_units=now.cap_units - leaves_units,
    )


def _rule(parts: Parts, number: int, file: File, rule: Directive) -> Rule:
    text = words.rule_line(file.name, file.behind, rule, parts.tags)
    return Rule(file=number, name=file.name, number=rule.number, priority=rule.priority, text=text)


def _holds(snapshot: Snapshot, place: Place, rule: Directive) -> bool:
    """Whether the rule holds here; one for a folder holds for a session above it too, which may come to it."""
    if rule.repo and not is_named(snapshot, place, rule.repo):
        return False
    return not rule.under or _within(place.inside, rule.under) or _within(rule.under, place.inside)


def _within(path: str, folder: str) -> bool:
    return not folder or path == folder or path.startswith(folder + "/")


# --- asked for


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The rules that bear on a question, and the block in which an agent gets them; "" for none."""

    rules: list[tuple[str, Directive]] = []  # each with the name of its file
    text: str = ""


def asked(parts: Parts, snapshot: Snapshot, place: Place | None, query: str, vector: Any) -> Asked:
    """The rules that hold at a place (None: anywhere) and bear on a question, by its words or by its meaning.

    ``vector``: the question's full one, None where there is none.
    """
    match = parts.search.matcher(query)
    found = [
        (number, file, rule)
        for number, file, rule in _all(parts)
        if place is None or _holds(snapshot, place, rule)
        if _bears(match(rule.text).idf_share, parts, vector, rule)
    ]
    if not found:
        return Asked()
    ordered = sorted((_rule(parts, *one) for one in found), key=lambda rule: rule.place)
    return Asked(
        rules=[(file.name, rule) for _, file, rule in found], text=words.block([rule.text for rule in ordered])
    )


def _all(parts: Parts) -> Iterator[tuple[int, File, Directive]]:
    for number, file in enumerate(parts.policies.counting):
        for rule in file.policy.directives:
            yield number, file, rule


def _bears(idf_share: float, parts: Parts, vector: Any, rule: Directive) -> bool:
    if idf_share >= limits.GATE_IDF_SHARE:
        return True
    own = parts.policies.vector_of(parts, rule.text) if vector is not None else None
    return own is not None and float(vector @ own) >= limits.GATE_COSINE
