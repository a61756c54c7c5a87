"""Anchors as people and agents write them: what is taken, what is said of it, and what is refused with what to do instead."""

import os
from pathlib import Path
from typing import Any

import pytest

from memd_client import api
from memd_daemon import errors, limits
from memd_daemon.ground import refused
from memd_daemon.ground.repository import find_checkout, head_of
from memd_daemon.model.note import Note
from memd_daemon.service.anchoring import written
from memd_daemon.service.refs import note_at
from tests.service.desk import Desk, context_of, desk_at, git

CORE = """\
TIMEOUT = 30


class Lock:
    def take(self):
        return TIMEOUT

    def drop(self):
        return None


class Door:
    def take(self):
        return 1


def twice():
    return 1


def twice():
    return 2
"""
CLAIM = "Mind the lock: it is not reentrant."


@pytest.fixture
def tree(desk: Desk) -> Path:
    """A repository with a package, two files of one name, a settings file and a text that no grammar reads."""
    write(desk, "pkg/core.py", CORE)
    write(desk, "pkg/util.py", "x = 1\n")
    write(desk, "web/util.py", "x = 2\n")
    write(desk, "conf.toml", "[tool]\nwidth = 100\n")
    write(desk, "run.txt", "start_engine is called first\nstop is called\nstop is called twice\n")
    git(desk.repo, "add", ".")
    git(desk.repo, "commit", "-qm", "a package")
    return desk.repo


def write(desk: Desk, path: str, text: str) -> None:
    (desk.repo / path).parent.mkdir(parents=True, exist_ok=True)
    (desk.repo / path).write_text(text)


def noted(desk: Desk, *anchors: str, content: str = CLAIM, cwd: str = "", **words: Any) -> api.Remembered:
    request = api.Remember(content=content, anchors=list(anchors), cwd=str(desk.repo / cwd), **words)
    made: api.Remembered = desk.ask(request)
    return made


def note(desk: Desk, id_: int) -> Note:
    with desk.daemon.parts.store.read() as snapshot:
        return note_at(snapshot, str(id_))


def kept(desk: Desk, *anchors: str, **words: Any) -> list[str]:
    return [written(a) for a in note(desk, noted(desk, *anchors, **words).id).anchors]


# --- what is taken


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("pkg/core.py", "pkg/core.py"),
        ("./pkg/../pkg/core.py", "pkg/core.py"),
        ("pkg/core.py::Lock.take", "pkg/core.py::Lock.take"),
        ("pkg/core.py::drop", "pkg/core.py::Lock.drop"),
        ("pkg/core.py::Lock::drop()", "pkg/core.py::Lock.drop"),
        ("pkg/core.py#L5-L6", "pkg/core.py#L5-L6"),
        ("pkg/core.py#L5-6", "pkg/core.py#L5-L6"),
        ("pkg/core.py#L5", "pkg/core.py#L5"),
        ("pkg/core.py::TIMEOUT=30", "pkg/core.py::TIMEOUT=30"),
        ("conf.toml::tool.width=100", "conf.toml::tool.width=100"),
        ('pkg/core.py ~ "return TIMEOUT"', 'pkg/core.py ~ "return TIMEOUT"'),
        ("!legacy.py", "!legacy.py"),
        ("!pkg/legacy", "!pkg/legacy"),
    ],
)
def test_each_form_is_taken(desk: Desk, tree: Path, given: str, taken: str) -> None:
    """With the commit and branch it was taken at; and then it stands."""
    made = noted(desk, given)
    (anchor,) = note(desk, made.id).anchors
    assert (written(anchor), made.told) == (taken, [])
    assert (anchor.commit, anchor.checkout_branch) == (git(tree, "rev-parse", "HEAD").strip(), "main")
    shown = desk.ask(api.Show(ref=str(made.id), cwd=str(tree)))
    assert shown.note.stale == []
    assert ": matches current state" in shown.text


