"""A restore and an import: a store made ready beside the one in the home, and put in its place (store/backup_swap.py).

Neither is done to a store in use. A restore is made ready and looked through while the daemon works on; only the exchange has the
daemon stopped. An import goes on from what is there, so it has the daemon stopped from its beginning: what it makes is a copy of
the store with the lines taken in. Either is all or nothing, and what was there before is kept.

A store that comes from outside brings its keys, and with them notes that are endorsed. That is a person's to do: what looks like an
agent's shell restores nothing, and imports nothing that makes a key count which did not count before.

``Hold`` gives what keeps every daemon away; it is the caller's, since this floor knows no daemon.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from memd_client.exchanging import ImportedOut, RestoredOut
from memd_daemon import errors, limits
from memd_daemon.frames import exchanged as words
from memd_daemon.model.burst import BurstNote
from memd_daemon.model.ids import UID_BYTES, uid_text
from memd_daemon.service.explain import iso
from memd_daemon.store import backup, backup_swap, fs, keys, numbers, theirs
from memd_daemon.store import exchange_lines as ln
from memd_daemon.store.backup_refused import (
    BackupDamaged,
    BackupFaulty,
    ExportNewer,
    ForgottenComesBack,
    ImportWrong,
    NotAnExport,
    NotReadable,
)
from memd_daemon.store.check import verify
from memd_daemon.store.exchange_in import Incoming, Redact
from memd_daemon.store.exchange_read import Named, Reader
from memd_daemon.store.fault import REINDEX, Fault
from memd_daemon.store.group import GroupStore
from memd_daemon.store.lmdb_log import open_ledger, open_store
from memd_daemon.store.log_write import LogTxn
from memd_daemon.store.port import Counts

Hold = Callable[[], AbstractContextManager[None]]
"""Holds the home against every daemon. Raises CannotHold."""
Say = Callable[[str, int, int], None]
"""What is being done, how much of it is done, and of how much; 0 where that is not known."""
Person = Callable[[str], None]
"""Raises PersonNeeded where an agent seems to ask; told what for."""

_HEX_PER_BYTE: Final = 2


class Place:
    """One home, and who may do what to it."""

    def __init__(self, home: Path, now_ms: Callable[[], int], hold: Hold, say: Say, person: Person) -> None:
        self.home = home
        self.now_ms = now_ms
        self.hold = hold
        self.say = say
        self.person = person

    def staging(self, whole: ExitStack, failing: ExitStack) -> Path:
        """A folder for what is to be put in place, nobody else's as long as ``whole``; it goes again unless ``failing`` is let
        off."""
        fs.prepare(self.home)
        folder = backup_swap.staging(self.home, self.now_ms(), whole)
        failing.callback(backup_swap.drop_staged, folder)
        return folder

    def settled(self, own: Path | None = None) -> list[str]:
        """What an earlier exchange left half done is put right. To be called with the home held."""
        return [words.BROKEN_OFF.format(folder=folder) for folder in backup_swap.settle(self.home, own)]


# --- restore


def restore(place: Place, path: Path, *, damaged: bool = False, with_forgotten: bool = False) -> RestoredOut:
    """Puts what a backup, or a folder that was kept, holds in the place of the store. Raises what backup_refused.py and fs.py
    name."""
    place.person("A restore")
    with ExitStack() as whole, ExitStack() as failing:
        folder = place.staging(whole, failing)
        manifest = _typed(folder, lambda: backup.unpack(path, folder, lambda at, of: place.say("reading", at, of)))
        backup.refuse_unopenable(path, folder, damaged=damaged)
        place.say("checking", 0, 0)
        made = _looked_through(path, folder, damaged=damaged)
        if manifest is not None and manifest.store != made.store:
            raise BackupDamaged(path, "its manifest is that of another store")
        with place.hold():
            told = place.settled(folder)
            told += _refuse_forgotten(place.home, folder, with_forgotten=with_forgotten)
            told += _carried_on(place.home, folder, made)
            kept = backup_swap.swap(place.home, folder)
            failing.pop_all()
    return msgspec.structs.replace(
        made,
        made_at=(iso(manifest.made_at) or "") if manifest else "",
        kept=str(kept or ""),
        told=[*made.told, *told, words.INDEXES_COME],
    )


def _typed(folder: Path, work: Callable[[], backup.Manifest | None]) -> backup.Manifest | None:
    """What befalls the staged store is memd's to name."""
    try:
        return work()
    except OSError as error:
        raise fs.typed(error.errno or 0, str(error), folder) from error


