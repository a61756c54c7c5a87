"""What a look at the ground costs: what is read and taken apart how often, and what is left for behind the answer."""

import time
from pathlib import Path
from typing import Any

import pytest

from memd_daemon import limits
from memd_daemon.ground.contents import Contents
from memd_daemon.ground.files import FileGround, Glance
from memd_daemon.ground.renames import Gone, Renames
from memd_daemon.ground.source import Source
from tests.ground.anchored import ALL, CORE, LINES, LONG_AGO_NS, SYMBOL, TEXT, VALUE, aged, anchored, one, told
from tests.ground.gitted import Gitted

LATE_NS = 1


@pytest.fixture
def repo(tmp_path: Path) -> Gitted:
    made = Gitted(tmp_path / "repo")
    made.commit(core=CORE, other="x = 1\n")
    return made


class Counted:
    """How often files are read and contents taken apart."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.read, self.apart = 0, 0
        read = Contents._whole  # pyright: ignore[reportPrivateUsage] -- what reads a file

        def reading(*words: Any) -> Any:
            self.read += 1
            return read(*words)

        def taking(*words: Any) -> Source:
            self.apart += 1
            return Source(*words)

        monkeypatch.setattr(Contents, "_whole", reading)
        monkeypatch.setattr("memd_daemon.ground.files.Source", taking)

    @property
    def seen(self) -> tuple[int, int]:
        found = (self.read, self.apart)
        self.read = self.apart = 0
        return found


def test_a_file_is_read_once_for_all_that_is_asked_of_it(repo: Gitted, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not at all while it does not move; a touch costs a reading, and no parse."""
    anchors, ground = anchored(repo, *ALL, "core.py::run"), FileGround()
    aged(repo)
    counted = Counted(monkeypatch)
    told(repo, *anchors, ground=ground)
    assert counted.seen == (1, 1)
    told(repo, *anchors, ground=ground)
    assert counted.seen == (0, 0)
    aged(repo, at=LONG_AGO_NS + 1)
    told(repo, *anchors, ground=ground)
    assert counted.seen == (1, 0)


def test_notes_of_one_answer_share_what_was_read(repo: Gitted, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was written just now, too, of which nothing is known for the next answer."""
    ground, glance = FileGround(), Glance()
    repo.write("core.py", CORE + "\n")
    anchors = anchored(repo, *ALL)
    counted = Counted(monkeypatch)
    for anchor in anchors:
        told(repo, anchor, ground=ground, glance=glance)
    assert counted.seen == (1, 1)


def test_a_content_that_comes_back_is_known_again(repo: Gitted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Branches are switched to and fro: each content is taken apart once."""
    anchors, ground = anchored(repo, SYMBOL, VALUE), FileGround()
    counted = Counted(monkeypatch)
    for text in (CORE, CORE + "\nX = 1\n", CORE, CORE + "\nX = 1\n"):
        repo.write("core.py", text)
        told(repo, *anchors, ground=ground)
    assert counted.seen == (4, 2)


def test_a_parse_that_would_take_longer_than_there_is_time_is_not_begun(
    repo: Gitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What needs none is told at once; behind the answer all is found, and the next one has it."""
    repo.commit(core=CORE + f'FILLER = "{"x" * 300_000}"\n')
    aged(repo)
    anchors, ground = anchored(repo, SYMBOL, VALUE, LINES, TEXT), FileGround()
    counted = Counted(monkeypatch)

    def soon() -> int:
        return time.monotonic_ns() + 60 * limits.NS_PER_MS

    assert told(repo, *anchors, ground=ground, deadline_ns=soon()) == ["?", "?", "", ""]
    ground.learn(repo.top, "main", anchors)
    assert counted.seen[1] == 2
    assert told(repo, *anchors, ground=ground, deadline_ns=soon()) == [""] * 4
    assert counted.seen == (0, 0)


def test_past_the_deadline_all_is_unknown(repo: Gitted) -> None:
    """A mention too: it may have changed."""
    anchors = anchored(repo, *ALL)
    assert told(repo, *anchors, deadline_ns=LATE_NS, mentions=[one(repo, "other.py")]) == ["?"] * (len(ALL) + 1)


def test_past_the_deadline_what_is_known_is_told(repo: Gitted) -> None:
    """As long as the file is as it was."""
    anchors, ground = anchored(repo, *ALL), FileGround()
    aged(repo)
    assert told(repo, *anchors, ground=ground) == [""] * len(ALL)
    assert told(repo, *anchors, ground=ground, deadline_ns=LATE_NS) == [""] * len(ALL)
    aged(repo, at=LONG_AGO_NS + 1)
    assert told(repo, *anchors, ground=ground, deadline_ns=LATE_NS) == ["?"] * len(ALL)


def test_where_git_would_have_to_be_asked_a_hook_does_not_know(repo: Gitted) -> None:
    """Until it was asked behind the answer."""
    anchors, ground = anchored(repo, SYMBOL), FileGround()
    repo.git("mv", "core.py", "kernel.py")
    repo.commit()
    soon = time.monotonic_ns() + 60_000 * limits.NS_PER_MS
    assert told(repo, *anchors, ground=ground, deadline_ns=soon) == ["?"]
    ground.learn(repo.top, "main", anchors)
    assert told(repo, *anchors, ground=ground, deadline_ns=soon) == ["anchor_renamed kernel.py"]


def test_a_file_that_went_to_where_nothing_is_any_more_was_renamed(
    repo: Gitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the answer and the look: what git said is told."""
    anchors = anchored(repo, SYMBOL)
    (repo.top / "core.py").unlink()
    monkeypatch.setattr(Renames, "look", lambda *_: Gone("anchor_renamed", "kernel.py"))
    assert told(repo, *anchors) == ["anchor_renamed kernel.py"]


def test_what_is_known_is_bounded(repo: Gitted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past the bound all is read anew, and nothing is told wrongly."""
    monkeypatch.setattr(limits, "GROUND_CONTENTS_KNOWN_MAX", 2)
    monkeypatch.setattr(limits, "GROUND_FILES_KNOWN_MAX", 2)
    monkeypatch.setattr(limits, "GROUND_HELD_MAX_BYTES", 1)
    names = [f"m{number}" for number in range(5)]
    repo.commit(**{name: f"def {name}():\n    return 1\n" for name in names})
    anchors, ground = anchored(repo, *(f"{name}.py::{name}" for name in names)), FileGround()
    for name in names:
        aged(repo, f"{name}.py")
    assert told(repo, *anchors, ground=ground) == [""] * 5
    repo.write("m3.py", "def m3():\n    return 2\n")
    assert told(repo, *anchors, ground=ground) == ["", "", "", "block_changed", ""]


@pytest.mark.parametrize("found", [Gone("anchor_missing"), Gone("absent")])
@pytest.mark.parametrize(("content", "signal"), [(CORE, ""), ("x = 2\n", "anchor_changed")])
def test_a_file_that_was_being_replaced_is_told_as_it_is(
    repo: Gitted, monkeypatch: pytest.MonkeyPatch, found: Gone, content: str, signal: str
) -> None:
    """An editor takes the old one away before it writes the new one, and so does git; a look in between finds nothing."""
    anchors = anchored(repo, "core.py")

    def look(*_: object) -> Gone:
        repo.write("core.py", content)
        return found

    monkeypatch.setattr(Renames, "look", look)
    (repo.top / "core.py").unlink()
    assert told(repo, *anchors) == [signal]
