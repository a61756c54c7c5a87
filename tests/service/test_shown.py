"""What a session asked for was shown to it: its word for that is an echo, and what it copies is derived from it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memd_client import api
from memd_daemon import errors, limits
from memd_daemon.model.delivery import Delivery, DeliveryState
from memd_daemon.service.tools import Caller, Tools
from tests.service.desk import Desk, context_of
from tests.service.processes import Client, client
from tests.service.test_acts import events, note
from tests.service.test_same import AGAIN, CLAIM, corroborations, said_in

COPY = "As we know, the upload retries 3 times before it gives up, so nobody has to."
SHELL = "CLAUDE_CODE_SESSION_ID"


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Client]:
    with client(tmp_path) as made:
        yield made


class Mcp:
    """The client of a session that calls memd's tools: its hook tells of each call, then its carrier makes it."""

    def __init__(self, desk: Desk, of: Client, session: str = "s2") -> None:
        self._desk, self._of, self.session = desk, of, session
        self._tools = Tools(desk.daemon.parts, desk.plans)
        self._uses = 0
        desk.hook("session-start", desk.payload("SessionStart", session, source="startup"), pid=of.hook)
        self.prompt("p1")

    def prompt(self, prompt_id: str) -> None:
        asked = self._desk.payload("UserPromptSubmit", self.session, prompt="hm", prompt_id=prompt_id)
        self._desk.hook("prompt-submit", asked, pid=self._of.hook)
        self._turn = prompt_id

    def call(self, tool: str, *, told: bool = True, agent: str = "", **arguments: Any) -> str:
        self._uses += 1
        use = f"toolu_{self._uses}"
        if told:
            more = {"agent_id": agent} if agent else {}
            self._desk.call(tool, arguments, self._of.hook, self.session, use, self._turn, **more)
        return self._tools.call(
            tool, arguments, Caller(pid=self._of.carrier, cwd=str(self._desk.repo), tool_use_id=use)
        )

    def remember(self, content: str, **arguments: Any) -> int:
        """The id of what was recorded."""
        told = self.call("remember", content=content, **arguments)
        return int(told.partition("[")[2].partition("]")[0])


@pytest.fixture
def mcp(desk: Desk, one: Client) -> Mcp:
    return Mcp(desk, one)


def told(desk: Desk) -> list[Delivery]:
    """What was asked for, oldest first."""
    found = [d for d in desk.daemon.parts.ledger.deliveries() if d.state == DeliveryState.ASKED]
    return found[::-1]


@pytest.fixture
def first(desk: Desk) -> int:
    """The claim as session s1 recorded it."""
    desk.start("s1")
    return said_in(desk, "s1", CLAIM, kind="decision").id


ASKS: dict[str, Callable[[Desk, Mcp, int], object]] = {
    "recall": lambda desk, mcp, id_: mcp.call("recall", query="how often does the upload retry"),
    "show": lambda desk, mcp, id_: mcp.call("show", ref=id_),
    "decisions": lambda desk, mcp, id_: mcp.call("decisions"),
    "trace": lambda desk, mcp, id_: mcp.call("trace", ref=id_),
    "list": lambda desk, mcp, id_: desk.ask(api.ListNotes(cwd=str(desk.repo), env={SHELL: mcp.session})),
    "recall in a shell": lambda desk, mcp, id_: desk.recall("how often does it retry", env={SHELL: mcp.session}),
    "show in a shell": lambda desk, mcp, id_: desk.ask(
        api.Show(ref=str(id_), cwd=str(desk.repo), env={SHELL: mcp.session})
    ),
    "a subagent's recall": lambda desk, mcp, id_: mcp.call("recall", agent="a1", query="does the upload retry"),
}


@pytest.fixture(params=ASKS)
def ask(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[Desk, Mcp, int], object]:
    """One way to be shown a note. The shell of a test stands under no client, so it is let in by its environment alone."""
    if "shell" in request.param or request.param == "list":
        monkeypatch.setattr("memd_daemon.service.asker.stands_in", lambda context, pid: True)
    made: Callable[[Desk, Mcp, int], object] = ASKS[request.param]
    return made


