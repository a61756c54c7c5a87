"""One scene for all tests of a file that break its act."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.acts import ACTS, Scene


@pytest.fixture(scope="module", params=ACTS)
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    folder = Path(tempfile.mkdtemp(prefix="memd-crash-", dir="/tmp"))
    yield Scene.made(folder, request.param)
    shutil.rmtree(folder)
