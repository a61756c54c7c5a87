"""The model of a disk that loses its power: what is synced stays, what is not may go, each call as a whole."""

import os
from pathlib import Path
from typing import Final

import pytest

from tests.crash.disk import Choice, Disk, Record, encode_ack, read_journal

ROOT: Final = "/r"
NOTHING, ALL = Choice(), Choice(names=1, writes=1)


def record(kind: str, path: str = "", *, inode: int = 1, content: bytes = b"", other: str = "", **more: int) -> Record:
    place = {"offset": 0, "is_dsync": 0} | more
    named = f"{ROOT}/{other}" if other else ""
    return Record(kind, bool(place["is_dsync"]), inode, place["offset"], content, f"{ROOT}/{path}".rstrip("/"), named)


def after(tmp_path: Path, choice: Choice, *records: Record) -> dict[str, bytes | None]:
    """What is there: files with their content, folders as None."""
    disk = Disk(Path(ROOT))
    for one in records:
        disk.take(one)
    disk.state(choice, tmp_path / "cut")
    found = sorted((tmp_path / "cut").rglob("*"))
    return {str(path.relative_to(tmp_path / "cut")): None if path.is_dir() else path.read_bytes() for path in found}


MADE: Final = (record("C", "a"), record("W", "a", content=b"one"))
SYNCED: Final = (*MADE, record("S", "a"))
NAMED: Final = (*SYNCED, record("D", content=b"1 a\0"))


@pytest.mark.parametrize(
    ("records", "nothing", "all_"),
    [
        (MADE, {}, {"a": b"one"}),
        (SYNCED, {}, {"a": b"one"}),  # its name is not
        ((*MADE, record("D", content=b"1 a\0")), {"a": b""}, {"a": b"one"}),
        (NAMED, {"a": b"one"}, {"a": b"one"}),
        ((*NAMED, record("W", "a", content=b"TWO")), {"a": b"one"}, {"a": b"TWO"}),
        ((*NAMED, record("W", "a", content=b"TWO", is_dsync=1)), {"a": b"TWO"}, {"a": b"TWO"}),
        ((*NAMED, record("T", "a", offset=1)), {"a": b"one"}, {"a": b"o"}),
        ((*NAMED, record("R", "a", other="b")), {"a": b"one"}, {"b": b"one"}),
        ((*NAMED, record("L", "a", other="b")), {"a": b"one"}, {"a": b"one", "b": b"one"}),
        ((*NAMED, record("U", "a")), {"a": b"one"}, {}),
        ((*NAMED, record("U", "a"), record("D")), {}, {}),
        ((record("K", "d"), record("C", "d/a"), record("D", "d", content=b"1 a\0")), {}, {"d": None, "d/a": b""}),
    ],
)
def test_what_is_synced_is_there_and_the_rest_may_be(
    tmp_path: Path, records: tuple[Record, ...], nothing: dict[str, bytes | None], all_: dict[str, bytes | None]
) -> None:
    """With nothing of what is open, and with all of it."""
    (tmp_path / "n").mkdir()
    (tmp_path / "a").mkdir()
    assert after(tmp_path / "n", NOTHING, *records) == nothing
    assert after(tmp_path / "a", ALL, *records) == all_


@pytest.mark.parametrize("kind", ["R", "X"])
def test_a_call_is_there_in_both_folders_or_in_none(tmp_path: Path, kind: str) -> None:
    """A rename from one folder into another, and an exchange: also where only one of the two was synced."""
    begin = (
        *(record("K", name) for name in ("d", "e")),
        record("C", "d/a", inode=1),
        record("C", "e/b", inode=2),
        record("W", "d/a", inode=1, content=b"one"),
        record("W", "e/b", inode=2, content=b"two"),
        *(record("S", name, inode=inode) for name, inode in (("d/a", 1), ("e/b", 2))),
        *(record("D", name) for name in ("", "d", "e")),
    )
    # A sync says which names there are, with their numbers; without folders' numbers they stay as they were made.
    listed = {"": b"8 d\x009 e\0", "d": b"1 a\0", "e": b"2 b\0"}
    begin = tuple(
        one._replace(content=listed[one.path.removeprefix(ROOT).strip("/")]) if one.kind == "D" else one
        for one in begin
    )
    moved = record(kind, "d/a", other="e/b")
    there = b"2 a\0" if kind == "X" else b""
    done = after(tmp_path, NOTHING, *begin, moved, record("D", "d", content=there))
    assert done["e/b"] == b"one"
    assert done.get("d/a") == (b"two" if kind == "X" else None)


def test_of_a_write_any_sectors_may_be_there(tmp_path: Path) -> None:
    """The others read as zeros, and the length is the old one, the new one, or as far as what is there reaches."""
    content = os.urandom(8 * 512).replace(b"\0", b"x")
    records = (record("C", "a"), record("D", content=b"1 a\0"), record("W", "a", content=content))
    seen = set()
    for seed in range(20):
        (tmp_path / str(seed)).mkdir()
        held = after(tmp_path / str(seed), Choice(writes=0.5, piece=512, length="new", seed=seed), *records)["a"]
        assert held is not None
        assert len(held) == len(content)
        pieces = [held[at : at + 512] for at in range(0, len(held), 512)]
        assert all(piece in (bytes(512), content[n * 512 : n * 512 + 512]) for n, piece in enumerate(pieces))
        seen.add(tuple(any(piece) for piece in pieces))
    assert len(seen) > 10
    assert after(tmp_path, Choice(writes=0.5, piece=512, length="old", seed=3), *records) == {"a": b""}


def test_a_journal_gives_back_what_was_appended(tmp_path: Path) -> None:
    """And a record that was cut is told."""
    journal = tmp_path / "journal"
    journal.write_bytes(encode_ack(b"one") + encode_ack(b""))
    assert [(one.kind, one.content) for one in read_journal(journal)] == [("A", b"one"), ("A", b"")]
    journal.write_bytes(encode_ack(b"one")[:-1])
    with pytest.raises(ValueError, match="cut"):
        read_journal(journal)
