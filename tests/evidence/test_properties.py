"""What holds for any text: spans are whole sentences at sentences' beginnings, stripes never mark more, nothing raises."""

import re
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from memd_daemon.evidence import Said, bindable, folded, read, sentences, statements, striped

PIECES = [
    *("never commit to main", "Always use a branch. ", "Say why it was so.", "テストを必ず先に書いて。", "hier nie pushen"),
    *("never", "commit", "to", "main", "Always", "Use", "uv", "Dr", "e.g", "No", "except", "user", "User"),
    *("メイン", "ない", "पर", "ли", "é", "e\u0301", "\u0338", "ﬁ", "ß", "\u3000", "²", "가", "\u1100\u1161", "[redacted:x]"),
    *(" ", " ", " ", " ", "\n", "\n\n", "\r\n", "\t", ". ", ".", "! ", "? ", "。", "।", "…", ", ", ": ", ":\n\n", ":\n"),
    *('"', "'", "“", "”", "„", "«", "»", "「", "」", "`", "```\n", "~~", "(", ")", "[", "]", "<a>", "</a>", "> ", "# ", "| "),
    *("\n- ", "\n1. ", "\n  - ", "\n    ", "— ", "-"),
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
FINAL = ".!。।… \n"
SPOKEN = [Said(1, "Never commit to main. Always use uv.\n\nNever do these:\n- push by force\n- use sleeps in tests")]


@st.composite
def turns_and_notes(draw: st.DrawFn) -> tuple[str, str]:
    """A turn, and a note made of pieces of it and of others."""
    turn = draw(TEXTS)
    bounds = sentences(turn)
    parts: list[str] = []
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(("whole", "whole", "part", "other")))
        if kind == "whole" and bounds:
            start, end = draw(st.sampled_from(bounds))
            parts.append(turn[start:end])
        elif kind == "part" and turn:
            start = draw(st.integers(0, len(turn)))
            parts.append(turn[start : draw(st.integers(start, len(turn)))])
        else:
            parts.append(draw(TEXTS))
        parts.append(draw(st.sampled_from((" ", "\n\n", ". ", "", "\n- ", ": ", "User: "))))
    return turn, "".join(parts)


def said_alike(text: str) -> str:
    return folded(text).text.strip().rstrip(FINAL)


@settings(max_examples=300)
@given(turns_and_notes())
def test_a_span_is_a_whole_sentence_at_a_beginning(case: tuple[str, str]) -> None:
    """Its words are those of one sentence of the turn; before it stand an end, an empty line, a marker or `User:`."""
    turn, note = case
    whole = {said_alike(turn[start:end]) for start, end in sentences(turn)}
    spans = read(note, [Said(1, turn)]).spans
    for span in spans:
        assert said_alike(note[span.start : span.end]) in whole
        before = note[: span.start]
        assert not before.strip() or re.search(
            r"(?i:[.!?。।…:]\W*|\n\s*\n\s*|(?:^|\n)\s*(\S{1,3})\s+|user ?:\s*|#+\s+)$", before
        ), before
    assert all(one.end <= other.start for one, other in pairwise(spans))


@given(turns_and_notes())
def test_what_marks_is_bindable(case: tuple[str, str]) -> None:
    """A turn that a span names is one that the note can be bound to."""
    turn, note = case
    reading = read(note, [Said(4, turn)])
    bound = bindable(note, [Said(4, turn)])
    assert not reading.spans or bound
    assert all(number == 4 and turn[start:end].strip() for number, start, end in bound)


@given(turns_and_notes(), st.integers(0, 5))
def test_stripes_are_the_content_and_never_mark_more(case: tuple[str, str], most: int) -> None:
    """Joined they are the content, no two alike stand side by side, and there are no more changes than allowed."""
    turn, note = case
    reading = read(note, [Said(1, turn), *(Said(n + 1, s.text) for n, s in enumerate(SPOKEN, 1))])
    stripes = striped(note, reading, most)
    assert "".join(stripe.text for stripe in stripes) == note
    assert max(0, len(stripes) - 1) <= most
    at = 0
    for stripe in stripes:
        for offset in range(at, at + len(stripe.text)):
            inside = any(span.start <= offset < span.end and span.turn == stripe.turn for span in reading.spans)
            assert not stripe.turn or inside or is_between(note, offset, reading.spans, stripe.turn)
        at += len(stripe.text)


def is_between(note: str, offset: int, spans: tuple, turn: int) -> bool:
    """White space or a list's marker between two spans of the turn."""
    before = max((span.end for span in spans if span.end <= offset and span.turn == turn), default=-1)
    after = min((span.start for span in spans if span.start > offset and span.turn == turn), default=-1)
    return min(before, after) >= 0 and re.fullmatch(r"\s*(\S{1,5}\s*)?", note[before:after]) is not None


@given(st.text(max_size=200), st.text(max_size=400))
def test_no_text_raises(note: str, turn: str) -> None:
    """Whatever is written, an answer comes; the sentences of a text are in order and not empty."""
    reading = read(note, [Said(1, turn)])
    assert all(0 <= span.start < span.end <= len(note) for span in reading.spans)
    striped(note, reading, 2)
    bindable(note, [Said(1, turn)])
    for text in (note, turn):
        bounds = sentences(text)
        assert all(start < end and text[start:end].strip() == text[start:end] for start, end in bounds)
        assert all(one[1] <= other[0] for one, other in pairwise(bounds))
        assert {(each.start, each.end) for each in statements(text)} <= set(bounds)


@given(TEXTS, TEXTS)
def test_a_sentence_is_in_no_note_that_has_only_its_end(first: str, second: str) -> None:
    """A word before a sentence of one's own makes it another one: what is left of it marks nothing."""
    turn = "never" + re.sub(r"[^\w ]", " ", first) + "x " + re.sub(r"[^\w ]", " ", second) + "y"
    part = turn[len("never") + 1 :].strip()
    assert not read(part, [Said(1, turn)]).spans
