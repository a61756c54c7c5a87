"""The folding is NFKC, case, white space, quotation marks and dashes; its offsets lead back."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_daemon.evidence import find_excerpt, folded

TEXTS = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from(list(" \n\tAaßﬁİé\u0301\u0338\u1100\u1161\u11a8가ㄱㅏｶﾞ\u09c7\u09be“”‘’«»–—Ω²½…\u3000Ａ")),
    ),
    max_size=40,
)


@pytest.mark.parametrize(
    ("text", "flat"),
    [
        ("Never COMMIT", "never commit"),
        ("a  b\n\tc", "a b c"),
        ("a\u00a0b\u3000c", "a b c"),
        ("“a” ‘b’ „c“ «d» ‹e›", '"a" \'b\' "c" "d" \'e\''),
        ("a–b—c‐d−e", "a-b-c-d-e"),
        ("ﬁx ＡＢ １", "fix ab 1"),
        ("Straße", "strasse"),
        ("cafe\u0301", "café"),
        ("\u1112\u1161\u11ab", "한"),
        ("ㄱㅏ", "가"),
        ("ｶﾞ", "ガ"),
        ("\u09c7\u09be", "\u09cb"),
        ("10² ½", "10² ½"),
        ("wait…", "wait..."),
        ("Σας", "σασ"),
        ("", ""),
    ],
)
def test_what_is_folded(text: str, flat: str) -> None:
    """Compositions over several characters are made, exponents and fractions stay."""
    assert folded(text).text == flat


@given(TEXTS)
def test_offsets_lead_back(text: str) -> None:
    """Each folded character comes from a stretch of the text, in order, and together they are all of it."""
    fold = folded(text)
    assert len(fold.text) == len(fold.starts) == len(fold.ends)
    assert all(start < end for start, end in zip(fold.starts, fold.ends, strict=True))
    assert sorted(fold.starts) == list(fold.starts)
    assert sorted(fold.ends) == list(fold.ends)
    if text:
        assert (fold.starts[0], fold.ends[-1]) == (0, len(text))


@given(TEXTS)
def test_folding_is_nfkc_of_the_whole(text: str) -> None:
    """A text and its canonical equivalents fold alike, and a folded text is its own fold."""
    once = folded(text).text
    assert folded(unicodedata.normalize("NFD", text)).text == once
    assert folded(unicodedata.normalize("NFC", text)).text == once
    assert folded(once).text == once


@pytest.mark.parametrize(
    ("turn", "excerpt", "found"),
    [
        ("Please never commit.", "NEVER  commit", "never commit"),
        ("Say “never” — now", 'say "never" - NOW', "Say “never” — now"),
        ("cafe\u0301 au lait", "CAFÉ", "cafe\u0301"),
        ("die Straße hier", "STRASSE", "Straße"),
        ("a\n\n b", "a b", "a\n\n b"),
        ("한글 테스트", unicodedata.normalize("NFD", "한글"), "한글"),
        ("never commit", "  commit ", "commit"),
        ("never commit", "committed", None),
        ("never commit", " \n", None),
        ("", "x", None),
    ],
)
def test_an_excerpt_is_found_where_it_stands(turn: str, excerpt: str, found: str | None) -> None:
    """The offsets are those of the stored text."""
    span = find_excerpt(turn, excerpt)
    assert (turn[span[0] : span[1]] if span else None) == found


@given(TEXTS, TEXTS, TEXTS)
def test_an_excerpt_of_a_turn_is_in_it(before: str, excerpt: str, after: str) -> None:
    """Between words, whatever the spelling."""
    turn = f"{before} {excerpt} {after}"
    assert find_excerpt(turn, excerpt) is not None or not folded(excerpt).text.strip()
