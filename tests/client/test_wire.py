"""The protocol: its frames byte for byte, its bounds, and that no bytes at all upset it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_client import wire, zmtp

GOLDEN = Path(__file__).parent.parent / "wire" / "golden" / "v1"
REQUEST_ID = bytes(range(16))
HOOK = wire.Hook(
    REQUEST_ID,
    123_456_789_012,
    wire.PROBE,
    "claude",
    "prompt-submit",
    "/home/ann/project ü".encode(),
    b"CLAUDECODE=1\nCLAUDE_CODE_SESSION_ID=5b1d\n",
    b'{"prompt": "use tabs\\n"}\n\x00\xff',
)
AT_NS = 1_700_000_000_123_456_789


def fields(hook: wire.Hook) -> tuple[object, ...]:
    return tuple(getattr(hook, name) for name in wire.Hook.__slots__)


def hooks() -> st.SearchStrategy[wire.Hook]:
    names = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=64)
    return st.builds(
        wire.Hook,
        request_id=st.binary(min_size=16, max_size=16),
        deadline_ns=st.integers(0, 2**63 - 1),
        flags=st.integers(0, 255),
        harness=names,
        event=names,
        cwd=st.binary(max_size=64),
        environment=st.binary(max_size=64),
        stdin=st.binary(max_size=256),
    )


GOLDEN_MESSAGES = {
    "hook_request": wire.hook_request(HOOK),
    "hook_reply": wire.hook_reply(b"0.1.0", b'{"hookSpecificOutput":{}}\n'),
    "receipt": wire.request(wire.RECEIPT, REQUEST_ID),
    "ping_request": wire.request(wire.PING, wire.EMPTY_BODY),
    "ping_reply": wire.reply(b"0.1.0", wire.DONE, wire.EMPTY_BODY),
    "refused_reply": wire.reply(b"0.1.0", wire.REFUSED, b"\x82\xa4code\xa1x\xa7message\xa1y"),
}


@pytest.mark.parametrize("name", GOLDEN_MESSAGES)
def test_a_v1_message_has_its_golden_bytes(name: str) -> None:
    """One frame a line, in hex: a daemon of any later version has to understand exactly these."""
    lines = (GOLDEN / f"{name}.hex").read_text(encoding="ascii").split("\n")[:-1]
    assert [bytes.fromhex(line) for line in lines] == GOLDEN_MESSAGES[name]


def test_the_handshake_and_a_message_have_their_golden_bytes() -> None:
    """What goes over the socket before and with a ping."""
    lines = (GOLDEN / "zmtp.hex").read_text(encoding="ascii").split()
    ping = zmtp.encode(GOLDEN_MESSAGES["ping_request"])
    assert [bytes.fromhex(line) for line in lines] == [zmtp.GREETING, zmtp.READY, ping]


def test_a_v1_spool_file_has_its_golden_bytes() -> None:
    """Spool files outlive the version that wrote them."""
    golden = (GOLDEN / "prompt.spool").read_bytes()
    assert wire.encode_spool(wire.Spooled(HOOK, AT_NS)) == golden
    read = wire.decode_spool(golden)
    assert read.at_ns == AT_NS
    assert fields(read.hook) == fields(_as_spooled(HOOK))


def _as_spooled(hook: wire.Hook) -> wire.Hook:
    return wire.Hook(hook.request_id, 0, 0, hook.harness, hook.event, hook.cwd, hook.environment, hook.stdin)


@given(hooks())
def test_a_hook_call_survives_the_wire_and_the_spool(hook: wire.Hook) -> None:
    """What was raw arrives raw."""
    protocol, verb, body = wire.parse_request(wire.hook_request(hook))
    assert (protocol, verb) == (wire.PROTOCOL, wire.HOOK)
    assert fields(wire.parse_hook(body)) == fields(hook)
    assert fields(wire.decode_spool(wire.encode_spool(wire.Spooled(hook, 1))).hook) == fields(_as_spooled(hook))


@given(st.lists(st.binary(max_size=40), max_size=40))
def test_no_frames_raise_anything_but_malformed(frames: list[bytes]) -> None:
    """Each parser is total over whatever a peer sends."""
    for parse in (wire.parse_request, wire.parse_hook, wire.parse_receipt, wire.parse_reply):
        try:
            parse(frames)
        except wire.Malformed:
            continue


@given(hooks(), st.data())
def test_a_spool_file_that_was_cut_off_is_malformed(hook: wire.Hook, data: st.DataObject) -> None:
    """A full disk or a lost power supply leaves no prompt that is only half of what was typed."""
    content = wire.encode_spool(wire.Spooled(hook, 1))
    kept = data.draw(st.integers(0, len(content) - 1))
    with pytest.raises(wire.Malformed):
        wire.decode_spool(content[:kept])


@given(st.binary(max_size=80))
def test_no_spool_file_raises_anything_but_malformed(tail: bytes) -> None:
    """Also one that begins as it should."""
    with pytest.raises(wire.Malformed):
        wire.decode_spool(wire.SPOOL_MAGIC + tail)


def test_spool_names_sort_by_time() -> None:
    """Taking in by name is taking in by order, at any time since 1970 and whatever the request id."""
    times = [0, 9, 10, 999_999_999, AT_NS, AT_NS + 1, 2**63]
    names = [wire.spool_name(bytes((15 - n,)) * 16, at) for n, at in enumerate(times)]
    assert names == sorted(names)
    assert names[1] == b"00000000000000000009-" + b"0e" * 16 + b".spool"


@pytest.mark.parametrize(
    ("changed", "value"),
    [
        (0, b"short"),
        (1, b""),
        (1, b"-1"),
        (1, b"1_0"),
        (1, b"9" * 21),
        (2, b""),
        (2, b"\x00\x00"),
        (3, b""),
        (3, b"x" * 65),
        (4, "prömpt".encode()),
        (5, b"/" * 8_193),
        (6, b"x" * 16_385),
        (7, b"x" * (8 * 1024 * 1024 + 1)),
    ],
)
def test_a_frame_outside_its_bounds_is_malformed(changed: int, value: bytes) -> None:
    """Each frame of a hook call, one step over its edge."""
    body = wire.hook_request(HOOK)[3:]
    body[changed] = value
    with pytest.raises(wire.Malformed):
        wire.parse_hook(body)


def test_later_frames_and_flags_are_ignored() -> None:
    """The forward rule: a later client may say more."""
    body = wire.hook_request(HOOK)[3:]
    body[2] = b"\xfe"
    hook = wire.parse_hook([*body, b"from a later version"])
    assert hook.stdin == HOOK.stdin
    assert not hook.is_probe


def test_the_environment_frame_holds_named_markers_and_nothing_else() -> None:
    """A hook is given the client's keys; they stay where they are."""
    environ = {
        b"CLAUDECODE": b"1",
        b"ANTHROPIC_API_KEY": b"sk-ant-1",
        b"CODEX_SESSION_ID": b"two\nlines",
        b"GIT_DIR": b".git",
        b"PATH": b"/bin",
        b"AI_AGENT": b"a=b",
        b"CLAUDE_PROJECT_DIR": b"/p/\xff",
    }
    lines = wire.environment_lines(environ)
    assert lines == b"CLAUDECODE=1\nCLAUDE_PROJECT_DIR=/p/\xff\nAI_AGENT=a=b\nGIT_DIR=.git\n"
    assert wire.parse_environment(lines) == {
        "CLAUDECODE": "1",
        "CLAUDE_PROJECT_DIR": "/p/\udcff",
        "AI_AGENT": "a=b",
        "GIT_DIR": ".git",
    }
    assert wire.parse_environment(b"OPENAI_API_KEY=sk\n\nCLAUDECODE\n=x\n") == {}


