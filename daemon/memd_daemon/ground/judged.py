"""What a content says of a part of it that a note is anchored to, and what is kept of that part. Pure of the disk.

- A **symbol** stands while its text or its syntax tree is what it was, wherever in the file it is now; `block_changed` where it is
  another one, `block_missing` where there is none of its name.
- A stretch of **lines** stands while its text is found; else it has changed, or is missing where the file ends before it.
- A **claim** is evaluated again; where it does not hold any more, what holds now is told.
"""

import msgspec

from memd_daemon import limits
from memd_daemon.errors import NoGrammar
from memd_daemon.ground.claims import claim_of, verdict
from memd_daemon.ground.contents import Answer, Unreadable
from memd_daemon.ground.source import Block, Source
from memd_daemon.model.event import Anchor

ABSENT = "!"
_TEXT = "~ "


def is_absence(anchor: Anchor) -> bool:
    """Whether the anchor claims that its file is absent."""
    return anchor.form == "claim" and anchor.part == ABSENT


def is_parsed(anchor: Anchor) -> bool:
    """Whether its file has to be parsed for it, rather than searched."""
    return anchor.form == "symbol" or (anchor.form == "claim" and not anchor.part.startswith((_TEXT, ABSENT)))


def is_beyond(anchor: Anchor, source: Source) -> bool:
    """Whether nothing can be said of a named value, since the file is too large to be parsed or no text: it may stand there."""
    is_unread = len(source.content) > limits.SYNTAX_FILE_MAX_BYTES or b"\0" in source.content
    return is_unread and anchor.form == "claim" and is_parsed(anchor)


def judged(anchor: Anchor, source: Source) -> Answer:
    """What the content says of a symbol, lines or claim anchor. Raises Unreadable where no grammar reads the file of a symbol."""
    if anchor.form == "claim":
        if is_beyond(anchor, source):
            raise Unreadable
        found = verdict(claim_of(anchor.path, anchor.part), source)
        if source.gave_up and not found.holds:
            raise Unreadable
        return Answer() if found.holds else Answer("claim_broken", found.now)
    try:
        block = source.block(anchor)
    except NoGrammar:
        raise Unreadable from None
    if block is None:
        return Answer("block_missing")
    return Answer() if source.is_same(anchor, block) else Answer("block_changed")


def taken(anchor: Anchor, source: Source, block: Block) -> Anchor:
    """The anchor with what finds this block again."""
    is_symbol = anchor.form == "symbol"
    return msgspec.structs.replace(
        anchor,
        digest=block.digest,
        first=block.first,
        lines=block.last - block.first + 1,
        lead=b"" if is_symbol else source.lead(block.first),
        text=block.text if is_symbol else b"",
        grammar=source.grammar if is_symbol else "",
    )
