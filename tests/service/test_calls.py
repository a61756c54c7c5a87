"""A call over MCP is joined to the agent whose client told of it, or to nobody (trust-boundary.md, "Who is asking")."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memd_client import api
from memd_daemon import errors, limits
from memd_daemon.model.delivery import Context
from memd_daemon.model.words import Actor, Surface
from memd_daemon.service.asker import JOINED, UNKNOWN_AGENT, Asker, asker_of
from memd_daemon.service.calls import UNJOINED, Calls, canonical
from memd_daemon.service.clients import PEER, Process, nearest, process
from memd_hooks.events import HookEvent, Moment
from tests.service.desk import Desk, context_of, git
from tests.service.processes import Client, client

TEXT = {"text": "Retry it three times.", "n": 1}
ID = "toolu_1"
CLAUDE = "CLAUDE_CODE_SESSION_ID"


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Client]:
    with client(tmp_path) as made:
        yield made


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Client]:
    with client(tmp_path) as made:
        yield made


def joined(desk: Desk, pid: int, tool: str = "remember", use: str = ID, **changes: Any) -> Asker:
    return desk.daemon.parts.calls.join(pid, tool, canonical({**TEXT, **changes}), use)


def started(desk: Desk, of: Client, session: str = "s1", prompt_id: str = "p1") -> None:
    """A session of this client that is in its turn."""
    desk.hook("session-start", desk.payload("SessionStart", session, source="startup"), pid=of.hook)
    prompt = desk.payload("UserPromptSubmit", session, prompt="go on", prompt_id=prompt_id)
    desk.hook("prompt-submit", prompt, pid=of.hook)


# --- with the client's own id


def test_a_call_is_its_tellers(desk: Desk, one: Client) -> None:
    """Session, agent, turn and harness of the hook, whatever order the arguments stand in; and over MCP."""
    started(desk, one)
    desk.call("remember", {"n": 1, "text": TEXT["text"]}, one.hook, use=ID)
    told = joined(desk, one.carrier)
    assert (told.session, told.agent, told.turn, told.harness) == ("s1", "", "p1", "claude")
    assert (told.actor, told.surface) == (Actor.AGENT, Surface.MCP)


def test_a_call_is_joined_once(desk: Desk, one: Client) -> None:
    """The same request again is somebody else's."""
    started(desk, one)
    desk.call("remember", TEXT, one.hook, use=ID)
    assert joined(desk, one.carrier).session == "s1"
    assert joined(desk, one.carrier) == UNJOINED


@pytest.mark.parametrize(
    ("tool", "use", "changes"),
    [("recall", ID, {}), ("remember", "toolu_2", {}), ("remember", ID, {"n": 2})],
    ids=["another tool", "another id", "other arguments"],
)
def test_what_does_not_agree_does_not_join(
    desk: Desk, one: Client, tool: str, use: str, changes: dict[str, Any]
) -> None:
    """And the call that was told waits on for its own request."""
    started(desk, one)
    desk.call("remember", TEXT, one.hook, use=ID)
    assert joined(desk, one.carrier, tool, use, **changes) == UNJOINED
    assert joined(desk, one.carrier).session == "s1"


def test_a_subagent_is_told_from_its_session(desk: Desk, one: Client) -> None:
    """Equal calls of the main agent and of a subagent, each by its id, in the other order."""
    started(desk, one)
    desk.call("remember", TEXT, one.hook, use="toolu_main")
    desk.call("remember", TEXT, one.hook, use="toolu_sub", agent_id="a1")
    assert joined(desk, one.carrier, use="toolu_sub").agent == "a1"
    assert joined(desk, one.carrier, use="toolu_main").agent == ""


def test_two_clients_never_mix(desk: Desk, one: Client, other: Client) -> None:
    """The same id and the same words in two clients: each carrier gets its own."""
    started(desk, one, "s1")
    started(desk, other, "s2")
    desk.call("remember", TEXT, one.hook, "s1")
    desk.call("remember", TEXT, other.hook, "s2")
    assert joined(desk, other.carrier, use="toolu_c").session == "s2"
    assert joined(desk, one.carrier, use="toolu_c").session == "s1"


