"""The shape of the source: short modules, few broad excepts with a reason each, nothing put off in a comment."""

import ast
import re
from pathlib import Path

import pytest

from tests.boundaries.source import ROOT, Module, comments, modules

MODULE_MAX_LINES = 450
TABLE_MAX_LINES = 600
BROAD_EXCEPTS_MAX = 9
BROAD = {"Exception", "BaseException"}
PUT_OFF = re.compile(r"\b(?:TODO|FIXME|XXX)\b")  # the words themselves, for this is where they are looked for
NO_REASON = re.compile(r"(?:noqa|type:|pyright:)[^—–-]*$")
WRITTEN = [
    file
    for folder in ("client", "hooks", "daemon", "scripts", "tests", "docs", ".ci")
    for file in sorted((ROOT / folder).rglob("*"))
    if file.suffix in {".py", ".sh", ".md", ".toml", ""} and file.is_file() and "__pycache__" not in file.parts
]
PYTHON = [file for file in WRITTEN if file.suffix == ".py"]


def names_of(node: ast.expr | None) -> set[str]:
    """The last names in an except clause's or a call's expression; a bare except is BaseException."""
    if node is None:
        return {"BaseException"}
    if isinstance(node, ast.Tuple):
        return set().union(*map(names_of, node.elts))
    return {node.attr} if isinstance(node, ast.Attribute) else {node.id} if isinstance(node, ast.Name) else set()


def broad_excepts(module: Module) -> list[int]:
    """The lines at which the module catches every exception there is."""
    found = []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ExceptHandler) and names_of(node.type) & BROAD:
            found.append(node.lineno)
        elif isinstance(node, ast.Call) and names_of(node.func) == {"suppress"}:
            found += [node.lineno for argument in node.args if names_of(argument) & BROAD]
    return sorted(found)


def without_reason(module: Module) -> list[int]:
    """The broad excepts with no comment on their line, the line before or the line after that says why."""
    said = {line for line, text in comments(module.text).items() if not NO_REASON.match(text)}
    return [line for line in broad_excepts(module) if said.isdisjoint({line - 1, line, line + 1})]


def put_off(text: str) -> list[str]:
    return PUT_OFF.findall(text)


def test_broad_excepts_are_counted_on_one_hand_or_two() -> None:
    """More of them would mean that somebody no longer knows what can go wrong."""
    found = [f"{module.name}:{line}" for module in modules() for line in broad_excepts(module)]
    assert len(found) <= BROAD_EXCEPTS_MAX, found


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_a_broad_except_says_why(module: Module) -> None:
    """Each one carries its reason in a comment beside it; a bare noqa is none."""
    assert without_reason(module) == []


@pytest.mark.parametrize("file", PYTHON, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_module_is_one_thing(file: Path) -> None:
    """A module that outgrows its bound is two modules; the table of numbers stays one, so that nobody looks in two places."""
    most = TABLE_MAX_LINES if file == ROOT / "daemon/memd_daemon/limits.py" else MODULE_MAX_LINES
    assert len(file.read_text(encoding="utf-8").splitlines()) <= most


@pytest.mark.parametrize(
    "file", [f for f in WRITTEN if f != Path(__file__)], ids=lambda file: str(file.relative_to(ROOT))
)
def test_nothing_is_put_off_in_a_comment(file: Path) -> None:
    """What is not done stands in the tracker, where somebody sees it."""
    assert put_off(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "broad", "unexplained"),
    [
        ("try: pass\nexcept: pass", [2], [2]),
        ("try: pass\nexcept (OSError, Exception): pass", [2], [2]),
        ("try: pass\nexcept builtins.BaseException: pass  # noqa: BLE001", [2], [2]),
        ("try: pass\nexcept Exception:  # noqa: BLE001 - a hook never harms a turn\n    pass", [2], []),
        ("try: pass\nexcept Exception:\n    # the caller is told by the status\n    pass", [2], []),
        ("with contextlib.suppress(Exception): pass", [1], [1]),
        ("try: pass\nexcept OSError: pass", [], []),
    ],
)
def test_the_checkers_see_broad_excepts(text: str, broad: list[int], unexplained: list[int]) -> None:
    """Bare, named, in a tuple, qualified and suppressed ones are found; a reason counts, a bare noqa does not."""
    module = Module("memd_daemon.service.recall", text)
    assert (broad_excepts(module), without_reason(module)) == (broad, unexplained)


@pytest.mark.parametrize(("text", "found"), [("# TODO: later", ["TODO"]), ("mktemp XXXXXX", []), ("xxx", [])])
def test_the_checker_sees_what_is_put_off(text: str, found: list[str]) -> None:
    """The three words are found as words, not as a part of another."""
    assert put_off(text) == found
