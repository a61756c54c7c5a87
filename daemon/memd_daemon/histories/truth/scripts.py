"""The functions of TypeScript and JavaScript: declarations, methods of classes, and constants that are functions with a body."""

from collections.abc import Iterator
from typing import Final

from memd_daemon.histories.truth import Function
from memd_daemon.histories.truth.words import Words

_MODIFIERS: Final = frozenset({"export", "default", "async", "declare", "abstract"})
_TYPE_FOLLOWS: Final = frozenset({":", "|", "&", "<", ",", "=>", "?", "is", "extends", "keyof", "readonly", "("})
_GOES_ON: Final = frozenset(
    {"=", "=>", "+", "-", "*", "/", "|", "&", "?", ":", ".", ",", "<", ">", "!", "new", "await"}
)


def scripts(words: Words) -> Iterator[Function]:
    """Those of a file."""
    return _within(words, 0, len(words), "")


def _within(words: Words, place: int, end: int, within: str) -> Iterator[Function]:
    """Those of a file or a namespace: everything that is no declaration is passed over, and with it what stands in brackets."""
    while place < end:
        word = words.at(place)
        if word == "function":
            name, body = _declared(words, place)
            if name and words.at(body) == "{":
                yield words.function(within + name, _begin(words, place), words.closing(body))
                place = body
        elif word in ("const", "let", "var") and words.is_name(place + 1):
            body = _assigned(words, place + 2)
            if words.at(body) == "{":
                yield words.function(within + words.at(place + 1), _begin(words, place), words.closing(body))
                place = body
        elif word == "class" and words.is_name(place + 1) and words.at(place - 1) != ".":
            body = place + 2 if words.at(place + 2) == "{" else _past_type(words, place + 2, ("{",))
            if words.at(body) == "{":
                yield from _members(words, body + 1, words.closing(body), f"{within}{words.at(place + 1)}.")
                place = body
        elif word in ("namespace", "module") and words.is_name(place + 1) and words.at(place + 2) == "{":
            yield from _within(words, place + 3, words.closing(place + 2), f"{within}{words.at(place + 1)}.")
            place += 2
        place = words.past(place)


def _begin(words: Words, place: int) -> int:
    while words.at(place - 1) in _MODIFIERS:
        place -= 1
    return place


def _declared(words: Words, place: int) -> tuple[str, int]:
    """(name, where the body opens) of the `function` at a place."""
    here = place + 2 if words.at(place + 1) == "*" else place + 1
    name = words.at(here) if words.is_name(here) else ""
    return name, _body(words, words.past_angles(here + 1 if name else here))


def _body(words: Words, place: int) -> int:
    """Where the body opens, the parameters' bracket being at ``place``; anything else where there is none."""
    if words.at(place) != "(":
        return len(words)
    place = words.past(place)
    return _past_type(words, place + 1, ("{", ";")) if words.at(place) == ":" else place


def _past_type(words: Words, place: int, ends: tuple[str, ...]) -> int:
    """The first of ``ends`` after the type that stands here; braces where a type is expected are a type."""
    begin = place
    while place < len(words):
        is_type = words.at(place) == "{" and (place == begin or words.at(place - 1) in _TYPE_FOLLOWS)
        if words.at(place) in ends and not is_type:
            return place
        after = words.past_angles(place)
        place = after if after > place else words.past(place)
    return place


def _assigned(words: Words, place: int) -> int:
    """Where the body opens of the function that a constant is given; anything else where it is given something else."""
    if words.at(place) == ":":
        place = _past_type(words, place + 1, ("=", ";"))
    if words.at(place) != "=":
        return len(words)
    place += 1
    if words.at(place) == "async":
        place += 1
    if words.at(place) == "function":
        return _declared(words, place)[1]
    return _arrow(words, words.past_angles(place))


def _arrow(words: Words, place: int) -> int:
    if words.at(place) == "(":
        place = words.past(place)
        if words.at(place) == ":":
            place = _past_type(words, place + 1, ("=>", ";"))
    elif words.is_name(place):
        place += 1
    return place + 1 if words.at(place) == "=>" else len(words)


def _members(words: Words, place: int, end: int, within: str) -> Iterator[Function]:
    """The methods of a class's body."""
    first = place
    while place < end:
        word = words.at(place)
        if word == "@":  # a decorator, and what it is given
            place += 2
            while words.at(place) == ".":
                place += 2
            place = words.past(place) if words.at(place) == "(" else place
        elif word == "(" or (word == "<" and words.at(words.past_angles(place)) == "("):
            name = ("#" if words.at(place - 2) == "#" else "") + words.at(place - 1)
            body = _body(words, words.past_angles(place))
            if words.at(body) == "{" and words.is_name(place - 1):
                yield words.function(within + name, first, words.closing(body))
            place = first = words.past(body) if words.at(body) in ("{", ";") else words.past(words.past_angles(place))
        elif word in ("=", ":"):
            place = first = _past_value(words, place + 1, end)
        else:
            place = words.past(place)
            first = place if word in (";", "{") else first


def _past_value(words: Words, place: int, end: int) -> int:
    """The place after a property: past its semicolon, or where a line begins that does not go on with it."""
    while place < end:
        if words.at(place) == ";":
            return place + 1
        place = words.past(place)
        begins = (
            place < end and words.begins_line(place) and (words.is_name(place) or words.at(place) in ("@", "#", "["))
        )
        if begins and words.at(place - 1) not in _GOES_ON and words.at(place) != "[":
            return place
    return place
