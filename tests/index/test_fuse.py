"""Score fusion."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_daemon import limits
from memd_daemon.index.fuse import fuse


def scores(lexical: list[tuple[int, float]], dense: list[tuple[int, float]], weight: float) -> dict[int, float]:
    return {one.key: pytest.approx(one.score) for one in fuse(lexical, dense, 10, weight)}


@pytest.mark.parametrize(
    ("lexical", "dense", "weight", "expected"),
    [
        ([], [], 0.5, {}),
        ([(1, 8.0), (2, 2.0)], [(2, 0.95), (3, 0.55), (1, 0.15)], 0.5, {1: 0.5, 2: 0.625, 3: 0.25}),
        ([(1, 8.0), (2, 2.0)], [(2, 0.95), (3, 0.55), (1, 0.15)], 0.75, {1: 0.75, 2: 0.4375, 3: 0.125}),
        ([(1, 8.0), (2, 2.0)], [], 0.5, {1: 1.0, 2: 0.25}),  # no vectors yet: words on the whole scale
        ([], [(1, 0.5), (2, -0.2)], 0.5, {1: 0.5, 2: 0.0}),
        ([(1, 3.0)], [(1, 0.5)], 0.5, {1: 1.0}),
        ([], [(1, 0.22)], 0.5, {1: 0.1}),  # the best of a short list is not near for being alone
        ([], [(1, 0.15), (2, 0.15)], 0.5, {1: 0.0, 2: 0.0}),
    ],
)
def test_a_score_is_the_weighed_sum_of_both_shares(
    lexical: list[tuple[int, float]], dense: list[tuple[int, float]], weight: float, expected: dict[int, float]
) -> None:
    """The formula of the module's docstring, with empty and one-element lists."""
    assert scores(lexical, dense, weight) == expected


def test_the_range_of_a_full_list_is_its_own() -> None:
    """Of a hundred nearest ones the first counts whole and the last nothing, wherever they lie (model-choice.md, section 3)."""
    dense = [(key, 0.3 - key / 1000) for key in range(limits.FUSION_CANDIDATES)]
    found = {one.key: one.dense for one in fuse([], dense, 500)}
    assert found[0] == pytest.approx(1.0)
    assert found[limits.FUSION_CANDIDATES - 1] == pytest.approx(0.0)
    short = {one.key: one.dense for one in fuse([], dense[:-1], 500)}
    assert short[0] == pytest.approx((0.3 - limits.FUSION_COSINE_LOW) / (0.5 - limits.FUSION_COSINE_LOW))


def test_a_note_whose_vector_is_not_in_is_weighed_by_its_words_alone() -> None:
    """It is not far from the query, it is not measured: one that is, and is far, gets its words' share only."""
    found = {one.key: one.score for one in fuse([(1, 4.0), (2, 4.0)], [(3, 0.17)], 10, 0.5, unmeasured={1})}
    assert found == {1: 1.0, 2: 0.5, 3: pytest.approx(0.5 * 0.02 / 0.35)}


def test_best_first_and_equal_ones_by_smaller_key() -> None:
    """k cuts after the order is made."""
    lexical = [(9, 4.0), (5, 4.0), (7, 2.0)]
    assert [one.key for one in fuse(lexical, [], 2)] == [5, 9]


def test_only_the_first_hundred_of_a_list_count() -> None:
    """The 101st of the words is no candidate; the 100th is."""
    lexical = [(key, 500.0 - key) for key in range(limits.FUSION_CANDIDATES + 1)]
    found = {one.key for one in fuse(lexical, [(1000, 0.5)], 500)}
    assert limits.FUSION_CANDIDATES - 1 in found
    assert limits.FUSION_CANDIDATES not in found


ranked = st.dictionaries(st.integers(0, 30), st.floats(0.01, 50), max_size=20).map(
    lambda found: sorted(found.items(), key=lambda one: -one[1])
)


@given(ranked, ranked, st.floats(0, 1))
def test_scores_lie_between_nothing_and_one(
    lexical: list[tuple[int, float]], dense: list[tuple[int, float]], weight: float
) -> None:
    """For any two lists: every candidate once, sorted, each score in 0…1."""
    found = fuse(lexical, dense, 100, weight)
    assert {one.key for one in found} == {key for key, _ in lexical + dense}
    assert len(found) == len({one.key for one in found})
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert all(-1e-9 <= one.score <= 1 + 1e-9 for one in found)