@pytest.mark.parametrize("agent", [{}, {"agent_id": "a9"}], ids=["its main agent", "a made-up agent of it"])
def test_a_forged_hook_speaks_for_no_other_client(
    desk: Desk, one: Client, other: Client, agent: dict[str, str]
) -> None:
    """A model's shell sends a hook in the name of another client's session: nothing that is called under either is joined to it."""
    started(desk, one, "s1")
    started(desk, other, "s2")
    desk.call("remember", TEXT, other.hook, "s1", use=ID, **agent)
    assert joined(desk, other.carrier) == UNJOINED
    assert joined(desk, one.carrier) == UNJOINED


def test_a_session_is_not_taken_away_by_a_hook(desk: Desk, one: Client, other: Client) -> None:
    """A start and a prompt in its name from under another client: the session stays where it lives."""
    started(desk, one, "s1")
    started(desk, other, "s1")
    desk.call("remember", TEXT, other.hook, "s1", use="forged")
    desk.call("remember", TEXT, one.hook, "s1", use=ID)
    assert joined(desk, other.carrier, use="forged") == UNJOINED
    assert joined(desk, one.carrier).session == "s1"


def test_a_session_that_is_resumed_moves(desk: Desk, tmp_path: Path, other: Client) -> None:
    """Its first client has gone, so the next one is its own."""
    with client(tmp_path) as first:
        started(desk, first, "s1")
    started(desk, other, "s1")
    desk.call("remember", TEXT, other.hook, "s1", use=ID)
    assert joined(desk, other.carrier).session == "s1"


def test_a_session_that_was_ended_moves(desk: Desk, one: Client, other: Client) -> None:
    """One that is taken up again in another client, while its first goes on with another session."""
    started(desk, one, "s1")
    desk.hook("session-end", desk.payload("SessionEnd", "s1", reason="clear"), pid=one.hook)
    started(desk, other, "s1")
    desk.call("remember", TEXT, other.hook, "s1", use=ID)
    assert joined(desk, other.carrier).session == "s1"


def test_a_process_under_no_client_joins_nothing(desk: Desk, one: Client) -> None:
    """Neither a carrier that nobody started, nor one of whom the system says nothing."""
    started(desk, one)
    desk.call("remember", TEXT, one.hook, use=ID)
    assert [joined(desk, pid) for pid in (0, 1, one.pid)] == [UNJOINED] * 3


def test_a_probe_is_no_call(desk: Desk, one: Client) -> None:
    """What memd fires to see whether it works waits for no request."""
    started(desk, one)
    payload = desk.payload("PreToolUse", "s1", tool_name="mcp__memd__remember", tool_input=TEXT, tool_use_id=ID)
    desk.hook("pre-edit", payload, probe=True, pid=one.hook)
    assert joined(desk, one.carrier) == UNJOINED


def test_the_word_of_a_call_is_answered_with_silence(desk: Desk, one: Client) -> None:
    """And a context that is still owed its bundle gets it with this call as with any other."""
    desk.remember("Run the tests with tox.", kind="directive")
    started(desk, one)
    assert desk.call("remember", TEXT, one.hook) == ""
    assert "tox" in context_of(desk.call("remember", TEXT, one.hook, "late", use="toolu_late"))


# --- without an id


PID = 7  # of a client that the clock and the table below make up
HERE = Context(session="s1", harness="claude", turn="p1", client_pid=PID, client_started=1)


def made(now: list[int]) -> Calls:
    return Calls(
        clock_ns=lambda: now[0],
        client_of=lambda _: Process(pid=PID, name="claude", parent=1, terminal=False, started=1),
    )


def told(calls: Calls, context: Context = HERE, use: str = "", **tool_input: Any) -> bool:
    given = canonical(tool_input)
    event = HookEvent(
        moment=Moment.MEMD_CALL,
        harness="claude",
        session="s1",
        cwd="/",
        tool="remember",
        tool_use_id=use,
        tool_input=given,
    )
    return calls.register(HERE, context, event, 99)


def came(calls: Calls, use: str = "", **arguments: Any) -> Asker:
    return calls.join(98, "remember", canonical(arguments), use)


def test_without_an_id_the_words_join() -> None:
    """Tool and input of one agent: two equal calls of its are two."""
    calls = made([0])
    assert told(calls, text="a")
    assert told(calls, text="a")
    assert [came(calls, text="a").session for _ in range(3)] == ["s1", "s1", ""]


@pytest.mark.parametrize(
    "second",
    [{"agent": "a1"}, {"turn": "p2"}, {"epoch": 1}],
    ids=["another agent", "another turn", "after a compaction"],
)
def test_equal_calls_of_two_are_nobodys(second: dict[str, Any]) -> None:
    """Which of them came first says nothing, then and later."""
    calls = made([0])
    told(calls, text="a")
    told(calls, msgspec.structs.replace(HERE, **second), text="a")
    assert [came(calls, text="a") for _ in range(3)] == [UNJOINED] * 3


