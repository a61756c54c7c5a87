"""What is derived or local breaks at any step: the ledger, an index, the spool. The daemon answers, and what it acknowledges stays.

Some calls of each are broken, all of them by `scripts/crash`. test_failing_writes.py has every step of a write to the store.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.crash import tally
from tests.crash.broken import ON, ONCE, WHATS
from tests.crash.preloads import built
from tests.crash.recorded import ROOT
from tests.crash.seeds import BREAKS, SEED

LARGEST: Final = (0, 1, 700, 4_000, 8_000)  # bytes of a file, none of which has room for a graph of these notes


class Breaker:
    """Has victims' calls fail, one victim at a time."""

    def __init__(self, folder: Path, library: Path) -> None:
        environ = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
            "LD_PRELOAD": str(library),
            "OPENBLAS_NUM_THREADS": "1",
        }
        command = [sys.executable, "-m", "tests.crash.broken", str(folder / "first"), str(folder / "repo")]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environ,
            text=True,
            cwd=ROOT,
        )
        assert self._answer() == ""

    def _answer(self) -> str:
        assert self._process.stdout is not None
        told: str = json.loads(self._process.stdout.readline())
        return told

    def told(self, name: str, n: int, how: str) -> str:
        """How many calls there were, or what is wrong."""
        assert self._process.stdin is not None
        print(name, n, how, file=self._process.stdin, flush=True)
        return self._answer()

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def breaker() -> Iterator[Breaker]:
    folder = Path(tempfile.mkdtemp(prefix="memd-break-", dir="/tmp"))
    library = built("breaking", folder)
    if library is None:
        pytest.skip("no C compiler, or no Linux")
    made = Breaker(folder, library)
    yield made
    made.close()
    shutil.rmtree(folder)


@pytest.mark.parametrize("name", WHATS)
def test_a_call_that_fails_costs_no_acknowledged_write_and_no_answer(breaker: Breaker, name: str) -> None:
    """The n-th call alone, and all from the n-th on: first, last, and as many between as asked for."""
    calls = breaker.told(name, 0, ONCE)
    assert calls.isdigit(), calls
    last = int(calls)
    assert last > 1
    steps = [(n, how) for n in range(1, last + 1) for how in (ONCE, ON)]
    if 0 < BREAKS < len(steps):
        steps = [steps[1], steps[-2], *random.Random(SEED).sample(steps, BREAKS - 2)]
    wrong = [
        f"call {n} of {last}, {how}: {told}" for n, how in steps if not (told := breaker.told(name, n, how)).isdigit()
    ]
    tally.counted[tally.BREAKS] += len(steps)
    assert wrong == []


def test_a_graph_that_cannot_be_written_whole_is_none(breaker: Breaker) -> None:
    """usearch writes by libc, where no call of its own can be made to fail: the disk takes only so much of a file."""
    wrong = [told for most in LARGEST if not (told := breaker.told("vectors", 0, str(most))).isdigit()]
    assert wrong == []
