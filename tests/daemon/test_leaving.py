"""How a daemon leaves, and what it finds when it comes, without a process of its own."""

import asyncio
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memd_client import address
from memd_daemon import errors, lifecycle, limits


@pytest.fixture
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="memd-", dir="/tmp"))
    (folder / "run").mkdir(mode=0o700)
    yield folder
    shutil.rmtree(folder)


class FakeDaemon:
    """Takes the callback that stops."""

    hook = receipt = None
    leave: Callable[[], None]

    def handlers(self, stop: Callable[[], None]) -> dict[str, Any]:
        self.leave = stop
        return {}

    def begin(self) -> None:
        return


class FakeServer:
    """Is asked to stop while it serves, and looks whether it can still be found while it finishes its work."""

    asks: list[Callable[[], None]]  # each called while it serves
    found_while_finishing: list[bool]

    def __init__(self, *_: object) -> None:
        self.served_at = 0.0

    def bind(self, path: str) -> None:
        Path(path).touch()

    async def serve(self, stopped: asyncio.Event) -> None:
        FakeServer.found_before = address.read(os.fsencode(FakeServer.home)) is not None
        for ask in FakeServer.asks:
            ask()
        await stopped.wait()
        FakeServer.found_while_finishing.append(address.read(os.fsencode(FakeServer.home)) is not None)

    def close(self) -> None:
        return

    home: Path
    found_before = False


@pytest.mark.parametrize("how", ["signal", "verb", "idle"])
def test_the_address_goes_before_the_work_in_flight_is_finished(
    home: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """A hook that comes while a daemon leaves must find nobody, or it waits for one that receives no more."""
    daemon = FakeDaemon()
    stops: dict[str, Callable[[], None]] = {
        "signal": lambda: os.kill(os.getpid(), signal.SIGTERM),
        "verb": lambda: daemon.leave(),
        "idle": lambda: None,
    }
    monkeypatch.setattr(lifecycle, "Server", FakeServer)
    monkeypatch.setattr(limits, "IDLE_EXIT_S", 0 if how == "idle" else 3600 * 24 * 365 * 100)
    FakeServer.home, FakeServer.asks, FakeServer.found_while_finishing = home, [stops[how]], []
    asyncio.run(lifecycle._serve(home, daemon))  # type: ignore[arg-type]
    assert FakeServer.found_before
    assert FakeServer.found_while_finishing == [False]


def test_a_folder_that_stood_open_is_closed(home: Path) -> None:
    """A socket lies in a folder of mode 0700, also in one that was made by somebody with a lax umask."""
    (home / "run").chmod(0o755)
    lifecycle._make_private(home / "run")
    assert (home / "run").stat().st_mode & 0o777 == 0o700


def test_a_link_in_the_place_of_the_folder_is_refused(home: Path) -> None:
    """A link may lead to where others can write."""
    (home / "elsewhere").mkdir()
    (home / "logs").symlink_to(home / "elsewhere")
    with pytest.raises(errors.SocketFolderUnsafe):
        lifecycle._make_private(home / "logs")
