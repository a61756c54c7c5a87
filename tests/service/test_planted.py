"""Secrets that are planted in every text that comes in stand in no file under memd's home (evidence.md, "Redaction")."""

from pathlib import Path

from tests.service.desk import desk_at
from tests.service.planting import CASES, Sower, kept

COUNT = 320  # each case twice or more, every door some thirty times


def test_no_byte_of_a_planted_secret_is_kept(tmp_path: Path) -> None:
    """Turns, spooled ones, notes, reasons, excerpts, pages, commands, questions, commits: no file has any."""
    with desk_at(tmp_path) as desk:
        desk.start("s1")
        sower = Sower(desk)
        done = sower.sow(COUNT)
        assert sower.spooled_left == []
    assert list(kept(tmp_path / "home")) == []
    assert sower.refused == []
    assert min(done.values()) >= COUNT // len(done) // 2


def test_the_look_finds_what_lies_there(tmp_path: Path) -> None:
    """So that finding nothing says something."""
    (tmp_path / "file").write_bytes(b"\0" * 5000 + CASES[0][1][0].encode() + b"\0")
    assert [secret for _, secret in kept(tmp_path)] == [CASES[0][1][0]]
