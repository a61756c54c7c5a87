"""Whether two literals are the same value, however they are spelled.

Numbers by value (``1_000`` is ``1000``, ``0x10`` is ``16``, ``30u32`` is ``30``), but a whole number is no fraction: ``30`` is not
``30.0``. Strings by their content, whatever quotes; a wanted text without quotes is the string of that content, unless it reads as
a number or a word of the language, since ``30`` is not ``"30"``. All else (``True``, ``null``, expressions) as it is written, white
space aside. In files whose values have no types (``.env``, INI, Makefile, Dockerfile) a value is its text, quotes or not.
"""

import re
from decimal import Decimal
from typing import Final

import msgspec

from memd_daemon import limits
from memd_daemon.pattern import pattern

_WHOLE: Final = pattern(
    r"(0[xX][\da-fA-F]+|0[bB][01]+|0[oO][0-7]+|\d+)(?:[iu](?:8|16|32|64|128|size)|[uUlLzZ]{1,3}|n)?"
)
_FRACTION: Final = pattern(r"((?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)(?:f32|f64|[fFdDmMlL])?")
_STRING: Final = pattern(r"([A-Za-z@$]{0,3})(#*)(\"\"\"|'''|[\"'`])(.*)\3\2", re.DOTALL)
_ESCAPE: Final = pattern(r"\\(.)", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "\n": ""}
_WORD: Final = pattern(r"true|false|null|none|nil|undefined", re.IGNORECASE)
_AROUND: Final = pattern(r" ?([^\w\s\"'`]) ?")
_BLANKS: Final = pattern(r"\s+")


class Literal(msgspec.Struct, frozen=True):
    """A value to compare by. ``kind``: `whole`, `fraction`, `string`, `text`."""

    kind: str
    value: str


def literal(written: str) -> Literal:
    """The value of what is written, as source code would have it."""
    text = written.strip()
    return _number(text) or _string(text) or Literal("text", _AROUND.sub(r"\1", _BLANKS.sub(" ", text)))


def is_value(wanted: str, written: str, is_typed: bool) -> bool:
    """Whether what is written in a file is the wanted value. ``is_typed``: whether the file's language tells 30 from "30"."""
    left, right = literal(wanted), literal(written)
    if left == right:
        return True
    if not is_typed:
        return _bare(left, wanted) == _bare(right, written)
    return (
        right.kind == "string"
        and left.kind == "text"
        and not _WORD.fullmatch(left.value)
        and wanted.strip() == right.value
    )


def _bare(value: Literal, written: str) -> str:
    return value.value if value.kind == "string" else written.strip()


def _number(text: str) -> Literal | None:
    if len(text) > limits.NUMBER_MAX_CHARS:
        return None
    sign = "-" if text.startswith("-") else ""
    digits = text[1:].lstrip() if text[:1] in ("-", "+") else text
    digits = re.sub(r"(?<=[\da-fA-F])[_'](?=\w)", "", digits)
    if match := _WHOLE.fullmatch(digits):
        return Literal("whole", sign + _whole(match[1].lower()))
    if match := _FRACTION.fullmatch(digits):
        return Literal("fraction", sign + str(Decimal(match[1]).normalize()))
    return None


def _whole(digits: str) -> str:
    is_prefixed = digits[:1] == "0" and digits[1:2].isalpha()
    return str(int(digits, 0) if is_prefixed else int(digits))


def _string(text: str) -> Literal | None:
    match = _STRING.fullmatch(text)
    if match is None or (not match[2] and _is_cut(match[4], match[3])):
        return None
    prefix, hashes, inner = match[1].lower(), match[2], match[4]
    is_raw = "r" in prefix or "@" in prefix or hashes or match[3] == "`"
    return Literal("string", inner if is_raw else _ESCAPE.sub(lambda one: _ESCAPED.get(one[1], one[1]), inner))


def _is_cut(inner: str, quote: str) -> bool:
    """Whether the quote ends within: ``"a" + "b"`` is no string."""
    return quote in _ESCAPE.sub("", inner) or len(inner) - len(inner.rstrip("\\")) & 1 == 1
