"""What an export may say of repositories that is false, odd or too much, by what docs/export.md promises of it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from memd_client import api
from memd_daemon import limits
from memd_daemon.model.ids import uid_text
from memd_daemon.store.check import verify
from memd_daemon.store.log_read import LogSnapshot
from tests.service.desk import context_of, git
from tests.service.exchange_shop import HOST, MINE, Shop, listed, sees, their_uid, told
from tests.service.test_exchange_repos import (
    FOUND,
    RULE,
    TRAP,
    clone,
    desk_in,
    export_of,
    facts,
    holds,
    with_facts,
)
from tests.store.exchanging import (
    as_lines,
    backed_up,
    first,
    imported,
    lines_of,
    notes_of,
    opened,
    quick_folder,
    restore_into,
    sealed,
)
from tests.store.making import event, foreign_commit, fresh_uid, recorded


@pytest.fixture(scope="module")
def shop() -> Iterator[Shop]:
    with quick_folder() as root:
        yield Shop(root)


# --- remotes


@pytest.mark.parametrize(
    ("theirs", "ours", "same"),
    [
        ("HTTPS://GIT.Example.ORG/tools/app.git", HOST.format("app"), True),
        ("https://git.example.org/tools/app/", HOST.format("app"), True),
        ("ssh://git@git.example.org/tools/app.git#frag", "ssh://git@git.example.org/tools/app.git", True),
        ("https://a:p%40ss@git.example.org/tools/app", HOST.format("app"), True),
        ("https://git.example.org/Tools/App.git", "https://git.example.org/tools/app.git", False),
        ("https://git.example.org/tools/caf\u00e9", "https://git.example.org/tools/cafe", False),
        ("https://git.example.org/tools/../tools/app", "https://git.example.org/tools/../other/app", False),
        ("git@git.localhost:tools/app.git", "git@git.localhost:tools/app.git", False),
        ("https://[2001:db8::1]/tools/app", "https://[2001:db8::2]/tools/app", False),
        ("git@localhost:tools/app.git", "git@localhost:tools/app.git", False),
        ("http://localhost:3000/tools/app.git", "http://localhost:3000/tools/app.git", False),
        ("http://127.0.0.1:3000/tools/app.git", "http://127.0.0.1:3000/tools/app.git", False),
        ("http://[::1]:3000/tools/app.git", "http://[::1]:3000/tools/app.git", False),
        ("file://localhost/srv/app.git", "file://localhost/srv/app.git", False),
        ("file://server/srv/app.git", "/srv/app.git", False),
        ("../app.git", "../app.git", False),
        ("./odd:app.git", "./odd:app.git", False),
        ("~/git/app.git", "~/git/app.git", False),
        ("ext::sh -c cat% app", "ext::sh -c cat% app", False),
        ("https://", "https://", False),
        ("git@:tools/app", "git@:tools/app", False),
    ],
)
def test_a_remote_is_one_on_a_host(shop: Shop, tmp_path: Path, theirs: str, ours: str, same: bool) -> None:
    """However it is written; what leads to this machine, or nowhere, leads elsewhere on another one."""
    repo = shop.with_remote(ours)
    home = shop.home(tmp_path, repo)
    imported(home, shop.written(theirs))
    assert told(home, repo) == same


# --- claims


def claims(shop: Shop, raw: bytes) -> dict[str, list[tuple[str, bytes]]]:
    remote, later = shop.row(shop.app, "remote")[0], shop.row(shop.later, "remote")[0]
    root = shop.row(shop.base, "root")[0].rsplit("/", 1)[0]
    it, mine, store = their_uid(raw), shop.uid(shop.app), bytes.fromhex(lines_of(raw)[0]["store"])
    t = uid_text
    return {
        "my uid has another's remote": [(later, mine)],
        "my uid has another's remote, as a third store said": [(f"repo/theirs/{t(mine)}/{later[5:]}", b"t" * 16)],
        "my uid is the same as another": [(f"repo/same/{t(mine)}", it)],
        "the null uid": [(remote, bytes(16)), (later, b"\xff" * 16)],
        "the store's own uid": [(remote, store), (later, store)],
        "a decision": [(f"repo/same/{t(it)}", mine)],
        "decisions in a circle": [(f"repo/same/{t(it)}", b"x" * 16), (f"repo/same/{t(b'x' * 16)}", it)],
        "a decision of itself": [(f"repo/same/{t(it)}", it), (f"repo/same/{t(mine)}", mine)],
        "a path that is mine": [(shop.row(shop.app, "common")[0], it)],
        "first commits with a strange remote": [(f"{root}/{t(it)}", it)],
        "a strange form": [(remote.upper(), it), (remote + "/", it), (remote + "\0", it), (remote + " ", it)],
        "a setting": [("stop", b"1"), ("same/x", b"s" * 16), (f"same/{t(it)}", mine)],
        "as a third store said, in capitals": [(f"repo/theirs/{t(it).upper()}/{remote[5:]}", b"t" * 16)],
    }


@pytest.mark.parametrize("what", [
    "my uid has another's remote", "my uid has another's remote, as a third store said", "my uid is the same as another",
    "the null uid", "the store's own uid", "a decision", "decisions in a circle", "a decision of itself", "a path that is mine",
    "first commits with a strange remote", "a strange form", "a setting", "as a third store said, in capitals",
])  # fmt: skip
def test_no_false_word_moves_a_note(shop: Shop, tmp_path: Path, what: str) -> None:
    """The colleague's repository is a strange one: its notes hold in none of mine, and mine stay where they are."""
    raw = shop.written(HOST.format("strange"))
    home = shop.home(tmp_path, shop.app)
    before = facts(home)
    imported(home, with_facts(raw, *claims(shop, raw)[what]), skip_wrong=True)
    assert {k: v for k, v in facts(home).items() if k in before} == before
    assert not told(home, shop.app)
    assert MINE in sees(home, shop.app)
    assert sees(home, shop.later) == []
    with opened(home) as (store, _):
        assert verify(store) == []


