"""The lab proves itself, with probes in the place of memd's hooks: what a hook prints is found in what the client sends."""

import os

import pytest

from .lab import CURRENT_MODEL, OLDER_MODEL, Lab
from .model import DONE, SUMMARY, answer, text, tool

pytestmark = pytest.mark.e2e

# Prints MARK-<source> for the event on stdin.
MARK_SOURCE = """sed -n 's/.*"source":"\\([a-z]*\\)".*/MARK-\\1/p'"""


@pytest.mark.parametrize("model", [CURRENT_MODEL, OLDER_MODEL])
def test_what_a_hook_prints_is_in_the_first_request(lab: Lab, model: str) -> None:
    """SessionStart's words are in the first request of the loop, wherever the client puts them for this model."""
    lab.hook_settings(SessionStart="echo MARK-$((40 + 2))")
    turn = lab.claude("say hello", model=model)
    assert turn.requests[0].news.count("MARK-42") == 1
    assert "say hello" in turn.requests[0].news
    assert turn.result["result"] == DONE


def test_a_resumed_session_keeps_what_it_was_told(lab: Lab) -> None:
    """The second turn's request holds the first turn's mark as history, and its own as news."""
    lab.hook_settings(SessionStart=MARK_SOURCE)
    first = lab.claude("one")
    second = lab.claude("two", resume=first.session)
    assert second.session == first.session
    assert "MARK-startup" in second.requests[0].text
    assert "MARK-startup" not in second.requests[0].news
    assert "MARK-resume" in second.requests[0].news


def test_tools_run_for_real(lab: Lab) -> None:
    """The scripted model's calls change the scratch repository, and each result is news in the next request."""
    edit = tool("Edit", file_path=str(lab.app), old_string="a + b", new_string="b + a")
    commit = tool("Bash", command="git commit -qam 'swap the operands'", description="commit")
    lab.model.script(
        answer(tool("Read", file_path=str(lab.app))), answer(edit), answer(commit), answer(text("swapped"))
    )
    turn = lab.claude("swap the operands")
    assert [call["name"] for call in turn.requests[-1].tool_calls] == ["Read", "Edit", "Bash"]
    assert "return a + b" in turn.requests[1].news
    assert "return b + a" in lab.app.read_text()
    assert lab.git("log", "-1", "--format=%s") == "swap the operands"
    assert turn.result["result"] == "swapped"


def test_side_requests_are_told_apart(lab: Lab) -> None:
    """A subagent's and a summary's requests are not the loop's, and a compaction's mark comes with the next prompt."""
    lab.hook_settings(SessionStart=MARK_SOURCE)
    sub = tool("Agent", description="look", prompt="SUBTASK", subagent_type="general-purpose", run_in_background=False)
    lab.model.script(answer(sub), answer(text("looked"), asks="subagent"))
    first = lab.claude("send somebody to look")
    assert [request.kind for request in first.sent] == ["main", "subagent", "main"]
    compacted = lab.claude("/compact", resume=first.session)
    assert [request.kind for request in compacted.sent] == ["summary"]
    after = lab.claude("go on", resume=first.session).requests[0]
    assert SUMMARY in after.text
    assert after.text.count("MARK-compact") == 1
    assert "MARK-startup" not in after.text


def test_a_turn_can_be_compacted_in_its_middle(lab: Lab) -> None:
    """With a lowered threshold and big files the client compacts on its own, once, and goes on with the same turn."""
    lab.hook_settings(SessionStart=MARK_SOURCE)
    turn = lab.compacted_turn("read it all")
    kinds = [request.kind for request in turn.sent]
    assert kinds.count("summary") == 1
    after = turn.sent[kinds.index("summary") + 1]
    assert after.kind == "main"
    assert after.text.count("MARK-compact") == 1
    assert "MARK-startup" not in after.text


def test_nothing_of_the_outside_is_to_be_seen(lab: Lab) -> None:
    """Inside there is one interface, no process of the outside, and nothing of the outside's environment."""
    assert [line.split(":")[0].strip() for line in lab.run(["cat", "/proc/net/dev"]).out.splitlines()[2:]] == ["lo"]
    pids = [int(name) for name in lab.run(["ls", "/proc"]).out.split() if name.isdigit()]
    assert len(pids) == 2, "the first process and ls itself"
    names = {line.split("=")[0] for line in lab.run(["env"]).out.splitlines()}
    assert names <= {*lab.environment, "PWD", "OLDPWD", "SHLVL", "_"}


def test_nothing_outlives_a_lab(lab: Lab) -> None:
    """A daemon that left its session and its group is dead when the lab is closed."""
    kept = lab.folder / "kept"
    os.mkfifo(kept)
    lab.run(["setsid", "--fork", "sh", "-c", f"exec sleep 1000 <>{kept} >&0 2>&1"])
    with kept.open("rb") as pipe:
        lab.namespace.close()
        assert pipe.read() == b"", "its end of the pipe closes only when it dies"


def test_the_terminal_interface_can_be_driven(lab: Lab) -> None:
    """Trust, a prompt, /compact, /clear and /exit in the client's terminal interface, each seen in what it sends."""
    lab.hook_settings(SessionStart=MARK_SOURCE)
    with lab.tui() as terminal:
        terminal.trust_folder()
        assert "MARK-startup" in terminal.prompt("hello there").text
        terminal.compact()
        assert "MARK-compact" in terminal.prompt("hello again").text
        terminal.clear()
        cleared = terminal.prompt("hello anew").text
        assert "MARK-clear" in cleared
        assert "hello again" not in cleared
        terminal.exit()


def test_each_request_is_kept_for_a_look(lab: Lab) -> None:
    """The folder of the lab holds one file for each request, named by number and kind."""
    lab.claude("say hello")
    names = sorted(path.name for path in (lab.folder / "requests").iterdir())
    assert names == ["001-main.json"]
