"""C#: types, their members (an indexer is ``this``, a finalizer ``~Type``), local functions, constants of enums."""

from collections.abc import Sequence
from typing import Final

from memd_daemon.ground.names import Name, operator_name
from memd_daemon.ground.shapes.shape import BY_NAME, Node, Shape, all_by, kinds, plain, text_of


def _fields(node: Node) -> Sequence[Name]:
    """Of ``int a, b;``, an event or a field."""
    inside = [one for part in node.named_children if part.type == "variable_declaration" for one in part.named_children]
    return [(text_of(one.child_by_field_name("name")),) for one in inside if one.type == "variable_declarator"]


def _operator(node: Node) -> Sequence[Name]:
    named = text_of(node.child_by_field_name("operator")) or text_of(node.child_by_field_name("type"))
    return [(operator_name(named),)]


def _finalizer(node: Node) -> Sequence[Name]:
    return [(f"~{text_of(node.child_by_field_name('name'))}",)]


def _indexer(_node: Node) -> Sequence[Name]:
    return [("this",)]


CSHARP: Final = Shape(
    defines={
        **all_by(
            plain,
            "class_declaration struct_declaration interface_declaration record_declaration enum_declaration delegate_declaration "
            "method_declaration constructor_declaration property_declaration event_declaration local_function_statement "
            "enum_member_declaration",
        ),
        **all_by(_fields, "field_declaration event_field_declaration"),
        **all_by(_operator, "operator_declaration conversion_operator_declaration"),
        "destructor_declaration": _finalizer,
        "indexer_declaration": _indexer,
    },
    values=kinds("field_declaration event_field_declaration"),
    functions=kinds("method_declaration constructor_declaration local_function_statement"),
    holders=kinds("compilation_unit declaration_list enum_member_declaration_list global_statement block"),
    spaces=all_by(BY_NAME, "namespace_declaration file_scoped_namespace_declaration"),
    assigns={
        "variable_declarator": ("name", "value"),
        "property_declaration": ("name", "value"),
        "enum_member_declaration": ("name", "value"),
        "parameter": ("name", "value"),
        "assignment_expression": ("left", "right"),
    },
    comments=kinds("comment preproc_region preproc_endregion"),
)
