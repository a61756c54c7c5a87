"""What somebody gave, checked as text: whole, on one line where it stands on one of memd's, and free of credentials."""

import unicodedata
from collections.abc import Sized

from memd_daemon import errors, limits
from memd_daemon.service.names import is_safe
from memd_daemon.service.text import told_back


def encodable(value: str, what: str) -> None:
    """Raises NotUnicode."""
    try:
        value.encode()
    except UnicodeEncodeError as surrogate:
        raise errors.NotUnicode(what) from surrogate


def on_one_line(kept: str, what: str) -> str:
    """Raises TextTooLong, NotOneLine."""
    if len(kept) > limits.LINE_MAX_CHARS:
        raise errors.TextTooLong(what, len(kept), limits.LINE_MAX_CHARS)
    refuse_lines(kept, what)
    return kept


def refuse_lines(kept: str, what: str) -> None:
    """Raises NotOneLine."""
    if any(unicodedata.category(c) in ("Cc", "Zl", "Zp") for c in kept):
        raise errors.NotOneLine(what)


def kept_whole(name: str, what: str) -> str:
    """A name that is kept as it is. Raises NameHoldsSecret."""
    if not is_safe(name):
        raise errors.NameHoldsSecret(what)
    return name


def refuse_many(what: str, given: Sized, limit: int) -> None:
    """Raises TooMany."""
    if len(given) > limit:
        raise errors.TooMany(what, len(given), limit)


def shown(given: str) -> str:
    """What was given, as a refusal repeats it."""
    return told_back(given, limits.LINE_MAX_CHARS)
