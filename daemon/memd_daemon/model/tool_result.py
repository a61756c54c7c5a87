"""What a tool gave a session, as memd keeps it: where it came from, and hashes of its words (evidence.md, "Sources"). Local."""

from typing import Final

import msgspec

from memd_daemon.model.words import SourceType

REPOSITORY: Final = "repository"
"""The origin of words that stand in the repository's own files: no source of a note's, and no rule either."""

UNTRUSTED_ORIGINS: Final = frozenset({SourceType.DOCUMENT.value, SourceType.TOOL.value})
"""Origins whose words make a note a document's or a tool's."""


class ToolResult(msgspec.Struct, frozen=True, array_like=True):
    """``hashes``: those of its words that no earlier result of the session has, 8 bytes each (index/shingles.py)."""

    session: str
    at: int  # UTC, Unix milliseconds
    origin: str  # "document", "tool" or REPOSITORY
    ref: str  # the address, the words searched for, the path, or the tool's name; one line
    hashes: bytes
