"""`memd doctor --bundle`: what a report holds, in every state that memd can be in, and that nothing in it is the user's."""

import json
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memd_client import address
from memd_client.cli import bundle, bundle_log, doctor
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
def planted(kept: Planted) -> Planted:
    """The same as it was filled, with a daemon that serves it, and litter in every folder."""
    kept.restore()
    kept.litter()
    return kept


def report_of(world: World, *words: str) -> str:
    """The report that is printed; every section stands in it."""
    ran = world.memd("doctor", "--bundle", "-", *words)
    assert (ran.code, ran.err) == (0, "")
    text = ran.out.decode()
    assert re.findall(r"^== (.+)$", text, re.MULTILINE) == SECTIONS
    return text


def section(report: str, name: str) -> str:
    return report.split(f"== {name}\n")[1].split("\n== ")[0]


# --- the states


def running(planted: Planted) -> list[tuple[str, str]]:
    return [
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
    ]


def stopped(planted: Planted) -> list[tuple[str, str]]:
    planted.world.memd("stop")
    return [("daemon", "state: stopped"), ("timings", "no daemon answers"), ("marks", "stopped: written")]


def gone(planted: Planted) -> list[tuple[str, str]]:
    """Killed, its files left behind."""
    kill(planted.world)
    return [("daemon", "state: not running"), ("home", "address: 0600 file of you")]


def wedged(planted: Planted) -> list[tuple[str, str]]:
    """There and silent; `World.close` ends it by SIGKILL."""
    known = address.read(os.fsencode(planted.world.home))
    assert known is not None
    os.kill(known.pid, signal.SIGSTOP)
    return [("daemon", "state: not answering"), ("faults", "code: daemon-silent")]


def damaged(planted: Planted) -> list[tuple[str, str]]:
    """A store that no daemon opens; the one that tried said why."""
    kill(planted.world)
    (planted.world.home / "store" / "log" / "data.mdb").write_bytes(os.urandom(65_536))
    planted.world.memd("list")
    return [("daemon", "state: not running"), ("home", "data.mdb: 0600 file of you, 65536 bytes")]


def no_home(planted: Planted) -> list[tuple[str, str]]:
    planted.world.memd("stop")
    shutil.rmtree(planted.world.home)
    return [("home", "files: the folder is not there"), ("daemon", "state: not running")]


def home_is_a_file(planted: Planted) -> list[tuple[str, str]]:
    no_home(planted)
    planted.world.home.write_text(planted.of("home that is a file"))
    return [("faults", "code: home-not-a-folder")]


def home_is_a_loop(planted: Planted) -> list[tuple[str, str]]:
    no_home(planted)
    planted.world.home.symlink_to(planted.world.home)
    return [("home", "owner: unknown")]


def broken_registry(planted: Planted) -> list[tuple[str, str]]:
    (planted.world.home / "install.json").write_text(f'{{"version": "{planted.of("registry")}"')
    return [("hooks", "installed: not known: RegistryDamaged"), ("faults", "code: hooks-unknown")]


def broken_settings(planted: Planted) -> list[tuple[str, str]]:
    file = planted.world.user_home / ".claude" / "settings.json"
    file.write_text(f'{{"hooks": {{"{planted.of("broken settings")}": 3}}}}')
    return [("hooks", "not known: WrongShape"), ("faults", "code: settings-malformed")]


def folders_for_files(planted: Planted) -> list[tuple[str, str]]:
    """A folder where each file should be that the report reads."""
    home = planted.world.home
    planted.world.memd("stop")
    for name in ("logs/daemon.log", "run/refused", "install.json", "bin/hook"):
        (home / name).unlink(missing_ok=True)
        (home / name / planted.of(f"folder for {name}")).mkdir(parents=True)
    return [("log", "not known: IsADirectoryError"), ("hooks", "installed: not known: IsADirectoryError")]


def no_directory(planted: Planted) -> list[tuple[str, str]]:
    """The repository is gone from under the hooks."""
    shutil.rmtree(planted.world.repository)
    planted.world.repository.mkdir()
    return [("hooks", "memd's line stands: no")]


STATES = (
    *(
        running,
        stopped,
        gone,
        wedged,
        damaged,
        no_home,
        home_is_a_file,
        home_is_a_loop,
        broken_registry,
        broken_settings,
    ),
    *(folders_for_files, no_directory),
)


