"""Each act of model.md, section 2: on a plain note, an endorsed one, a revoked one, and where it cannot be."""

from typing import Any

import pytest

from memd_client import api
from memd_daemon import errors, limits
from tests.service.desk import Desk
from tests.service.test_people import Person

REASON = "it was measured"


@pytest.fixture
def person(desk: Desk) -> Person:
    return Person(desk)


def note(desk: Desk, id_: object) -> api.NoteOut:
    return desk.ask(api.Show(ref=str(id_), cwd=str(desk.repo))).note


def events(desk: Desk, id_: object) -> list[str]:
    return [e.type for e in desk.ask(api.Log(ref=str(id_))).events]


def commits(desk: Desk) -> int:
    return desk.ask(api.Status()).store["commits"]


def sound(desk: Desk) -> bool:
    """Whether the cached folds are those that the log gives."""
    return desk.ask(api.Verify()).faults == []


def endorsed(desk: Desk, person: Person, content: str, **words: Any) -> int:
    made = desk.remember(content, **{"endorse": True, **words})
    return person.seal(made.plan).id


def pair(desk: Desk) -> tuple[int, int]:
    return desk.remember("The old way is a queue.").id, desk.remember("The new way is a table.").id


# --- currency


def test_an_absorbed_note_leads_to_the_one_that_took_it_in(desk: Desk) -> None:
    """It leaves the working set and keeps its words; every name of it still resolves, and says where it went."""
    old, new = pair(desk)
    assert desk.act("absorb", old, by=str(new), reason=REASON).effect == "applied"
    gone = note(desk, old)
    assert (gone.state.currency, gone.absorbed_by, gone.content) == ("absorbed", new, "The old way is a queue.")
    shown = desk.ask(api.Show(ref=str(old), cwd=str(desk.repo))).text
    assert f"NOTE: absorbed into [{new}]: read that note." in shown
    assert old not in [f.note.id for f in desk.recall("the old way is a queue").found]
    assert desk.act("absorb", old, by=str(new)).effect == "kept"
    built = desk.remember("So drain it first.", derived_from=[str(old)])
    assert any(f"[{old}] was absorbed into [{new}]" in told for told in built.told)
    assert [s.note.id for s in desk.ask(api.Trace(ref=str(built.id), cwd=str(desk.repo))).down] == [new, old]
    assert sound(desk)


def test_a_released_note_stands_for_itself(desk: Desk) -> None:
    """And is found by a plain recall again."""
    old, new = pair(desk)
    assert desk.act("release", old).effect == "kept"
    desk.act("absorb", old, by=str(new))
    assert desk.act("release", old, reason=REASON).effect == "applied"
    assert note(desk, old).state.currency == "current"
    assert old in [f.note.id for f in desk.recall("the old way is a queue").found]


@pytest.mark.parametrize("first", ["absorb", "supersede"])
@pytest.mark.parametrize("second", ["absorb", "supersede"])
def test_no_way_on_comes_back(desk: Desk, first: str, second: str) -> None:
    """Neither two notes nor three close a circle, whichever acts it would be made of."""
    one, two = pair(desk)
    three = desk.remember("A third way is a log.").id
    desk.act(first, one, by=str(two))
    with pytest.raises(errors.SameNote):
        desk.act(second, three, by=str(three))
    if first == "absorb":  # what absorbed note one is meant where note one is named
        with pytest.raises(errors.SameNote):
            desk.act(second, two, by=str(one))
        return
    desk.act(second, two, by=str(three))
    for last in ("absorb", "supersede"):
        with pytest.raises((errors.Cycle, errors.SameNote)):
            desk.act(last, three, by=str(one))
    assert note(desk, three).state.currency == "current"


def test_a_revoked_note_takes_nothing_in(desk: Desk) -> None:
    """Its tombstone would hold what is still true; itself it may be absorbed, and its tombstone stays."""
    wrong, right = pair(desk)
    desk.act("revoke", wrong, reason=REASON)
    with pytest.raises(errors.NoteRevoked):
        desk.act("absorb", right, by=str(wrong))
    assert desk.act("absorb", wrong, by=str(right)).effect == "applied"
    assert note(desk, wrong).tombstone is not None
    assert "Previously believed" in desk.recall("the old way is a queue").text


