"""Whether two texts make one claim, and the cheap looks that come before it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_daemon.service import text
from memd_daemon.service.claim import Claim, is_other, is_same, may_be_other

SENTENCES = st.lists(
    st.sampled_from(
        [
            "cache",
            "lock_workspace()",
            "drops",
            "not",
            "never",
            "5",
            "retries",
            "the",
            "E0499",
            "rows",
            "ﬁle",
            "Straße",
            "²",
        ]
    ),
    max_size=8,
).map(" ".join)


@pytest.mark.parametrize(
    ("one", "other", "same", "differs"),
    [
        ("The cache is shared between workers.", "Note that the cache is shared between workers.", True, False),
        ("The cache is shared between workers.", "The cache is not shared between workers.", False, True),
        ("Uploads are limited to 10 MB.", "Uploads are limited to 25 MB.", False, True),
        ("load_config() reads the environment.", "load_settings() reads the environment.", False, True),
        ("The cache is shared between workers.", "The importer drops its rows.", False, False),
        ("It is what it is.", "They are what they are.", False, False),
    ],
)
def test_a_claim_is_its_words_and_its_sense(one: str, other: str, same: bool, differs: bool) -> None:
    """Most of the words, and every number, identifier and negation."""
    mine, its = Claim.of(one), Claim.of(other)
    assert (is_same(mine, its), is_other(mine, its)) == (same, differs)


@given(SENTENCES | st.text(max_size=40), SENTENCES | st.text(max_size=40))
def test_the_cheap_look_overlooks_nothing(one: str, other: str) -> None:
    """Where it says no, the two are not at odds; and both looks are the same from either side."""
    mine, its = Claim.of(one), Claim.of(other)
    assert may_be_other(mine, text.words_of(other)) or not is_other(mine, its)
    assert is_same(mine, its) == is_same(its, mine)
    assert is_other(mine, its) == is_other(its, mine)
    assert not (is_same(mine, its) and is_other(mine, its))


@given(SENTENCES | st.text(max_size=40))
def test_words_that_are_known_need_not_be_found_again(said: str) -> None:
    """The same claim, whoever found its words."""
    assert Claim.of(said, text.words_of(said)) == Claim.of(said)
