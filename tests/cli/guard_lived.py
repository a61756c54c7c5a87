"""What a user lives through with memd, by real hooks, commands and a real daemon: sessions, notes, a key, and what fails."""

import contextlib
import json
import os
import socket
import subprocess
import time
from typing import Any

import msgspec

from memd_client import Memd, address, link, wire
from memd_client.memd import MemdError
from tests.cli.guard_planted import Life
from tests.cli.world import WAIT_S
from tests.mcp.client import Client


def plant(life: Life) -> None:
    """Everything that stands in files."""
    life.plant_machine()
    life.plant_repository()
    life.plant_client()


# --- what is lived


def live(life: Life) -> None:
    """An install, sessions with their hooks, notes and acts on them, a key, settings."""
    (life.user_home / ".local/bin").mkdir(parents=True)
    started = life.called(
        "start", above=life.caller()
    )  # where it may, in a namespace of its own, as the report is made
    assert started.code == 0, started.err
    installed = life.memd("install", "--no-key", "--yes")
    assert installed.code in (0, 1), installed.err
    life.plant_strays()
    recovery, fingerprint = life.enrolled()
    life.dynamic[life.private("recovery code")] = recovery
    life.dynamic[life.private("fingerprint")] = fingerprint
    life.dynamic[life.private("commit.id")] = life.git("rev-parse", "HEAD").strip()
    _sessions(life)
    with life.client() as memd:
        _notes(life, memd)
        ignored, only = (life.folder / life.private(f"setting.{key}") for key in ("ignore", "only"))
        for folder in (ignored, only):
            folder.mkdir()
        memd.set("ignore", values=[str(ignored)])
        memd.set("only", values=[str(life.repository), str(only)])


def hook(life: Life, event: str, session: str, name: str, **fields: Any) -> bytes:
    """One hook through the line of the settings; what it prints."""
    payload = {
        "session_id": session,
        "transcript_path": str(life.transcript),
        "cwd": str(life.repository),
        "hook_event_name": name,
        **fields,
    }
    done = subprocess.run(
        [str(life.home / "bin/hook"), event, "claude"],
        cwd=life.repository,
        env={**life.environ, "CLAUDE_CODE_SESSION_ID": session},
        input=json.dumps(payload).encode(),
        capture_output=True,
        timeout=WAIT_S,
        check=True,
    )
    return done.stdout


def _sessions(life: Life) -> None:
    for session in (life.private("session.id"), life.private("session.short")):
        hook(life, "session-start", session, "SessionStart", source="startup")
    for n, name in enumerate(("turn.prompt", "turn.secret", "turn.rtl", "evidence")):
        hook(life, "prompt-submit", session, "UserPromptSubmit", prompt=life.private(name), prompt_id=f"p{n}")
    agent = {"agent_id": life.private("agent.id"), "agent_type": life.private("agent.type")}
    hook(life, "subagent-start", session, "SubagentStart", **agent)
    read = {"file_path": str(life.repository / life.private("tool.file"))}
    hook(life, "read", session, "PostToolUse", tool_name="Read", tool_input=read, tool_response="x", **agent)
    called = {"tool_name": life.private("tool.name"), "tool_input": {"command": life.private("tool.input")}}
    response = {"content": [{"type": "text", "text": life.private("tool.result") * 3}]}
    hook(life, "tool-result", session, "PostToolUse", tool_use_id="t1", tool_response=response, **called)


def _notes(life: Life, memd: Memd) -> None:
    finding = memd.remember(
        life.private("note.finding"),
        tags=[life.private("tag"), life.private("tag.short")],
        anchors=[
            life.private("anchor.path"),
            f"{life.private('anchor.path')}::{life.private('anchor.symbol')}",
            f"{life.private('anchor.path')}::{life.private('anchor.claim')}=41",
        ],
        proxies=[life.private("anchor.proxy")],
    )
    memd.remember(life.private("note.directive"), kind="directive", under=life.private("scope.under"))
    other = memd.remember(life.private("note.unicode"), source=life.private("source.ref"))
    memd.remember(life.private("note.lines"), kind="decision")
    memd.remember(life.private("note.encoded"), kind="task", priority="high")
    said = next(turn for turn in memd.turns().turns if turn.text == life.private("evidence"))
    memd.remember(life.private("evidence") + ", says the user.", evidence=[(said.turn, said.text)])
    sources = [str(finding.id), str(other.id)]
    memd.remember(
        "Rules need a reason.",
        level="principle",
        slug=life.private("slug"),
        sources=sources,
        why=life.private("why"),
        distinct=True,
    )
    memd.act("supersede", str(finding.id), by=str(other.id), reason=life.private("reason.supersede"))
    memd.act("revoke", str(other.id), reason=life.private("reason.revoke"))
    memd.recall(life.private("note.directive"))


# --- what fails


def fail(life: Life) -> None:
    """Real failures, whose words may end in the log: wrong verbs, hostile frames, an MCP client, commands that are refused."""
    found = address.read(os.fsencode(life.home))
    assert found is not None
    end = time.monotonic_ns() + int(WAIT_S * 1e9)
    verb = life.private("verb").encode()
    body = msgspec.msgpack.encode({"ref": life.private("verb.body"), "cwd": {}})
    stdin = life.private("frame.stdin").encode()
    harness, event = life.private("frame.harness").encode(), life.private("frame.event").encode()
    call = [os.urandom(16), b"%d" % end, b"\0", harness, event, b"/", b"", stdin]
    for frames in (
        wire.request(verb, wire.EMPTY_BODY),
        wire.request(b"show", body),
        wire.request(wire.HOOK, *call),
        wire.request(wire.HOOK, *call[:3], b"claude", b"prompt-submit", b"/", b"", stdin),
        wire.request(wire.HOOK, *call[:4]),
        wire.request(wire.RECEIPT, stdin),
        wire.request(wire.MCP, stdin),
    ):
        opened = link.open(found, end)
        assert isinstance(opened, link.Link), opened
        opened.tell(frames, end)
        opened.close()
    with socket.socket(socket.AF_UNIX) as raw:
        raw.connect(found.socket)
        raw.sendall(life.private("frame.raw").encode() * 9)
    carrier = Client(life)
    try:
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
        carrier.ask("initialize", {**hello, "clientInfo": {"name": life.private("mcp.client"), "version": "1"}})
        arguments = {"query": {life.private("mcp.argument"): 1}}
        carrier.ask("tools/call", {"name": life.private("mcp.tool"), "arguments": arguments})
        carrier.ask("tools/call", {"name": "recall", "arguments": arguments})
    finally:
        carrier.kill()
    with life.client() as memd:
        for refused in (
            lambda: memd.show(life.private("ref")),
            lambda: memd.backup(life.private("restore.path")),
            lambda: memd.set(life.private("setting.foreign"), values=["1"]),
        ):
            with contextlib.suppress(MemdError):
                refused()
    assert life.memd("restore", life.private("restore.path")).code
    assert life.memd("import", "-", stdin=life.private("import.line").encode() + b"\n").code
