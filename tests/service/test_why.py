"""Why a note was told or not: what the ledger holds of it, and what the rules would say now (`memd why`)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memd_client import api
from memd_client.reasons import ForeseenOut
from memd_daemon import errors, limits
from memd_daemon.frames.words import no_room
from memd_daemon.rules import NOT_NEAR, UNLISTED, WHY
from memd_daemon.service.repos import place_of
from tests.service.bulk import Planted, plant
from tests.service.desk import Desk, context_of, git, make_repo, reason_of
from tests.service.matrix import told
from tests.service.test_people import Person

RULE = "Always run the tests with the project's own virtual environment."
GOTCHA = "add() is called with strings by the importer: keep it duck-typed."
FINDING = "The importer retries three times on a locked database."
QUESTION = "how often does the importer retry on a locked database?"


@pytest.fixture
def person(desk: Desk) -> Person:
    made = Person(desk)
    desk.clock.ms += (limits.ENROLMENT_TOLD_DAYS + 1) * limits.TIME_MS_PER_DAY  # no start tells of the key any more
    return made


def why(desk: Desk, ref: object, *at: str, **words: Any) -> api.WhyReply:
    return desk.ask(api.Why(ref=str(ref), cwd=str(desk.repo), at=at, **words))


def at(desk: Desk, ref: object, moment: str, **words: Any) -> ForeseenOut:
    (one,) = why(desk, ref, moment, **words).foreseen
    return one


def rule_of(desk: Desk, ref: object, moment: str, **words: Any) -> str:
    one = at(desk, ref, moment, **words)
    assert one.says == WHY.get(one.rule, "")
    return one.rule or one.outcome


def a_minute_later(desk: Desk) -> None:
    desk.clock.ms += 60_000


# --- what was decided


def test_the_ledger_says_when_it_was_told_and_when_left_out(desk: Desk) -> None:
    """Newest first, of the session alone; at which moment, in which turn, by which rule, and what it cost."""
    good = desk.remember(GOTCHA, kind="gotcha", priority="high", anchors=["app.py"]).id
    weak = desk.remember("app.py may be slow.", kind="gotcha", anchors=["app.py"], provenance="auto").id
    desk.start("s1")
    assert desk.edit("app.py", "s1", "p1")
    a_minute_later(desk)
    desk.start("s2")
    assert desk.read("app.py", "s2", "p9")
    (row,) = why(desk, good, session="s1").decided
    assert (row.trigger, row.turn, row.told, row.held, row.state, row.rule) == (
        "pre-edit",
        "p1",
        True,
        True,
        "delivered",
        "",
    )
    assert row.tokens > 0
    (row,) = why(desk, weak, session="s2").decided
    assert (row.trigger, row.turn, row.told, row.held, row.tokens) == ("read", "p9", False, False, 0)
    assert (row.rule, row.says) == ("auto", "a note of class auto is never told unasked")
    assert why(desk, desk.remember(RULE).id, session="s1").decided == []


def test_decisions_come_in_pages_and_an_offer_says_that_it_is_one(desk: Desk) -> None:
    """The newest page, and how many follow; a receipt that never came is told."""
    id_ = desk.remember(RULE, kind="directive").id
    for _ in range(5):
        a_minute_later(desk)
        desk.start("s1", "clear", receipt=False)
    page = why(desk, id_, limit=2)
    assert (len(page.decided), page.more) == (2, 3)
    assert {row.state for row in page.decided} == {"offered"}
    assert [row.epoch for row in why(desk, id_, limit=0).decided] == [4, 3, 2, 1, 0]


def test_it_looks_at_the_session_one_stands_in_else_at_the_newest_here(desk: Desk, tmp_path: Path) -> None:
    """Live ones first, of this repository; by name, or how that begins; none where none was heard of."""
    id_ = desk.remember(RULE, kind="directive").id
    assert why(desk, id_).session == ""
    for session in ("alpha-1", "alpha-2", "beta"):
        a_minute_later(desk)
        desk.start(session)
    desk.hook("session-end", desk.payload("SessionEnd", "beta", reason="exit"))
    here, desk.repo = desk.repo, make_repo(tmp_path / "elsewhere" / "repo")
    a_minute_later(desk)
    desk.start("there")
    desk.repo = here
    assert (why(desk, id_).session, why(desk, id_).live) == ("alpha-2", True)
    assert why(desk, id_, env={"CLAUDE_CODE_SESSION_ID": "alpha-1"}).session == "alpha-1"
    assert (why(desk, id_, session="be").session, why(desk, id_, session="be").live) == ("beta", False)
    for named in ("alpha", "nobody"):
        with pytest.raises(errors.NoSuchSession):
            why(desk, id_, session=named)
    with pytest.raises(errors.UnknownWord, match="moment"):
        why(desk, id_, "noon")
    with pytest.raises(errors.NoSuchNote):
        why(desk, 77)


def test_a_subagent_has_decisions_and_a_standing_of_its_own(desk: Desk) -> None:
    """Asked for by its name, or how that begins; without, the session's rows are all agents'."""
    id_ = desk.remember(RULE, kind="directive").id
    desk.start()
    payload = desk.payload("SubagentStart", "s1", agent_id="agent-7", agent_type="general-purpose", prompt_id="p1")
    desk.hook("subagent-start", payload)
    assert [row.agent for row in why(desk, id_).decided] == ["agent-7", ""]
    own = why(desk, id_, agent="agent")
    assert (own.agent, [row.trigger for row in own.decided]) == ("agent-7", ["subagent-start"])
    with pytest.raises(errors.NoSuchSession):
        why(desk, id_, agent="other")


# --- what would be decided


def test_asking_changes_nothing(desk: Desk) -> None:
    """No turn, no delivery, no context: the hooks after it are answered as if nobody had asked."""
    desk.remember(RULE, kind="directive")
    desk.remember(GOTCHA, kind="gotcha", priority="high", anchors=["app.py"])
    desk.remember(FINDING)
    desk.start()
    contexts = list(desk.daemon.parts.ledger.contexts())
    for ref in (1, 2, 3):
        why(desk, ref, prompt=QUESTION)
        why(desk, ref, "resume", "stop", "session-end")
    assert list(desk.daemon.parts.ledger.contexts()) == contexts
    assert len(desk.ask(api.Deliveries()).deliveries) == 1
    assert desk.ask(api.Turns()).turns == []
    assert GOTCHA in reason_of(desk.edit("app.py"))
    assert FINDING in context_of(desk.prompt(QUESTION, prompt_id="p2"))


def test_what_it_foretells_is_what_comes(desk: Desk) -> None:
    """Tokens and all, at each moment of a session's life."""
    rule = desk.remember(RULE, kind="directive").id
    gotcha = desk.remember(GOTCHA, kind="gotcha", anchors=["app.py"]).id
    finding = desk.remember(FINDING).id
    desk.start("s0")
    foretold = {
        rule: at(desk, rule, "session-start").tokens,
        gotcha: at(desk, gotcha, "read").tokens,
        finding: at(desk, finding, "prompt-submit", prompt=QUESTION).tokens,
    }
    desk.start("s1")
    desk.prompt(QUESTION, "s1")
    desk.read("app.py", "s1")
    for id_, tokens in foretold.items():
        (row,) = why(desk, id_, session="s1").decided
        assert (row.told, row.tokens) == (True, tokens)
    assert rule_of(desk, rule, "resume", session="s1") == "standing"
    assert rule_of(desk, finding, "prompt-submit", session="s1", prompt=QUESTION) == "standing"
    assert rule_of(desk, gotcha, "pre-edit", session="s1") == "sent-this-turn"
    a_minute_later(desk)
    assert rule_of(desk, rule, "post-compaction", session="s1") == "arrives"


