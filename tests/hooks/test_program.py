"""The hook in one file: it does what the script does, and where it is not what the sources are the script runs instead."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memd_hooks import launcher, program
from tests.hooks.carry import process

STDIN = process.PROMPT


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the two packages, from which programs are made here."""
    copies = {name: tmp_path / "copy" / name for name in program._FOLDERS}
    for name, folder in program._FOLDERS.items():
        shutil.copytree(folder, copies[name], ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(program, "_FOLDERS", copies)
    return tmp_path / "copy"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home without a daemon, and without a launcher that could start one."""
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    (home / "run").mkdir()
    return home


def run(home: Path, event: str = "prompt-submit", *options: str) -> "subprocess.CompletedProcess[bytes]":
    words = [sys.executable, "-I", "-S", *options, str(home / program.PROGRAM), event, "claude"]
    return subprocess.run(words, input=STDIN, env=process.environ(home), capture_output=True, check=False, timeout=60)


def test_it_carries_as_the_script_does(home: Path) -> None:
    """Without a daemon a prompt is kept for later, silently; the modules that this needs beside the program are found."""
    assert program.refresh(home)
    process.assert_silent(run(home))
    assert [call.hook.stdin for call in process.spooled(home)] == [STDIN]


def test_every_module_of_the_hook_is_in_it(home: Path) -> None:
    """Nothing of memd is looked for along the path; a hook for which there is no daemon alone imports what starts one."""
    program.refresh(home)
    (home / "run" / "stopped").touch()
    told = run(home, "pre-edit", "-X", "importtime").stderr.decode()
    assert "_socket" in told
    assert "memd_" not in told


def changed(sources: Path, home: Path) -> None:
    with (sources / "memd_client" / "wire.py").open("a") as file:
        file.write("\n")


def gone(sources: Path, home: Path) -> None:
    (sources / "memd_hooks" / "__init__.py").unlink()


def of_another_version(sources: Path, home: Path) -> None:
    made = (home / program.PROGRAM).read_bytes()
    (home / program.PROGRAM).write_bytes(b"\0\0\r\n" + made[4:])


def cut(sources: Path, home: Path) -> None:
    made = (home / program.PROGRAM).read_bytes()
    (home / program.PROGRAM).write_bytes(made[: len(made) // 2])


def empty(sources: Path, home: Path) -> None:
    (home / program.PROGRAM).write_bytes(b"")


SPOILS = (changed, gone, of_another_version, cut)


@pytest.mark.parametrize("spoil", SPOILS)
def test_one_that_is_not_fresh_does_nothing_and_says_so(
    sources: Path, home: Path, spoil: Callable[[Path, Path], None]
) -> None:
    """Its status is the one that the launcher takes for that; nothing is said, and nothing is left."""
    program.refresh(home)
    spoil(sources, home)
    done = run(home)
    assert (done.returncode, done.stdout) == (program.STALE, b"")
    assert process.spooled(home) == []


@pytest.mark.parametrize("spoil", [*SPOILS, empty])
def test_the_launcher_runs_the_script_instead(
    sources: Path, home: Path, tmp_path: Path, spoil: Callable[[Path, Path], None]
) -> None:
    """With all of the call's stdin, and with nothing on stderr."""
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (scripts / "pre_edit.py").write_text("import posix; posix.write(1, b'script ' + posix.read(0, 9999))")
    (home / launcher.HOOK).write_text(launcher.hook_text(home, False, sys.executable, sys.executable, scripts))
    program.refresh(home)
    spoil(sources, home)
    done = subprocess.run(
        ["/bin/sh", str(home / launcher.HOOK), "pre-edit", "claude"], input=STDIN, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"script " + STDIN, b"")


def test_it_is_written_where_it_is_missing_or_stale(sources: Path, home: Path) -> None:
    """Once; after a change of a source again; nobody else may read it."""
    assert [program.refresh(home), program.refresh(home)] == [True, False]
    changed(sources, home)
    assert [program.refresh(home), program.refresh(home)] == [True, False]
    assert (home / program.PROGRAM).stat().st_mode & 0o777 == 0o600
    process.assert_silent(run(home))


def test_a_daemon_renews_what_is_there_and_makes_none(sources: Path, home: Path) -> None:
    """A home without hooks gets no program; a stale one is made fresh; where that is not possible it stays."""
    program.renew(home)
    assert not (home / program.PROGRAM).exists()
    program.refresh(home)
    changed(sources, home)
    program.renew(home)
    assert not program.refresh(home)
    gone(sources, home)
    program.renew(home)
