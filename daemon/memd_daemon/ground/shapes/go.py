"""Go: functions, methods by their receiver's type (``Type.Method``), types, methods of interfaces, constants and variables."""

from collections.abc import Sequence
from typing import Final

from memd_daemon.ground.names import Name, parts_of
from memd_daemon.ground.shapes.shape import Node, Shape, all_by, kinds, plain, text_of


def _method(node: Node) -> Sequence[Name]:
    """``func (t *Type[K]) Method()`` is Type.Method."""
    receiver, name = node.child_by_field_name("receiver"), text_of(node.child_by_field_name("name"))
    types = [one.child_by_field_name("type") for one in receiver.named_children] if receiver is not None else []
    owner = parts_of(text_of(types[0]).partition("[")[0]) if types else ()
    return [(*owner, name)] if name else []


def _listed(node: Node) -> Sequence[Name]:
    return [(text_of(name),) for name in node.children_by_field_name("name") if name.is_named]


GO: Final = Shape(
    defines={
        **all_by(plain, "function_declaration type_spec type_alias method_elem"),
        **all_by(_listed, "const_spec var_spec"),
        "method_declaration": _method,
    },
    values=kinds("const_spec var_spec"),
    functions=kinds("function_declaration method_declaration"),
    holders=kinds("source_file var_spec_list interface_type block statement_list"),
    lists=kinds("const_declaration var_declaration type_declaration"),
    assigns={
        "const_spec": ("name", "value"),
        "var_spec": ("name", "value"),
        "short_var_declaration": ("left", "right"),
        "assignment_statement": ("left", "right"),
        "keyed_element": ("key", "value"),
    },
)
