"""C and C++: functions, types, macros, variables, and what is defined out of its class (``Type::method``) by its full name.

What is only declared (a prototype, a method in its class) is a definition where the file does not define it. Fields of structs are
none, unless they have a default. Branches of the preprocessor are looked through, so a function of two branches is there twice.
"""

import re
from collections.abc import Sequence
from typing import Final

from memd_daemon.ground.names import Name, key_parts, operator_name, parts_of
from memd_daemon.ground.shapes.shape import BY_NAME, Node, Shape, all_by, kinds, text_of

_WRAPPED: Final = re.compile(rb"\\\n\s*")
_AROUND: Final = kinds(
    "init_declarator pointer_declarator reference_declarator function_declarator array_declarator parenthesized_declarator "
    "attributed_declarator template_function bitfield_clause"
)


def _target(declarator: Node) -> Name:
    """The name in a declarator: ``*(C<T>::f)(int)`` is C.f."""
    scope: list[str] = []
    at: Node | None = declarator
    while at is not None:
        if at.type == "qualified_identifier":
            scope += parts_of(text_of(at.child_by_field_name("scope")))
            at = at.child_by_field_name("name")
        elif at.type == "operator_cast":
            return (*scope, operator_name(text_of(at.child_by_field_name("type"))))
        elif at.type in _AROUND:
            inner = at.child_by_field_name("declarator") or at.child_by_field_name("name")
            named = [child for child in at.named_children if child.type.endswith(("declarator", "identifier"))]
            at = inner or (named[0] if named else None)
        else:
            parts = parts_of(text_of(at)) if at.type != "field_designator" else key_parts(text_of(at))
            return (*scope, *parts)
    return ()


def _declared(node: Node) -> Sequence[Name]:
    names = (_target(one) for one in node.children_by_field_name("declarator") if one.is_named)
    return [name for name in names if name]


def _member(node: Node) -> Sequence[Name]:
    """A method that is declared in its class, or a field with a default."""
    has_default = node.child_by_field_name("default_value") is not None
    return [] if not has_default and not any(_is_function(one) for one in node.children) else _declared(node)


def _is_function(declarator: Node) -> bool:
    at: Node | None = declarator
    while at is not None and at.type in _AROUND and at.type != "function_declarator":
        inside = [child for child in at.named_children if child.type in _AROUND]
        at = inside[0] if inside else None
    return at is not None and at.type == "function_declarator"


def _type(node: Node) -> Sequence[Name]:
    """A struct, class, union or enum where it is defined, not where it is only named."""
    return BY_NAME(node) if node.child_by_field_name("body") is not None else []


def _unwrapped(text: bytes) -> bytes:
    return _WRAPPED.sub(b" ", text).strip()


C: Final = Shape(
    defines={
        **all_by(_declared, "function_definition declaration type_definition"),
        **all_by(_type, "struct_specifier union_specifier enum_specifier class_specifier"),
        **all_by(BY_NAME, "enumerator preproc_def preproc_function_def alias_declaration concept_definition"),
        "field_declaration": _member,
    },
    values=kinds("declaration"),
    functions=kinds("function_definition"),
    declares=kinds("declaration field_declaration"),
    holders=kinds(
        "translation_unit declaration_list field_declaration_list enumerator_list preproc_ifdef preproc_if preproc_else "
        "preproc_elif preproc_elifdef linkage_specification compound_statement"
    ),
    spaces={"namespace_definition": BY_NAME},
    wrappers=kinds("template_declaration"),
    assigns={
        "init_declarator": ("declarator", "value"),
        "enumerator": ("name", "value"),
        "preproc_def": ("name", "value"),
        "field_declaration": ("declarator", "default_value"),
        "optional_parameter_declaration": ("declarator", "default_value"),
        "initializer_pair": ("designator", "value"),
        "assignment_expression": ("left", "right"),
    },
    target=_target,
    texts={"preproc_arg": _unwrapped},
)
CPP: Final = C
