"""The lab of each end-to-end test, and what is said when no client is there.

These tests never skip quietly: without the client or without namespaces each is skipped with the reason, and the
terminal summary ends with a line about it. `MEMD_E2E=required` (continuous integration) turns that into a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from .lab import Lab
from .memd import Memd

INSTALL = Path(__file__).parents[2] / "scripts" / "install_clients.sh"
_missing: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--keep-lab", action="store_true", help="keep each lab's folder and print where it is")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for reason in _missing:
        terminalreporter.section("end-to-end tests did NOT run", sep="!", red=True, bold=True)
        terminalreporter.line(reason)


def _unavailable(reason: str) -> None:
    """Skip (or, where they are required, fail) with `reason`, which the terminal summary repeats."""
    if os.environ.get("MEMD_E2E") == "required":
        pytest.fail(reason, pytrace=False)
    if reason not in _missing:
        _missing.append(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def claude_binary() -> Path:
    """The pinned Claude Code, as scripts/install_clients.sh installed it."""
    if shutil.which("tmux") is None or shutil.which("nsenter") is None:
        _unavailable("tmux and util-linux (unshare, nsenter) are needed")
    if subprocess.run(
        ["unshare", *_as_root(), "--net", "--pid", "--fork", "--mount-proc", "true"], check=False
    ).returncode:
        _unavailable("this user may not make network and PID namespaces (run as root, or allow user namespaces)")
    found = subprocess.run([INSTALL, "--where"], check=False, capture_output=True, text=True)
    if found.returncode:
        npm = "" if shutil.which("npm") else "; npm is not here either, install node 20 or newer first"
        _unavailable(f"Claude Code is not installed: run {INSTALL.relative_to(INSTALL.parents[1])}{npm}")
    return Path(found.stdout.strip())


def _as_root() -> list[str]:
    return [] if os.geteuid() == 0 else ["--user", "--map-root-user"]


@pytest.fixture
def lab(claude_binary: Path, request: pytest.FixtureRequest) -> Iterator[Lab]:
    """A fresh lab; its folder goes with the test, unless --keep-lab."""
    folder = Path(tempfile.mkdtemp(prefix="e2e-", dir="/tmp"))
    made = Lab(folder, claude_binary)
    try:
        yield made
    finally:
        made.close()
        if request.config.getoption("--keep-lab", default=False):
            print(f"\nlab of {request.node.name}: {folder}")
        else:
            shutil.rmtree(folder)


@pytest.fixture
def memd(lab: Lab) -> Memd:
    """memd, installed for the user in the lab's empty home."""
    lab.memd("install", "--harness", "claude", "--user", "--json")
    return Memd(lab)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test shows what its client sent."""
    report = yield
    made = getattr(item, "funcargs", {}).get("lab")
    if call.when == "call" and report.failed and isinstance(made, Lab):
        report.sections.append(("requests of the client", made.digest()))
    return report
