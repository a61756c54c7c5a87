"""Damages a stored home in many ways, opens each in a child of its own, and says what became of it. Run as a program: it holds no
store open itself, so that it may fork.

    python -m tests.faults.damage HOME COUNT SEED        prints one JSON object: how often each outcome was met, and the worst ones

An outcome is one of

    refused   the store is not opened: a sentence says what is damaged
    named     `verify` names places
    same      nothing is named, and every note, its class, words and turn is as it was

and, which must never be,

    wrong     nothing is named, and something is not as it was
    raised    a note is of class `human`, or stands, that was not
    died      the child was ended by the system
    failed    it raised something that is no refusal
"""

import json
import os
import random
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from memd_daemon.errors import MemdError
from memd_daemon.store.check import verify
from memd_daemon.store.lmdb_log import open_store
from memd_daemon.store.log_read import UNREADABLE

DATA: Final = "store/log/data.mdb"
PAGE: Final = 4096
GOOD: Final = ("refused", "named", "same")
OUTCOMES: Final = (*GOOD, "wrong", "raised", "failed")
HEAD_BYTES: Final = 96  # of a page: what is said of it and where its rows are
CHILD_MAX_S: Final = 60
FAST: Final = Path("/dev/shm")  # a file system that no sync waits for

Damage = tuple[str, int, bytes]
"""What was done, where, and the bytes that stand there then; no bytes: the file ends there."""


def damages(whole: bytes, count: int, seed: int) -> Iterator[Damage]:
    """Every kind of damage in turn, the places spread over the whole file; the seed says which."""
    chance = random.Random(seed)
    pages = len(whole) // PAGE
    for number in range(count):
        at = number * len(whole) // count
        page = at // PAGE * PAGE
        bit = 1 << chance.randrange(8)
        head = page + chance.randrange(HEAD_BYTES)
        match number % 8:
            case 0 | 1:
                yield "bit", at, bytes([whole[at] ^ bit])
            case 2 | 3 | 4:
                yield "bit in a page's head", head, bytes([whole[head] ^ bit])
            case 5:
                yield "page of zeros", page, bytes(PAGE)
            case 6:
                other = chance.randrange(pages) * PAGE
                yield "page of another place", page, whole[other : other + PAGE]
            case _:
                yield "cut", at, b""


def damaged(whole: bytes, damage: Damage) -> bytes:
    """The file with the damage done to it."""
    _, at, put = damage
    return whole[:at] + put + whole[at + len(put) :] if put else whole[:at]


def picture(home: Path) -> dict[str, Any]:
    """All that a store says, by what can be compared."""
    store = open_store(home)
    try:
        with store.read() as snapshot:
            notes = {
                str(id_): (note.uid.hex(), note.provenance, note.belief, snapshot.text(note.shown.content))
                for id_, note in snapshot.notes()
            }
            turns = [(turn.number, turn.text, turn.attestation) for turn in snapshot.turns()]
        return {"notes": notes, "turns": turns}
    finally:
        store.close()


def outcome(home: Path, before: dict[str, Any]) -> str:
    """What becomes of a damaged home in this process."""
    try:
        store = open_store(home)
    except MemdError:
        return "refused"
    try:
        faults = verify(store)
        with store.read() as snapshot:
            human = {note.uid.hex() for _, note in snapshot.notes() if note.provenance == "human"}
    except (MemdError, *UNREADABLE):
        return "named"  # what reads it is told that it is damaged
    finally:
        store.close()
    if human - {uid for uid, provenance, *_ in before["notes"].values() if provenance == "human"}:
        return "raised"
    if faults:
        return "named"
    return "same" if picture(home) == before else "wrong"


def tried(home: Path, before: dict[str, Any]) -> str:
    """`outcome` in a child."""
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(CHILD_MAX_S)
            os._exit(OUTCOMES.index(outcome(home, before)))
        except BaseException:  # noqa: BLE001 - whatever it is, it is what is looked for
            traceback.print_exc()
            os._exit(OUTCOMES.index("failed"))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return OUTCOMES[code] if code >= 0 else f"died of {signal.Signals(-code).name}"


def main(home: Path, count: int, seed: int) -> dict[str, Any]:
    """Damages copies of ``home``'s store; {outcome: how often} and those that must not be."""
    whole = (home / DATA).read_bytes()
    child = os.fork()  # which opens the store, so that this process has no thread
    if child == 0:
        (home / "before.json").write_text(json.dumps(picture(home)))
        os._exit(0)
    os.waitpid(child, 0)
    before = json.loads((home / "before.json").read_text())
    before["turns"] = [tuple(turn) for turn in before["turns"]]
    before["notes"] = {id_: tuple(note) for id_, note in before["notes"].items()}
    counts: Counter[str] = Counter()
    bad: list[str] = []
    with tempfile.TemporaryDirectory(dir=FAST if FAST.is_dir() else home.parent) as folder:
        place = Path(folder) / DATA
        place.parent.mkdir(parents=True)
        for damage in damages(whole, count, seed):
            for left in place.parent.iterdir():
                left.unlink()
            place.write_bytes(damaged(whole, damage))
            came = tried(Path(folder), before)
            counts[came] += 1
            if came not in GOOD:
                bad.append(f"{came}: {damage[0]} at {damage[1]} (page {damage[1] // PAGE}), seed {seed}")
    return {"counts": counts, "bad": bad}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