def kill(world: World) -> None:
    known = address.read(os.fsencode(world.home))
    assert known is not None
    os.kill(known.pid, signal.SIGKILL)
    end_daemons_of(world.home)
    while address.is_alive(known):  # a zombie counts as none
        os.sched_yield()


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_nothing_of_the_users_is_in_a_report(
    planted: Planted, state: Callable[[Planted], list[tuple[str, str]]]
) -> None:
    """No canary and no piece of one, also encoded, in any state; and the state is in it."""
    expected = state(planted)
    report = report_of(planted.world, "--verify")
    assert planted.found_in(report) == []
    for name, told in expected:
        assert told in section(report, name), section(report, name)


def test_the_canaries_would_be_found(planted: Planted) -> None:
    """What the test above looks for stands in memd's home and in what the commands print; a piece of it is enough."""
    shown = planted.world.memd("turns").out.decode() + planted.world.memd("list").out.decode()
    assert {"turn", "note", "directive"} <= set(planted.found_in(shown))
    assert "text in the log" in planted.found_in(
        (planted.world.home / "logs" / "daemon.log").read_text("utf-8", "replace")
    )
    one = canary("turn")
    for told in (one[3:9], one[::-1][2:9], one.encode().hex()[4:24], f"x{one}".upper()):
        assert planted.found_in(told) == ["turn"]
    assert len(set(pieces(one))) > 60


def test_the_command_changes_nothing(planted: Planted) -> None:
    """No file of the home, no setting, no turn, and a daemon that was down stays down."""
    planted.world.memd("stop")

    def files() -> dict[str, tuple[int, int]]:
        found = [path for path in planted.world.home.rglob("*") if path.is_file()]
        return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in found}

    before = files()
    report_of(planted.world, "--verify")
    assert files() == before


