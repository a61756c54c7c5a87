"""Free text made safe to stand among memd's own words (model.md, section 3: "No content can pass for memd's words").

What a reader can rely on:

- memd's lines begin at the first column (``[47] …``, ``memd: …``) or with two spaces and a letter; the further lines of a
  content begin with two spaces, ``|``, one space. Only memd breaks a line: every other character that some reader takes for a
  line end (CR, VT, FF, NEL, U+2028, U+2029) is shown as ``\\u{…}``. So a look-alike of a bracket or of ``memd:`` gains nothing
  in a content: it never stands where memd's words stand.
- Nothing is invisible: control characters, ANSI, bidi overrides, zero-width and filler characters are shown as ``\\u{…}``.
  Tabs stay in a content.
- The ``<`` (or a look-alike of it) of a tag that a client wraps its own words in is shown as ``\\u{3c}``; other ``<`` stay.
- A text inside one of memd's lines is one line. ``"`` and ``\\`` are escaped, so a bare ``"`` is always memd's, and so is a
  bracket that closes or opens nothing within the text (``\\)``); look-alikes of quotes and brackets are held to the same.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from memd_daemon.limits import LINE_MAX_CHARS
from memd_hooks.harness.tags import without_tags

FURTHER: Final = "  | "
"""How every line of a content but the first begins."""

_SUSPECT: Final = re.compile(r"[^\x20-\x7e\n\t]")
_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Letters and marks that show nothing: fillers, the blank Braille pattern, joiners and selectors that are no format characters
# (an emoji's selector among them: after a letter it hides as well), and what Unicode keeps free for more of them.
_HIDDEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
_LINE_SPACE: Final = re.compile(r"[ \t\r\n]+")
_UNEVEN: Final = re.compile(r"[^\S ]|\A +| +\Z|(?<= ) +")
_GOES_ON: Final = re.compile(r":(?=\s|\Z)|(?<=\s)\[")
_QUOTE_LOOKALIKES: Final = frozenset("\u02ba\u201f\u2033\u3003\u301d\u301e\u301f\uff02")
_CLOSERS: Final = {
    "(": ")",
    "[": "]",
    "\u201c": "\u201d",
    "\u201e": "\u201c\u201d",
    "\uff08": "\uff09",
    "\uff3b": "\uff3d",
}
_CLOSING: Final = frozenset("".join(_CLOSERS.values()))


def _named(char: str) -> str:
    return f"\\u{{{ord(char):x}}}"


def _each_named(match: re.Match[str]) -> str:
    return "".join(map(_named, match.group()))


def _shown(match: re.Match[str]) -> str:
    char = match.group()
    hidden = unicodedata.category(char) in _HIDDEN_CATEGORIES or _HIDDEN.match(char)
    return _named(char) if hidden else char


def escape_content(text: str, tags: Sequence[str]) -> str:
    """A note's content as it stands after its frame: the first line, then the further ones in their own column.

    ``tags`` are the names of the tags that the clients use for their own words. Idempotent only for text without line breaks.
    """
    visible = _SUSPECT.sub(_shown, text.replace("\r\n", "\n"))
    return without_tags(visible, tags).replace("\n", "\n" + FURTHER)


def escape_line(
    text: str, tags: Sequence[str], limit: int = LINE_MAX_CHARS, stops: str = "", *, folds: bool = True
) -> str:
    """A text of one line inside a line of memd's own: a reason, summary, tag, path, ref or name.

    White space is folded; where it tells one name from another (``folds`` is false) all but one space between words is shown by
    its number. Over ``limit`` characters (counted before escaping) the line ends with ``…``. ``stops`` are further characters that
    the place gives a meaning, such as the comma between tags.
    """
    line = _LINE_SPACE.sub(" ", text).strip() if folds else text
    if len(line) > limit:
        line = line[: limit - 1] + "…"
    strays = _strays(line)
    escaped = "".join(_escaped(char, index in strays or char in stops) for index, char in enumerate(line))
    shown = _SUSPECT.sub(_shown, escaped)
    return without_tags(shown if folds else _UNEVEN.sub(_each_named, shown), tags)


def held_apart(text: str, tags: Sequence[str], stops: str = "", *, folds: bool = True) -> str:
    """`escape_line` for a text that memd goes on after with ``: `` or `` [``: neither stands in it bare, by whatever space."""
    return _GOES_ON.sub(r"\\\g<0>", escape_line(text, tags, stops=stops, folds=folds))


def _escaped(char: str, stray: bool) -> str:
    if char in _QUOTE_LOOKALIKES or (stray and not char.isascii()):
        return _named(char)
    return "\\" + char if stray or char in '"\\' else char


def _strays(line: str) -> set[int]:
    """The places of brackets and curved quotes that have no partner inside ``line``."""
    strays: set[int] = set()
    open_: list[int] = []
    for index, char in enumerate(line):
        if open_ and char in _CLOSERS[line[open_[-1]]]:
            open_.pop()
        elif char in _CLOSERS:
            open_.append(index)
        elif char in _CLOSING:
            strays.add(index)
    return strays.union(open_)
