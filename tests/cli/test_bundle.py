"""`memd doctor --bundle`: what a report holds, in every state that memd can be in, and that nothing in it is the user's."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memd_client import address
from memd_client.cli import bundle, bundle_log
from memd_client.cli.bundle_scene import scene
from tests.cli.canaries import Planted, canary, pieces
from tests.cli.world import PROGRAM, World, end_daemons_of

SECTIONS = [name for name, _ in bundle.SECTIONS]
NOBODY = 65_534


@pytest.fixture(scope="module")
def kept() -> Iterator[Planted]:
    """Canaries everywhere, memd installed and used; filled once."""
    made = Planted()
    try:
        made.fill()
        made.keep()
        yield made
    finally:
        made.close()


@pytest.fixture
def still(kept: Planted) -> Planted:
    """The same as it was filled, with a daemon that serves it, and litter in every folder; only to be looked at."""
    kept.served()
    return kept


@pytest.fixture
def planted(still: Planted) -> Iterator[Planted]:
    """The same, to be spoiled."""
    yield still
    still.spoil()


@pytest.fixture
def down(kept: Planted) -> Iterator[Planted]:
    """The same without a daemon, to be spoiled."""
    kept.down()
    yield kept
    kept.spoil()


def report_of(world: World, *words: str) -> str:
    """The report that is printed; every section stands in it."""
    ran = world.memd("doctor", "--bundle", "-", *words)
    assert (ran.code, ran.err) == (0, "")
    text = ran.out.decode()
    assert re.findall(r"^== (.+)$", text, re.MULTILINE) == SECTIONS
    return text


def report_here(world: World, monkeypatch: pytest.MonkeyPatch) -> str:
    """The report, made by this process in the place of the user's: what costs most of the time is known here already."""
    with monkeypatch.context() as users:
        for name in os.environ:
            users.delenv(name)
        for name, value in world.environ.items():
            users.setenv(name, value)
        users.chdir(world.repository)
        text = bundle.text(scene(verifies=True))
    assert re.findall(r"^== (.+)$", text, re.MULTILINE) == SECTIONS
    return text


def section(report: str, name: str) -> str:
    return report.split(f"== {name}\n")[1].split("\n== ")[0]


# --- the states: what each does, what stands in its report, and for those that are only looked at what takes it back

State = list[tuple[str, str]]


def nothing() -> None:
    """Nothing has to be taken back."""


def running(planted: Planted) -> tuple[State, Callable[[], object]]:
    told = [
        ("daemon", "state: running"),
        ("daemon", "  gotcha: 1"),
        ("settings", "  - key: hold\n    value: interactive"),
        ("settings", "  - key: ignore\n    value: set, 1"),
        ("hooks", "  of other programs: 2"),
        ("timings", "hook: claude pre-edit\n    works: yes"),
        ("clients", "claude: 9.8.7"),
        ("log", "memd.lifecycle: serving, version"),
        ("home", "  - others: "),
        ("faults", "code: policy-not-counted"),
        ("bench", "  - hooks/pre-edit: 11 ms (0.99 to 1.21), 1.1 of its base, bar 1.35, ok\n  - <…>: 5 <…>"),
        ("process", "lives: yes"),
        ("process", "of this home: 1"),
        ("hooks", "this Python: yes"),
        ("marks", "how the last daemon ended: by no fault"),
    ]
    return told, nothing


def stopped(planted: Planted) -> State:
    planted.world.memd("stop")
    return [
        ("daemon", "state: stopped"),
        ("timings", "no daemon answers"),
        ("marks", "stopped: written"),
        ("process", "of this home: 0"),
    ]


def gone(planted: Planted) -> State:
    """Killed, its files left behind."""
    kill(planted.world)
    return [("daemon", "state: not running"), ("home", "address: 0600 file of you")]


def wedged(planted: Planted) -> tuple[State, Callable[[], object]]:
    """There and silent."""
    known = address.read(os.fsencode(planted.world.home))
    assert known is not None
    os.kill(known.pid, signal.SIGSTOP)
    told = [
        ("daemon", "state: not answering"),
        ("faults", "code: daemon-silent"),
        ("process", "lives: yes"),
        ("process", "state: stopped"),
    ]
    return told, lambda: os.kill(known.pid, signal.SIGCONT)


FAULT = ("marks", "how the last daemon ended:\n  - Segmentation fault\n  - server.py:7 <…>")


def damaged(planted: Planted) -> State:
    """A store that no daemon opens; the one that tried said why, and the one before it was ended by a fault."""
    where = f'  File "/{planted.of("folder of a fault")}/server.py", line 7 in {planted.of("function of a fault")}'
    fault = f"Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n{where}\n"
    (planted.world.home / "logs" / "fault").write_text(fault)
    (planted.world.home / "store" / "log" / "data.mdb").write_bytes(os.urandom(65_536))
    planted.world.memd("list")
    return [("daemon", "state: not running"), ("home", "data.mdb: 0600 file of you, 65536 bytes"), FAULT]


