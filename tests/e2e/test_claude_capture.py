"""What a session leaves in the store: its prompts word for word without their secrets, and its commits."""

import pytest

from .lab import Lab
from .memd import Memd, bundles, eventually
from .model import answer, text, tool

pytestmark = pytest.mark.e2e

WORDS = 'Rename "total" to ‘sum’ – naïvely:\n\tkeep  double spaces,\n\nand <tags> & 100 % of the rest.'
SECRET = "AKIA" + "Q3EGRIVVTM2KDXWZ"


def test_a_prompt_is_stored_word_for_word(lab: Lab, memd: Memd) -> None:
    """Line breaks, tabs, quotes and letters beyond ASCII included; numbered within its session."""
    turn = lab.claude(WORDS)
    lab.claude("thanks", resume=turn.session)
    eventually(lambda: len(memd.turns()) == 2, "both prompts are stored")
    stored = sorted(memd.turns(), key=lambda turn: int(turn["turn"]))
    assert [one["text"] for one in stored] == [WORDS, "thanks"]
    assert {one["session"] for one in stored} == {turn.session}
    assert [one["n"] for one in stored] == [1, 2]


def test_a_secret_is_not_stored(lab: Lab, memd: Memd) -> None:
    """The model gets the prompt as it was typed; in the store, and in any file of memd's, the secret is not to be found."""
    turn = lab.claude(f"deploy with {SECRET} please")
    assert SECRET in turn.requests[0].news
    eventually(lambda: len(memd.turns()) == 1, "the prompt is stored")
    (stored,) = memd.turns()
    assert stored["text"].startswith("deploy with ")
    assert stored["text"].endswith(" please")
    lab.memd("stop")
    files = [path for path in (lab.home / ".local" / "share" / "memd").rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []


@pytest.mark.parametrize("quiet", ["", "-q "])
def test_a_commit_becomes_a_note_that_is_never_pushed(lab: Lab, memd: Memd, quiet: str) -> None:
    """A commit by the client's own shell is one finding, auto and low, anchored to its file; no session is told of it.

    The client names the commit in its PostToolUse event only where git printed it, so `-q` leaves git's own hook alone.
    """
    lab.memd("install", "--harness", "claude", "--user", "--json")
    subject = "Swap the operands of the zebra sum"
    change = tool("Edit", file_path=str(lab.app), old_string="a + b", new_string="b + a")
    commit = tool("Bash", command=f"git add -A && git commit {quiet}-m '{subject}'", description="commit")
    lab.model.script(answer(change), answer(commit), answer(text("committed")))
    turn = lab.claude("swap and commit")
    assert lab.git("log", "-1", "--format=%s") == subject, "the commit itself went well"
    eventually(lambda: memd.notes() != [], "the commit's note is there")
    (note,) = memd.notes()
    assert (note["provenance"], note["priority"], note["kind"]) == ("auto", "low", "finding")
    assert subject in note["content"]
    assert [anchor["path"] for anchor in note["anchors"]] == ["app.py"]
    read = tool("Read", file_path=str(lab.app))
    back = tool("Edit", file_path=str(lab.app), old_string="b + a", new_string="a + b")
    for resume in (turn.session, None):
        lab.model.script(answer(read), answer(back), answer(text("done")))
        lab.claude(f"what do you know of: {subject}", resume=resume)
        lab.app.write_text(lab.git("show", "HEAD:app.py") + "\n")
    assert len(lab.requests) == 9
    assert [bundles(request.text) for request in lab.requests] == [[]] * 9