def test_a_bundle_that_is_owed_comes_with_whatever_is_next(desk: Desk) -> None:
    """A rule arrives at a read, where the start never arrived; once it did, that is not its moment."""
    id_ = desk.remember(RULE, kind="directive").id
    desk.start(receipt=False)
    a_minute_later(desk)
    assert rule_of(desk, id_, "read") == "arrives"
    assert [one.bundle for one in why(desk, id_, "read", "session-start").foreseen] == [True, False]
    assert RULE in context_of(desk.read("app.py"))
    assert rule_of(desk, id_, "read") == "other-moment"


def test_the_bundle_that_looked_at_a_note_says_why_it_is_not_in_it(desk: Desk) -> None:
    """A rule of a folder: it holds in this session, whose start is owed, and is no matter of the file that is read."""
    (desk.repo / "web").mkdir()
    id_ = desk.remember(RULE, kind="directive", under="web").id
    desk.start(receipt=False)
    a_minute_later(desk)
    silent(desk, "pause", "on")
    foretold = rule_of(desk, id_, "read", paths=("app.py",))
    desk.read("app.py")
    assert why(desk, id_).decided[0].rule == foretold == "paused"


def test_a_lost_subagent_start_does_not_take_the_hold_away(desk: Desk) -> None:
    """The gotcha of the very file is the edit's own, and holds it; the rules that were owed stand before it."""
    desk.remember(RULE, kind="directive")
    id_ = desk.remember(GOTCHA, kind="gotcha", priority="high", anchors=["app.py"]).id
    desk.start()
    desk.read("app.py")
    desk.edit("app.py")
    held = reason_of(desk.edit("app.py", agent_id="a1"))
    assert 0 <= held.find(RULE) < held.find(GOTCHA)
    assert held.count(GOTCHA) == 1
    assert why(desk, id_, agent="a1").decided[0].held


