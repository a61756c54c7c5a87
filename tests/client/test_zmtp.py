"""ZMTP without libzmq: against arbitrary bytes, and against libzmq."""

import os
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_client import wire, zmtp
from tests.client import peers

SHAKEN = zmtp.GREETING + zmtp.READY


def cut(stream: bytes, cuts: list[int]) -> list[bytes]:
    edges = sorted({0, len(stream), *(at % (len(stream) + 1) for at in cuts)})
    return [stream[start:end] for start, end in pairwise(edges)]


def command(body: bytes) -> bytes:
    return bytes((zmtp.COMMAND, len(body))) + body


frame_lists = st.lists(st.binary(max_size=600), min_size=1, max_size=6)


@given(st.lists(frame_lists, max_size=3), st.lists(st.integers(0, 10_000), max_size=12))
def test_messages_are_the_same_however_the_bytes_are_cut(messages: list[list[bytes]], cuts: list[int]) -> None:
    """A socket keeps no boundaries: not of frames, and not of the handshake."""
    stream = SHAKEN + b"".join(zmtp.encode(frames) for frames in messages)
    parser = zmtp.Parser()
    for chunk in cut(stream, cuts):
        parser.feed(chunk)
    assert parser.ready
    assert parser.messages == messages


@given(st.binary(max_size=200), st.lists(st.integers(0, 10_000), max_size=6), st.booleans())
def test_arbitrary_bytes_are_messages_or_garbled(stream: bytes, cuts: list[int], is_shaken: bool) -> None:
    """Nothing else is raised, and a message never comes before READY."""
    parser = zmtp.Parser()
    try:
        for chunk in cut(SHAKEN * is_shaken + stream, cuts):
            parser.feed(chunk)
    except zmtp.Garbled:
        return
    assert parser.ready or not parser.messages


@pytest.mark.parametrize(
    "stream",
    [
        b"H",
        b"HTTP/1.1 400",
        b"\xff" + bytes(8) + b"\x00",
        b"\xff" + bytes(8) + b"\x7f\x01",
        zmtp.GREETING[:12] + b"PLAIN".ljust(20, b"\0") + bytes(32),
        zmtp.GREETING + b"\x00\x01x",
        zmtp.GREETING + command(b"\x05ERROR\x00"),
        zmtp.GREETING + command(b"\x04PING\x00\x01"),
        zmtp.GREETING + command(b""),
        SHAKEN + b"\x08\x00",
        SHAKEN + b"\x05\x00",
        SHAKEN + command(b"\x05ERROR\x03bye"),
        SHAKEN + b"\x06" + (zmtp.COMMAND_MAX_BYTES + 1).to_bytes(8, "big"),
        SHAKEN + b"\x02" + (wire.FRAME_MAX_BYTES + 1).to_bytes(8, "big"),
        SHAKEN + b"\x01\x00" * wire.FRAMES_MAX + b"\x00\x00",
    ],
)
def test_what_is_not_allowed_is_garbled_at_once(stream: bytes) -> None:
    """At the byte that shows it: the deadline is not waited for, and no memory is set aside."""
    parser = zmtp.Parser()
    with pytest.raises(zmtp.Garbled):
        parser.feed(stream)


def test_the_bounds_themselves_are_allowed() -> None:
    """One step inside each edge of the table above."""
    parser = zmtp.Parser()
    parser.feed(SHAKEN + b"\x01\x00" * (wire.FRAMES_MAX - 1) + b"\x00\x00")
    parser.feed(b"\x02" + wire.FRAME_MAX_BYTES.to_bytes(8, "big"))
    assert parser.messages == [[b""] * wire.FRAMES_MAX]


def test_many_frames_below_their_bound_are_garbled_as_a_message_over_it() -> None:
    """What a peer can make this side hold is bounded as a whole."""
    parser = zmtp.Parser()
    parser.feed(SHAKEN + b"\x03" + wire.FRAME_MAX_BYTES.to_bytes(8, "big") + bytes(wire.FRAME_MAX_BYTES))
    with pytest.raises(zmtp.Garbled):
        parser.feed(b"\x02" + (wire.MESSAGE_MAX_BYTES - wire.FRAME_MAX_BYTES + 1).to_bytes(8, "big"))


def test_a_ping_is_answered_with_its_context_and_other_commands_are_skipped() -> None:
    """A context holds 16 bytes at most; between the frames of a message too."""
    parser = zmtp.Parser()
    parser.feed(SHAKEN + b"\x01\x01a" + command(b"\x04PING\x00\x0a" + b"c" * 20) + command(b"\x03FOO") + b"\x00\x01b")
    assert parser.outgoing == command(b"\x04PONG" + b"c" * 16)
    assert parser.messages == [[b"a", b"b"]]


@pytest.mark.parametrize("size", [0, 1, 254, 255, 256, 65_536, 3_000_001])
def test_a_frame_of_any_size_goes_to_libzmq_and_back(size: int) -> None:
    """Short and long frames, more than a socket's buffer holds, in both directions."""
    body = os.urandom(size)
    with (
        peers.short_directory() as directory,
        peers.router(directory / "s", lambda frames: [b"", wire.PROTOCOL, *frames]),
    ):
        dealer = zmtp.Dealer(os.fsencode(directory / "s"), peers.soon_ns())
        try:
            dealer.send([b"", body, b"end"], peers.soon_ns())
            assert dealer.receive(peers.soon_ns()) == [b"", wire.PROTOCOL, b"", body, b"end"]
            assert dealer.peer_uid() == os.geteuid()
        finally:
            dealer.close()


def test_what_is_sent_right_before_the_close_arrives_at_libzmq() -> None:
    """A receipt is sent and not waited for; over fifty connections none is lost."""
    with peers.short_directory() as directory, peers.router(directory / "s", lambda frames: None) as peer:
        for n in range(50):
            dealer = zmtp.Dealer(os.fsencode(directory / "s"), peers.soon_ns())
            dealer.send([b"", b"%d" % n], peers.soon_ns())
            dealer.close()
        assert sorted(int(frames[1]) for frames in peer.wait_for(50)) == list(range(50))


def test_a_deadline_in_the_past_is_a_timeout_before_anything_is_sent() -> None:
    """The operations share one deadline: the last of them may find it gone."""
    with (
        peers.short_directory() as directory,
        peers.listener(directory / "s", None),
        pytest.raises(TimeoutError),
    ):
        zmtp.Dealer(os.fsencode(directory / "s"), 0)
