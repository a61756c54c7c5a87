"""What the tests of backups and exports share: a home with some history in it, and what makes two stores the same."""

import base64
import contextlib
import hashlib
import io
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from tests.store.making import ANNA, NOON, Pen, fresh_uid

from memd_client.exchanging import ImportedOut, RestoredOut
from memd_daemon.model import event as ev
from memd_daemon.model.note import Note
from memd_daemon.model.turn import Raised, Turn, Witness
from memd_daemon.redact import Redactor
from memd_daemon.service.exchange_place import Place, restore, take_in
from memd_daemon.store import backup, keys
from memd_daemon.store.exchange_lines import said
from memd_daemon.store.exchange_out import Outgoing
from memd_daemon.store.group import GroupStore
from memd_daemon.store.lmdb_log import LmdbLedger, open_ledger, open_store
from memd_daemon.store.port import Store
from memd_daemon.store.turn_rows import IMPORTED

REDACT = Redactor.default().redact
LOGGED_META = (keys.META_HEAD, keys.META_TURN)
SAME = tuple(
    table for table in keys.STORE_TABLES if table not in (keys.VECTORS, keys.UNEMBEDDED, keys.META, keys.TURN_SESSIONS)
)


@contextlib.contextmanager
def quick_folder() -> Iterator[Path]:
    """A folder for homes that no daemon serves, in memory where that can be: what is tested here is not whether a sync syncs."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp"
    with tempfile.TemporaryDirectory(dir=place, prefix="memd-") as name:
        yield Path(name)


@contextlib.contextmanager
def opened(home: Path) -> Iterator[tuple[GroupStore, LmdbLedger]]:
    """A home's store and ledger."""
    store, ledger = open_store(home), open_ledger(home)
    try:
        yield store, ledger
    finally:
        ledger.close()
        store.close()


def turn(number: int, words: str = "Use tabs.", **fields: object) -> Turn:
    """What a user said; `number` is given by the store."""
    given: dict[str, object] = {
        "uid": fresh_uid(), "number": number, "session": "s1", "n": number, "harness": "claude", "at": NOON + number,
        "text": words, "attestation": "captured", "witness": Witness(prompt_id=f"p{number}"),
        "request": number.to_bytes(16, "big"),
    }  # fmt: skip
    return Turn(**(given | fields))  # type: ignore[arg-type]  # the struct checks its fields when it is decoded


def lived_in(store: Store) -> Pen:
    """A store in which something has happened: an endorsed, a revoked and a forgotten note, a task, turns, facts."""
    pen = Pen(store)
    pen.enrol(ANNA)
    endorsed, revoked, forgotten = (pen.record(f"The claim number {n} is about the lock.") for n in range(3))
    pen.endorse(endorsed, ANNA)
    pen.revoke(revoked)
    pen.act(forgotten, "forgotten", by=ANNA)
    task = pen.record("Rotate the logs.", kind="task", tags=("ops",))
    pen.act(task, "closed", ev.Reasoned())
    for number in (1, 2, 3):
        said = store.write(lambda txn, number=number: txn.add_turn(turn(number)))
        store.write(lambda txn, said=said: txn.put_raised(said, Raised(turn=b"t" * 16, at=NOON)))
    store.write(lambda txn: txn.drop_turn(3))
    store.write(lambda txn: txn.put_setting("repo/common/x", b"r" * 16))
    store.write(lambda txn: txn.put_setting("stop", b"of this machine alone"))
    store.write(lambda txn: txn.no_vector(task))
    return pen


def rows_of(store: Store) -> dict[str, dict[bytes, bytes]]:
    """Every row that two equal stores have alike; of the facts those that mean something elsewhere."""
    with store.read() as snapshot:
        kv = snapshot.kv  # type: ignore[attr-defined]  # both adapters stand on tables
        found = {table: dict(kv.scan(table)) for table in SAME}
        found[keys.META] = {key: value for key, value in kv.scan(keys.META) if key in LOGGED_META}
    facts = found[keys.SETTINGS]
    found[keys.SETTINGS] = {k: v for k, v in facts.items() if k.startswith((b"repo/", b"commit/"))}
    assert IMPORTED.encode() not in found[keys.SETTINGS]
    return found


def exported(store: Store, ledger: LmdbLedger | None = None) -> bytes:
    """The whole export of a store."""
    with store.read() as snapshot:
        bursts = ledger.bursts() if ledger is not None else []
        return b"".join(Outgoing(snapshot, bursts).lines())  # type: ignore[arg-type]  # stands on tables


def nobody(what: str) -> None:
    """A person asks."""


def place(home: Path) -> Place:
    """A home that no daemon has."""
    return Place(home, lambda: NOON, contextlib.nullcontext, lambda *_: None, nobody)


def imported(home: Path, raw: bytes, *, skip_wrong: bool = False) -> ImportedOut:
    return take_in(place(home), io.BytesIO(raw), REDACT, skip_wrong=skip_wrong)


def backed_up(home: Path, path: Path) -> backup.Manifest:
    """A backup of a home that nobody serves."""
    with opened(home) as (store, ledger), path.open("w+b") as file:
        return backup.write(file.fileno(), store, ledger, memd="0.1.0", made_at=NOON)


def restore_into(home: Path, path: Path) -> RestoredOut:
    return restore(place(home), path)


# --- an export's lines, as whoever edits a file by hand would change them

Lines = list[dict[str, Any]]


def lines_of(raw: bytes) -> Lines:
    return [msgspec.json.decode(line) for line in raw.splitlines()]


def sealed(lines: Lines) -> bytes:
    """The lines with an end that fits them, as whoever edits an export by hand would make it."""
    body = b"".join(msgspec.json.encode(line) + b"\n" for line in lines if line["is"] != "end")
    end = {"is": "end", "lines": body.count(b"\n"), "sha256": hashlib.sha256(body).hexdigest()}
    return body + msgspec.json.encode(end) + b"\n"


def notes_of(home: Path) -> dict[int, Note]:
    with opened(home) as (store, _), store.read() as snapshot:
        return dict(snapshot.notes())


def notes_of_open(store: Store) -> dict[int, Note]:
    with store.read() as snapshot:
        return dict(snapshot.notes())


def edited(line: dict[str, Any], change: Callable[[ev.Event], ev.Event]) -> None:
    """The event of a line, changed, its readable half too."""
    made = change(ev.decode_event(base64.b64decode(line["body"])))
    body = ev.encode_event(made)
    line["body"], line["says"] = base64.b64encode(body).decode(), said(body)


def first(lines: Lines, kind: str, type_: str = "") -> int:
    return next(
        n for n, line in enumerate(lines) if line["is"] == kind and (not type_ or line["says"]["type"] == type_)
    )


def as_lines(commit: Any, origin: bytes) -> Lines:
    head, digests, pairs = commit
    made: Lines = [
        {
            "is": "commit",
            "origin": origin.hex(),
            "seq": 1,
            "header": base64.b64encode(head).decode(),
            "digests": [one.hex() for one in digests],
        }
    ]
    for index, (body, sig) in enumerate(pairs):
        texts = {"body": base64.b64encode(body).decode(), "sig": base64.b64encode(sig).decode(), "says": said(body)}
        made.append({"is": "event", "index": index, **texts})
    return made