def _looked_through(path: Path, folder: Path, *, damaged: bool) -> RestoredOut:
    """Checks the staged store as `memd verify` does, and makes derived rows anew where they are not what the log gives."""
    try:
        store = open_store(folder)
    except errors.StoreDamaged as error:
        raise BackupFaulty(path, error.args[0]) from error
    try:
        faults = verify(store)
        worse = [fault for fault in faults if fault.remedy != REINDEX]
        if worse and not damaged:
            raise BackupFaulty(path, named(worse))
        told = []
        if faults and not worse:
            store.rebuild()
            told = [words.REMADE.format(faults=len(faults))]
        counts = _counts(store)
        return RestoredOut(
            notes=counts.notes,
            events=counts.events,
            commits=counts.commits,
            turns=counts.turns,
            store=uid_text(store.info.store),
            faults=len(worse),
            told=told,
        )
    finally:
        store.close()


def named(faults: Iterable[Fault]) -> str:
    """The first few of them, on one line."""
    found = list(faults)
    first = "; ".join(f"{fault.where} {fault.what}" for fault in found[: limits.FAULTS_TOLD_MAX])
    more = len(found) - limits.FAULTS_TOLD_MAX
    return f"{first}; and {more} more" if more > 0 else first


def _carried_on(home: Path, folder: Path, made: RestoredOut) -> list[str]:
    """What the store that is there has more than the one that comes, where they are one store; and no number that it gave is given
    again by the other."""
    if not (home / "store" / "log" / "data.mdb").exists():
        return []
    try:
        store = open_store(home)
    except errors.MemdError:
        return [words.NUMBERS_UNKNOWN]
    try:
        counts, is_same = _counts(store), uid_text(store.info.store) == made.store
        with store.read() as snapshot:
            note, turn = numbers.given_last(snapshot.kv), snapshot.kv.get(keys.META, keys.META_TURN)
            is_lost = numbers.are_lost(snapshot.kv)
    finally:
        store.close()
    if not is_same:
        return []
    try:
        _go_on_behind(folder, note, turn)
    except errors.StoreDamaged:  # it is to be taken as it is
        return [words.NUMBERS_UNKNOWN]
    if is_lost:
        return [words.NUMBERS_UNKNOWN]
    here, comes = (counts.notes, counts.events, counts.turns), (made.notes, made.events, made.turns)
    named = ("note", "event", "turn")
    more = [words.counted(a - b, noun) for a, b, noun in zip(here, comes, named, strict=True) if a > b]
    return [words.WENT_ON.format(more=", ".join(more))] if more else []


def _go_on_behind(folder: Path, note: int, turn: bytes | None) -> None:
    """The staged store numbers its next note and its next turn behind these."""
    store = open_store(folder)

    def work(txn: LogTxn) -> None:
        numbers.pass_up_to(txn.kv, note)
        if turn is not None and turn > (txn.kv.get(keys.META, keys.META_TURN) or b""):
            txn.kv.put(keys.META, keys.META_TURN, turn)

    try:
        store.write(work)
    finally:
        store.close()


