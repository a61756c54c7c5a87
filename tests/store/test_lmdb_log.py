"""The store on LMDB keeps the contract, and what only a disk can break."""

from pathlib import Path

import pytest

from memd_daemon.store.group import GroupStore
from memd_daemon.store.lmdb_log import open_store
from tests.store.contract import StoreContract, pen

__all__ = ["pen"]


@pytest.fixture
def store(home: Path) -> GroupStore:
    return open_store(home, clock=lambda: 1)


class TestLmdbStore(StoreContract):
    """Everything in tests/store/contract.py."""
