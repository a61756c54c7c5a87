"""What a write is bound to: by who writes it, or by its own words."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memd_client import api
from memd_daemon import errors, limits
from memd_daemon.service.tools import Caller, Tools
from tests.service.desk import Desk
from tests.service.processes import client
from tests.service.speaking import ENV_OF, RULE, said, told
from tests.service.test_shown import Mcp

NEVER = "Never add query-side keyword heuristics, except in tests."
LIST = "For every release:\n\n- bump the version in pyproject.toml\n- tag the commit that was built"


def note_of(desk: Desk, id_: int) -> api.NoteOut:
    shown: api.ShowReply = desk.ask(api.Show(ref=str(id_), cwd=str(desk.repo)))
    return shown.note


def evidence_of(desk: Desk, made: api.Remembered) -> list[tuple[int, str, str]]:
    return [(e.turn, e.excerpt, e.sentence) for e in note_of(desk, made.id).evidence]


@pytest.fixture
def begun(desk: Desk) -> Desk:
    desk.start()
    return desk


def test_a_write_is_bound_by_its_own_words(begun: Desk) -> None:
    """To the sentences of its session's turns that it has word for word; the answer says which turns."""
    first = said(begun, f"Good morning. {RULE}")
    second = said(begun, f"{NEVER} And now fix the build.")
    made = begun.remember(f"{RULE} The server refuses it. {NEVER}", env=ENV_OF)
    assert made.told == [f"bound turns {first}, {second} by their words"]
    assert evidence_of(begun, made) == [(first, RULE, ""), (second, NEVER, "")]
    assert note_of(begun, made.id).source.type == "inference"


def test_words_that_are_the_users_as_a_whole_are_recorded_as_the_users(begun: Desk) -> None:
    """The source is `user`, typed or not: memd has seen whose they are; the class stays that of who recorded it."""
    turn = said(begun, f"Good morning. {RULE}", is_typed=False)
    made = begun.remember(RULE, env=ENV_OF, kind="directive")
    assert made.told == [f"bound turn {turn} by its words"]
    note = note_of(begun, made.id)
    assert (note.source.type, note.source.ref, note.provenance, note.stated) == ("user", "", "agent", 0)
    assert note.evidence[0].attestation == "headless"


@pytest.mark.parametrize(
    ("words", "binds"),
    [
        ({}, True),
        ({"provenance": "auto"}, False),
        ({"source": "tool:WebFetch"}, False),
        ({"source": "document:https://example.org"}, False),
        ({"env": {}}, False),
        ({"env": {"CLAUDE_CODE_SESSION_ID": "s2"}}, False),
    ],
    ids=["agent", "auto", "tool", "document", "outside a session", "another session"],
)
def test_what_binds_by_itself(begun: Desk, words: dict[str, Any], binds: bool) -> None:
    """A note of class agent, in the session in which it was said, that was not read anywhere."""
    begun.start("s2")
    said(begun, RULE)
    made = begun.remember(f"{RULE} The server refuses it.", **{"env": ENV_OF, **words})
    assert bool(evidence_of(begun, made)) is binds
    assert bool(made.told) is binds


def test_words_that_were_only_meant_bind_nothing(begun: Desk) -> None:
    """A paraphrase, a part of a sentence, a question and a paste are no statement."""
    said(begun, f"Should we squash every branch before the merge? Here is the log:\n\n```\n{NEVER}\n```\n\n{RULE}")
    for content in (
        "One must not commit to main before having asked.",
        "Commit to main without asking me first.",
        "Should we squash every branch before the merge?",
        NEVER,
    ):
        assert begun.remember(content, env=ENV_OF).told == []


def test_of_equal_words_the_newest_turn_is_bound(begun: Desk) -> None:
    """Who says a thing five times is bound once."""
    turns = [said(begun, RULE, prompt_id=f"q{n}") for n in range(5)]
    made = begun.remember(f"{RULE} The server refuses it.", env=ENV_OF)
    assert evidence_of(begun, made) == [(turns[-1], RULE, "")]


def test_a_write_binds_no_more_than_a_person_says(begun: Desk) -> None:
    """The number is bounded."""
    sentences = [f"Rule number {n} of this house is that part {n} is never renamed." for n in range(30)]
    for n in range(0, 30, 5):
        said(begun, " ".join(sentences[n : n + 5]))
    made = begun.remember("As said: \n\n" + "\n\n".join(sentences), env=ENV_OF)
    assert len(evidence_of(begun, made)) == limits.EVIDENCE_AUTO_MAX


