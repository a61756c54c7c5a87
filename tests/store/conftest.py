"""A home under /tmp for each test that needs a disk."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    yield folder / "home"
    shutil.rmtree(folder)
