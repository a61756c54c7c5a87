"""Python: functions, classes, type aliases, and the variables of modules and classes."""

from collections.abc import Sequence
from typing import Final

from memd_daemon import limits
from memd_daemon.ground.names import Name
from memd_daemon.ground.shapes.shape import Node, Shape, all_by, kinds, plain, text_of, verbatim


def _assigned(node: Node) -> Sequence[Name]:
    """``a = b = 1`` and ``a, b = 1, 2`` name two; ``a.b = 1`` and ``a[b] = 1`` none."""
    names: list[Name] = []
    at: Node | None = node
    for _ in range(limits.SYMBOL_DEPTH_MAX):
        if at is None or at.type != "assignment":
            break
        left = at.child_by_field_name("left")
        if left is not None:
            targets = [left] if left.type == "identifier" else left.named_children
            names += [(text_of(target),) for target in targets if target.type == "identifier" and _is_pattern(left)]
        at = at.child_by_field_name("right")
    return names


def _is_pattern(left: Node) -> bool:
    return left.type in ("identifier", "pattern_list", "tuple_pattern", "list_pattern")


def _aliased(node: Node) -> Sequence[Name]:
    """``type Pair[T] = tuple[T, T]`` is Pair."""
    left = text_of(node.child_by_field_name("left")).partition("[")[0].strip()
    return [(left,)] if left else []


PYTHON: Final = Shape(
    defines={
        **all_by(plain, "function_definition class_definition"),
        "assignment": _assigned,
        "type_alias_statement": _aliased,
    },
    values=kinds("assignment type_alias_statement"),
    functions=kinds("function_definition"),
    holders=kinds(
        "module block if_statement elif_clause else_clause try_statement except_clause except_group_clause finally_clause "
        "with_statement for_statement while_statement match_statement case_clause expression_statement"
    ),
    wrappers=kinds("decorated_definition"),
    comments=kinds("comment line_continuation"),
    texts={"string_content": verbatim},
    assigns={
        "assignment": ("left", "right"),
        "default_parameter": ("name", "value"),
        "typed_default_parameter": ("name", "value"),
        "pair": ("key", "value"),
    },
    prose={"expression_statement": "string"},
)