# --- the attack


def test_an_echo_of_what_was_asked_for_corroborates_nothing(
    desk: Desk, mcp: Mcp, first: int, ask: Callable[[Desk, Mcp, int], object]
) -> None:
    """Session A records, session B asks and then says the same: folded in, and no voice more. Nobody else was shown it."""
    ask(desk, mcp, first)
    answer = mcp.call("remember", content=AGAIN, same_as=first)
    assert "count nothing, since this session was shown the note" in answer
    assert corroborations(desk, first) == []
    desk.start("s3")
    said_in(desk, "s3", AGAIN, same_as=str(first))
    assert len(corroborations(desk, first)) == 1


def test_who_did_not_ask_corroborates(desk: Desk, mcp: Mcp, first: int) -> None:
    """Over MCP too; and that an answer named the note as close is not to be shown it."""
    own = mcp.remember(AGAIN)
    assert f"close to [{first}]" in mcp.call("remember", content="The upload retries 3 times and gives up then.")
    answer = mcp.call("remember", content=AGAIN + " Always.", same_as=first)
    assert "corroborate it" in answer
    assert len(corroborations(desk, first)) == 1
    assert own != first


def test_asking_before_a_compaction_is_not_forgotten(desk: Desk, mcp: Mcp, first: int) -> None:
    """In whichever context of the session it was."""
    mcp.call("show", ref=first)
    desk.start(mcp.session, source="compact")
    assert "count nothing" in mcp.call("remember", content=AGAIN, same_as=first)


@pytest.mark.parametrize("source", ["fork", "clear"])
def test_what_goes_on_from_a_session_that_asked_is_no_other(
    desk: Desk, mcp: Mcp, one: Client, first: int, source: str
) -> None:
    """Another session id, the same conversation or the same client's next one."""
    mcp.call("show", ref=first)
    if source == "clear":
        desk.hook("session-end", desk.payload("SessionEnd", mcp.session, reason="clear"), pid=one.hook)
    desk.hook("session-start", desk.payload("SessionStart", "s9", source=source), pid=one.hook)
    told = said_in(desk, "s9", AGAIN, same_as=str(first))
    assert any("count nothing" in line for line in told.told)


@pytest.mark.parametrize("source", ["resume", "fork"])
def test_a_conversation_that_began_unheard_counts_nothing(desk: Desk, first: int, source: str) -> None:
    """A ledger that knows nothing of its beginning cannot say that it was shown nothing."""
    desk.start("s9", source=source)
    told = said_in(desk, "s9", AGAIN, same_as=str(first))
    assert any("began before memd heard of it" in line for line in told.told)


