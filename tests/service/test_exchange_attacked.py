"""What an export and a backup try that somebody made on purpose: every digest of it fits, and what it says cannot be."""

import base64
import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memd_daemon import errors, limits
from memd_daemon.frames import words
from memd_daemon.model import event as ev
from memd_daemon.model.burst import BurstNote
from memd_daemon.model.ids import hybrid_ms
from memd_daemon.service.exchange_place import restore, take_in
from memd_daemon.service.explain import iso
from memd_daemon.store import backup_swap
from memd_daemon.store.backup_refused import BackupDamaged, ImportWrong, NotABackup, NotAnExport
from memd_daemon.store.check import verify
from tests.service.desk import Desk
from tests.store.exchanging import (
    REDACT,
    Lines,
    as_lines,
    backed_up,
    exported,
    first,
    imported,
    lines_of,
    notes_of,
    opened,
    place,
    sealed,
)
from tests.store.making import ANNA, NOON, Pen, commits_of, event, foreign_commit, fresh_uid, recorded

LAST_MS = hybrid_ms(limits.HYBRID_TIME_MAX)
NEVER = (-1, LAST_MS + 1, 253_402_300_800_000, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, -(1 << 63))
SECRET = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
DEEP = b"\x91" * 5_000 + b"\xc0"


def with_commit(
    raw: bytes, *made: ev.Event, bodies: Callable[[bytes], bytes] = lambda body: body, sig: bytes = b""
) -> Lines:
    """The export with a commit more, of another chain of the same store, as whoever knows the format would make it."""
    lines = lines_of(raw)
    store, origin = bytes.fromhex(lines[0]["store"]), b"\xff" * 16
    head, _, _ = foreign_commit([(one, b"") for one in made], origin=origin, seq=1, hlc=1 << 60, store=store)
    pairs = [(bodies(ev.encode_event(one)), sig) for one in made]
    digests = [ev.event_digest(body, sig) for body, sig in pairs]
    at = first(lines, "turn")
    lines[at:at] = as_lines((head, digests, pairs), origin)
    return lines


def refusal(home: Path, lines: Lines) -> str:
    """Why nothing was taken, and that nothing was."""
    there_was = (home / "store").exists()
    with pytest.raises(ImportWrong) as wrong:
        imported(home, sealed(lines))
    assert ((home / "store").exists(), (home / "replaced").exists()) == (there_was, False)
    return wrong.value.message


# --- acts


@pytest.mark.parametrize("anew", [False, True])
def test_an_act_that_was_signed_once_is_not_taken_again(folder: Path, raw: bytes, anew: bool) -> None:
    """A revocation that was taken back since, copied into another commit: as it was, and under a name of its own."""
    home = folder / "here"
    with opened(home) as (store, ledger):
        pen = Pen(store)
        uid = pen.record("Never push to main.")
        pen.endorse(uid, ANNA)
        pen.revoke(uid, by=ANNA)
        signed = commits_of(store)[-1][2][0]
        pen.act(uid, "reinstated", ev.Reasoned())
        later = exported(store, ledger)
    assert signed is not None
    made = ev.decode_event(signed[0])
    made = msgspec.structs.replace(made, uid=fresh_uid()) if anew else made
    lines = with_commit(later, made, sig=signed[1])
    imported(home, sealed(lines))
    with opened(home) as (store, _), store.read() as snapshot:
        note = snapshot.note(uid)
        assert note is not None
        assert (note.belief, note.provenance) == ("held", "human")


@pytest.mark.parametrize("actor", ["agent", "human", "system"])
def test_nobody_forgets_by_a_line(folder: Path, raw: bytes, actor: str) -> None:
    """Only a signature does."""
    home = folder / "here"
    before = notes_of(home)
    acts = [event("forgotten", note.uid, actor=actor) for note in before.values() if not note.forgotten]
    imported(home, sealed(with_commit(raw, *acts)))
    after = notes_of(home)
    assert [note.forgotten for note in after.values()] == [note.forgotten for note in before.values()]
    with opened(home) as (store, _), store.read() as snapshot:
        assert all(snapshot.text(note.shown.content) for note in after.values() if not note.forgotten)


