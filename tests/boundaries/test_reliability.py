"""docs/RELIABILITY.md names tests that exist, and every case of the field that it speaks of has one."""

import ast
import re

import pytest

from tests.boundaries.source import ROOT

TEXT = (ROOT / "docs/RELIABILITY.md").read_text()
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TEXT)))
CASES = ("AT1", "AT2", "AT3", "AT4", "AT5", "AT6", "AT8", "AT9", "AT10", "AT11", "AT13")


def rows_of(text: str) -> list[str]:
    """The rows of the table that the text begins with, below its head."""
    lines = text.partition("\n\n")[0].splitlines()
    return [line for line in lines if line.startswith("| ")]


def functions(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(("path", "name"), NAMED, ids=lambda one: one.rpartition("/")[2])
def test_each_test_that_is_named_exists(path: str, name: str) -> None:
    """A promise whose test was renamed or taken away would be believed."""
    assert name in functions(path)


def test_each_promise_names_a_test() -> None:
    """A row without one is a hope."""
    promises = [row for table in TEXT.split("| promise | held by |")[1:] for row in rows_of(table)]
    assert promises
    assert [row for row in promises if "::test_" not in row] == []


@pytest.mark.parametrize("case", CASES)
def test_each_case_of_the_field_has_its_row(case: str) -> None:
    """Seen to break other memories; the row says what memd does instead."""
    assert re.search(rf"\b{case}\b", TEXT)
