"""scripts/memd in a made-up checkout whose Python only writes down what it was asked: no set-up really runs."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.boundaries.source import ROOT

RUNS_MEMD = '#!/bin/sh\nshift\nprintf "%s|" memd "$@" "$(pwd)"\n'
# Answers the question for its version with $version_ok, and a call of _setup.py with $setup_exit.
ANY_PYTHON = '#!/bin/sh\n[ "$2" = -c ] && exit {version}\nshift 2\nprintf "%s|" set-up "$@" >&2\nexit {setup}\n'


class Checkout:
    """A folder with an apostrophe and a space in its name that looks like a checkout that was set up."""

    def __init__(self, base: Path, level: str = "run") -> None:
        self.base = base
        self.root = base / "it's a checkout"
        (self.root / "scripts").mkdir(parents=True)
        for name in ("memd", "_env.sh"):
            shutil.copy(ROOT / "scripts" / name, self.root / "scripts" / name)
        (self.root / "pyproject.toml").write_text("[project]\n")
        (self.root / ".venv" / "bin").mkdir(parents=True)
        program(self.root / ".venv" / "bin" / "python", RUNS_MEMD)
        (self.root / ".venv" / "memd-pyproject.toml").write_text("[project]\n")
        (self.root / ".venv" / "memd-ready").write_text(f"{level}\n{self.root}\n")

    def call(self, script: Path | None = None, *, version: int = 0, setup: int = 0) -> subprocess.CompletedProcess[str]:
        """Run scripts/memd with two words from another folder; `version` and `setup` are the Python stub's exit codes."""
        path = self.base / "bin"
        path.mkdir(exist_ok=True)
        for name in ("python3", "python3.14", "python3.13", "python3.12", "python3.11", "uv"):
            program(path / name, ANY_PYTHON.format(version=version, setup=setup))
        program(path / "uv", "#!/bin/sh\nexit 1\n")
        environment = {"PATH": f"{path}:{os.defpath}", "CDPATH": str(self.base)}
        command = [script or self.root / "scripts" / "memd", "recall", "two words"]
        return subprocess.run(command, cwd=self.base, env=environment, capture_output=True, text=True, check=False)


def program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_a_checkout_that_is_ready_runs_memd_at_once(checkout: Checkout) -> None:
    """Words, folder and exit code are passed on, and nothing is set up or said."""
    ran = checkout.call()
    assert (ran.stdout, ran.stderr, ran.returncode) == (f"memd|recall|two words|{checkout.base}|", "", 0)


def test_memd_is_told_how_it_was_called(checkout: Checkout) -> None:
    """So that its own words name a command that works: the link, where it was called by one."""
    program(checkout.root / ".venv" / "bin" / "python", '#!/bin/sh\nprintf %s "$MEMD_COMMAND"\n')
    script = checkout.root / "scripts" / "memd"
    (checkout.base / "short").symlink_to(script)
    assert checkout.call().stdout == str(script)
    assert checkout.call(checkout.base / "short").stdout == str(checkout.base / "short")


@pytest.mark.parametrize("target", ["it's a checkout/scripts/memd", "absolute"])
def test_it_finds_its_checkout_through_links(checkout: Checkout, target: str) -> None:
    """A link to a link, relative or absolute, leads to the same memd."""
    script = checkout.root / "scripts" / "memd"
    (checkout.base / "first").symlink_to(script if target == "absolute" else target)
    (checkout.base / "second").symlink_to("first")
    assert checkout.call(checkout.base / "second").stdout.startswith("memd|recall|")


def test_a_checkout_that_was_set_up_for_its_tests_needs_nothing_more(tmp_path: Path) -> None:
    """The level dev holds all that run needs."""
    assert Checkout(tmp_path, "dev").call().stderr == ""


def unstamped(root: Path) -> None:
    (root / ".venv" / "memd-ready").unlink()


def half_a_stamp(root: Path) -> None:
    (root / ".venv" / "memd-ready").write_text("run")


def changed_project(root: Path) -> None:
    (root / "pyproject.toml").write_text("[project]\nname = 'memd'\n")


def without_copy(root: Path) -> None:
    (root / ".venv" / "memd-pyproject.toml").unlink()


def moved(root: Path) -> None:
    (root / ".venv" / "memd-ready").write_text("run\n/where/it/was\n")


def other_level(root: Path) -> None:
    (root / ".venv" / "memd-ready").write_text(f"other\n{root}\n")


@pytest.mark.parametrize("harm", [unstamped, half_a_stamp, changed_project, without_copy, moved, other_level])
def test_a_checkout_that_is_not_ready_is_set_up_first(checkout: Checkout, harm) -> None:
    """Whatever is wrong with .venv, the set-up runs once, and then memd; stdout belongs to memd alone."""
    harm(checkout.root)
    ran = checkout.call()
    assert ran.stderr == f"set-up|{checkout.root}|run|"
    assert ran.stdout.startswith("memd|recall|")


def test_a_link_to_an_interpreter_that_went_away_is_not_ready(checkout: Checkout) -> None:
    """After an upgrade of Python the link dangles: the set-up is called, not the link."""
    python = checkout.root / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/where/python3.11/was")
    assert checkout.call(setup=1).stderr.startswith("set-up|")


def test_memd_does_not_run_when_the_set_up_failed(checkout: Checkout) -> None:
    """The set-up's exit code is the script's, and its message stands alone."""
    unstamped(checkout.root)
    ran = checkout.call(setup=130)
    assert (ran.stdout, ran.returncode) == ("", 130)


def test_a_python_that_is_too_old_is_said(checkout: Checkout) -> None:
    """With no Python that will do there is one plain message, and nothing is set up."""
    unstamped(checkout.root)
    ran = checkout.call(version=1)
    assert ran.returncode == 1
    assert "Python 3.11 or newer is needed" in ran.stderr