def no_home(planted: Planted) -> State:
    shutil.rmtree(planted.world.home)
    return [("home", "files: the folder is not there"), ("daemon", "state: not running")]


def home_is_a_file(planted: Planted) -> State:
    no_home(planted)
    planted.world.home.write_text(planted.of("home that is a file"))
    return [("faults", "code: home-not-a-folder")]


def home_is_a_loop(planted: Planted) -> State:
    no_home(planted)
    planted.world.home.symlink_to(planted.world.home)
    return [("home", "owner: unknown")]


def broken_registry(planted: Planted) -> tuple[State, Callable[[], object]]:
    file = planted.world.home / "install.json"
    text = file.read_bytes()
    file.write_text(f'{{"version": "{planted.of("registry")}"')
    told = [("hooks", "installed: not known: RegistryDamaged"), ("faults", "code: hooks-unknown")]
    return told, lambda: file.write_bytes(text)


def broken_settings(planted: Planted) -> tuple[State, Callable[[], object]]:
    file = planted.world.user_home / ".claude" / "settings.json"
    text = file.read_bytes()
    file.write_text(f'{{"hooks": {{"{planted.of("broken settings")}": 3}}}}')
    told = [("hooks", "not known: WrongShape"), ("faults", "code: settings-malformed")]
    return told, lambda: file.write_bytes(text)


def folders_for_files(planted: Planted) -> State:
    """A folder where each file should be that the report reads."""
    home = planted.world.home
    for name in ("logs/daemon.log", "run/refused", "install.json", "bin/hook"):
        (home / name).unlink(missing_ok=True)
        (home / name / planted.of(f"folder for {name}")).mkdir(parents=True)
    return [("log", "not known: IsADirectoryError"), ("hooks", "installed: not known: IsADirectoryError")]


def no_directory(planted: Planted) -> tuple[State, Callable[[], object]]:
    """The repository is gone from under the hooks."""
    shutil.rmtree(planted.world.repository)
    planted.world.repository.mkdir()
    return [("hooks", "memd's line stands: no")], lambda: planted.put_back(planted.world.repository)


LOOKED_AT = (running, wedged, broken_registry, broken_settings, no_directory)
SPOILED = (stopped, gone)
DOWN = (damaged, no_home, home_is_a_file, home_is_a_loop, folders_for_files)


def kill(world: World) -> None:
    known = address.read(os.fsencode(world.home))
    assert known is not None
    os.kill(known.pid, signal.SIGKILL)
    end_daemons_of(world.home)
    while address.is_alive(known):  # a zombie counts as none
        os.sched_yield()


def looked_through(planted: Planted, report: str, expected: State) -> None:
    """No canary and no piece of one, also encoded; and the state is in the report."""
    assert planted.found_in(report) == []
    for name, told in expected:
        assert told in section(report, name), section(report, name)


