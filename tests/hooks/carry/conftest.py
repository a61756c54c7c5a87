"""A home, and a daemon in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client import peers


@pytest.fixture
def home() -> Iterator[Path]:
    """An empty home whose path is short enough for a socket in it."""
    with peers.short_directory() as directory:
        yield directory


@pytest.fixture
def daemon(home: Path) -> Iterator[peers.Router]:
    """A daemon of libzmq that gives every hook the same answer."""
    with peers.router(home / "s", peers.answer_hook(b'{"answer": "\xc3\xbc"}\n')) as peer:
        peers.announce(home, home / "s")
        yield peer