def test_remotes_that_are_several_repositories_here_tell_nothing(shop: Shop, tmp_path: Path) -> None:
    """One of theirs with the remotes of two of mine."""
    raw = shop.written(HOST.format("strange"))
    home = shop.home(tmp_path, shop.app, shop.later)
    later = next(n for n in facts(home) if n.startswith("repo/remote/") and n != shop.row(shop.app, "remote")[0])
    imported(home, with_facts(raw, *((n, their_uid(raw)) for n in (shop.row(shop.app, "remote")[0], later))))
    assert [told(home, shop.app), told(home, shop.later)] == [False, False]


def test_two_of_theirs_may_be_one_of_mine(shop: Shop, tmp_path: Path) -> None:
    """As after a restore there, which had the repository get a uid once more."""
    raw = shop.written(HOST.format("app"))
    home = shop.home(tmp_path, shop.app)
    imported(home, with_facts(raw, (shop.row(shop.app, "remote")[0], b"q" * 16)))
    assert told(home, shop.app)


def test_thousands_that_claim_one_repository_leave_room_for_a_colleague(shop: Shop, tmp_path: Path) -> None:
    """By one export's own word, and as what third stores said to it."""
    evil, raw = shop.written(HOST.format("strange")), shop.written(HOST.format("app"))
    home = shop.home(tmp_path, shop.app)
    remote = shop.row(shop.app, "remote")[0]
    uids = [n.to_bytes(16, "big") for n in range(2000)]
    heard = [(f"repo/theirs/{uid_text(one)}/{remote[5:]}", one[::-1]) for one in uids[1000:]]
    imported(home, with_facts(evil, *((remote, one) for one in uids[:1000]), *heard))
    with opened(home) as (store, _), store.read() as snapshot:
        assert isinstance(snapshot, LogSnapshot)
        names = [len(one) for one in snapshot.other_names().values()]
    assert names == [limits.REPOSITORY_NAMES_HEARD_MAX]
    imported(home, raw)
    assert told(home, shop.app)