@pytest.mark.parametrize("state", LOOKED_AT, ids=lambda state: state.__name__)
def test_nothing_of_the_users_is_in_a_report(
    still: Planted, state: Callable[[Planted], tuple[State, Callable[[], object]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a daemon runs, whatever is wrong beside it."""
    expected, take_back = state(still)
    try:
        looked_through(still, report_here(still.world, monkeypatch), expected)
    finally:
        take_back()


@pytest.mark.parametrize("state", SPOILED, ids=lambda state: state.__name__)
def test_nothing_of_the_users_is_in_a_report_after_the_daemon(
    planted: Planted, state: Callable[[Planted], State]
) -> None:
    """Once it has ended; as the command makes it."""
    expected = state(planted)
    looked_through(planted, report_of(planted.world, "--verify"), expected)


@pytest.mark.parametrize("state", DOWN, ids=lambda state: state.__name__)
def test_nothing_of_the_users_is_in_a_report_without_a_daemon(
    down: Planted, state: Callable[[Planted], State], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where none can serve, or none was started."""
    expected = state(down)
    looked_through(down, report_here(down.world, monkeypatch), expected)


def test_the_command_prints_the_same(still: Planted) -> None:
    """Each section, and nothing of the user's."""
    expected, _ = running(still)
    looked_through(still, report_of(still.world, "--verify"), expected)


def test_the_canaries_would_be_found(still: Planted) -> None:
    """What the test above looks for stands in memd's home and in what the commands print; a piece of it is enough."""
    shown = still.world.memd("turns").out.decode() + still.world.memd("list").out.decode()
    assert {"turn", "note", "directive"} <= set(still.found_in(shown))
    assert "text in the log" in still.found_in((still.world.home / "logs" / "daemon.log").read_text("utf-8", "replace"))
    one = canary("turn")
    for told in (one[3:9], one[::-1][2:9], one.encode().hex()[4:24], f"x{one}".upper()):
        assert still.found_in(told) == ["turn"]
    assert len(set(pieces(one))) > 60


def test_the_command_changes_nothing(down: Planted) -> None:
    """No file of the home, no setting, no turn, and a daemon that was down stays down."""

    def files() -> dict[str, tuple[int, int]]:
        found = [path for path in down.world.home.rglob("*") if path.is_file()]
        return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in found}

    before = files()
    report_of(down.world, "--verify")
    assert files() == before


def test_a_daemon_of_another_version(down: Planted) -> None:
    """It is said, with its number; what its answers lack is no reason for no report."""
    shutil.rmtree(down.world.home / "run")
    program = Path(__file__).with_name("other_daemon.py")
    process = subprocess.Popen(
        [sys.executable, str(program), "99.1.0"],
        env=down.world.environ | {"PYTHONPATH": str(Path.cwd())},
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        report = report_of(down.world, "--verify")
        assert "state: not answering" in section(report, "daemon")
        assert "code: daemon-silent" in section(report, "faults")
        assert down.found_in(report) == []
    finally:
        process.kill()
        process.communicate()


# --- another user, no home


def test_a_home_of_another_user(still: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked at as far as that user may be, never asked; root that kept HOME is such a one."""
    for name, value in still.world.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    report = bundle.text(scene(verifies=True))
    assert "owner: another user" in section(report, "home") or "owner: root" in section(report, "home")
    assert "state: not asked: the home is of" in section(report, "daemon")
    assert "not looked: the home is of" in section(report, "faults")
    assert still.found_in(report) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_home_that_another_user_cannot_enter(still: Planted) -> None:
    """The folders above are closed, the directory too: every section says what kept it."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:  # the interpreter's own files may be closed to that user, so it is this one that becomes him
        try:
            os.environ.clear()
            os.environ.update(still.world.environ)
            os.chdir(still.world.repository)
            bundle.text(scene(verifies=False))  # everything is imported now
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            os.write(write, bundle.text(scene(verifies=True)).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        report = pipe.read().decode()
    os.waitpid(pid, 0)
    assert re.findall(r"^== (.+)$", report, re.MULTILINE) == SECTIONS
    assert "owner: unknown" in section(report, "home")
    assert still.found_in(report) == []


def test_no_variable_names_a_home(fresh: World) -> None:
    """Neither HOME nor MEMD_HOME: said in its section, and the others are there."""
    ran = fresh.memd("doctor", "--bundle", "-", HOME="", MEMD_HOME="")
    assert ran.code == 0, ran.err
    assert "no variable names one" in section(ran.out.decode(), "home")
    assert "memd: " in section(ran.out.decode(), "memd")


# --- the redactor


def test_no_line_of_the_log_is_told_without_the_redactor(still: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it cannot be started, that is what stands there."""
    for name, value in still.world.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    told = section(bundle.text(scene(verifies=False)), "log")
    assert "not known: CalledProcessError" in told
    assert "memd.lifecycle" not in told


def test_the_redactor_answers_each_text() -> None:
    """In their order, a credential gone."""
    token = "ghp_" + "0aZ9" * 9
    rows = bundle_log._redacted([{"say": "fine", "trace": f"of {token}"}, {}, {"say": "also"}])
    assert rows == [{"say": "fine", "trace": "of [redacted:github-token]"}, {}, {"say": "also"}]


# --- a full disk


def _is_own_mounts_allowed() -> bool:
    done = (
        subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False) if shutil.which("unshare") else None
    )
    return done is not None and done.returncode == 0


def test_a_report_made_at_a_terminal_says_so(still: Planted) -> None:
    """While a sign of progress turns there, which takes stdout's place."""
    code, shown = still.world.at_terminal("doctor", "--bundle", "-", TERM="xterm-256color")
    assert (code, "looking" in shown) == (0, True)
    told = section(shown, "machine")
    assert "not known" not in told
    assert re.search(r"terminal:\n *in: yes\n *out: yes", told)


@pytest.mark.skipif(not _is_own_mounts_allowed(), reason="mounts of one's own are not allowed here")
def test_a_disk_that_is_full(down: Planted) -> None:
    """The home's disk has no byte left: the report says so, and is written elsewhere."""
    home = down.world.home
    full = (
        f"mount -t tmpfs -o size=64k tmpfs '{home}' && mkdir -m 700 '{home}/run' && "
        f"(cat /dev/zero >'{home}/spool' 2>/dev/null; true) && exec \"$@\""
    )
    command = [sys.executable, "-I", "-c", PROGRAM, "doctor", "--bundle", "-"]
    done = subprocess.run(
        ["unshare", "-m", "/bin/sh", "-c", full, "sh", *command],
        cwd=down.world.repository,
        env=down.world.environ,
        capture_output=True,
        check=True,
    )
    told = section(done.stdout.decode(), "home")
    assert "kind: tmpfs" in told
    assert "free bytes: 0" in told
    assert down.found_in(done.stdout.decode()) == []
