"""Starting a daemon: once, detached, with nothing of the starter's, and waited for until it answers."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memd_client import __version__, address, link, spawn, wire
from tests.client import peers

# What a started process tells of itself, as JSON into the FIFO.
CONFESSION = """
import json, os, signal
open_still = lambda n: os.path.exists(f"/proc/self/fd/{n}") or n in "012"
facts = {
    "ignored": [n for n in signal.valid_signals() if n not in (2, 3, 13, 25) and signal.getsignal(n) is signal.SIG_IGN],
    "environ": dict(os.environ), "cwd": os.getcwd(), "session": os.getsid(0),
    "descriptors": {n: os.readlink(f"/proc/self/fd/{n}") for n in filter(open_still, os.listdir("/proc/self/fd"))},
}
with open(os.environ["MEMD_HOME"] + "/ready", "w") as fifo:
    json.dump(facts, fifo)
"""


def write_launcher(home: Path, text: str) -> Path:
    (home / "bin").mkdir(exist_ok=True)
    launcher = home / "bin" / "memd-daemon"
    launcher.write_text(text, encoding="utf-8")
    launcher.chmod(0o700)
    return launcher


def test_a_started_daemon_inherits_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, no descriptor, no session, no directory of the one who happened to start it."""
    os.mkfifo(tmp_path / "ready")
    write_launcher(tmp_path, f"#!/bin/sh\nexec {sys.executable} -I -c {shlex.quote(CONFESSION)}\n")
    given_environ = {
        b"HOME": b"/h",
        b"LC_ALL": b"C.UTF-8",
        b"ANTHROPIC_API_KEY": b"sk",
        b"CLAUDECODE": b"1",
        b"PATH": b"/bin",
    }
    monkeypatch.setattr(spawn.posix, "environ", given_environ)
    read_end, write_end = os.pipe()
    os.set_inheritable(write_end, True)
    ignored = [signal.SIGCHLD, signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1]
    before = [signal.signal(number, signal.SIG_IGN) for number in ignored]
    try:
        assert spawn.start(os.fsencode(tmp_path))
        facts = json.loads(peers.read_fifo(tmp_path / "ready"))
    finally:
        for number, handler in zip(ignored, before, strict=True):
            signal.signal(number, handler)
        os.close(read_end)
        os.close(write_end)
    kept = {"HOME": "/h", "LC_ALL": "C.UTF-8", "PATH": "/bin", "MEMD_HOME": str(tmp_path)}
    own = {"PWD", "OLDPWD", "SHLVL", "_"}  # what a shell adds itself
    assert {name: value for name, value in facts["environ"].items() if name not in own} == kept
    assert facts["cwd"] == "/"
    assert facts["ignored"] == []  # with SIGCHLD ignored, git's failures would all be successes
    assert facts["session"] != os.getsid(0)
    assert [facts["descriptors"][str(n)] for n in range(3)] == ["/dev/null"] * 3
    assert not [target for target in facts["descriptors"].values() if "pipe" in target or "socket" in target]


def test_a_second_start_joins_the_first() -> None:
    """Whether a daemon is starting, not who starts it; the lock lets one process through."""
    with peers.startable_home() as home:
        assert [spawn.start(os.fsencode(home)) for _ in range(5)] == [True] * 5
        pid = peers.wait_until_ready(home)
        assert peers.starts(home) == [pid]


@pytest.mark.parametrize("is_folder", [False, True])
@pytest.mark.parametrize("age_s", [spawn.START_LOCK_S + 60, -3_600])
def test_a_void_start_lock_is_taken_over(age_s: int, is_folder: bool) -> None:
    """One that its daemon never came to remove, or that a clock set back has put into the future; a folder in its place, too."""
    with peers.startable_home() as home:
        (home / "run").mkdir()
        lock = home / "run" / "starting"
        if is_folder:
            (lock / "somebody's").mkdir(parents=True)
        else:
            lock.touch()
        at = time.time() - age_s
        os.utime(lock, (at, at))
        assert spawn.start(os.fsencode(home))
        assert peers.wait_until_ready(home) in peers.starts(home)


def test_a_fresh_start_lock_holds_off() -> None:
    """Somebody else is at it."""
    with peers.startable_home() as home:
        (home / "run").mkdir()
        (home / "run" / "starting").touch()
        assert spawn.start(os.fsencode(home))
        assert (home / "run" / "starting").exists()
        assert peers.starts(home) == []


def test_a_daemon_that_came_up_meanwhile_is_not_started_again() -> None:
    """Its address was written after the caller had looked, and its start lock is gone already."""
    with peers.startable_home() as home:
        peers.announce(home, home / "run" / "memd.sock")
        assert spawn.start(os.fsencode(home))
        assert not (home / "run" / "starting").exists()
        assert peers.starts(home) == []


