"""JavaScript and TypeScript, with JSX: functions, classes and their members, types, and what a name is given to.

A variable that holds a function is a definition wherever it stands, one that holds anything else only outside of functions. What is
given to ``exports.x``, ``module.exports.x`` and ``Type.prototype.x`` is named x, x and Type.x. An export without a name of its own
is ``default``. Signatures that stand right before the function that they overload are part of it.
"""

from collections.abc import Sequence
from typing import Final

from memd_daemon.ground.names import Name, key_parts
from memd_daemon.ground.shapes.shape import Node, Shape, all_by, kinds, text_of

_FUNCTIONS: Final = kinds("arrow_function function_expression generator_function class")
_UNSAID: Final = kinds("exports module prototype")


def _named(node: Node) -> Sequence[Name]:
    name = node.child_by_field_name("name") or node.child_by_field_name("property") or node.child_by_field_name("key")
    if name is None or name.type.endswith("_pattern") or name.type.startswith("computed"):
        return []
    parts = key_parts(text_of(name))
    return [parts] if parts else []


def _has_function(node: Node) -> bool:
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    return value is not None and value.type in _FUNCTIONS


def _pair(node: Node) -> Sequence[Name]:
    return _named(node) if _has_function(node) else []


def _target(left: Node) -> Name:
    """``module.exports.x`` is x, ``Type.prototype.x`` is Type.x."""
    return tuple(part for part in key_parts(text_of(left)) if part not in _UNSAID)


def _assigned(node: Node) -> Sequence[Name]:
    left = node.child_by_field_name("left")
    if left is None or left.type != "member_expression":
        return []
    said, parts = key_parts(text_of(left)), _target(left)
    is_export = said[:1] == ("exports",) or said[:2] == ("module", "exports")
    return [parts] if parts and parts[0] != "this" and (is_export or _has_function(node)) else []


def _default(node: Node) -> Sequence[Name]:
    value = node.child_by_field_name("value")
    return [("default",)] if value is not None and value.type != "identifier" else []


def _folded(text: bytes) -> bytes:
    """The text between tags as it is shown: of several lines each without its margins, joined by one blank."""
    first, *rest = text.split(b"\n")
    if not rest:
        return text
    lines = (first.rstrip(), *(line.strip() for line in rest[:-1]), rest[-1].lstrip())
    return b" ".join(line for line in lines if line)


def _shape(definitions: str, values: str, declares: str = "") -> Shape:
    return Shape(
        defines={
            **all_by(_named, definitions),
            **all_by(_named, values),
            "pair": _pair,
            "assignment_expression": _assigned,
            "export_statement": _default,
        },
        values=kinds(f"{values} assignment_expression"),
        is_function=_has_function,
        declares=kinds(declares),
        functions=kinds(
            "function_declaration generator_function_declaration method_definition arrow_function function_expression "
            "generator_function"
        ),
        holders=kinds(
            "program statement_block class_body class_static_block object interface_body enum_body expression_statement "
            "if_statement else_clause try_statement catch_clause finally_clause for_statement for_in_statement while_statement "
            "do_statement switch_statement switch_body switch_case switch_default labeled_statement return_statement "
            "call_expression arguments new_expression arrow_function function_expression generator_function "
            "parenthesized_expression as_expression satisfies_expression await_expression object_type"
        ),
        scopes={"pair": _named},
        wrappers=kinds("export_statement ambient_declaration"),
        lists=kinds("lexical_declaration variable_declaration"),
        leads=kinds("decorator"),
        assigns={
            "variable_declarator": ("name", "value"),
            "assignment_expression": ("left", "right"),
            "assignment_pattern": ("left", "right"),
            "object_assignment_pattern": ("left", "right"),
            "required_parameter": ("pattern", "value"),
            "optional_parameter": ("pattern", "value"),
            "pair": ("key", "value"),
            "field_definition": ("property", "value"),
            "public_field_definition": ("name", "value"),
            "enum_assignment": ("name", "value"),
        },
        target=_target,
        comments=kinds("comment html_comment hash_bang_line"),
        texts={"jsx_text": _folded},
    )


_BOTH: Final = (
    "function_declaration generator_function_declaration class_declaration class method_definition function_expression"
)
JAVASCRIPT: Final = _shape(_BOTH, "variable_declarator field_definition")
TYPESCRIPT: Final = _shape(
    f"{_BOTH} function_signature abstract_class_declaration abstract_method_signature method_signature interface_declaration "
    "type_alias_declaration enum_declaration internal_module module",
    "variable_declarator public_field_definition enum_assignment",
    declares="function_signature method_signature",
)
