"""A gotcha is told at every way to its file, and at no other file (delivery.md; staleness.md, "Anchors")."""

import os
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memd_client import api
from memd_daemon import errors
from memd_daemon.ground import refused, spelling
from tests.service.desk import Desk, context_of, git, make_repo, reason_of

GOTCHA = "parse() is called with strings by the importer: keep it duck-typed."
COMPOSED = unicodedata.normalize("NFC", "src/café.py")
DECOMPOSED = unicodedata.normalize("NFD", "src/café.py")
"""One name, in two ways that a disk may hold it and a client may send it."""


@pytest.fixture
def tree(desk: Desk) -> Path:
    """The repository with a file in a folder, and ways around to it."""
    repo = desk.repo
    (repo / "src").mkdir()
    (repo / "src" / "parse.py").write_text("def parse(text):\n    return text\n")
    (repo / "docs").mkdir()
    (repo / "link").symlink_to("src")
    (repo / "alias.py").symlink_to("src/parse.py")
    (repo.parent / "elsewhere").symlink_to(repo)
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "tree")
    return repo


def edited(desk: Desk, path: str, cwd: Path | None = None, session: str = "s1", **more: Any) -> str:
    """All that an edit of the very path that a client names is told."""
    payload = desk.payload(
        "PreToolUse",
        session,
        cwd=str(cwd or desk.repo),
        prompt_id="p1",
        tool_name="Edit",
        tool_input={"file_path": path, "old_string": "a", "new_string": "b"},
        tool_use_id=f"toolu_{os.urandom(8).hex()}",
        permission_mode="default",
        **more,
    )
    out = desk.hook("pre-edit", payload)
    return reason_of(out) + context_of(out)


WAYS: list[tuple[str, str]] = [
    ("", "src/parse.py"),
    ("", "./src/parse.py"),
    ("", "{repo}/src/parse.py"),
    ("", "{repo}//src///parse.py"),
    ("", "src/../src/./parse.py"),
    ("", "src/parse.py/"),
    ("", "{repo}/src/parse.py/."),
    ("", "link/parse.py"),
    ("", "alias.py"),
    ("", "link/../src/parse.py"),
    ("", "{repo}/../elsewhere/src/parse.py"),
    ("", "{repo}/../elsewhere/alias.py"),
    ("src", "parse.py"),
    ("src", "../src/parse.py"),
    ("src", "{repo}/src/parse.py"),
    ("docs", "../link/parse.py"),
    ("../elsewhere", "src/parse.py"),
    ("../elsewhere/src", "parse.py"),
    ("..", "repo/src/parse.py"),
]


@pytest.mark.parametrize(("cwd", "path"), WAYS)
def test_every_way_to_the_file_brings_the_gotcha(desk: Desk, tree: Path, cwd: str, path: str) -> None:
    """Relative and absolute, with dots, doubled and trailing slashes, over links of the file and of its folders."""
    desk.remember(GOTCHA, kind="gotcha", priority="high", anchors=["src/parse.py"])
    place = Path(f"{tree}/{cwd}")
    told = edited(desk, path.format(repo=tree), place)
    assert GOTCHA in told
    assert "(anchor: src/parse.py, status: matches current state)" in told


@pytest.mark.parametrize("given", [way for way in WAYS if way[0] != ".."])
def test_every_way_to_the_file_makes_one_anchor(desk: Desk, tree: Path, given: tuple[str, str]) -> None:
    """Reads and writes resolve alike."""
    cwd, path = given
    here, desk.repo = desk.repo, Path(f"{tree}/{cwd}")
    desk.remember(GOTCHA, kind="gotcha", priority="high", anchors=[path.format(repo=tree)])
    desk.repo = here
    assert "(anchor: src/parse.py, status: matches current state)" in edited(desk, "src/parse.py")


@pytest.mark.parametrize(
    "path",
    [
        "parse.py",
        "src/parse.pyc",
        "src/PARSE.py",
        "src",
        "",
        "..",
        "../repo.py",
        "/etc/passwd",
        "{repo}-2/src/parse.py",
        "src/parse.py\0",
        "\ud83d",
        "/" * 5_000,
    ],
)
def test_no_other_path_does(desk: Desk, tree: Path, path: str) -> None:
    """A namesake, a folder, a file of another name or place, and what is no path at all."""
    desk.remember(GOTCHA, kind="gotcha", priority="high", anchors=["src/parse.py"])
    assert edited(desk, path.format(repo=tree)) == ""


