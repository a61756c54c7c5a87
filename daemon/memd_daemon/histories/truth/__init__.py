"""Whether a function's code has changed, by means that share nothing with the product's comparison: no module, no parser.

`functions(path, content)` gives the functions of a content. Two are the same code where their **words** are equal in order:

- Comments, blanks, line breaks inside an expression and the indentation of the whole do not count.
- Everything else does: quote style, trailing commas, semicolons, names of parameters, docstrings; decorators, attributes and
  modifiers (`export`, `pub`, `async`) are part of the function that they stand before.
- In Python, which statement is in which block counts, not how many blanks it is indented by or whether it has a line of its own.

A function is known by its qualified name in its file. One inside another is part of that one and none of its own; a method is named
by its class (`Class.method`, in Rust by the type of its impl, in Go by its receiver). A declaration without a body is no function.
"""

import hashlib
from collections.abc import Iterable
from typing import Final

import msgspec


class Unreadable(Exception):
    """A content that cannot be read as its language: nothing is said of its functions."""


class Function(msgspec.Struct, frozen=True):
    """A function: its lines, from 1, both included, and a digest of its words."""

    name: str
    first: int
    last: int
    code: str


def digest(words: Iterable[str]) -> str:
    """Of the words in order; no two lists of words are told as one."""
    said = hashlib.sha256()
    for word in words:
        said.update(b"%d:" % len(word) + word.encode("utf-8", "surrogatepass"))
    return said.hexdigest()


SUFFIXES: Final = {
    "py": "python",
    "go": "go",
    "rs": "rust",
    "ts": "typescript",
    "mts": "typescript",
    "cts": "typescript",
    "js": "javascript",
    "mjs": "javascript",
    "cjs": "javascript",
    "java": "java",
    "c": "c",
    "h": "c",
}


def language_of(path: str) -> str:
    """The language of a path that truth is known in; "" for all others."""
    name = path.rpartition("/")[2]
    return SUFFIXES.get(name.rpartition(".")[2], "") if "." in name[1:] else ""


def functions(path: str, content: bytes) -> tuple[Function, ...]:
    """The functions of a content in order. Raises Unreadable."""
    from memd_daemon.histories.truth import braces, python  # here, since both are built on what stands above

    language = language_of(path)
    if not language:
        raise Unreadable
    return python.functions(content) if language == "python" else braces.functions(language, content)
