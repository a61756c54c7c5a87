"""Where a claim comes from, with the real client: what its tools gave is seen, nothing is said of it, and a copy is one."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from .lab import Lab
from .memd import Memd
from .model import JSON, answer, text, tool
from .test_claude_calls import call, results, said

pytestmark = pytest.mark.e2e

PAGE = (
    "The importer reads its queue in batches of fifty rows. When a batch fails it is tried three times more with a growing pause, "
    "and after the third failure the whole batch is parked until a person has looked at the first row that was refused.\n"
)
COPY = "After the third failure the whole batch is parked until a person has looked at the first row."
README = "Always run the whole test suite before you push a branch, since the nightly build cannot tell whose change broke it.\n"
RULE = "Always run the whole test suite before you push a branch."


@pytest.fixture
def page(lab: Lab) -> Path:
    """A document outside the repository, which has a README of its own."""
    (lab.repository / "README.md").write_text(README)
    lab.commit_all("say how to push")
    made = lab.folder / "manual.md"
    made.write_text(PAGE)
    return made


def allowed(lab: Lab, page: Path) -> list[str]:
    """Options of a client that may read, and that has a server of documents beside memd's."""
    server = {"command": sys.executable, "args": ["-I", str(Path(__file__).parent / "docs_server.py"), str(page)]}
    servers = lab.folder / "servers.json"
    servers.write_text(json.dumps({"mcpServers": {"docs": server}}))
    return ["--mcp-config", str(servers), "--allowedTools", "mcp__memd,mcp__docs,Bash,Read,Grep,Agent"]


def bash(line: str) -> JSON:
    return tool("Bash", command=line, description="look")


@pytest.mark.parametrize(
    ("look", "source", "ref"),
    [
        (lambda page: tool("mcp__docs__page"), "tool", "mcp__docs__page"),
        (lambda page: bash(f"cat {page}"), "tool", "Bash"),
        (lambda page: bash(f"cat {page}; false"), "tool", "Bash"),
        (lambda page: tool("Read", file_path=str(page)), "document", "{page}"),
    ],
    ids=["server", "shell", "shell that fails", "file outside"],
)
def test_a_copy_is_told_to_be_one(lab: Lab, page: Path, memd: Memd, look: object, source: str, ref: str) -> None:
    """No word reaches the model with what was read; the note that copies it has its source, a rule that does is refused."""
    assert callable(look)
    rule = call("remember", content=f"Remember: {COPY}", kind="directive")
    lab.model.script(
        answer(look(page)),
        answer(call("remember", content=COPY, source="inference")),
        answer(rule),
        answer(text("done")),
    )
    _, was_read, was_recorded, was_refused = lab.claude("look at the importer", *allowed(lab, page)).requests
    assert "parked until a person" in was_read.news
    assert "memd" not in was_read.news
    assert "or more of its words in a row stand in what that gave" in said(results(was_recorded)[-1])
    assert results(was_refused)[-1]["is_error"] is True
    assert "Record it as a finding, or let the user state the rule." in said(results(was_refused)[-1])
    (note,) = memd.notes()
    assert (note["content"], note["source"]) == (COPY, {"type": source, "ref": ref.format(page=page)})


@pytest.mark.parametrize(
    "look",
    [
        lambda lab: tool("Read", file_path=str(lab.repository / "README.md")),
        lambda lab: bash("cat README.md"),
        lambda lab: tool("Grep", pattern="suite", output_mode="content"),
        lambda lab: bash("git log -p"),
    ],
    ids=["Read", "cat", "Grep", "git"],
)
def test_the_repositorys_own_words_make_no_rule_and_no_document(lab: Lab, page: Path, memd: Memd, look: object) -> None:
    """A finding that quotes the README is the agent's; a directive of its words is refused."""
    assert callable(look)
    lab.model.script(
        answer(look(lab)),
        answer(call("remember", content=RULE, kind="directive")),
        answer(call("remember", content=RULE)),
        answer(text("done")),
    )
    *_, was_refused, _ = lab.claude("look around", *allowed(lab, page)).requests
    assert "README.md of this repository" in said(results(was_refused)[-1])
    (note,) = memd.notes()
    assert (note["kind"], note["source"]["type"]) == ("finding", "inference")


def test_a_subagents_reading_and_a_shell_without_its_session_are_no_way_round(lab: Lab, page: Path, memd: Memd) -> None:
    """What a subagent read counts for the session; a command that drops its environment is held against everybody's."""
    agent = tool(
        "Agent",
        description="read",
        prompt="read the page",
        subagent_type="general-purpose",
        run_in_background=False,
    )
    line = f"env -u CLAUDE_CODE_SESSION_ID -u CLAUDECODE {lab.memd_binary} remember {shlex.quote('Note well. ' + COPY)}"
    lab.model.script(
        answer(agent, when=lambda request: "look at the importer" in request.text),
        answer(tool("mcp__docs__page"), asks="subagent"),
        answer(text("it says what it says"), asks="subagent"),
        answer(call("remember", content=COPY)),
        answer(bash(line)),
        answer(text("done")),
    )
    lab.claude("look at the importer", *allowed(lab, page))
    notes = memd.notes()
    assert {note["source"]["ref"] for note in notes} == {"mcp__docs__page"}
    assert len(notes) == 2


def test_what_memd_says_itself_is_no_document(lab: Lab, page: Path, memd: Memd) -> None:
    """A note that is recalled, by a tool or in the shell, and then repeated."""
    memd.remember(COPY, kind="finding")
    lab.model.script(
        answer(call("recall", query="parked batch")),
        answer(bash(f"{lab.memd_binary} recall 'parked batch'")),
        answer(call("remember", content=f"{COPY} Seen again in the logs of today.")),
        answer(text("done")),
    )
    lab.claude("look at the importer", *allowed(lab, page))
    assert {note["source"]["type"] for note in memd.notes()} == {"cli", "inference"}
