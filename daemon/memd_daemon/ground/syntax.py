"""Syntax trees: the definitions of a file, and a digest of each that formatting and comments do not change.

The only module that knows tree-sitter and its grammars. A grammar is loaded when the first file of its language is read (one takes
under 1 ms and 0.3 to 5 MB; tree-sitter itself, once, some 10 ms and 2 MB), so that who has no symbol anchors pays for none.

**Digest.** 16 bytes of SHA-256 over the nodes of a definition in order, each token followed by a NUL, which no source that is read
holds: ``(kind`` … ``)`` for a node with children, ``=kind`` and then its text for a leaf, ``~`` and then the text for what the
grammar passes over without a node (broken places). Left out: comments, line continuations, white space between nodes, and leaves
that are white space by their kind. Taken as a leaf whatever they consist of: the texts that a Shape names. Prose that stands as a
statement of its own (a docstring) is taken without its margin, so that it moves with its function.

Broken source is read as well: what a grammar cannot place becomes an ``ERROR`` node, which is hashed like any other, and
definitions inside of one are found.

Nothing here recurses, since nesting is whatever a file says. Reading is bounded by limits.SYNTAX_*.
"""

import importlib
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from memd_daemon import limits
from memd_daemon.ground.digests import lasting
from memd_daemon.ground.languages import LANGUAGES
from memd_daemon.ground.names import Name, Valued
from memd_daemon.ground.shapes.shape import Node, Shape, Text, text_of, without_margin

if TYPE_CHECKING:
    from tree_sitter import Language as TreeLanguage


class Definition(msgspec.Struct, frozen=True):
    """A named definition: the nodes it consists of, side by side (attributes, then the thing itself).

    The first ``spaces`` parts of its name are of namespaces: a name without them is whole.
    """

    name: Name
    spaces: int
    kind: str
    nodes: tuple[Any, ...]  # of tree-sitter's Node

    @property
    def first(self) -> int:
        """Its first line, from 1."""
        return int(self.nodes[0].start_point[0]) + 1

    @property
    def start(self) -> int:
        return int(self.nodes[0].start_byte)

    @property
    def end(self) -> int:
        return int(self.nodes[-1].end_byte)


class TooMuch(Exception):
    """The source takes more steps to read, or has more nodes, than memd reads."""


class _Kind(msgspec.Struct, frozen=True):
    """What to do with a node of one kind. ``is_plain``: its children say it all, where it has any."""

    opening: bytes
    leaf: bytes
    is_plain: bool
    is_skipped: bool
    text: Text | None
    prose: str


class Grammar:
    """One language's grammar, loaded."""

    def __init__(self, name: str) -> None:
        from importlib.metadata import version  # 15 ms, once a symbol is asked for, and not when the daemon starts

        from tree_sitter import Language

        from memd_daemon.ground.shapes.table import SHAPES

        language = LANGUAGES[name]
        self.shape: Shape = SHAPES[name]
        self.language: TreeLanguage = Language(getattr(importlib.import_module(language.module), language.entry)())
        self.name = f"{name} {version(language.wheel)}/{limits.SYNTAX_DIGEST_FORMAT}"
        self.kinds: dict[int, _Kind] = {}

    def kind(self, node: Node) -> _Kind:
        known = self.kinds.get(node.kind_id)
        if known is None:
            known = self.kinds[node.kind_id] = _kind(node.type, node.is_named, self.shape)
        return known


def _kind(name: str, is_named: bool, shape: Shape) -> _Kind:
    is_skipped = name in shape.comments if is_named else not name or name.isspace()
    text = shape.texts.get(name) if is_named else None
    prose = shape.prose.get(name, "") if is_named else ""
    is_plain = not (is_skipped or text or prose)
    return _Kind(f"({name}".encode(), f"={name}".encode(), is_plain, is_skipped, text, prose)


@cache
def grammar_of(language: str) -> Grammar:
    """The grammar of a language that LANGUAGES names; loads it the first time."""
    return Grammar(language)


def parsed(grammar: Grammar, content: bytes) -> Node:
    """The root of the content's tree. Raises TooMuch. ``content`` holds no NUL and LF alone."""
    from tree_sitter import Parser

    steps = reads = 0

    def is_enough(_offset: int, _is_broken: bool) -> bool:
        nonlocal steps
        steps += 1
        return steps > limits.SYNTAX_STEPS_MAX or reads > limits.SYNTAX_READS_MAX

    def block_at(offset: int, _place: object) -> bytes:
        nonlocal reads
        reads += 1
        return content[offset : offset + limits.SYNTAX_READ_BYTES]

    try:
        tree = Parser(grammar.language).parse(block_at, progress_callback=is_enough)
    except ValueError as error:  # what tree-sitter raises where it was told to stop
        raise TooMuch from error
    if tree.root_node.descendant_count > limits.SYNTAX_NODES_MAX:
        raise TooMuch
    return tree.root_node


