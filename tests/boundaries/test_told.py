"""What a writer is told stands in frames/: a service passes on a sentence, it never words one."""

import ast
from collections.abc import Iterator

import pytest

from tests.boundaries.source import Module, modules

SERVICES = [module for module in modules() if module.is_under("memd_daemon.service")]


def is_worded(node: ast.expr) -> bool:
    """Whether the expression is a text that stands there, or a list of such."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return any(map(is_worded, node.elts))
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        return is_worded(node.elt)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def is_told(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id == "told") or (
        isinstance(node, ast.Attribute) and node.attr == "told"
    )


def cites_a_note(node: ast.JoinedStr) -> bool:
    """Whether a value stands between brackets, as memd writes a note's number."""
    parts = list(zip(node.values, node.values[1:], strict=False))
    return any(
        isinstance(before, ast.Constant) and str(before.value).endswith("[") and isinstance(after, ast.FormattedValue)
        for before, after in parts
    )


def worded(module: Module) -> Iterator[int]:
    """The lines at which the module words what somebody is told."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.JoinedStr) and cites_a_note(node):
            yield node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            adds = node.func.attr == "kept" or (node.func.attr in ("append", "extend") and is_told(node.func.value))
            if adds and any(map(is_worded, node.args)):
                yield node.lineno
        elif isinstance(node, ast.AugAssign) and is_told(node.target) and is_worded(node.value):
            yield node.lineno


@pytest.mark.parametrize("module", SERVICES, ids=lambda module: module.name)
def test_a_service_words_nothing_that_is_told(module: Module) -> None:
    """No text of its own goes to `kept` or onto `told`, and no note's number is set in one."""
    assert sorted(worded(module)) == []


@pytest.mark.parametrize(
    "line",
    [
        "sheet.kept('already so')",
        "sheet.kept(f'{x} is so')",
        "sheet.told.append('x')",
        "told.append(f'{x}')",
        "sheet.told += ['x']",
        "told += [f'{x}' for x in y]",
        "return [], [f'note [{x}] stands']",
    ],
)
def test_worded_lines_are_found(line: str) -> None:
    """The rule sees each way there is."""
    assert list(worded(Module("memd_daemon.service.x", line)))


@pytest.mark.parametrize("line", ["sheet.kept(told.so_already(1))", "told += more", "names[f'{x}']", "log.append('x')"])
def test_other_lines_are_not(line: str) -> None:
    """A sentence that comes from frames, and texts that nobody is told."""
    assert not list(worded(Module("memd_daemon.service.x", line)))
