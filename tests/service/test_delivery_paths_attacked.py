"""Files under names made to be misread, by ways that are none, in folders that are others: each gotcha is of its own file alone."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.service.desk import Desk, git, reason_of
from tests.service.test_delivery_attacked import GOTCHA, as_logged, note

ODD_NAMES = (
    "two\nlines.py", "right\u202eto left.py", "\x1b[31mred.py", "-rf.py", ":(top)x.py", "*.py", "[a].py", "$HOME.py", "~",
    "memd: end.", "app.py:12", "a::b.py", "#L1-L9", "zero\u200bwidth.py", "é" * 100 + ".py", "quo\"te'd\\.py", "[47] [human] x.py",
)  # fmt: skip


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_name_that_means_something_elsewhere_is_a_name(desk: Desk, name: str) -> None:
    """To git, to a shell, to an anchor and to memd's own lines: its gotcha comes, and the block reads as one note."""
    (desk.repo / name).write_text("def held():\n    return 1\n")
    note(desk, GOTCHA, name)
    (one,) = as_logged(desk, desk.edit(name))
    assert "status: matches current state): " in one.head
    assert one.content == [GOTCHA]


@pytest.mark.parametrize(
    ("path", "is_told"),
    [
        ("self/" * 100 + "app.py", True),
        ("chain39", True),
        ("chain44", True),
        ("missing/../app.py", True),
        ("/proc/self/root{repo}/app.py", True),
        ("loop/app.py", False),
        ("one/app.py", False),
        ("self/" * 1_000 + "app.py", False),
        ("./" * 3_000 + "app.py", False),
        ("n" * 300, False),
        ("pipe", False),
        ("app.py\n", False),
        ("file://{repo}/app.py", False),
    ],
)
def test_a_way_that_is_long_round_or_none(desk: Desk, path: str, is_told: bool) -> None:
    """Over links that lead back, in a ring, or on and on; through what no system opens. Where it is the file, its gotcha comes."""
    repo = desk.repo
    (repo / "self").symlink_to(".")
    (repo / "loop").symlink_to("loop")
    (repo / "one").symlink_to("two")
    (repo / "two").symlink_to("one")
    os.mkfifo(repo / "pipe")
    for number in range(45):
        (repo / f"chain{number}").symlink_to(f"chain{number - 1}" if number else "app.py")
    note(desk)
    payload = {"file_path": path.format(repo=repo), "old_string": "a", "new_string": "b"}
    words = {"prompt_id": "p1", "tool_name": "Edit", "tool_use_id": "toolu_1", "permission_mode": "default"}
    out = desk.hook("pre-edit", desk.payload("PreToolUse", "s1", tool_input=payload, **words))
    assert [one.content for one in as_logged(desk, out)] == ([[GOTCHA]] if is_told else [])


@pytest.mark.parametrize("becomes", ["a folder", "a pipe", "a device", "eight gigabytes", "nothing"])
def test_what_stands_in_the_file_s_place_is_never_said_to_match(desk: Desk, becomes: str) -> None:
    """Nor is it read to its end, nor waited for."""
    note(desk)
    file = desk.repo / "app.py"
    file.unlink()
    _put(file, becomes)
    (one,) = as_logged(desk, desk.edit("app.py"))
    assert "(anchor: app.py, status: changed since — verify)" in one.head


def _put(file: Path, what: str) -> None:
    if what == "a folder":
        file.mkdir()
    elif what == "a pipe":
        os.mkfifo(file)
    elif what == "a device":
        file.symlink_to("/dev/zero")
    elif what == "eight gigabytes":
        with file.open("wb") as hole:
            hole.truncate(8 << 30)


def test_a_worktree_that_was_moved_by_hand_is_of_its_repository(desk: Desk, tmp_path: Path) -> None:
    """git has not heard of it; the gotcha comes under either path."""
    note(desk)
    git(desk.repo, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "side")
    assert GOTCHA in reason_of(desk.edit(str(tmp_path / "tree" / "app.py"), session="s1"))
    (tmp_path / "tree").rename(tmp_path / "moved")
    assert GOTCHA in reason_of(desk.edit(str(tmp_path / "moved" / "app.py"), session="s2"))