def tree_digest(grammar: Grammar, nodes: Sequence[Node], content: bytes) -> bytes:
    """The digest of nodes that stand side by side, as the module's docstring says."""
    return lasting(b"\0".join(token for node in nodes for token in _tokens(grammar, node, content)))


def _tokens(grammar: Grammar, root: Node, content: bytes) -> list[bytes]:
    """One loop over all nodes: this is where the time goes, so it calls little and asks a node for little."""
    tokens: list[bytes] = []
    stack: list[Node | None] = [root]
    known, kind_of = grammar.kinds, grammar.kind
    at = root.start_byte
    while stack:
        node = stack.pop()
        if node is None:
            tokens.append(b")")
            continue
        kind = known.get(node.kind_id) or kind_of(node)
        children = node.children
        text = None if kind.is_plain else kind.text or _prose(kind, children)
        if children and not (kind.is_skipped or text):
            tokens.append(kind.opening)
            stack.append(None)
            stack += reversed(children)
            continue
        start, end = node.start_byte, node.end_byte
        if start > at and not (passed := content[at:start]).isspace():
            tokens += (b"~", passed.strip())
        at = max(at, end)
        if not kind.is_skipped:
            raw = content[start:end]
            counted = text(raw) if text else raw
            if counted or not raw:
                tokens += (kind.leaf, counted)
    return tokens


def _prose(kind: _Kind, children: Sequence[Node]) -> Text | None:
    is_prose = kind.prose and len(children) == 1 and children[0].type == kind.prose
    return without_margin if is_prose else None


def occurrences(content: bytes, word: bytes) -> list[int]:
    """Where a word stands, in order."""
    found, at = [], content.find(word)
    while at >= 0:
        found.append(at)
        at = content.find(word, at + 1)
    return found


def definitions(grammar: Grammar, root: Node, places: Sequence[int] | None = None) -> list[Definition]:
    """The definitions of a tree in the order of the source, at most SYMBOLS_MAX.

    With ``places`` only those in which one of these offsets lies, as every one does whose name stands there.
    """
    shape = grammar.shape
    found = list(islice(_found(shape, root, places), limits.SYMBOLS_MAX))
    declared = {one.nodes[-1].id: one for one in found if one.kind in shape.declares}
    defined = {one.name for one in found if one.kind not in shape.declares}
    kept = (
        _with_declared(shape, one, declared) if declared else one
        for one in found
        if one.kind not in shape.declares or one.name not in defined
    )
    return sorted(kept, key=lambda one: (one.start, -one.end))


def _with_declared(shape: Shape, one: Definition, declared: Mapping[int, Definition]) -> Definition:
    """The definition with the declarations of its name that stand right before it."""
    nodes = one.nodes
    while one.kind not in shape.declares:
        before = nodes[0].prev_named_sibling
        while before is not None and before.type in shape.comments:
            before = before.prev_named_sibling
        earlier = declared.get(before.id) if before is not None else None
        if earlier is None or earlier.name != one.name:
            break
        nodes = (*earlier.nodes, *nodes)
    return msgspec.structs.replace(one, nodes=nodes)


class _Place(msgspec.Struct, frozen=True):
    """A node to look into: what qualifies the names inside, and where a definition inside would begin."""

    node: Any
    scope: Name = ()
    spaces: int = 0
    is_local: bool = False
    begins: tuple[Any, ...] = ()


def _found(shape: Shape, root: Node, places: Sequence[int] | None) -> Iterator[Definition]:
    stack = [_Place(root)]
    while stack:
        place = stack.pop()
        for child, around in _children(shape, place.node):
            kind = child.type
            if kind in shape.spaces and child.child_by_field_name("body") is None:
                place = _entered(shape, place, child, place.node)
                continue
            if places is not None and not _holds(child, places):
                continue
            begins = place.begins or around
            names = [name for name in _names(shape, child, place.is_local) if _is_name((*place.scope, *name))]
            for name in names:
                yield Definition((*place.scope, *name), place.spaces, kind, begins)
            stack += _inside(shape, child, place, names, begins)


def _is_name(name: Name) -> bool:
    """Whether somebody could write it: broken source defines what has line breaks and whole statements in it."""
    is_one = all(part.removeprefix("operator ").split() == [part.removeprefix("operator ")] for part in name)
    return is_one and sum(map(len, name)) <= limits.SYMBOL_MAX_CHARS


def _holds(node: Node, places: Sequence[int]) -> bool:
    at = bisect_left(places, node.start_byte)
    return at < len(places) and places[at] < node.end_byte


