"""Where a line breaks: at words, never in a command, and nothing is lost by it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_client import wrap

LINES = st.text(alphabet=st.sampled_from("ab`  -.äß漢字\u0301│|"), max_size=80)


@pytest.mark.parametrize(
    ("text", "width", "laid"),
    [
        ("", 10, [""]),
        ("one two three", 0, ["one two three"]),
        ("one two three", 7, ["one two", "three"]),
        ("one two three", 6, ["one", "two", "three"]),
        ("  one two three", 9, ["  one two", "  three"]),
        ("  │ one two three", 11, ["  │ one two", "  │ three"]),
        ("  | one two", 8, ["  | one", "  | two"]),
        ("say `memd start` now", 15, ["say", "`memd start`", "now"]),
        ("say (`memd start`), now", 15, ["say", "(`memd start`),", "now"]),
        ("`a command too long`", 9, ["`a", "command", "too long`"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("漢字漢字", 5, ["漢字", "漢字"]),
        ("a\u0301b\u0301 c", 2, ["a\u0301b\u0301", "c"]),
    ],
)
def test_a_line_breaks_at_words(text: str, width: int, laid: list[str]) -> None:
    """Under where it began; a command between backticks stays whole where it can, and only a word too long is cut."""
    assert wrap.laid(text, width) == laid


@given(LINES, st.integers(1, 30))
def test_nothing_but_spaces_is_lost_and_no_line_is_too_wide(text: str, width: int) -> None:
    """Every character but spaces, in its order; a line may be wider only by one character that is."""
    lines = [text[start:end] for start, end in wrap.lines(text, width)]
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(wrap.columns(line.strip()) <= max(width, 2) for line in lines)
