"""Which words of a line stand where memd itself would have put them.

A word that memd's source has may be anybody's: a sentence can be made of such words alone, and a name. So of a line those words
stand that stand beside each other in a text of memd's source as well, three in a row, or two and the place where something is
filled in (`took in %d spooled calls`). What is filled in is a number, a name (`PermissionError`, `pre-edit`), or a word or two
between words of memd's own. All else is not said by memd, whatever it is made of.
"""

import importlib.util
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

PACKAGES = ("memd_client", "memd_hooks", "memd_daemon")
FILLED = "\0"  # where a text of the source is filled in; no word is that
BEGIN, END = "\1", "\2"

Window = tuple[str, str, str]
"""Three words in a row, of which one may be FILLED; at a text's ends BEGIN or END."""

_REFUSALS = re.compile(r'^class \w+\([^)]*\):\s*\n\s*"""(.*?)"""', re.MULTILINE | re.DOTALL)
_DOCSTRINGS = re.compile(r'"""(?:.*?)"""', re.DOTALL)
_SPLIT = re.compile(r'"\s*\n\s*[rbf]{0,2}"')  # of one text written on two lines
_TEXTS = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_EITHER = re.compile(r"\{say:((?:[^{}|]|\{\d*\})*)\|((?:[^{}|]|\{\d*\})*)\}")
_FIELDS = re.compile(r"\{(?:[^{}]|\{[^{}]*\})*\}|%(?:\(\w+\))?[-+#0 ]?\d*(?:\.\d+)?[sdrfgxi]")
_EDGES = re.compile(r"^([(\[{'\"`]*)(.*?)([)\]}'\"`.,:;!?]*)$", re.DOTALL)


class Place(NamedTuple):
    """What a word of a line is, by the words beside it: one of a text of memd's, or what is filled in, closely or at an end."""

    is_said: bool
    is_filled: bool
    is_between: bool


def edges(chunk: str) -> tuple[str, str, str]:
    """(what opens, the word, what closes and ends a sentence)."""
    found = _EDGES.match(chunk)
    return ("", chunk, "") if found is None else (found.group(1), found.group(2), found.group(3))


def sources() -> Iterator[str]:
    """The text of each of memd's own modules that can be read."""
    for package in PACKAGES:
        found = importlib.util.find_spec(package)
        for folder in (found.submodule_search_locations or ()) if found else ():
            for file in Path(folder).rglob("*.py"):
                try:
                    yield file.read_text(encoding="utf-8")
                except (OSError, ValueError):  # then there are fewer words
                    continue


def places(words: Sequence[str | None], windows: frozenset[Window]) -> list[Place]:
    """What each word of a line is; None is one that memd does not have."""
    row = [BEGIN, *words, END]
    said, filled, between = ([False] * len(row) for _ in range(3))
    for at in range(len(row) - 2):
        for holes in ((), (0,), (1,), (2,)):
            window = [FILLED if hole in holes else row[at + hole] for hole in range(3)]
            if None in window or tuple(window) not in windows:
                continue
            for hole in range(3):
                kept = filled if hole in holes else said
                kept[at + hole] = True
            between[at + 1] |= holes == (1,) and row[at] != BEGIN and row[at + 2] != END
        if at + 3 < len(row) and (row[at], FILLED, row[at + 3]) in windows:  # two words are filled in
            said[at] = said[at + 3] = filled[at + 1] = filled[at + 2] = True
            if row[at] != BEGIN and row[at + 3] != END:
                between[at + 1] = between[at + 2] = True
    return [Place(*found) for found in zip(said[1:-1], filled[1:-1], between[1:-1], strict=True)]


@cache
def windows() -> frozenset[Window]:
    """Of all texts in memd's source: of its messages, and of the sentences that its errors have for docstrings."""
    return frozenset(window for text in sources() for said in _texts(text) for window in windows_of(said))


def _texts(source: str) -> Iterator[str]:
    for refusal in _REFUSALS.findall(source):
        yield _EITHER.sub(r"\1", refusal)
        yield _EITHER.sub(r"\2", refusal)
    yield from _TEXTS.findall(_SPLIT.sub("", _DOCSTRINGS.sub("", source)))


def windows_of(text: str) -> Iterator[Window]:
    """Of one text."""
    filled = _FIELDS.sub(FILLED, text)
    words = [FILLED if FILLED in chunk else edges(chunk)[1] for chunk in filled.replace("\\n", " ").split()]
    row = [BEGIN, *(word for word in words if word), END]
    for window in zip(row, row[1:], row[2:], strict=False):
        holes = window.count(FILLED)
        if holes == 0 or (holes == 1 and not (BEGIN in window and END in window)):
            yield window
