"""Notes of another store's repository hold in this store's clone of it: by the remote, by first commits, and by nothing else."""

import base64
import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from memd_client import api
from memd_client.exchanging import ImportedOut
from memd_daemon import limits
from memd_daemon.model.ids import uid_text
from memd_daemon.store.check import verify
from memd_daemon.store.log_read import LogSnapshot
from tests.service.desk import Desk, context_of, git, make_repo, reason_of
from tests.store.exchanging import exported, imported, lines_of, opened, sealed

RULE = "Run the linter before every commit."
TRAP = "add() is called from C: keep its two arguments."
FOUND = "The resolver drops its lock on scope exit, so a second resolver may take it."
THEIRS = "https://anna:token@git.example.org/tools/app.git?x=1"
OURS = "git@git.example.org:tools/app.git"


@contextlib.contextmanager
def desk_in(home: Path, repo: Path) -> Iterator[Desk]:
    desk = Desk(home, repo)
    try:
        yield desk
    finally:
        desk.close()


def clone(of: Path, to: Path, remote: str = "") -> Path:
    """The same commits in another folder, as by a stick; with ``remote`` as its origin."""
    shutil.copytree(of, to)
    if remote:
        git(to, "remote", "add", "origin", remote)
    return to


def export_of(desk: Desk) -> bytes:
    return exported(desk.daemon.parts.store, desk.daemon.parts.ledger)  # type: ignore[arg-type]  # a whole daemon's


def written(tmp_path: Path, remote: str = THEIRS, name: str = "anna") -> bytes:
    """The export of a colleague who wrote a rule, a gotcha and a finding in a clone of the repository."""
    base = tmp_path / "base"
    base = base if base.exists() else make_repo(base)
    repo = clone(base, tmp_path / name, remote)
    with desk_in(tmp_path / f"{name}-home", repo) as theirs:
        theirs.remember(RULE, kind="directive")
        theirs.remember(TRAP, kind="gotcha", anchors=["app.py"], priority="high")
        theirs.remember(FOUND)
        return export_of(theirs)


def lives(home: Path, repo: Path) -> None:
    """The receiver works in the repository, and so knows it."""
    with desk_in(home, repo) as desk:
        desk.remember("Mine.")


def another(path: Path) -> Path:
    """A repository that shares no commit with any other."""
    git(make_repo(path), "commit", "-q", "--amend", "-m", f"Begin {path}")
    return path


def holds(desk: Desk, session: str = "s1") -> bool:
    """Whether the colleague's notes are told here, unasked and asked; all of them or none."""
    started = RULE in context_of(desk.start(session))
    edited = TRAP in reason_of(desk.edit("app.py", session))
    found = FOUND in [one.note.content for one in desk.recall("who drops the resolver's lock?").found]
    listed = RULE in [one.content for one in desk.ask(api.ListNotes(cwd=str(desk.repo))).notes]
    assert len({started, edited, found, listed}) == 1, (started, edited, found, listed)
    return started


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "seen later"])
def test_a_colleagues_notes_hold_in_the_clone_with_the_same_remote(tmp_path: Path, is_known: bool) -> None:
    """However its address is written; also where the repository is seen here for the first time after the import."""
    raw = written(tmp_path)
    home, repo = tmp_path / "home", clone(tmp_path / "base", tmp_path / "mine", OURS)
    lives(home, repo if is_known else another(tmp_path / "other"))
    reply = imported(home, raw)
    assert reply.relation == "other"
    assert ("1 of its repositories is known here" in " ".join(reply.told)) == is_known
    assert ("1 of its repositories is not" in " ".join(reply.told)) == (not is_known)
    with desk_in(home, repo) as desk:
        assert holds(desk)
        assert verify(desk.daemon.parts.store) == []  # folds and their rows stay what the log gives
    with desk_in(home, repo) as desk:  # and for good
        assert holds(desk, "s2")


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "seen later"])
def test_without_a_remote_first_commits_tell(tmp_path: Path, is_known: bool) -> None:
    """A repository that was handed on by a stick."""
    raw = written(tmp_path, remote="")
    home, repo = tmp_path / "home", clone(tmp_path / "base", tmp_path / "mine")
    lives(home, repo if is_known else another(tmp_path / "other"))
    imported(home, raw)
    with desk_in(home, repo) as desk:
        assert holds(desk)


