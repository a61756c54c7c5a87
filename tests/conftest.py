"""What every test shares: readable failures from shared modules too, such as tests/store/contract.py."""

from pathlib import Path

import pytest

from memd_daemon import limits

GROUND_PATIENCE_MS = 60_000


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer in this process looks at files for as long as it takes: what it tells depends on no machine's speed. Tests of the
    deadline set their own."""
    monkeypatch.setattr(limits, "GROUND_DEADLINE_MS", GROUND_PATIENCE_MS)


pytest.register_assert_rewrite(
    *(f"tests.{folder.name}" for folder in Path(__file__).parent.iterdir() if folder.is_dir())
)
