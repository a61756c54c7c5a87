"""Stretches of lines: compared by their text, found again by it (staleness.md)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_daemon import limits
from memd_daemon.ground.source import Block, Source
from memd_daemon.model.event import Anchor

TEXT = "one\ntwo\nthree\n\ntwo\nthree\nlast"


def of(text: str) -> Source:
    return Source("notes.txt", text.encode())


def anchored(text: str, first: int, last: int) -> Anchor:
    here = of(text)
    block = here.lines(first, last)
    assert block is not None
    return Anchor(
        form="lines", path="notes.txt", digest=block.digest, first=first, lines=last - first + 1, lead=here.lead(first)
    )


def where(block: Block | None) -> tuple[int, int] | None:
    return (block.first, block.last) if block else None


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [
        (1, 1, "one"), (1, 3, "one\ntwo\nthree"), (4, 4, ""), (7, 7, "last"), (1, 7, TEXT),
        (7, 8, None), (8, 8, None), (0, 1, None), (3, 2, None), (-1, 2, None),
    ],
)  # fmt: skip
def test_lines_count_from_one_and_both_ends_are_in(first: int, last: int, text: str | None) -> None:
    """A stretch that the file has not in whole is none."""
    block = of(TEXT).lines(first, last)
    assert (of(TEXT).text_of(block) if block else None) == text


def test_a_line_feed_at_the_end_begins_no_line() -> None:
    """With or without it the file has the same lines; an empty file has none."""
    assert where(of("a\nb\n").lines(1, 2)) == (1, 2)
    assert of("a\nb\n").lines(3, 3) is None
    assert of("").lines(1, 1) is None
    assert where(of("\n").lines(1, 1)) == (1, 1)


@pytest.mark.parametrize(
    ("text", "first", "last", "now", "found"),
    [
        (TEXT, 2, 3, TEXT, (2, 3)),
        (TEXT, 5, 6, TEXT, (5, 6)),
        (TEXT, 1, 2, "new\n" + TEXT, (2, 3)),
        (TEXT, 7, 7, "last\n" + TEXT.removesuffix("last"), (1, 1)),
        ("x\ntwo\ny", 2, 2, "two\nx\ny\n\ntwo", (1, 1)),
        ("x\ny\ntwo", 3, 3, "two\nx\ny\ntwo", (4, 4)),
        ("a\nb\na\nb\na\nb", 3, 4, "a\nb\nx\na\nb", (4, 5)),
        (TEXT, 1, 2, "one\n two\n", None),
        (TEXT, 1, 7, "one", None),
        ("x\n\ny", 2, 2, "x\ny\nz\n\n", (4, 4)),
        ("a\r\nb\r\n", 1, 2, "a\nb\n", (1, 2)),
    ],
)
def test_lines_are_found_where_they_stand_now(
    text: str, first: int, last: int, now: str, found: tuple[int, int] | None
) -> None:
    """Where they were, else nearest to that."""
    assert where(of(now).found_again(anchored(text, first, last))) == found


def test_lines_that_are_gone_leave_what_stands_in_their_place() -> None:
    """So that a change can be shown; nothing where the file is shorter."""
    anchor = anchored(TEXT, 2, 3)
    block = of("one\n2\n3\nfour").block(anchor)
    assert where(block) == (2, 3)
    assert block is not None
    assert not of("one\n2\n3\nfour").is_same(anchor, block)
    assert of("one").block(anchor) is None


def test_lines_that_moved_are_the_same() -> None:
    """The block that was found again is what the anchor was taken from."""
    now = of("new\n" + TEXT)
    anchor = anchored(TEXT, 2, 3)
    block = now.block(anchor)
    assert block is not None
    assert now.is_same(anchor, block)


@pytest.mark.parametrize("field", ["lead", "lines"])
def test_an_anchor_without_a_lead_or_lines(field: str) -> None:
    """Without a lead every line may begin it; without a count there is nothing to look for."""
    full = anchored(TEXT, 5, 6)
    anchor = Anchor(form="lines", path="a", digest=full.digest, first=1, lines=2 if field == "lead" else 0)
    assert where(of(TEXT).found_again(anchor)) == ((2, 3) if field == "lead" else None)


def test_looking_for_lines_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more stretches are hashed than the limit, however many lines equal the first; the nearest are looked at."""
    monkeypatch.setattr(limits, "LINES_LOOKED_AT_MAX", 10)
    anchor = anchored("\nend\n" + "\n" * 50, 1, 2)
    assert where(of("\n" * 9 + "end").found_again(anchor)) == (9, 10)
    assert of("\n" * 30 + "end").found_again(anchor) is None


def test_looking_for_long_stretches_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor more bytes in them all."""
    monkeypatch.setattr(limits, "LINES_HASHED_MAX_BYTES", 100)
    anchor = anchored("{\n" + "x" * 40 + "\nend", 1, 3)
    now = ("{\n" + "x" * 40 + "\nno\n") * 5 + "{\n" + "x" * 40 + "\nend"
    assert of(now).found_again(anchor) is None


LINES = st.lists(st.sampled_from(["", "{", "a", "b", "  return x"]), min_size=1, max_size=12)


@given(LINES, LINES, LINES, st.data())
def test_a_stretch_is_found_wherever_it_is_pasted(
    before: list[str], stretch: list[str], after: list[str], data: st.DataObject
) -> None:
    """What is found has the digest, and nothing nearer has."""
    first = data.draw(st.integers(1, 30))
    here = of("\n".join(stretch) + "\n")
    whole = here.lines(1, len(stretch))
    assert whole is not None
    anchor = Anchor(form="lines", path="a", digest=whole.digest, first=first, lines=len(stretch), lead=here.lead(1))
    lines = [*before, *stretch, *after]
    there = of("\n".join(lines) + "\n")
    equal = [at + 1 for at in range(len(lines) - len(stretch) + 1) if lines[at : at + len(stretch)] == stretch]
    found = there.found_again(anchor)
    assert found is not None
    assert there.is_same(anchor, found)
    assert abs(found.first - first) == min(abs(at - first) for at in equal)


@given(st.binary(max_size=200), st.integers(-2, 20), st.integers(-2, 20))
def test_any_bytes_have_lines(content: bytes, first: int, last: int) -> None:
    """No content and no numbers raise anything."""
    here = Source("a.bin", content)
    block = here.lines(first, last)
    assert (block is not None) == (
        1 <= first <= last <= len(here.content.removesuffix(b"\n").split(b"\n")) and here.content != b""
    )
    assert (here.lead(first) == b"") == (here.lines(first, first) is None)
