"""kill -9 of the writer at any instant: every acknowledged write is there, and the store is whole."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memd_daemon.model.delivery import DeliveredNote, Delivery
from memd_daemon.store.check import verify
from memd_daemon.store.lmdb_log import open_ledger, open_store

KILLS = 20

WRITER = """
import os, sys, threading
from pathlib import Path
from memd_daemon.model import event as ev
from memd_daemon.store.lmdb_log import open_store
from tests.store.making import Pen

store = open_store(Path(sys.argv[1]))
pen = Pen(store)

def write(name):
    for n in range(10_000):
        uid = os.urandom(16)
        def work(txn):
            pen.record_in(txn, uid, f"{name} {n}", kind="gotcha", anchors=(ev.Anchor(path=f"p{n % 7}"),))
            if n % 3 == 0:
                pen.record_in(txn, os.urandom(16), "its twin", derived_from=(uid,))
        store.write(work)
        os.write(1, uid.hex().encode() + b"\\n")

for name in "abc":
    threading.Thread(target=write, args=(name,)).start()
"""

OFFERER = """
import os, sys
from pathlib import Path
from memd_daemon.model.delivery import DeliveredNote, Delivery
from memd_daemon.store.lmdb_log import open_ledger

ledger = open_ledger(Path(sys.argv[1]))
for n in range(100_000):
    request = os.urandom(16)
    note = DeliveredNote(uid=os.urandom(16), id=n, digest=b"d" * 16, tokens=1)
    ledger.offer(Delivery(request=request, at=n, trigger="edit", harness="h", session="s", notes=(note,)), b"reply")
    os.write(1, request.hex().encode() + b"\\n")
"""


def killed(program: str, home: Path, after: int) -> list[bytes]:
    """Runs a writer until it has acknowledged ``after`` writes, kills it, and gives everything that it acknowledged."""
    root = Path(__file__).parents[2]
    environ = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), *sys.path])}
    process = subprocess.Popen([sys.executable, "-c", program, str(home)], stdout=subprocess.PIPE, env=environ)
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(after)]
    process.kill()
    lines += process.stdout.readlines()
    process.stdout.close()
    assert process.wait() == -signal.SIGKILL
    assert b"" not in lines
    return [bytes.fromhex(line.decode()) for line in lines if line.endswith(b"\n")]


def test_what_was_acknowledged_survives_every_kill(home: Path) -> None:
    """Twenty writers in a row on one store, each killed after some number of answers; the seed says which."""
    chance = random.Random(20)
    acknowledged: list[bytes] = []
    for _ in range(KILLS):
        acknowledged += killed(WRITER, home, chance.randrange(1, 40))
        store = open_store(home)
        with store.read() as snapshot:
            lost = [uid.hex() for uid in acknowledged if snapshot.note(uid) is None]
        faults = verify(store)
        store.close()
        assert lost == []
        assert faults == []


@pytest.mark.parametrize("after", [1, 7, 300])
def test_the_ledger_survives_a_kill(home: Path, after: int) -> None:
    """It waits for no sync, yet a killed process loses nothing: the pages are with the system."""
    acknowledged = killed(OFFERER, home, after)
    assert len(acknowledged) >= after
    ledger = open_ledger(home)
    assert all(ledger.replied(request) == b"reply" for request in acknowledged)
    assert len(ledger.standing("s", "", 0)) >= len(acknowledged)
    ledger.close()


def test_a_ledger_of_another_run_of_the_machine_is_set_aside(home: Path) -> None:
    """Open when the machine went down, it may be torn: it is kept beside, and a new one begins. A closed one goes on."""
    made = Delivery(
        request=b"r", at=1, trigger="edit", harness="h", session="s",
        notes=(DeliveredNote(uid=b"n" * 16, id=1, digest=b"d" * 16, tokens=1),),
    )  # fmt: skip
    ledger = open_ledger(home)
    ledger.offer(made, b"reply")
    ledger.close()
    ledger = open_ledger(home)
    assert ledger.replied(b"r") == b"reply"
    ledger.close()
    (home / "store/ledger/boot").write_text("another run")
    ledger = open_ledger(home)
    assert ledger.replied(b"r") is None
    ledger.close()
    assert (home / "store/ledger/data.mdb.unsynced").stat().st_size > 0


def test_a_ledger_that_is_none_is_set_aside(home: Path) -> None:
    """Whatever lies in its place: a note told twice is better than a daemon that cannot start."""
    open_ledger(home).close()
    (home / "store/ledger/data.mdb").write_bytes(b"not a database, and long enough to be one " * 1000)
    ledger = open_ledger(home)
    assert ledger.replied(b"r") is None
    ledger.close()
    assert (home / "store/ledger/data.mdb.unsynced").read_bytes().startswith(b"not a database")