# --- times


@pytest.mark.parametrize("at", NEVER)
def test_an_event_of_a_time_that_no_clock_shows_is_not_taken(folder: Path, raw: bytes, at: int) -> None:
    """It could not be told with a date: every question whose answer held the note would fail from then on."""
    made = event("recorded", fresh_uid(), recorded(), at=at)
    assert "is of a time that no clock shows" in refusal(folder / "here", with_commit(raw, made))


@pytest.mark.parametrize("at", [0, LAST_MS])
def test_the_first_and_the_last_moment_are_taken(folder: Path, raw: bytes, at: int) -> None:
    """Up to where memd's own clock can go."""
    made = event("recorded", fresh_uid(), recorded(), at=at)
    assert imported(folder / "here", sealed(with_commit(raw, made))).events == 1


@pytest.mark.parametrize("at", NEVER)
def test_every_number_has_a_date(at: int) -> None:
    """Whatever a row says, telling of it does not fail: the nearest day there is."""
    assert words.date(at) == words.date(0 if at < 0 else LAST_MS)
    assert words.minute(at)[:10] == words.date(at)
    assert iso(at)[:10] == words.date(at)


def test_a_turn_and_a_held_note_have_times_too(folder: Path, raw: bytes) -> None:
    """Theirs stand in no chain at all."""
    lines = lines_of(raw)
    said = lines[first(lines, "turn")]["turn"]
    said["at"] = 1 << 62
    del said["crc"]
    assert "is not the turn that was stored" in refusal(folder / "there", lines)
    assert "holds a note as memd holds none" in refusal(folder / "there", held(raw, at=-1))
    assert "holds a note as memd holds none" in refusal(folder / "there", held(raw, others=-1))


# --- what nests


def test_what_nests_without_end_is_a_wrong_line(folder: Path, raw: bytes) -> None:
    """In JSON, in an event's bytes and in a fact: named like every other, and no trace of Python."""
    lines = sealed(lines_of(raw)).splitlines(keepends=True)
    lines[1] = b'{"a":' * 200_000 + b"\n"
    with pytest.raises(ImportWrong, match="line 2: is no line of an export"):
        imported(folder / "there", b"".join(lines))
    with pytest.raises(NotAnExport):
        imported(folder / "there", lines[1])
    deep = with_commit(raw, event("recorded", fresh_uid()), bodies=lambda body: body[:-1] + DEEP)
    assert "is an event that cannot be read" in refusal(folder / "here", deep)
    assert "is a fact that says nothing" in refusal(folder / "here", with_fact(raw, "repo/about/x", DEEP))


# --- facts


def with_fact(raw: bytes, name: str, value: bytes) -> Lines:
    lines = lines_of(raw)
    fact = {"is": "fact", "name": name, "value": base64.b64encode(value).decode()}
    lines.insert(first(lines, "fact"), fact)
    return lines


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("repo/common/0", b""),
        ("repo/common/0", b"short"),
        ("repo/remote/0", bytes(17)),
        ("repo/root/0/1", b"\xc0"),
        ("commit/repo:r/0", bytes(15)),
        ("repo/about/0", b""),
        ("repo/about/0", b"junk"),
        ("repo/about/0", msgspec.msgpack.encode({"uid": bytes(16)})),
        ("repo/about/0", msgspec.msgpack.encode({"uid": b"x", "path": "/a"})),
    ],
)
def test_a_row_of_the_repository_table_says_something(folder: Path, raw: bytes, name: str, value: bytes) -> None:
    """One that names no uid would have every command fail in that repository."""
    assert "is a fact that says nothing" in refusal(folder / "there", with_fact(raw, name, value))


@pytest.mark.parametrize("row", [b"", b"x", bytes(17), DEEP])
def test_a_damaged_row_of_the_repository_table_stops_nobody(desk: Desk, row: bytes) -> None:
    """It stands in no chain: what it said is learned anew, and nothing fails in that repository."""
    desk.remember("Run the linter before a commit.", kind="directive")
    parts = desk.daemon.parts
    with parts.store.read() as snapshot:
        names = [name for name, _ in snapshot.settings("repo/")]
    assert len(names) > 1
    for name in names:
        parts.store.write(lambda txn, name=name: txn.put_setting(name, row))  # type: ignore[misc]  # mypy infers no default
    parts.places.clear()
    assert desk.remember("Deploys go through staging first.").id == 2
    parts.places.clear()
    assert [one.note.id for one in desk.recall("staging").found] == [2]
    with parts.store.read() as snapshot:
        assert [len(uid) for name, uid in snapshot.settings("repo/common/")] == [16]


