"""LMDB's map under a whole daemon: it is full under load, and grows under readers and writers."""

import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from memd_client.memd import MemdError
from tests.daemon.test_lifecycle import end, reached
from tests.faults.place import Place

SMALL = """
import sys
from memd_daemon import limits
limits.MAP_RESERVED_BYTES = limits.LEDGER_MAP_RESERVED_BYTES = limits.MAP_SMALLEST_BYTES = 1 << 18
from memd_daemon.lifecycle import main
sys.exit(main())
"""
WRITERS, NOTES = 3, 40


@pytest.fixture
def place() -> Iterator[Place]:
    made = Place()
    yield made
    made.close()


def test_a_map_that_is_full_under_load_grows_and_loses_nothing(place: Place) -> None:
    """A quarter of a megabyte at first, under writers, readers and hooks: every acknowledged note is there, none was refused."""
    process = subprocess.Popen([sys.executable, "-c", SMALL], env=place.environ)
    kept: list[str] = []
    refused: list[MemdError] = []
    done = threading.Event()

    def write(writer: int) -> None:
        with place.client(starts=False) as memd:
            for number in range(NOTES):
                content = f"claim {number} of writer {writer}: " + "x" * 7_000
                try:
                    memd.remember(content)
                    kept.append(content)
                except MemdError as error:
                    refused.append(error)

    def read() -> None:
        with place.client(starts=False) as memd:
            while not done.is_set():
                memd.recall("which claim?")
                memd.notes()

    try:
        pid = reached(place.home, process).pid
        writers = [threading.Thread(target=write, args=(n,)) for n in range(WRITERS)]
        readers = [threading.Thread(target=read) for _ in range(2)]
        for thread in (*writers, *readers):
            thread.start()
        assert [place.start().harmless, place.prompt("said under load").harmless] == [True, True]
        for thread in writers:
            thread.join()
        done.set()
        for thread in readers:
            thread.join()
        assert refused == []
        assert place.notes() == set(kept)
        assert len(kept) == WRITERS * NOTES
        assert "said under load" in place.turns()
        assert place.verified() == []
        assert place.pid == pid
    finally:
        done.set()
        end(process)