def test_a_long_history_that_is_read_behind_the_answer_tells_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first commits are known only after the first look."""
    raw = written(tmp_path, remote="")
    home, repo = tmp_path / "home", clone(tmp_path / "base", tmp_path / "mine")
    lives(home, another(tmp_path / "other"))
    imported(home, raw)
    monkeypatch.setattr(limits, "GIT_REPOSITORY_DEADLINE_S", 0)
    with desk_in(home, repo) as desk:
        desk.start("s0")
        desk.daemon.parts.behind.join()
        assert holds(desk)


def test_a_repository_that_is_given_its_remote_later_takes_what_waits(tmp_path: Path) -> None:
    """It keeps its own uid, and what stood in it."""
    raw = written(tmp_path)
    home, repo = tmp_path / "home", another(tmp_path / "mine")
    lives(home, repo)
    imported(home, raw)
    with desk_in(home, repo) as desk:
        assert not holds(desk)
        git(repo, "remote", "add", "origin", OURS)
        assert holds(desk, "s2")
        assert "Mine." in [one.content for one in desk.ask(api.ListNotes(cwd=str(repo))).notes]


def test_what_is_told_here_can_be_changed_here(tmp_path: Path) -> None:
    """An anchor is taken anew, a correction strikes the note through, saving it again finds it: it is of this repository."""
    raw = written(tmp_path)
    home, repo = tmp_path / "home", clone(tmp_path / "base", tmp_path / "mine", OURS)
    lives(home, repo)
    imported(home, raw)
    with desk_in(home, repo) as desk:
        ids = {one.content: one.id for one in desk.ask(api.ListNotes(cwd=str(repo))).notes}
        assert desk.remember(RULE, kind="directive").id == ids[RULE]
        desk.act("amend", ids[TRAP], anchors=["other.py"])
        assert TRAP in reason_of(desk.edit("other.py"))
        desk.act("revoke", ids[RULE], reason="no linter any more")
        assert "no linter any more" in context_of(desk.start("s2"))
        assert verify(desk.daemon.parts.store) == []


def refuses(tmp_path: Path, theirs: str, ours: str) -> bool:
    raw = written(tmp_path, theirs)
    home, repo = tmp_path / "home", clone(tmp_path / "base", tmp_path / "mine", ours)
    lives(home, repo)
    imported(home, raw)
    with desk_in(home, repo) as desk:
        return not holds(desk)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (THEIRS, "git@git.example.org:tools/fork.git"),
        (THEIRS, "git@git.example.com:tools/app.git"),
        (THEIRS, ""),
        ("", OURS),
        ("/srv/git/app.git", "/srv/git/app.git"),
        ("file:///srv/git/app.git", "/srv/git/app.git"),
    ],
)
def test_nothing_is_guessed(tmp_path: Path, theirs: str, ours: str) -> None:
    """A fork, another host, a remote on one side alone, and a path, which may be another repository on another machine."""
    assert refuses(tmp_path, theirs, ours)


def test_first_commits_that_several_share_tell_nothing(tmp_path: Path) -> None:
    """Two copies here that are worked on apart, or two there, are forks as far as anybody can tell."""
    raw = written(tmp_path, remote="")
    home = tmp_path / "home"
    repos = [clone(tmp_path / "base", tmp_path / name) for name in ("mine", "copy")]
    with desk_in(home, repos[0]) as desk:
        desk.remember("Mine.")
        desk.repo = repos[1]
        desk.remember("Of the copy.")
    imported(home, raw)
    for repo in repos:
        with desk_in(home, repo) as desk:
            assert not holds(desk)


def facts(home: Path) -> dict[str, bytes]:
    """This store's own repository table, and what was decided."""
    with opened(home) as (store, _), store.read() as snapshot:
        return {name: value for name, value in snapshot.settings("repo/") if not name.startswith("repo/theirs/")}