def test_a_huge_environment_is_cut_at_a_line() -> None:
    """The frame stays below the bound that the daemon enforces."""
    environ: dict[bytes, bytes] = dict.fromkeys(wire.ENVIRONMENT_NAMES, b"x" * 9_000)
    lines = wire.environment_lines(environ)
    assert len(lines) <= wire.ENVIRONMENT_MAX_BYTES
    assert lines.count(b"\n") == 1


def test_no_name_that_is_sent_on_could_be_a_key() -> None:
    """The list is read by a test since a slip in it would send a secret at every prompt."""
    assert [name for name in wire.ENVIRONMENT_NAMES if b"KEY" in name or b"TOKEN" in name or b"SECRET" in name] == []


@pytest.mark.parametrize(
    ("status", "exit_code"),
    [(wire.DONE, 0), (wire.REFUSED, 1), (wire.USAGE, 2), (wire.STOPPING, 3), (wire.FAULT, 1), (200, 1)],
)
def test_each_status_has_an_exit_code(status: int, exit_code: int) -> None:
    """0 done, 1 refused, 2 usage, 3 unreachable; what a later daemon may say counts as refused."""
    _, reply = wire.parse_reply(wire.reply(b"0.1.0", status))
    assert reply.exit_code == exit_code


def test_of_another_protocol_only_its_name_and_version_are_believed() -> None:
    """Its status byte may mean anything."""
    protocol, reply = wire.parse_reply([b"", b"memd/2", b"9.0", b"\x00", b"body"])
    assert (protocol, reply.version, reply.status, reply.body) == (b"memd/2", b"9.0", wire.FAULT, [])


def test_each_hook_deadline_is_far_below_a_harness_timeout() -> None:
    """Session end has 1 s (Codex) or 1.5 s (Claude Code) by default, everything else 30 s or more."""
    assert wire.BREAKER_DEADLINE_MS < wire.HOOK_DEADLINE_MS < 1_000
    assert wire.STARTING_DEADLINE_MS < 30_000
    assert "session-end" not in wire.WAITING_EVENTS