def test_one_id_told_by_two_is_nobodys() -> None:
    """An id is the client's own, so one of the two is made up."""
    calls = made([0])
    told(calls, use=ID, text="a")
    told(calls, msgspec.structs.replace(HERE, agent="a1"), use=ID, text="a")
    assert came(calls, use=ID, text="a") == UNJOINED


def test_a_hook_that_came_twice_told_one_call() -> None:
    """A client whose settings name it at two levels."""
    calls = made([0])
    told(calls, use=ID, text="a")
    told(calls, use=ID, text="a")
    assert [came(calls, use=ID, text="a").session for _ in range(2)] == ["s1", ""]


def test_a_call_is_awaited_for_so_long() -> None:
    """A person who was asked for leave may take their time, and what was denied is forgotten in the end."""
    now = [0]
    calls = made(now)
    told(calls, use=ID, text="a")
    told(calls, use="toolu_2", text="a")
    now[0] = limits.CALL_AWAITED_MS * limits.NS_PER_MS - 1
    assert came(calls, use=ID, text="a").session == "s1"
    now[0] += 1
    assert came(calls, use="toolu_2", text="a") == UNJOINED


def test_the_oldest_of_too_many_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that tells of calls and never makes them takes no memory for it."""
    monkeypatch.setattr(limits, "CALLS_AWAITED_MAX", 3)
    calls = made([0])
    for number in range(4):
        told(calls, use=f"toolu_{number}", text="a")
    assert [came(calls, use=f"toolu_{n}", text="a").session for n in range(4)] == ["", "s1", "s1", "s1"]


def test_one_call_is_joined_by_one_of_many_threads() -> None:
    """However many carriers ask at once."""
    calls, found = made([0]), []
    told(calls, use=ID, text="a")
    threads = [threading.Thread(target=lambda: found.append(came(calls, use=ID, text="a").session)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [""] * 7 + ["s1"]


# --- what the door has settled


def test_what_was_joined_counts_whatever_the_request_says(desk: Desk, one: Client) -> None:
    """The environment of a carrier is the client's at its start, and no word of the call."""
    started(desk, one)
    token = JOINED.set(UNJOINED)
    try:
        assert asker_of(desk.daemon.parts.ledger, {CLAUDE: "s1"}, "cli") == UNJOINED
    finally:
        JOINED.reset(token)


def test_nobody_says_of_themselves_that_they_come_over_mcp(desk: Desk) -> None:
    """Only the door that such requests come through says it."""
    with pytest.raises(errors.UnknownWord):
        desk.remember("A claim.", surface="mcp")


def test_what_comes_unjoined_over_mcp_is_an_agents_inference(desk: Desk) -> None:
    """No session is credited, and it is not called a line that somebody typed."""
    token = JOINED.set(UNJOINED)
    try:
        id_ = desk.remember("The parser drops empty lines.").id
    finally:
        JOINED.reset(token)
    shown = desk.ask(api.Show(ref=str(id_), cwd=str(desk.repo)))
    assert (shown.note.source.type if hasattr(shown.note.source, "type") else shown.note.source) in (
        "inference",
        "inferred",
    )


@pytest.mark.parametrize(("agent", "is_told"), [("", True), ("a1", True), (UNKNOWN_AGENT, False)])
def test_a_note_knows_the_turn_in_which_it_was_written(desk: Desk, one: Client, agent: str, is_told: bool) -> None:
    """By the number that `turns` shows; of an agent that may be of an earlier turn it is not said."""
    started(desk, one, prompt_id="p0")
    started(desk, one, prompt_id="p1")
    token = JOINED.set(msgspec.structs.replace(UNJOINED, session="s1", agent=agent, turn="p1", harness="claude"))
    try:
        id_ = desk.remember("The parser drops empty lines.").id
    finally:
        JOINED.reset(token)
    second = max(turn.turn for turn in desk.ask(api.Turns()).turns)
    told = desk.ask(api.Show(ref=str(id_), cwd=str(desk.repo))).text
    assert f"through mcp, in claude, session s1{f', turn {second}' if is_told else ''}\n" in told


# --- commands


def asked_from(desk: Desk, pid: int, session: str) -> Asker:
    token = PEER.set(pid)
    try:
        return asker_of(desk.daemon.parts.ledger, {CLAUDE: session}, "cli")
    finally:
        PEER.reset(token)


