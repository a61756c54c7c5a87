"""The carrier's parts that need no process: lines out of chunks, and the id of a message that was too long to keep."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_client import wire
from memd_client.mcp import EDGE_BYTES, Lines, TooLong, _error, _id_at_an_end
from memd_client.spawn import version_order

BIG = wire.MCP_MESSAGE_MAX_BYTES


def fed(*chunks: bytes) -> list[bytes | TooLong]:
    lines = Lines()
    return [message for chunk in chunks for message in lines.feed(chunk)] + lines.end()


@pytest.mark.parametrize(
    ("chunks", "messages"),
    [
        ((), []),
        ((b'{"a":1}\n',), [b'{"a":1}']),
        ((b'{"a"', b":1}", b"\n"), [b'{"a":1}']),
        ((b"1\n2\n3",), [b"1", b"2", b"3"]),
        ((b"1\r\n\r\n \n2\r\n",), [b"1", b"2"]),
        ((b"last, without an end",), [b"last, without an end"]),
        ((b"x" * BIG, b"\n"), [b"x" * BIG]),
    ],
)
def test_a_message_is_a_line_whatever_the_chunks(chunks: tuple[bytes, ...], messages: list[bytes]) -> None:
    """Blank lines are no messages, and what stands behind the last line's end is one."""
    assert fed(*chunks) == messages


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=6))
def test_chunks_change_nothing(stream: bytes, cuts: list[int]) -> None:
    """However the pipe cuts them, the same messages come out."""
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    chunks = [stream[start:end] for start, end in pairwise(places)]
    assert fed(*chunks) == fed(stream)


@pytest.mark.parametrize("chunk_bytes", [EDGE_BYTES - 1, 65_536, BIG + 2])
def test_of_a_message_over_the_bound_only_the_ends_are_kept(chunk_bytes: int) -> None:
    """The carrier never holds more of it, and the next message is whole again."""
    line = b"<" + b"x" * (2 * BIG) + b">"
    stream = line + b"\n" + b"next\n"
    big, following = fed(*(stream[at : at + chunk_bytes] for at in range(0, len(stream), chunk_bytes)))
    assert isinstance(big, TooLong)
    assert (big.head[:1], big.tail[-1:]) == (b"<", b">")
    assert len(big.head) <= EDGE_BYTES
    assert len(big.tail) <= EDGE_BYTES
    assert following == b"next"


LONG = {"name": "remember", "arguments": {"content": "x" * BIG}}


@pytest.mark.parametrize(
    ("message", "id_"),
    [
        ({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": LONG}, 7),
        ({"method": "tools/call", "params": LONG, "jsonrpc": "2.0", "id": 8}, 8),
        ({"method": "tools/call", "params": LONG, "id": 'a "b" \\', "jsonrpc": "2.0"}, 'a "b" \\'),
        ({"jsonrpc": "2.0", "method": "tools/call", "id": -1, "params": LONG}, -1),
        ({"jsonrpc": "2.0", "method": "notifications/x", "params": LONG}, None),
        ({"jsonrpc": "2.0", "method": "x", "params": {"id": 5, "x": "x" * BIG}}, None),
        ({"jsonrpc": "2.0", "method": "x", "params": {"x": "x" * BIG, "id": 5}}, None),
        ({"jsonrpc": "2.0", "method": "x", "params": {"x": "x" * BIG + '"id":5}'}}, None),
        ({"method": "x", "params": LONG, "id": 9, "more": LONG}, None),
    ],
)
def test_the_id_is_found_at_an_end_or_not_at_all(message: dict[str, object], id_: object) -> None:
    """An error under a wrong id would answer another request; without one the client still sees an error."""
    for separators in ((",", ":"), (", ", ": ")):
        (found,) = fed(json.dumps(message, separators=separators).encode())
        assert isinstance(found, TooLong)
        assert _id_at_an_end(found) == id_


@pytest.mark.parametrize(
    ("id_", "named"),
    [
        (7, 7),
        ("a", "a"),
        (None, None),
        (True, None),
        (1.5, None),
        (float("nan"), None),
        ([[1]], None),
        ({"a": 1}, None),
    ],
)
def test_an_answer_of_the_carrier_is_json_whatever_the_id(id_: object, named: object) -> None:
    """An id that MCP does not have is not repeated."""
    told = json.loads(_error(id_, -32603, "why"), parse_constant=pytest.fail)
    assert (told["id"], told["error"]) == (named, {"code": -32603, "message": "why"})


def test_versions_are_ordered_by_their_numbers() -> None:
    """What can't be read is old."""
    assert version_order(b"0.1.0") < version_order(b"0.2.0") < version_order(b"0.10.0") < version_order(b"1.0.0")
    assert version_order(b"what") < version_order(b"0.1.0")