@pytest.mark.parametrize("name", ["a::b", "!important.py", "notes#L1-L2", 'x ~ "y"', "A=1"])
def test_a_file_whose_very_name_was_written_is_that_file(desk: Desk, tree: Path, name: str) -> None:
    """Whatever it looks like."""
    write(desk, name, "1\n")
    (anchor,) = note(desk, noted(desk, name).id).anchors
    assert (anchor.form, anchor.path, anchor.part) == ("file", name, "")


def test_parts_of_one_file_are_anchors_of_their_own(desk: Desk, tree: Path) -> None:
    """Each once, however it was written; the same file as a proxy is that file's proxy."""
    given = [
        "pkg/core.py",
        "pkg/core.py::Lock.take",
        "pkg/core.py::drop",
        "pkg/core.py#L1",
        "pkg/../pkg/core.py::Lock.drop",
    ]
    made = noted(desk, *given, "pkg/core.py::TIMEOUT=30", proxies=["pkg/core.py"])
    assert [(written(a), a.proxy) for a in note(desk, made.id).anchors] == [
        ("pkg/core.py", True),
        ("pkg/core.py::Lock.take", False),
        ("pkg/core.py::Lock.drop", False),
        ("pkg/core.py#L1", False),
        ("pkg/core.py::TIMEOUT=30", False),
    ]


@pytest.mark.parametrize(("cwd", "where"), [("", ""), ("web", ", from the repository's root")])
def test_a_bare_name_is_the_only_file_of_that_name(desk: Desk, tree: Path, cwd: str, where: str) -> None:
    """Wherever it lies, and whatever part of it is meant; the answer says which."""
    made = noted(desk, "core.py::Lock.take", cwd=cwd)
    assert [written(a) for a in note(desk, made.id).anchors] == ["pkg/core.py::Lock.take"]
    assert made.told == [f"there is no core.py in the current directory; anchored to pkg/core.py{where}"]


def test_a_bare_name_of_several_files_is_refused_with_them(desk: Desk, tree: Path) -> None:
    """The one in the current directory is meant where there is one."""
    with pytest.raises(refused.AnchorInSeveralPlaces, match=r"pkg/util\.py, web/util\.py"):
        noted(desk, "util.py")
    assert kept(desk, "util.py", cwd="web") == ["web/util.py"]


def test_a_path_from_the_root_is_taken_from_below_it(desk: Desk, tree: Path) -> None:
    """As agents write them wherever they stand; the answer says so."""
    made = noted(desk, "pkg/core.py", cwd="web")
    assert [written(a) for a in note(desk, made.id).anchors] == ["pkg/core.py"]
    assert made.told[0].endswith("directory; anchored to pkg/core.py, from the repository's root")


def test_a_bare_name_is_no_pattern(desk: Desk, tree: Path) -> None:
    """Neither for git nor outside of it."""
    for name in ("*.py", "cor?.py", "[c]ore.py", ":(top)core.py"):
        with pytest.raises(errors.AnchorMissing):
            noted(desk, name)


