"""memd's tools over MCP, and the command in the client's shell: what the model reads, and whose each note is."""

import json
import re
import shlex
import uuid
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from .lab import Lab, Turn
from .memd import Memd
from .model import JSON, WAIT_SECONDS, Request, Rule, answer, text, tool

pytestmark = pytest.mark.e2e

# Headless, a tool that nobody allowed is denied.
ALLOWED = ("--allowedTools", "mcp__memd,Bash,Agent")
CLAIM = "add() is called with strings too, so the order of the operands matters."
WRONG = "The importer retries three times when the database is locked."
RIGHT = "The importer retries five times when the database is locked."


def call(name: str, **arguments: Any) -> JSON:
    """The model calls a tool of memd's."""
    return tool(f"mcp__memd__{name}", **arguments)


def shell(lab: Lab, content: str, before: str = "") -> JSON:
    """The model records a note by the command line."""
    line = f"{before}{lab.memd_binary} remember {shlex.quote(content)}"
    return tool("Bash", command=line, description="remember")


def results(request: Request) -> list[JSON]:
    """The tool results that a request brings."""
    contents = [message["content"] for message in request.messages if isinstance(message["content"], list)]
    return [block for blocks in contents for block in blocks if block["type"] == "tool_result"]


def said(result: JSON) -> str:
    content = result["content"]
    return content if isinstance(content, str) else "\n".join(block["text"] for block in content)


# --- what an agent can do with them


def test_an_agent_remembers_and_recalls(lab: Lab, memd: Memd) -> None:
    """The instructions stand in the first request; the note is of this session, in this turn, an inference over MCP; recalled it
    stands in its frame, and no hook has said a word about the calls."""
    remember = call("remember", content=CLAIM, kind="gotcha", anchors=["app.py"])
    lab.model.script(answer(remember), answer(call("recall", query="operands of add")), answer(text("noted")))
    turn = lab.claude("look at app.py", *ALLOWED)
    first, was_recorded, was_recalled = turn.requests
    assert "Tools name a note by its number." in first.text
    (note,) = memd.notes()
    assert said(results(was_recorded)[-1]) == f"recorded [{note['id']}]"
    assert f"[{note['id']}]" in said(results(was_recalled)[-1])
    assert "[agent]" in said(results(was_recalled)[-1])
    assert CLAIM in said(results(was_recalled)[-1])
    assert "memd:" not in was_recorded.news.replace(said(results(was_recorded)[-1]), "")
    (spoken,) = memd.turns()
    assert f"through mcp, in claude, session {turn.session}, turn {spoken['turn']}\n" in memd.shown(note)
    born = memd.born(note)
    assert (born["session"], born["agent"], born["surface"], born["actor"]) == (turn.session, "", "mcp", "agent")
    assert (note["source"]["type"], note["kind"], note["content"]) == ("inference", "gotcha", CLAIM)


def test_no_agent_reaches_a_persons_class(lab: Lab, memd: Memd) -> None:
    """Neither by promoting nor by writing: both are refused, and nothing is recorded of them."""
    memd.remember(CLAIM, kind="finding")
    forged = call("remember", content=RIGHT, provenance="human")
    lab.model.script(answer(call("promote", ref=1, to="human")), answer(forged), answer(text("refused")))
    _, was_promoted, was_forged = lab.claude("endorse it", *ALLOWED).requests
    assert results(was_promoted)[-1]["is_error"] is True
    assert results(was_forged)[-1]["is_error"] is True
    (note,) = memd.notes()
    assert (note["content"], note["provenance"], note["frame_class"], note["proposals"]) == (
        CLAIM,
        "agent",
        "agent",
        [],
    )


def test_a_mistake_stays_struck_through(lab: Lab, memd: Memd) -> None:
    """Contradicted over MCP, it comes back as a tombstone to who asks, and to who would record it again."""
    lab.model.script(
        answer(call("remember", content=WRONG)),
        answer(call("remember", content=RIGHT, contradicts=1, reason="the constant is 5")),
        answer(call("recall", query="how often does the importer retry")),
        answer(call("remember", content=WRONG)),
        answer(text("noted")),
    )
    asked = lab.claude("look at the importer", *ALLOWED).requests
    recalled, again = results(asked[-2])[-1], results(asked[-1])[-1]
    for told in (recalled, again):
        assert "Previously believed" in said(told)
        assert "the constant is 5" in said(told)
    assert again["is_error"] is True
    assert RIGHT in said(recalled)
    assert [note["content"] for note in memd.notes() if note["state"]["belief"] == "held"] == [RIGHT]


# --- whose is it


