"""A gotcha is told before its file is edited: with the read, by holding the edit once, or with the edit's result."""

import pytest

from .lab import APP, Lab
from .memd import HELD, Memd, bundles, pushed
from .model import JSON, Request, answer, text, tool

pytestmark = pytest.mark.e2e

GOTCHA = "add() is called with strings too, so the order of the operands matters."
SWAPPED = "return b + a"


def read(lab: Lab) -> JSON:
    """The model reads app.py."""
    return tool("Read", file_path=str(lab.app))


def edit(lab: Lab) -> JSON:
    """The model swaps the operands in app.py."""
    return tool("Edit", file_path=str(lab.app), old_string="a + b", new_string="b + a")


def result(request: Request) -> JSON:
    """The newest tool result in a request."""
    contents = [message["content"] for message in request.messages if isinstance(message["content"], list)]
    results: list[JSON] = [block for blocks in contents for block in blocks if block["type"] == "tool_result"]
    return results[-1]


@pytest.mark.parametrize("priority", ["high", "medium"])
def test_a_gotcha_rides_on_the_read(lab: Lab, memd: Memd, priority: str) -> None:
    """It is in the request that precedes the edit, once; the edit that follows is not held and not told again."""
    note = memd.remember(GOTCHA, kind="gotcha", priority=priority, anchor="app.py")
    lab.model.script(answer(read(lab)), answer(edit(lab)), answer(text("swapped")))
    prompted, was_read, was_edited = lab.claude("swap the operands").requests
    assert bundles(prompted.text) == []
    assert [call["name"] for call in was_read.tool_calls] == ["Read"]
    assert pushed(note, GOTCHA, "app.py").search(was_read.news)
    assert [call["name"] for call in was_edited.tool_calls] == ["Read", "Edit"]
    assert was_edited.text.count(GOTCHA) == 1
    assert SWAPPED in lab.app.read_text()


def test_a_high_gotcha_holds_an_unread_edit_once(lab: Lab, memd: Memd) -> None:
    """Without a read the edit is denied with the note as the reason; the same call again passes, and the file is changed."""
    note = memd.remember(GOTCHA, kind="gotcha", priority="high", anchor="app.py")
    seen: list[str] = []

    def look(request: Request) -> bool:
        seen.append(lab.app.read_text())
        return True

    lab.model.script(answer(edit(lab)), answer(edit(lab), when=look), answer(text("swapped")))
    _, was_held, was_edited = lab.claude("swap the operands").requests
    held = result(was_held)
    assert held["is_error"] is True
    assert pushed(note, GOTCHA, "app.py").search(held["content"])
    assert held["content"].endswith(HELD)
    assert seen == [APP], "the file was untouched when the model was told"
    assert not result(was_edited).get("is_error")
    assert was_edited.text.count(GOTCHA) == 1
    assert SWAPPED in lab.app.read_text()


def test_a_medium_gotcha_comes_with_the_edits_result(lab: Lab, memd: Memd) -> None:
    """It is not worth holding an edit for: the edit goes through, and the note is beside its result."""
    note = memd.remember(GOTCHA, kind="gotcha", anchor="app.py")
    lab.model.script(answer(edit(lab)), answer(text("swapped")))
    _, was_edited = lab.claude("swap the operands").requests
    assert not result(was_edited).get("is_error")
    assert pushed(note, GOTCHA, "app.py").search(was_edited.news)
    assert was_edited.text.count(GOTCHA) == 1
    assert SWAPPED in lab.app.read_text()


def test_a_gotcha_of_another_file_stays_away(lab: Lab, memd: Memd) -> None:
    """A read and an edit of a file without a gotcha are not commented on."""
    memd.remember("The title is parsed by the release script.", kind="gotcha", priority="high", anchor="README.md")
    lab.model.script(answer(read(lab)), answer(edit(lab)), answer(text("swapped")))
    turn = lab.claude("swap the operands")
    assert [bundles(request.text) for request in turn.requests] == [[], [], []]
    assert SWAPPED in lab.app.read_text()
