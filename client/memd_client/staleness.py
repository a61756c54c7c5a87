"""Notes that need a look, on the wire: what of their ground has moved, and what to do.

Times and the rule for changes are those of api.py, which has these names too.
"""

import msgspec

from memd_client.asking import Count, Request
from memd_client.values import NoteOut


class GroundDiffOut(msgspec.Struct, frozen=True, kw_only=True):
    """What has become of one anchor's file, symbol or lines since the note was written or confirmed."""

    path: str
    part: str  # the symbol or the lines, as written; "" for a whole file
    to: str  # where the file was renamed to
    state: str  # diff; unknown: no commit has the old text; too-different, unreadable
    commit: str  # that has the old text; "" where none was found
    lines: list[str]  # of a unified diff, as they are: whoever shows them on a terminal escapes them
    more: int = 0  # how many further lines there are


class StaleNoteOut(msgspec.Struct, frozen=True, kw_only=True):
    note: NoteOut
    verdicts: list[str]  # the lines of memd's own that a recall adds
    delivered: int  # how often hooks told it, of the deliveries that are kept
    last_delivered_at: str
    confirm: str  # what to type where it still holds
    revoke: str  # and where it does not
    diffs: list[GroundDiffOut]


class StaleReply(msgspec.Struct, frozen=True, kw_only=True):
    notes: list[StaleNoteOut]  # the most delivered first
    more: int = 0  # how many further ones there are
    looked_at: int = 0  # notes with something to look at


class Stale(Request, frozen=True):
    """The notes that hold here and whose ground has moved in this checkout."""

    VERB = "stale"
    REPLY = StaleReply

    limit: Count = 50
    offset: Count = 0