def test_outside_git_a_bare_name_is_looked_for_in_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is more than is looked at, nobody knows that it is the only one."""
    plain = tmp_path / "plain"
    (plain / "deep" / "er").mkdir(parents=True)
    (plain / ".hidden").mkdir()
    (plain / "deep" / "er" / "only.py").write_text("x = 1\n")
    (plain / ".hidden" / "only.py").write_text("x = 1\n")
    with desk_at(tmp_path) as desk:
        made = desk.ask(api.Remember(content=CLAIM, anchors=["only.py"], cwd=str(plain)))
        assert made.told == ["there is no only.py in the current directory; anchored to deep/er/only.py"]
        monkeypatch.setattr(limits, "ANCHOR_WALK_MAX", 2)
        with pytest.raises(errors.AnchorMissing):
            desk.ask(api.Remember(content=CLAIM + " Twice.", anchors=["only.py"], cwd=str(plain)))


def test_where_no_grammar_reads_a_file_the_one_line_with_the_name_is_anchored(desk: Desk, tree: Path) -> None:
    """And said so; where it stands nowhere or on several lines, the lines have to be named."""
    made = noted(desk, "run.txt::start_engine")
    assert [written(a) for a in note(desk, made.id).anchors] == ["run.txt#L1"]
    assert made.told == [
        "memd reads no symbols in run.txt; anchored to the one line where start_engine stands: run.txt#L1"
    ]
    with pytest.raises(errors.NoGrammar, match=r"run\.txt#L10-L42"):
        noted(desk, "run.txt::absent")
    with pytest.raises(refused.SymbolOnLines, match=r"run\.txt#L2, run\.txt#L3"):
        noted(desk, "run.txt::stop")


# --- what is refused


@pytest.mark.parametrize(
    ("given", "refusal", "says"),
    [
        ("pkg/core.py::take", refused.AmbiguousSymbol, "pkg/core.py::Lock.take, pkg/core.py::Door.take"),
        ("pkg/core.py::twice", refused.AmbiguousSymbol, "pkg/core.py#L17-L18, pkg/core.py#L21-L22"),
        ("pkg/core.py::dorp", refused.NoSuchSymbol, "did you mean Lock.drop"),
        ("pkg/core.py::zzz", refused.NoSuchSymbol, "There is no zzz in pkg/core.py: name"),
        ("pkg/core.py#L0", refused.AnchorNotLines, "count from 1"),
        ("pkg/core.py#L9-L5", refused.AnchorNotLines, "count from 1"),
        ("pkg/core.py#L1-L23", refused.AnchorPastEnd, "has 22 lines"),
        ("pkg/core.py#L2-L3", refused.AnchorBlank, "hold nothing"),
        ("pkg/core.py::TIMEOUT=45", refused.ClaimNotSo, "it is 30 now"),
        ("pkg/core.py::LIMIT=45", refused.ClaimNotSo, "(it is not there)"),
        ('pkg/core.py ~ "return 9"', refused.ClaimNotSo, "does not hold"),
        ("!pkg/core.py", refused.ClaimNotSo, "it exists"),
        ("!pkg", refused.ClaimNotSo, "it exists"),
        ("!../outside.py", errors.AnchorOutside, "outside the repository"),
        ("../outside.py::f", errors.AnchorOutside, "outside the repository"),
        ("/etc/passwd#L1", errors.AnchorOutside, "outside the repository"),
        ("gone.py::f", errors.AnchorMissing, "The anchor gone.py does not exist"),
        ("pkg/core.py:4", errors.AnchorMissing, "(did you mean pkg/core.py#L4?)"),
        ("pkg/core.py#4-5", errors.AnchorMissing, "(did you mean pkg/core.py#L4-L5?)"),
        ("pkg/core.py:Lock.take", errors.AnchorMissing, "(did you mean pkg/core.py::Lock.take?)"),
        ("gone.py:4", errors.AnchorMissing, "does not exist in this checkout: check"),
        ("pkg::f", errors.AnchorNotAFile, "not a regular file"),
        ("", errors.AnchorOutside, ""),
        ("pkg/core.py::Lock\ntake", errors.NotOneLine, ""),
        ("pkg/core.py ~ " + "x" * 200, errors.TextTooLong, ""),
        ("x" * 5000, errors.TextTooLong, ""),
        ("pkg/\ud800.py", errors.NotUnicode, ""),
    ],
)
def test_what_is_wrong_is_refused_with_what_to_do(
    desk: Desk, tree: Path, given: str, refusal: type[errors.MemdError], says: str
) -> None:
    """Nothing is stored."""
    with pytest.raises(refusal) as found:
        noted(desk, given)
    assert says in found.value.message
    assert desk.ask(api.ListNotes(cwd=str(tree))).notes == []


def test_a_proxy_is_a_whole_file(desk: Desk, tree: Path) -> None:
    """It stands for a process, and not for what somebody says of a part of it."""
    with pytest.raises(refused.ProxyIsAFile):
        noted(desk, proxies=["conf.toml::tool.width=100"])


@pytest.mark.parametrize("form", ["conf.toml::token={}", 'conf.toml ~ "{}"', "!{}.txt", "{}.txt"])
def test_no_anchor_keeps_a_credential(desk: Desk, tree: Path, form: str) -> None:
    """Neither in a path nor in what is claimed, and the refusal does not repeat it."""
    secret = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
    write(desk, "conf.toml", f'token = "{secret}"\n')
    write(desk, f"{secret}.txt" if form == "{}.txt" else "other.txt", "x\n")
    with pytest.raises(errors.MemdError) as found:
        noted(desk, form.format(secret))
    assert isinstance(found.value, refused.AnchorHoldsSecret | errors.NameHoldsSecret)
    assert secret not in found.value.message


def test_a_false_claim_about_a_credential_does_not_tell_it(desk: Desk, tree: Path) -> None:
    """The value now is what the refusal would name."""
    secret = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
    write(desk, "conf.toml", f'token = "{secret}"\n')
    with pytest.raises(refused.ClaimNotSo) as found:
        noted(desk, "conf.toml::token=none")
    assert secret not in found.value.message


def test_no_part_of_what_is_no_text_or_too_large(desk: Desk, tree: Path) -> None:
    """The whole file can be anchored all the same."""
    (tree / "data.bin").write_bytes(b"a\0b\n")
    with (tree / "huge.txt").open("wb") as file:
        file.truncate(limits.SOURCE_MAX_BYTES + 1)
    for name in ("data.bin", "huge.txt"):
        with pytest.raises(refused.AnchorPartless):
            noted(desk, f"{name}#L1")
        assert kept(desk, name, content=f"{name} is made by hand.") == [name]


# --- the commit that is checked out


def test_the_head_is_read_from_git_s_files(desk: Desk, tree: Path) -> None:
    """Loose, packed, detached, in a worktree, and before the first commit."""
    head = git(tree, "rev-parse", "HEAD").strip()
    assert head_of(find_checkout(str(tree))) == head
    git(tree, "pack-refs", "--all")
    assert head_of(find_checkout(str(tree))) == head
    git(tree, "worktree", "add", "-q", str(tree.parent / "side"), "-b", "side")
    assert head_of(find_checkout(str(tree.parent / "side"))) == head
    git(tree, "checkout", "-q", "--detach")
    assert head_of(find_checkout(str(tree))) == head
    git(tree, "checkout", "-q", "--orphan", "new")
    assert head_of(find_checkout(str(tree))) == ""
    assert head_of(find_checkout(str(tree.parent))) == ""


# --- files that the content names


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("pkg/core.py:214 holds the lock, see `web/util.py`.", ["pkg/core.py", "web/util.py"]),
        ("core.py is somewhere, https://e.org/conf.toml elsewhere.", []),
        ("Set width in conf.toml; pkg is a folder, .git/config is git's.", ["conf.toml"]),
        ("(pkg/core.py::Lock.take) and ./pkg/core.py#L4 are one file.", ["pkg/core.py"]),
        ("../outside.py and /etc/passwd are not ours.", []),
    ],
)
def test_what_a_content_names_by_path_is_kept(desk: Desk, tree: Path, content: str, named: list[str]) -> None:
    """Existing files of the repository, with what they hold."""
    mentions = note(desk, noted(desk, content=content).id).mentions
    assert [m.path for m in mentions] == named
    assert all(len(m.digest) == limits.ANCHOR_DIGEST_BYTES and m.commit for m in mentions)


def test_what_an_anchor_names_is_no_mention_and_few_are_kept(desk: Desk, tree: Path) -> None:
    """MENTIONS_MAX at most."""
    made = noted(desk, "pkg/core.py::drop", content="pkg/core.py calls pkg/util.py")
    assert [m.path for m in note(desk, made.id).mentions] == ["pkg/util.py"]
    for number in range(20):
        write(desk, f"m/{number}.py", "x\n")
    made = noted(desk, content=" ".join(f"m/{number}.py" for number in range(20)))
    assert len(note(desk, made.id).mentions) == limits.MENTIONS_MAX


def test_a_mentioned_file_that_changed_is_told(desk: Desk, tree: Path) -> None:
    """Recalled and pushed; until somebody confirms the note."""
    made = noted(desk, content="The width of the importer's lines stands in conf.toml.")
    prompt = "where is the width of the importer's lines set?"
    assert "mentions" not in desk.prompt(prompt, "s1")
    write(desk, "conf.toml", "[tool]\nwidth = 120\n")
    assert "VERDICT: anchor changed since — verify: conf.toml [mtime_newer]" in desk.recall(prompt).text
    assert "(mentions: conf.toml, status: changed since — verify)" in context_of(desk.prompt(prompt, "s2"))
    desk.act("confirm", made.id)
    assert "VERDICT" not in desk.recall(prompt).text


# --- taken again


def test_confirm_takes_every_form_anew(desk: Desk, tree: Path) -> None:
    """What has changed stands again; class and confidence are what they were."""
    given = ["pkg/core.py", "pkg/core.py::Lock.take", "pkg/core.py#L8-L9", "pkg/core.py::TIMEOUT=30", "!gone.py"]
    made = noted(desk, *given)
    before = note(desk, made.id)
    write(desk, "pkg/core.py", CORE.replace("return TIMEOUT", "return TIMEOUT * 2").replace("return None", "return 0"))
    assert [s.signal for s in shown(desk, made.id).stale] == ["block_changed", "block_changed"]
    git(tree, "commit", "-qam", "changed")
    done = desk.act("confirm", made.id)
    after = note(desk, made.id)
    assert (shown(desk, made.id).stale, done.told) == ([], [])
    assert {a.commit for a in after.anchors} == {git(tree, "rev-parse", "HEAD").strip()}
    assert (after.provenance, after.last_confirmed_at > 0) == (before.provenance, True)
    write(desk, "pkg/core.py", CORE)
    assert [s.signal for s in shown(desk, made.id).stale] == ["block_changed", "block_changed"]


def shown(desk: Desk, id_: int) -> api.NoteOut:
    reply: api.ShowReply = desk.ask(api.Show(ref=str(id_), cwd=str(desk.repo)))
    return reply.note


def test_what_is_gone_or_false_is_left_and_told(desk: Desk, tree: Path) -> None:
    """A symbol, a file, a claim: the note stays stale for them."""
    write(desk, "late.py", "x = 1\n")
    given = ["late.py", "pkg/core.py::Lock.take", "pkg/core.py::TIMEOUT=30", "!gone.py"]
    made = noted(desk, *given)
    (tree / "late.py").unlink()
    write(desk, "pkg/core.py", CORE.replace("def take", "def grab").replace("= 30", "= 45"))
    write(desk, "gone.py", "")
    done = desk.act("confirm", made.id)
    assert done.told == [
        "not found here, so its hash was left; `memd amend` gives the note other anchors: late.py",
        "not found here, so its hash was left; `memd amend` gives the note other anchors: pkg/core.py::Lock.take",
        "it does not hold (now: 45), so it was left; `memd amend` gives the note other anchors: pkg/core.py::TIMEOUT=30",
        "it does not hold (now: exists), so it was left; `memd amend` gives the note other anchors: !gone.py",
    ]
    assert len(shown(desk, made.id).stale) == 4


def test_lines_are_taken_where_they_stand_now_else_where_they_stood(desk: Desk, tree: Path) -> None:
    """Moved ones are found; those that have changed are what stands at their numbers."""
    made = noted(desk, "pkg/core.py#L8-L9")
    write(desk, "pkg/core.py", "A = 1\nB = 2\n" + CORE)
    desk.act("confirm", made.id)
    assert (note(desk, made.id).anchors[0].first, shown(desk, made.id).stale) == (10, [])
    write(desk, "pkg/core.py", "A = 1\nB = 2\n" + CORE.replace("return None", "return 0"))
    desk.act("confirm", made.id)
    assert (note(desk, made.id).anchors[0].first, shown(desk, made.id).stale) == (10, [])


def test_amend_gives_a_note_any_anchors_and_says_what_it_took(desk: Desk, tree: Path) -> None:
    """Proxies stay, unless their file is anchored now."""
    made = noted(desk, "pkg/core.py", proxies=["conf.toml"])
    done = desk.act("amend", made.id, anchors=["core.py::drop", "conf.toml::tool.width=100"])
    assert [(written(a), a.proxy) for a in note(desk, made.id).anchors] == [
        ("pkg/core.py::Lock.drop", False),
        ("conf.toml::tool.width=100", False),
        ("conf.toml", True),
    ]
    assert done.told == ["there is no core.py in the current directory; anchored to pkg/core.py"]
    log = desk.ask(api.Log(ref=str(made.id), cwd=str(tree)))
    assert "amended: anchors pkg/core.py::Lock.drop, conf.toml::tool.width=100, conf.toml (proxy)" in str(log)


def test_saving_twice_is_saving_once_whatever_was_committed_meanwhile(desk: Desk, tree: Path) -> None:
    """The block is what it was; only once it has changed is it another claim."""
    first = noted(desk, "pkg/core.py::Lock.take")
    write(desk, "pkg/core.py", "A = 1\n" + CORE)
    git(tree, "commit", "-qam", "elsewhere")
    assert noted(desk, "pkg/core.py::Lock.take").id == first.id
    write(desk, "pkg/core.py", CORE.replace("return TIMEOUT", "return 1"))
    assert noted(desk, "pkg/core.py::Lock.take").id != first.id


# --- told at an edit


def test_a_gotcha_on_a_part_of_a_file_comes_with_it(desk: Desk, tree: Path) -> None:
    """By its target, with what is so of that part, and of nothing else in the file."""
    noted(desk, "pkg/core.py::Lock.take", kind="gotcha", priority="high")
    write(desk, "pkg/core.py", CORE + "EXTRA = 1\n")
    assert "(anchor: pkg/core.py::Lock.take, status: matches current state)" in context_of(
        desk.read("pkg/core.py", "s1")
    )
    write(desk, "pkg/core.py", CORE.replace("return TIMEOUT", "return 1"))
    assert "(anchor: pkg/core.py::Lock.take, status: changed since — verify)" in context_of(
        desk.read("pkg/core.py", "s2")
    )


def test_a_gotcha_on_a_file_that_is_to_stay_away_comes_when_it_is_written(desk: Desk, tree: Path) -> None:
    """Before it is there again."""
    noted(desk, "!pkg/legacy.py", kind="gotcha", content="legacy.py was taken out for good.")
    assert "(anchor: !pkg/legacy.py, status: matches current state)" in context_of(desk.edit("pkg/legacy.py"))


def test_a_file_that_cannot_be_read_is_said_to_be_that(desk: Desk, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not that it has changed."""
    noted(desk, "pkg/core.py")
    real = os.open

    def refused_(path: Any, *words: Any, **more: Any) -> int:
        if str(path).endswith("core.py"):
            raise PermissionError(13, "no")
        return real(path, *words, **more)

    (tree / "pkg" / "core.py").write_text(CORE + "\n")
    monkeypatch.setattr(os, "open", refused_)
    assert "These files could not be looked at now: pkg/core.py" in desk.recall("is the lock reentrant?").text