def test_a_wrong_atom_flags_what_took_it_in(desk: Desk) -> None:
    """The absorbing note stands on it, and so does all that is built on that one; a reinstatement clears it."""
    atom, rule = pair(desk)
    leaf = desk.remember("So look at the table.", derived_from=[str(rule)]).id
    desk.act("absorb", atom, by=str(rule))
    desk.act("revoke", atom, reason=REASON)
    for one in (rule, leaf):
        assert [(f.id, f.what) for f in note(desk, one).review] == [(atom, "revoked")]
    desk.act("reinstate", atom)
    assert note(desk, rule).review == note(desk, leaf).review == []


def test_taking_a_supersession_back_clears_what_it_raised(desk: Desk) -> None:
    """And nothing else."""
    old, new = pair(desk)
    other = desk.remember("Queues are ordered.").id
    leaf = desk.remember("So drain it first.", derived_from=[str(old), str(other)]).id
    desk.act("supersede", old, by=str(new))
    desk.act("revoke", other, reason=REASON)
    desk.act("unsupersede", old)
    assert [(f.id, f.what) for f in note(desk, leaf).review] == [(other, "revoked")]


# --- shelf and task


@pytest.mark.parametrize(
    ("words", "before", "says"),
    [
        ({"kind": "directive"}, None, "a directive"),
        ({"kind": "task"}, None, "an open task"),
        ({}, "revoke", "revoked"),
    ],
)
def test_what_is_never_archived(desk: Desk, words: dict[str, str], before: str | None, says: str) -> None:
    """Rules, open work and tombstones: refused with what to do instead."""
    made = desk.remember("Look before you leap.", **words).id
    if before:
        desk.act(before, made, reason=REASON)
    with pytest.raises(errors.NotArchivable, match=says):
        desk.act("archive", made)
    assert note(desk, made).state.shelf == "active"


def test_an_archived_note_is_told_on_request_only(desk: Desk) -> None:
    """Out of the working set and back."""
    made = desk.remember("The printer is on floor two.").id
    assert desk.act("restore-note", made).effect == "kept"
    assert desk.act("archive", made, reason=REASON).effect == "applied"
    assert desk.act("archive", made).effect == "kept"
    assert desk.recall("where is the printer").found == []
    assert [f.note.id for f in desk.recall("where is the printer", superseded=True).found] == [made]
    assert desk.act("restore-note", made).effect == "applied"
    assert [f.note.id for f in desk.recall("where is the printer").found] == [made]
    assert events(desk, made) == ["recorded", "archived", "restored"]


def test_only_tasks_are_opened_and_closed(desk: Desk) -> None:
    """Twice is kept; another kind is refused."""
    task = desk.remember("Rename the table.", kind="task").id
    assert [desk.act(act, task).effect for act in ("reopen", "done", "done", "reopen")] == [
        "kept", "applied", "kept", "applied",
    ]  # fmt: skip
    for act in ("done", "reopen"):
        with pytest.raises(errors.NotATask):
            desk.act(act, desk.remember(f"No task: {act}.").id)


# --- amend


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        ({"priority": "high"}, "priority", "high"),
        ({"tags": ["b"]}, "tags", ["a", "b"]),
        ({"untags": ["a"]}, "tags", []),
        ({"tags": ["a", "c"], "untags": ["a"]}, "tags", ["a", "c"]),
        ({"scope": "global"}, "scope", "global"),
        ({"under": "pkg"}, "under", "pkg"),
    ],
)
def test_what_stands_beside_the_words_is_amended(desk: Desk, words: dict[str, Any], field: str, value: object) -> None:
    """One field at a time, the others stay, the content is untouched."""
    (desk.repo / "pkg").mkdir()
    made = desk.remember("The cache lies in tmp.", tags=["a"]).id
    before = note(desk, made)
    assert desk.act("amend", made, **words).effect == "applied"
    after = note(desk, made)
    assert getattr(after, field) == value
    assert (after.content, after.revision_count) == (before.content, before.revision_count)
    assert sound(desk)


def test_an_amendment_that_changes_nothing_is_kept(desk: Desk) -> None:
    """No event for it; and one that names nothing is refused."""
    made = desk.remember("The cache lies in tmp.", tags=["a"]).id
    assert desk.act("amend", made, priority="medium", tags=["a"], scope="repo").effect == "kept"
    assert events(desk, made) == ["recorded"]
    with pytest.raises(errors.NothingToDo):
        desk.act("amend", made)