def _refuse_forgotten(home: Path, folder: Path, *, with_forgotten: bool) -> list[str]:
    """What was forgotten in the store that is there does not come back unsaid."""
    if with_forgotten or not (home / "store" / "log").exists():
        return []
    try:
        gone = _forgotten(home)
    except errors.MemdError:
        return [words.STORE_UNREADABLE]
    store = open_store(folder) if gone else None
    if store is None:
        return []
    try:
        with store.read() as snapshot:
            back = [uid for uid in gone if (note := snapshot.note(uid)) is not None and not note.forgotten]
            numbers = sorted(snapshot.id_of(uid) or 0 for uid in back)
    finally:
        store.close()
    if numbers:
        shown = ", ".join(map(str, numbers[: limits.IMPORT_TOLD_MAX]))
        more = len(numbers) - limits.IMPORT_TOLD_MAX
        raise ForgottenComesBack(f"{shown} and {more} more" if more > 0 else shown)
    return []


def _forgotten(home: Path) -> list[bytes]:
    store = open_store(home)
    try:
        with store.read() as snapshot:
            found = {uid for uid in store.fallen(0) if (note := snapshot.note(uid)) is not None and note.forgotten}
        return sorted(found)
    finally:
        store.close()


# --- import


def take_in(place: Place, stream: BinaryIO, redact: Redact, *, skip_wrong: bool = False) -> ImportedOut:
    """Takes an export into the store of the home: as that very store where there is nothing in it, else what is missing of it.

    Raises NotAnExport, ExportNewer, ImportWrong, PersonNeeded, CannotHold, CannotSwap, StoreFull and what opening a store raises.
    """
    reader = Reader(stream)
    first = reader.raw()
    head = head_of(first)
    with ExitStack() as whole, ExitStack() as failing, place.hold():
        told = place.settled()
        folder = place.staging(whole, failing)
        relation = _begun(place, folder, head)
        made = _taken_in(place, folder, head, relation, reader, first, redact, skip_wrong=skip_wrong)
        kept = backup_swap.swap(place.home, folder) if made.is_news else None
        if made.is_news:
            failing.pop_all()
    return msgspec.structs.replace(made.out, kept=str(kept or ""), told=[*told, *made.out.told])


class _Made(msgspec.Struct, frozen=True):
    out: ImportedOut
    is_news: bool


def head_of(raw: bytes) -> ln.Head:
    """What an export's first line says. Raises NotAnExport, ExportNewer."""
    try:
        told = ln.decode_loosely(raw)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise NotAnExport("its first line is not that of one") from error
    if told.get("is") != "memd-export":
        raise NotAnExport("its first line is not that of one")
    for field, newest in (("format", limits.EXPORT_FORMAT), ("store_format", limits.STORE_FORMAT)):
        given = told.get(field)
        if isinstance(given, int) and given > newest:
            raise ExportNewer(given, newest)
    try:
        head = ln.decode(raw)
    except msgspec.MsgspecError as error:
        raise NotAnExport("its first line cannot be read") from error
    if not isinstance(head, ln.Head) or not (_is_uid(head.store) and _is_uid(head.origin)):
        raise NotAnExport("its first line does not say whose it is")
    return head


def _is_uid(digits: str) -> bool:
    return len(digits) == UID_BYTES * _HEX_PER_BYTE and all(one in "0123456789abcdef" for one in digits)


def _begun(place: Place, folder: Path, head: ln.Head) -> str:
    """Puts into the staging folder what the import goes on from; gives what the export is to it: new, same or other."""
    store_uid, origin = bytes.fromhex(head.store), bytes.fromhex(head.origin)
    if (place.home / "store" / "log" / "data.mdb").exists():
        current = open_store(place.home)
        try:
            counts = _counts(current)
            if counts.commits or counts.turns:
                _copy(place, current, folder)
                return "same" if current.info.store == store_uid else "other"
        finally:
            current.close()
    store = open_store(folder, store=store_uid)
    try:
        store.write(lambda txn: txn.kv.put(keys.META, keys.META_ORIGIN, origin))
    finally:
        store.close()
    return "new"


