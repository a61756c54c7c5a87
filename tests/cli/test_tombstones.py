"""A revoked note at the surfaces of a whole daemon: the commands, the typed client, and a client of MCP."""

import re

import pytest

from memd_client.memd import Refused
from tests.cli.world import World
from tests.mcp.client import Client

FIRST = "Sessions are kept in a table of their own."
CONTENT = f"{FIRST} It is emptied at midnight, by the scheduler."
AGAIN = f"Note that {FIRST[0].lower()}{FIRST[1:]} It is emptied at midnight, by the scheduler."
LINE = re.compile(
    r"Previously believed \(recorded \d{4}-\d\d-\d\d, revoked \d{4}-\d\d-\d\d, reason: they are cookies, \\\"signed\\\"\): "
    rf'"{re.escape(FIRST)}"\. Do not re-derive this from other sources without verification\.'
)


@pytest.fixture(scope="module")
def revoked(world: World) -> str:
    """The id of a note that was found wrong by the command."""
    id_ = str(world.note(CONTENT, "--anchor", "app.py"))
    assert world.memd("revoke", id_, "--reason", 'they are cookies, "signed"').code == 0
    (world.repository / "app.py").write_text("moved = True\n")
    return id_


def assert_struck_through(text: str) -> None:
    """The tombstone, nothing else of the content, nothing about the file that moved."""
    rest, times = LINE.subn("", text)
    assert times == 1, text
    assert "scheduler" not in rest
    assert not re.search(r"STALE|VERDICT|WARNING|changed since", rest), rest


@pytest.mark.parametrize("words", [("show",), ("recall",), ("list", "--revoked"), ("list",)])
def test_the_commands_tell_the_tombstone(world: World, revoked: str, words: tuple[str, ...]) -> None:
    """In a pipe, where an agent's shell reads it."""
    asked = {"show": (revoked,), "recall": ("where are sessions kept?",), "list": ()}[words[0]]
    ran = world.memd(*words, *asked)
    assert ran.code == 0, ran.err
    assert_struck_through(ran.out.decode())


def test_json_and_the_typed_client_have_it_as_a_field(world: World, revoked: str) -> None:
    """The same text in `show`, `list` and `recall`; null once the note stands again."""
    with world.client() as memd:
        line = memd.show(revoked).note.tombstone
        assert line is not None
        assert LINE.fullmatch(line)
        assert world.memd("show", revoked, "--json").json["tombstone"] == line
        assert [n["tombstone"] for n in world.memd("list", "--revoked", "--json").json] == [line]
        found = memd.recall("where are sessions kept?").found[0]
        assert found.note.tombstone == line
        assert line in found.text
        other = str(world.note("The log is rotated by size."))
        assert memd.show(other).note.tombstone is None
        memd.act("revoke", other, reason="by day")
        memd.act("reinstate", other)
        assert memd.show(other).note.tombstone is None


def test_an_agent_gets_it_from_its_tools(world: World, revoked: str) -> None:
    """Over MCP, as a client's own process: recall, show, and a belief that is recorded again."""
    client = Client(world)
    try:
        client.hello()
        for text, is_refusal in (
            client.call("recall", query="where are sessions kept?"),
            client.call("show", ref=int(revoked)),
        ):
            assert not is_refusal
            assert_struck_through(text)
        text, is_refusal = client.call("remember", content=AGAIN)
        assert is_refusal
        assert_struck_through(text)
        text, is_refusal = client.call("remember", content=AGAIN, despite=int(revoked), scope="repo")
        assert not is_refusal
        assert_struck_through(text)
    finally:
        client.kill()


def test_recording_it_again_is_refused_with_it(world: World, revoked: str) -> None:
    """By the command, as JSON and by the typed client; the refusal says how to record it all the same, and then it is."""
    said = AGAIN.replace("Note that", "Well,")
    ran = world.memd("remember", said)
    assert ran.code == 1
    assert ran.out == b""
    assert_struck_through(ran.err)
    assert f"--despite {revoked}" in ran.err
    assert world.memd("remember", said, "--json").json["error"]["code"] == "known-mistake"
    with world.client() as memd, pytest.raises(Refused) as refusal:
        memd.remember(said)
    assert refusal.value.code == "known-mistake"
    assert_struck_through(refusal.value.message)
    again = world.memd("remember", said, "--despite", revoked)
    assert again.code == 0
    assert_struck_through(again.out.decode())
