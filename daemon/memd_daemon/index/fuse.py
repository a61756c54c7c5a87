"""Two rankings into one, by score.

    score = w · bm25 / max(bm25) + (1 - w) · (cos - min(cos)) / (max(cos) - min(cos))

over the union of both lists, each cut to FUSION_CANDIDATES; what one list lacks counts 0 there. Measured against
reciprocal ranks it keeps how far apart the candidates are, which ranks throw away. The result orders what passed the
gate; it never opens it, since the best of a bad lot also gets 1.

Two things would make relevance of nothing, or nothing of relevance:

- A cosine list that is not full holds every note there is, and its range is whatever they happen to be: of two that both
  have nothing to do with the query one would get 1. So there the range is the fixed one from FUSION_COSINE_LOW, about what
  any two texts have, to FUSION_COSINE_HIGH, or to the best where that is more.
- A note whose vector is not in yet is not far off, it is not measured: its words speak for both.

Pure.
"""

from collections.abc import Collection, Sequence

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
    unmeasured: Collection[int] = (),
) -> list[Fused]:
    """The best `k` of both lists (each best first), best first; equal scores by smaller key.

    ``unmeasured``: keys of the lexical list that have no vector.
    """
    words = share_of_best(lexical[: limits.FUSION_CANDIDATES])
    meaning = share_of_range(dense[: limits.FUSION_CANDIDATES])
    alone = words.keys() if not meaning else set(unmeasured)  # no vectors yet: the words decide, on the whole scale
    fused = []
    for key in words.keys() | meaning.keys():
        lexical_share, dense_share = words.get(key, 0.0), meaning.get(key, 0.0)
        own = 1.0 if key in alone else weight
        score = own * lexical_share + (1 - own) * dense_share
        fused.append(Fused(key, score, lexical_share, dense_share))
    return sorted(fused, key=lambda one: (-one.score, one.key))[:k]


def share_of_best(ranked: Sequence[tuple[int, float]]) -> dict[int, float]:
    """Each score over the greatest one."""
    best = max((score for _, score in ranked), default=0.0)
    return {key: score / best if best > 0 else 0.0 for key, score in ranked}


def share_of_range(ranked: Sequence[tuple[int, float]]) -> dict[int, float]:
    """Each cosine's place in the range of the list, 0 to 1; a list that is not full has a fixed range at least."""
    scores = [score for _, score in ranked]
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    if len(ranked) < limits.FUSION_CANDIDATES:
        low, high = limits.FUSION_COSINE_LOW, max(high, limits.FUSION_COSINE_HIGH)
    return {key: max(0.0, score - low) / (high - low) if high > low else 1.0 for key, score in ranked}