# --- held notes


def held(raw: bytes, note: bytes | None = None, **fields: Any) -> Lines:
    lines = lines_of(raw)
    number = lines[first(lines, "number")]["note"]
    given: dict[str, Any] = {"note": note or bytes.fromhex(number), "at": NOON, "others": 2, "sessions": ("s1",)}
    burst = msgspec.json.decode(msgspec.json.encode(BurstNote(**(given | fields))))
    lines.insert(len(lines) - 1, {"is": "held", "burst": burst})
    return lines


def test_a_held_notes_names_pass_the_redactor(folder: Path, raw: bytes) -> None:
    """As those of every other line do: nothing of it comes to the disk."""
    reply = imported(folder / "there", sealed(held(raw, sessions=("s1", SECRET))))
    assert (reply.withheld_count, reply.wrong_count) == (1, 0)
    files = [one for one in (folder / "there").rglob("*") if one.is_file()]
    assert not any(SECRET.encode() in one.read_bytes() for one in files)


def test_a_note_that_is_not_here_is_not_held(folder: Path, raw: bytes) -> None:
    """It may come later, from somebody else."""
    imported(folder / "there", sealed(held(raw, note=b"n" * 16)))
    with opened(folder / "there") as (_, ledger):
        assert ledger.bursts() == []


def test_no_line_holds_a_note_that_is_told_here(folder: Path, raw: bytes) -> None:
    """Nobody would hear of it again until somebody looked; one that comes with the export is held as it was there."""
    made = event("recorded", fresh_uid(), recorded())
    lines = with_commit(raw, made)
    held_too = held(sealed(lines), note=made.note)
    both = held_too[:-1] + [one for one in held(raw) if one["is"] == "held"] + held_too[-1:]
    assert imported(folder / "here", sealed(both)).events == 1
    with opened(folder / "here") as (_, ledger):
        assert [one.note for one in ledger.bursts()] == [made.note]


# --- how much of it


def test_any_number_of_wrong_lines_is_counted_and_the_first_are_named(folder: Path, raw: bytes) -> None:
    """What is kept of them does not grow with the file."""
    lines = sealed(lines_of(raw)).splitlines(keepends=True)
    lines[1:1] = [b"{}\n"] * 5_000
    with pytest.raises(ImportWrong) as wrong:
        imported(folder / "there", b"".join(lines))
    told = wrong.value.message
    assert told.startswith("5001 lines of the export are wrong")  # the end, too, says other than there is
    assert told.count("is no line of an export") == limits.IMPORT_TOLD_MAX
    assert f"and {5_001 - limits.IMPORT_TOLD_MAX} more" in told


