"""A home and a repository, and carriers that end with their test."""

from collections.abc import Callable, Iterator

import pytest

from tests.cli.world import World
from tests.mcp.client import Client


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
    """A world of a test's own, with no daemon yet."""
    made = World()
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def connect() -> Iterator[Callable[..., Client]]:
    """Starts carriers, and ends them with the test."""
    clients: list[Client] = []

    def start(world: World, **given: object) -> Client:
        clients.append(Client(world, **given))  # type: ignore[arg-type]
        return clients[-1]

    try:
        yield start
    finally:
        for client in clients:
            client.kill()