@pytest.mark.parametrize("asker", ["parent", "child"])
def test_a_client_started_from_another_is_no_other_source(
    desk: Desk, tmp_path: Path, first: int, asker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`claude -p` from a session's shell: what the one was shown the other may have been told. Also once the child has gone."""
    monkeypatch.setattr("memd_daemon.service.asker.stands_in", lambda context, pid: True)
    with client(tmp_path, "claude", "claude") as child:
        desk.hook("session-start", desk.payload("SessionStart", "child", source="startup"), pid=child.hook)
        context = desk.daemon.parts.ledger.context("child", "")
        assert context is not None
        assert [pid for pid, _ in context.above] == [child.pid]
        inside = _first_child(child.pid)  # the child's own client, which the parent's stands above
        desk.hook("session-start", desk.payload("SessionStart", "parent", source="startup"), pid=inside)
    other = "parent" if asker == "child" else "child"
    desk.recall("how often does the upload retry", env={SHELL: asker})
    told = said_in(desk, other, AGAIN, same_as=str(first))
    assert any("was shown the note" in line for line in told.told)
    assert corroborations(desk, first) == []


def _first_child(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def test_a_ledger_that_could_not_be_written_is_no_alibi(
    desk: Desk, mcp: Mcp, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The question is answered, and the session's word counts nothing from then on."""

    def full(delivery: Delivery) -> None:
        raise errors.StoreFull

    with monkeypatch.context() as broken:
        broken.setattr(desk.daemon.parts.ledger, "put_asked", full)
        assert CLAIM in mcp.call("show", ref=first)
    assert "memd could not keep what its session was shown" in mcp.call("remember", content=AGAIN, same_as=first)


def test_a_tombstone_in_a_refusal_was_shown(desk: Desk, mcp: Mcp, first: int) -> None:
    """So that who was told of the mistake is no second discoverer of it; the write and the revision say so alike."""
    desk.act("revoke", first, reason="it is 5 times")
    for _ in range(2):
        with pytest.raises(errors.KnownMistake):
            mcp.call("remember", content=AGAIN, same_as=first)
    assert events(desk, first).count("rederived") == 1
    asked = told(desk)
    assert [(d.trigger, d.session, [n.id for n in d.notes]) for d in asked] == [("remember", "s2", [first])] * 2
    taught = desk.remember("The mirror takes a minute to answer.").id
    rule = desk.remember("Uploads need patience.", level="principle", slug="patience", sources=[str(taught)], why="w")
    with pytest.raises(errors.KnownMistake):
        mcp.call("revise", ref=rule.id, reason="sharper", text=CLAIM)
    assert told(desk)[-1].trigger == "revise"


# --- lineage


def test_a_copy_of_what_was_asked_for_is_derived_from_it(desk: Desk, mcp: Mcp) -> None:
    """And framed no higher: an auto-captured note does not come back as an agent's."""
    weak = desk.remember(CLAIM, provenance="auto").id
    mcp.call("recall", query="how often does the upload retry")
    copy = mcp.remember(COPY)
    assert f"derived from: [{weak}]" in desk.ask(api.Show(ref=str(copy), cwd=str(desk.repo))).text
    assert note(desk, copy).provenance == "agent"
    assert note(desk, copy).frame_class == "auto"


@pytest.mark.parametrize("later", ["another turn", "another epoch"])
def test_what_else_was_asked_for_in_that_turn_has_informed_it(desk: Desk, mcp: Mcp, first: int, later: str) -> None:
    """Not in a later turn; and a copy in a later epoch is built on what was asked for there."""
    mcp.call("show", ref=first)
    if later == "another epoch":
        desk.start(mcp.session, source="compact")
    about = mcp.remember("Invoices are numbered by the shop.")
    assert f"informed by: [{first}]" in desk.ask(api.Show(ref=str(about), cwd=str(desk.repo))).text
    mcp.prompt("p2")
    after = mcp.remember("Lunch is at noon.")
    assert "informed by" not in desk.ask(api.Show(ref=str(after), cwd=str(desk.repo))).text


def test_memd_s_own_lines_have_informed_nobody(desk: Desk, mcp: Mcp) -> None:
    """What stood before the notes of a start is no note."""
    desk.ask(api.ChangeSetting(key="pause", values=["1h"], cwd=str(desk.repo)))
    desk.start(mcp.session, source="compact")
    assert desk.daemon.parts.ledger.turn_notes(mcp.session, "", "p1")
    made = mcp.remember("Lunch is at noon.")
    with desk.daemon.parts.store.read() as snapshot:
        found = snapshot.note(snapshot.uid_of(made) or b"")
    assert found is not None
    assert found.informed_by == ()


def test_one_of_several_agents_builds_on_what_any_of_them_asked_for(
    desk: Desk, mcp: Mcp, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command is of no agent that memd can name once there are two; what it showed may stand in either's words."""
    monkeypatch.setattr("memd_daemon.service.asker.stands_in", lambda context, pid: True)
    desk.hook("subagent-start", desk.payload("SubagentStart", mcp.session, agent_id="a1", agent_type="general"))
    desk.recall("how often does the upload retry", env={SHELL: mcp.session})
    assert told(desk)[-1].agent == "unknown"
    by_main = mcp.remember(COPY)
    assert f"derived from: [{first}]" in desk.ask(api.Show(ref=str(by_main), cwd=str(desk.repo))).text


# --- what hooks tell is as it was


def test_asking_takes_nothing_away_from_what_is_told(desk: Desk, mcp: Mcp) -> None:
    """Nothing of it stands, or is of the turn, or costs of a budget."""
    rule = desk.remember("Never commit to main.", kind="directive").id
    bite = desk.remember("The lock drops on exit.", kind="gotcha", anchors=["app.py"]).id
    for id_ in (rule, bite):
        mcp.call("show", ref=id_)
    parts = desk.daemon.parts
    assert parts.ledger.standing("s2", "", 0) == {}
    assert parts.ledger.turn_notes("s2", "", "p1") == set()
    assert parts.ledger.turn_tokens("s2", "p1", "show") == 0
    assert f"[{bite}]" in context_of(desk.read("app.py", "s2"))
    assert f"[{rule}]" in context_of(desk.start("s2", source="compact"))


# --- telling


def test_deliveries_and_the_log_tell_what_was_asked_for(desk: Desk, mcp: Mcp, first: int) -> None:
    """By whom, how and when, marked; `why` among what was told."""
    mcp.call("recall", query="how often does the upload retry")
    mcp.call("show", ref=first)
    newest = desk.ask(api.Deliveries(session="s2")).deliveries[0]
    assert (newest.state, newest.trigger, newest.turn, newest.harness) == ("asked", "show", "p1", "claude")
    assert [n.id for n in newest.notes] == [first]
    assert newest.tokens > 0
    lines = [e for e in desk.ask(api.Log(ref=str(first))).events if e.local]
    assert [line.what for line in lines] == ["shown by recall, session s2", "shown by show, session s2"]
    assert {(line.type, line.effect, line.surface) for line in lines} == {("asked", "asked", "")}
    why = desk.ask(api.Why(ref=str(first), cwd=str(desk.repo), session="s2"))
    assert [(one.trigger, one.state, one.told) for one in why.decided][:2] == [
        ("show", "asked", True),
        ("recall", "asked", True),
    ]


def test_a_person_at_a_terminal_leaves_no_trace(desk: Desk, first: int) -> None:
    """Nor does a question whose environment names a session that is none."""
    for env in ({}, {SHELL: "nobody's"}):
        desk.recall("how often does the upload retry", env=env)
        desk.ask(api.Show(ref=str(first), cwd=str(desk.repo), env=env))
        desk.ask(api.ListNotes(cwd=str(desk.repo), env=env))
    assert told(desk) == []


def test_a_call_that_joins_nobody_is_told_of_nobody(desk: Desk, mcp: Mcp, first: int) -> None:
    """It was asked for, by no session; and it is an alibi for none either."""
    mcp.call("show", told=False, ref=first)
    assert [(d.session, d.agent, d.turn) for d in told(desk)] == [("", "", "")]
    assert not desk.daemon.parts.ledger.was_shown(told(desk)[0].notes[0].uid, "")
    answer = mcp.call("remember", told=False, content=AGAIN, same_as=first)
    assert "count nothing" in answer


def test_a_question_without_an_answer_is_not_kept(desk: Desk, mcp: Mcp) -> None:
    """Queries are not stored, also not that there was one."""
    mcp.call("recall", query="anything at all")
    assert told(desk) == []


def test_a_long_list_is_recorded_in_pieces(desk: Desk, mcp: Mcp, monkeypatch: pytest.MonkeyPatch) -> None:
    """No hook waits for one long write."""
    monkeypatch.setattr("memd_daemon.service.asker.stands_in", lambda context, pid: True)
    monkeypatch.setattr(limits, "ASKED_AT_ONCE_MAX", 2)
    ids = [desk.remember(f"Fact {n} of the {n} facts.").id for n in range(5)]
    desk.ask(api.ListNotes(cwd=str(desk.repo), env={SHELL: "s2"}))
    pieces = [[n.id for n in d.notes] for d in told(desk)]
    assert [len(piece) for piece in pieces] == [2, 2, 1]
    assert sorted(id_ for piece in pieces for id_ in piece) == ids