def test_without_a_launcher_nothing_is_started_and_nothing_made(tmp_path: Path) -> None:
    """A home that was purged stays purged."""
    assert not spawn.start(os.fsencode(tmp_path / "gone"))
    assert not spawn.start(os.fsencode(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_launcher_that_is_not_executable_is_not_run(tmp_path: Path) -> None:
    """Nor one of another user."""
    launcher = write_launcher(tmp_path, "#!/bin/sh\n")
    launcher.chmod(0o600)
    if os.geteuid() != 0:  # root may run anything that has one x bit; with none, nobody may
        assert not os.access(launcher, os.X_OK)
    assert not spawn.start(os.fsencode(tmp_path))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_launcher_of_another_user_is_not_run(tmp_path: Path) -> None:
    """A root shell that kept HOME does not run what the user wrote."""
    launcher = write_launcher(tmp_path, "#!/bin/sh\n")
    os.chown(launcher, 65534, 65534)
    assert not spawn.start(os.fsencode(tmp_path))


def test_ensuring_starts_one_daemon_and_then_finds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has answered when the call returns."""
    with peers.startable_home() as home:
        monkeypatch.setattr(spawn, "write_launcher", lambda home, **_: None)
        (home / "ready").unlink()
        first = spawn.ensure_daemon(os.fsencode(home), peers.WAIT_S)
        again = spawn.ensure_daemon(os.fsencode(home), peers.WAIT_S)
        assert (first.pid, again.pid) == (peers.starts(home)[0],) * 2
        assert len(peers.starts(home)) == 1
        ping = wire.request(wire.PING, wire.EMPTY_BODY)
        assert isinstance(link.request(first, ping, peers.soon_ns()), link.Reply)


def test_an_interpreter_without_its_packages_leaves_the_launcher_as_it_is(tmp_path: Path) -> None:
    """A carrier of an install runs in one: written for it, no daemon would ever start again."""
    launcher = write_launcher(tmp_path, text := "#!/bin/sh\nexit 1\n")
    ask = "import sys; sys.path.insert(0, sys.argv[1]); from memd_client.spawn import ensure_daemon as ensure; "
    ask += "ensure(sys.argv[2].encode(), 0.05)"
    package = Path(spawn.__file__).parent.parent
    asked = subprocess.run(
        [sys.executable, "-I", "-S", "-c", ask, package, tmp_path], capture_output=True, text=True, check=False
    )
    assert "StartFailed" in asked.stderr
    assert launcher.read_text(encoding="utf-8") == text


def test_a_stale_address_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon was killed and left its file and its socket."""
    with peers.startable_home() as home:
        monkeypatch.setattr(spawn, "write_launcher", lambda home, **_: None)
        (home / "ready").unlink()
        killed = spawn.ensure_daemon(os.fsencode(home), peers.WAIT_S)
        peers.end(killed.pid)
        assert spawn.ensure_daemon(os.fsencode(home), peers.WAIT_S).pid != killed.pid


def test_a_daemon_that_never_answers_is_a_failed_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a sentence that says where to look."""
    write_launcher(tmp_path, "#!/bin/sh\nexit 1\n")
    monkeypatch.setattr(spawn, "write_launcher", lambda home, **_: None)
    with pytest.raises(spawn.StartFailed, match="memd logs"):
        spawn.ensure_daemon(os.fsencode(tmp_path), 0.05)


def test_a_daemon_that_says_why_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sentence is the failure's; what an earlier one said is forgotten by the next start."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "refused").write_text("an older reason")
    write_launcher(tmp_path, '#!/bin/sh\nprintf %s "The disk is full." > "$MEMD_HOME/run/refused"\n')
    monkeypatch.setattr(spawn, "write_launcher", lambda home, **_: None)
    with pytest.raises(spawn.StartRefused, match=r"^The disk is full\.$"):
        spawn.ensure_daemon(os.fsencode(tmp_path), 60.0)


def test_a_daemon_of_another_protocol_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not waited for: it answers."""
    monkeypatch.setattr(spawn, "write_launcher", lambda home, **_: None)
    with (
        peers.short_directory() as directory,
        peers.router(directory / "s", lambda _: [b"", b"memd/7", b"7.0", b"\x00"]),
    ):
        peers.announce(tmp_path, directory / "s")
        with pytest.raises(spawn.DaemonMismatch, match="memd restart") as caught:
            spawn.ensure_daemon(os.fsencode(tmp_path), peers.WAIT_S)
    assert caught.value.mismatch.version == b"7.0"


def test_the_launcher_is_written_once_with_its_directories(tmp_path: Path) -> None:
    """0700 all the way, for the running interpreter; a second time changes nothing, another interpreter does."""
    home = os.fsencode(tmp_path / "new" / "home")
    spawn.write_launcher(home)
    launcher = Path(os.fsdecode(spawn.launcher_path(home)))
    assert (launcher.stat().st_mode & 0o777, launcher.parent.stat().st_mode & 0o777) == (0o700, 0o700)
    assert sys.executable in launcher.read_text(encoding="utf-8")
    written = launcher.stat().st_ino
    spawn.write_launcher(home)
    assert launcher.stat().st_ino == written
    spawn.write_launcher(home, b"/other/python")
    assert "exec '/other/python' -I -m memd_daemon" in launcher.read_text(encoding="utf-8")
    assert [file.name for file in launcher.parent.iterdir()] == ["memd-daemon"]


@pytest.mark.parametrize(
    ("version", "is_there", "stays"),
    [
        ("99.0.0", True, True),
        ("99.0.0", False, False),
        ("0.0.1", True, False),
        (__version__, True, False),
        ("x", True, False),
    ],
)
def test_a_newer_launcher_stays_while_it_starts_something(
    tmp_path: Path, version: str, is_there: bool, stays: bool
) -> None:
    """Whoever starts a daemon on the way leaves the newer install's; `memd install` is asked for, and writes its own."""
    python = tmp_path / "it's\\python"
    python.touch(mode=0o700 if is_there else 0o600)
    home = os.fsencode(tmp_path)
    launcher = write_launcher(tmp_path, "")
    made_by = spawn.launcher_text(home, os.fsencode(python))
    launcher.write_bytes(made_by.replace(__version__.encode(), version.encode()))
    stood = launcher.read_bytes()
    spawn.write_launcher(home, yields=True)
    assert (launcher.read_bytes() == stood) == stays
    spawn.write_launcher(home)
    assert launcher.read_bytes() == spawn.launcher_text(home, os.fsencode(sys.executable))


@pytest.mark.parametrize("text", [b"", b"#!/bin/sh\n", b"\n\n\n\n", b"#!/bin/sh\n# memd 99.0.0\n\nexec /bin/true\n"])
def test_a_launcher_of_another_form_is_written_anew(tmp_path: Path, text: bytes) -> None:
    """Cut off, or somebody's own."""
    write_launcher(tmp_path, "").write_bytes(text)
    spawn.write_launcher(os.fsencode(tmp_path), yields=True)
    launcher = tmp_path / "bin" / "memd-daemon"
    assert launcher.read_bytes() == spawn.launcher_text(os.fsencode(tmp_path), os.fsencode(sys.executable))


def test_a_daemon_that_was_late_is_left_to_a_successor() -> None:
    """Whoever announced itself and lives has none started beside it, but for one that says it did not answer."""
    with peers.startable_home() as home:
        peers.announce(home, home / "run" / "memd.sock")
        assert spawn.start(os.fsencode(home))
        assert peers.starts(home) == []
        assert spawn.start(os.fsencode(home), replaces=True)
        assert peers.wait_until_ready(home) in peers.starts(home)


@settings(max_examples=25, deadline=None)
@given(st.binary(min_size=1, max_size=40).filter(lambda tail: b"\0" not in tail and b"\n" not in tail))
def test_any_home_survives_the_launchers_quotes(tail: bytes) -> None:
    """Blanks, apostrophes, dollars, braces, backslashes and bytes that are no text."""
    home = b"/home/" + tail
    text = spawn.launcher_text(home, b"/bin/echo").replace(
        b"exec '/bin/echo' -I -m memd_daemon", b'printf %s "$MEMD_HOME"'
    )
    assert subprocess.run(["/bin/sh", "-c", text], env={}, capture_output=True, check=True).stdout == home


def test_a_moved_home_is_the_one_that_is_served() -> None:
    """The launcher went along with its folder, the path written in it did not."""
    text = spawn.launcher_text(b"/old", b"/bin/true")
    text = text.replace(b"exec '/bin/true' -I -m memd_daemon", b'printf %s "$MEMD_HOME"')
    ran = subprocess.run(["/bin/sh", "-c", text], env={"MEMD_HOME": "/new"}, capture_output=True, check=True)
    assert ran.stdout == b"/new"


def test_reading_the_address_of_a_fresh_daemon_names_its_process() -> None:
    """The stub announces itself as a daemon does, so that the tests above mean something."""
    with peers.startable_home() as home:
        spawn.start(os.fsencode(home))
        pid = peers.wait_until_ready(home)
        found = address.read(os.fsencode(home))
        assert found is not None
        assert found.pid == pid
        assert address.is_alive(found)
