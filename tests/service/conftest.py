"""The desk: a whole daemon without its socket."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.copying import README
from tests.service.desk import Desk, desk_at, git
from tests.store.exchanging import exported, lived_in, opened, quick_folder


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
    with quick_folder() as made:
        yield made


@pytest.fixture(scope="session")
def lived() -> Iterator[tuple[Path, bytes]]:
    """A home in which something has happened, and its export."""
    with quick_folder() as made:
        with opened(made / "home") as (store, ledger):
            lived_in(store)
            raw = exported(store, ledger)
        yield made / "home", raw


@pytest.fixture
def raw(folder: Path, lived: tuple[Path, bytes]) -> bytes:
    """The export of `here`, a copy of that home."""
    home, raw = lived
    shutil.copytree(home, folder / "here")
    return raw
