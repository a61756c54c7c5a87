"""Runs every check in the order of its cost and stops at the first that fails. Called by scripts/test with its arguments.

What each tool prints goes straight to the terminal. At the end: one line per stage with its time, then the sum of the
tests over all stages as `N passed, N failed, N skipped`, alone on the last line. Exit 0 when everything asked for passed,
1 when a stage failed, 130 when interrupted.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
CLIENT_TESTS = "tests/e2e"

# pyright asks the package index for its newest version at every run unless told not to.
ENVIRONMENT = os.environ | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}


@dataclass
class Stage:
    """One check: its name in the summary, its command, and (pytest only) the file that holds its counts afterwards."""

    name: str
    command: list[str | Path]
    counts: Path | None = None
    result: str = "not run"
    seconds: float = 0.0


def pytest(name: str, counts: Path, *arguments: str) -> Stage:
    return Stage(name, [BIN / "pytest", f"--junit-xml={counts}", *arguments], counts)


def stages(arguments: list[str], folder: Path) -> list[Stage]:
    """The stages that these arguments ask for; `folder` takes the counts."""
    checks = [
        Stage("ruff check", [BIN / "ruff", "check", "."]),
        Stage("ruff format", [BIN / "ruff", "format", "--check", "."]),
        Stage("imports", [BIN / "lint-imports"]),
        Stage("mypy", [BIN / "mypy"]),
        Stage("pyright", [BIN / "pyright"]),
    ]
    chosen = [argument for argument in arguments if argument != "--fast"]
    if chosen:
        return [*checks, pytest("tests", folder / "chosen.xml", *chosen)]
    checks.append(pytest("tests", folder / "tests.xml", f"--ignore={CLIENT_TESTS}"))
    if "--fast" not in arguments:
        if shutil.which("npm"):
            checks.append(Stage("clients", ["sh", ROOT / "scripts" / "install_clients.sh"]))
        else:
            print("NOTE: npm was not found, so the tests that drive real clients will be skipped", file=sys.stderr)
        checks.append(pytest("real clients", folder / "e2e.xml", CLIENT_TESTS))
    return checks


def run(stage: Stage) -> bool:
    """Run one stage, note its result and time, and tell whether it passed."""
    print(f"\n--- {stage.name}", flush=True)
    began = time.monotonic()
    passed = subprocess.run(stage.command, cwd=ROOT, env=ENVIRONMENT, check=False).returncode == 0
    stage.seconds = time.monotonic() - began
    stage.result = "ok" if passed else "FAILED"
    return passed


def count(files: list[Path]) -> tuple[int, int, int]:
    """Passed, failed (errors among them) and skipped tests over all stages that ran."""
    total = failed = skipped = 0
    for file in files:
        for suite in ElementTree.parse(file).iter("testsuite"):
            total += int(suite.get("tests", 0))
            failed += int(suite.get("failures", 0)) + int(suite.get("errors", 0))
            skipped += int(suite.get("skipped", 0))
    return total - failed - skipped, failed, skipped


def summarize(all_stages: list[Stage]) -> None:
    print("\n--- summary")
    for stage in all_stages:
        print(
            f"{stage.name:<14}{stage.result:<9}{f'{stage.seconds:7.1f} s' if stage.result != 'not run' else ''}".rstrip()
        )
    files = [stage.counts for stage in all_stages if stage.counts and stage.counts.exists()]
    if files:
        passed, failed, skipped = count(files)
        print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)


def main(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="memd-test-") as folder:
        asked = stages(arguments, Path(folder))
        try:
            passed = all(run(stage) for stage in asked)
        except KeyboardInterrupt:
            return 130
        summarize(asked)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
