"""A map that finds no address space to grow into: the one there was is opened anew, by its own file."""

from pathlib import Path
from typing import Any

import lmdb
import pytest
from tests.store.making import Pen
from tests.store.test_faults import run

from memd_daemon.errors import Stopping, StoreMoved
from memd_daemon.store.lmdb_log import open_store

NO_SPACE = """
import os, resource, sys
from pathlib import Path
from memd_daemon.errors import StoreFull
from memd_daemon.store.check import verify
from memd_daemon.store.lmdb_log import open_store
from tests.store.making import Pen

store = open_store(Path(sys.argv[1]), map_bytes=1 << 18)
pen = Pen(store)
kept = [pen.record("before")]
held = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
resource.setrlimit(resource.RLIMIT_AS, (held + (4 << 20), resource.RLIM_INFINITY))
try:
    for _ in range(2_000):
        kept.append(pen.record("x" * 8_000))
except StoreFull:
    print("refused")
with store.read() as snapshot:
    assert snapshot.counts().notes == len(kept)
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
kept.append(pen.record("after"))
with store.read() as snapshot:
    assert all(snapshot.note(uid) is not None for uid in kept)
assert verify(store) == [], verify(store)
"""


def test_a_map_that_cannot_grow_refuses_and_leaves_the_one_there_was(home: Path) -> None:
    """Without address space LMDB loses the map it had: it is opened anew, reads go on, and writes do when there is space again."""
    assert run(NO_SPACE, str(home)) == "refused"


class Cramped:
    """An environment whose map finds no address space to grow into."""

    def __init__(self, env: Any) -> None:
        self._env = env

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)

    def set_mapsize(self, _: int) -> None:
        raise lmdb.MemoryError("mdb_env_set_mapsize")


def test_what_is_opened_anew_is_the_very_file_or_none(home: Path) -> None:
    """The file was moved away before its map had to grow: no other takes its place, to acknowledge what nobody would find."""
    store: Any = open_store(home, map_bytes=1 << 20)
    Pen(store).record("before")
    file = home / "store/log/data.mdb"
    file.rename(home / "elsewhere.mdb")
    environment = store._environment
    environment._env = Cramped(environment._env)
    with pytest.raises(StoreMoved):
        store.write(lambda txn: [txn.put_text("x" * 8000 + str(n)) for n in range(200)])
    with pytest.raises(Stopping), store.read():
        pass
    assert not store.in_place()
    assert not file.exists()
    store.close()
