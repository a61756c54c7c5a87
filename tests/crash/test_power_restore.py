"""The power fails while `memd restore` puts a backup in place: the home has the old store or the new one, and the old one is kept.

Moments of the whole restore, those around the exchange of the stores always, with every choice of what is left (disk.py).
"""

import random
from pathlib import Path
from typing import Final

from memd_daemon.store import backup_swap, lmdb_log
from memd_daemon.store.check import verify
from tests.crash import tally
from tests.crash.recorded import Recording
from tests.crash.seeds import CUTS, SEED
from tests.crash.test_power import CHOICES, disks

OLD: Final = ["The old store is kept.", "The lock is taken by name."]
NEW: Final = ["The lock is taken by address."]
FILL: Final = (
    "import sys; from pathlib import Path; from memd_daemon.store.lmdb_log import open_store, open_ledger; "
    "from tests.store.making import Pen; from tests.store.exchanging import backed_up, place; "
    "home = Path(sys.argv[1]); made = home.parents[3] / 'a.backup'; "
)
MAKE: Final = FILL + (
    "other = home.parents[3] / 'other'; store = open_store(other); pen = Pen(store); [pen.record(t) for t in {new}]; "
    "store.close(); backed_up(other, made); "
    "store = open_store(home); pen = Pen(store); [pen.record(t) for t in {old}]; store.close(); open_ledger(home).close(); "
    "(home / 'index').mkdir(); (home / 'index' / 'words').write_bytes(b'of the old store')"
)
RESTORE: Final = FILL + "from memd_daemon.service.exchange_place import restore; restore(place(home), made)"


def texts(home: Path) -> list[str]:
    """What the notes of a home say, whose store is whole."""
    store = lmdb_log.open_store(home)
    try:
        assert verify(store) == []
        with store.read() as snapshot:
            return [snapshot.text(note.shown.content) or "" for _, note in snapshot.notes(newest_first=False)]
    finally:
        store.close()


def test_a_cut_leaves_the_old_store_or_the_new_one(folder: Path, library: Path) -> None:
    """And wherever the new one stands, the old one is kept beside it, also when the next restore has tidied up."""
    place = folder / "restore"
    place.mkdir()
    recording = Recording(place, library)
    recording.call(MAKE.format(new=NEW, old=OLD))
    before = len(recording.records())
    recording.call(RESTORE)
    records = recording.records()
    exchanged = 1 + [record.kind for record in records].index("X")
    every = [(at, choice) for at in range(before + 1, len(records) + 1) for choice in CHOICES]
    drawn = set(random.Random(SEED).sample(range(len(every)), min(CUTS, len(every))))
    wanted = [cut for number, cut in enumerate(every) if number in drawn or exchanged <= cut[0] < exchanged + 3]
    wrong = []
    for at, choice, home in disks(recording, wanted):
        found = texts(home)
        if found == OLD and at < len(records):
            continue
        backup_swap.settle(home)
        kept = [texts(one) for one in (home / backup_swap.KEPT).glob("*")]
        if (found, kept) != (NEW, [OLD]):
            wrong.append(f"record {at}, {choice}: {found}, kept {kept}")
        elif (home / "index").exists():
            wrong.append(f"record {at}, {choice}: the old store's indexes")
    tally.counted[tally.CUTS] += len(wanted)
    assert wrong == []
