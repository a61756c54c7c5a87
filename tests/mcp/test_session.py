"""A session through the official client: `memd mcp` as it is started by clients, a real daemon behind it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client

from memd_daemon.frames.tools import INSTRUCTIONS
from memd_daemon.service.tools import TOOLS
from tests.cli.world import PROGRAM, World

T = TypeVar("T")


def within(world: World, work: Callable[[ClientSession], Awaitable[T]]) -> T:
    """What ``work`` comes to in a session of its own."""
    import sys

    server = StdioServerParameters(
        command=sys.executable, args=["-I", "-c", PROGRAM, "mcp"], env=world.environ, cwd=world.repository
    )

    async def session() -> T:
        async with stdio_client(server) as (reads, writes), ClientSession(reads, writes) as client:
            await client.initialize()
            return await work(client)

    return asyncio.run(session())


async def call(client: ClientSession, tool: str, **arguments: object) -> tuple[str, bool]:
    """The text of the answer, and whether it is a refusal."""
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, types.CallToolResult)
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text, bool(result.is_error)


async def recorded(client: ClientSession, content: str, **arguments: object) -> int:
    text, is_error = await call(client, "remember", content=content, **arguments)
    assert not is_error, text
    return int(text.split("\n")[0].removeprefix("recorded [").removesuffix("]"))


def test_a_client_sees_the_instructions_and_the_tools(world: World) -> None:
    """The schemas come as they are; only what reads says that it does."""

    async def work(client: ClientSession) -> None:
        told = await client.list_tools()
        assert [tool.name for tool in told.tools] == list(TOOLS)
        for tool in told.tools:
            assert tool.input_schema == TOOLS[tool.name].schema
            assert bool(tool.annotations and tool.annotations.read_only_hint) == TOOLS[tool.name].reads
        assert client.instructions == INSTRUCTIONS

    within(world, work)


def test_a_note_lives_and_falls(world: World) -> None:
    """Recorded, recalled, shown, revoked; then its tombstone comes back and it cannot be recorded again by accident."""

    async def work(client: ClientSession) -> None:
        claim = "parse_rule() reads the rules file twice, once for each encoding."
        id_ = await recorded(client, claim)
        asked, _ = await call(client, "recall", query="how often is the rules file read?")
        assert f"[{id_}]" in asked
        assert "Memory to verify (recorded by an AI session, not human-endorsed): " + claim in asked
        assert world.memd("recall", "how often is the rules file read?").out.decode() == asked
        shown, _ = await call(client, "show", ref=id_)
        assert "through mcp" in shown
        assert await call(client, "revoke", ref=f"[{id_}]", reason="it is read once") == (f"[{id_}] revoked", False)
        asked, _ = await call(client, "recall", query="how often is the rules file read?")
        assert "Previously believed" in asked
        assert "reason: it is read once" in asked
        refused, is_error = await call(client, "remember", content=claim)
        assert is_error
        assert "Previously believed" in refused
        again = await recorded(client, claim, despite=id_)
        assert again != id_
        assert await call(client, "reinstate", ref=id_) == (f"[{id_}] reinstated", False)

    within(world, work)


def test_no_tool_makes_a_person_s_word(world: World) -> None:
    """Refused with the sentence that says who may, though the schema does not even offer it."""

    async def work(client: ClientSession) -> None:
        id_ = await recorded(client, "The demo server listens on a port of its own.", provenance="auto")
        text, is_error = await call(client, "promote", ref=id_, to="human")
        assert is_error
        assert "Only the user can do this" in text
        text, is_error = await call(client, "remember", content="Never push to main.", provenance="human")
        assert is_error
        assert "cannot be set" in text
        assert await call(client, "promote", ref=id_) == (f"[{id_}] promoted to agent", False)
        text, is_error = await call(client, "promote", ref=id_)
        assert is_error
        assert "one rung" in text
        for sneaked in ({"endorse": True}, {"sign": True}, {"surface": "cli"}, {"env": {}}):
            text, is_error = await call(client, "remember", content="Always deploy on Fridays.", **sneaked)
            assert is_error
            assert "do not fit" in text

    within(world, work)


def test_a_note_stands_on_proxies_as_at_the_command_line(world: World) -> None:
    """A whole file for a process, told as that when it changes; a part of one is refused."""

    async def work(client: ClientSession) -> None:
        id_ = await recorded(client, "The build resolves every dependency anew.", proxies=["app.py"])
        (anchor,) = world.memd("show", str(id_), "--json").json["anchors"]
        assert (anchor["path"], anchor["proxy"]) == ("app.py", True)
        text, is_error = await call(client, "remember", content="It is pinned.", proxies=["app.py::add"])
        assert is_error
        assert "a proxy stands for a process" in text

    within(world, work)


def test_a_directive_is_recorded_as_what_it_is(world: World) -> None:
    """Unendorsed, and the agent is told what the user would have to do."""

    async def work(client: ClientSession) -> None:
        text, is_error = await call(client, "remember", content="Use tabs in makefiles.", kind="directive")
        assert not is_error
        assert "until the user endorses it" in text
        text, _ = await call(client, "recall", query="tabs in makefiles", kind="directive")
        assert "DIRECTIVE (standing rule" not in text

    within(world, work)


def test_bad_arguments_are_results_with_a_sentence(world: World) -> None:
    """Never an error of the protocol, and the session goes on."""

    async def work(client: ClientSession) -> None:
        for tool, arguments in (
            ("remember", {}),
            ("remember", {"content": "x", "kind": "rumour"}),
            ("remember", {"content": ["x"]}),
            ("remember", {"content": "x" * 9_000}),
            ("remember", {"content": "A trap.", "kind": "gotcha"}),
            ("remember", {"content": "A trap.", "kind": "gotcha", "anchors": ["no/such/file.py"]}),
            ("remember", {"content": "Said at a terminal.", "source": "cli:make"}),
            ("remember", {"content": "Holds below.", "under": "a\0b" * 60}),
            ("recall", {"query": "x", "k": 0}),
            ("recall", {"query": "x", "k": "5"}),
            ("show", {"ref": 99_999}),
            ("show", {"ref": {"id": 1}}),
            ("revoke", {"ref": 99_999, "reason": "x"}),
            ("forget", {"ref": 1}),
        ):
            text, is_error = await call(client, tool, **arguments)
            assert is_error, (tool, arguments)
            assert text.endswith((".", ")", "`"))

    within(world, work)


def test_decisions_and_traces_are_read_and_tasks_done(world: World) -> None:
    """What an agent gets is what the command prints."""

    async def work(client: ClientSession) -> None:
        first = await recorded(client, "We keep the parser hand-written.", kind="decision")
        second = await recorded(client, "We generate the parser.", kind="decision", supersedes=first, reason="speed")
        text, _ = await call(client, "decisions")
        assert text.index(f"[{first}]") < text.index(f"[{second}]")
        text, _ = await call(client, "decisions", ref=second, around=0)
        assert f"\n[{first}]" not in text
        text, is_error = await call(client, "trace", ref=second)
        assert not is_error
        assert "We generate the parser." in text
        task = await recorded(client, "Measure the generated parser.", kind="task")
        assert await call(client, "done", ref=task) == (f"[{task}] done", False)

    within(world, work)


def test_one_client_asks_many_things_at_once(world: World) -> None:
    """All are answered, each with its own."""

    async def work(client: ClientSession) -> None:
        ids: dict[int, int] = {}

        async def record(n: int) -> None:
            ids[n] = await recorded(client, f"Worker {n} owns the queue named q{n}x{n * 7919}.")

        async with anyio.create_task_group() as group:
            for n in range(20):
                group.start_soon(record, n)
        assert len(set(ids.values())) == 20
        for n, id_ in ids.items():
            text, _ = await call(client, "show", ref=id_)
            assert f"q{n}x{n * 7919}" in text

    within(world, work)


def test_a_request_that_its_client_gives_up_harms_no_other(world: World) -> None:
    """The official client tells the server that it cancelled."""

    async def work(client: ClientSession) -> None:
        with pytest.raises(Exception, match="imed out"):
            await client.call_tool("recall", {"query": "anything"}, read_timeout_seconds=0.000_1)
        text, is_error = await call(client, "recall", query="anything")
        assert not is_error
        assert text

    within(world, work)
