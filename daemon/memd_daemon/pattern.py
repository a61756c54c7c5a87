"""Patterns that are compiled when they are first asked: all of them take 30 ms, and a daemon's start has no use for any."""

import re
from typing import Any, Final, cast

_ASKED: Final = ("match", "fullmatch", "search", "finditer", "findall", "split", "sub", "subn", "pattern", "flags")


class _Pattern:
    """Passes for `re.Pattern`. From the first question on it has the compiled one's own methods, so that none costs a call more."""

    def __init__(self, text: str, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name not in _ASKED:
            raise AttributeError(name)
        compiled = re.compile(self._text, self._flags)
        for one in _ASKED:
            setattr(self, one, getattr(compiled, one))
        return getattr(compiled, name)


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """`re.compile`, put off. Raises re.error at the first question, not here."""
    return cast("re.Pattern[str]", _Pattern(text, flags))
