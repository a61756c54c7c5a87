"""Before the edit, truly before: the request that an edit answers already holds the gotcha of its file, in every way there."""

import json
from collections.abc import Sequence

import pytest

from .lab import APP, SMALL_WINDOW, Lab
from .memd import HELD, Memd, bundles, eventually
from .model import JSON, Request, answer, text, tool

pytestmark = pytest.mark.e2e

GOTCHA = "add() is called with strings too, so the order of the operands matters."
README = "The title is parsed by the release script."
SWAPPED = "return b + a"
EDITS = ("Edit", "Write")
MOVED = "status: changed since — verify"


def read(path: object) -> JSON:
    return tool("Read", file_path=str(path))


def edit(path: object, old: str = "a + b", new: str = "b + a") -> JSON:
    return tool("Edit", file_path=str(path), old_string=old, new_string=new)


def shell(command: str) -> JSON:
    return tool("Bash", command=command, description="move")


def results(request: Request) -> dict[str, JSON]:
    """Every tool result in a request, by the id of its call."""
    contents = [message["content"] for message in request.messages if isinstance(message["content"], list)]
    return {block["tool_use_id"]: block for blocks in contents for block in blocks if block["type"] == "tool_result"}


def made(requests: Sequence[Request]) -> list[tuple[int, JSON]]:
    """Each edit that was made: (index of the request that it answers, the call)."""
    found: list[tuple[int, JSON]] = []
    for at, request in enumerate(requests):
        known = {call["id"] for _, call in found}
        done = results(request)
        for call in request.tool_calls:
            is_new = call["id"] not in known and call["name"] in EDITS
            if is_new and call["id"] in done and not done[call["id"]].get("is_error"):
                found.append((at - 1, call))
    return found


def assert_told_before(requests: Sequence[Request], gotcha: str = GOTCHA) -> None:
    """Whatever edits were made, the model had read the gotcha; and it was told once."""
    edits = made(requests)
    assert edits, "an edit was made"
    for at, call in edits:
        assert gotcha in requests[at].text, f"{call['name']} was made before the gotcha was told"
    assert requests[-1].text.count(gotcha) == 1


def outcomes(memd: Memd) -> list[str]:
    return [one["outcome"] for one in memd.deliveries() if one["held"]]


def test_by_the_read_that_comes_before_it(lab: Lab, memd: Memd) -> None:
    """The gotcha rides on the read, and the edit answers the request that holds it."""
    memd.remember(GOTCHA, kind="gotcha", priority="high", anchor="app.py")
    lab.model.script(answer(read(lab.app)), answer(edit(lab.app)), answer(text("swapped")))
    turn = lab.claude("swap the operands")
    assert_told_before(turn.requests)
    assert SWAPPED in lab.app.read_text()
    assert outcomes(memd) == []


@pytest.mark.parametrize("mode", ["acceptEdits", "bypassPermissions"])
def test_by_holding_an_unread_edit_back(lab: Lab, memd: Memd, mode: str) -> None:
    """Also where the client asks nobody; the call that is repeated is counted so."""
    memd.remember(GOTCHA, kind="gotcha", priority="high", anchor="app.py")
    lab.model.script(answer(edit(lab.app)), answer(edit(lab.app)), answer(text("swapped")))
    sandbox = {"IS_SANDBOX": "1"}  # without it the client runs so under no superuser
    turn = lab.claude("swap the operands", "--permission-mode", mode, env=sandbox)
    assert_told_before(turn.requests)
    assert SWAPPED in lab.app.read_text()
    assert outcomes(memd) == ["repeated"]


