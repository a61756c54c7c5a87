"""Files that take longer to read than an answer may wait: to be verified now, told truly the next time."""

import os

import pytest

from memd_daemon import limits
from memd_daemon.model.note import Note
from tests.service.desk import Desk, context_of

HUGE_BYTES = 48 * 1024 * 1024
GOTCHA = "The table is sorted by hand: the loader does a binary search in it."
VERIFY = "status: changed since — verify"
MATCHES = "status: matches current state"


@pytest.fixture
def hurried(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A desk with a caveat on a huge file that was written anew just now, with the same content; a millisecond to look at it."""
    content = b"row,of,a,table\n" * (HUGE_BYTES // 15)
    (desk.repo / "huge.csv").write_bytes(content)
    desk.remember(GOTCHA, kind="gotcha", anchors=["huge.csv"])
    (desk.repo / "huge.csv").write_bytes(content)
    os.utime(desk.repo / "huge.csv", ns=(1, 1_700_000_000_000_000_000))
    monkeypatch.setattr(limits, "GROUND_DEADLINE_MS", 1)
    return desk


def test_what_could_not_be_read_in_time_is_to_be_verified_and_true_the_next_time(hurried: Desk) -> None:
    """The answer does not wait for the file; it is read behind it, and the next session gets what it says."""
    assert VERIFY in context_of(hurried.read("huge.csv", session="s1"))
    hurried.daemon.parts.behind.join()
    assert MATCHES in context_of(hurried.read("huge.csv", session="s2"))


def test_knowing_more_is_no_news(hurried: Desk) -> None:
    """From not computed to known is no change of the note: who was told it is not told again."""
    assert VERIFY in context_of(hurried.read("huge.csv"))
    hurried.daemon.parts.behind.join()
    assert context_of(hurried.edit("huge.csv", prompt_id="p2")) == ""


def test_the_truth_about_a_changed_one_is_that_it_changed(hurried: Desk) -> None:
    """What is read behind the answer is the file as it is then."""
    with (hurried.repo / "huge.csv").open("ab") as file:
        file.write(b"one more\n")
    assert VERIFY in context_of(hurried.read("huge.csv", session="s1"))
    hurried.daemon.parts.behind.join()
    ground = hurried.daemon.parts.ground
    looked = ground.statuses(hurried.repo, "main", note_of(hurried).anchors, deadline_ns=None)
    assert [(status.signal, status.unknown) for status in looked] == [("anchor_changed", False)]
    assert VERIFY in context_of(hurried.read("huge.csv", session="s2"))


def test_a_file_written_this_very_moment_is_known_the_next_time(hurried: Desk) -> None:
    """It may be written again under the same time of change, so it is read a moment later, and then it is known."""
    os.utime(hurried.repo / "huge.csv")
    assert VERIFY in context_of(hurried.read("huge.csv", session="s1"))
    hurried.daemon.parts.behind.join()
    assert MATCHES in context_of(hurried.read("huge.csv", session="s2"))


def note_of(desk: Desk) -> Note:
    """The one note."""
    with desk.daemon.parts.store.read() as snapshot:
        return next(note for _, note in snapshot.notes())
