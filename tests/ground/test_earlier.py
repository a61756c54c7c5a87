"""What a note was written about, found in git by its digest; and what stands there now."""

from pathlib import Path

import msgspec
import pytest

from memd_daemon import limits
from memd_daemon.ground.digests import lasting
from memd_daemon.ground.earlier import Text, Unseen, earlier, present
from memd_daemon.ground.source import Source
from memd_daemon.model.event import Anchor
from tests.ground.gitted import Gitted, code

OLD, NEW = code("alpha"), code("alpha", 3)


@pytest.fixture
def repo(tmp_path: Path) -> Gitted:
    made = Gitted(tmp_path / "repo")
    made.commit(a=code("alpha", 5))
    made.commit(a=OLD)
    return made


def test_a_file_is_found_in_the_notes_commit(repo: Gitted) -> None:
    """As it was there."""
    anchor = repo.anchor("a.py")
    repo.commit(a=NEW)
    assert earlier(repo.top, anchor) == Text(OLD, commit=anchor.commit)
    assert present(repo.top, anchor) == Text(NEW)


def test_a_note_from_before_its_commit_is_found_in_the_one_after_it(repo: Gitted) -> None:
    """What is recorded while one works is committed later."""
    repo.write("a.py", NEW)
    anchor = repo.anchor("a.py")
    later = repo.commit()
    repo.commit(a=code("alpha", 30))
    assert earlier(repo.top, anchor) == Text(NEW, commit=later)


@pytest.mark.parametrize("commit", ["", "f" * 40])
def test_without_a_known_commit_the_history_is_looked_through(repo: Gitted, commit: str) -> None:
    """By the digest alone."""
    anchor = repo.anchor("a.py", commit=commit)
    repo.commit(a=NEW)
    repo.commit(a=code("alpha", 30))
    assert earlier(repo.top, anchor) == Text(OLD, commit=repo.git("rev-parse", "HEAD~2"))


def test_what_no_commit_has_is_not_found(repo: Gitted) -> None:
    """It was changed before it was committed."""
    repo.write("a.py", NEW)
    anchor = repo.anchor("a.py")
    repo.commit(a=code("alpha", 30))
    assert earlier(repo.top, anchor) is None


def test_a_symbol_is_its_block_with_its_first_line(repo: Gitted) -> None:
    """Wherever it stands then and now."""
    repo.commit(a="X = 1\n\n\n" + OLD + "\n\ndef beta():\n    return 1\n")
    anchor = repo.anchor("a.py", "alpha")
    repo.commit(a="\n" + OLD.replace("* 3 +", "* 4 +"))
    assert earlier(repo.top, anchor) == Text(OLD.rstrip(), 4, anchor.commit)
    assert present(repo.top, anchor) == Text(OLD.replace("* 3 +", "* 4 +").rstrip(), 2)


def test_lines_are_found_where_they_are(repo: Gitted) -> None:
    """The digest is of their text."""
    text = "\n".join(OLD.split("\n")[2:5])
    anchor = repo.anchor("a.py")
    lines = msgspec.structs.replace(anchor, form="lines", part="L3-L5", first=3, lines=3, digest=b"")
    source = Source("a.py", OLD.encode())
    block = source.lines(3, 5)
    assert block is not None
    lines = msgspec.structs.replace(lines, digest=block.digest, lead=source.lead(3))
    repo.commit(a="pass\n")
    assert earlier(repo.top, lines) == Text(text, 3, lines.commit)
    assert present(repo.top, lines) is None


def test_a_renamed_file_is_read_where_it_is(repo: Gitted) -> None:
    """And the old one under its old name."""
    anchor = repo.anchor("a.py")
    repo.git("mv", "a.py", "b.py")
    repo.commit()
    assert earlier(repo.top, anchor) == Text(OLD, commit=anchor.commit)
    assert present(repo.top, anchor) is None
    assert present(repo.top, anchor, "b.py") == Text(OLD)


def test_what_is_no_text_is_replaced_not_refused(repo: Gitted) -> None:
    """A note may be about a picture."""
    (repo.top / "p.png").write_bytes(b"\x89PNG\xff\xfe")
    repo.commit()
    anchor = repo.anchor("p.png")
    (repo.top / "p.png").write_bytes(b"\x89PNG\x00")
    found, now = earlier(repo.top, anchor), present(repo.top, anchor)
    assert (found.text if found else "") == "\ufffdPNG\ufffd\ufffd"
    assert (now.text if now else "") == "\ufffdPNG\x00"


def test_outside_git_nothing_of_before_is_known(tmp_path: Path) -> None:
    """Nobody has it."""
    (tmp_path / "a.py").write_text(NEW)
    anchor = Anchor(path="a.py", digest=lasting(OLD.encode()))
    assert earlier(tmp_path, anchor) is None
    assert present(tmp_path, anchor) == Text(NEW)


def test_a_file_that_is_too_large_is_said_not_to_be_seen(repo: Gitted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rather than to be gone."""
    anchor = repo.anchor("a.py")
    monkeypatch.setattr(limits, "MOVED_FILE_MAX_BYTES", 10)
    with pytest.raises(Unseen):
        present(repo.top, anchor)
    assert earlier(repo.top, anchor) is None