def test_what_is_named_is_bound_with_the_sentence_that_it_is_part_of(begun: Desk) -> None:
    """As the turn has it, whatever the letters of the excerpt; nothing else is looked for."""
    turn = said(begun, f"{NEVER} {RULE}")
    made = begun.remember(
        f"{RULE} And more.", env=ENV_OF, evidence=[(turn, "NEVER add query-side  keyword heuristics")]
    )
    assert made.told == []
    assert evidence_of(begun, made) == [(turn, "Never add query-side keyword heuristics", NEVER)]


def test_an_item_of_a_list_is_kept_with_what_introduces_it(begun: Desk) -> None:
    """An ellipsis stands for the items between."""
    turn = said(begun, LIST)
    made = begun.remember("Releases are tagged.", env=ENV_OF, evidence=[(turn, "tag the commit that was built")])
    assert evidence_of(begun, made) == [
        (turn, "tag the commit that was built", "For every release: … tag the commit that was built")
    ]


def test_a_sentence_beyond_what_is_looked_at_is_not_kept(begun: Desk) -> None:
    """Behind a long paste the excerpt stands alone."""
    turn = said(begun, "x " * (limits.EVIDENCE_TURN_LOOKED_AT_CHARS // 2) + NEVER)
    made = begun.remember("Heuristics.", env=ENV_OF, evidence=[(turn, "query-side keyword heuristics")])
    assert evidence_of(begun, made) == [(turn, "query-side keyword heuristics", "")]


def test_saving_twice_is_saving_once(begun: Desk) -> None:
    """Also where both are bound by their words."""
    said(begun, RULE)
    first = begun.remember(RULE, env=ENV_OF)
    again = begun.remember(RULE, env=ENV_OF)
    assert (again.id, again.kept) == (first.id, True)


def test_evidence_that_is_linked_later_is_checked_the_same_way(begun: Desk) -> None:
    """In the turn, with its sentence, each stretch once; a note that binds none says so."""
    turn = said(begun, f"{NEVER} {RULE}")
    made = begun.remember("Query-side keyword heuristics stay out.", env={})
    with pytest.raises(errors.ExcerptNotInTurn):
        begun.act("link_evidence", made.id, evidence=[(turn, "always add heuristics")])
    done = begun.act("link_evidence", made.id, evidence=[(turn, "query-side keyword"), (turn, "query-side keyword")])
    assert done.effect == "applied"
    assert evidence_of(begun, made) == [(turn, "query-side keyword", NEVER)]
    assert begun.act("link_evidence", made.id, evidence=[(turn, "query-side keyword")]).effect == "kept"
    assert told(begun, made.id)[-1] == '  [user, turn 1] "Never add query-side keyword heuristics, except in tests."'


@pytest.fixture
def mcp(desk: Desk, tmp_path: Path) -> Iterator[Mcp]:
    with client(tmp_path) as one:
        yield Mcp(desk, one, "s1")


def test_over_mcp_the_answer_names_the_turn(desk: Desk, mcp: Mcp) -> None:
    """An agent reads there what its note was bound to, and later whose words it has."""
    turn = said(desk, RULE, prompt_id="p2")
    mcp.prompt("p2")
    answer = mcp.call("remember", content=f"{RULE} The server refuses it.")
    assert answer.split("\n")[1] == f"bound turn {turn} by its words"
    assert f"  [user-stated, turn {turn}]  {RULE}\n" in mcp.call("recall", query="commit to main")
    linked = mcp.call("link_evidence", ref=1, evidence=[{"turn": turn, "excerpt": "asking me first"}])
    assert linked == "[1] has this evidence"


@pytest.mark.parametrize("form", ["{}", "[{}]", " {} "])
def test_a_tool_takes_a_turn_as_it_takes_a_note(begun: Desk, form: str) -> None:
    """As a number or as its digits, in brackets or not."""
    turn = said(begun, RULE)
    tools = Tools(begun.daemon.parts, begun.plans)
    caller = Caller(pid=0, cwd=str(begun.repo))
    for given in (turn, form.format(turn)):
        evidence = [{"turn": given, "excerpt": RULE}]
        tools.call("remember", {"content": f"{RULE} So {given!r} says.", "evidence": evidence}, caller)
    for note in begun.ask(api.ListNotes(cwd=str(begun.repo))).notes:
        assert [e.turn for e in note.evidence] == [turn]


@pytest.mark.parametrize("given", ["", "the last", "-1", -1, "2 3", "\u0662", "9" * 30, "[]"])
def test_what_is_no_turn_is_refused_in_memd_s_words(begun: Desk, given: str | int) -> None:
    """And nothing is recorded."""
    tools = Tools(begun.daemon.parts, begun.plans)
    with pytest.raises(errors.BadArguments, match="a turn is a number, such as 23, not"):
        tools.call(
            "remember",
            {"content": RULE, "evidence": [{"turn": given, "excerpt": RULE}]},
            Caller(pid=0, cwd=str(begun.repo)),
        )
    assert begun.ask(api.Status()).store["notes"] == 0
