"""A client's transcript as a file: read only where it is one, and only as far as anybody waits for."""

import os
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_daemon import limits
from memd_daemon.ground import transcripts
from memd_daemon.ground.transcripts import Refused, Stretch, inside, length, stretch
from memd_daemon.model.turn import UNKNOWN_BYTES, Why

BELOW = PurePosixPath("project/s1.jsonl")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path


def put(folder: Path, content: bytes) -> Path:
    file = folder / BELOW
    file.write_bytes(content)
    file.chmod(0o600)
    return file


def read(folder: Path, since: int, inode: int = 0) -> Stretch:
    return stretch(str(folder), BELOW, since, inode)


def why(folder: Path, since: int = 0, inode: int = 0) -> Why:
    with pytest.raises(Refused) as refused:
        read(folder, since, inode)
    return refused.value.why


@pytest.mark.parametrize(
    ("since", "before", "after"),
    [
        (0, [], [b"one", b"two", b"three"]),
        (4, [b"one"], [b"two", b"three"]),
        (2, [b"one"], [b"two", b"three"]),  # in the middle of a line: it was begun before
        (8, [b"one", b"two"], [b"three"]),
        (14, [b"one", b"two", b"three"], []),
    ],
)
def test_lines_are_told_apart_by_the_point(folder: Path, since: int, before: list[bytes], after: list[bytes]) -> None:
    """What stood there when the hook was called, and what came after; a line without its end is not there yet."""
    put(folder, b"one\ntwo\nthree\nhalf a li")
    told = read(folder, since)
    assert ([x for x in told.before if x], [x for x in told.after if x]) == (before, after)
    assert (told.first, told.from_start, told.size) == (b"one", True, 23)


def test_only_some_before_the_point_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lead begins at a whole line; the first line of all is told all the same."""
    monkeypatch.setattr(limits, "TRANSCRIPT_LEAD_BYTES", 7)
    put(folder, b"first\nsecond\nthird\nfourth\n")
    told = read(folder, 19)
    assert [x for x in told.before if x] == [b"third"]
    assert [x for x in told.after if x] == [b"fourth"]
    assert (told.first, told.from_start) == (b"first", False)


def test_of_an_unknown_point_the_end_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook that wrote its call aside said no length."""
    monkeypatch.setattr(limits, "TRANSCRIPT_READ_BYTES", 7)
    put(folder, b"first\nsecond\nthird\n")
    assert [x for x in read(folder, UNKNOWN_BYTES).after if x] == [b"third"]


def test_what_grew_too_far_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest row would be out of sight, and with it whether the conversation went on."""
    monkeypatch.setattr(limits, "TRANSCRIPT_READ_BYTES", 7)
    put(folder, b"first\nsecond\nthird\n")
    assert why(folder, 6) is Why.GROWN
    assert read(folder, 13).after


def test_a_transcript_that_is_not_there(folder: Path) -> None:
    """It comes with the first answer; until then nothing is wrong."""
    assert why(folder) is Why.MISSING
    assert length(str(folder / BELOW)) == (0, 0)
    assert length("\0") == (0, 0)


def test_what_is_no_file_of_the_clients_is_refused(folder: Path) -> None:
    """A FIFO, a folder, a link, a second name, and what others may write."""
    file = folder / BELOW
    os.mkfifo(file)
    assert why(folder) is Why.UNFIT
    file.unlink()
    file.mkdir()
    assert why(folder) is Why.UNFIT
    file.rmdir()
    elsewhere = folder / "elsewhere"
    elsewhere.write_bytes(b"x\n")
    file.symlink_to(elsewhere)
    assert why(folder) is Why.UNFIT
    file.unlink()
    os.link(elsewhere, file)
    assert why(folder) is Why.UNFIT
    elsewhere.unlink()
    assert read(folder, 0).after
    file.chmod(0o620)
    assert why(folder) is Why.UNFIT


def test_a_link_on_the_way_is_refused(folder: Path) -> None:
    """The folder of the project too has to be the client's own."""
    put(folder, b"x\n")
    (folder / "project").rename(folder / "real")
    (folder / "project").symlink_to(folder / "real")
    assert why(folder) is Why.UNFIT


def test_another_users_file_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever else owns it may have written anything."""
    put(folder, b"x\n")
    monkeypatch.setattr(os, "getuid", lambda: os.geteuid() + 1)
    assert why(folder) is Why.UNFIT


def test_a_file_that_was_written_anew_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another inode, fewer bytes than it had, or more than any conversation has."""
    file = put(folder, b"x\ny\n")
    size, inode = length(str(file))
    assert read(folder, size, inode).size == size
    assert why(folder, size, inode + 1) is Why.UNFIT
    assert why(folder, size + 1, inode) is Why.UNFIT
    monkeypatch.setattr(limits, "TRANSCRIPT_MAX_BYTES", 3)
    assert why(folder, 0) is Why.UNFIT


@pytest.mark.parametrize(
    ("path", "below"),
    [
        ("/h/.claude/projects/p/s.jsonl", "p/s.jsonl"),
        ("/h/.claude/projects", None),
        ("/h/.claude/projects/../x.jsonl", None),
        ("/h/.claude/projects/p/../../x.jsonl", None),
        ("/h/.claude/projectsx/s.jsonl", None),
        ("/tmp/s.jsonl", None),
        ("p/s.jsonl", None),
        ("", None),
        ("/h/.claude/projects/p/\0.jsonl", None),
    ],
)
def test_what_lies_below_the_clients_folder(path: str, below: str | None) -> None:
    """By the very words of the path: the hook's input says it, and nobody is believed."""
    told = inside("/h/.claude/projects", path)
    assert (str(told) if told is not None else None) == below


@given(st.binary(max_size=80), st.integers(0, 80), st.integers(1, 40))
def test_every_whole_line_is_before_or_after(content: bytes, point: int, lead: int) -> None:
    """None is lost, none is cut, and none that began before the point counts as after it."""
    point = min(point, len(content))
    begin = max(0, point - lead)
    told = transcripts._cut(content[begin:], content, begin, point, len(content))
    whole = content[: content.rfind(b"\n") + 1]
    starts = [i for i in range(len(whole)) if i == 0 or whole[i - 1 : i] == b"\n"]
    want = [whole[i : whole.index(b"\n", i)] for i in starts if i >= point]
    assert told.after[: len(want)] == want
    assert [x for x in told.after if x] == [x for x in want if x]