def test_what_is_said_of_one_repository_is_bounded(shop: Shop, tmp_path: Path) -> None:
    """All of it is looked at on the way to an answer, when one of its remotes is first seen here."""
    raw = shop.written(HOST.format("app"))
    home = shop.home(tmp_path, shop.plain)
    crowd = [(f"repo/remote/{n:032x}", their_uid(raw)) for n in range(limits.REPOSITORY_SAID_MAX + 50)]
    imported(home, with_facts(raw, *crowd))
    with opened(home) as (store, _), store.read() as snapshot:
        said = list(snapshot.settings(f"repo/theirs/{uid_text(their_uid(raw))}/"))
    assert len(said) == limits.REPOSITORY_SAID_MAX


def test_a_false_word_that_came_first_is_the_one_that_is_heard(shop: Shop, tmp_path: Path) -> None:
    """It keeps the colleague's notes waiting, which is a loss; the other way would take them somewhere."""
    evil, raw = shop.written(HOST.format("strange")), shop.written(HOST.format("app"))
    home = shop.home(tmp_path, shop.app)
    imported(home, with_facts(evil, ("repo/remote/" + "0" * 32, their_uid(raw))))
    imported(home, raw)
    assert not told(home, shop.app)


# --- orders


def test_a_decision_outlives_a_second_copy(shop: Shop, tmp_path: Path) -> None:
    """A second repository with those first commits comes after the decision."""
    raw = shop.written("")
    repo = clone(shop.base, tmp_path / "mine")
    home = shop.home(tmp_path, repo)
    imported(home, raw)
    copy = clone(shop.base, tmp_path / "copy")
    assert told(home, repo)
    assert not told(home, copy)
    assert told(home, repo, "s2")


def test_a_decision_outlives_its_remote(shop: Shop, tmp_path: Path) -> None:
    """The repository moved to another host since."""
    raw = shop.written(HOST.format("app"))
    repo = clone(shop.base, tmp_path / "mine", HOST.format("app"))
    home = shop.home(tmp_path, repo)
    imported(home, raw)
    git(repo, "remote", "set-url", "origin", HOST.format("elsewhere"))
    assert told(home, repo)


def test_another_remote_that_is_given_while_it_works(shop: Shop, tmp_path: Path) -> None:
    """Nothing that was answered before outlives the decision."""
    raw = shop.written(HOST.format("new"))
    repo = clone(shop.base, tmp_path / "mine", HOST.format("old"))
    home = shop.home(tmp_path, repo)
    imported(home, raw)
    with desk_in(home, repo) as desk:
        assert not holds(desk)
        assert desk.ask(api.Decisions(cwd=str(repo))).found == []
        git(repo, "remote", "set-url", "origin", HOST.format("new"))
        assert holds(desk, "s2")
        assert MINE in listed(desk)


@pytest.mark.parametrize("when", ["before the import", "after it"])
def test_a_remote_on_one_side_alone_tells_nothing_whenever_it_came(shop: Shop, tmp_path: Path, when: str) -> None:
    """Its first commits are known here from the time when it had none; what was decided by them then stays."""
    raw = shop.written("")
    repo = clone(shop.base, tmp_path / "mine")
    home = tmp_path / "home"
    for number, remote in enumerate(("", HOST.format("mine"))):
        if remote and when == "after it":
            imported(home, raw)
        if remote:
            git(repo, "remote", "add", "origin", remote)
        with desk_in(home, repo) as desk:
            desk.remember(f"Mine {number}.")
    imported(home, raw)
    assert told(home, repo) == (when == "after it")


@pytest.mark.parametrize("how", ["subdirectory", "worktree", "prompt", "edit"])
def test_whatever_sees_the_repository_first(shop: Shop, tmp_path: Path, how: str) -> None:
    """What waited holds for the very event that came with it."""
    raw = shop.written(HOST.format("app"))
    repo = clone(shop.base, tmp_path / "mine", HOST.format("app"))
    home = shop.home(tmp_path, shop.plain)
    imported(home, raw)
    where = repo
    if how == "worktree":
        git(repo, "worktree", "add", "-q", str(tmp_path / "tree"))
        where = tmp_path / "tree"
    with desk_in(home, where) as desk:
        if how == "subdirectory":
            (repo / "sub").mkdir()
            desk.repo = repo / "sub"
            assert RULE in context_of(desk.start("s0"))
            desk.repo = repo
        elif how == "prompt":
            desk.prompt("hello", "s0")
        elif how == "edit":
            assert TRAP in desk.edit("app.py", "s0")
        assert holds(desk)


