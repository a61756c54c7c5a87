"""The moments of a session that have rules of their own: plan mode, a mode that asks, a start that was lost, a client within a
client, a hold for people alone, a notebook, a path that goes round about, a rule that fell while a session slept."""

import json
import shlex
from collections.abc import Callable

import pytest

from .lab import APP, CURRENT_MODEL, Lab
from .memd import HELD, Memd, bundles, pushed
from .model import JSON, Request, answer, text, tool
from .test_claude_holds import GOTCHA, SWAPPED, assert_told_before, edit, outcomes, read, results

pytestmark = pytest.mark.e2e

RULE = "Run the tests with tox, never with pytest alone."
TASK = "Rename add() to plus() before the release."
FINDING = "The importer retries three times on a locked database."
QUESTION = "how often does the importer retry on a locked database?"


def last_result(request: Request) -> JSON:
    return list(results(request).values())[-1]


def test_plan_mode_is_told_and_never_held(lab: Lab, memd: Memd) -> None:
    """AT22: nothing is edited there anyway; rule and gotcha come as ever, and an edit that is tried is not held."""
    memd.remember(RULE, kind="directive")
    note = memd.remember(GOTCHA, kind="gotcha", priority="high", anchor="README.md")
    other = memd.remember("app.py is generated.", kind="gotcha", priority="high", anchor="app.py")
    lab.model.script(
        answer(read(lab.repository / "README.md")), answer(edit(lab.app)), answer(text("that is the plan"))
    )
    turn = lab.claude("plan how to swap the operands", "--permission-mode", "plan")
    first, was_read, was_tried = turn.requests
    assert first.news.count(RULE) == 1
    assert pushed(note, GOTCHA, "README.md").search(was_read.news)
    assert HELD not in was_tried.text
    assert pushed(other, "app.py is generated.", "app.py").search(was_tried.news)
    assert outcomes(memd) == []


def test_a_mode_that_asks_goes_on_asking(lab: Lab, memd: Memd) -> None:
    """AT22: the edit is held once; the call that comes again is let through by memd and by nobody else: headless, that is a no."""
    memd.remember(GOTCHA, kind="gotcha", priority="high", anchor="app.py")
    lab.model.script(answer(edit(lab.app)), answer(edit(lab.app)), answer(text("I may not")))
    turn = lab.claude("swap the operands", "--permission-mode", "default")
    _, was_held, was_asked = turn.requests
    assert last_result(was_held)["content"].endswith(HELD)
    refused = last_result(was_asked)
    assert refused["is_error"] is True
    assert "memd" not in refused["content"]
    assert was_asked.text.count(GOTCHA) == 1
    assert lab.app.read_text() == APP


def silenced(lab: Lab, memd: Memd) -> Callable[[], None]:
    """The daemon answers nobody until what is given is called."""
    pid = memd.daemon
    lab.send_signal(pid, "STOP")

    def go_on() -> None:
        lab.send_signal(pid, "CONT")
        assert memd.daemon

    return go_on


def test_a_lost_start_comes_with_the_next_hook_of_the_same_turn(lab: Lab, memd: Memd) -> None:
    """The daemon answers neither the start nor the prompt; it is back when a file is read, and that result carries the rule,
    then the gotcha of the file: each once, before the edit."""
    memd.remember(RULE, kind="directive")
    memd.remember(GOTCHA, kind="gotcha", priority="high", anchor="app.py")
    lab.model.script(
        answer(read(lab.app), gate=silenced(lab, memd)),
        answer(edit(lab.app)),
        answer(edit(lab.app)),
        answer(text("swapped")),
    )
    turn = lab.claude("swap the operands")
    assert RULE not in turn.requests[0].text
    assert 0 <= turn.requests[1].news.find(RULE) < turn.requests[1].news.find(GOTCHA)
    assert turn.requests[-1].text.count(RULE) == 1
    assert_told_before(turn.requests)


@pytest.mark.parametrize("command", ["true", "false"])
def test_a_lost_start_comes_with_a_commands_result(lab: Lab, memd: Memd, command: str) -> None:
    """An agent that runs commands alone has the rule from then on, whether they succeed: no file need be read for it."""
    memd.remember(RULE, kind="directive")
    lab.model.script(
        answer(tool("Bash", command=command, description="look"), gate=silenced(lab, memd)),
        answer(tool("Bash", command=command, description="again")),
        answer(text("looked")),
    )
    turn = lab.claude("look at it", "--allowedTools", "Bash")
    assert RULE not in turn.requests[0].text
    assert RULE in turn.requests[1].news
    assert turn.requests[-1].text.count(RULE) == 1


