"""The verb `mcp` on the wire: what a message of a client looks like, and its answer."""

import pytest

from memd_client import wire
from memd_client.carried import Carried, carried_reply, carried_request, parse_carried, parse_carried_reply

SESSION = b"s" * 16


def test_a_message_crosses_the_wire_whole() -> None:
    """What the carrier sends is what the daemon reads."""
    frames = carried_request(Carried(SESSION, 12, b"/here", b"CLAUDECODE=1\n", b'{"id":\xff}'))
    protocol, verb, body = wire.parse_request(frames)
    assert (protocol, verb) == (wire.PROTOCOL, wire.MCP)
    carried = parse_carried([*body, b"of a later version"])
    assert (carried.session, carried.number, carried.cwd) == (SESSION, 12, b"/here")
    assert (carried.environment, carried.message) == (b"CLAUDECODE=1\n", b'{"id":\xff}')


@pytest.mark.parametrize(
    "body",
    [
        [],
        [SESSION, b"1", b"/", b""],
        [b"short", b"1", b"/", b"", b"{}"],
        [SESSION, b"", b"/", b"", b"{}"],
        [SESSION, b"-1", b"/", b"", b"{}"],
        [SESSION, b"1", b"/" * (wire.CWD_MAX_BYTES + 1), b"", b"{}"],
        [SESSION, b"1", b"/", b"x" * (wire.ENVIRONMENT_MAX_BYTES + 1), b"{}"],
        [SESSION, b"1", b"/", b"", b"x" * (wire.MCP_MESSAGE_MAX_BYTES + 1)],
    ],
)
def test_what_is_no_message_of_mcp_is_malformed(body: list[bytes]) -> None:
    """Too few frames, a number that is none, a frame over its bound."""
    with pytest.raises(wire.Malformed):
        parse_carried(body)


def test_an_answer_repeats_the_number() -> None:
    """By which the carrier knows what is answered, in whatever order."""
    _, reply = wire.parse_reply(carried_reply(b"0.1.0", 12, b"{}", b"[]"))
    assert (reply.status, parse_carried_reply(reply)) == (wire.DONE, (12, [b"{}", b"[]"]))
    _, refused = wire.parse_reply(carried_reply(b"0.1.0", 3, b"not now", status=wire.STOPPING))
    assert (refused.status, parse_carried_reply(refused)) == (wire.STOPPING, (3, [b"not now"]))
    with pytest.raises(wire.Malformed):
        parse_carried_reply(wire.Reply(b"0.1.0", wire.USAGE, []))
