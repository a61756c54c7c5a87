"""`memd verify` against a copy of a store's file that another program has edited: it names the place, the event and the note."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import lmdb
import msgspec
import pytest

from memd_daemon.limits import SALT_BYTES
from memd_daemon.model import event as ev
from memd_daemon.store import keys
from tests.cli.world import World, end_daemons_of
from tests.service.desk import Desk
from tests.service.test_people import Person
from tests.store.making import event

MAP_BYTES = 1 << 28
ORIGIN = r"of origin [0-9a-f-]{36}"
EVENT = r"event [0-9a-f-]{36} "


class Rows:
    """The tables of a store's file, as any program sees them that has LMDB."""

    def __init__(self, env: lmdb.Environment, txn: "lmdb.Transaction[bytes]") -> None:
        self._env, self._txn = env, txn
        self.origin = self.get(keys.META, keys.META_ORIGIN)

    def _db(self, table: str) -> object:
        return self._env.open_db(table.encode(), txn=self._txn, create=False)

    def get(self, table: str, key: bytes) -> bytes:
        return self._txn.get(key, db=self._db(table)) or b""

    def put(self, table: str, key: bytes, value: bytes) -> None:
        self._txn.put(key, value, db=self._db(table))

    def delete(self, table: str, key: bytes) -> None:
        assert self._txn.delete(key, db=self._db(table))

    def swap(self, table: str, one: bytes, other: bytes) -> None:
        first, second = self.get(table, one), self.get(table, other)
        assert first
        assert second
        self.put(table, one, second)
        self.put(table, other, first)

    # by commit and event

    def commit(self, seq: int) -> bytes:
        return keys.commit_key(self.origin, seq)

    def event(self, seq: int, index: int = 0) -> bytes:
        return keys.event_key(self.origin, seq, index)

    def uid(self, id_: int) -> bytes:
        return self.get(keys.IDS, keys.number(id_))

    def remove(self, seq: int) -> None:
        """The commit with all its events."""
        self.delete(keys.COMMITS, self.commit(seq))
        index = 0
        while self.get(keys.EVENTS, self.event(seq, index)):
            self.delete(keys.EVENTS, self.event(seq, index))
            index += 1

    def edit(self, seq: int, index: int, *, fit: bool = False) -> None:
        """Another session in the event; with ``fit`` its digest in the commit follows."""
        body, sig = msgspec.msgpack.decode(self.get(keys.EVENTS, self.event(seq, index)), type=tuple[bytes, bytes])
        body = ev.encode_event(msgspec.structs.replace(ev.decode_event(body), session="another"))
        self.put(keys.EVENTS, self.event(seq, index), msgspec.msgpack.encode((body, sig)))
        if fit:
            head, digests = msgspec.msgpack.decode(self.get(keys.COMMITS, self.commit(seq)))
            digests[index] = ev.event_digest(body, sig)
            self.put(keys.COMMITS, self.commit(seq), msgspec.msgpack.encode((head, digests)))

    def forge(self, body: bytes, sig: bytes = b"") -> None:
        """A further commit, with everything about it in order but what it says."""
        head = self.get(keys.META, keys.META_HEAD)
        seq = int.from_bytes(head[:8], "big")
        header = msgspec.msgpack.decode(msgspec.msgpack.decode(self.get(keys.COMMITS, self.commit(seq)))[0])
        header |= {"uid": b"f" * 16, "seq": seq + 1, "prev": head[8:], "hlc": header["hlc"] + 1, "events": 1}
        raw, digests = msgspec.msgpack.encode(header), [ev.event_digest(body, sig)]
        self.put(keys.COMMITS, self.commit(seq + 1), msgspec.msgpack.encode((raw, digests)))
        self.put(keys.EVENTS, self.event(seq + 1), msgspec.msgpack.encode((body, sig)))
        self.put(keys.META, keys.META_HEAD, keys.number(seq + 1) + ev.commit_digest(raw, digests))
        self.put(keys.META, keys.META_HLC, keys.number(header["hlc"]))
        made = ev.decode_event(body)
        place = keys.place_bytes((header["hlc"], self.origin, seq + 1, 0))
        self.put(keys.SUBJECTS, made.note + place, b"")
        if not self.get(keys.EVENT_UIDS, made.uid):
            self.put(keys.EVENT_UIDS, made.uid, place)

    def endorsed(self) -> tuple[bytes, bytes]:
        """The signed event of [4]."""
        return msgspec.msgpack.decode(self.get(keys.EVENTS, self.event(5, 1)), type=tuple[bytes, bytes])

    def text_of(self, id_: int) -> bytes:
        """The digest of the note's content."""
        seq = {1: 2, 5: 6}[id_]
        body, _ = msgspec.msgpack.decode(self.get(keys.EVENTS, self.event(seq)), type=tuple[bytes, bytes])
        recorded = ev.payload_of(ev.decode_event(body))
        assert isinstance(recorded, ev.Recorded)
        return recorded.content


