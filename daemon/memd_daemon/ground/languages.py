"""In which language a file is, and which grammar reads it.

The name of a file decides: its extension, or the whole name (``Rakefile``); a file without an extension may say it in its first
line (``#!/usr/bin/env python3``). ``.h`` is read as C++, always: nearly all C is C++ to its grammar, while a guess by the content
could turn with one edit and make every symbol of the file seem changed. A file that a grammar cannot make sense of has no language:
one with a NUL byte, and one that is too large.
"""

import re
from typing import Final

import msgspec

from memd_daemon import limits


class Language(msgspec.Struct, frozen=True):
    """A grammar: the distribution and the module it comes in, and the module's function that gives it."""

    name: str
    wheel: str
    module: str
    entry: str = "language"


def _language(name: str, wheel: str = "", entry: str = "language") -> Language:
    wheel = f"tree-sitter-{wheel or name}"
    return Language(name, wheel, wheel.replace("-", "_"), entry)


LANGUAGES: Final = {
    language.name: language
    for language in (
        _language("python"),
        _language("typescript", entry="language_typescript"),
        _language("tsx", "typescript", "language_tsx"),
        _language("javascript"),
        _language("go"),
        _language("rust"),
        _language("java"),
        _language("c"),
        _language("cpp"),
        _language("csharp", "c-sharp"),
        _language("ruby"),
        _language("php", entry="language_php"),
    )
}

_EXTENSIONS: Final = {
    "python": "py pyi pyw",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "javascript": "js mjs cjs jsx",
    "go": "go",
    "rust": "rs",
    "java": "java",
    "c": "c",
    "cpp": "h cc cpp cxx c++ hh hpp hxx h++ ipp inl tpp",
    "csharp": "cs csx",
    "ruby": "rb rake gemspec ru",
    "php": "php phtml php5",
}
_BY_EXTENSION: Final = {extension: name for name, listed in _EXTENSIONS.items() for extension in listed.split()}
_BY_NAME: Final[dict[str, str]] = dict.fromkeys(
    ("gemfile", "rakefile", "guardfile", "vagrantfile", "capfile", "podfile"), "ruby"
)
_BY_PROGRAM: Final = {"python": "python", "pypy": "python", "node": "javascript", "ruby": "ruby", "php": "php"}
_SHEBANG: Final = re.compile(
    rb"#!\s*(?:\S*/)?(?:env(?:\s+-\S+|\s+\w+=\S*)*\s+(?:\S*/)?)?(python|pypy|node|ruby|php)[\d.]*(?:\s|$)"
)


def language_of(path: str, content: bytes) -> str:
    """The name of the language that a file's path and content say, a key of LANGUAGES; "" where no grammar reads it."""
    if len(content) > limits.SYNTAX_FILE_MAX_BYTES or b"\0" in content:
        return ""
    name = path.rpartition("/")[2].lower()
    stem, dot, extension = name.rpartition(".")
    if dot and stem:
        return _BY_EXTENSION.get(extension, "")
    return _BY_NAME.get(name) or _by_first_line(content)


def _by_first_line(content: bytes) -> str:
    shebang = _SHEBANG.match(content[: limits.SHEBANG_MAX_BYTES].partition(b"\n")[0])
    return _BY_PROGRAM[shebang[1].decode()] if shebang else ""
