"""What differs between two texts: as `diff -u` says it, bounded."""

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_daemon import limits
from memd_daemon.ground.differing import CONTEXT_LINES, Diff, differing

TEXTS = st.lists(st.sampled_from("abcd"), max_size=30).map(lambda lines: "".join(f"{one}\n" for one in lines))


def test_a_changed_line_stands_between_its_neighbours() -> None:
    """Numbers are those of the file, from where the block begins in it."""
    old = "".join(f"line {n}\n" for n in range(1, 11))
    told = differing(old, old.replace("line 5\n", "line five\n"), first_old=101, first_new=201)
    assert told.lines == (
        "@@ -102,7 +202,7 @@",
        " line 2",
        " line 3",
        " line 4",
        "-line 5",
        "+line five",
        " line 6",
        " line 7",
        " line 8",
    )
    assert told.more == 0


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("a\n", "a\n", ()),
        ("", "", ()),
        ("", "a\n", ("@@ -0,0 +1,1 @@", "+a")),
        ("a\n", "", ("@@ -1,1 +0,0 @@", "-a")),
        ("a", "a\n", ()),
        ("a\x0cb\u2028c\n", "a\u2028c\n", ("@@ -1,1 +1,1 @@", "-a\x0cb\u2028c", "+a\u2028c")),
    ],
)
def test_texts_of_next_to_nothing(old: str, new: str, lines: tuple[str, ...]) -> None:
    """Empty, equal, or with what some take for a line's end."""
    assert differing(old, new) == Diff(lines=lines)


@given(old=TEXTS, new=TEXTS)
def test_it_says_what_difflib_says(old: str, new: str) -> None:
    """What both have at the ends is not looked at, and yet the result puts the old text into the new one."""
    told = differing(old, new)
    if told.more:
        return
    assert _patched(old.splitlines(), told.lines) == new.splitlines()
    plain = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=CONTEXT_LINES))
    assert bool(plain) == bool(told.lines)


def _patched(old: list[str], lines: tuple[str, ...]) -> list[str]:
    made, at = list[str](), 0
    for line in lines:
        if line.startswith("@@"):
            start, count = map(int, line.split()[1][1:].split(","))
            begin = start if count == 0 else start - 1
            made += old[at:begin]
            at = begin
        elif line[0] == "+":
            made.append(line[1:])
        else:
            assert old[at] == line[1:]
            made += [old[at]] if line[0] == " " else []
            at += 1
    return made + old[at:]


def test_a_long_diff_ends_and_says_how_much_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """In lines, and within a line."""
    monkeypatch.setattr(limits, "DIFF_LINES_MAX", 4)
    monkeypatch.setattr(limits, "DIFF_LINE_MAX_CHARS", 10)
    told = differing("", "".join(f"{'x' * 20} {n}\n" for n in range(10)))
    assert (len(told.lines), told.more) == (4, 7)
    assert told.lines[1] == "+" + "x" * 8 + "…"


def test_texts_that_have_nothing_in_common_are_not_compared_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is alike at the ends does not count for it."""
    monkeypatch.setattr(limits, "DIFF_PAIRS_MAX", 100)
    same = "".join(f"{n}\n" for n in range(1000))
    assert differing(same + "a\n", same + "b\n").lines[-1] == "+b"
    assert differing("a\n" * 11, "b\n" * 11) == Diff(too_different=True)
