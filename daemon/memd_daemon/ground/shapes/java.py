"""Java: types, methods, constructors (``Type.Type``), fields, constants of enums, members of annotations."""

from collections.abc import Sequence
from typing import Final

from memd_daemon.ground.names import Name
from memd_daemon.ground.shapes.shape import BY_NAME, Node, Shape, all_by, kinds, plain, text_of


def _fields(node: Node) -> Sequence[Name]:
    return [(text_of(one.child_by_field_name("name")),) for one in node.children_by_field_name("declarator")]


def _package(node: Node) -> Sequence[Name]:
    return [tuple(text_of(name).split(".")) for name in node.named_children if name.type.endswith("identifier")]


JAVA: Final = Shape(
    defines={
        **all_by(
            plain,
            "class_declaration interface_declaration enum_declaration record_declaration annotation_type_declaration "
            "method_declaration constructor_declaration compact_constructor_declaration enum_constant "
            "annotation_type_element_declaration",
        ),
        **all_by(_fields, "field_declaration constant_declaration"),
        "module_declaration": BY_NAME,
    },
    values=kinds("field_declaration constant_declaration"),
    functions=kinds("method_declaration constructor_declaration"),
    holders=kinds(
        "program class_body interface_body enum_body enum_body_declarations annotation_type_body block constructor_body "
        "static_initializer"
    ),
    spaces={"package_declaration": _package},
    assigns={
        "variable_declarator": ("name", "value"),
        "element_value_pair": ("key", "value"),
        "annotation_type_element_declaration": ("name", "value"),
        "assignment_expression": ("left", "right"),
    },
    comments=kinds("line_comment block_comment"),
)
