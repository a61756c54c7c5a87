"""The desk: a whole daemon without its socket."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.desk import Desk, desk_at


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with desk_at(tmp_path) as one:
        yield one
