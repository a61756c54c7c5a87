"""What a look through the whole store leaves in memory goes back to the system, and reads the same afterwards."""

import re
import sys
from pathlib import Path

import pytest

from memd_daemon.store import resident
from memd_daemon.store.lmdb_log import open_store

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the system tells nothing of its maps")

TEXTS = 2_000
TEXT = "a text of some length, " * 100


def resident_kb(file: Path) -> int:
    """What of the file's maps is in this process's memory."""
    told = Path("/proc/self/smaps").read_text(errors="replace")
    parts = re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", told)
    return sum(int(kb) for part in parts if str(file) in part for kb in re.findall(r"(?m)^Rss:\s+(\d+)", part))


def test_a_store_that_was_read_through_is_let_go_and_read_again(tmp_path: Path) -> None:
    """While a snapshot is open, too: it goes on reading what it read."""
    store = open_store(tmp_path)
    file = tmp_path / "store" / "log" / "data.mdb"
    digests = store.write(lambda txn: [txn.put_text(f"{number} {TEXT}", bytes(16)) for number in range(TEXTS)])
    with store.read() as snapshot:
        texts = [snapshot.text(digest) for digest in digests]
        before = resident_kb(file)
        store.let_go()
        after = resident_kb(file)
        assert before > 4_000
        assert after < before / 4
        assert [snapshot.text(digest) for digest in digests] == texts
    store.close()


def test_only_the_file_itself_is_looked_for(tmp_path: Path) -> None:
    """Its maps have addresses in order; a file that is not mapped has none."""
    store = open_store(tmp_path)
    maps = list(resident.maps_of(tmp_path / "store" / "log" / "data.mdb"))
    assert maps
    assert all(start < end for start, end in maps)
    assert list(resident.maps_of(tmp_path / "store" / "log")) == []
    assert list(resident.maps_of(tmp_path / "other")) == []
    store.close()


def test_a_store_that_is_closing_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a system that refuses harms nothing."""
    store = open_store(tmp_path)
    monkeypatch.setattr(resident, "MADV_DONTNEED", -1)
    store.let_go()
    store.close()
