"""One scene for all tests of a file that break its act; and what was broken in all, told at the end."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash import tally
from tests.crash.acts import ACTS, Scene
from tests.crash.preloads import built
from tests.crash.seeds import SEED


@pytest.fixture(scope="module", params=ACTS)
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    folder = Path(tempfile.mkdtemp(prefix="memd-crash-", dir="/tmp"))
    yield Scene.made(folder, request.param)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """For the homes of a file's tests, with paths that are short enough for a socket."""
    made = Path(tempfile.mkdtemp(prefix="memd-power-", dir="/tmp"))
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def library(folder: Path) -> Path:
    """What records a victim's calls (recording.c)."""
    made = built("recording", folder)
    if made is None:
        pytest.skip("no C compiler, or no Linux")
    return made


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How much it was, and the seed that does it again."""
    if told := tally.line(SEED):
        terminalreporter.write_line(f"crash: {told}")
