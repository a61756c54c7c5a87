"""Two rankings into one, by score.

    score = w · bm25 / max(bm25) + (1 - w) · (cos - min(cos)) / (max(cos) - min(cos))

over the union of both lists, each cut to FUSION_CANDIDATES; what one list lacks counts 0 there. Measured against
reciprocal ranks it keeps how far apart the candidates are, which ranks throw away. The result orders what passed the
gate; it never opens it, since the best of a bad lot also gets 1. Pure.
"""

from collections.abc import Sequence

import msgspec

from memd_daemon import limits


class Fused(msgspec.Struct, frozen=True):
    """One candidate: its score in 0…1 and the two shares it is made of (before the weight)."""

    key: int
    score: float
    lexical: float
    dense: float


def fuse(
    lexical: Sequence[tuple[int, float]],
    dense: Sequence[tuple[int, float]],
    k: int,
    weight: float = limits.FUSION_LEXICAL_WEIGHT,
) -> list[Fused]:
    """The best `k` of both lists (each best first), best first; equal scores by smaller key."""
    words = share_of_best(lexical[: limits.FUSION_CANDIDATES])
    meaning = share_of_range(dense[: limits.FUSION_CANDIDATES])
    if not meaning:
        weight = 1.0  # no vectors yet: the words alone decide, on the whole scale
    fused = [
        Fused(
            key,
            weight * words.get(key, 0.0) + (1 - weight) * meaning.get(key, 0.0),
            words.get(key, 0.0),
            meaning.get(key, 0.0),
        )
        for key in words.keys() | meaning.keys()
    ]
    return sorted(fused, key=lambda one: (-one.score, one.key))[:k]


def share_of_best(ranked: Sequence[tuple[int, float]]) -> dict[int, float]:
    """Each score over the greatest one."""
    best = max((score for _, score in ranked), default=0.0)
    return {key: score / best if best > 0 else 0.0 for key, score in ranked}


def share_of_range(ranked: Sequence[tuple[int, float]]) -> dict[int, float]:
    """Each score's place between the least and the greatest one; all 1 where there is no difference."""
    scores = [score for _, score in ranked]
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return {key: (score - low) / (high - low) if high > low else 1.0 for key, score in ranked}
