"""The ledger in memory and the one on LMDB keep the same contracts."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.store.ledger_contract import A, LedgerContract, delivery
from tests.store.ledger_time_contract import LedgerTimeContract
from tests.store.results_contract import ResultsContract
from tests.store.stale_contract import StaleContract

from memd_daemon.store.lmdb_log import LmdbLedger, open_ledger
from memd_daemon.store.memory_log import MemoryLedger


class TestMemoryLedger(LedgerContract, LedgerTimeContract, ResultsContract, StaleContract):
    """Everything in all contracts."""

    @pytest.fixture
    def ledger(self) -> MemoryLedger:
        return MemoryLedger()


class TestLmdbLedger(LedgerContract, LedgerTimeContract, ResultsContract, StaleContract):
    """Everything in all contracts."""

    @pytest.fixture
    def ledger(self, home: Path) -> Iterator[LmdbLedger]:
        made = open_ledger(home)
        yield made
        made.close()


def test_the_ledger_is_there_when_it_is_opened_again(home: Path) -> None:
    """Closed and opened, in an environment of its own."""
    ledger = open_ledger(home)
    ledger.offer(delivery(b"r", (A, b"d" * 16)), b"reply")
    ledger.close()
    again = open_ledger(home)
    assert again.standing("s", "", 0) == {A: b"d" * 16}
    assert not (home / "store/log").exists()
    again.close()
