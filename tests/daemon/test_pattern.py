"""Patterns that are compiled when they are first asked are patterns like others, and each of them is one."""

import importlib
import pkgutil
import re

import pytest

from memd_daemon import evidence
from memd_daemon.pattern import _Pattern, pattern

MODULES = [
    importlib.import_module(f"{evidence.__name__}.{one.name}") for one in pkgutil.iter_modules(evidence.__path__)
]
PUT_OFF = [one for module in MODULES for one in vars(module).values() if isinstance(one, _Pattern)]


def test_there_are_such_patterns() -> None:
    """Else the next test would say nothing."""
    assert len(PUT_OFF) > 30


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