def test_a_daemon_of_another_version(planted: Planted) -> None:
    """It is said, with its number; what its answers lack is no reason for no report."""
    kill(planted.world)
    shutil.rmtree(planted.world.home / "run")
    program = Path(__file__).with_name("other_daemon.py")
    process = subprocess.Popen(
        [sys.executable, str(program), "99.1.0"],
        env=planted.world.environ | {"PYTHONPATH": str(Path.cwd())},
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        report = report_of(planted.world, "--verify")
        assert "state: not answering" in section(report, "daemon")
        assert "code: daemon-silent" in section(report, "faults")
        assert planted.found_in(report) == []
    finally:
        process.kill()
        process.communicate()


# --- another user, no home


def test_a_home_of_another_user(planted: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked at as far as that user may be, never asked; root that kept HOME is such a one."""
    for name, value in planted.world.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    report = bundle.text(scene(verifies=True))
    assert "owner: another user" in section(report, "home") or "owner: root" in section(report, "home")
    assert "state: not asked: the home is of" in section(report, "daemon")
    assert "not looked: the home is of" in section(report, "faults")
    assert planted.found_in(report) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_home_that_another_user_cannot_enter(planted: Planted) -> None:
    """The folders above are closed, the directory too: every section says what kept it."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:  # the interpreter's own files may be closed to that user, so it is this one that becomes him
        try:
            os.environ.clear()
            os.environ.update(planted.world.environ)
            os.chdir(planted.world.repository)
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
    assert planted.found_in(report) == []


def test_no_variable_names_a_home(fresh: World) -> None:
    """Neither HOME nor MEMD_HOME: said in its section, and the others are there."""
    ran = fresh.memd("doctor", "--bundle", "-", HOME="", MEMD_HOME="")
    assert ran.code == 0, ran.err
    assert "no variable names one" in section(ran.out.decode(), "home")
    assert "memd: " in section(ran.out.decode(), "memd")


# --- the redactor


def test_no_line_of_the_log_is_told_without_the_redactor(planted: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it cannot be started, that is what stands there."""
    for name, value in planted.world.environ.items():
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


# --- the file


def test_a_report_is_a_new_file_for_its_owner_alone(fresh: World) -> None:
    """In the current directory under a name with the time, in a folder that is named, or under the name given."""
    fresh.memd("doctor", "--bundle")
    (made,) = fresh.repository.glob("memd-report-*.txt")
    folder = fresh.folder / "reports"
    folder.mkdir()
    ran = fresh.memd("doctor", "--bundle", str(folder), "--json")
    (inside,) = folder.iterdir()
    assert ran.json == {"path": str(inside), "bytes": inside.stat().st_size, "report": ""}
    named = folder / "mine.txt"
    assert fresh.memd("doctor", "--bundle", str(named)).code == 0
    for path in (made, inside, named):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert path.read_text("utf-8").startswith("memd report, made ")


def test_nothing_is_written_over(fresh: World) -> None:
    """Neither a file nor what a link leads to; the refusal says so."""
    taken, link = fresh.folder / "taken", fresh.folder / "link"
    taken.write_text("mine")
    link.symlink_to(fresh.folder / "elsewhere")
    for path in (taken, link):
        ran = fresh.memd("doctor", "--bundle", str(path), "--json")
        assert (ran.code, ran.json["error"]["code"]) == (1, "file-exists")
    assert taken.read_text() == "mine"
    assert not (fresh.folder / "elsewhere").exists()


def test_a_report_is_written_whole_or_not_at_all(fresh: World) -> None:
    """No room: a path that was named is refused and nothing left of it; without one the report is printed."""

    def poor() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    def ran(*words: str) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-I", "-c", PROGRAM, "doctor", "--bundle", *words]
        where = {"cwd": fresh.repository, "env": fresh.environ | {"TMPDIR": str(fresh.folder)}}
        return subprocess.run(command, **where, capture_output=True, preexec_fn=poor, check=False)  # type: ignore[call-overload, no-any-return]

    named = ran("here.txt", "--json")
    assert (named.returncode, json.loads(named.stdout)["error"]["code"]) == (1, "report-unwritable")
    printed = ran()
    assert printed.returncode == 0
    assert b"== memd" in printed.stdout
    assert b"no room" in printed.stderr
    assert [path.name for path in fresh.repository.iterdir() if path.name not in (".git", "app.py")] == []


def _is_own_mounts_allowed() -> bool:
    done = (
        subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False) if shutil.which("unshare") else None
    )
    return done is not None and done.returncode == 0


@pytest.mark.skipif(not _is_own_mounts_allowed(), reason="mounts of one's own are not allowed here")
def test_a_disk_that_is_full(planted: Planted) -> None:
    """The home's disk has no byte left: the report says so, and is written elsewhere."""
    planted.world.memd("stop")
    home = planted.world.home
    full = (
        f"mount -t tmpfs -o size=64k tmpfs '{home}' && mkdir -m 700 '{home}/run' && "
        f"(cat /dev/zero >'{home}/spool' 2>/dev/null; true) && exec \"$@\""
    )
    command = [sys.executable, "-I", "-c", PROGRAM, "doctor", "--bundle", "-"]
    done = subprocess.run(
        ["unshare", "-m", "/bin/sh", "-c", full, "sh", *command],
        cwd=planted.world.repository,
        env=planted.world.environ,
        capture_output=True,
        check=True,
    )
    told = section(done.stdout.decode(), "home")
    assert "kind: tmpfs" in told
    assert "free bytes: 0" in told
    assert planted.found_in(done.stdout.decode()) == []


# --- the machine's name


def test_the_machines_name_is_not_told(fresh: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither as it is nor inside a kernel's release or a mount's source."""
    name = canary("host")
    for variable, value in fresh.environ.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr("socket.gethostname", lambda: name)
    monkeypatch.setattr("platform.release", lambda: f"6.8.0-45-generic-{name}+{name}")
    monkeypatch.setattr("platform.machine", lambda: name)
    monkeypatch.setattr("platform.freedesktop_os_release", lambda: {"ID": name, "VERSION_ID": f"12.{name}"})
    report = bundle.text(scene(verifies=False))
    assert not [piece for piece in pieces(name) if piece in report.lower()]
    assert "kernel: 6.8.0-45-generic-…-…" in report
    assert "distribution: another 12" in report


def test_a_section_that_fails_names_kind_and_place(fresh: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not its words, which may be anybody's; and the others stand."""
    for variable, value in fresh.environ.items():
        monkeypatch.setenv(variable, value)
    secret = canary("error")

    def fails(_: object) -> dict[str, str]:
        raise ValueError(secret)

    monkeypatch.setattr(bundle, "SECTIONS", (("first", fails), ("second", lambda _: {"it": "stands"})))
    report = bundle.text(scene(verifies=False))
    assert "not known: ValueError at test_bundle.py:" in section(report, "first")
    assert section(report, "second").strip() == "it: stands"
    assert secret not in report


def test_a_check_that_fails_is_a_fault_of_its_own(fresh: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks behind it are looked at all the same."""
    for variable, value in fresh.environ.items():
        monkeypatch.setenv(variable, value)

    def _spoiled(_: doctor.Seen) -> Iterator[doctor.Fault]:
        raise PermissionError(13, "kept out")

    monkeypatch.setattr(doctor, "LOOKS", (_spoiled, *doctor.LOOKS))
    told = section(bundle.text(scene(verifies=False)), "faults")
    assert "what: spoiled: not known: PermissionError 13 at test_bundle.py:" in told
    assert "code: hooks-not-installed" in told


def test_verify_alone_is_a_mistake(fresh: World) -> None:
    """It says which command was meant."""
    ran = fresh.memd("doctor", "--verify")
    assert ran.code == 2
    assert "memd verify" in ran.err
