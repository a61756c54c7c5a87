"""What a person may write as an anchor, and whether a claim about a file still holds.

=============================  =====================================================================
`path`                         a file
`path#L10`, `path#L10-L42`     lines (`#L10-42` too)
`path::symbol`                 a definition
`path::NAME=literal`           a claim: the constant, key or default still has that value
`!path`                        a claim: the file is still absent
`path ~ "text"`                a claim: the text still occurs (white space runs are one blank)
=============================  =====================================================================

The split is total: what is none of these is a path. Since a path may look like any of them (`a::b`, `#L1`, `!important`), who has
a disk looks first whether a file of the whole name is there. An ``=`` of an operator's name (``operator==``, ``<=>``, ``[]=``) or
within a type's arguments (``Iter<Item=u8>::next``) makes no claim; in Ruby neither does the ``=`` that ends a setter's name.

A claim's ``part``, as it is stored, says which it is: ``!``, ``~ "text"`` or ``NAME=literal``; `claim_of` reads it back.

**Value.** The name is looked for among definitions with a value, parameters (``func.param``), keys of literals, enum members,
and the keys of settings files by their path (``tool.ruff.line-length``); as with symbols a name that is whole goes before one
that only ends so. Where several are left, the claim holds only if all of them have the value.

What is told of a value that is another one now is shown to a model, and may have become a credential: such a one is taken out.
"""

import re
from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from memd_daemon import limits
from memd_daemon.ground.bare import bare, bare_value, holds_credential
from memd_daemon.ground.keyed import keyed
from memd_daemon.ground.literals import is_value
from memd_daemon.ground.names import Valued, key_parts
from memd_daemon.ground.source import Source

_LINES: Final = re.compile(r"(.+)#L(\d{1,9})(?:-L?(\d{1,9}))?", re.IGNORECASE | re.DOTALL)
_TEXT: Final = re.compile(r"\s~\s")
_QUOTES: Final = "\"'`"
_OPERATOR_BEFORE: Final = re.compile(r"(?:\boperator\s*[^\w\s]*|(?:^|[.#:])[^\w\s\"'`.#:]*|\[\])$")
_BLANKS: Final = re.compile(r"\s+")
GONE: Final = "gone"
EXISTS: Final = "exists"


class Given(msgspec.Struct, frozen=True):
    """An anchor as written, split. Lines count from 1, ``first`` and ``last`` included; 0 in other forms."""

    form: Literal["file", "lines", "symbol", "claim"]
    path: str
    part: str = ""
    first: int = 0
    last: int = 0


class Claim(msgspec.Struct, frozen=True):
    """What is said of a file: that a name has a value, that a text occurs (``wanted``), or that it is not there."""

    path: str
    kind: Literal["value", "absent", "text"]
    name: str = ""
    wanted: str = ""


class Verdict(msgspec.Struct, frozen=True):
    """Whether a claim holds; where it does not, what is so now: the value (or values), `exists`, or `gone`."""

    holds: bool
    now: str = ""


def parse_anchor(given: str) -> Given:
    """What was written, split. Never raises."""
    if given.startswith("!") and given[1:].strip():
        return Given("claim", given[1:].strip(), "!")
    path, text = _around(given)
    if path and text:
        return Given("claim", path, f"~ {text}")
    if match := _LINES.fullmatch(given):
        first = int(match[2])
        return _stretch(match[1], first, int(match[3] or first))
    path, joint, part = given.partition("::")
    if not joint or not path or not part.strip():
        return Given("file", given)
    is_claim = _equals(part) >= 0 and not (path.endswith(".rb") and part.endswith("="))
    return Given("claim" if is_claim else "symbol", path.rstrip(), part.strip())


def _around(given: str) -> tuple[str, str]:
    """What stands on either side of the first ``~`` that has white space around it."""
    found = _TEXT.search(given)
    return (given[: found.start()].strip(), given[found.end() :].strip()) if found else ("", "")


def _stretch(path: str, first: int, last: int) -> Given:
    first, last = min(first, last), max(first, last)
    return Given("lines", path, f"L{first}" if first == last else f"L{first}-L{last}", first, last)


def _equals(part: str) -> int:
    """Where the ``=`` between a name and its value stands; -1 where there is none."""
    quote, depth = "", 0
    for at, char in enumerate(part):
        if quote:
            quote = "" if char == quote else quote
        elif char in _QUOTES:
            quote = char
        elif char in "<>":
            depth = max(0, depth + (1 if char == "<" else -1))
        elif char == "=" and depth == 0:
            before = part[max(0, at - limits.SYMBOL_MAX_CHARS) : at]
            return -1 if _OPERATOR_BEFORE.search(before) else at
    return -1


def claim_of(path: str, part: str) -> Claim:
    """The claim that an anchor of form `claim` holds in its ``part``."""
    if part == "!":
        return Claim(path, "absent")
    if part.startswith("~ "):
        text = part[2:].strip()
        is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in _QUOTES
        return Claim(path, "text", wanted=text[1:-1] if is_quoted else text)
    at = _equals(part)
    return Claim(path, "value", part[:at].strip(), part[at + 1 :].strip())


def verdict(claim: Claim, source: Source | None) -> Verdict:
    """Whether the claim holds of this content; None where no such file is there. Never raises."""
    if claim.kind == "absent":
        return Verdict(True) if source is None else Verdict(False, EXISTS)
    if source is None:
        return Verdict(False, GONE)
    if claim.kind == "text":
        holds = _folded(claim.wanted) in _folded(source.content.decode("utf-8", "replace"))
        return Verdict(holds, "" if holds else GONE)
    return _valued(claim, source)


def _valued(claim: Claim, source: Source) -> Verdict:
    values, is_typed = values_of(source, claim.name)
    if not values:
        return Verdict(False, GONE)
    if all(is_value(claim.wanted, one.value, is_typed) for one in values):
        return Verdict(True)
    return Verdict(False, _told(values))


def values_of(source: Source, name: str) -> tuple[tuple[Valued, ...], bool]:
    """What has the name in a file, its values as written, and whether its language tells 30 from "30"."""
    wanted = key_parts(name)
    if not wanted:
        return (), False
    found, is_typed = (source.values(wanted[-1]), True) if source.language else keyed(source.path, source.content)
    named = [one for one in found if one.name[-len(wanted) :] == wanted]
    whole = [one for one in named if one.name == wanted]
    return tuple(whole or named), is_typed


def holds_secret(claim: Claim, source: Source) -> bool:
    """Whether what is claimed is a credential where it stands in the file, or a part of one: the claim alone may not look so."""
    if claim.kind == "text":
        return _folded(claim.wanted) not in _folded(bare(source.content.decode("utf-8", "replace")))
    return any(map(holds_credential, values_of(source, claim.name)[0]))


def _told(values: Iterable[Valued]) -> str:
    """The values on one line. A model reads it, so each is looked through for credentials by itself, before anything is cut."""
    told: dict[str, None] = {}
    for one in values:
        told[_folded(bare_value(one))] = None
        if sum(map(len, told)) > limits.LINE_MAX_CHARS:
            break  # nobody sees the rest
    line = ", ".join(told) or '""'
    return line if len(line) <= limits.LINE_MAX_CHARS else line[: limits.LINE_MAX_CHARS - 1] + "…"


def _folded(text: str) -> str:
    return _BLANKS.sub(" ", text).strip()
