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
import importlib.metadata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from memd_daemon import limits
from memd_daemon.ground.digests import lasting
from memd_daemon.ground.languages import LANGUAGES
from memd_daemon.ground.names import Name, Valued, key_parts
from memd_daemon.ground.shapes import Node, Shape, Text, text_of, without_margin
from memd_daemon.ground.shapes_python import PYTHON

if TYPE_CHECKING:
    from tree_sitter import Language as TreeLanguage

SHAPES: Final = {"python": PYTHON}


class Definition(msgspec.Struct, frozen=True):
    """A named definition: the nodes it consists of, side by side (attributes, then the thing itself)."""

    name: Name
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
    """What to do with a node of one kind."""

    opening: bytes
    leaf: bytes
    is_skipped: bool
    text: Text | None
    prose: str


class Grammar:
    """One language's grammar, loaded."""

    def __init__(self, name: str) -> None:
        from tree_sitter import Language  # once a symbol is asked for, and not when the daemon starts

        language = LANGUAGES[name]
        self.shape: Shape = SHAPES[name]
        self.language: TreeLanguage = Language(getattr(importlib.import_module(language.module), language.entry)())
        wheel = importlib.metadata.version(language.wheel)
        self.name = f"{name} {wheel}/{limits.SYNTAX_DIGEST_FORMAT}"
        self._kinds: dict[int, _Kind] = {}

    def kind(self, node: Node) -> _Kind:
        known = self._kinds.get(node.kind_id)
        if known is None:
            known = self._kinds[node.kind_id] = _kind(node.type, node.is_named, self.shape)
        return known


def _kind(name: str, is_named: bool, shape: Shape) -> _Kind:
    return _Kind(
        opening=f"({name}".encode(),
        leaf=f"={name}".encode(),
        is_skipped=(is_named and name in shape.comments) or (not is_named and (not name or name.isspace())),
        text=shape.texts.get(name) if is_named else None,
        prose=shape.statements.get(name, "") if is_named else "",
    )


@cache
def grammar_of(language: str) -> Grammar:
    """The grammar of a language that LANGUAGES names; loads it the first time."""
    return Grammar(language)


def parsed(grammar: Grammar, content: bytes) -> Node:
    """The root of the content's tree. Raises TooMuch. ``content`` holds no NUL and LF alone."""
    from tree_sitter import Parser

    steps = 0

    def is_enough(_offset: int, _is_broken: bool) -> bool:
        nonlocal steps
        steps += 1
        return steps > limits.SYNTAX_STEPS_MAX

    def block_at(offset: int, _place: object) -> bytes:
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
    return lasting(b"\0".join(_tokens(grammar, nodes, content)))


def _tokens(grammar: Grammar, nodes: Sequence[Node], content: bytes) -> list[bytes]:
    """One loop over all nodes: this is where the time goes (some 0.3 µs a node), so it calls little."""
    tokens: list[bytes] = []
    stack: list[Node | None] = list(reversed(nodes))
    known, kind_of = grammar._kinds, grammar.kind
    at = nodes[0].start_byte
    while stack:
        node = stack.pop()
        if node is None:
            tokens.append(b")")
            continue
        kind = known.get(node.kind_id) or kind_of(node)
        children = node.children
        if children and kind.prose and len(children) == 1 and children[0].type == kind.prose:
            text: Text | None = without_margin
        else:
            text = kind.text
        start = node.start_byte
        if start > at and not (passed := content[at:start]).isspace():
            tokens += (b"~", passed.strip())
        if start > at:
            at = start
        if kind.is_skipped:
            at = max(at, node.end_byte)
        elif children and text is None:
            tokens.append(kind.opening)
            stack.append(None)
            stack.extend(reversed(children))
        else:
            at = max(at, node.end_byte)
            raw = content[start : node.end_byte]
            counted = text(raw) if text else raw
            if counted or not raw:
                tokens += (kind.leaf, counted)
    return tokens


def definitions(grammar: Grammar, root: Node) -> list[Definition]:
    """Every definition of a tree in the order of the source, at most SYMBOLS_MAX."""
    found = _found(grammar.shape, root)
    return sorted(found, key=lambda one: (one.start, -one.end))


