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


def within_functions(module: str) -> Iterator[str]:
    """memd's own modules that a module imports when one of its functions is called."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    for function in ast.walk(ast.parse(Path(spec.origin).read_text())):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for one in ast.walk(function):
                if isinstance(one, ast.ImportFrom) and one.module and one.module.startswith("memd_"):
                    yield one.module
                    if find_spec(one.module).submodule_search_locations:  # type: ignore[union-attr]  # as it stands there
                        inner = (f"{one.module}.{alias.name}" for alias in one.names)
                        yield from (name for name in inner if find_spec(name))


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