def test_importing_twice_changes_nothing_and_the_table_is_not_touched(tmp_path: Path) -> None:
    """Only the decision is new; the rows that were there are as they were, and no path of the colleague's comes."""
    raw = written(tmp_path)
    home, repo = tmp_path / "home", clone(tmp_path / "base", tmp_path / "mine", OURS)
    lives(home, repo)
    before = facts(home)
    imported(home, raw)
    after = facts(home)
    assert {name: value for name, value in after.items() if name in before} == before
    assert [name.split("/")[1] for name in after if name not in before] == ["same"]
    assert imported(home, raw).kept == ""
    with opened(home) as (store, ledger):
        assert b"/anna/" not in base64.b64decode(b"".join(exported(store, ledger).split(b'"value":"')))


def test_an_export_hands_on_whose_notes_hold_where(tmp_path: Path) -> None:
    """Into a home of one's own to the byte; and to a third person, who never saw the first one's export."""
    raw = written(tmp_path)
    home, repo = tmp_path / "home", clone(tmp_path / "base", tmp_path / "mine", OURS)
    lives(home, repo)
    imported(home, raw)
    with opened(home) as (store, ledger):
        mine = exported(store, ledger)
    imported(tmp_path / "moved", mine)
    with opened(tmp_path / "moved") as (store, ledger):
        assert exported(store, ledger) == mine
        assert verify(store) == []
    with desk_in(tmp_path / "moved", repo) as desk:
        assert holds(desk)
    third, checkout = tmp_path / "third", clone(tmp_path / "base", tmp_path / "bert", OURS)
    lives(third, checkout)
    imported(third, mine)
    with desk_in(third, checkout) as desk:
        assert holds(desk)


# --- what somebody may write into an export


def with_facts(raw: bytes, *facts: tuple[str, bytes]) -> bytes:
    lines = lines_of(raw)
    at = next(n for n, line in enumerate(lines) if line["is"] in ("fact", "held", "end"))
    lines[at:at] = [{"is": "fact", "name": n, "value": base64.b64encode(v).decode()} for n, v in facts]
    return sealed(lines)


def row(home: Path, family: str) -> tuple[str, bytes]:
    """The newest row of a family in a store's own table."""
    return [(name, value) for name, value in facts(home).items() if name.startswith(f"repo/{family}/")][-1]