class _Place(msgspec.Struct, frozen=True):
    """A node to look into: what qualifies the names inside, and where a definition inside would begin."""

    node: Any
    scope: Name
    is_local: bool
    begins: tuple[Any, ...] = ()


def _found(shape: Shape, root: Node) -> Iterator[Definition]:
    stack, count = [_Place(root, (), False)], 0
    while stack and count < limits.SYMBOLS_MAX:
        place = stack.pop()
        leads: list[Node] = []
        for child in place.node.children:
            kind = child.type
            if kind in shape.comments:
                continue
            if kind in shape.leads:
                leads.append(child)
                continue
            begins = place.begins or (*leads, child)
            leads = []
            names = _names(shape, child, place.is_local)
            for name in names:
                count += 1
                yield Definition((*place.scope, *name), kind, begins)
            stack += _inside(shape, child, place, names, begins)


def _names(shape: Shape, node: Node, is_local: bool) -> Sequence[Name]:
    namer = shape.defines.get(node.type)
    if namer is None or (is_local and node.type in shape.values):
        return ()
    return namer(node)


def _inside(
    shape: Shape, node: Node, place: _Place, names: Sequence[Name], begins: tuple[Node, ...]
) -> Iterable[_Place]:
    kind = node.type
    is_local = place.is_local or kind in shape.functions
    if names:
        scope = (*place.scope, *names[0])
        return (_Place(node, scope, is_local),) if len(scope) < limits.SYMBOL_DEPTH_MAX else ()
    if kind in shape.wrappers or (kind in shape.lists and _is_one(shape, node)):
        return (_Place(node, place.scope, is_local, begins),)
    if kind in shape.scopes:
        return tuple(_Place(node, (*place.scope, *name), is_local) for name in shape.scopes[kind](node)[:1])
    if kind in shape.holders or kind in shape.lists or kind in shape.defines or kind == "ERROR":
        return (_Place(node, place.scope, is_local),)
    return ()


def _is_one(shape: Shape, node: Node) -> bool:
    return sum(child.type not in shape.comments for child in node.named_children) == 1


def values(grammar: Grammar, root: Node) -> list[Valued]:
    """Every name that a literal or expression is given to, qualified by definitions and by keys around it, in order."""
    shape, found = grammar.shape, []
    stack: list[tuple[Node, Name]] = [(root, ())]
    while stack:
        node, scope = stack.pop()
        kind, children = node.type, node.children
        if kind in shape.assigns:
            given = [(key_parts(text_of(left)), right) for left, right in _given(node, *shape.assigns[kind])]
            found += [Valued((*scope, *name), text_of(right)) for name, right in given if name]
            scope = (*scope, *given[0][0]) if len(given) == 1 else scope
        elif kind in shape.defines or kind in shape.scopes:
            names = (shape.defines.get(kind) or shape.scopes[kind])(node)
            scope = (*scope, *names[0]) if len(names) == 1 else scope
        if len(scope) <= limits.SYMBOL_DEPTH_MAX:
            stack += [(child, scope) for child in reversed(children) if child.is_named]
    return found


def _given(node: Node, name_field: str, value_field: str) -> list[tuple[Node, Node]]:
    """The names of an assignment with the value of each: ``a, b = 1, 2`` has two, ``a = b = 1`` is a with the last one."""
    left, right = node.child_by_field_name(name_field), _value(node, value_field)
    while right is not None and right.type == node.type:
        right = _value(right, value_field)
    if left is None or right is None:
        return []
    lefts, rights = left.named_children, right.named_children
    is_list = left.type.endswith("_list") or left.type.endswith("_pattern")
    if is_list and len(lefts) == len(rights):
        return list(zip(lefts, rights, strict=True))
    return [(left, right)]


def _value(node: Node, field: str) -> Node | None:
    """The value in its field, or what follows the ``=`` where the grammar has no field for it."""
    value = node.child_by_field_name(field)
    if value is None:
        kinds = [child.type for child in node.children]
        value = node.children[-1] if "=" in kinds[:-1] else None
    return value
