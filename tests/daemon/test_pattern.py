"""Patterns that are compiled when they are first asked are patterns like others, and each of them is one."""

import importlib
import re
from pathlib import Path

import pytest

import memd_daemon
from memd_daemon.pattern import _Pattern, pattern

HOME = Path(memd_daemon.__path__[0])
MODULES = [
    importlib.import_module(".".join((HOME.name, *path.relative_to(HOME).with_suffix("").parts)))
    for path in sorted(HOME.rglob("*.py"))
    if "import pattern\n" in path.read_text()
]
PUT_OFF = [one for module in MODULES for one in vars(module).values() if isinstance(one, _Pattern)]


def test_there_are_such_patterns() -> None:
    """In each such module; else the next test would say nothing of it."""
    assert "memd_daemon.index.terms" in {module.__name__ for module in MODULES}
    for module in MODULES:
        assert any(isinstance(one, _Pattern) for one in vars(module).values()), module.__name__


@pytest.mark.parametrize("one", PUT_OFF, ids=lambda one: one._text[:20])
def test_each_compiles(one: _Pattern) -> None:
    """A mistake in one would otherwise show when a user's words first come to it."""
    assert one.pattern == one._text


def test_it_answers_as_the_compiled_one() -> None:
    """With its flags, from the first question on; what is no question of a pattern's is none of it."""
    lazy, plain = pattern("a(b+)", re.IGNORECASE), re.compile("a(b+)", re.IGNORECASE)
    found, told = lazy.search("xABB"), plain.search("xABB")
    assert found is not None
    assert told is not None
    assert (found.span(), lazy.sub("-", "ab")) == (told.span(), plain.sub("-", "ab"))
    with pytest.raises(AttributeError):
        lazy.nothing  # type: ignore[attr-defined]  # noqa: B018 -- the very question