def two_repositories(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A home that knows a repository, and one that it does not know yet."""
    home, repo = tmp_path / "home", clone(tmp_path / "base", tmp_path / "mine", OURS)
    lives(home, repo)
    return home, repo, clone(tmp_path / "base", tmp_path / "later", "git@git.example.org:tools/later.git")


def scope_in(home: Path, repo: Path) -> str:
    with desk_in(home, repo) as desk:
        id_ = desk.remember("Where am I?").id
        notes: list[api.NoteOut] = desk.ask(api.ListNotes(cwd=str(repo))).notes
        return next(one.scope for one in notes if one.id == id_)


def test_a_repository_of_this_store_becomes_no_other_one(tmp_path: Path) -> None:
    """Somebody who knows its uid says that it has the remote of another: notes of one do not come to hold in the other."""
    raw = written(tmp_path)
    home, repo, later = two_repositories(tmp_path)
    ours = scope_in(home, repo)
    uid = row(home, "remote")[1]
    with desk_in(tmp_path / "spy", later) as desk:
        desk.remember("To learn how the remote is written.")
    name = row(tmp_path / "spy", "remote")[0]
    same = f"repo/same/{uid_text(uid)}"
    imported(home, with_facts(raw, (name, uid), (same, row(tmp_path / "spy", "remote")[1])))
    assert scope_in(home, repo) == ours
    assert scope_in(home, later) != ours
    with desk_in(home, later) as desk:
        assert "Mine." not in [one.content for one in desk.ask(api.ListNotes(cwd=str(later))).notes]
    with desk_in(home, repo) as desk:
        assert "Mine." in [one.content for one in desk.ask(api.ListNotes(cwd=str(repo))).notes]


def test_a_decision_of_another_store_is_none(tmp_path: Path) -> None:
    """It is this store that says which of its repositories another's is."""
    raw = written(tmp_path, "git@git.example.org:tools/strange.git")
    home, repo, _ = two_repositories(tmp_path)
    theirs = next(line for line in lines_of(raw) if line.get("name", "").startswith("repo/remote/"))["value"]
    same = f"repo/same/{uid_text(base64.b64decode(theirs))}"
    imported(home, with_facts(raw, (same, row(home, "remote")[1])))
    with desk_in(home, repo) as desk:
        assert not holds(desk)


def test_only_the_first_store_that_speaks_of_a_repository_is_heard(tmp_path: Path) -> None:
    """A second one that gives a colleague's waiting repository the remote of another takes its notes nowhere."""
    raw = written(tmp_path, "git@git.example.org:tools/waits.git")
    home, repo, _ = two_repositories(tmp_path)
    imported(home, raw)
    with desk_in(tmp_path / "evil", another(tmp_path / "evil-repo")) as desk:
        desk.remember("Bait.")
        evil = export_of(desk)
    theirs = next(line for line in lines_of(raw) if line.get("name", "").startswith("repo/remote/"))["value"]
    imported(home, with_facts(evil, (row(home, "remote")[0], base64.b64decode(theirs))))
    with desk_in(home, repo) as desk:
        assert not holds(desk)


def test_a_false_word_raises_nothing(tmp_path: Path) -> None:
    """Whoever claims a repository has notes told there, as notes of an agent: what their export calls endorsed is not."""
    raw = written(tmp_path)
    home, repo, _ = two_repositories(tmp_path)
    imported(home, raw)
    with desk_in(home, repo) as desk:
        notes = {one.content: one for one in desk.ask(api.ListNotes(cwd=str(repo))).notes}
        assert (notes[RULE].provenance, notes[RULE].frame_class) == ("agent", "agent")
        assert "DIRECTIVE (standing rule" not in context_of(desk.start("s1"))


@pytest.mark.parametrize("count", [limits.REPOSITORY_NAMES_MAX + 5])
def test_a_crowd_that_claims_one_repository_is_bounded(tmp_path: Path, count: int) -> None:
    """Each name is looked up beside the repository's own; what one store says in an export takes few of the places."""
    raw = written(tmp_path)
    home, repo, _ = two_repositories(tmp_path)
    name = row(home, "remote")[0]
    imported(home, with_facts(raw, *((name, bytes([9, n]) * 8) for n in range(count))))
    with opened(home) as (store, _), store.read() as snapshot:
        assert isinstance(snapshot, LogSnapshot)
        names = snapshot.other_names()
    assert [len(one) for one in names.values()] == [limits.REPOSITORY_NAMES_OF_STORE_MAX]
    with desk_in(home, repo) as desk:
        assert desk.recall("mine").found


@pytest.mark.parametrize(
    "name",
    [
        "repo/theirs/",
        "repo/theirs/x/remote/y",
        "repo/theirs/00000000-0000-0000-0000-00000000000A/remote/" + "0" * 32,
        "repo/remote/short",
        "repo/root/" + "0" * 32 + "/x",
        "repo/same/x",
    ],
)
def test_a_fact_that_fits_no_row_leaves_none(tmp_path: Path, name: str) -> None:
    """Whatever else its name says."""
    raw = written(tmp_path, remote="")
    home, _, _ = two_repositories(tmp_path)
    before = facts(home)
    reply: ImportedOut = imported(home, with_facts(raw, (name, b"u" * 16)))
    assert (reply.wrong_count, facts(home)) == (0, before)
    with opened(home) as (store, _), store.read() as snapshot:
        assert name not in dict(snapshot.settings("repo/"))
        assert dict(snapshot.settings("same/")) == {}