def test_a_subagent_that_its_turn_has_no_room_for_is_foretold_nothing(desk: Desk) -> None:
    """The next one shares what is left of 4,000 tokens with those before it in the turn; in the next turn all is there."""
    crowd(desk)
    desk.start()
    desk.prompt("go on", prompt_id="p1")
    for number in range(7):
        assert rule_of(desk, 60, "subagent-start") == "arrives"
        payload = desk.payload("SubagentStart", "s1", agent_id=f"a{number}", agent_type="Explore", prompt_id="p1")
        assert desk.hook("subagent-start", payload)
    one = at(desk, 60, "subagent-start")
    payload = desk.payload("SubagentStart", "s1", agent_id="a7", agent_type="Explore", prompt_id="p1")
    assert desk.hook("subagent-start", payload) == ""
    left = limits.BUDGET_SUBAGENTS_TURN_TOKENS - sum(d.tokens for d in desk.ask(api.Deliveries()).deliveries[:-1])
    assert (one.rule, one.detail) == ("budget", f"{left} tokens for the whole block")
    desk.prompt("go on", prompt_id="p2")
    assert rule_of(desk, 60, "subagent-start") == "arrives"


def silent(desk: Desk, key: str, value: str, person: Person | None = None) -> None:
    how = "add" if key == "ignore" else "set"
    plan = desk.ask(
        api.ChangeSetting(key=key, how=how, values=[value], cwd=str(desk.repo), sign=person is not None)
    ).plan
    if person is not None:
        person.seal(plan)


@pytest.mark.parametrize(("key", "value", "rule"), [("pause", "on", "paused"), ("ignore", ".", "ignored")])
def test_a_silence_is_named(desk: Desk, person: Person, key: str, value: str, rule: str) -> None:
    """Unsigned it keeps back what nobody endorsed, signed everything."""
    own = person.rule(RULE)
    hunch = desk.remember("The importer is probably slow because of the locale.", kind="directive").id
    silent(desk, key, value)
    assert [rule_of(desk, id_, "session-start") for id_ in (own, hunch)] == ["arrives", rule]
    silent(desk, key, value, person)
    assert [rule_of(desk, id_, "session-start") for id_ in (own, hunch)] == [rule, rule]


def crowd(desk: Desk, kind: str = "directive", **words: Any) -> None:
    sentence = (
        "Keep module {:05d} free of cycles, say so in its docstring, and have somebody read it before it is merged."
    )
    plant(desk, (Planted(kind=kind, content=sentence.format(n), **words) for n in range(60)))


