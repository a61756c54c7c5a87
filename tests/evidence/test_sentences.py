"""Where sentences begin and end, and which are statements."""

import pytest

from memd_daemon import limits
from memd_daemon.evidence import sentences, statements


def texts(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One here. Two there.", ["One here.", "Two there."]),
        ("One here! Two there", ["One here!", "Two there"]),
        ("One here.\nTwo there.", ["One here.", "Two there."]),
        ("One here\nTwo there", ["One here\nTwo there"]),
        ("One here\n\nTwo there", ["One here", "Two there"]),
        ("One here\n \t\nTwo there", ["One here", "Two there"]),
        ("One here\r\n\r\nTwo there", ["One here", "Two there"]),
        ("One here\n- Two there\n- Three", ["One here", "Two there", "Three"]),
        ("1. One\n2) Two\n(3) Three\na) Four\n• Five", ["One", "Two", "Three", "Four", "Five"]),
        ("One here. two there.", ["One here. two there."]),
        ("One here. 5 things there.", ["One here. 5 things there."]),
        ("One here. 5 Things there.", ["One here.", "5 Things there."]),
        ("One 3.5 here. Two", ["One 3.5 here.", "Two"]),
        ("Use v1.2.3. Then go.", ["Use v1.2.3.", "Then go."]),
        ("Use port 8080. Then go.", ["Use port 8080.", "Then go."]),
        ("Edit foo.py. Then go.", ["Edit foo.py.", "Then go."]),
        ("Run it in CI. Then go.", ["Run it in CI.", "Then go."]),
        ("No. Never do that.", ["No.", "Never do that."]),
        ("Done (really). Then go.", ["Done (really).", "Then go."]),
        ("Use `foo`. Then go.", ["Use `foo`.", "Then go."]),
        ('Say "foo". Then go.', ['Say "foo".', "Then go."]),
        ("Don't. The users' files stay. Go.", ["Don't.", "The users' files stay.", "Go."]),
        ("Use 5\" screens. Then go.", ["Use 5\" screens.", "Then go."]),
        ("一つ。二つ！三つ？四つ", ["一つ。", "二つ！", "三つ？", "四つ"]),
        ("एक। दो।", ["एक।", "दो।"]),
        ("واحد؟ اثنان.", ["واحد؟", "اثنان."]),
        ("¿Uno? ¡Dos! Tres.", ["¿Uno?", "¡Dos!", "Tres."]),
        ("First.\n\n```\ncode. Here.\n```\n\nLast.", ["First.", "Last."]),
        ("First.\n\n> quoted. Here.\n\nLast.", ["First.", "Last."]),
        ("First.\n---\nLast.", ["First.", "Last."]),
        ("# Title\nText here.", ["Title", "Text here."]),
        ("", []),
        (" \n\n ", []),
    ],
)  # fmt: skip
def test_where_sentences_end(text: str, found: list[str]) -> None:
    """UAX #29 but for single newlines, and no end where it is not sure; an empty line and a marker end one."""
    assert texts(text) == found


@pytest.mark.parametrize(
    ("turn", "found"),
    [
        ("Never commit to main. Why? Use a branch.", [("Never commit to main.", []), ("Use a branch.", [])]),
        ("Never do:\n- one thing\n- two things", [("one thing", ["Never do:"]), ("two things", ["Never do:"])]),
        ("Never do:\n- one\n  - deeper", [("one", ["Never do:"]), ("deeper", ["one"])]),
        ("Bob: it is so. Go on.", [("Bob: it is so.", []), ("Go on.", ["Bob: it is so."])]),
        ("# Rules\n\nGo on.", [("Go on.", ["Rules"])]),
        ('"All quoted."', []),
        ("> All quoted.", []),
        ("Is it?", []),
    ],
)
def test_statements_name_what_they_count_with(turn: str, found: list[tuple[str, list[str]]]) -> None:
    """An item its introduction, a paragraph its heading; introductions, questions and quotations are none."""
    assert [
        (turn[each.start : each.end], [turn[start:end] for start, end in each.leads]) for each in statements(turn)
    ] == found


@pytest.mark.parametrize(("more", "count"), [(0, 1), (1, 0)])
def test_a_paragraph_is_a_paste_beyond_a_length(more: int, count: int) -> None:
    """In characters and in lines: the longest that counts, and the shortest that does not."""
    assert len(statements("a" * (limits.EVIDENCE_PASTED_CHARS + more))) == count
    assert len(statements("\n".join(["Say this word"] * (limits.EVIDENCE_PASTED_LINES + more)))) == count


@pytest.mark.parametrize(("more", "is_any"), [(0, True), (1, False)])
def test_a_text_is_a_paste_beyond_a_length(more: int, is_any: bool) -> None:
    """All its prose together: the longest that counts, and the shortest that does not."""
    size = limits.EVIDENCE_PASTED_CHARS
    whole, rest = divmod(limits.EVIDENCE_TYPED_MAX_CHARS + more, size)
    turn = "\n\n".join(["a" * size] * whole + ["b" * rest])
    assert bool(statements(turn)) is is_any
