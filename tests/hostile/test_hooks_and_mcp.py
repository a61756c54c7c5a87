"""Hooks and MCP messages that lie: about their deadline, their client, their place, and what their JSON is."""

import json
import os
import random
import time

import pytest

from memd_client import link, wire
from memd_client.carried import Carried, carried_request, parse_carried_reply
from tests.cli.world import WAIT_S
from tests.hostile.victim import CANARY, MB, Victim, some

DEEP = 100_000
EVENTS = (
    "prompt-submit",
    "pre-edit",
    "read",
    "tool-result",
    "session-start",
    "post-compaction",
    "subagent-start",
    "stop",
    "session-end",
)
HOOK_NAMES = (
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "SessionStart",
    "SubagentStart",
    "Stop",
    "SessionEnd",
    CANARY,
)

LATE = (b"0", b"1")
READ = (b"%d" % 2**63, b"%d" % (2**64 - 1), b"9" * 20)
MALFORMED = (
    b"",
    b"-5",
    b"+5",
    b" 5",
    b"5 ",
    b"0x10",
    b"1e9",
    b"1_0",
    b"9" * 21,
    b"9" * 5_000,
    "\u0665".encode(),
    "\u00b2".encode(),
    b"nan",
    b"\0",
)

PAYLOADS: dict[str, bytes] = {
    "nothing": b"",
    "no JSON": CANARY.encode(),
    "no UTF-8": b'{"prompt": "\xff\xfe\xed\xa0\x80"}',
    "a surrogate": b'{"session_id": "\\ud800", "prompt": "\\udfff", "cwd": "\\ud83d"}',
    "a BOM": b"\xef\xbb\xbf{}",
    "UTF-16": json.dumps({"prompt": CANARY}).encode("utf-16"),
    "null": b"null",
    "a list": b"[]",
    "a number": b"1" * 5_000,
    "deep lists": b"[" * DEEP + b"]" * DEEP,
    "deep lists cut off": b"[" * DEEP,
    "deep maps": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "a deep field": b'{"tool_input":' + b"[" * DEEP + b"]" * DEEP + b"}",
    "keys twice": b'{"session_id": "a", "session_id": ["b"], "prompt": "x", "prompt": 1}',
    "numbers of 5,000 digits": b'{"session_id": ' + b"9" * 5_000 + b', "prompt": "x"}',
    "NaN": b'{"prompt": NaN, "session_id": Infinity}',
    "a hundred thousand keys": b"{" + b",".join(b'"%d":1' % n for n in range(100_000)) + b"}",
    "8 MiB": b'{"prompt": "' + b"x" * (8 * MB - 100) + b'"}',
    "8 MiB of escapes": b'{"prompt": "' + b"\\u0000" * (MB + 200_000) + b'"}',
    "8 MiB of no JSON": b"\xff" * (8 * MB),
    "over the bound": b"{" + b" " * (8 * MB) + b"}",
}

VALUES: tuple[object, ...] = (
    None, True, -1, 2**63, 1e308, "", "\0", f"{CANARY}\0", "\n", "../" * 1_000, "/", "/" + "a" * 5_000, "\u202e\u2066",
    "x" * 300_000, [], [CANARY], [[[]]], {}, {"a": {"b": []}}, "9" * 5_000,
)  # fmt: skip

FIELDS = (
    "session_id", "transcript_path", "cwd", "prompt", "prompt_id", "tool_name", "tool_input", "tool_response", "tool_use_id",
    "source", "agent_id", "agent_type", "permission_mode", "hook_event_name", "stop_hook_active",
)  # fmt: skip

FRAMES: dict[str, tuple[bytes, ...]] = {
    "request_id": (b"", b"x" * 15, b"x" * 17, b"x" * MB),
    "flags": (b"", b"\0\0", b"\xff"),
    "harness": (b"", b"x" * 65, b"\xff", b"\0", CANARY.encode(), b"../x", b"codex", b"git"),
    "event": (b"", b"x" * 65, b"\xff", b"\0", CANARY.encode(), b"git-commit"),
    "cwd": (b"", b"\0", b"/\0/", b"\xff\xfe", b"/nowhere/at/all", b"relative", b"/" + b"a/" * 4_000,
        b"x" * 8_193, b"/dev/null", b"/proc/self/mem", b"\n"),
    "environment": (b"\0", b"=\n=\n", b"CLAUDE_PID=-1\n", b"CLAUDE_PID=" + b"9" * 5_000 + b"\n",
        b"GIT_DIR=/dev/zero\n", b"\xff=\xff\n", b"AGENT=x\n" * 2_000, b"x" * 16_385),
}  # fmt: skip

