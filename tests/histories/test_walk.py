"""A history along first parents, and what becomes of files in it."""

from pathlib import Path

import pytest

from memd_daemon.histories.walk import Followed, History, NoHistory
from tests.histories.past import Past


@pytest.fixture
def past(tmp_path: Path) -> Past:
    """A repository with a first commit."""
    made = Past(tmp_path / "repo")
    made.commit({"a.py": "a = 1\n" * 20, "docs/x.md": "x\n", "vendor/v.py": "v = 1\n"})
    return made


def became(past: Past, number: int, steps: int) -> dict[str, Followed]:
    history = History(str(past.root))
    try:
        return history.followed(number, steps, history.tree(number))
    finally:
        history.close()


def test_a_tree_has_the_project_s_own_source(past: Past) -> None:
    """Other files, other projects' code and links are no place for a note."""
    (past.root / "link.py").symlink_to("a.py")
    past.commit({"b.go": "package b\n"})
    history = History(str(past.root))
    assert sorted(history.tree(1)) == ["a.py", "b.go"]
    assert history.content(history.tree(1)["b.go"].oid) == b"package b\n"
    assert history.content("0" * 40) is None
    assert history.content(history.tree(0)["a.py"].oid) == b"a = 1\n" * 20
    history.close()


def test_a_file_is_followed_through_names(past: Past) -> None:
    """Also where something else takes the name that it had."""
    past.move("a.py", "pkg/b.py")
    past.commit({"a.py": "another = 2\n"})
    past.move("pkg/b.py", "pkg/c d.py")
    now = became(past, 0, 3)["a.py"]
    assert (now.path, now.is_written) == ("pkg/c d.py", True)
    assert now.oid == became(past, 0, 0)["a.py"].oid
    assert became(past, 2, 1)["a.py"].is_written is False


def test_a_file_may_go_and_come_back(past: Past) -> None:
    """Gone it has no content; under the same path it is the same file."""
    past.commit({"a.py": None})
    past.commit({"a.py": "a = 2\n"})
    assert became(past, 0, 1)["a.py"] == Followed("a.py", "", is_written=True)
    assert became(past, 0, 2)["a.py"].oid != ""


def test_a_merge_is_one_step(past: Past) -> None:
    """With all that it brought; commits on the other side are none."""
    past.git("checkout", "-q", "-b", "side")
    past.commit({"a.py": "a = 3\n" * 20})
    past.commit({"a.py": "a = 4\n" * 20})
    past.git("checkout", "-q", "-")
    past.commit({"docs/x.md": "y\n"})
    past.git("merge", "-q", "--no-edit", "side")
    history = History(str(past.root))
    assert len(history.steps) == 3
    assert history.written(0, 1) == set()
    assert history.written(1, 1) == {"a.py"}
    history.close()


def test_nothing_of_the_repository_s_settings_is_run(past: Past) -> None:
    """Neither a program for differences nor a monitor, and nothing in it is written."""
    trace = past.root.parent / "ran"
    for key in ("diff.external", "core.fsmonitor", "diff.x.textconv"):
        past.git("config", key, f"touch {trace}; true")
    past.commit({"a.py": "a = 2\n", ".gitattributes": "*.py diff=x\n"}, quietly=True)
    trace.unlink(missing_ok=True)
    before = past.files()
    assert became(past, 0, 1)["a.py"].is_written
    assert not trace.exists()
    assert past.files() == before


def test_what_is_no_repository_has_no_history(tmp_path: Path) -> None:
    """Nor has one without commits."""
    with pytest.raises(NoHistory):
        History(str(tmp_path))
    (tmp_path / "new").mkdir()
    Past(tmp_path / "new")
    with pytest.raises(NoHistory):
        History(str(tmp_path / "new"))