def test_more_of_the_same_store(shop: Shop, tmp_path: Path) -> None:
    """A later export of it, and then the first one again."""
    repo = clone(shop.base, tmp_path / "anna", HOST.format("app"))
    with desk_in(tmp_path / "a", repo) as desk:
        desk.remember(RULE, kind="directive")
        desk.remember(TRAP, kind="gotcha", anchors=["app.py"], priority="high")
        one = export_of(desk)
        desk.remember(FOUND)
        two = export_of(desk)
    home = shop.home(tmp_path, shop.app)
    imported(home, one)
    assert RULE in sees(home, shop.app)
    imported(home, two)
    assert told(home, shop.app)
    before = facts(home)
    assert imported(home, one).kept == ""
    assert facts(home) == before


def test_there_and_back(shop: Shop, tmp_path: Path) -> None:
    """A -> B -> A -> B: every one of both holds at both, once, and B's correction of A's note is told at A."""
    mine, theirs = (clone(shop.base, tmp_path / n, HOST.format("app")) for n in ("mine", "theirs"))
    a, b = tmp_path / "a", tmp_path / "b"
    with desk_in(a, mine) as desk:
        desk.remember("Anna's first.")
        desk.remember("Anna's wrong one.")
        raw = export_of(desk)
    with desk_in(b, theirs) as desk:
        desk.remember("Bert's first.")
    imported(b, raw)
    with desk_in(b, theirs) as desk:
        ids = {one.content: one.id for one in desk.ask(api.ListNotes(cwd=str(theirs))).notes}
        desk.remember("Bert knows better than the wrong one.", contradicts=str(ids["Anna's wrong one."]))
        desk.act("amend", ids["Anna's first."], tags=["seen"], scope="repo")
        raw = export_of(desk)
    before = facts(a)
    every = ["Anna's first.", "Anna's wrong one.", "Bert knows better than the wrong one.", "Bert's first."]
    for home, repo in ((a, mine), (b, theirs), (a, mine)):
        imported(home, raw)
        with desk_in(home, repo) as desk:
            assert sorted(listed(desk)) == every
            assert listed(desk, revoked=True) == ["Anna's wrong one."]
            assert verify(desk.daemon.parts.store) == []
            raw = export_of(desk)
    assert {name: value for name, value in facts(a).items() if name in before} == before


@pytest.mark.parametrize("when", ["before the import", "after it"])
def test_a_restore_and_the_import_again(shop: Shop, tmp_path: Path, when: str) -> None:
    """Notes go and come with the store that has them; none comes under the number of another."""
    raw = shop.written(HOST.format("app"))
    home, backup = shop.home(tmp_path, shop.app), tmp_path / "b.backup"
    if when == "before the import":
        backed_up(home, backup)
    imported(home, raw)
    numbers = {note.uid: n for n, note in notes_of(home).items()}
    if when == "after it":
        backed_up(home, backup)
    assert told(home, shop.app)
    restore_into(home, backup)
    assert told(home, shop.app, "s2") == (when == "after it")
    imported(home, raw)
    assert told(home, shop.app, "s3")
    again = {note.uid: n for n, note in notes_of(home).items()}
    for uid, n in again.items():
        assert numbers.get(uid, n) == n or n not in numbers.values()
    with opened(home) as (store, _):
        assert verify(store) == []


def test_outside_git(shop: Shop, tmp_path: Path) -> None:
    """A directory that is no repository has nothing of it until it becomes the clone."""
    place = tmp_path / "place"
    place.mkdir()
    raw = shop.written("")
    home = shop.home(tmp_path, shop.plain)
    imported(home, raw)
    assert sees(home, place) == []
    git(place, "init", "-q")
    assert sees(home, place) == []
    git(place, "remote", "add", "origin", HOST.format("app"))
    imported(home, shop.written(HOST.format("app")))
    assert RULE in sees(home, place)