def test_anchors_given_take_the_place_of_those_before(desk: Desk) -> None:
    """The gotcha is told on the new file and no more on the old one; a proxy stays."""
    made = desk.remember("Mind the lock.", kind="gotcha", anchors=["app.py"], proxies=["other.py"]).id
    (desk.repo / "new.py").write_text("y = 2\n")
    assert desk.act("amend", made, anchors=["new.py"]).effect == "applied"
    assert [(a.path, a.proxy) for a in note(desk, made).anchors] == [("new.py", False), ("other.py", True)]
    desk.start()
    assert desk.read("app.py") == ""
    assert "Mind the lock." in desk.read("new.py", prompt_id="p2")


def test_a_note_moves_with_its_scope(desk: Desk, tmp_path: Any) -> None:
    """Found everywhere once it is global, here alone once it is not."""
    made = desk.remember("The mirror is at mirror.example.").id
    elsewhere = str(tmp_path)

    def found() -> list[int]:
        return [f.note.id for f in desk.ask(api.Recall(query="where is the mirror", cwd=elsewhere)).found]

    assert found() == []
    desk.act("amend", made, scope="global")
    assert found() == [made]
    desk.act("amend", made, scope="repo")
    assert found() == []
    assert [f.note.id for f in desk.recall("where is the mirror").found] == [made]


@pytest.mark.parametrize(
    ("kind", "words", "error"),
    [
        ("directive", {"scope": "global"}, errors.NotSigner),
        ("gotcha", {"scope": "global"}, errors.NotSigner),
        ("finding", {"scope": "planet"}, errors.UnknownWord),
        ("finding", {"priority": "urgent"}, errors.UnknownWord),
        ("finding", {"scope": "session"}, errors.NoSession),
        ("finding", {"under": "/etc"}, errors.AnchorOutside),
        ("finding", {"anchors": ["missing.py"]}, errors.AnchorMissing),
    ],
)
def test_an_amendment_that_cannot_be(desk: Desk, kind: str, words: dict[str, Any], error: type[Exception]) -> None:
    """Each with what to do instead, and nothing is recorded."""
    made = desk.remember("Ask before you push.", kind=kind, anchors=["app.py"]).id
    with pytest.raises(error):
        desk.act("amend", made, **words)
    assert events(desk, made) == ["recorded"]


def test_a_person_widens_what_an_agent_recorded(desk: Desk, person: Person) -> None:
    """By a signature; and narrowing it again needs none."""
    made = desk.remember("Ask before you push.", kind="directive").id
    plan = desk.act("amend", made, scope="global", sign=True).plan
    assert plan is not None
    assert "-> global" in plan.events[0].change
    person.seal(plan)
    assert note(desk, made).scope == "global"
    assert note(desk, made).provenance == "agent"
    assert desk.act("amend", made, scope="repo").effect == "applied"
    assert sound(desk)


# --- belief


def test_a_review_clears_the_flags_that_were_seen(desk: Desk) -> None:
    """One cause at a time where that is asked for; other causes stay."""
    one, two = pair(desk)
    leaf = desk.remember("Both at once.", derived_from=[str(one), str(two)]).id
    assert desk.act("review", leaf).effect == "kept"
    desk.act("revoke", one, reason=REASON)
    desk.act("revoke", two, reason=REASON)
    assert desk.act("review", leaf, of=[str(one)]).effect == "applied"
    assert [f.id for f in note(desk, leaf).review] == [two]
    assert desk.act("review", leaf).effect == "applied"
    assert note(desk, leaf).review == []
    assert "WARNING: derived from" not in desk.recall("both at once").text


