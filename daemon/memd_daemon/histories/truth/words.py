"""The words of a file in a language with braces, by pygments, and which bracket closes which.

Comments and blanks are left out; a Rust doc comment is a comment. A string is a word, or several, that is compared as it stands
and whose brackets close nothing. What else a lexer gives is split again by one rule, so that it does not count what it takes for
one token.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from pygments.lexer import RegexLexer
from pygments.lexers.c_cpp import CLexer
from pygments.lexers.go import GoLexer
from pygments.lexers.javascript import JavascriptLexer, TypeScriptLexer
from pygments.lexers.jvm import JavaLexer
from pygments.lexers.rust import RustLexer
from pygments.token import Comment, String

from memd_daemon.histories.truth import Function, Unreadable, digest

_LEXERS: Final[dict[str, type[RegexLexer]]] = {
    "go": GoLexer,
    "rust": RustLexer,
    "typescript": TypeScriptLexer,
    "javascript": JavascriptLexer,
    "java": JavaLexer,
    "c": CLexer,
}
_SPLIT: Final = re.compile(r"=>|->|::|[\w$]+|[^\w\s]")
_CLOSES: Final = {")": "(", "]": "[", "}": "{"}
_OPENS: Final = frozenset(_CLOSES.values())


class Word(NamedTuple):
    """``is_code``: not part of a string, nor of a line for a preprocessor."""

    text: str
    line: int
    is_code: bool


class Words:
    """The words of a content. Raises Unreadable where its brackets do not match."""

    def __init__(self, language: str, content: bytes) -> None:
        text = content.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
        self._words = list(_words(language, text))
        self._closing = self._matched()

    def __len__(self) -> int:
        return len(self._words)

    def at(self, place: int) -> str:
        """The word of code at a place; "" beyond the end and for what is no code."""
        if 0 <= place < len(self._words) and self._words[place].is_code:
            return self._words[place].text
        return ""

    def is_name(self, place: int) -> bool:
        """Whether an identifier or a keyword stands there."""
        word = self.at(place)
        return bool(word) and (word[0].isalpha() or word[0] in "_$")

    def begins_line(self, place: int) -> bool:
        """Whether it is the first word on its line."""
        return place == 0 or self._words[place].line > self._words[place - 1].line

    def closing(self, place: int) -> int:
        """Where the bracket at a place is closed."""
        return self._closing[place]

    def past(self, place: int) -> int:
        """The place after this word, or after what it opens."""
        return self._closing.get(place, place) + 1

    def find(self, place: int, wanted: tuple[str, ...]) -> int:
        """The first of the wanted words from a place on, outside round and square brackets; the end where there is none."""
        while place < len(self._words) and self.at(place) not in wanted:
            place = self.past(place) if self.at(place) in ("(", "[") else place + 1
        return place

    def past_angles(self, place: int) -> int:
        """The place after `<…>` that begins here, or this one."""
        depth, here = 0, place
        while self.at(here) in ("<", ">") or depth:
            if here >= len(self._words):
                return place
            depth += {"<": 1, ">": -1}.get(self.at(here), 0)
            here = self.past(here)
            if not depth:
                return here
        return place

    def function(self, name: str, first: int, last: int) -> Function:
        """The function from one place to another, both included."""
        own = self._words[first : last + 1]
        return Function(name, own[0].line, own[-1].line, digest(word.text for word in own))

    def _matched(self) -> dict[int, int]:
        opened: list[int] = []
        closing: dict[int, int] = {}
        for place in range(len(self._words)):
            word = self.at(place)
            if word in _OPENS:
                opened.append(place)
            elif word in _CLOSES:
                if not opened or self.at(opened[-1]) != _CLOSES[word]:
                    raise Unreadable
                closing[opened.pop()] = place
        if opened:
            raise Unreadable
        return closing


def _words(language: str, text: str) -> Iterator[Word]:
    lexer: Any = _LEXERS[language]()
    line = 1
    for _, kind, value in lexer.get_tokens_unprocessed(text):
        is_order = kind in Comment.Preproc or kind in Comment.PreprocFile
        if kind in String.Doc or (kind in Comment and not is_order):
            pass
        elif kind in String:
            yield Word(value, line, is_code=False)
        else:
            for found in _SPLIT.finditer(value):
                is_code = not is_order or language == "rust"  # of attributes, whose brackets match
                yield Word(found.group(), line + value.count("\n", 0, found.start()), is_code)
        line += value.count("\n")
