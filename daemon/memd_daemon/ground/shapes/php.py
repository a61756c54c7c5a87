"""PHP: types, functions, methods, constants, properties, cases of enums, and variables of the file."""

from collections.abc import Sequence
from typing import Final

from memd_daemon.ground.names import Name, key_parts
from memd_daemon.ground.shapes.shape import BY_NAME, Node, Shape, all_by, kinds, plain, text_of

_FUNCTIONS: Final = kinds("anonymous_function arrow_function")


def _has_function(node: Node) -> bool:
    value = node.child_by_field_name("right")
    return value is not None and value.type in _FUNCTIONS


def _assigned(node: Node) -> Sequence[Name]:
    left = node.child_by_field_name("left")
    return [key_parts(text_of(left))] if left is not None and left.type == "variable_name" else []


def _constant(node: Node) -> Sequence[Name]:
    return [(text_of(node.named_children[0]),)] if node.named_children else []


PHP: Final = Shape(
    defines={
        **all_by(
            plain,
            "class_declaration interface_declaration trait_declaration enum_declaration function_definition "
            "method_declaration enum_case",
        ),
        "const_element": _constant,
        "property_element": BY_NAME,
        "assignment_expression": _assigned,
    },
    values=kinds("assignment_expression"),
    is_function=_has_function,
    functions=kinds("function_definition method_declaration anonymous_function arrow_function"),
    holders=kinds(
        "program declaration_list enum_declaration_list compound_statement if_statement else_clause else_if_clause "
        "expression_statement anonymous_function try_statement"
    ),
    spaces={"namespace_definition": BY_NAME},
    lists=kinds("const_declaration property_declaration"),
    assigns={
        "assignment_expression": ("left", "right"),
        "const_element": ("name", "value"),
        "property_element": ("name", "default_value"),
        "simple_parameter": ("name", "default_value"),
        "property_promotion_parameter": ("name", "default_value"),
        "enum_case": ("name", "value"),
        "array_element_initializer": ("key", "value"),
    },
)
