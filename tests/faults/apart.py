"""Tests that mount: each runs in a mount namespace of its own, so that nothing is ever mounted on the machine itself.

`apart` has the test run a second time, by a pytest of its own under `unshare -m`, and stands or falls with that one.
"""

import functools
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

MARK: Final = "MEMD_APART"
ROOT: Final = Path(__file__).parents[2]
UNSHARE: Final = ("unshare", "-m", "--propagation", "private")
WAIT_S: Final = 240.0  # only ever waited out by a test that fails
BUSY_S: Final = 5.0  # likewise
LOOK_S: Final = 0.02


@functools.cache
def _may_unshare() -> bool:
    if shutil.which("unshare") is None:
        return False
    trial = "d=$(mktemp -d) && mount -t tmpfs -o size=64k tmpfs $d && umount $d; s=$?; rmdir $d; exit $s"
    return subprocess.run([*UNSHARE, "sh", "-c", trial], capture_output=True, check=False).returncode == 0


def apart(test: Callable[..., Any]) -> Callable[..., Any]:
    """Runs the test in a mount namespace of its own; skipped where the system does not give one."""

    @functools.wraps(test)
    def outside(request: pytest.FixtureRequest) -> None:
        if not _may_unshare():
            pytest.skip("needs a mount namespace and the right to mount in it")
        command = [*UNSHARE, sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", request.node.nodeid]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, MARK: "1"},
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-8_000:] + done.stderr[-2_000:]

    if MARK in os.environ:
        return test
    del outside.__wrapped__  # pytest would ask for the fixtures of the test inside
    return outside


def mount(*words: str | Path) -> None:
    """mount(8), in the namespace of the test; again while the system still lets go of files of a process that has ended."""
    assert MARK in os.environ, "never on the machine itself"
    end = time.monotonic() + BUSY_S
    while (done := subprocess.run(["mount", *map(str, words)], check=False, capture_output=True)).returncode:
        assert time.monotonic() < end, done.stderr
        time.sleep(LOOK_S)