def test_how_far_an_import_is_goes_by_its_bytes(folder: Path, raw: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts are lines that the head does not count."""
    monkeypatch.setattr("memd_daemon.store.exchange_in.IMPORT_BATCH_EVENTS", 2)
    said: list[tuple[str, int, int]] = []
    there = place(folder / "there")
    there.say = lambda what, done, of: said.append((what, done, of))
    path = folder / "raw"
    path.write_bytes(raw)
    with path.open("rb") as file:
        take_in(there, file, REDACT)
    taken = [(done, of) for what, done, of in said if what == "taking in"]
    assert len(taken) > 2
    assert taken == sorted(taken)
    assert {of for _, of in taken} == {len(raw)}
    said.clear()
    there = place(folder / "elsewhere")
    there.say = lambda what, done, of: said.append((what, done, of))
    take_in(there, io.BytesIO(raw), REDACT)
    assert {of for what, _, of in said if what == "taking in"} <= {0}  # nobody can tell


# --- backups


@pytest.fixture
def made(folder: Path, raw: bytes) -> Path:
    """A backup of a home with a history."""
    path = folder / "a.backup"
    backed_up(folder / "here", path)
    return path


def test_what_stands_behind_a_backups_end_is_no_backup(folder: Path, made: Path) -> None:
    """A second one, or what else was written on: somebody put it there. Zeros are what tar fills up with."""
    whole = made.read_bytes()
    for behind in (b"x", whole, bytes(10_240) + b"x"):
        made.write_bytes(whole + behind)
        with pytest.raises(BackupDamaged, match="there is more behind its end"):
            restore(place(folder / "there"), made)
    made.write_bytes(whole + bytes(10_240))
    assert restore(place(folder / "there"), made).faults == 0


def member(name: str, raw: bytes, size: int) -> bytes:
    head = tarfile.TarInfo(name)
    head.size = size
    return head.tobuf(tarfile.GNU_FORMAT) + raw


def test_a_backup_that_is_longer_than_its_file_writes_nothing(folder: Path, made: Path) -> None:
    """What it says of its own length is looked at first."""
    raw = made.read_bytes()
    made.write_bytes(raw[:1024] + member("ledger.mdb", raw[1536:], 1 << 40))
    with pytest.raises(BackupDamaged, match="it was cut short"):
        restore(place(folder / "there"), made)


def test_a_restore_leaves_the_daemon_its_room_on_the_disk(
    folder: Path, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that does not fit is refused before it has filled the disk beside a store in use."""
    usage = shutil.disk_usage(folder)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=limits.DISK_FULL_BYTES + 1))
    with pytest.raises(errors.StoreFull):
        restore(place(folder / "here"), made)
    assert [one.name for one in (folder / "here").iterdir()] == ["store"]


def test_a_manifest_that_nests_without_end(folder: Path) -> None:
    """It is no backup, and that is said."""
    raw = b'{"a":' * 5_000
    path = folder / "b"
    path.write_bytes(member("manifest.json", raw + bytes(-len(raw) % 512), len(raw)))
    with pytest.raises(NotABackup):
        restore(place(folder / "there"), path)


# --- two at once


def test_what_another_is_making_ready_is_let_be(folder: Path, made: Path) -> None:
    """Two restores at once: both come through, one after the other, and each keeps what was there before it."""
    home = folder / "here"
    slow, quick = place(home), place(home)
    quick_done: list[str] = []

    def meanwhile(what: str, done: int, of: int) -> None:
        if what == "checking" and not quick_done:
            quick_done.append(restore(quick, made).kept)

    slow.say = meanwhile
    kept = restore(slow, made).kept
    assert sorted(one.name for one in (home / "replaced").iterdir()) == sorted(
        Path(one).name for one in (kept, *quick_done)
    )
    with opened(home) as (store, _):
        assert verify(store) == []


def test_what_the_dead_had_made_ready_goes(folder: Path, raw: bytes) -> None:
    """Its lock went with it."""
    home = folder / "here"
    staged = backup_swap.staging(home, NOON)
    assert staged.exists()
    assert backup_swap.settle(home) == []
    assert not staged.exists()


# --- what is given out


WRITER = """
import os, signal, sys
from pathlib import Path
from memd_client import placing
with placing.placed(Path(sys.argv[1])) as descriptor:
    os.write(descriptor, b"all that memd knows")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_kill_leaves_nothing_of_what_was_being_given_out(tmp_path: Path) -> None:
    """It holds everything that memd knows, in plain text, and nobody would look for it under a hidden name."""
    ran = subprocess.run([sys.executable, "-c", WRITER, tmp_path / "out"], check=False)
    assert ran.returncode == -signal.SIGKILL
    if not hasattr(os, "O_TMPFILE"):
        pytest.skip("this system has no files without names")
    assert list(tmp_path.iterdir()) == []


def test_notes_stay_as_they_were(folder: Path, raw: bytes) -> None:
    """Of all that was refused above nothing is in the home; the same lines without it are taken."""
    before = notes_of(folder / "here")
    assert imported(folder / "here", sealed(lines_of(raw))).events == 0
    assert notes_of(folder / "here") == before
    with opened(folder / "here") as (store, ledger):
        assert exported(store, ledger) == raw
