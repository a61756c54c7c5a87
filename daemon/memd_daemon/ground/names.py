"""Names as people write them, by their parts: of definitions (`parts_of`) and of keys (`key_parts`)."""

import re
from typing import Final

import msgspec

from memd_daemon import limits

Name = tuple[str, ...]
"""A name by its parts, the outermost first."""

_GENERIC: Final = re.compile(r"<[^<>]*>")
_POINTER: Final = re.compile(r"\(\s*[*&]*\s*([^()]+?)\s*\)")
_OPERATOR: Final = re.compile(
    r"(.*?)\boperator(\s*(?:\(\)|\[\]|\"\"\s*\w+|[^\w\s.:()\[\]\"]+)|\s+\w[\w:]*[\s*&]*)(?:(?:\.|::)(.*))?", re.DOTALL
)
_JOINTS: Final = re.compile(r"::|->|[.#\\]")
_STRIPPED: Final = " \t\n*&$@`#:"
_KEY: Final = re.compile(r"\"([^\"]*)\"|'([^']*)'|\[([^\[\]]*)\]|((?:[^.\[:\"']|:(?!:))+)")


class Valued(msgspec.Struct, frozen=True):
    """A name and its value, as written."""

    name: Name
    value: str


def parts_of(symbol: str) -> Name:
    """The parts of a symbol: ``Class.method``, ``Class::method``, ``(*T).Method``, ``f()``, ``Map<K, V>::get``, ``A#b``.

    () of what is longer than a name is: none is defined by that.
    """
    symbol = symbol.strip()
    if len(symbol) > limits.SYMBOL_MAX_CHARS:
        return ()
    symbol = symbol.removesuffix("()") if not symbol.endswith("operator()") else symbol
    operator = _OPERATOR.fullmatch(symbol)
    if operator:
        return (*parts_of(operator[1]), operator_name(operator[2]), *parts_of(operator[3] or ""))
    symbol = _POINTER.sub(r"\1", symbol)
    shorter = _GENERIC.sub("", symbol)
    while shorter != symbol:
        symbol, shorter = shorter, _GENERIC.sub("", shorter)
    return tuple(bare for part in _JOINTS.split(symbol) if (bare := part.strip(_STRIPPED)))


def operator_name(of: str) -> str:
    """``operator==``, ``operator bool``, whatever white space it is written with."""
    bare = "".join(of.split())
    return f"operator {bare}" if bare[:1].isalpha() else f"operator{bare}"


def last_word(part: str) -> bytes:
    """What of a symbol's part stands in the source as it is, whatever white space an operator is written with."""
    return (part if part.isidentifier() else part.removeprefix("operator").strip()).encode()


def key_parts(key: str) -> Name:
    """The parts of a key: ``tool.ruff.line-length``, ``"a.b".c``, ``Class::NAME``, ``$this->x``, ``a["b"]``."""
    found = _KEY.finditer(key.replace("->", "."))
    parts = (next((group for group in match.groups() if group is not None), "") for match in found)
    return tuple(bare for part in parts if (bare := part.strip().strip("\"'").strip(_STRIPPED)))
