"""Where a line breaks: at spaces, never inside a command between backticks that fits on a line of its own.

Widths are terminal columns: an East Asian wide character has two, a combining one none. Only a word that is wider than the line is
cut. What is broken off is spaces alone, so the words of a line joined again are the words that were given.
"""

import re
import unicodedata
from collections.abc import Iterator

Span = tuple[int, int]
"""A piece of a text, from and up to these indexes."""

_HEAD = re.compile(r" *(?:[│|] +)?")
_WORD = re.compile(r"(?:`[^`\n]*`|\S)+")
_PIECE = re.compile(r"\S+")


def columns(text: str) -> int:
    """How many columns of a terminal the text takes."""
    return sum(_columns(char) for char in text)


def head(text: str) -> int:
    """How many characters at the beginning of a line stand again before what is broken off it: blanks, and a bar."""
    found = _HEAD.match(text)
    return found.end() if found else 0


def laid(text: str, width: int) -> list[str]:
    """A line as it stands in ``width`` columns, what is broken off under where it began; 0 columns: nobody knows, so whole."""
    if width <= 0:
        return [text]
    at = head(text)
    body = text[at:]
    return [text[:at] + body[start:end] for start, end in lines(body, width - columns(text[:at]))]


def lines(text: str, width: int) -> list[Span]:
    """The spans of ``text`` (one line, no line end in it) that stand under each other in ``width`` columns; at least one.

    Spaces at the very beginning stay with the first word.
    """
    spans: list[Span] = []
    start = end = 0
    for word_start, word_end in _words(text, max(width, 1)):
        if end > start and columns(text[start:word_end]) > width:
            spans.append((start, end))
            start = word_start
        end = word_end
    return [*spans, (start, end)]


def _words(text: str, width: int) -> Iterator[Span]:
    for word in _WORD.finditer(text):
        if columns(word[0]) <= width:
            yield word.span()
            continue
        for piece in _PIECE.finditer(text, *word.span()):
            yield from _cut(text, piece.span(), width)


def _cut(text: str, word: Span, width: int) -> Iterator[Span]:
    """The word, in pieces of at most ``width`` columns (one character is never cut)."""
    start, used = word[0], 0
    for index in range(*word):
        if index > start and used + _columns(text[index]) > width:
            yield start, index
            start, used = index, 0
        used += _columns(text[index])
    yield start, word[1]


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
