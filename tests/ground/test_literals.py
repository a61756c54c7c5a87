"""Literals compare by value where they can."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_daemon.ground.literals import is_value, literal


@pytest.mark.parametrize(
    ("wanted", "written", "same"),
    [
        ("30", "30", True),
        ("1000", "1_000", True),
        ("1000", "1'000", True),
        ("16", "0x10", True),
        ("5", "0b101", True),
        ("8", "0o10", True),
        ("30", "30u32", True),
        ("30", "30L", True),
        ("30", "30n", True),
        ("-1", "- 1", True),
        ("30", "30_000", False),
        ("30", "30.0", False),
        ("1.5", "1.50", True),
        ("1.5", "1.5f", True),
        ("1e3", "1000.0", True),
        (".5", "0.5", True),
        ("0x1f", "31", True),
        ("30", '"30"', False),
        ("30", "31", False),
        ("-30", "30", False),
        ("007", "7", True),
        ('"a"', "'a'", True),
        ("'a'", '"""a"""', True),
        ("a", '"a"', True),
        ("a b", '"a b"', True),
        ('"a b"', '"a  b"', False),
        ('"a"', 'r"a"', True),
        (r'"a\n"', '"a\n"', True),
        (r'"a\n"', r'r"a\n"', False),
        (r'"it\'s"', '''"it's"''', True),
        ('"a" + "b"', '"a"+"b"', True),
        ('"a" + "b"', '"ab"', False),
        ("", '""', True),
        ("", "''", True),
        ('""', '"x"', False),
        ("true", "true", True),
        ("true", "True", False),
        ("True", '"True"', False),
        ("null", '"null"', False),
        ("None", "None", True),
        ("redis://x:1", '"redis://x:1"', True),
        ("[1, 2]", "[1,2]", True),
        ("[1, 2]", "[1, 3]", False),
        ("f( a )", "f(a)", True),
        ("a b", "ab", False),
        ("Duration::from_secs(30)", "Duration::from_secs( 30 )", True),
        ('r#"a"b"#', "'a\"b'", True),
        ("`a`", '"a"', True),
        ('@"c:\\x"', '"c:\\\\x"', True),
        ('"a=b"', '"a=b"', True),
    ],
)
def test_a_value_is_the_same_however_it_is_spelled(wanted: str, written: str, same: bool) -> None:
    """Of source code, where 30 is not "30"."""
    assert is_value(wanted, written, is_typed=True) is same


@pytest.mark.parametrize(
    ("wanted", "written", "same"),
    [
        ("30", "30", True),
        ("30", '"30"', True),
        ("'a b'", "a b", True),
        ("a", "b", False),
        ("", '""', True),
        ("030", "30", True),
        ("true", "yes", False),
    ],
)
def test_a_value_without_a_type_is_its_text(wanted: str, written: str, same: bool) -> None:
    """In `.env`, INI and the like quotes are no part of it."""
    assert is_value(wanted, written, is_typed=False) is same


@given(st.text(), st.text(), st.booleans())
def test_any_two_texts_compare(wanted: str, written: str, is_typed: bool) -> None:
    """Nothing raises, and what is the same text is the same value."""
    assert isinstance(is_value(wanted, written, is_typed), bool)
    assert is_value(wanted, wanted, is_typed)


@given(st.integers())
def test_whole_numbers_in_every_base_are_one(number: int) -> None:
    """And with the separators of thousands."""
    assert {literal(text) for text in (str(number), f"{number:_}", f"{number:#x}", f"{number:#b}")} == {
        literal(str(number))
    }


@given(st.text(alphabet=st.characters(exclude_characters="\\'\"`\r\n", exclude_categories=["Cs"])))
def test_a_string_is_its_content(content: str) -> None:
    """Whatever it is quoted in."""
    assert {literal(f"{quote}{content}{quote}").value for quote in ("'", '"', '"""', "`")} == {content}