Frames = list[bytes]


def call(victim: Victim, event: str, stdin: bytes, /, **frames: bytes) -> Frames:
    """The frames of a hook; each may be put in the place of a right one."""
    end = b"%d" % (time.monotonic_ns() + int(WAIT_S * 1e9))
    right = {
        "request_id": os.urandom(16), "deadline": end, "flags": b"\0", "harness": b"claude", "event": event.encode(),
        "cwd": os.fsencode(victim.repository), "environment": b"", "stdin": stdin,
    }  # fmt: skip
    return wire.request(wire.HOOK, *(right | frames).values())


def answered(victim: Victim, frames: Frames, statuses: tuple[int, ...] = (wire.DONE, wire.USAGE)) -> None:
    """It gets an answer of a hook, and the daemon has not failed."""
    reply = victim.ask(*frames)
    assert isinstance(reply, wire.Reply), (frames[3:9], reply)
    assert reply.status in statuses, (reply.status, [frame[:100] for frame in frames])
    assert reply.body[0] == b"0"
    assert reply.body[2] == b""


@pytest.mark.parametrize("deadline", READ)
def test_a_deadline_that_never_comes(victim: Victim, deadline: bytes) -> None:
    """The hook is answered as any other."""
    with victim.watched():
        for event in EVENTS:
            stdin = json.dumps(
                victim.payload("UserPromptSubmit", prompt=CANARY, prompt_id=os.urandom(4).hex())
            ).encode()
            answered(victim, call(victim, event, stdin, deadline=deadline), (wire.DONE,))


@pytest.mark.parametrize("deadline", MALFORMED)
def test_a_deadline_that_is_none(victim: Victim, deadline: bytes) -> None:
    """The hook is told that it is malformed, with exit code 0 and nothing to say."""
    with victim.watched():
        answered(victim, call(victim, "prompt-submit", b"{}", deadline=deadline), (wire.USAGE,))


@pytest.mark.parametrize("deadline", LATE)
def test_a_deadline_that_has_passed(victim: Victim, deadline: bytes) -> None:
    """Its answer is not sent; the same peer's next request is answered."""
    with victim.watched():
        opened = link.open(victim._address(), time.monotonic_ns() + int(WAIT_S * 1e9))
        assert isinstance(opened, link.Link)
        stdin = json.dumps(victim.payload("UserPromptSubmit", prompt=CANARY, prompt_id="late")).encode()
        assert opened.tell(call(victim, "prompt-submit", stdin, deadline=deadline), 2**62)
        reply = opened.ask(call(victim, "stop", b"{}"), time.monotonic_ns() + int(WAIT_S * 1e9))
        opened.close()
        assert isinstance(reply, wire.Reply)


def test_frames_that_are_no_hooks(victim: Victim) -> None:
    """Each frame in turn too long, too short, and of the wrong bytes."""
    with victim.watched():
        for name, given in FRAMES.items():
            for frame in given:
                for event in some(EVENTS, 4):
                    stdin = json.dumps(
                        victim.payload("UserPromptSubmit", prompt=CANARY, prompt_id=os.urandom(4).hex())
                    ).encode()
                    answered(victim, call(victim, event, stdin, **{name: frame}))


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS.keys())
def test_what_is_no_payload(victim: Victim, payload: bytes) -> None:
    """At every event, of every client."""
    with victim.watched():
        for harness in (b"claude", b"codex", b"git", CANARY.encode()):
            for event in some((*EVENTS, "git-commit"), 5):
                answered(victim, call(victim, event, payload, harness=harness))


def test_every_field_of_a_payload_with_every_value(victim: Victim) -> None:
    """Wrong types and right ones at their ends; at random with each other too, by a seed."""
    chance = random.Random(11)
    with victim.watched():
        for event, name in some(zip(EVENTS, HOOK_NAMES, strict=False), 2):
            right = victim.payload(
                name, prompt=CANARY, tool_name="Edit", tool_input={"file_path": str(victim.repository / "app.py")}
            )
            for field in FIELDS:
                for value in some(VALUES, 3):
                    answered(victim, call(victim, event, json.dumps({**right, field: value}).encode()))
            for _ in some(range(100), 3):
                several = {field: chance.choice(VALUES) for field in chance.sample(FIELDS, 4)}
                answered(victim, call(victim, event, json.dumps({**right, **several}).encode()))