def _copy(place: Place, store: GroupStore, folder: Path) -> None:
    place.say("copying", 0, 0)
    ledger = open_ledger(place.home)
    try:
        for opened, name in ((store, "log"), (ledger, "ledger")):
            target = fs.prepare(folder, "store", name) / "data.mdb"
            descriptor = os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, fs.FILE_MODE)
            try:
                with opened.copying() as (_, copy):
                    copy(descriptor)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
    finally:
        ledger.close()


def _taken_in(
    place: Place,
    folder: Path,
    head: ln.Head,
    relation: str,
    reader: Reader,
    first: bytes,
    redact: Redact,
    *,
    skip_wrong: bool,
) -> _Made:
    store = open_store(folder)
    try:
        before, keys_before = _counts(store), _keys(store)
        whose = bytes.fromhex(head.store)
        incoming = Incoming(store, redact, whose, is_new=relation == "new", is_same=relation == "same")
        taken = incoming.taken
        try:
            lines = reader.rest(first, taken)
            incoming.take(lines, head, lambda: place.say("taking in", reader.done_bytes, reader.size))
        except OSError as error:
            raise NotReadable("the export", error.strerror or error) from error
        if taken.wrong.count and not skip_wrong:
            raise ImportWrong(*_wrong(taken.wrong))
        if not _keys(store) <= keys_before:
            place.person("This import")
        if relation != "new":
            taken.others += store.write(theirs.decide_all)
        place.say("checking", 0, 0)
        faults = verify(store)
        after = _counts(store)
        with store.read() as snapshot:
            repositories = theirs.known(snapshot, whose)
    finally:
        store.close()
    held = _hold_notes(folder, taken.held)
    out = ImportedOut(
        relation=relation,
        lines=taken.lines,
        commits=taken.commits,
        events=taken.events,
        notes=after.notes - before.notes,
        texts=taken.texts,
        turns=taken.turns,
        turns_left=taken.turns_left,
        withheld=[words.numbered(*one) for one in taken.withheld.first],
        withheld_count=taken.withheld.count,
        forgotten=taken.forgotten,
        wrong=[words.numbered(*one) for one in sorted(taken.wrong.first)],
        wrong_count=taken.wrong.count,
        faults=len(faults),
        told=_told(relation, taken.turns, taken.turns_left, repositories),
    )
    return _Made(out, taken.is_news or held)


def _told(relation: str, turns: int, left: int, repositories: tuple[int, int]) -> list[str]:
    told = []
    if relation == "other":
        told.append(words.OTHER_STORE)
        told += words.of_repositories(*repositories)
    if relation == "other" and left:
        told.append(words.TURNS_LEFT.format(turns=words.counted(left, "turn")))
    if turns:
        told.append(words.TURNS_UNTYPED)
    return told


def _wrong(found: Named) -> tuple[str, str, str]:
    """(how many, is or are, the first of them)."""
    first = "; ".join(words.numbered(*one) for one in sorted(found.first))
    more = found.count - len(found.first)
    lines = f"{found.count} line{'' if found.count == 1 else 's'}"
    return lines, "is" if found.count == 1 else "are", f"{first}; and {more} more" if more > 0 else first


def _hold_notes(folder: Path, held: list[BurstNote]) -> bool:
    """Notes of bursts stay held; whether any was not so before."""
    ledger = open_ledger(folder)
    try:
        new = [one for one in held if ledger.burst_of(one.note) is None]
        if new:
            ledger.put_bursts(new)
        return bool(new)
    finally:
        ledger.close()


def _keys(store: GroupStore) -> frozenset[bytes]:
    with store.read() as snapshot:
        return frozenset(one.public for one in snapshot.identity().enrolments)


def _counts(store: GroupStore) -> Counts:
    with store.read() as snapshot:
        return snapshot.counts()
