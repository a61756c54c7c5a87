"""The store on LMDB keeps the contract, and what only a disk can break."""

from pathlib import Path

import pytest
from tests.store.contract import StoreContract, pen
from tests.store.contract_log import LogContract
from tests.store.making import NOON, Pen, commits_of

from memd_daemon.store.check import verify
from memd_daemon.store.group import GroupStore
from memd_daemon.store.lmdb_log import open_store

__all__ = ["pen"]


@pytest.fixture
def store(home: Path) -> GroupStore:
    return open_store(home, clock=lambda: 1)


class TestLmdbStore(StoreContract, LogContract):
    """Everything in tests/store/contract.py and contract_log.py."""


def test_a_store_that_is_opened_again_is_the_same(home: Path) -> None:
    """Identity, notes, time and numbers go on where they were, with nothing else but the files."""
    store = open_store(home)
    uid = Pen(store).record()
    info, before = store.info, commits_of(store)
    store.close()
    again = open_store(home, clock=lambda: 1)
    writer = Pen(again, at=NOON - 10**6)
    assert (again.info, commits_of(again)) == (info, before)
    writer.revoke(uid)
    assert writer.note(uid).revoked
    assert verify(again) == []
    again.close()
