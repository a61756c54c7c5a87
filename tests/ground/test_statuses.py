"""What is said of each form of anchor after each thing that can befall its file, in real repositories."""

import errno
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memd_daemon import limits
from memd_daemon.ground.files import FileGround
from memd_daemon.model.event import Anchor
from tests.ground.anchored import (
    ABSENCE,
    ALL,
    CORE,
    FILE,
    LINES,
    LONG_AGO_NS,
    SYMBOL,
    TEXT,
    VALUE,
    aged,
    anchored,
    one,
    said,
    told,
)
from tests.ground.gitted import Gitted


@pytest.fixture
def repo(tmp_path: Path) -> Gitted:
    made = Gitted(tmp_path / "repo")
    made.commit(core=CORE, other="x = 1\n")
    return made


EDITS: dict[str, tuple[tuple[str, str], dict[str, str]]] = {
    "elsewhere in the file": (("lock.take()\n", "lock.take()\n    lock.drop()\n"), {}),
    "lines before it": (("TIMEOUT = 30\n", "TIMEOUT = 30\nRETRIES = 3\n\n"), {}),
    "its formatting": (("self.held = True", "self.held  =  True"), {LINES: "block_changed", TEXT: ""}),
    "a comment in it": (("self.held = True\n", "self.held = True  # ours\n"), {LINES: "block_changed"}),
    "its code": (("return TIMEOUT", "return TIMEOUT * 2"), {SYMBOL: "block_changed", LINES: "block_changed"}),
    "its name": (("def take", "def grab"), {SYMBOL: "block_missing", LINES: "block_changed"}),
    "the value": (("TIMEOUT = 30", "TIMEOUT = 45"), {VALUE: "claim_broken 45"}),
    "the value's name": (("TIMEOUT = 30", "LIMIT = 30"), {VALUE: "claim_broken gone"}),
    "the text": (
        ("self.held = True", "self.held = 1"),
        {SYMBOL: "block_changed", LINES: "block_changed", TEXT: "claim_broken gone"},
    ),
}


@pytest.mark.parametrize("what", EDITS)
def test_an_edit_is_told_of_what_it_touched(repo: Gitted, what: str) -> None:
    """And of nothing else in the file; the file as a whole has changed each time, told where nothing finer stands."""
    (old, new), expected = EDITS[what]
    anchors = anchored(repo, *ALL)
    assert told(repo, *anchors) == [""] * len(ALL)
    repo.commit(core=CORE.replace(old, new))
    assert [told(repo, a)[0] for a in anchors[:-1]] == [expected.get(given, "") for given in ALL[:-1]]
    assert told(repo, anchors[-1]) == ["anchor_changed"]
    stands = any(not expected.get(given) for given in ALL[:-1])
    assert told(repo, *anchors)[-1] == ("" if stands else "anchor_changed")


def test_a_symbol_and_lines_are_found_wherever_they_have_moved(repo: Gitted) -> None:
    """To the end of the file, behind everything else."""
    anchors = anchored(repo, SYMBOL, LINES)
    head, _, rest = CORE.partition("class Lock")
    repo.commit(core=head + "def early():\n    pass\n\n\n" * 30 + "class Lock" + rest)
    assert told(repo, *anchors) == ["", ""]


def test_lines_beyond_the_end_of_what_is_left_are_missing(repo: Gitted) -> None:
    """A file that ends before them has no such lines any more."""
    anchors = anchored(repo, LINES)
    repo.commit(core="TIMEOUT = 30\n")
    assert told(repo, *anchors) == ["block_missing"]


def test_a_file_that_was_to_be_absent_exists(repo: Gitted) -> None:
    """Whatever stands at that path, a folder too."""
    anchors = anchored(repo, ABSENCE)
    assert told(repo, *anchors) == [""]
    repo.write("legacy.py", "")
    assert told(repo, *anchors) == ["claim_broken exists"]
    (repo.top / "legacy.py").unlink()
    (repo.top / "legacy.py").mkdir()
    assert told(repo, *anchors) == ["claim_broken exists"]


def test_a_deleted_file_is_missing_for_every_form(repo: Gitted) -> None:
    """A claim on it does not hold, and that is what is told: there is nothing to look into."""
    anchors = anchored(repo, *ALL)
    repo.git("rm", "-q", "core.py")
    repo.commit()
    assert told(repo, *anchors) == ["anchor_missing"] * len(ALL)


