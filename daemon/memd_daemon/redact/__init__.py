"""Redaction: what must not be stored is taken out of every text before anything else sees it.

``redact(text)``, or ``Redactor.default()``. Pure: the standard library's ``re`` and the rules of table.py; no I/O, no clock.

The redactor is imported at its first use: its patterns are much of what a start would have to wait for.
"""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memd_daemon.redact.redactor import Redactor, Span

__all__ = ["Redactor", "Span", "redact", "redact_lines"]


def redact(text: str) -> str:
    """``text`` with every credential and every private block replaced. Idempotent."""
    return _default().redact(text)


def redact_lines(text: str) -> str:
    """Likewise with every line in its place."""
    return _default().redact_lines(text)


@cache
def _default() -> "Redactor":
    from memd_daemon.redact.redactor import Redactor

    return Redactor.default()


def __getattr__(name: str) -> object:
    if name in ("Redactor", "Span"):
        from memd_daemon.redact import redactor

        return getattr(redactor, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
