"""What a daemon's start imports before its first answer, and what has come in behind it (memd_daemon/later.py)."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

LATER = (
    "memd_daemon.later",
    "memd_daemon.service.recall",
    "memd_daemon.service.remember",
    "memd_daemon.redact.redactor",
)
"""Of what no ping needs, what brings the most with it."""
HEAVY = (
    "subprocess",
    "tempfile",
    "tomllib",
    "asyncio",
    "numpy",
    "onnxruntime",
    "tokenizers",
    "tantivy",
    "usearch",
    "mcp",
)
"""Libraries that are imported where they are needed."""
BY_THEMSELVES = {
    "memd_daemon.index.embed",
    "memd_daemon.index.vectors",
    "memd_daemon.index.words",
    "memd_daemon.mcp_server",
    "memd_client.memd",
}
"""What brings a library of its own: the indexes, which begin with the daemon, and MCP's server; and what no daemon asks for."""


def loaded(program: str) -> set[str]:
    """The modules of an interpreter of its own behind ``program``."""
    whole = f"{program}\nimport sys\nprint(*sys.modules)"
    return set(
        subprocess.run([sys.executable, "-I", "-c", whole], capture_output=True, text=True, check=True).stdout.split()
    )


@pytest.fixture(scope="module")
def at_start() -> set[str]:
    return loaded("from memd_daemon import lifecycle")


@pytest.fixture(scope="module")
def behind() -> set[str]:
    return loaded("from memd_daemon import lifecycle, later")


def tree_of(module: str) -> ast.Module:
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return ast.parse(Path(spec.origin).read_text())


def imports(part: ast.AST) -> Iterator[tuple[str, list[str]]]:
    """memd's own modules from which anything is imported in this part of a module, each with what."""
    for one in ast.walk(part):
        if isinstance(one, ast.ImportFrom) and one.module and one.module.startswith("memd_"):
            yield one.module, [f"{one.module}.{alias.name}" for alias in one.names]


def is_package(module: str) -> bool:
    spec = find_spec(module)
    return spec is not None and spec.submodule_search_locations is not None


def within_functions(module: str) -> Iterator[str]:
    """Those that a module imports when one of its functions is called."""
    for function in ast.walk(tree_of(module)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for source, names in imports(function):
                yield source
                yield from (name for name in names if is_package(source) and find_spec(name))


@pytest.mark.parametrize("name", [*LATER, *HEAVY])
def test_a_first_answer_waits_for_nothing_that_it_does_not_need(at_start: set[str], name: str) -> None:
    """One import at the head of a module would bring it back."""
    assert "memd_daemon.service.deliver" in at_start
    assert name not in at_start


@pytest.mark.parametrize("name", LATER)
def test_all_of_it_is_in_behind_the_first_answers(behind: set[str], name: str) -> None:
    """It is what `later` is for."""
    assert name in behind


def test_what_is_imported_within_functions_is_in_too(behind: set[str]) -> None:
    """So a daemon whose files are exchanged under it goes on with those that it began with, and no hook waits for an import."""
    put_off = {name for module in behind if module.startswith("memd_") for name in within_functions(module)}
    assert {"memd_daemon.service.remember", "memd_daemon.ground.shapes.table"} <= put_off
    assert put_off - behind <= BY_THEMSELVES


def test_threads_that_import_at_once_do_not_wait_for_one_another(at_start: set[str], behind: set[str]) -> None:
    """A package that imports its own modules is entered by itself alone: whoever came in by one of them would hold what it waits
    for, and the interpreter ends that with half a module."""
    ours = sorted(module for module in behind if module.startswith("memd_"))
    sources = {module: [source for source, _ in imports(tree_of(module))] for module in ours}
    packages = [f"{module}." for module in ours if module not in at_start and is_package(module)]
    rings = [ring for ring in packages if any(source.startswith(ring) for source in sources[ring.removesuffix(".")])]
    assert rings == ["memd_daemon.evidence."]
    for ring in rings:
        outside = [module for module in ours if not f"{module}.".startswith(ring)]
        assert not [module for module in outside if any(source.startswith(ring) for source in sources[module])]
