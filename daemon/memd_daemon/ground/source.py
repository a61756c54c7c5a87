"""One content of a file: its symbols and its lines, read and parsed at most once and only when asked for.

Pure of disk: who has the bytes may ask. ``Block`` is what an anchor's digest is taken from and compared with.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Final

import msgspec

from memd_daemon import errors
from memd_daemon.ground import syntax
from memd_daemon.ground.digests import lasting, unified
from memd_daemon.ground.languages import language_of
from memd_daemon.ground.lines import Lines
from memd_daemon.ground.names import Name, Valued, last_word, parts_of
from memd_daemon.ground.shapes.shape import Node
from memd_daemon.model.event import Anchor

_BOM: Final = b"\xef\xbb\xbf"


class Block(msgspec.Struct, frozen=True):
    """A definition or a stretch of lines. Lines count from 1, both included; digests have 16 bytes.

    ``digest`` is of the syntax tree for a symbol, of the text for lines; ``text`` of the text, line ends normalized. ``name`` is
    fully qualified (``Class.method``), "" for lines; ``bare`` without its namespaces. ``start`` and ``end`` are offsets in the
    normalized content.
    """

    name: str
    first: int
    last: int
    digest: bytes
    text: bytes
    start: int = 0
    end: int = 0
    bare: str = ""


class Source:
    """A file's content as it was on the disk, under the path that says its language."""

    def __init__(self, path: str, content: bytes) -> None:
        self.path = path
        self.content = unified(content.removeprefix(_BOM))

    @cached_property
    def language(self) -> str:
        """A key of languages.LANGUAGES; "" where no grammar reads this."""
        return language_of(self.path, self.content)

    @cached_property
    def grammar(self) -> str:
        """What a symbol's digest depends on, e.g. "python 0.25.0/1"; "" where no grammar reads this."""
        return syntax.grammar_of(self.language).name if self.language else ""

    @property
    def root(self) -> Node:
        """The root of the syntax tree. Raises NoGrammar."""
        if self._root is None:
            raise errors.NoGrammar(self.path, self.path)
        return self._root

    @cached_property
    def _root(self) -> Node | None:
        """None, and tried once, where no grammar reads this or it takes too much."""
        try:
            return syntax.parsed(syntax.grammar_of(self.language), self.content) if self.language else None
        except syntax.TooMuch:
            return None

    @property
    def gave_up(self) -> bool:
        """Whether it was to be parsed, and takes too much."""
        return bool(self.language) and self.__dict__.get("_root", self) is None

    @cached_property
    def _lines(self) -> Lines:
        return Lines(self.content)

    def named(self, symbol: str) -> tuple[Block, ...]:
        """The definitions that ``symbol`` names, in order: those whose qualified name it is, else all whose name ends with it.

        Several where it is ambiguous, or defined several times (overloads, a property and its setter). Raises NoGrammar.
        """
        wanted = parts_of(symbol)
        found = self._ending_with(wanted)
        return self._blocks([one for one in found if is_whole(one, wanted)] or found)

    def kept_name(self, block: Block, written: str) -> str:
        """By which name an anchor keeps a symbol: the whole of it, without namespaces where that leads to it alone.

        A package or module gets another name together with its file, and no line of the symbol is another one. Where several have
        its whole name it is kept as it was written.
        """
        names = (block.bare, block.name)
        return next((name for name in names if self.named(name) == (block,)), written)

    def _ending_with(self, wanted: Name) -> list[syntax.Definition]:
        if not self.language:
            raise errors.NoGrammar(self.path, self.path)
        if not wanted or not all(last_word(part) in self.content for part in wanted):
            return []  # nothing is read for a name that does not occur
        places = syntax.occurrences(self.content, last_word(wanted[-1]))
        found = syntax.definitions(syntax.grammar_of(self.language), self.root, places)
        return [one for one in found if one.name[-len(wanted) :] == wanted]

    def symbols(self) -> tuple[Block, ...]:
        """All definitions in order. Raises NoGrammar."""
        root = self.root
        return self._blocks(syntax.definitions(syntax.grammar_of(self.language), root))

    def _blocks(self, definitions: Iterable[syntax.Definition]) -> tuple[Block, ...]:
        """Blocks of definitions; names that one statement defines together share what is hashed once."""
        hashed: dict[tuple[int, ...], Block] = {}
        return tuple(self._block(one, hashed) for one in definitions)

    def _block(self, one: syntax.Definition, hashed: dict[tuple[int, ...], Block]) -> Block:
        key = tuple(node.id for node in one.nodes)
        if key not in hashed:
            text = self.content[one.start : one.end].rstrip()
            tree = syntax.tree_digest(syntax.grammar_of(self.language), one.nodes, self.content)
            last = one.first + text.count(b"\n")
            hashed[key] = Block("", one.first, last, tree, lasting(text), one.start, one.start + len(text))
        return msgspec.structs.replace(hashed[key], name=".".join(one.name), bare=".".join(one.name[one.spaces :]))

    def values(self, last: str) -> list[Valued]:
        """The names that end with the part ``last`` and have a value, in order. Empty where no grammar reads this."""
        places = syntax.occurrences(self.content, last.encode())
        if not self.language or not places:
            return []
        try:
            found = syntax.values(syntax.grammar_of(self.language), self.root, places)
        except errors.NoGrammar:
            return []
        return [one for one in found if one.name[-1] == last]

    def lines(self, first: int, last: int) -> Block | None:
        """The lines from first to last; None where the file has not all of them."""
        text = self._lines.stretch(first, last)
        if text is None:
            return None
        digest, start = lasting(text), self._lines.offset(first)
        return Block(name="", first=first, last=last, digest=digest, text=digest, start=start, end=start + len(text))

    def lead(self, first: int) -> bytes:
        """8 bytes, by which a stretch that begins with this line is looked for; b"" where there is no such line."""
        return self._lines.lead(first)

    def found_again(self, anchor: Anchor) -> Block | None:
        """The lines of an anchor, wherever they stand now: the nearest to where they were. None where they were not found."""
        first = self._lines.found(anchor.digest, anchor.first, anchor.lines, anchor.lead)
        return self.lines(first, first + anchor.lines - 1) if first else None

    def block(self, anchor: Anchor) -> Block | None:
        """What an anchor of form `symbol` or `lines` is about now; None where there is none.

        Of several symbols of that name the one that is the same, else the one that the name says best, and the nearest of these.
        Lines that were not found again: what stands at their place. Raises NoGrammar for a symbol.
        """
        if anchor.form == "lines":
            return self.found_again(anchor) or self.lines(anchor.first, anchor.first + anchor.lines - 1)
        wanted = parts_of(anchor.part)
        found = self._ending_with(wanted)
        best = sorted(found, key=lambda one: (not is_whole(one, wanted), abs(one.first - anchor.first)))
        blocks = self._blocks(best)
        same = (block for block in blocks if self.is_same(anchor, block))
        return next(same, None) or next(iter(blocks), None)

    def is_same(self, anchor: Anchor, block: Block) -> bool:
        """Whether a block is what the anchor was taken from: equal text, or an equal tree by the same grammar."""
        if anchor.form == "lines":
            return block.text == anchor.digest
        return block.text == anchor.text or (block.digest == anchor.digest and anchor.grammar == self.grammar)

    def text_of(self, block: Block) -> str:
        """A block's text, with LF at its line ends; what is no UTF-8 is replaced."""
        return self.content[block.start : block.end].decode("utf-8", "replace")


def is_whole(one: syntax.Definition, wanted: Name) -> bool:
    """Whether a name that a definition's ends with is all of it, namespaces aside."""
    return len(wanted) >= len(one.name) - one.spaces
