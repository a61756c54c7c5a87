"""Bytes, frames and messages that no client sends. What breaks a bound costs its sender the connection, and nobody else a thing."""

import contextlib
import random
import socket
import threading
import time

import pytest

from memd_client import wire, zmtp
from tests.cli.world import WAIT_S
from tests.hostile.grammar import LIES, Speaker
from tests.hostile.victim import IS_LONG, MB, TRAFFIC_PEAK_MB, Victim, until

SEEDS = range(5_000 if IS_LONG else 150)


def shaken(victim: Victim) -> socket.socket:
    """A connection past its handshake, whose answers nobody reads."""
    raw, parser = victim.connected(), zmtp.Parser()
    raw.sendall(zmtp.GREETING + zmtp.READY)
    while not parser.ready:
        parser.feed(raw.recv(1))
    return raw


def pours(raw: socket.socket, piece: bytes, times: int) -> int:
    """Sends a piece again and again; how many times before the connection was ended."""
    raw.settimeout(WAIT_S)
    for done in range(times):
        try:
            raw.sendall(piece)
        except (BrokenPipeError, ConnectionResetError):
            return done
    return times


def test_random_speech(victim: Victim) -> None:
    """Greetings, commands and frames by a grammar, whole and hurt, in one piece and byte by byte."""
    with victim.watched():
        for seed in SEEDS:
            raw = victim.connected()
            for piece in Speaker(seed).said():
                with contextlib.suppress(OSError):
                    raw.sendall(piece)
            raw.close()


def test_bytes_of_no_protocol(victim: Victim) -> None:
    """Noise, other protocols, and nothing but one byte again and again."""
    chance = random.Random(7)
    with victim.watched():
        for size in (0, 1, 9, 10, 11, 63, 64, 65, 1_000, 300_000):
            for said in (chance.randbytes(size), bytes(size), b"\xff" * size, b"GET / HTTP/1.1\r\n" * (size // 16)):
                raw = victim.connected()
                with contextlib.suppress(OSError):
                    raw.sendall(said)
                raw.close()


@pytest.mark.parametrize("size", LIES)
def test_a_frame_that_is_announced_and_does_not_come(victim: Victim, size: int) -> None:
    """No memory is taken for it: what is over the bound ends the connection, what is within it waits."""
    with victim.watched(64), contextlib.ExitStack() as stack:
        for _ in range(20):
            raw = stack.enter_context(shaken(victim))
            raw.sendall(bytes((zmtp.LONG,)) + size.to_bytes(8, "big") + b"x")
        victim.quiet_is_served()


def test_a_frame_of_64_mb(victim: Victim) -> None:
    """The connection is ended before it has come."""
    with victim.watched(64), shaken(victim) as raw:
        raw.sendall(bytes((zmtp.LONG,)) + (64 * MB).to_bytes(8, "big"))
        assert pours(raw, bytes(MB), 64) < 64


@pytest.mark.parametrize("size", [16 * MB, 1 * MB, 0], ids=["huge frames", "large frames", "empty frames"])
def test_a_message_without_an_end(victim: Victim, size: int) -> None:
    """libzmq keeps its frames until the last one is there: who goes on and on is let go, and the memory comes back."""
    frame = zmtp._header(zmtp.MORE, size) + bytes(size)
    piece = frame * max(1, MB // len(frame))
    with victim.watched(TRAFFIC_PEAK_MB):
        with shaken(victim) as raw:
            assert pours(raw, piece, 20_000 if size <= MB else 1_000) < 1_000
        until(lambda: victim.anonymous_mb() < 350, "the memory is back")


def test_a_crowd_that_leaves_a_message_each_without_an_end(victim: Victim) -> None:
    """Silent after a gust of 12 MB, and connected: memory for a few dozen of them is taken, and given back; who goes on asking
    beside them loses no connection."""
    gust = (zmtp._header(zmtp.MORE, MB) + bytes(MB)) * 12
    ping = zmtp.encode(wire.request(wire.PING, wire.EMPTY_BODY))
    with victim.watched(TRAFFIC_PEAK_MB), contextlib.ExitStack() as stack, shaken(victim) as asks:
        asks.settimeout(WAIT_S)
        for _ in range(160):
            pours(stack.enter_context(shaken(victim)), gust, 1)
            asks.sendall(ping)
            assert asks.recv(4096)
        until(lambda: victim.anonymous_mb() < 500, "most of the memory is back")


def test_messages_of_many_frames(victim: Victim) -> None:
    """Each ends its connection; while its frames are skipped, what others asked is answered."""
    many = b"\x01\x00" * 300_000 + b"\x00\x00"
    with victim.watched(TRAFFIC_PEAK_MB):
        for _ in range(3):
            with shaken(victim) as raw:
                raw.sendall(many)
                raw.settimeout(WAIT_S)
                with contextlib.suppress(ConnectionResetError):
                    assert raw.recv(1) == b""
            victim.quiet_is_served()


def test_the_largest_messages_there_may_be(victim: Victim) -> None:
    """Forty of 16 MB for a verb that nobody knows: what waits is bounded, the rest is refused or waits to be sent."""
    message = zmtp.encode(wire.request(b"nobody", bytes(wire.FRAME_MAX_BYTES - 1024)))
    with victim.watched(TRAFFIC_PEAK_MB), shaken(victim) as raw:
        pours(raw, message, 40)
        victim.quiet_is_served()


def test_answers_that_nobody_reads(victim: Victim) -> None:
    """A hundred thousand small requests of three peers that read nothing: they lose their answers, nobody waits for them."""
    piece = zmtp.encode(wire.request(wire.PING, wire.EMPTY_BODY)) * 5_000

    def ask() -> None:
        with shaken(victim) as raw, contextlib.suppress(OSError):
            pours(raw, piece, 7)

    with victim.watched(TRAFFIC_PEAK_MB):
        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        victim.quiet_is_served()
        for thread in threads:
            thread.join(WAIT_S)


def test_a_message_byte_by_byte(victim: Victim) -> None:
    """Two hundred peers, each a byte at a time: others are served meanwhile, and each message is answered at its end."""
    request = zmtp.encode(wire.request(wire.PING, wire.EMPTY_BODY))
    with victim.watched(), contextlib.ExitStack() as stack:
        slow = [victim.dealer() for _ in range(200)]
        for dealer in slow:
            stack.callback(dealer.close)
        for at in range(len(request)):
            for dealer in slow:
                dealer._socket.sendall(request[at : at + 1])
            if at == len(request) // 2:
                victim.quiet_is_served()
        end = time.monotonic_ns() + int(WAIT_S * 1e9)
        assert {wire.parse_reply(dealer.receive(end))[1].status for dealer in slow} == {wire.DONE}
