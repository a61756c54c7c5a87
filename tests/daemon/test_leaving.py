"""How a daemon leaves, and what it finds when it comes, without a process of its own."""

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memd_client import address
from memd_daemon import ended, errors, holder, lifecycle, limits, main_thread


@pytest.fixture
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="memd-", dir="/tmp"))
    (folder / "run").mkdir(mode=0o700)
    yield folder
    shutil.rmtree(folder)


class FakeDaemon:
    """Takes the callback that stops."""

    hook = receipt = None
    mcp: Any = SimpleNamespace(take=None)
    parts: Any = SimpleNamespace(underway=None, store=SimpleNamespace(in_place=lambda: True))
    leave: Callable[[], None]

    def handlers(self, stop: Callable[[], None]) -> dict[str, Any]:
        self.leave = stop
        return {}

    def begin(self) -> None:
        return

    def idle_exit_s(self) -> int:
        return limits.IDLE_EXIT_S


class FakeServer:
    """Is asked to stop while it serves, and looks whether it can still be found while it finishes its work."""

    asks: list[Callable[[], None]]  # each called while it serves
    found_while_finishing: list[bool]

    def __init__(self, *_: object) -> None:
        self.served_at = 0.0

    def bind(self, path: str) -> None:
        Path(path).touch()

    def begin(self, ended: Callable[[], None]) -> None:
        FakeServer.found_before = address.read(os.fsencode(FakeServer.home)) is not None
        for ask in FakeServer.asks:
            ask()

    def finish(self) -> None:
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
    held = holder.take(home)
    try:
        with main_thread.heeding() as bell:
            lifecycle._serve(home, daemon, held.door, bell)  # type: ignore[arg-type]
    finally:
        held.free()
    assert FakeServer.found_before
    assert FakeServer.found_while_finishing == [False]


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o777, 0o500])
@pytest.mark.parametrize("name", ["", "run", "logs", "store", "index", "keys", "spool"])
def test_a_folder_that_stood_open_is_closed(home: Path, name: str, mode: int) -> None:
    """The home and what memd keeps in it have mode 0700, also where somebody with a lax umask made them."""
    (home / name).mkdir(exist_ok=True)
    (home / name).chmod(mode)
    lifecycle._close_home(home)
    assert (home / name).stat().st_mode & 0o7777 == 0o700


@pytest.mark.parametrize("name", ["run", "logs", "store", "index", "keys", "spool"])
@pytest.mark.parametrize("what", ["link", "file", "nowhere"])
def test_what_is_no_folder_of_its_own_is_refused(home: Path, name: str, what: str) -> None:
    """A link may lead to where others can write, and its target keeps its mode."""
    (home / "elsewhere").mkdir(mode=0o755)
    if (home / name).exists():
        (home / name).rmdir()
    if what == "file":
        (home / name).touch()
    else:
        (home / name).symlink_to(home / ("elsewhere" if what == "link" else "nothing"))
    with pytest.raises(errors.FolderUnsafe, match=r"is a link|is no folder"):
        lifecycle._close_home(home)
    assert (home / "elsewhere").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("name", ["", "run", "keys"])