def test_what_found_no_room_is_named_by_what_was_full(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The budget with its tokens, or the client's cap."""
    from memd_hooks.harness import claude

    id_ = desk.remember(RULE, kind="directive", priority="low").id
    crowd(desk, priority="high")
    one = at(desk, id_, "session-start")
    assert (one.rule, one.detail) == ("budget", "2,000 tokens for the whole block")
    monkeypatch.setattr(claude, "CAP_UNITS", 1_000)
    assert rule_of(desk, id_, "session-start") == "harness-cap"


def test_revoked_rules_have_a_share_of_a_start_and_no_more(desk: Desk) -> None:
    """At most 300 tokens of them, last in the block, and the oldest that find no room are named by that."""
    fallen = [desk.remember(f"Rule {n} of the old days, as module {n} had it.", kind="directive").id for n in range(12)]
    for id_ in fallen:
        desk.act("revoke", id_, reason="those days are over")
    kept = desk.remember(RULE, kind="directive", priority="low").id
    came = told(context_of(desk.start()))
    assert came[0] == kept
    assert came[1:] == fallen[::-1][: len(came) - 1]
    tokens = sum(why(desk, id_).decided[0].tokens for id_ in came[1:])
    assert 0 < tokens <= limits.REVOKED_DIRECTIVES_MAX_TOKENS
    assert rule_of(desk, fallen[0], "session-start") == "tombstone-share"


def test_a_tombstone_waits_for_its_correction(desk: Desk) -> None:
    """Where that finds no room, the tombstone is not told either, and says why."""
    old = desk.remember("Deploy from the main branch on fridays.", kind="directive").id
    right = (
        "Never deploy on fridays, and on no other day without a second pair of eyes on the plan, " + "the log, " * 20
    )
    desk.remember(right, kind="directive", priority="low", contradicts=str(old), reason="r")
    crowd(desk, priority="high")
    assert rule_of(desk, old, "session-start") == "correction-first"


def test_a_session_without_a_person_gets_directives_only(desk: Desk) -> None:
    """As its context says, so a subagent of it too."""
    rule, task = desk.remember(RULE, kind="directive").id, desk.remember("Rename it.", kind="task", priority="high").id
    desk.start()
    ledger = desk.daemon.parts.ledger
    known = ledger.context("s1", "")
    assert known is not None
    ledger.put_context(msgspec.structs.replace(known, with_person=False))
    assert [rule_of(desk, id_, "session-start") for id_ in (rule, task)] == ["arrives", "no-person"]
    assert rule_of(desk, rule, "subagent-start") == "arrives"


def test_a_file_that_is_not_on_this_branch(desk: Desk) -> None:
    """The gotcha of a file that only the other branch has."""
    git(desk.repo, "checkout", "-qb", "other")
    (desk.repo / "late.py").write_text("1\n")
    git(desk.repo, "add", ".")
    git(desk.repo, "commit", "-qm", "late")
    id_ = desk.remember("late.py is generated.", kind="gotcha", anchors=["late.py"]).id
    assert rule_of(desk, id_, "read") == "arrives"
    git(desk.repo, "checkout", "-q", "main")
    rule_of(desk, id_, "read")  # git is asked behind the first look
    desk.daemon.parts.behind.join()
    assert rule_of(desk, id_, "read") == "absent-on-branch"


def test_a_gotcha_on_a_block_comes_before_those_on_the_file(desk: Desk) -> None:
    """Within a priority."""
    sorts = [("high", "app.py"), ("medium", "app.py::add"), ("medium", "app.py"), ("high", "app.py::add")]
    ids = [
        desk.remember(f"Note {n} of it.", kind="gotcha", priority=priority, anchors=[anchor]).id
        for n, (priority, anchor) in enumerate(sorts)
    ]
    assert told(context_of(desk.read("app.py"))) == [ids[3], ids[0], ids[1], ids[2]]


def test_a_prompt_that_is_too_far_says_by_how_much(desk: Desk) -> None:
    """The gate's evidence; without a prompt it depends on one; what many others are nearer to is named by that."""
    id_ = desk.remember(FINDING).id
    assert at(desk, id_, "prompt-submit").outcome == "depends"
    far = at(desk, id_, "prompt-submit", prompt="who painted the importer's logo in that colour?")
    assert far.rule == "below-gate"
    assert far.detail.startswith("cosine ")
    assert "words in common" in far.detail


def test_what_others_are_nearer_than_is_named_by_that(desk: Desk) -> None:
    """More findings pass the gate than a prompt weighs: those it weighs arrive or find no room, the rest are the farther ones."""
    asking = "why are zq_alpha() and zq_beta() and zq_gamma() retried?"
    ids = plant(
        desk, (Planted(content=f"zq_alpha() and zq_beta() and zq_gamma() are retried, number {n}.") for n in range(30))
    )
    desk.start()
    foretold = {id_: rule_of(desk, id_, "prompt-submit", prompt=asking) for id_ in ids}
    desk.prompt(asking)
    (delivery,) = desk.ask(api.Deliveries()).deliveries
    came = {note.id: "arrives" for note in delivery.notes} | {left.id: left.rule for left in delivery.left_out}
    assert len(came) == limits.PROMPT_CANDIDATES
    assert {"arrives", "budget"} == set(came.values())
    assert foretold == {id_: came.get(id_, NOT_NEAR) for id_ in ids}


def test_what_the_index_does_not_list_says_so(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A note that holds, at its moment, and that no lookup brought up: a derived index is behind."""
    from memd_daemon.service import candidates

    id_ = desk.remember(RULE, kind="directive").id
    monkeypatch.setattr(candidates, "at_start", lambda *_: [])
    assert rule_of(desk, id_, "session-start") == UNLISTED


DETAILS: list[tuple[Callable[[Desk], int], str, str, str]] = [
    (lambda d: d.remember(RULE).id, "session-start", "other-moment", "a finding arrives when a prompt is about it"),
    (lambda d: d.remember(RULE, kind="task").id, "session-start", "task-not-high", "this one is medium"),
    (
        lambda d: d.remember(GOTCHA, kind="gotcha", anchors=["app.py"]).id,
        "subagent-start",
        "other-file",
        "its files: app.py",
    ),
    (lambda d: d.remember(RULE, provenance="auto").id, "prompt-submit", "auto", ""),
]


@pytest.mark.parametrize(("made", "moment", "rule", "detail"), DETAILS)
def test_a_detail_says_what_the_sentence_leaves_open(
    desk: Desk, made: Callable[[Desk], int], moment: str, rule: str, detail: str
) -> None:
    """Which kind has which moments, which files, which priority."""
    one = at(desk, made(desk), moment, prompt=QUESTION)
    assert (one.rule, one.detail) == (rule, detail)


def test_the_note_that_took_its_place_is_named(desk: Desk, tmp_path: Path) -> None:
    """Of a superseded and an absorbed note; of one that holds elsewhere, where."""
    old, new = desk.remember(RULE, kind="directive").id, desk.remember("Use tox.", kind="directive").id
    same = desk.remember("Use tox for every test there is.", kind="directive").id
    desk.act("supersede", old, by=str(new))
    desk.act("absorb", same, by=str(new))
    assert [(one.rule, one.detail) for one in (at(desk, id_, "session-start") for id_ in (old, same))] == [
        ("superseded", f"[{new}]"),
        ("absorbed", f"[{new}]"),
    ]
    here, desk.repo = desk.repo, make_repo(tmp_path / "elsewhere" / "other-name")
    away = at(desk, new, "session-start")
    assert (away.rule, away.detail) == ("other-repository", f"in {here.name}")


@pytest.mark.parametrize(
    ("ids", "named"),
    [((), "most of them are not told"), ((3,), "[3] will only be"), (range(1, 13), "[10] and 2 others will only be")],
)
def test_the_line_about_room_names_ten_at_most(ids: tuple[int, ...], named: str) -> None:
    """As the last line of a block does."""
    assert named in no_room(2_000, ids)


def test_room_is_looked_for_where_the_rule_holds(desk: Desk) -> None:
    """A rule of another folder counts there, and one of a session alone warns nobody."""
    for folder in ("web", "lib"):
        (desk.repo / folder).mkdir()
    place_of(desk.daemon.parts, str(desk.repo))
    crowd(desk, priority="high")
    assert desk.remember(RULE, kind="directive", under="web").told != []
    desk.start()
    own = desk.remember("Say it in verse.", kind="directive", scope="session", env={"CLAUDE_CODE_SESSION_ID": "s1"})
    assert own.told == []
