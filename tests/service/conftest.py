"""The desk: a whole daemon without its socket."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.copying import README
from tests.service.desk import Desk, desk_at, git
from tests.store.exchanging import exported, lived_in, opened


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with desk_at(tmp_path) as one:
        yield one


@pytest.fixture
def live(desk: Desk) -> Desk:
    """A session in a repository with a README."""
    (desk.repo / "README.md").write_text(README)
    git(desk.repo, "add", "-A")
    git(desk.repo, "commit", "-qm", "Say how to push")
    desk.start("s1")
    return desk


@pytest.fixture
def folder() -> Iterator[Path]:
    """For homes that no daemon serves."""
    made = Path(tempfile.mkdtemp(dir="/tmp"))
    yield made
    shutil.rmtree(made)


@pytest.fixture
def raw(folder: Path) -> bytes:
    """The export of `here`, a home in which something has happened."""
    with opened(folder / "here") as (store, ledger):
        lived_in(store)
        return exported(store, ledger)
