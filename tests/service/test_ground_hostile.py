"""A repository whose files turn on the notes about them: what is told of the ground is its own, and free of credentials."""

import os
import shutil
from pathlib import Path

import pytest

from memd_client import api
from memd_daemon import limits
from memd_daemon.ground import refused
from tests.service.desk import Desk, git

SECRET = "8f3kq9vz71mxp20acd7e"
LONG_AGO_NS = 1_700_000_000_000_000_000


def commit_all(repo: Path) -> None:
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "work")


def files_of(home: Path) -> bytes:
    return b"".join(file.read_bytes() for file in home.rglob("*") if file.is_file())


def test_what_a_link_leads_to_outside_the_checkout_is_not_told(desk: Desk, tmp_path: Path) -> None:
    """A folder and a file become links to somebody's settings: neither a value nor a line of those is read for a note."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "cfg.ini").write_text("[default]\nregion = sealed-island\n")
    (outside / "list.txt").write_text("a sealed line\n" * 3)
    (desk.repo / "conf").mkdir()
    (desk.repo / "conf" / "cfg.ini").write_text("[default]\nregion = eu\n")
    (desk.repo / "list.txt").write_text("an open line\n" * 3)
    commit_all(desk.repo)
    note = desk.remember("The region is European.", anchors=["conf/cfg.ini::default.region=eu", "list.txt"])
    shutil.rmtree(desk.repo / "conf")
    (desk.repo / "conf").symlink_to(outside)
    (desk.repo / "list.txt").unlink()
    (desk.repo / "list.txt").symlink_to(outside / "list.txt")
    desk.read("list.txt")
    text = desk.recall("which region is it?").text
    assert "default.region=eu [anchor_missing], list.txt [anchor_missing]" in text
    stale = repr(desk.ask(api.Stale(cwd=str(desk.repo))))
    confirmed = repr(desk.act("confirm", note.id))
    assert "sealed" not in text + stale + confirmed


def test_a_link_inside_the_checkout_is_followed(desk: Desk) -> None:
    """A file that was moved with a link left behind is where it was."""
    desk.remember("The adder adds.", anchors=["app.py"])
    (desk.repo / "app.py").rename(desk.repo / "sum.py")
    (desk.repo / "app.py").symlink_to("sum.py")
    assert "[STALE]" not in desk.recall("what does the adder do?").text


def test_a_diff_is_told_without_credentials(desk: Desk) -> None:
    """An agent may run the command too."""
    (desk.repo / ".env").write_text("MODE=dev\nAPI_KEY=placeholder\n")
    commit_all(desk.repo)
    desk.remember("The settings are read at start.", anchors=[".env"])
    (desk.repo / ".env").write_text(f"MODE=dev\nAPI_KEY={SECRET}\n")
    (note,) = desk.ask(api.Stale(cwd=str(desk.repo))).notes
    assert note.diffs[0].lines[-1] == "+API_KEY=[redacted:api-key]"


def test_a_new_name_that_is_a_credential_is_neither_told_nor_kept(desk: Desk) -> None:
    """The file is gone, as far as anybody is told."""
    secret = "sk-ant-api03-" + "aB3dE5fG7hJ9kL2mN4pQ6rS8tU0vW1xY" * 3
    (desk.repo / "walnut.py").write_text("def walnut():\n    return 'long enough to be followed'\n")
    commit_all(desk.repo)
    desk.remember("The walnut is followed.", anchors=["walnut.py"])
    (desk.repo / "walnut.py").rename(desk.repo / f"{secret}.py")
    commit_all(desk.repo)
    assert "walnut.py [anchor_missing]" in desk.recall("what is followed?").text
    desk.daemon.parts.flags.behind.join()
    desk.daemon.parts.behind.join()
    assert secret.encode() not in files_of(desk.home)


@pytest.mark.parametrize("given", [f"a.json::value={SECRET}", f'.env ~ "{SECRET}"'])
def test_a_claim_whose_file_says_that_it_is_a_credential_is_not_taken(desk: Desk, given: str) -> None:
    """Nothing of it is stored."""
    (desk.repo / "a.json").write_text(f'{{"token": {{"value": "{SECRET}"}}}}')
    (desk.repo / ".env").write_text(f"API_KEY={SECRET}\n")
    with pytest.raises(refused.AnchorHoldsSecret):
        desk.remember("The token never changes.", anchors=[given])
    assert SECRET.encode() not in files_of(desk.home)


def test_an_edit_that_hides_behind_the_old_time_is_seen(desk: Desk) -> None:
    """As large as before, and its time set back: what was looked at before is not taken for it."""
    file = desk.repo / "other.py"
    os.utime(file, ns=(LONG_AGO_NS, LONG_AGO_NS))
    desk.remember("The other sets x.", anchors=["other.py"])
    assert "[STALE]" not in desk.recall("what does the other set?").text
    file.write_text("x = 2\n")
    os.utime(file, ns=(LONG_AGO_NS, LONG_AGO_NS))
    assert "other.py [anchor_changed]" in desk.recall("what does the other set?").text


def test_a_file_that_is_absent_on_another_branch_clears_no_flag(desk: Desk) -> None:
    """What else the note is about stands there; of the file that drifted nothing is known."""
    git(desk.repo, "switch", "-qc", "side")
    (desk.repo / "side.py").write_text("side = 1\n")
    commit_all(desk.repo)
    note = desk.remember("The side is one.", anchors=["side.py", "app.py"])
    (desk.repo / "side.py").write_text("side = 2\n")
    commit_all(desk.repo)
    assert "side.py [anchor_changed]" in desk.recall("what is the side?").text
    git(desk.repo, "switch", "-q", "main")
    assert "absent on this branch: side.py" in desk.recall("what is the side?").text
    desk.daemon.parts.flags.behind.join()
    uid = next(flag.note for flag in desk.daemon.parts.ledger.flags_standing())
    with desk.daemon.parts.store.read() as snapshot:
        assert snapshot.id_of(uid) == note.id
    assert desk.daemon.parts.flags.flagged(desk.daemon.parts) == {uid}


@pytest.mark.parametrize(
    "more", [b"# more\n" * (limits.SYNTAX_FILE_MAX_BYTES // 7 + 1), b"\0", b"y = [" + b"1," * 300_000]
)
def test_a_value_in_a_file_that_cannot_be_parsed_any_more_is_not_said_to_be_gone(desk: Desk, more: bytes) -> None:
    """It may well stand there: nothing is known of it, and a new claim about it is refused for what it is."""
    desk.remember("The other sets x.", anchors=["other.py::x=1"])
    (desk.repo / "other.py").write_bytes(b"x = 1\n" + more)
    text = desk.recall("what does the other set?").text
    assert "could not be looked at now: other.py::x=1" in text
    assert "claim_broken" not in text
    with pytest.raises(refused.AnchorPartless):
        desk.remember("The other sets x to one.", anchors=["other.py::x=1"])