class Voices:
    """Two clients in one repository, each known by the words of its prompt, that go from step to step together."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.sessions = {name: str(uuid.uuid4()) for name in ("one", "two")}
        self.step = Barrier(2, timeout=WAIT_SECONDS)

    def rule(self, name: str, *blocks: JSON, asks: str = "main") -> Rule:
        """What client `name` (or its subagent) says next, at once with what the other says."""
        return answer(*blocks, asks=asks, gate=self.step.wait, when=lambda request: f"client {name}" in request.text)

    def speak(self) -> dict[str, Turn]:
        """One turn of each, both at the same time."""
        with ThreadPoolExecutor(2) as pool:
            turns = {
                name: pool.submit(self.lab.claude, f"this is client {name}", *ALLOWED, "--session-id", session)
                for name, session in self.sessions.items()
            }
        return {name: turn.result() for name, turn in turns.items()}


def test_two_clients_and_a_subagent_are_never_mixed(lab: Lab, memd: Memd) -> None:
    """At once, in equal words, over MCP and by the shell: each note is of the session, agent and turn that wrote it.

    No client tells its shells which agent they are of, so what a subagent records there is of an agent unknown; and a session's
    id in the shell of another client joins nothing.
    """
    voices = Voices(lab)
    one, two = voices.sessions["one"], voices.sessions["two"]

    def same(tag: str) -> JSON:  # a tag of its own: what stands already word for word is not recorded again
        return call("remember", content="Both clients say this.", tags=[tag])

    agent = tool("Agent", description="look", prompt="you work for client one", subagent_type="general-purpose")
    lab.model.script(
        voices.rule("one", same("first")),
        voices.rule("two", same("second")),
        voices.rule("one", shell(lab, "The shell of one.")),
        voices.rule("two", shell(lab, "The shell of two.")),
        voices.rule("one", shell(lab, "One in the name of two.", f"CLAUDE_CODE_SESSION_ID={two} ")),
        voices.rule("two", shell(lab, "Two in the name of one.", f"CLAUDE_CODE_SESSION_ID={one} ")),
        answer(agent, when=lambda request: "client one" in request.text),
        voices.rule("one", same("third"), shell(lab, "The shell of the subagent."), asks="subagent"),
        voices.rule("two", same("fourth")),
        answer(text("looked"), asks="subagent"),
    )
    turns = voices.speak()
    (subagent,) = set(re.findall(r"agentId: (\w+)", "\n".join(r.text for r in turns["one"].sent)))
    written = [(note, memd.born(note)) for note in memd.notes()]
    found = sorted((note["content"], born["session"], born["agent"], born["surface"]) for note, born in written)
    assert found == sorted(
        [
            ("Both clients say this.", one, "", "mcp"),
            ("Both clients say this.", one, subagent, "mcp"),
            *[("Both clients say this.", two, "", "mcp")] * 2,
            ("The shell of one.", one, "", "cli"),
            ("The shell of two.", two, "", "cli"),
            ("One in the name of two.", "", "", "cli"),
            ("Two in the name of one.", "", "", "cli"),
            ("The shell of the subagent.", one, "unknown", "cli"),
        ]
    )
    numbers = {turn["session"]: turn["turn"] for turn in memd.turns()}
    for note, born in written:
        is_told = born["session"] and born["agent"] != "unknown"
        turn = re.findall(r", turn (\d+)$", memd.shown(note), re.MULTILINE)
        assert turn == ([str(numbers[born["session"]])] if is_told else [])


# --- the installer's part


def test_leave_to_read_is_leave_to_read_alone(lab: Lab) -> None:
    """With --allow-read-tools the client calls recall without a question; what writes is asked about, which headless means no."""
    lab.memd("install", "--harness", "claude", "--allow-read-tools", "--json")
    memd = Memd(lab)
    memd.remember(CLAIM, kind="finding")
    lab.model.script(
        answer(call("recall", query="operands of add"), call("remember", content=RIGHT)), answer(text("done"))
    )
    _, after = lab.claude("look").requests
    recalled, refused = results(after)
    assert CLAIM in said(recalled)
    assert "permission" in said(refused)
    assert [note["content"] for note in memd.notes()] == [CLAIM]


def test_the_clients_own_file_is_left_as_the_client_has_it(lab: Lab, memd: Memd) -> None:
    """It writes its file at each start; after uninstall everything is there that it wrote, and nothing of memd."""
    lab.claude("say hello")
    before = json.loads(lab.config.read_text())
    assert list(before.pop("mcpServers")) == ["memd"]
    assert len(before) > 1, "the client has written to it"
    lab.memd("uninstall", "--harness", "claude", "--json")
    assert json.loads(lab.config.read_text()) == before
    lab.model.script(answer(call("recall", query="x")), answer(text("done")))
    _, after = lab.claude("look", *ALLOWED).requests
    assert "No such tool" in said(results(after)[-1])


def test_a_projects_server_is_there_in_that_project(lab: Lab) -> None:
    """Registered in the person's own file, so that git sees nothing; the client finds it from a folder below."""
    (lab.repository / ".gitignore").write_text(".claude/settings.local.json\n")
    lab.commit_all("ignore one's own settings")
    lab.memd("install", "--harness", "claude", "--project", "--no-git", "--json")
    assert lab.git("status", "--porcelain") == ""
    lab.model.script(answer(call("remember", content=CLAIM)), answer(text("noted")))
    turn = lab.claude("look", *ALLOWED)
    memd = Memd(lab)
    (note,) = memd.notes()
    assert memd.born(note)["session"] == turn.session