def test_a_command_stands_under_the_client_that_it_names(desk: Desk, one: Client, other: Client) -> None:
    """Two clients in one repository: a variable that was copied from the one into the other's shell joins nothing."""
    started(desk, one, "s1")
    started(desk, other, "s2")
    pids, sessions = (one.carrier, other.carrier, 1, 0), ("s1", "s2")
    found = {(pid, session): asked_from(desk, pid, session).session for pid in pids for session in sessions}
    named = {key: session for key, session in found.items() if session}
    assert named == {(one.carrier, "s1"): "s1", (other.carrier, "s2"): "s2"}


@pytest.mark.parametrize("inner", ["claude", "codex"])
def test_the_nearest_client_counts(tmp_path: Path, inner: str) -> None:
    """Of whatever harness: the outer one's variable came down with the environment."""
    with client(tmp_path, inner, "claude") as nested:
        above = nearest(nested.carrier, {"claude": ("claude",), "codex": ("codex",)})
    assert above is not None
    assert (above.name, above.pid != nested.pid) == (inner, True)


def test_a_command_in_a_client_within_the_client_is_not_of_the_outer(desk: Desk, tmp_path: Path) -> None:
    """Which stands above both."""
    with client(tmp_path, "claude", "claude") as nested:
        outer = process(nested.pid)
        assert outer is not None
        context = Context(session="s1", harness="claude", client_pid=outer.pid, client_started=outer.started)
        desk.daemon.parts.ledger.put_context(context)
        assert asked_from(desk, nested.carrier, "s1").session == ""


def test_a_pid_that_was_given_again_is_another_process(desk: Desk, one: Client) -> None:
    """A session whose client has gone is not that of a later process with its number."""
    here = process(one.pid)
    assert here is not None
    context = Context(session="s1", harness="claude", client_pid=one.pid, client_started=here.started - 1)
    desk.daemon.parts.ledger.put_context(context)
    assert asked_from(desk, one.carrier, "s1").session == ""


def test_with_a_subagent_a_command_is_nobodys_in_particular(desk: Desk, one: Client) -> None:
    """A client tells its shells the session and not the agent: that is the main agent only while there is no other."""
    started(desk, one)
    assert asked_from(desk, one.carrier, "s1").agent == ""
    desk.hook("subagent-start", desk.payload("SubagentStart", "s1", agent_id="a1", agent_type="x"), pid=one.hook)
    assert asked_from(desk, one.carrier, "s1").agent == UNKNOWN_AGENT


def test_an_agent_that_is_not_known_is_credited_with_its_own_words_alone(desk: Desk, one: Client) -> None:
    """A note that was told to any agent of the session and stands in the text is a source; what else was told in the turn is
    nobody's influence."""
    rule = "Every retry of the importer waits three seconds before it asks the database again."
    source = desk.remember(rule, kind="directive")
    desk.remember("Run the tests with tox.", kind="directive")
    started(desk, one)
    desk.hook("subagent-start", desk.payload("SubagentStart", "s1", agent_id="a1", agent_type="x"), pid=one.hook)
    token = PEER.set(one.carrier)
    try:
        made = desk.remember(rule + " That was measured.", env={CLAUDE: "s1"})
    finally:
        PEER.reset(token)
    with desk.daemon.parts.store.read() as snapshot:
        note = snapshot.note(snapshot.uid_of(made.id) or b"")
        assert note is not None
        assert [snapshot.id_of(uid) for uid in note.derived_from] == [source.id]
        assert note.informed_by == ()
        assert (note.session, note.agent) == ("s1", UNKNOWN_AGENT)


def test_a_commit_is_of_the_client_that_it_was_made_under(desk: Desk, one: Client, other: Client) -> None:
    """git's hook has the environment that somebody gave it."""
    started(desk, one, "s1")
    for pid in (other.hook, one.hook):
        (desk.repo / "app.py").write_text(f"x = {pid}\n")
        git(desk.repo, "commit", "-qam", f"Change it to {pid}")
        desk.hook("git-commit", b"", env=b"CLAUDE_CODE_SESSION_ID=s1\n", pid=pid)
    notes = desk.ask(api.ListNotes(cwd=str(desk.repo))).notes
    named = {
        pid: "session s1" in note.content
        for note in notes
        for pid in (other.hook, one.hook)
        if str(pid) in note.content
    }
    assert named == {other.hook: False, one.hook: True}