def test_an_edit_that_was_changed_for_it(lab: Lab, memd: Memd) -> None:
    """It passes as well, and the count tells the two apart."""
    memd.remember(GOTCHA, kind="gotcha", priority="high", anchor="app.py")
    careful = edit(lab.app, new="b + a  # strings too")
    lab.model.script(answer(edit(lab.app)), answer(careful), answer(text("swapped")))
    turn = lab.claude("swap the operands")
    assert_told_before(turn.requests)
    assert "# strings too" in lab.app.read_text()
    assert outcomes(memd) == ["changed"]
    assert lab.memd("status", "--json").json()["holds"]["changed"] == 1
    assert "1 edit once: 1 changed" in lab.memd("status").out
    assert "held: changed" in lab.memd("deliveries").out


def test_an_edit_that_was_given_up_for_it(lab: Lab, memd: Memd) -> None:
    """The session ends, and the file is untouched."""
    memd.remember(GOTCHA, kind="gotcha", priority="high", anchor="app.py")
    lab.model.script(answer(edit(lab.app)), answer(text("then rather not")))
    turn = lab.claude("swap the operands")
    assert made(turn.requests) == []
    assert lab.app.read_text() == APP
    eventually(lambda: outcomes(memd) == ["abandoned"], "the end of the session is heard")


def test_two_edits_in_one_message(lab: Lab, memd: Memd) -> None:
    """One is held, the other is made and its gotcha stands beside its result: one hold a turn, and each is told once."""
    memd.remember(GOTCHA, kind="gotcha", priority="high", anchor="app.py")
    memd.remember(README, kind="gotcha", priority="high", anchor="README.md")
    title = edit(lab.repository / "README.md", "# A scratch", "# Another")
    lab.model.script(answer(edit(lab.app), title), answer(edit(lab.app)), answer(text("done")))
    requests = lab.claude("swap the operands and change the title").requests
    held = [block for block in results(requests[1]).values() if block.get("is_error")]
    assert len(held) == 1
    assert [requests[-1].text.count(note) for note in (GOTCHA, README)] == [1, 1]
    assert requests[-1].text.count(HELD) == 1
    assert SWAPPED in lab.app.read_text()
    assert outcomes(memd) == ["repeated"]


def test_a_file_that_is_written_anew(lab: Lab, memd: Memd) -> None:
    """It was deleted since its gotcha was recorded; the write that brings it back is held."""
    memd.remember(GOTCHA, kind="gotcha", priority="high", anchor="app.py")
    lab.app.unlink()
    write = tool("Write", file_path=str(lab.app), content=APP)
    lab.model.script(answer(write), answer({**write, "id": "toolu_again"}), answer(text("written")))
    turn = lab.claude("bring app.py back")
    assert_told_before(turn.requests)
    assert f"(anchor: app.py, {MOVED}): {GOTCHA}" in turn.requests[1].news
    assert lab.app.read_text() == APP


@pytest.mark.parametrize("command", ["git mv app.py adding.py", "mv app.py adding.py"])
def test_a_file_that_the_session_has_just_moved(lab: Lab, memd: Memd, command: str) -> None:
    """Nothing is committed; the read at the new path carries the gotcha, which names the path it is anchored to."""
    memd.remember(GOTCHA, kind="gotcha", priority="high", anchor="app.py")
    moved = lab.repository / "adding.py"
    lab.model.script(
        answer(shell(command)), answer(read(moved)), answer(edit(moved)), answer(text("moved and swapped"))
    )
    turn = lab.claude("rename app.py and swap the operands", "--allowedTools", "Bash")
    assert_told_before(turn.requests)
    assert f"(anchor: app.py, {MOVED}): {GOTCHA}" in turn.requests[2].news
    assert SWAPPED in moved.read_text()


def test_after_a_compaction_in_mid_turn(lab: Lab, memd: Memd) -> None:
    """What the read had told is gone with the old context, so the edit is held for it: told again, before it is made."""
    memd.remember(GOTCHA, kind="gotcha", priority="high", anchor="app.py")
    big = lab.repository / "big.txt"
    big.write_text("".join(f"line {n} of a file that fills the context window\n" for n in range(1500)))
    lab.model.script(
        answer(read(lab.app)),
        answer(tool("Read", file_path=str(big), limit=1400), usage=25_000),
        answer(edit(lab.app)),
        answer(edit(lab.app)),
        answer(text("swapped")),
    )
    turn = lab.claude("read it all and swap the operands", env=SMALL_WINDOW)
    kinds = [request.kind for request in turn.sent]
    assert kinds.count("summary") == 1
    assert GOTCHA in turn.sent[kinds.index("summary") - 1].text
    edits = made(turn.requests)
    assert len(edits) == 1
    assert GOTCHA in turn.requests[edits[0][0]].text
    assert SWAPPED in lab.app.read_text()