def test_a_renamed_file_is_told_with_its_new_path_for_every_form(repo: Gitted) -> None:
    """Each part of it stands there as it did."""
    anchors = anchored(repo, *ALL)
    repo.git("mv", "core.py", "kernel.py")
    repo.commit()
    assert told(repo, *anchors) == ["anchor_renamed kernel.py"] * len(ALL)


def test_what_changed_in_a_renamed_file_says_more_than_that_it_was_renamed(repo: Gitted) -> None:
    """The change is the signal, and where it is stands beside it."""
    anchors = anchored(repo, *ALL)
    repo.git("mv", "core.py", "kernel.py")
    repo.write("kernel.py", CORE.replace("TIMEOUT = 30", "TIMEOUT = 45").replace("held = True", "held = 1"))
    repo.commit()
    assert told(repo, *anchors) == [
        "block_changed to kernel.py",
        "block_changed to kernel.py",
        "claim_broken 45 to kernel.py",
        "claim_broken gone to kernel.py",
        "anchor_renamed kernel.py",
    ]


def test_a_file_of_another_branch_is_absent_here(repo: Gitted) -> None:
    """It has not changed: the branch has never had it."""
    repo.git("checkout", "-q", "-b", "side")
    repo.commit(late=CORE)
    anchors = anchored(repo, "late.py", "late.py::run", "late.py::TIMEOUT=30")
    repo.git("checkout", "-q", "main")
    assert told(repo, *anchors) == ["absent"] * 3


def test_two_worktrees_disagree(repo: Gitted, tmp_path: Path) -> None:
    """A flag belongs to the checkout that asks."""
    anchors = anchored(repo, SYMBOL)
    repo.git("worktree", "add", "-q", str(tmp_path / "side"), "-b", "side")
    side = Gitted(tmp_path / "side", begin=False)
    side.write("core.py", CORE.replace("return TIMEOUT", "return 1"))
    ground = FileGround()
    assert (told(repo, *anchors, ground=ground), told(side, *anchors, ground=ground)) == ([""], ["block_changed"])


def test_line_ends_alone_change_nothing(repo: Gitted) -> None:
    """A checkout with CRLF is the same file, in whole and in part."""
    anchors = anchored(repo, *ALL)
    (repo.top / "core.py").write_bytes(CORE.replace("\n", "\r\n").encode())
    assert told(repo, *anchors) == [""] * len(ALL)


# --- precision, and what a content mentions


@pytest.mark.parametrize("finer", [SYMBOL, LINES, VALUE, TEXT])
def test_a_file_is_quiet_while_something_finer_in_it_stands(repo: Gitted, finer: str) -> None:
    """Fifty commits elsewhere in it raise nothing; one that touches both raises both."""
    anchors = anchored(repo, finer, FILE)
    for number in range(50):
        repo.write("core.py", CORE + f"EXTRA = {number}\n")
    repo.commit()
    assert told(repo, *anchors) == ["", ""]
    repo.commit(core="TIMEOUT = 31\n" + "\n" * 20)
    broken, file = told(repo, *anchors)
    assert broken
    assert file == "anchor_changed"


def test_what_is_finer_in_one_file_says_nothing_of_another(repo: Gitted) -> None:
    """Nor does a block that stands silence a proxy, which is for the whole file."""
    other = one(repo, "other.py")
    proxy = msgspec.structs.replace(one(repo, FILE), proxy=True)
    anchors = (one(repo, SYMBOL), other, proxy)
    repo.commit(core=CORE + "EXTRA = 1\n", other="x = 2\n")
    assert told(repo, *anchors) == ["", "anchor_changed", "anchor_changed"]


def test_a_mention_is_told_where_its_content_is_another(repo: Gitted) -> None:
    """Neither where only its time is newer, nor where it is gone, nor where an anchor names the file."""
    mention = one(repo, "other.py")
    file = repo.top / "other.py"
    assert told(repo, mentions=[mention]) == []
    os.utime(file, ns=(LONG_AGO_NS, LONG_AGO_NS))
    assert told(repo, mentions=[mention]) == []
    file.write_text("x = 2\n")
    assert told(repo, mentions=[mention]) == ["mtime_newer"]
    (status,) = FileGround().statuses(repo.top, "main", [], mentions=[mention])
    assert (status.mention, status.drifted) == (True, True)
    assert told(repo, one(repo, "other.py"), mentions=[mention]) == [""]
    file.unlink()
    assert told(repo, mentions=[mention]) == []


