"""What a client's own transcript is asked: did a person type this prompt, in these words, in the conversation that went on from it.

One module per client (``claude_transcript``, ``codex_transcript``) knows its rows; ``transcripts.BY_NAME`` names them. They are
pure functions over lines: whoever calls them has opened the file, and says what stood in it before the client called its prompt
hook (``before``) and what came after (``after``). A client writes a prompt's row only once the hooks of the prompt have ended, so
a row that was there before is somebody else's.

**What a reader cannot know** is who wrote a line: a transcript is a file of the user's, and everything that runs as this user can
append to it. So besides the words it looks at what is tedious to forge and has to go on fitting: the rows that the client writes
later go on from the prompt's row by the client's own links. SECURITY.md says what that does not stop.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Final, Protocol

import msgspec

APART_MAX_MS: Final = 120_000
"""How far a row's own time may lie from the hook's: a hook has 30 s, and a prompt that was queued waits for a tool to end."""


class Finding(StrEnum):
    """What a transcript says of a prompt, beginning with the row that fits best."""

    AGREES = "agrees"
    UNANSWERED = "unanswered"  # a row as it should be, and no answer behind it yet
    ASIDE = "aside"  # a row as it should be, but the conversation does not go on from it
    NOBODY = "nobody"  # a row of this prompt, in these words, that says of itself that no person typed it
    OTHER_WORDS = "other-words"  # a row of this prompt, in other words
    ABSENT = "absent"  # no such row yet


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """What a hook told. ``is_said``: whether a text is the prompt's as it was stored; ``at_ms``: UTC, Unix milliseconds."""

    session: str
    id: str
    at_ms: int
    is_said: Callable[[str], bool]


class Lines(msgspec.Struct, frozen=True, kw_only=True):
    """Whole lines of a transcript. ``first`` is its very first, b"" where unknown; ``from_start``: ``before`` begins there."""

    before: Sequence[bytes]
    after: Sequence[bytes]
    first: bytes = b""
    from_start: bool = False


class Transcript(Protocol):
    """What a client's module offers."""

    def folder(self, environ: Mapping[str, str]) -> str:
        """The folder in which a client that was started with this environment keeps its transcripts; "" for an unknown one."""
        ...

    def is_of(self, inside: PurePosixPath, session: str) -> bool:
        """Whether a path, from that folder, is where the client keeps this session's transcript."""
        ...

    def finding(self, lines: Lines, prompt: Prompt) -> Finding:
        """Total."""
        ...


def best(findings: Iterator[Finding]) -> Finding:
    """The one that counts: that of the row which fits best."""
    order = list(Finding)
    return min(findings, key=order.index, default=Finding.ABSENT)


def is_near(written: str, at_ms: int) -> bool:
    """Whether an ISO time with its zone is the moment of a hook, or close to it."""
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        return False
    return moment.tzinfo is not None and abs(moment.timestamp() * 1_000 - at_ms) <= APART_MAX_MS
