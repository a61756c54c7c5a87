"""What every test shares: readable failures from shared modules too, such as tests/store/contract.py, and an end to waiting."""

import contextlib
import faulthandler
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from memd_daemon import limits

GROUND_PATIENCE_MS = 60_000
TEST_MAX_S = 0 if os.environ.get("MEMD_LONG") or os.environ.get("MEMD_FUZZ_LONG") else 600
"""Many times what the slowest test takes. One that waits in vain fails by it, and the others are run."""

STDERR = 2
THREADS_END_S = 60
"""After all tests: threads that one of them left waiting would keep the process."""


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer in this process looks at files for as long as it takes: what it tells depends on no machine's speed. Tests of the
    deadline set their own."""
    monkeypatch.setattr(limits, "GROUND_DEADLINE_MS", GROUND_PATIENCE_MS)


@contextlib.contextmanager
def no_longer_than(seconds: int) -> Iterator[None]:
    """The main thread is woken where it waits, be it for a lock, a thread or a process."""
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail(f"still waiting after {seconds} s"))
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Iterator[None]:
    with no_longer_than(TEST_MAX_S):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    with no_longer_than(TEST_MAX_S):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Iterator[None]:
    with no_longer_than(TEST_MAX_S):
        return (yield)


def pytest_unconfigure() -> None:
    faulthandler.dump_traceback_later(THREADS_END_S, exit=True, file=STDERR)


pytest.register_assert_rewrite(
    *(f"tests.{folder.name}" for folder in Path(__file__).parent.iterdir() if folder.is_dir())
)