def test_what_belongs_to_another_user_is_refused(home: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its mode: its owner could read it at any time."""
    (home / name).mkdir(exist_ok=True)
    owner = os.getuid()
    real = Path.stat

    def stat_of(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        found = real(path, follow_symlinks=follow_symlinks)
        return os.stat_result((*found[:4], owner + (path == home / name), *found[5:10]))

    monkeypatch.setattr(Path, "stat", stat_of)
    with pytest.raises(errors.FolderUnsafe, match=rf"belongs to another user \(uid {owner + 1}\)"):
        lifecycle._close_home(home)


def test_a_home_may_be_a_link_and_may_not_be_shared(home: Path) -> None:
    """A link leads to a folder of one's own, which is closed; a folder with the sticky bit belongs to everybody."""
    link = home.parent / f"{home.name}-link"
    link.symlink_to(home)
    try:
        home.chmod(0o755)
        lifecycle._close_home(link)
        assert home.stat().st_mode & 0o777 == 0o700
        home.chmod(0o1777)
        with pytest.raises(errors.FolderUnsafe, match="is a folder that users share"):
            lifecycle._close_home(link)
    finally:
        link.unlink()


def test_a_thread_that_ends_by_a_fault_is_told_in_the_log_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    """Standard error leads nowhere; the fault's own words may be a user's."""
    fault = ValueError("the words of a user")
    ended = threading.ExceptHookArgs((ValueError, fault, None, threading.current_thread()))
    lifecycle._thread_ended(ended)
    (record,) = caplog.records
    line = lifecycle._JsonLines().format(record)
    assert threading.current_thread().name in line
    assert "ValueError" in line
    assert "the words of a user" not in line


@pytest.fixture
def places(home: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """What XDG_RUNTIME_DIR names, and what is taken where that will not do."""
    named, last = home / "named", home / "last"
    for place in (named, last):
        place.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(named))
    monkeypatch.setattr(tempfile, "tempdir", str(last))
    monkeypatch.setattr(limits, "SHORT_PLACE", str(last))
    return named, last


def test_a_file_in_the_place_of_the_short_folder_is_said(home: Path, places: tuple[Path, Path]) -> None:
    """Where others may write, another user's file may stand there; the next place is taken, and no traceback is an answer."""
    long = home / ("n" * 120)
    for place in places:
        folder = Path(lifecycle.socket_path(long)).parent
        assert folder.parent == place
        folder.rmdir()
        folder.touch(mode=0o600)
    with pytest.raises(errors.SocketFolderUnsafe):
        lifecycle.socket_path(long)


@pytest.mark.parametrize(
    "kind", ["unset", "empty", "missing", "relative", "a file", "another user's", "too long", "read-only"]
)
def test_a_runtime_folder_that_will_not_do_is_passed_over(
    home: Path, places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """su keeps root's, a container has none, and a login that ended has taken its own away."""
    named, last = places
    match kind:
        case "unset":
            monkeypatch.delenv("XDG_RUNTIME_DIR")
        case "empty" | "relative":
            monkeypatch.setenv("XDG_RUNTIME_DIR", "" if kind == "empty" else "named")
        case "missing" | "a file":
            named.rmdir()
            if kind == "a file":
                named.touch()
        case "too long":
            (named / ("r" * 60)).mkdir()
            monkeypatch.setenv("XDG_RUNTIME_DIR", str(named / ("r" * 60)))
        case _:
            real_stat, real_mkdir = Path.stat, Path.mkdir

            def stat_of(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
                found = real_stat(path, follow_symlinks=follow_symlinks)
                is_foreign = path == named and kind == "another user's"
                return os.stat_result((*found[:4], found.st_uid + is_foreign, *found[5:10]))

            def mkdir(path: Path, mode: int = 0o777) -> None:
                if path.parent == named and kind == "read-only":
                    raise PermissionError
                real_mkdir(path, mode)

            monkeypatch.setattr(Path, "stat", stat_of)
            monkeypatch.setattr(Path, "mkdir", mkdir)
    assert Path(lifecycle.socket_path(home / ("n" * 120))).parent.parent == last


@pytest.mark.parametrize(("kind", "refuses"), [(KeyboardInterrupt, False), (ImportError, True)])
def test_who_is_interrupted_at_a_start_refused_nothing(home: Path, kind: type[BaseException], refuses: bool) -> None:
    """Hooks leave a daemon that refused to serve alone for a while."""
    (home / "run").mkdir(parents=True, exist_ok=True)
    lifecycle._ended(home, kind, kind(), None)
    assert (home / "run" / "refused").exists() is refuses


def test_a_second_signal_ends_no_daemon_that_is_closing_its_store(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that closes, or a machine that goes down, says it twice; the closing is finished and the locks are free."""
    closed: list[bool] = []

    class Closing(FakeDaemon):
        def close(self) -> None:
            os.kill(os.getpid(), signal.SIGHUP)
            closed.append(True)

    mine: list[int] = []
    before = signal.signal(signal.SIGHUP, lambda number, _: mine.append(number))  # in place of the end of this process
    monkeypatch.setattr(lifecycle, "Server", FakeServer)
    monkeypatch.setattr(lifecycle, "keep_heap_small", lambda: None)
    monkeypatch.setattr(lifecycle, "_log_to", lambda _: None)
    monkeypatch.setattr(lifecycle, "_take_descriptors", lambda: None)
    monkeypatch.setattr(ended, "listen", lambda _: None)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)  # stands again afterwards
    FakeServer.home, FakeServer.asks, FakeServer.found_while_finishing = (
        home,
        [lambda: os.kill(os.getpid(), signal.SIGTERM)],
        [],
    )
    try:
        lifecycle.run(home, lambda _: Closing())  # type: ignore[arg-type,return-value]
    finally:
        signal.signal(signal.SIGHUP, before)
    assert closed == [True]
    assert mine == []