# --- what cannot be looked at


def stand_in(path: Path, what: str) -> None:
    path.unlink()
    if what == "folder":
        path.mkdir()
    elif what == "fifo":
        os.mkfifo(path)
    elif what == "loop":
        path.symlink_to(path)
    else:
        path.symlink_to("nowhere")


@pytest.mark.parametrize("what", ["folder", "fifo", "loop", "dangling link"])
def test_what_is_no_file_holds_nobody_up_and_is_no_file(repo: Gitted, what: str) -> None:
    """The file is gone, whatever has come in its place."""
    anchors = anchored(repo, SYMBOL, FILE)
    stand_in(repo.top / "core.py", what)
    assert told(repo, *anchors) == ["anchor_missing"] * 2
    assert told(repo, mentions=anchors) == []


def test_a_folder_in_the_place_of_a_file_s_folder(repo: Gitted) -> None:
    """A file where a folder was: nothing lies below it."""
    repo.write("pkg/core.py", CORE)
    repo.commit()
    anchors = anchored(repo, "pkg/core.py")
    (repo.top / "pkg" / "core.py").unlink()
    (repo.top / "pkg").rmdir()
    repo.write("pkg", "a file")
    assert told(repo, *anchors) == ["anchor_missing"]


@pytest.mark.parametrize("call", ["stat", "open"])
def test_a_file_that_may_not_be_read_is_not_said_to_have_changed(
    repo: Gitted, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """Nobody knows: it could not be looked at."""
    anchors = anchored(repo, SYMBOL, FILE)
    real = getattr(os, call)

    def refused(path: Any, *words: Any, **more: Any) -> Any:
        if str(path).endswith("core.py"):
            raise PermissionError(errno.EACCES, "no", path)
        return real(path, *words, **more)

    monkeypatch.setattr(os, call, refused)
    assert told(repo, *anchors) == ["?", "?"]
    assert told(repo, mentions=anchors) == []


def test_a_repository_that_is_gone_says_nothing_of_its_files(repo: Gitted) -> None:
    """A disk that is not mounted is no deletion."""
    anchors = anchored(repo, *ALL)
    repo.top.rename(repo.top.with_name("away"))
    assert [said(g) for g in FileGround().statuses(repo.top, "main", anchors)] == ["?"] * len(ALL)


def test_a_part_of_a_file_that_has_grown_huge_is_not_looked_for(repo: Gitted) -> None:
    """The file as a whole has changed; of its parts nobody knows."""
    anchors = anchored(repo, LINES, SYMBOL, FILE)
    with (repo.top / "core.py").open("ab") as file:
        file.truncate(limits.SOURCE_MAX_BYTES + 1)
    assert told(repo, *anchors) == ["?", "?", "anchor_changed"]


def test_a_symbol_of_what_has_become_binary_could_not_be_looked_at(repo: Gitted) -> None:
    """No grammar reads it; its lines are still compared."""
    anchors = anchored(repo, SYMBOL, LINES)
    (repo.top / "core.py").write_bytes(b"\0\1\2" + CORE.encode())
    assert told(repo, *anchors) == ["?", ""]


@pytest.mark.parametrize("path", ["/etc/passwd", "../outside.py", "a/../../outside.py"])
def test_an_anchor_that_leads_out_of_the_checkout_is_not_followed(repo: Gitted, path: str) -> None:
    """No write makes one; one from elsewhere would tell what stands in somebody's files."""
    (repo.top.parent / "outside.py").write_text("TOKEN = 1\n")
    anchors = (
        Anchor(path=path),
        Anchor(form="claim", path=path, part="TOKEN=2"),
        Anchor(form="claim", path=path, part="!"),
    )
    assert told(repo, *anchors) == ["?"] * 3


def test_what_a_claim_s_file_says_now_is_told_without_a_credential(repo: Gitted) -> None:
    """A value that was a placeholder when the claim was made may have become a key."""
    repo.commit(conf='API_KEY = "placeholder"\n')
    (anchor,) = anchored(repo, 'conf.py::API_KEY="placeholder"')
    secret = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
    repo.commit(conf=f'API_KEY = "{secret}"\n')
    (now,) = told(repo, anchor)
    assert now.startswith("claim_broken")
    assert secret not in now


def test_what_was_seen_is_taken_again_only_while_the_files_hold_what_they_held(tmp_path: Path) -> None:
    """Each change of a file, back and forth, is told as it is; so is one that is gone, and one that was anchored elsewhere."""
    (tmp_path / "a.py").write_text("def one():\n    return 1\n")
    (tmp_path / "b.py").write_text("B = 1\n")
    ground = FileGround()
    digests = {name: ground.digest(str(tmp_path), name) or b"" for name in ("a.py", "b.py")}
    anchors = [Anchor(path=name, digest=digest) for name, digest in digests.items()]

    def told() -> list[str]:
        return [status.signal for status in ground.statuses(tmp_path, "main", anchors)]

    steps = [
        (lambda: None, ["", ""]),
        (lambda: (tmp_path / "a.py").write_text("def one():\n    return 2\n"), ["anchor_changed", ""]),
        (lambda: (tmp_path / "a.py").write_text("def one():\n    return 1\n"), ["", ""]),
        (lambda: (tmp_path / "b.py").unlink(), ["", "anchor_missing"]),
        (lambda: (tmp_path / "b.py").write_text("B = 1\n"), ["", ""]),
        (lambda: (tmp_path / "b.py").write_text("B = 2\n"), ["", "anchor_changed"]),
    ]
    for step, expected in steps:
        step()
        assert told() == expected
        assert told() == expected


def test_the_number_of_statuses_that_are_known_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past it they are found again."""
    monkeypatch.setattr(limits, "GROUND_STATUSES_KNOWN_MAX", 3)
    (tmp_path / "a.py").write_text("A = 1\n")
    ground = FileGround()
    digest = ground.digest(str(tmp_path), "a.py") or b""
    for number in range(10):
        ground.statuses(tmp_path, "main", [Anchor(path="a.py", digest=digest)], mentions=[Anchor(path=f"{number}.py")])
        ground.statuses(tmp_path, "main", [Anchor(path="a.py", digest=bytes([number]) * 16)])
        assert len(ground._known) <= 3


def test_what_was_said_of_two_contents_of_one_file_is_not_taken_again(
    repo: Gitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is written to between the looks at two anchors of a note: the next look says of both what it holds by then."""
    aged(repo)
    ground, (whole, value) = FileGround(), anchored(repo, FILE, VALUE)
    assert told(repo, whole, ground=ground) == [""]
    read = ground._contents.read

    def written_meanwhile(*asked: Any) -> Any:
        (repo.top / "core.py").write_text(CORE.replace("TIMEOUT = 30", "TIMEOUT = 45"))
        return read(*asked)

    monkeypatch.setattr(ground._contents, "read", written_meanwhile)
    assert told(repo, whole, value, ground=ground) == ["", "claim_broken 45"]
    assert told(repo, whole, value, ground=ground) == ["anchor_changed", "claim_broken 45"]


def test_what_was_said_of_a_file_before_it_came_back_is_not_taken_again(
    repo: Gitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is put in its place between the looks at two anchors: the next look finds it for both."""
    ground, anchors = FileGround(), anchored(repo, VALUE, TEXT)
    (repo.top / "core.py").unlink()
    at, looks = ground._contents.at, []

    def back_at_last(*asked: Any) -> Any:
        looks.append(asked)
        if len(looks) == 3:  # the first anchor has been looked for twice
            (repo.top / "core.py").write_text(CORE)
        return at(*asked)

    monkeypatch.setattr(ground._contents, "at", back_at_last)
    assert told(repo, *anchors, ground=ground) == ["anchor_missing", ""]
    assert told(repo, *anchors, ground=ground) == ["", ""]


def test_a_file_that_takes_the_place_of_one_with_a_decomposed_name_is_looked_at(repo: Gitted) -> None:
    """The very name goes first, whichever was looked at before."""
    composed, decomposed = "caf\u00e9.py", "cafe\u0301.py"
    (repo.top / decomposed).write_text("A = 1\n")
    ground = FileGround()
    anchor = Anchor(path=composed, digest=ground.digest(str(repo.top), composed) or b"")
    assert told(repo, anchor, ground=ground) == [""]
    (repo.top / composed).write_text("A = 2\n")
    assert told(repo, anchor, ground=ground) == ["anchor_changed"]