@pytest.mark.parametrize("on_disk", [COMPOSED, DECOMPOSED])
@pytest.mark.parametrize("anchored", [COMPOSED, DECOMPOSED])
@pytest.mark.parametrize("given", [COMPOSED, DECOMPOSED])
def test_both_normalizations_are_one_name(desk: Desk, tree: Path, on_disk: str, anchored: str, given: str) -> None:
    """However the disk holds it, however the note and the client write it; and its content is looked at."""
    (tree / on_disk).write_text("x = 'a file with an accent'\n")
    desk.remember(GOTCHA, kind="gotcha", priority="high", anchors=[anchored])
    assert f"(anchor: {COMPOSED}, status: matches current state)" in edited(desk, given)
    (tree / on_disk).write_text("y = 'and other content'\n")
    assert "status: changed since — verify" in edited(desk, given, session="s2")


@pytest.mark.parametrize("given", ["SRC/Parse.PY", "{repo}/Src/parse.py", "src/parse.py"])
def test_where_the_file_system_folds_case_another_case_is_the_same_file(
    desk: Desk, tree: Path, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a file system is stood in for by what memd asks it; the name that the disk has is the one that is kept and told."""
    monkeypatch.setattr(spelling, "ON_DISK", spelling.Spelling(lambda directory, name: str(tree) in directory))
    desk.remember(
        GOTCHA, kind="gotcha", priority="high", anchors=[given.upper() if "{" not in given else given.format(repo=tree)]
    )
    assert "(anchor: src/parse.py, status: matches current state)" in edited(desk, given.format(repo=tree))


def test_a_file_that_became_a_link_keeps_its_gotcha(desk: Desk, tree: Path) -> None:
    """Edited through the link, or where the link leads."""
    desk.remember(GOTCHA, kind="gotcha", priority="high", anchors=["src/parse.py"])
    (tree / "src" / "parse.py").rename(tree / "src" / "parse_v2.py")
    (tree / "src" / "parse.py").symlink_to("parse_v2.py")
    assert GOTCHA in edited(desk, "src/parse.py")
    assert GOTCHA in edited(desk, "src/parse_v2.py", session="s2")


def test_a_file_that_is_written_anew_brings_what_is_known_of_its_path(desk: Desk, tree: Path) -> None:
    """It was deleted since; the write that makes it again is held, and the words say that the anchor is not what it was."""
    desk.remember(GOTCHA, kind="gotcha", priority="high", anchors=["src/parse.py"])
    (tree / "src" / "parse.py").unlink()
    payload = desk.payload(
        "PreToolUse",
        "s1",
        prompt_id="p1",
        tool_name="Write",
        tool_input={"file_path": f"{tree}/src/parse.py", "content": "new\n"},
        tool_use_id="toolu_w",
        permission_mode="default",
    )
    held = reason_of(desk.hook("pre-edit", payload))
    assert GOTCHA in held
    assert "(anchor: src/parse.py, status: changed since — verify)" in held


def test_a_whole_folder_that_is_not_there_yet_is_no_trouble(desk: Desk, tree: Path) -> None:
    """A write may make its folders; nothing is known of them."""
    desk.remember(GOTCHA, kind="gotcha", priority="high", anchors=["src/parse.py"])
    assert edited(desk, "new/folder/parse.py") == ""
    assert edited(desk, f"{tree}/new/../src/parse.py", session="s2") != ""


def a_worktree(tree: Path) -> Path:
    where = tree.parent / "tree"
    git(tree, "worktree", "add", "-q", str(where))
    return where


def an_inner_worktree(tree: Path) -> Path:
    """Where Claude Code puts its own: within the main checkout."""
    where = tree / ".claude" / "worktrees" / "one"
    git(tree, "worktree", "add", "-q", str(where))
    return where


def one_of_a_bare_repository(tree: Path) -> Path:
    git(tree.parent, "clone", "-q", "--bare", str(tree), str(tree.parent / "bare.git"))
    where = tree.parent / "of-bare"
    git(tree.parent / "bare.git", "worktree", "add", "-q", str(where), "-b", "b")
    return where


def codex_layout(tree: Path) -> Path:
    """A worktree below a home of its own, detached."""
    where = tree.parent / "codex" / "worktrees" / "3f2a" / "repo"
    git(tree, "worktree", "add", "-q", "--detach", str(where))
    return where


LAYOUTS = [a_worktree, an_inner_worktree, one_of_a_bare_repository, codex_layout]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_note_anchored_in_a_worktree_is_told_in_every_other(
    desk: Desk, tree: Path, layout: Callable[[Path], Path]
) -> None:
    """From its own directory, from the main checkout's, and from the main checkout once the worktree is gone."""
    main, where = desk.repo, layout(tree)
    desk.repo = where
    desk.remember(GOTCHA, kind="gotcha", priority="high", anchors=[str(where / "src" / "parse.py")])
    assert GOTCHA in edited(desk, "src/parse.py", where, "in-it")
    desk.repo = main
    assert GOTCHA in edited(desk, "src/parse.py", main, "in-main")
    assert GOTCHA in edited(desk, str(where / "src" / "parse.py"), main, "from-main-into-it")
    assert GOTCHA in edited(desk, str(main / "src" / "parse.py"), where, "from-it-into-main")
    git(main, "worktree", "prune")
    if layout is not one_of_a_bare_repository:
        git(main, "worktree", "remove", "--force", str(where))
    assert GOTCHA in edited(desk, "src/parse.py", main, "after-it")


def test_the_status_is_of_the_checkout_that_the_file_lies_in(desk: Desk, tree: Path) -> None:
    """A session in one worktree that edits a file of another is told how it stands there."""
    desk.remember(GOTCHA, kind="gotcha", priority="high", anchors=["src/parse.py"])
    where = a_worktree(tree)
    (where / "src" / "parse.py").write_text("changed = 'in the worktree alone'\n")
    assert "status: changed since — verify" in edited(desk, str(where / "src" / "parse.py"))
    assert "status: matches current state" in edited(desk, "src/parse.py", session="s2")


def test_an_anchor_outside_is_refused_by_every_way(desk: Desk, tree: Path) -> None:
    """A link that leads out of the repository is no way around that."""
    (tree / "out.py").symlink_to("/etc/hostname")
    for path in ("/etc/hostname", "out.py", "../elsewhere.py"):
        with pytest.raises(errors.AnchorOutside):
            desk.remember(GOTCHA, kind="gotcha", anchors=[path])


@pytest.fixture
def nested(tree: Path) -> Path:
    """A repository inside of the repository, as a submodule or a clone is; nobody has worked in it by itself yet."""
    inner = make_repo(tree / "vendor" / "lib")
    (inner / "wire.py").write_text("def send(frame):\n    return frame\n")
    return inner


OUTER = "send() here is our patched one: upstream's swallows errors."
INNER = "send() wants whole frames."


def known_by_itself(desk: Desk, inner: Path) -> None:
    """A session that works in the inner repository."""
    desk.hook("session-start", desk.payload("SessionStart", "other", source="startup", cwd=str(inner)))


@pytest.mark.parametrize("is_known", [False, True])
def test_a_note_from_the_outer_repository_is_told_of_a_file_in_an_inner_one(
    desk: Desk, nested: Path, *, is_known: bool
) -> None:
    """It was anchored by its path from outside, and stays told whether or not the inner one becomes a repository of its own."""
    desk.remember(OUTER, kind="gotcha", anchors=["vendor/lib/wire.py"])
    if is_known:
        known_by_itself(desk, nested)
    assert "anchor: vendor/lib/wire.py, status: matches current state): " + OUTER in edited(desk, "vendor/lib/wire.py")
    assert OUTER in edited(desk, "wire.py", cwd=nested, session="s2")
    assert OUTER not in edited(desk, "src/parse.py", session="s3")


def test_what_both_repositories_know_of_a_file_comes_in_one_bundle(desk: Desk, nested: Path) -> None:
    """Once each; and not again when the session itself has changed the file, whichever of the two it works in."""
    known_by_itself(desk, nested)
    desk.remember(OUTER, kind="gotcha", anchors=["vendor/lib/wire.py"])
    desk.ask(api.Remember(content=INNER, kind="gotcha", anchors=["wire.py"], cwd=str(nested)))
    told = edited(desk, "vendor/lib/wire.py")
    assert told.startswith("memd: 2 notes")
    assert (told.count(OUTER), told.count(INNER)) == (1, 1)
    (nested / "wire.py").write_text("def send(frame):\n    return bytes(frame)\n")
    desk.prompt("go on", prompt_id="p2")
    assert desk.read("vendor/lib/wire.py", prompt_id="p2") == ""


def test_an_outer_repository_that_memd_is_kept_out_of_brings_nothing(desk: Desk, nested: Path) -> None:
    """The inner one's note comes all the same."""
    known_by_itself(desk, nested)
    desk.remember(OUTER, kind="gotcha", anchors=["vendor/lib/wire.py"])
    desk.ask(api.Remember(content=INNER, kind="gotcha", anchors=["wire.py"], cwd=str(nested)))
    desk.ask(api.ChangeSetting(key="ignore", how="add", values=["."], cwd=str(desk.repo)))
    told = edited(desk, "wire.py", cwd=nested)
    assert INNER in told
    assert OUTER not in told


def test_an_edit_elsewhere_is_no_edit_of_the_file_of_that_name_here(desk: Desk, nested: Path) -> None:
    """What the session changed in one repository does not hide that another's file of the same path was changed by somebody."""
    known_by_itself(desk, nested)
    (desk.repo / "wire.py").write_text("def send(frame):\n    return frame\n")
    desk.remember(OUTER, kind="gotcha", anchors=["wire.py"])
    edited(desk, str(nested / "wire.py"))
    assert "matches current state" in context_of(desk.read("wire.py"))
    (desk.repo / "wire.py").write_text("def send(frame):\n    return bytes(frame)\n")
    desk.prompt("go on", prompt_id="p2")
    assert "changed since" in context_of(desk.read("wire.py", prompt_id="p2"))


def test_what_a_session_edits_in_another_repository_is_no_news_to_it(desk: Desk, nested: Path) -> None:
    """It knows what it changed there; another session, which does not, is told."""
    known_by_itself(desk, nested)
    here, desk.repo = desk.repo, nested
    desk.remember(INNER, kind="gotcha", anchors=["wire.py"])
    desk.repo = here
    wire = str(nested / "wire.py")
    for session in ("s1", "s2"):
        assert "matches current state" in context_of(desk.read(wire, session))
    edited(desk, wire)
    (nested / "wire.py").write_text("def send(frame):\n    return bytes(frame)\n")
    assert desk.read(wire, "s1", prompt_id="p2") == ""
    assert "changed since" in context_of(desk.read(wire, "s2", prompt_id="p2"))


@pytest.mark.parametrize(
    ("cwd", "given"), [(".", "."), ("src", ".."), (".", "src/.."), (".", "src"), ("src", "."), (".", "./::f")]
)
def test_a_folder_for_an_anchor_is_told_that_it_is_one(desk: Desk, tree: Path, cwd: str, given: str) -> None:
    """Also the repository's root, which is not outside of it; and what to do for a note about a whole folder."""
    with pytest.raises(refused.AnchorIsAFolder, match=r"is a folder, .* anchor the file in it .*`--under PATH`"):
        desk.ask(api.Remember(content=GOTCHA, anchors=[given], cwd=str(tree / cwd)))


def test_files_of_another_repository_are_said_to_be_that(desk: Desk, tree: Path, tmp_path: Path) -> None:
    """Not that they could not be looked at now: nothing is wrong, and trying again would change nothing."""
    made = desk.remember(GOTCHA, anchors=["src/parse.py"])
    (tmp_path / "other").mkdir()
    other = str(tmp_path / "other")
    line = "These files are in another repository, so they were not looked at from here: src/parse.py"
    for asked in (api.Show(ref=str(made.id), cwd=other), api.Recall(query="importer", cwd=other, all_scopes=True)):
        assert line in desk.ask(asked).text
    assert "looked at" not in desk.ask(api.Show(ref=str(made.id), cwd=str(tree))).text
