"""A content in stripes: merged by taking marks away, the shortest first."""

import pytest

from memd_daemon.evidence import Reading, Said, Span, bindable, read, striped

MANY = 10


def stripes(content: str, spans: list[tuple[int, int, int]], most: int = MANY) -> list[tuple[str, int]]:
    reading = Reading(spans=tuple(Span(*span) for span in spans))
    return [(stripe.text, stripe.turn) for stripe in striped(content, reading, most)]


@pytest.mark.parametrize(
    ("content", "spans", "most", "found"),
    [
        ("abc", [], MANY, [("abc", 0)]),
        ("", [], MANY, []),
        ("abc", [(0, 3, 7)], 0, [("abc", 7)]),
        ("ab cd", [(0, 2, 7)], MANY, [("ab", 7), (" cd", 0)]),
        ("ab cd", [(0, 2, 7)], 0, [("ab cd", 0)]),
        ("ab cd", [(0, 2, 7), (3, 5, 7)], MANY, [("ab cd", 7)]),
        ("ab\n\n- cd", [(0, 2, 7), (6, 8, 7)], MANY, [("ab\n\n- cd", 7)]),
        ("ab cd", [(0, 2, 7), (3, 5, 8)], MANY, [("ab", 7), (" ", 0), ("cd", 8)]),
        ("ab x cd", [(0, 2, 7), (5, 7, 7)], MANY, [("ab", 7), (" x ", 0), ("cd", 7)]),
        ("ab x cde", [(0, 2, 7), (5, 8, 7)], 1, [("ab x ", 0), ("cde", 7)]),
        ("ab x cd", [(0, 2, 7), (5, 7, 7)], 1, [("ab", 7), (" x cd", 0)]),
        ("ab x cd", [(0, 2, 7), (5, 7, 7)], 0, [("ab x cd", 0)]),
    ],
)
def test_stripes(content: str, spans: list[tuple[int, int, int]], most: int, found: list[tuple[str, int]]) -> None:
    """Neighbours of one turn are one stripe; beyond the bound the shortest mark goes, of equal ones the last."""
    assert stripes(content, spans, most) == found


def test_a_list_of_the_users_is_one_stripe() -> None:
    """Its markers are nobody's words."""
    note = "Never do these:\n- commit to main today\n- push by force\n\nSo the hook refuses it."
    turn = "Never do these:\n- commit to main today\n- push by force"
    found = striped(note, read(note, [Said(7, turn)]), MANY)
    assert [(stripe.text, stripe.turn) for stripe in found] == [(turn, 7), ("\n\nSo the hook refuses it.", 0)]


@pytest.mark.parametrize(
    ("turn", "note", "found"),
    [
        ("Go on. Never commit to main.", "Never commit to main.", ["Never commit to main."]),
        ("Go on. Never commit to main.", 'He said "never commit to main" twice.', ["Never commit to main."]),
        ("Never commit to main.", "Never commit to mainline.", []),
        ("Never commit to main, ever.", "Never commit to main.", []),
        ("Never commit to main?", "Never commit to main.", []),
        ("Go on.", "Go on.", ["Go on."]),
        ("Go on.", "We go on. Fine.", []),
        ("Never do:\n- commit to main", "commit to main", []),
        ("```\nnever commit to main\n```", "never commit to main", []),
        ("メインにコミットしない。", "「メインにコミットしない。」と言った。", ["メインにコミットしない。"]),
    ],
)
def test_what_a_note_is_bound_to(turn: str, note: str, found: list[str]) -> None:
    """Whole statements, wherever in the note they stand word for word."""
    assert [turn[start:end] for _, start, end in bindable(note, [Said(3, turn)])] == found