def test_a_client_within_a_client_gets_the_rules_alone(lab: Lab, memd: Memd) -> None:
    """An agent has another client work for it, and no terminal is there; a headless run that nobody's agent started gets
    everything that is due."""
    memd.remember(RULE, kind="directive")
    memd.remember(TASK, kind="task", priority="high")
    memd.remember(FINDING, kind="finding")
    memd.remember(GOTCHA, kind="gotcha", priority="high", anchor="app.py")
    inner = f"INNER {QUESTION}"
    words = [str(lab.claude_binary), "-p", inner, "--model", CURRENT_MODEL, "--permission-mode", "acceptEdits"]
    ask = tool("Bash", command=f"{shlex.join(words)} </dev/null", description="ask")
    lab.model.script(
        answer(ask),
        answer(read(lab.app), when=lambda r: "INNER" in r.news),
        answer(edit(lab.app)),
        answer(text("swapped")),
    )
    turn = lab.claude(f"OUTER {QUESTION}", "--allowedTools", "Bash")
    inside = [
        r for r in turn.requests if not any(call["name"] == "Bash" for call in r.tool_calls) and "OUTER" not in r.text
    ]
    outside = [r for r in turn.requests if "OUTER" in r.text]
    assert len(inside) == 3
    assert [inside[-1].text.count(said) for said in (RULE, TASK, FINDING, GOTCHA)] == [1, 0, 0, 0]
    assert SWAPPED in lab.app.read_text()
    assert [outside[0].text.count(said) for said in (RULE, TASK, FINDING, GOTCHA)] == [1, 1, 1, 0]
    assert outcomes(memd) == []


def test_a_hold_for_people_alone(lab: Lab, memd: Memd) -> None:
    """With `hold` at `interactive` a headless edit is made at once, the gotcha beside its result; in the terminal it is held."""
    note = memd.remember(GOTCHA, kind="gotcha", priority="high", anchor="app.py")
    lab.memd("config", "set", "hold", "interactive")
    lab.model.script(answer(edit(lab.app)), answer(text("swapped")))
    _, was_edited = lab.claude("swap the operands").requests
    assert not last_result(was_edited).get("is_error")
    assert f"[{note}] " in was_edited.news
    assert GOTCHA in was_edited.news
    assert outcomes(memd) == []
    lab.git("checkout", "-q", "app.py")
    with lab.tui() as terminal:
        terminal.trust_folder()
        lab.model.script(answer(edit(lab.app)), answer(edit(lab.app)), answer(text("swapped it")))
        began = terminal.prompt("swap the operands").number
        terminal.wait_for_text("swapped it")
        terminal.exit()
    requests = lab.model.requests_of_main_loop(since=began - 1)
    assert_told_before(requests)
    assert requests[-1].text.count(HELD) == 1
    assert SWAPPED in lab.app.read_text()
    assert outcomes(memd) == ["repeated"]


def test_a_cell_of_a_notebook(lab: Lab, memd: Memd) -> None:
    """The client's third tool that edits names its file in another word, and is held as the others are: it wants the notebook read
    before, so the gotcha is one that somebody recorded since."""
    notebook = lab.repository / "sums.ipynb"
    cell: JSON = {"cell_type": "code", "id": "c1", "source": "a + b", "metadata": {}, "outputs": []}
    cells = [cell | {"execution_count": None}]
    notebook.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    lab.commit_all("a notebook")

    def record() -> None:
        memd.remember(GOTCHA, kind="gotcha", priority="high", anchor="sums.ipynb")

    swap = tool("NotebookEdit", notebook_path=str(notebook), cell_id="c1", new_source="b + a")
    again = swap | {"id": "toolu_again"}
    lab.model.script(answer(read(notebook)), answer(swap, gate=record), answer(again), answer(text("swapped")))
    requests = lab.claude("swap the operands").requests
    assert last_result(requests[2])["content"].endswith(HELD)
    assert not last_result(requests[3]).get("is_error")
    assert requests[3].text.count(GOTCHA) == 1
    assert "b + a" in notebook.read_text()
    assert outcomes(memd) == ["repeated"]


def test_a_path_that_goes_round_about(lab: Lab, memd: Memd) -> None:
    """Through `..`, over a link to the folder, relative, and in another worktree: each read brings the gotcha of its file."""
    names = ("up.py", "over.py", "bare.py", "beside.py")
    for name in names:
        (lab.repository / name).write_text(f"{name[:-3]} = 'a file of more than sixteen bytes'\n")
    (lab.repository / "sub").mkdir()
    lab.commit_all("files")
    beside = lab.folder / "beside"
    lab.git("worktree", "add", "-q", str(beside))
    (lab.folder / "link").symlink_to(lab.repository)
    ids = {name: memd.remember(f"{name} is generated.", kind="gotcha", anchor=name) for name in names}
    ways = (lab.repository / "sub" / ".." / "up.py", lab.folder / "link" / "over.py", "bare.py", beside / "beside.py")
    lab.model.script(*(answer(read(way)) for way in ways), answer(text("read them all")))
    turn = lab.claude("read them", "--add-dir", str(beside), str(lab.folder / "link"))
    for name, request in zip(names, turn.requests[1:], strict=True):
        assert pushed(ids[name], f"{name} is generated.", name).search(request.news), name
        assert len(bundles(request.news)) == 1


def test_a_resumed_session_is_told_what_fell_meanwhile(lab: Lab, memd: Memd) -> None:
    """Of two rules that stand in it one was revoked: its tombstone is the resume's only news, and once."""
    memd.remember(RULE, kind="directive")
    wrong = memd.remember("Deploy from the main branch on fridays.", kind="directive")
    first = lab.claude("one")
    lab.memd("revoke", str(wrong), "--reason", "nobody is there on saturday")
    second = lab.claude("two", resume=first.session).requests[0]
    (bundle,) = bundles(second.news)
    assert bundle.count(f"[{wrong}] ") == 1
    assert "Previously believed" in bundle
    assert RULE not in bundle
    third = lab.claude("three", resume=first.session).requests[0]
    assert bundles(third.news) == []
