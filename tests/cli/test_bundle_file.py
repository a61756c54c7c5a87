"""The file that `memd doctor --bundle` writes, and what is told where the machine or a section is not as it should be."""

import json
import resource
import stat
import subprocess
import sys
from collections.abc import Iterator

import pytest

from memd_client.cli import bundle, doctor
from memd_client.cli.bundle_scene import scene
from tests.cli.canaries import canary, pieces
from tests.cli.test_bundle import section
from tests.cli.world import PROGRAM, World

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
    assert "not known: ValueError at test_bundle_file.py:" in section(report, "first")
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
    assert "what: spoiled: not known: PermissionError 13 at test_bundle_file.py:" in told
    assert "code: hooks-not-installed" in told


def test_verify_alone_is_a_mistake(fresh: World) -> None:
    """It says which command was meant."""
    ran = fresh.memd("doctor", "--verify")
    assert ran.code == 2
    assert "memd verify" in ran.err
