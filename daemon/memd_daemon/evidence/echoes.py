"""memd's own words in a prompt: a bundle that a client repeats there, or that a person pastes. They are nobody's statement.

A bundle goes from its first line to its last (frames/envelope.py), whatever stands between them; one that is never closed to the
end of the text. Without its envelope a note is known by its frame, wherever that stands: the paragraph is a paste then. A client
that escapes markup escapes nothing that is looked for here.
"""

import re
from typing import Final

from memd_daemon.pattern import pattern

_OPENS: Final = r"memd: (?:\d+ (?:notes?\b|auto-captured note\b)|no notes here)"
_CLOSES: Final = r"memd: end[.;]"
_BUNDLE: Final = pattern(rf"{_OPENS}.*?(?:{_CLOSES}[^\n]*|\Z)", re.DOTALL)
_FRAMES: Final = (
    "(standing rule from the user ",
    "Recorded by the user: ",
    "own words, checked against turn ",
    "Memory to verify (recorded ",
    "Auto-captured (weakest confidence",
    "Previously believed (recorded ",
    "memd: ",
)
_FRAMED: Final = pattern(
    rf"{'|'.join(map(re.escape, _FRAMES[:-1]))}|^[ \t]*memd: |\[\d+\] \[[^\]\n]{{1,400}}\] Recorded \d{{4}}-\d\d-\d\d",
    re.MULTILINE,
)
_PUSHED: Final = "] Recorded "


def echoes(text: str) -> list[tuple[int, int]]:
    """Where memd's words stand, in order: whole bundles, and the frames outside them."""
    if _PUSHED not in text and not any(one in text for one in _FRAMES):
        return []
    bundles = [found.span() for found in _BUNDLE.finditer(text)]
    frames = [found.span() for found in _FRAMED.finditer(text)]
    return sorted([*bundles, *(one for one in frames if not any(_touch(one, other) for other in bundles))])


def _touch(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]
