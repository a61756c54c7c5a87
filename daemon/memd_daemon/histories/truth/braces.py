"""The functions of Go, Rust, TypeScript, JavaScript, Java and C, found by keywords and matching brackets.

What is found is what each language calls a function or a method at the level of a file, module, namespace, class or impl. In
TypeScript and JavaScript a constant that is an arrow function or a function expression with a body in braces is one too.
"""

from collections.abc import Callable, Iterator
from typing import Final

from memd_daemon.histories.truth import Function
from memd_daemon.histories.truth.scripts import scripts
from memd_daemon.histories.truth.words import Words


def functions(language: str, content: bytes) -> tuple[Function, ...]:
    """The functions of a content in order. Raises Unreadable."""
    words = Words(language, content)
    return tuple(_FINDERS[language](words))


def _go(words: Words) -> Iterator[Function]:
    place = 0
    while place < len(words):
        if words.at(place) == "func" and words.begins_line(place):
            name, here = _go_name(words, place + 1)
            body = _go_body(words, here) if name else len(words)
            if words.at(body) == "{":
                yield words.function(name, place, words.closing(body))
                place = body
        place = words.past(place)


def _go_name(words: Words, place: int) -> tuple[str, int]:
    """(name with its receiver's type, the place after it); ("", …) for a function without a name."""
    receiver = ""
    if words.at(place) == "(":
        end = words.closing(place)
        here = place + 1
        while here < end:
            if words.at(here) == "[":
                break
            receiver = f"{words.at(here)}." if words.is_name(here) else receiver
            here += 1
        place = end + 1
    return (receiver + words.at(place), place + 1) if words.is_name(place) else ("", place)


def _go_body(words: Words, place: int) -> int:
    """Where the body opens; a declaration without one ends at the next line that begins with `func`, `type`, `var` or `}`."""
    while place < len(words):
        word = words.at(place)
        if word in ("interface", "struct") and words.at(place + 1) == "{":
            place += 1
        elif word == "{":
            return place
        elif word in ("func", "type", "var", "const") and words.begins_line(place):
            break
        place = words.past(place)
    return len(words)


def _rust(words: Words) -> Iterator[Function]:
    return _rust_within(words, 0, len(words), "")


def _rust_within(words: Words, place: int, end: int, within: str) -> Iterator[Function]:
    first = place
    while place < end:
        word = words.at(place)
        if word == "#" and words.at(place + 1) == "!":  # of the whole file or module
            place = first = words.past(place + 2)
        elif word == "fn" and words.is_name(place + 1):
            body = words.find(place + 2, ("{", ";"))
            if words.at(body) == "{":
                yield words.function(within + words.at(place + 1), first, words.closing(body))
            place = first = words.past(body)
        elif word in ("mod", "trait", "impl") and words.at(place + 1) != "!":
            body = words.find(place + 1, ("{", ";"))
            if words.at(body) == "{":
                name = _rust_type(words, place + 1, body) if word == "impl" else words.at(place + 1)
                yield from _rust_within(words, body + 1, words.closing(body), f"{within}{name}.")
            place = first = words.past(body)
        else:
            place = words.past(place)
            first = place if word in ("{", ";") else first


def _rust_type(words: Words, place: int, end: int) -> str:
    """The type that an impl is for: the last name on its path, its parameters left out."""
    place = words.past_angles(place)
    name = ""
    while place < end and words.at(place) != "where":
        if words.at(place) == "for" and words.at(place + 1) != "<":
            name = ""
        elif words.is_name(place) and words.at(place - 1) != "'":
            name = words.at(place)
        after = words.past_angles(place)
        place = after if after > place else place + 1
    return name


_JAVA_TYPES: Final = ("class", "interface", "enum", "record")


def _java(words: Words) -> Iterator[Function]:
    return _java_within(words, 0, len(words), "")


def _java_within(words: Words, place: int, end: int, within: str) -> Iterator[Function]:
    first = place
    while place < end:
        word = words.at(place)
        if word in _JAVA_TYPES and words.is_name(place + 1) and words.at(place - 1) != ".":
            body = words.find(place + 1, ("{", ";"))
            if words.at(body) == "{":
                yield from _java_within(words, body + 1, words.closing(body), f"{within}{words.at(place + 1)}.")
            place = first = words.past(body)
        elif within and word == "(" and words.is_name(place - 1) and words.at(place - 2) not in ("@", "."):
            body = words.find(words.past(place), ("{", ";", "=", ","))
            if words.at(body) == "{":
                yield words.function(within + words.at(place - 1), first, words.closing(body))
            place = first = words.past(body)
        elif word == "=":
            place = first = words.find(place, (";",)) + 1
        else:
            place = words.past(place)
            first = place if word in ("{", ";", ",") else first


def _c(words: Words) -> Iterator[Function]:
    place = first = 0
    while place < len(words):
        word = words.at(place)
        if word == "(" and words.is_name(place - 1) and words.at(words.past(place)) == "{":
            body = words.past(place)
            yield words.function(words.at(place - 1), first, words.closing(body))
            place = first = words.past(body)
        elif word == "{" and _is_linkage(words, place):
            place = first = place + 1
        else:
            is_order = not word  # a line for the preprocessor ends what stands before it
            place = words.past(place)
            first = place if word in (";", "}") or word == "{" or is_order else first


def _is_linkage(words: Words, place: int) -> bool:
    """Whether it is the brace of `extern "C" {`; a string is no word of code."""
    while place > 0 and not words.at(place - 1):
        place -= 1
    return words.at(place - 1) == "extern"


_FINDERS: Final[dict[str, Callable[[Words], Iterator[Function]]]] = {
    "go": _go,
    "rust": _rust,
    "typescript": scripts,
    "javascript": scripts,
    "java": _java,
    "c": _c,
}
