"""The store in memory keeps the contract."""

import pytest
from tests.store.contract import StoreContract, pen
from tests.store.contract_log import LogContract

from memd_daemon.store.memory_log import MemoryStore

__all__ = ["pen"]


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


class TestMemoryStore(StoreContract, LogContract):
    """Everything in tests/store/contract.py and contract_log.py."""
