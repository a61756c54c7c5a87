"""The store in memory keeps the contract."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.store.contract import Pen, StoreContract, pen
from tests.store.contract_log import LogContract

from memd_daemon.store.memory_log import MemoryStore

__all__ = ["pen"]


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


class TestMemoryStore(StoreContract, LogContract):
    """Everything in tests/store/contract.py and contract_log.py."""


def test_what_is_added_is_counted_while_nobody_else_writes(
    store: MemoryStore, pen: Pen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any thread may write: a count that is taken up and put down apart from the write could go back to an earlier one."""
    environment, counted = store._environment, []  # pyright: ignore[reportPrivateUsage] -- what is written to
    written = environment.writing

    def write(work: Callable[[Any], Any]) -> Any:
        result = written(work)
        counted.append(store.additions)
        return result

    monkeypatch.setattr(environment, "writing", write)
    pen.record()
    assert counted == [1]
