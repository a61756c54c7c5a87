"""What an anchor's block said when its digest was taken, and what it says now: for people who look at a note that may be stale.

The old text stands in no note; it is looked for in git, by the digest: in the commit that the note names, then in those after it (a
note is often written before what it is about is committed), then in those before. Where no commit has it, nobody has it any more.
"""

import os
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import msgspec

from memd_daemon import limits
from memd_daemon.errors import NoGrammar
from memd_daemon.ground.contents import Unreadable, is_below, read_below
from memd_daemon.ground.digests import lasting, unified
from memd_daemon.ground.history import History
from memd_daemon.ground.source import Source
from memd_daemon.ground.spelling import located
from memd_daemon.model.event import Anchor


class Text(msgspec.Struct, frozen=True):
    """A block, or a whole file. ``first``: the number of its first line."""

    text: str
    first: int = 1
    commit: str = ""  # where it was found; "" for the working tree


class Unseen(Exception):
    """What is in the checkout cannot be read, or not as text."""


def earlier(root: Path, anchor: Anchor) -> Text | None:
    """What the anchor was taken from; None where no commit that is looked at has it."""
    history = History(root, time.monotonic_ns() + limits.EARLIER_LOOK_MS * limits.NS_PER_MS)
    for commit, blob in _versions(history, anchor):
        content = history.content(blob)
        found = None if content is None else _taken_from(anchor, content)
        if found is not None:
            return msgspec.structs.replace(found, commit=commit)
    return None


def _versions(history: History, anchor: Anchor) -> Iterator[tuple[str, str]]:
    """(commit, blob) of the contents that the path had, the likeliest first, each once."""
    base, head = history.commit(anchor.commit), history.head()
    here = history.at(base, anchor.path) if base else None
    first = [(base, here.blob)] if here is not None and here.is_file else []
    since = reversed(list(history.versions(anchor.path, head, since=base))) if base and head else ()
    tips = [tip for tip in dict.fromkeys((base, head)) if tip]
    rest = (version for tip in tips for version in history.versions(anchor.path, tip))
    seen = set[str]()
    for commit, blob in chain(first, since, rest):
        if blob not in seen:
            seen.add(blob)
            yield commit, blob


def _taken_from(anchor: Anchor, content: bytes) -> Text | None:
    """The anchor's text in a content, where it stands there to the digest."""
    if anchor.form == "file":
        same = lasting(unified(content)) == anchor.digest
        return Text(unified(content).decode("utf-8", "replace")) if same else None
    source = Source(anchor.path, content)
    try:
        block = source.block(anchor)
    except NoGrammar:
        return None
    if block is None or not source.is_same(anchor, block):
        return None
    return Text(source.text_of(block), block.first)


def present(root: Path, anchor: Anchor, to: str = "") -> Text | None:
    """What stands there now; ``to``: where the file has gone. None where there is no such file or block. Raises Unseen."""
    content = _read(str(root), located(str(root), to or anchor.path))
    if content is None:
        return None
    if anchor.form == "file":
        return Text(unified(content).decode("utf-8", "replace"))
    source = Source(to or anchor.path, content)
    try:
        block = source.block(anchor)
    except NoGrammar as error:
        raise Unseen from error
    return None if block is None else Text(source.text_of(block), block.first)


def _read(root: str, path: str) -> bytes | None:
    """A regular file's content; None where the root has none. Raises Unseen for one that is too large or cannot be read."""
    try:
        if not (os.path.isfile(path) and is_below(root, path)):
            return None
        return read_below(root, path, limits.MOVED_FILE_MAX_BYTES)
    except (OSError, Unreadable) as error:
        raise Unseen from error
