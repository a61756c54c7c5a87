"""Every number of the daemon stands in limits.py, and every number of the hook path in wire.py.

A number that decides something is hidden where no reader looks for it, unless it has a name, a unit and a reason. What may
stand in the text decides nothing: small integers (indexes, counts of parts), 0.0 and 1.0, file modes, which people read in
octal, and the thousands between units, as operands (``seconds * 1_000``) or under a name such as NS_PER_MS.
"""

import ast
from collections.abc import Iterator

import pytest

from tests.boundaries.source import Module, modules

SMALL = 10
THOUSANDS = {1_000, 1_000_000, 1_000_000_000}
JUDGED = (
    *(f"memd_daemon.{part}" for part in ("rules", "frames", "redact", "evidence", "ground", "service")),
    *(f"memd_daemon.{part}" for part in ("server", "holder", "lifecycle", "jobs", "daemon")),
    # of the indexes not exact and words: what their formulas and number formats are made of decides nothing
    *(f"memd_daemon.index.{part}" for part in ("embed", "vectors", "sealed", "pending", "terms", "fuse", "native")),
    *(f"memd_hooks.{part}" for part in ("carry", "prompt_submit", "pre_edit", "session_start")),
    *(f"memd_hooks.{part}" for part in ("post_compaction", "git_commit")),
)
TABLES = "memd_daemon.redact.kinds_"  # the shapes of others' tokens: lengths as their issuers set them


def conversions(tree: ast.Module) -> Iterator[ast.expr]:
    """The nodes that stand where a conversion between units stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div | ast.FloorDiv):
            yield from (node.left, node.right)
        elif (
            isinstance(node, ast.Assign | ast.AnnAssign)
            and node.value
            and "_PER_" in ast.unparse(node).partition("=")[0]
        ):
            yield node.value


def numbers(module: Module) -> list[str]:
    """The numbers in the module that should have a name elsewhere, as `line: literal`."""
    units = {
        id(node) for node in conversions(module.tree) if isinstance(node, ast.Constant) and node.value in THOUSANDS
    }
    found = []
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Constant) or isinstance(node.value, bool) or id(node) in units:
            continue
        literal = ast.get_source_segment(module.text, node) or ""
        is_fraction = isinstance(node.value, float) and node.value not in (0.0, 1.0)
        is_large = isinstance(node.value, int) and abs(node.value) >= SMALL and not literal.startswith("0o")
        if is_fraction or is_large:
            found.append(f"{node.lineno}: {literal}")
    return found


def test_every_number_is_used() -> None:
    """One that decides nothing any more would be believed by whoever reads the table."""
    (table,) = [m for m in modules() if m.name == "memd_daemon.limits"]
    named = {
        target.id
        for node in table.tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    used = {
        node.attr if isinstance(node, ast.Attribute) else node.id
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    } | {
        alias.name
        for m in modules()
        for node in ast.walk(m.tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert len(named) > 300
    assert sorted(named - used) == []


@pytest.mark.parametrize(
    "module", [m for m in modules() if m.is_under(*JUDGED) and not m.name.startswith(TABLES)], ids=lambda m: m.name
)
def test_a_number_that_decides_has_its_name_in_one_place(module: Module) -> None:
    """Rules, frames, services and the server take their numbers from limits.py, the hooks from wire.py."""
    assert numbers(module) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("if score > 0.42: pass", ["1: 0.42"]),
        ("x = 1\nnotes = notes[:20]", ["2: 20"]),
        ("limit = -10", ["1: 10"]),
        ("budget = 1_000\nwait(left_s * 60)", ["1: 1_000", "2: 60"]),
        ("NS_PER_MS: Final = 1_000_000\nwait(left_ms / 1_000)", []),
        ("first, last = rows[0], rows[-1]\nshare = 1.0\nok = True\nmode = 0o600\nname = '42'\nnine = 9", []),
    ],
)
def test_the_checker_sees_numbers(text: str, found: list[str]) -> None:
    """A threshold and a bound are found; indexes, modes and digits in text are not."""
    assert numbers(Module("memd_daemon.rules.gate", text)) == found
