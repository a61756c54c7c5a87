"""A home, a repository and a real daemon for the commands under test, and a terminal for what a person does."""

from collections.abc import Iterator

import pytest

from tests.cli.world import World


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """One world for a module's tests; each test writes notes of its own."""
    made = World()
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def fresh() -> Iterator[World]:
    """A world of a test's own, with nothing in it and no daemon yet."""
    made = World()
    try:
        yield made
    finally:
        made.close()