class Case(NamedTuple):
    """An edit, and a line of what `memd verify` has to say of it; the ids are those of its fault in JSON."""

    edit: Callable[[Rows], object]
    line: str
    notes: list[int]


def promotion(rows: Rows, id_: int, key: bytes) -> bytes:
    """An event that makes a note a person's."""
    payload = ev.Promoted(to="human", revision=1, content=rows.text_of(id_))
    made = event("promoted", rows.uid(id_), payload, actor="human", surface="cli", key_id=key, at=1_772_600_000_000)
    return ev.encode_event(made)


CASES = {
    "a removed event": Case(
        lambda rows: rows.delete(keys.EVENTS, rows.event(4, 1)),
        rf"event \(number 1 of commit 4 {ORIGIN}\), of note \[1\]: is missing\.",
        [1],
    ),
    "a removed commit": Case(
        lambda rows: rows.remove(3), rf"commit 3 {ORIGIN}, of note \[2\]: is missing\.", [2]
    ),
    "the last commit cut off": Case(
        lambda rows: rows.remove(6), rf"commit 6 {ORIGIN}, of note \[5\]: is missing\.", [5]
    ),
    "the tail cut off": Case(
        lambda rows: [rows.remove(seq) for seq in (4, 5, 6)],
        rf"commit 4 {ORIGIN}, of notes \[1\], \[2\], \[3\], \[4\], \[5\]: to 6 are missing\.",
        [1, 2, 3, 4, 5],
    ),
    "an edited event": Case(
        lambda rows: rows.edit(4, 1),
        rf"{EVENT}\(number 1 of commit 4 {ORIGIN}\), of note \[1\]: is not the one that was committed\.",
        [1],
    ),
    "an edited event, its commit made to fit": Case(
        lambda rows: rows.edit(3, 0, fit=True),
        rf"commit 4 {ORIGIN}, of notes \[1\], \[2\], \[3\]: does not follow the one before it",
        [1, 2, 3],
    ),
    "an edited event of the last commit, which is made to fit": Case(
        lambda rows: rows.edit(6, 0, fit=True),
        rf"commit 6 {ORIGIN}, of note \[5\]: is not the one that this store wrote last",
        [5],
    ),
    "reordered commits": Case(
        lambda rows: (
            rows.swap(keys.COMMITS, rows.commit(2), rows.commit(3)),
            rows.swap(keys.EVENTS, rows.event(2), rows.event(3)),
        ),
        rf"commit 2 {ORIGIN}, of note \[2\]: says that it is commit 3 ",
        [2],
    ),
    "reordered events of a commit": Case(
        lambda rows: rows.swap(keys.EVENTS, rows.event(4, 0), rows.event(4, 1)),
        rf"{EVENT}\(number 0 of commit 4 {ORIGIN}\), of note \[1\]: is not the one that was committed\.",
        [1],
    ),
    "a forged event beside others": Case(
        lambda rows: rows.put(
            keys.EVENTS,
            rows.event(4, 3),
            msgspec.msgpack.encode((ev.encode_event(event("confirmed", rows.uid(2))), b"")),
        ),
        rf"event \(number 3 of commit 4 {ORIGIN}\), of note \[2\]: was added to a commit that does not name it\.",
        [2],
    ),
    "a forged commit that claims a person": Case(
        lambda rows: rows.forge(promotion(rows, 5, b"")),
        rf"{EVENT}\(number 0 of commit 7 {ORIGIN}\), of note \[5\]: says that a person did it and is not signed\.",
        [5],
    ),
    "a forged commit with a signature": Case(
        lambda rows: rows.forge(promotion(rows, 5, b"k" * 16), b"s" * 64),
        rf"{EVENT}\(number 0 of commit 7 {ORIGIN}\), of note \[5\]: has a signature that no key enrolled here made\.",
        [5],
    ),
    "an endorsement that is replayed": Case(
        lambda rows: rows.forge(*rows.endorsed()),
        rf"{EVENT}\(number 0 of commit 7 {ORIGIN}\), of note \[4\]: stands in an earlier commit already\.",
        [4],
    ),
    "an enrolment that is gone": Case(
        lambda rows: rows.delete(keys.EVENTS, rows.event(1)),
        rf"event \(number 0 of commit 1 {ORIGIN}\), of this store's keys and settings: is missing\.",
        [],
    ),
    "a store that does not know its last commit": Case(
        lambda rows: rows.delete(keys.META, keys.META_HEAD),
        rf"commit 6 {ORIGIN}, of note \[5\]: may not be the last one",
        [5],
    ),
    "a changed text": Case(
        lambda rows: rows.put(keys.BLOBS, rows.text_of(1), bytes(SALT_BYTES) + b"Locks are nobody's."),
        rf"{EVENT}\(number 0 of commit 2 {ORIGIN}\), of note \[1\]: names a text that was changed \([0-9a-f]{{16}}…\)\.",
        [1],
    ),
    "a removed text": Case(
        lambda rows: rows.delete(keys.BLOBS, rows.text_of(5)),
        rf"{EVENT}\(number 0 of commit 6 {ORIGIN}\), of note \[5\]: names a text that is not here",
        [5],
    ),
    "swapped ids": Case(
        lambda rows: (
            rows.swap(keys.ALIASES, rows.uid(1), rows.uid(5)),
            rows.swap(keys.IDS, keys.number(1), keys.number(5)),
        ),
        r"note \[2\] \([0-9a-f-]{36}\): has the id of a note that was recorded later\.",
        [2],
    ),
    "an id that is gone": Case(
        lambda rows: (rows.delete(keys.ALIASES, rows.uid(2)), rows.delete(keys.IDS, keys.number(2))),
        r"id \[2\]: stands for no note\.",
        [],
    ),
    "a turn of garbage": Case(
        lambda rows: rows.put(keys.TURNS, keys.number(1), b"\xc1"), r"turn 1: cannot be read\.", []
    ),
    "turns that were counted back": Case(
        lambda rows: rows.delete(keys.META, keys.META_TURN),
        r"the count of turns: stands before its newest turn\.",
        [],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """A home with a key (commit 1), [1] and [2] on it, [3] that contradicts [1], an endorsed [4], and [5]; a turn."""
    made = World()
    desk = Desk(made.home, made.repository)
    person = Person(desk)
    desk.remember("Locks are taken by the thread.")
    desk.remember("So one thread may take two.", derived_from=["1"])
    desk.remember("Locks are taken by the process.", contradicts="1", reason="measured")
    person.rule("Never take a lock in a signal handler.")
    desk.remember("The pool has four workers.")
    desk.prompt("how many workers are there?")
    desk.close()
    yield made
    made.close()


@pytest.fixture
def copy(world: World) -> Iterator[Path]:
    """A copy of the home, which no daemon has opened; one that a command starts on it goes with it."""
    home = world.folder / "copy"
    shutil.copytree(world.home, home)
    yield home
    end_daemons_of(home)
    shutil.rmtree(home)


def verify(world: World, home: Path, *words: str) -> tuple[int, str, str]:
    ran = world.memd("verify", *words, MEMD_HOME=str(home))
    return ran.code, ran.out.decode(), ran.err


def edit(home: Path, work: Callable[[Rows], object]) -> None:
    """As another program would that has LMDB, while no daemon runs."""
    folder = str(home / "store" / "log")
    with lmdb.open(folder, max_dbs=64, map_size=MAP_BYTES) as env, env.begin(write=True) as txn:
        work(Rows(env, txn))


def test_what_the_log_no_longer_gives_is_left_alone(world: World, copy: Path) -> None:
    """Where the log is damaged, nothing advises to make folds anew from it: they may be all that is left."""
    edit(copy, CASES["the tail cut off"].edit)
    _, out, _ = verify(world, copy)
    assert "stands in the store otherwise than its events make it. Leave it until the log is whole again" in out
    assert "reindex" not in out


def test_a_damaged_log_is_the_ground_of_nothing_unless_somebody_says_so(world: World, copy: Path) -> None:
    """What is made anew from it would be less than what there is; the refusal says what to do, and the folds stay."""
    edit(copy, CASES["the tail cut off"].edit)
    before = world.memd("list", "--json", MEMD_HOME=str(copy)).json
    refused = world.memd("reindex", MEMD_HOME=str(copy))
    assert refused.code == 1
    for words in ("backup", "--despite-damage"):
        assert words in refused.err
    assert world.memd("list", "--json", MEMD_HOME=str(copy)).json == before
    assert world.memd("reindex", "--despite-damage", "--json", MEMD_HOME=str(copy)).json["notes"] < len(before)


def test_a_sound_store_is_said_to_be_sound(world: World, copy: Path) -> None:
    """Exit 0, one line with what was read, no faults in JSON."""
    code, out, _ = verify(world, copy)
    assert (code, re.fullmatch(r"sound: 9 events in 6 commits, \d+\.\d s\n", out) is not None) == (0, True), out
    code, out, _ = verify(world, copy, "--json")
    assert (code, json.loads(out)["faults"]) == (0, [])


@pytest.mark.parametrize("name", CASES)
def test_what_was_edited_is_named(world: World, copy: Path, name: str) -> None:
    """Exit 1; the line with the place and the note; the same in parts as JSON; and the last line counts."""
    case = CASES[name]
    edit(copy, case.edit)
    code, out, _ = verify(world, copy)
    assert len([line for line in out.splitlines() if re.match(case.line, line)]) == 1, out
    assert re.match(r"\d+ faults?: ", out.splitlines()[-1])
    assert code == 1
    code, out, _ = verify(world, copy, "--json")
    faults = [f for f in json.loads(out)["faults"] if re.match(case.line, f"{f['where']}: {f['what']}.")]
    assert code == 1
    assert faults[0]["notes"] == case.notes
    at = re.search(r"commit (\d+)", case.line)
    assert faults[0]["commit"] == (int(at.group(1)) if at else 0)
    assert faults[0]["remedy"]


@pytest.mark.parametrize("kept", [0.5, 0.05])
def test_a_file_that_was_cut_is_named(world: World, copy: Path, kept: float) -> None:
    """No daemon starts on it, whatever is asked: the file and how much of it is left are said, and not a byte is changed."""
    file = copy / "store" / "log" / "data.mdb"
    raw = file.read_bytes()
    file.write_bytes(raw[: int(len(raw) * kept)])
    code, out, err = verify(world, copy)
    assert (code, out) == (3, "")
    assert re.search(r"data\.mdb has \d+ of its \d+ bytes", err), err
    assert file.read_bytes() == raw[: int(len(raw) * kept)]


@pytest.mark.parametrize("meta", [keys.META_HEAD, keys.META_TURN])
def test_what_stands_is_not_written_over(world: World, copy: Path, meta: bytes) -> None:
    """A store that forgot how far it had come refuses to write a commit over another, and counts turns from what is there."""
    edit(copy, lambda rows: rows.put(keys.META, meta, keys.number(0) + (ev.GENESIS if meta == keys.META_HEAD else b"")))
    ran = world.memd("remember", "A claim that would have been commit 1.", MEMD_HOME=str(copy))
    assert (ran.code == 0) == (meta == keys.META_TURN), ran.err
    if meta == keys.META_HEAD:
        assert "The store is damaged: commit 1 stands already" in ran.err
    end_daemons_of(copy)
    desk = Desk(copy, world.repository)
    try:
        desk.prompt("and who starts them?", prompt_id="p2")
        with desk.daemon.parts.store.read() as snapshot:
            assert [turn.text for turn in snapshot.turns()] == ["and who starts them?", "how many workers are there?"]
            assert snapshot.counts().commits == (6 if meta == keys.META_HEAD else 7)
    finally:
        desk.close()
