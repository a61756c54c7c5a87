"""What the product would say of a note on a function, some steps later: its own comparison, given contents in place of files.

The kinds of anchor that are compared, all on the same function at the same step:

    file     the whole file
    mtime    the whole file, flagged as soon as any step wrote it
    lines    the lines in which the function stood
    symbol   the function by its name
"""

from collections import OrderedDict
from typing import Final

from memd_daemon.errors import NoGrammar
from memd_daemon.ground import contents
from memd_daemon.ground.contents import content_digest
from memd_daemon.ground.judged import judged, taken
from memd_daemon.ground.source import Source
from memd_daemon.histories.truth import Function, Unreadable
from memd_daemon.model.event import Anchor

KINDS: Final = ("file", "mtime", "lines", "symbol")
SOURCES_KEPT_MAX: Final = 64


class Unnamed(Exception):
    """The product finds no symbol where the function stands, or several by its name: no such note can be written."""


class Noted:
    """The anchors of a note on a function, made from the file's content as it was. Raises Unnamed."""

    def __init__(self, source: Source, content: bytes, path: str, function: Function) -> None:
        self.symbol = _symbol(source, path, function)
        self.lines = _lines(source, path, function)
        self.file = content_digest([content])

    def flagged(self, now: Source, content: bytes, is_written: bool) -> dict[str, str]:
        """The signal that each kind of anchor raises on the present content; "" where it raises none. Raises Unreadable."""
        return {
            "file": "" if content_digest([content]) == self.file else "anchor_changed",
            "mtime": "mtime_newer" if is_written else "",
            "lines": _signal(now, self.lines),
            "symbol": _signal(now, self.symbol),
        }


def unchanged(is_written: bool) -> dict[str, str]:
    """Of a content that is, to the byte, what it was."""
    return {**dict.fromkeys(KINDS, ""), "mtime": "mtime_newer" if is_written else ""}


def gone() -> dict[str, str]:
    """Of a file that is no more."""
    return dict.fromkeys(KINDS, "anchor_missing")


def _signal(now: Source, anchor: Anchor) -> str:
    """Raises Unreadable."""
    try:
        return judged(anchor, now).signal
    except contents.Unreadable as error:
        raise Unreadable from error


def _symbol(source: Source, path: str, function: Function) -> Anchor:
    """By the name that a person would write, which must lead to one symbol, where the function stands."""
    try:
        found = source.named(function.name)
    except NoGrammar as error:
        raise Unnamed from error
    if len(found) != 1 or found[0].last < function.first or found[0].first > function.last:
        raise Unnamed
    name = source.kept_name(found[0], function.name)
    return taken(Anchor(form="symbol", path=path, part=name), source, found[0])


def _lines(source: Source, path: str, function: Function) -> Anchor:
    block = source.lines(function.first, function.last)
    if block is None:
        raise Unnamed
    return taken(Anchor(form="lines", path=path, part=f"L{function.first}-L{function.last}"), source, block)


class Sources:
    """Contents as the product reads them, each once while it is among the last SOURCES_KEPT_MAX."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], Source] = OrderedDict()

    def of(self, path: str, oid: str, content: bytes) -> Source:
        """By the file's path, which decides the language, and the content's id."""
        source = self._kept.pop((path, oid), None) or Source(path, content)
        self._kept[path, oid] = source
        if len(self._kept) > SOURCES_KEPT_MAX:
            self._kept.popitem(last=False)
        return source