def test_ids_as_long_as_a_line_of_emoji_are_told_apart(desk: Desk) -> None:
    """Of a session, an agent, a turn and a call: 640 bytes each, the last character another."""
    note(desk)
    long = "\U0001f600" * 159

    def edit(session: str, turn: str = "1", agent: str = "1", use: str = "1") -> bool:
        ids = {"session": long + session, "prompt_id": long + turn, "agent_id": long + agent, "use": long + use}
        return bool(reason_of(desk.edit("app.py", **ids)))

    assert [edit("1"), edit("2"), edit("1", agent="2"), edit("1", use="2"), edit("1", turn="2")] == [
        True, True, True, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize("beside", [{}, {"file_path": "other.py"}, {"file_path": None}, {"file_path": 3}])
def test_a_tool_s_file_is_the_one_that_it_names_by_its_own_word(desk: Desk, beside: dict[str, object]) -> None:
    """A notebook's edit, with what is another tool's word for its file in the input too."""
    (desk.repo / "a.ipynb").write_text("{}")
    note(desk, GOTCHA, "a.ipynb")
    given = {"notebook_path": str(desk.repo / "a.ipynb"), "new_source": "x", **beside}
    words = {"prompt_id": "p1", "tool_name": "NotebookEdit", "tool_use_id": "toolu_1", "permission_mode": "default"}
    out = desk.hook("pre-edit", desk.payload("PreToolUse", "s1", tool_input=given, **words))
    assert [one.content for one in as_logged(desk, out)] == [[GOTCHA]]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a\nb.py", "a\\u{a}b.py"),
        ("a\tb.py", "a\\u{9}b.py"),
        ("a  b.py", "a \\u{20}b.py"),
        (" a.py", "\\u{20}a.py"),
        ("a.py ", "a.py\\u{20}"),
        ("a\u00a0b.py", "a\\u{a0}b.py"),
        ("a\u3000b.py", "a\\u{3000}b.py"),
        ("a b.py", "a b.py"),
    ],
)
def test_a_path_is_told_as_no_other_one_is(desk: Desk, name: str, shown: str) -> None:
    """White space tells one file from another: beside each of these there may be the one that it would read as, were it folded."""
    (desk.repo / name).write_text("def held():\n    return 1\n")
    note(desk, GOTCHA, name)
    (one,) = as_logged(desk, desk.edit(name))
    assert f" (anchor: {shown}, status: matches current state): " in one.head


MOUNTED: Final = """
import subprocess, sys
from pathlib import Path
from tests.service.desk import Desk, context_of, make_repo, reason_of
folder = Path(sys.argv[1])
repo, bound = make_repo(folder / "repo"), folder / "bound"
bound.mkdir()
subprocess.run(["mount", "--bind", str(repo), str(bound)], check=True)
desk = Desk(folder / "home", repo)
desk.remember("Mind the strings.", kind="gotcha", priority="high", anchors=["app.py"])
desk.remember("Use tabs.", kind="directive")
there = desk.edit(str(bound / "app.py"), session="s1")
desk.repo = bound
rule, again = context_of(desk.start("s2")), reason_of(desk.edit("app.py", session="s3"))
print("Mind the strings." in reason_of(there), "Use tabs." in rule, "Mind the strings." in again)
desk.close()
"""


def test_a_repository_that_is_mounted_at_another_path_too_is_one(tmp_path: Path) -> None:
    """Without a remote that could tell: by the folder, which is the same to the system. From either path and to either."""
    where = ["unshare", "-m", sys.executable, "-c", MOUNTED, str(tmp_path)]
    done = subprocess.run(where, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    if "unshare: " in done.stderr or "mount: " in done.stderr:
        pytest.skip("a mount of its own needs root, and a system that allows it")
    assert done.stdout.split() == ["True", "True", "True"], done.stderr
