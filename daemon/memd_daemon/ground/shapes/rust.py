"""Rust: items, and those of an impl block by its type: ``Type.method``, or ``Trait.Type.method`` where a trait is implemented.

So ``Type::method`` names both, and the inherent one first; ``Display::Type::fmt`` tells two traits apart. An impl of a trait is a
definition itself (``Trait.Type``).
"""

from collections.abc import Sequence
from typing import Final

from memd_daemon.ground.names import Name
from memd_daemon.ground.shapes.shape import Node, Shape, all_by, kinds, plain, text_of

_TYPES: Final = kinds("type_identifier primitive_type")


def _type_name(node: Node | None) -> str:
    """The first name in a type, the last of its path: ``&'a mut fmt::Thing<T>`` is Thing."""
    stack = [node] if node is not None else []
    while stack:
        at = stack.pop()
        if at.type in _TYPES:
            return text_of(at)
        last = at.child_by_field_name("name")
        stack += [last] if last is not None and at.type == "scoped_type_identifier" else reversed(at.named_children)
    return ""


def _impl(node: Node) -> Sequence[Name]:
    """The type; of a trait's implementation the trait and the type."""
    names = [_type_name(node.child_by_field_name(field)) for field in ("trait", "type")]
    return [tuple(name for name in names if name)] if names[1] else []


def _trait_impl(node: Node) -> Sequence[Name]:
    return _impl(node) if node.child_by_field_name("trait") is not None else []


RUST: Final = Shape(
    defines={
        **all_by(
            plain,
            "function_item function_signature_item struct_item enum_item union_item trait_item mod_item const_item static_item "
            "type_item associated_type macro_definition enum_variant",
        ),
        "impl_item": _trait_impl,
    },
    functions=kinds("function_item"),
    holders=kinds("source_file declaration_list block enum_variant_list foreign_mod_item"),
    scopes={"impl_item": _impl},
    leads=kinds("attribute_item"),
    assigns={
        "const_item": ("name", "value"),
        "static_item": ("name", "value"),
        "let_declaration": ("pattern", "value"),
        "enum_variant": ("name", "value"),
        "field_initializer": ("field", "value"),
        "assignment_expression": ("left", "right"),
    },
    comments=kinds("line_comment block_comment"),
)