@pytest.mark.parametrize("word", ["a b. ", "<a><b>", "\u6f22\u3002"], ids=["words", "tags", "ideographs"])
def test_a_prompt_of_8_mib(victim: Victim, word: str) -> None:
    """Its beginning and its end are searched for, its first megabyte is kept: no memory by its length."""
    prompt = word * (7 * MB // len(word.encode()))
    stdin = json.dumps(victim.payload("UserPromptSubmit", prompt=prompt, prompt_id=word), ensure_ascii=False).encode()
    with victim.watched(150):
        answered(victim, call(victim, "prompt-submit", stdin), (wire.DONE,))


def test_one_request_id_again_and_again(victim: Victim) -> None:
    """The first prompt is stored under it, no other."""
    session = victim.session()
    with victim.watched():
        for number in range(50):
            payload = victim.payload("UserPromptSubmit", session, prompt=f"{CANARY} {number}", prompt_id=f"p{number}")
            answered(
                victim, call(victim, "prompt-submit", json.dumps(payload).encode(), request_id=b"again and again.")
            )
    assert [turn.text for turn in victim.typed.turns(session=session).turns] == [f"{CANARY} 0"]


def rpc(method: object, params: object = None, **more: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params, **more}).encode()


TOOLS = (
    "memd_remember",
    "memd_recall",
    "memd_show",
    "memd_revoke",
    "memd_trace",
    "memd_list",
    CANARY,
    "",
    "\0",
    1,
    None,
)

MESSAGES: tuple[bytes, ...] = (
    *(payload for payload in PAYLOADS.values() if len(payload) <= wire.MCP_MESSAGE_MAX_BYTES),
    b"[" + rpc("ping") + b"]",
    *(rpc("ping", id=value) for value in VALUES),
    *(rpc("ping", jsonrpc=value) for value in VALUES),
    *(rpc(value) for value in VALUES),
    *(rpc("initialize", value) for value in VALUES),
    *(rpc("tools/call", value) for value in VALUES),
    *(rpc("tools/call", {"name": name, "arguments": value}) for name in TOOLS for value in VALUES),
    *(rpc("tools/call", {"name": "memd_recall", "arguments": {"query": value, "k": k}}) for value in VALUES for k in (-1, 2**64)),
    *(rpc("tools/call", {"name": "memd_remember", "arguments": {"content": value}, "_meta": value}) for value in VALUES),
    *(rpc(method, {}) for method in ("resources/list", "prompts/get", "completion/complete", "sampling/createMessage")),
    *(rpc("notifications/cancelled", {"requestId": value}) for value in VALUES),
    *(rpc("notifications/" + CANARY, {"x": value}) for value in VALUES),
    b'{"jsonrpc":"2.0","id":1,"result":{}}',
    b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}',
)  # fmt: skip


def carried(victim: Victim, message: bytes, session: bytes = b"s" * 16, number: int = 1) -> Frames:
    return carried_request(Carried(session, number, os.fsencode(victim.repository), b"", message))


def test_messages_that_are_no_mcp(victim: Victim) -> None:
    """Each is answered once, under its number, each in a session of its own and all in one."""
    victim.ask(*carried(victim, rpc("ping")))  # the SDK takes memory once
    with victim.watched():
        for number, message in some(enumerate(MESSAGES), 3):
            for session in (os.urandom(16), b"s" * 16):
                reply = victim.ask(*carried(victim, message, session, number))
                assert isinstance(reply, wire.Reply), (message[:200], reply)
                assert reply.status in (wire.DONE, wire.USAGE, wire.REFUSED), (reply.status, message[:200])
                assert parse_carried_reply(reply)[0] == number


def test_frames_that_carry_no_mcp(victim: Victim) -> None:
    """Each frame in turn of the wrong bytes."""
    right = carried(victim, rpc("ping"))
    with victim.watched():
        for place, given in {
            3: (b"", b"x" * 15, b"x" * MB),
            4: MALFORMED,
            5: (b"\0", b"\xff", b"x" * 8_193, b"relative"),
            6: (b"\0", b"\xff=\xff", b"x" * 16_385),
            7: (b"", b"x" * (MB + 1)),
        }.items():
            for frame in given:
                reply = victim.ask(*right[:place], frame, *right[place + 1 :])
                assert isinstance(reply, wire.Reply), (place, frame[:50], reply)
                assert reply.status in (wire.DONE, wire.USAGE)


def test_more_sessions_than_are_kept(victim: Victim) -> None:
    """Hundreds that are never ended: memory is bounded, each is answered."""
    with victim.watched(200):
        for number in some(range(1_000), 4):
            reply = victim.ask(*carried(victim, rpc("ping"), os.urandom(16), number))
            assert isinstance(reply, wire.Reply)
            assert reply.status == wire.DONE