def test_an_empty_repository_of_mine(shop: Shop, tmp_path: Path) -> None:
    """No remote, no commit: it is mine all the same."""
    place = tmp_path / "place"
    place.mkdir()
    git(place, "init", "-q")
    home = shop.home(tmp_path, shop.plain, place)
    uid = next(v for n, v in facts(home).items() if n.startswith("repo/common/") and v != shop.uid(shop.plain))
    raw = shop.written(HOST.format("strange"))
    imported(home, with_facts(raw, (shop.row(shop.later, "remote")[0], uid)))
    assert sees(home, shop.later) == []
    assert MINE + str(place) in sees(home, place)


# --- what a note says of its scope


@pytest.mark.parametrize(
    "shape", ["repo:{}/", "repo:{} ", "repo:{}x", "REPO:{}", "repo:", "session:{}", "repo:{}\0", "repo:*"]
)
@pytest.mark.parametrize("upper", [False, True])
def test_a_scope_that_looks_like_it_is_not_it(shop: Shop, tmp_path: Path, shape: str, upper: bool) -> None:
    """Nor does it break what lists all scopes."""
    raw = shop.written(HOST.format("app"))
    text = uid_text(their_uid(raw))
    scope = shape.format(text.upper() if upper else text)
    lines = lines_of(raw)
    origin = b"\xff" * 16
    made = event("recorded", fresh_uid(), recorded(scope=scope, kind="directive"))
    commit = foreign_commit([(made, b"")], origin=origin, seq=1, hlc=1 << 60, store=bytes.fromhex(lines[0]["store"]))
    at = first(lines, "fact")
    lines[at:at] = as_lines(commit, origin)
    home = shop.home(tmp_path, shop.app)
    imported(home, sealed(lines), skip_wrong=True)
    with desk_in(home, shop.app) as desk:
        assert holds(desk)
        with desk.daemon.parts.store.read() as snapshot:
            id_ = snapshot.id_of(made.note)
        assert id_ not in [one.id for one in desk.ask(api.ListNotes(cwd=str(shop.app))).notes]
        assert desk.ask(api.ListNotes(cwd=str(shop.app), all_scopes=True)).notes
        assert desk.recall("linter", all_scopes=True).found


def test_what_goes_by_scope_goes_by_all_of_its_names(shop: Shop, tmp_path: Path) -> None:
    """Decisions, what was superseded here or before it came, here and by all scopes."""
    repo = clone(shop.base, tmp_path / "anna", HOST.format("app"))
    with desk_in(tmp_path / "a", repo) as desk:
        desk.remember("We keep the lock in the resolver.", kind="decision")
        desk.remember(TRAP, kind="gotcha", anchors=["app.py"])
        raw = export_of(desk)
    home = shop.home(tmp_path, shop.plain)
    imported(home, raw)
    mine = clone(shop.base, tmp_path / "mine", HOST.format("app"))
    with desk_in(home, mine) as desk:
        found = desk.ask(api.Decisions(cwd=str(mine))).found
        assert [one.note.content for one in found] == ["We keep the lock in the resolver."]
        assert TRAP in [one.note.content for one in desk.recall("add called from C").found]
        id_ = found[0].note.id
        words = "We keep the lock in the store, not in the resolver."
        made = desk.remember(words, kind="decision", supersedes=str(id_))
        assert [one.note.id for one in desk.ask(api.Decisions(cwd=str(mine))).found] == [id_, made.id]
        both = [one.note.id for one in desk.recall("lock in the resolver", superseded=True).found]
        assert {id_, made.id} <= set(both)
        assert id_ not in [one.note.id for one in desk.recall("lock in the resolver").found]
        raw = export_of(desk)
    third = shop.fresh()
    shutil.copytree(shop.lived(shop.app), third)
    imported(third, raw)  # a note that was out of the working set before it came
    with desk_in(third, shop.app) as desk:
        assert words in [one.note.content for one in desk.recall("lock in the resolver").found]
        asked = desk.recall("lock in the resolver", superseded=True, all_scopes=True).found
        here = desk.recall("lock in the resolver", superseded=True).found
        old = "We keep the lock in the resolver."
        assert [old in [one.note.content for one in found] for found in (asked, here)] == [True, True]
