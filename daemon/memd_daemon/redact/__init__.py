"""Redaction: what must not be stored is taken out of every text before anything else sees it.

``Redactor.default().redact(text)``. Pure: the standard library's ``re`` and the rules of table.py; no I/O, no clock.
"""

from memd_daemon.redact.redactor import Redactor, Span

__all__ = ["Redactor", "Span"]
