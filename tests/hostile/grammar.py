"""ZMTP as nobody should speak it: greetings, commands and frames, right in most places and wrong in one, from a seed."""

import random
from typing import Final

from memd_client import wire, zmtp
from tests.hostile.victim import CANARY

SIZES: Final = (0, 1, 2, 127, 128, 255, 256, 257, 4_096, 65_535, 65_536, 70_000)
LIES: Final = (
    1 << 63,
    (1 << 64) - 1,
    (1 << 31) - 1,
    1 << 31,
    1 << 32,
    1 << 30,
    wire.FRAME_MAX_BYTES,
    wire.FRAME_MAX_BYTES + 1,
)
COMMANDS: Final = (b"READY", b"ERROR", b"PING", b"PONG", b"SUBSCRIBE", b"CANCEL", b"HELLO", b"JOIN", b"", b"x" * 255)
VERBS: Final = (
    b"hook",
    b"mcp",
    b"receipt",
    b"ping",
    b"status",
    b"fired",
    b"recall",
    b"remember",
    b"show",
    b"",
    b"x" * 33,
    b"\xff",
)


class Speaker:
    """What one peer says, piece by piece; the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def said(self) -> list[bytes]:
        """All that one connection sends, each piece apart."""
        chance = self._chance
        opening = [zmtp.GREETING, zmtp.READY] if chance.random() < 0.7 else [self._greeting(), self._command()]
        return [self._hurt(piece) for piece in (*opening, *(self._piece() for _ in range(chance.randint(0, 12))))]

    def _hurt(self, piece: bytes) -> bytes:
        """Mostly as it is; else cut, doubled, or with a byte changed."""
        chance, kind = self._chance, self._chance.random()
        if kind < 0.9 or not piece:
            return piece
        at = chance.randrange(len(piece))
        if kind < 0.93:
            return piece[:at]
        if kind < 0.95:
            return piece + piece
        return piece[:at] + bytes((chance.randrange(256),)) + piece[at + 1 :]

    def _piece(self) -> bytes:
        chance = self._chance
        made = (self._message, self._request, self._command, self._lie, self._noise)
        return chance.choices(made, (4, 6, 2, 1, 1))[0]()

    def _greeting(self) -> bytes:
        chance = self._chance
        version = chance.choice((b"\x03\x00", b"\x03\x01", b"\x02\x00", b"\x01\x00", b"\x00\x00", b"\xff\xff"))
        mechanism = chance.choice((b"NULL", b"PLAIN", b"CURVE", b"GSSAPI", b"null", b"", b"\xff" * 20)).ljust(20, b"\0")
        signature = chance.choice(
            (b"\xff" + bytes(8) + b"\x7f", b"\xff" + b"\x01" * 8 + b"\x7f", b"\x05\x00hello...", bytes(10))
        )
        return signature + version + mechanism + bytes((chance.randrange(3),)) + bytes(31)

    def _command(self) -> bytes:
        chance, name = self._chance, self._chance.choice(COMMANDS)
        body = bytes((chance.choice((len(name), 0, 255)),)) + name
        for _ in range(chance.randrange(4)):
            value = chance.choice(
                (b"DEALER", b"ROUTER", b"PUB", b"XPUB", b"REQ", b"STREAM", b"", CANARY.encode(), chance.randbytes(300))
            )
            size = chance.choice((len(value), len(value), 1 << 31, (1 << 32) - 1))
            property_ = chance.choice((b"Socket-Type", b"Identity", b"Resource", b"X-" + chance.randbytes(3)))
            body += bytes((len(property_),)) + property_ + size.to_bytes(4, "big") + value
        return zmtp._header(zmtp.COMMAND | chance.choice((0, 0, 0, zmtp.MORE)), len(body)) + body

    def _frames(self) -> list[bytes]:
        chance = self._chance
        count = chance.choice((1, 2, 3, 8, 11, 32, 33, 200))
        return [CANARY.encode() + chance.randbytes(chance.choice(SIZES) if count < 32 else 3) for _ in range(count)]

    def _message(self) -> bytes:
        return zmtp.encode(self._frames())

    def _request(self) -> bytes:
        chance = self._chance
        protocol = chance.choice((wire.PROTOCOL,) * 5 + (b"memd/2", b"", CANARY.encode() * 100))
        return zmtp.encode([chance.choice((b"", b"", b"", b"x")), protocol, chance.choice(VERBS), *self._frames()])

    def _lie(self) -> bytes:
        """A frame that is longer than what comes of it."""
        chance = self._chance
        return (
            bytes((zmtp.LONG | chance.choice((0, 1, 4, 8, 0x80)),))
            + chance.choice(LIES).to_bytes(8, "big")
            + CANARY.encode()
        )

    def _noise(self) -> bytes:
        return self._chance.randbytes(self._chance.choice(SIZES))
