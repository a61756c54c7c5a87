"""A whole daemon without its socket, with a clock that the test moves (tests/service/desk.py)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.desk import Desk, desk_at


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """One home, one repository."""
    with desk_at(tmp_path) as made:
        yield made
