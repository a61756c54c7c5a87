"""Runs of words: what is sure to be found in another text, and what makes no difference to it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_daemon import limits
from memd_daemon.index import shingles

WORDS = st.lists(st.sampled_from([f"w{n}" for n in range(400)]), max_size=60)


def kept(text: str) -> set[int]:
    return shingles.kept_of(shingles.hashes_of(shingles.units_of(text).words))


def covered(note: str, document: str) -> shingles.Cover:
    units = shingles.units_of(note)
    has = kept(document)
    matched = [at for at, one in enumerate(shingles.hashes_of(units.words)) if one in has]
    return shingles.cover(shingles.stretches(matched), units.weights)


@given(WORDS, WORDS, WORDS, WORDS, st.data())
def test_a_run_that_is_long_enough_is_always_found(
    before: list[str], after: list[str], above: list[str], below: list[str], data: st.DataObject
) -> None:
    """Whatever stands around it here and there: so many words in a row give the stretch that is asked for."""
    stretch = data.draw(st.sampled_from([limits.COPIED_WORDS, limits.COPIED_RULE_WORDS, limits.COPIED_SHORT_WORDS]))
    size = shingles.sure_words(stretch)
    run = data.draw(st.lists(st.text("abcdefg", min_size=1, max_size=4), min_size=size, max_size=size + 20))
    note, document = " ".join([*above, *run, *below]), " ".join([*before, *run, *after])
    assert covered(note, document).longest >= stretch


@given(WORDS, WORDS, st.data())
def test_a_few_words_in_a_row_leave_at_least_one_hash(before: list[str], after: list[str], data: st.DataObject) -> None:
    """`SHINGLE_UNITS + SHINGLE_WINDOW - 1` of them."""
    size = limits.SHINGLE_UNITS + limits.SHINGLE_WINDOW - 1
    run = data.draw(st.lists(st.text("abcdefg", min_size=1, max_size=4), min_size=size, max_size=size))
    assert covered(" ".join(run), " ".join([*before, *run, *after])).longest >= limits.SHINGLE_UNITS


@given(st.lists(st.sampled_from([f"w{n}" for n in range(50)]), min_size=10, max_size=60), st.data())
def test_writing_it_otherwise_makes_no_difference(words: list[str], data: st.DataObject) -> None:
    """Case, punctuation, line breaks, quotes and markup between words."""
    marks = st.sampled_from(
        [" ", ", ", "\n", "\r\n  ", " — ", "; ", ' "', "** ", "\n> ", "\n# ", "\u200b ", " _", "_ "]
    )
    other = "".join(data.draw(st.sampled_from([w, w.upper(), w.title()])) + data.draw(marks) for w in words)
    assert shingles.units_of(other).words == words


@given(WORDS)
def test_a_text_has_its_own_hashes_and_an_other_none(words: list[str]) -> None:
    """What is kept is a part of what is looked up; words that the other text has not in a row match nothing."""
    assert kept(" ".join(words)) <= set(shingles.hashes_of(words))
    assert covered(" ".join(words), " ".join(f"other{n}" for n in range(100))).longest == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("Don't", ["don", "t"]),
        ("snake_case __init__ _so_", ["snake_case", "init", "so"]),
        ("ﬁne Ｗｉｄｅ STRASSE straße", ["fine", "wide", "strasse", "strasse"]),
        ("ex\u00adam\u200bple", ["example"]),
        ("用Python写", ["用", "python", "写"]),
        ("서울 시", ["서", "울", "시"]),
        ("e\u0301te\u0301", ["\u00e9t\u00e9"]),
        ("half \ud83d pair", ["half", "pair"]),
    ],
)
def test_units(text: str, words: list[str]) -> None:
    """A word is one, a character of a script without spaces is one."""
    assert shingles.units_of(text).words == words


def test_a_character_counts_half_a_word() -> None:
    """So that a copy is as long in Chinese as in English."""
    line = "数据库连接池在关闭之前必须等待所有未完成的事务提交否则会丢失数据"
    found = covered(line, f"前言。{line}。")
    assert found.longest >= (len(line) - 2 * (limits.SHINGLE_WINDOW - 1)) / 2
    assert found.longest <= len(line) / 2
    assert found.share > 0.9


def test_what_two_texts_have_by_chance_is_no_stretch() -> None:
    """Two phrases apart from each other are two, however near they stand."""
    first, second = "at the end of the", "is one of the most"
    found = covered(f"{first} day it {second} common", f"x y {first} z. And {second} q r")
    assert found.longest == limits.SHINGLE_UNITS


@given(st.sets(st.integers(0, (1 << 64) - 1), max_size=20))
def test_what_is_stored_comes_back(hashes: set[int]) -> None:
    """Eight bytes each."""
    raw = shingles.packed(hashes)
    assert set(shingles.unpacked(raw)) == hashes
    assert len(raw) == 8 * len(hashes)


@pytest.mark.parametrize(
    ("matched", "found"),
    [
        ([], []),
        ([3], [(3, 8)]),
        ([3, 4], [(3, 9)]),
        ([3, 5], [(3, 10)]),
        ([3, 6], [(3, 8), (6, 11)]),
        ([0, 9], [(0, 5), (9, 14)]),
    ],
)
def test_neighbours_make_a_stretch(matched: list[int], found: list[tuple[int, int]]) -> None:
    """As far apart as a window, and no further."""
    assert [tuple(one) for one in shingles.stretches(matched)] == found


def test_units_that_two_stretches_share_count_once() -> None:
    """A share is never more than the whole."""
    found = shingles.stretches([0, 3])
    assert shingles.cover(found, [1.0] * 8) == (5.0, 1.0)