def _children(shape: Shape, node: Node) -> Iterator[tuple[Node, tuple[Node, ...]]]:
    """The children that may define, each with what belongs to it before and behind."""
    leads: list[Node] = []
    held: tuple[Node, ...] = ()  # what belongs to the last child; a trail may still follow
    last: Node | None = None
    for child in node.children:
        kind = child.type
        if kind in shape.comments or not child.is_named:
            continue
        if kind in shape.trails:
            held = (*held, child)
        elif kind in shape.leads:
            leads.append(child)
        else:
            if last is not None:
                yield last, held
            last, held, leads = child, (*leads, child), []
    if last is not None:
        yield last, held


def _names(shape: Shape, node: Node, is_local: bool) -> Sequence[Name]:
    namer = shape.defines.get(node.type)
    if namer is None or (is_local and node.type in shape.values and not shape.is_function(node)):
        return ()
    return namer(node)


def _inside(
    shape: Shape, node: Node, place: _Place, names: Sequence[Name], begins: tuple[Node, ...]
) -> Sequence[_Place]:
    """Where definitions inside of a node are looked for: nowhere, or in the node, qualified by what it is."""
    kind, scope = node.type, place.scope
    is_local = place.is_local or kind in shape.functions
    if len(scope) >= limits.SYMBOL_DEPTH_MAX:
        return ()
    if not names and kind in shape.spaces:
        return (_entered(shape, place, node, node),)
    is_wrapper = kind in shape.wrappers or (kind in shape.lists and _is_one(shape, node))
    if names or kind in shape.scopes:
        scope = (*scope, *next(iter(names or shape.scopes[kind](node)), ()))
    elif not (is_wrapper or kind in shape.holders or kind in shape.lists or kind in shape.defines or kind == "ERROR"):
        return ()
    return (_Place(node, scope, place.spaces, is_local, begins if is_wrapper and not names else ()),)


def _entered(shape: Shape, place: _Place, space: Node, node: Node) -> _Place:
    """A namespace around what is inside of a node, or, where it has no body, around what follows."""
    name = next(iter(shape.spaces[space.type](space)), ())
    spaces = place.spaces + len(name) if place.spaces == len(place.scope) else place.spaces
    return _Place(node, (*place.scope, *name), spaces)


def _is_one(shape: Shape, node: Node) -> bool:
    return sum(child.type in shape.defines for child in node.named_children) == 1


def values(grammar: Grammar, root: Node, places: Sequence[int]) -> list[Valued]:
    """Every name that a literal or expression is given to, qualified by definitions and by keys around it, in order.

    Only where one of the offsets ``places`` lies.
    """
    shape, found = grammar.shape, []
    stack: list[tuple[Node, Name, Name]] = [(root, (), ())]
    while stack:
        node, scope, own = stack.pop()
        kind = node.type
        given = _given(node, *shape.assigns[kind]) if kind in shape.assigns else ()
        named = [(shape.target(left), right) for left, right in given]
        if own and [name for name, _ in named] == [own]:
            scope = scope[: -len(own)]  # the definition around it is of this very name
        found += [Valued((*scope, *name), text_of(right)) for name, right in named if name]
        inner = named[0][0] if len(named) == 1 else () if named else _only(shape, node)
        own = inner if not named and kind in shape.values else own if not inner else ()
        scope = (*scope, *inner)
        if len(scope) <= limits.SYMBOL_DEPTH_MAX:
            inside = (child for child in node.named_children if _holds(child, places))
            stack += [(child, scope, own) for child in reversed(list(inside))]
    return found


def _only(shape: Shape, node: Node) -> Name:
    """The one name that a node defines or qualifies by; () where it has none or several."""
    for table in (shape.defines, shape.scopes, shape.spaces):
        names = table[node.type](node) if node.type in table else ()
        if len(names) == 1:
            return names[0]
    return ()


def _given(node: Node, name_field: str, value_field: str) -> Sequence[tuple[Node, Node]]:
    """The names of an assignment with the value of each: ``a, b = 1, 2`` has two, in ``a = b = 1`` a has the last one."""
    right = _value(node, value_field)
    for _ in range(limits.SYMBOL_DEPTH_MAX):
        if right is None or right.type != node.type:
            break
        right = _value(right, value_field)
    lefts = [one for one in node.children_by_field_name(name_field) if one.is_named] or list(node.named_children[:1])
    if right is None or not lefts:
        return ()
    if len(lefts) == 1 and lefts[0].type.endswith("_list"):
        lefts = list(lefts[0].named_children)
    rights = right.named_children if right.type.endswith("_list") else [right]
    return list(zip(lefts, rights, strict=True)) if len(lefts) == len(rights) else [(lefts[0], right)]


def _value(node: Node, field: str) -> Node | None:
    """The value in its field, or what follows the ``=`` where the grammar has no field for it."""
    value = node.child_by_field_name(field)
    if value is None:
        marks = [child.type in ("=", "=>") for child in node.children[:-1]]
        value = node.children[-1] if any(marks) else None
    return value