def test_a_subagents_edit(lab: Lab, memd: Memd) -> None:
    """Its session has not read the file: it is held in the subagent's own context, and the session is told nothing."""
    memd.remember(GOTCHA, kind="gotcha", priority="high", anchor="app.py")
    sub = tool("Agent", description="swap", prompt="SUBTASK", subagent_type="general-purpose", run_in_background=False)
    lab.model.script(
        answer(sub),
        answer(edit(lab.app), asks="subagent"),
        answer(edit(lab.app), asks="subagent"),
        answer(text("swapped"), asks="subagent"),
    )
    turn = lab.claude("have somebody swap the operands")
    subagents = [request for request in turn.sent if request.kind == "subagent"]
    assert_told_before(subagents)
    assert GOTCHA not in subagents[0].text
    assert bundles(turn.requests[-1].text) == []
    assert SWAPPED in lab.app.read_text()
    assert outcomes(memd) == ["repeated"]


def test_a_subagent_that_is_told_at_its_start(lab: Lab, memd: Memd) -> None:
    """Its session has read the file, so its first request holds the gotcha, and its edit is not held."""
    memd.remember(GOTCHA, kind="gotcha", priority="high", anchor="app.py")
    sub = tool("Agent", description="swap", prompt="SUBTASK", subagent_type="general-purpose", run_in_background=False)
    lab.model.script(
        answer(read(lab.app)),
        answer(sub),
        answer(read(lab.app), asks="subagent"),
        answer(edit(lab.app), asks="subagent"),
        answer(text("swapped"), asks="subagent"),
    )
    turn = lab.claude("have somebody swap the operands")
    subagents = [request for request in turn.sent if request.kind == "subagent"]
    assert GOTCHA in subagents[0].text
    assert_told_before(subagents)
    assert SWAPPED in lab.app.read_text()
    assert outcomes(memd) == []


def prompts_heard(lab: Lab) -> int:
    """How often the daemon was asked at a prompt."""
    heard: int = lab.memd("status", "--json").json()["hooks"]["claude prompt-submit"]["sampled"]
    return heard


def test_two_hook_entries_tell_it_once(lab: Lab, memd: Memd) -> None:
    """The project's settings name the same hooks once more, in other words, so the client runs each of them twice."""
    memd.remember("Run the tests with tox, never with pytest alone.", kind="directive")
    memd.remember("add() is called by the importer, with strings.", kind="finding")
    memd.remember(GOTCHA, kind="gotcha", priority="high", anchor="app.py")
    settings = json.loads(lab.settings.read_text())
    for groups in settings["hooks"].values():
        for hook in (hook for group in groups for hook in group["hooks"]):
            hook["command"] = f"true; {hook['command']}"
    project = lab.repository / ".claude" / "settings.json"
    project.parent.mkdir()
    project.write_text(json.dumps({"hooks": settings["hooks"]}))
    before = prompts_heard(lab)
    lab.model.script(answer(edit(lab.app)), answer(edit(lab.app)), answer(text("swapped")))
    turn = lab.claude("is add() called by the importer with strings? swap its operands")
    last = turn.requests[-1].text
    assert last.count("never with pytest alone") == 1
    assert last.count("called by the importer, with strings.") <= 1
    assert_told_before(turn.requests)
    assert last.count(HELD) == 1
    assert prompts_heard(lab) == before + 2
    assert len(memd.turns()) == 1
    assert outcomes(memd) == ["repeated"]
