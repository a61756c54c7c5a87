"""Ruby: modules, classes, methods (also of a class itself), constants and globals. A heredoc's text belongs to what begins it."""

from collections.abc import Sequence
from typing import Final

from memd_daemon.ground.names import Name, key_parts
from memd_daemon.ground.shapes.shape import BY_NAME, Node, Shape, all_by, kinds, plain, text_of

_NAMED: Final = kinds("constant global_variable")


def _assigned(node: Node) -> Sequence[Name]:
    left = node.child_by_field_name("left")
    if left is None:
        return []
    targets = left.named_children if left.type == "left_assignment_list" else [left]
    return [key_parts(text_of(target)) for target in targets if target.type in _NAMED]


RUBY: Final = Shape(
    defines={
        **all_by(BY_NAME, "module class"),
        **all_by(plain, "method singleton_method"),
        "assignment": _assigned,
    },
    functions=kinds("method singleton_method"),
    values=kinds("assignment"),
    holders=kinds(
        "program body_statement begin begin_block do_block block block_body call argument_list singleton_class if unless then else "
        "elsif if_modifier unless_modifier case when parenthesized_statements"
    ),
    trails=kinds("heredoc_body"),
    assigns={
        "assignment": ("left", "right"),
        "operator_assignment": ("left", "right"),
        "optional_parameter": ("name", "value"),
        "keyword_parameter": ("name", "value"),
        "pair": ("key", "value"),
    },
)