def test_evidence_is_bound_where_the_user_said_it(desk: Desk) -> None:
    """An exact excerpt of a turn, once; what is not in the turn is refused, and so is naming none."""
    desk.prompt("Never push to main, ask first.")
    turn = desk.ask(api.Turns()).turns[0].turn
    made = desk.remember("Ask before a push to main.").id
    assert desk.act("link_evidence", made, evidence=[(turn, "never push to main")]).effect == "applied"
    assert [(e.turn, e.excerpt) for e in note(desk, made).evidence] == [(turn, "Never push to main")]
    assert desk.act("link_evidence", made, evidence=[(turn, "Never push  to main")]).effect == "kept"
    for evidence, error in (
        ([(turn, "never pull")], errors.ExcerptNotInTurn),
        ([(99, "x")], errors.NoSuchTurn),
        ([], errors.NothingToDo),
    ):
        with pytest.raises(error):
            desk.act("link_evidence", made, evidence=evidence)
    assert len(note(desk, made).evidence) == 1


@pytest.mark.parametrize("words", [{"provenance": "auto"}, {"source": "tool:grep"}, {"source": "document:x"}])
def test_what_nobody_judged_or_said_binds_no_evidence(desk: Desk, words: dict[str, str]) -> None:
    """And the answer says so."""
    desk.prompt("The port is 8080.")
    turn = desk.ask(api.Turns()).turns[0].turn
    made = desk.remember("Port 8080.", **words).id
    done = desk.act("link_evidence", made, evidence=[(turn, "The port is 8080.")])
    assert done.effect == "kept"
    assert "binds no evidence" in done.told[0]
    assert note(desk, made).evidence == []


# --- any act


@pytest.mark.parametrize(
    ("act", "words"),
    [
        ("review", {"of": ["1"] * (limits.NAMED_NOTES_MAX + 1)}),
        ("link_evidence", {"evidence": [(1, "x")] * (limits.EVIDENCE_MAX + 1)}),
    ],
)
def test_one_act_names_so_many_and_no_more(desk: Desk, act: str, words: dict[str, Any]) -> None:
    """Refused before any of them is looked up."""
    made = desk.remember("Deploys go out on Tuesdays.").id
    with pytest.raises(errors.TooMany):
        desk.act(act, made, **words)


@pytest.mark.parametrize("act", ["revoke", "supersede", "absorb", "archive", "amend", "review", "release", "confirm"])
def test_a_note_that_is_not_there_is_acted_on_by_nothing(desk: Desk, act: str) -> None:
    """The refusal names the list."""
    with pytest.raises(errors.NoSuchNote, match="memd list"):
        desk.act(act, 99, by="1", reason=REASON)


def test_an_act_that_nobody_knows_names_those_there_are(desk: Desk) -> None:
    """By their words."""
    made = desk.remember("Something.").id
    with pytest.raises(errors.UnknownWord, match="restore-note"):
        desk.act("destroy", made)


@pytest.mark.parametrize("act", ["revoke", "archive", "amend"])
def test_an_act_on_an_absorbed_note_is_its_own(desk: Desk, act: str) -> None:
    """It is not the absorbing note that is changed, and the answer says where the note went."""
    old, new = pair(desk)
    desk.act("absorb", old, by=str(new))
    done = desk.act(act, old, reason=REASON, priority="high")
    assert done.id == old
    assert f"[{old}] was absorbed into [{new}]" in done.told[0]
    assert events(desk, new) == ["recorded"] + ["review_flagged"] * (act == "revoke")


def test_one_act_is_one_commit(desk: Desk) -> None:
    """With all that follows from it."""
    old, new = pair(desk)
    desk.remember("So drain it first.", derived_from=[str(old)])
    before = commits(desk)
    desk.act("revoke", old, reason=REASON)
    desk.act("absorb", old, by=str(new))
    assert commits(desk) == before + 2


@pytest.mark.parametrize(
    ("proxies", "given", "becomes"),
    [
        (["other.py"], "other.py", [("other.py", True)]),
        (["other.py"], "new.py", [("new.py", True)]),
        (["app.py", "other.py"], "other.py", [("other.py", True)]),
    ],
)
def test_what_stands_for_a_process_goes_on_to(
    desk: Desk, proxies: list[str], given: str, becomes: list[tuple[str, bool]]
) -> None:
    """A file given in place of proxies is one: its lockfile was renamed, and the note is about the process still."""
    (desk.repo / "new.py").write_text("x = 1\n")
    made = desk.remember("Builds run twice.", process=True, proxies=proxies).id
    desk.act("amend", made, anchors=[given])
    assert [(a.path, a.proxy) for a in note(desk, made).anchors] == becomes
