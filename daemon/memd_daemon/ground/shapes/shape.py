"""What a grammar's nodes are to us: which of them define a name, which only hold or qualify definitions, which texts are folded.

A `Shape` is a table for one grammar; the tables stand beside this file, and syntax.py is all that reads them. Kinds that no table
names are neither looked into for definitions nor treated as anything but nodes of the tree.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

import msgspec

from memd_daemon.ground.names import Name, key_parts, parts_of


class Node(Protocol):
    """What is used of a grammar's node."""

    @property
    def type(self) -> str: ...
    @property
    def kind_id(self) -> int: ...
    @property
    def text(self) -> bytes | None: ...
    @property
    def children(self) -> Sequence["Node"]: ...
    @property
    def named_children(self) -> Sequence["Node"]: ...
    @property
    def start_byte(self) -> int: ...
    @property
    def end_byte(self) -> int: ...
    @property
    def is_named(self) -> bool: ...
    def child_by_field_name(self, name: str, /) -> "Node | None": ...
    def children_by_field_name(self, name: str, /) -> Sequence["Node"]: ...


Namer = Callable[[Node], Sequence[Name]]
"""(a node that may define) -> the names that it defines; none where it defines nothing after all."""

Text = Callable[[bytes], bytes]
"""What counts of the text of a leaf, or of a node that is taken as one; b"" is nothing at all."""


def text_of(node: Node | None) -> str:
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""


def target_of(node: Node) -> Name:
    return key_parts(text_of(node))


def nowhere(_node: Node) -> bool:
    return False


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """How to read the trees of one grammar, by the kinds of its nodes."""

    # definitions
    defines: Mapping[str, Namer]
    values: frozenset[str] = frozenset()  # of these: a definition only outside of functions (constants, fields) …
    is_function: Callable[[Node], bool] = nowhere  # … unless its value is a function
    functions: frozenset[str] = frozenset()  # whatever is inside is local to them
    declares: frozenset[str] = (
        frozenset()
    )  # of these: part of the same name's definition by another kind, where that follows
    # at once (overloads); else left out where there is one in the same file (prototypes)
    # what is around definitions
    holders: frozenset[str] = frozenset()  # looked through
    scopes: Mapping[str, Namer] = {}  # looked through, and they qualify what is inside (`impl`)
    spaces: Mapping[
        str, Namer
    ] = {}  # likewise, of names that nobody has to write (namespaces); without a body: what follows
    wrappers: frozenset[str] = frozenset()  # looked through, and the definition begins with them (decorators, export)
    lists: frozenset[str] = frozenset()  # wrappers where they hold one definition, holders where they hold more
    leads: frozenset[str] = frozenset()  # siblings that belong to the definition that follows (attributes)
    trails: frozenset[str] = frozenset()  # siblings that belong to what stands before them (the text of a heredoc)
    # values
    assigns: Mapping[str, tuple[str, str]] = {}  # kind -> its fields of the name and of the value
    target: Callable[[Node], Name] = target_of  # the name in the first of these fields
    # the digest
    comments: frozenset[str] = frozenset({"comment"})  # left out
    texts: Mapping[str, Text] = {}  # of these the text counts, changed so, and not what they consist of
    prose: Mapping[
        str, str
    ] = {}  # kind -> the kind of its only child that is prose (a docstring), taken without its margin


def by_field(field: str) -> Namer:
    """Names a node by one of its fields, which may be qualified and have type arguments."""

    def named(node: Node) -> Sequence[Name]:
        name = parts_of(text_of(node.child_by_field_name(field)))
        return [name] if name else []

    return named


def plain(node: Node) -> Sequence[Name]:
    """Names a node by its field `name`, as it stands there."""
    name = text_of(node.child_by_field_name("name"))
    return [(name,)] if name else []


BY_NAME: Final = by_field("name")


def all_by(namer: Namer, kinds: str) -> dict[str, Namer]:
    """The same namer for several kinds."""
    return dict.fromkeys(kinds.split(), namer)


def kinds(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


def verbatim(text: bytes) -> bytes:
    return text


def without_margin(text: bytes) -> bytes:
    """Prose of several lines without what all lines but the first are indented by, and without blanks at line ends."""
    first, *rest = (line.rstrip() for line in text.expandtabs().split(b"\n"))
    margin = min((len(line) - len(line.lstrip()) for line in rest if line), default=0)
    return b"\n".join([first, *(line[margin:] for line in rest)])
