"""Bodies of the msgpack verbs as nobody should send them: bombs, and for every field of every request every wrong or extreme value.

Made from the structs themselves, so that a verb or a field that is added tomorrow is attacked tomorrow.
"""

import struct
from collections.abc import Iterator
from typing import Final

import msgspec

from memd_client import api
from tests.hostile.victim import CANARY, MB

encode: Final = msgspec.msgpack.encode

LEFT_OUT: Final = frozenset({"stop"})
"""Ends the daemon, which is what it is for."""

BASE: Final[dict[str, dict[str, object]]] = {
    "remember": {"content": f"The {CANARY} of remember."},
    "seal": {"token": b"x" * 16, "signatures": []},
    "recall": {"query": CANARY},
    "show": {"ref": "1"},
    "log": {"ref": "1"},
    "trace": {"ref": "1"},
    "act": {"act": "amend", "ref": "2"},
    "why": {"ref": "1"},
    "set": {"key": "idle_exit_hours", "how": "set", "values": ["8"]},
    "policy-check": {"name": "x.toml", "content": b""},
}
"""What makes a body right that its fields are then changed in; of other verbs an empty map is."""

DEEP: Final = 100_000

BOMBS: Final[dict[str, bytes]] = {
    "nothing": b"",
    "never used": b"\xc1",
    "deep arrays": b"\x91" * DEEP + b"\xc0",
    "deep maps": b"\x81\xa1a" * DEEP + b"\xc0",
    "deep arrays cut off": b"\x91" * DEEP,
    "array of 2^32": b"\xdd\xff\xff\xff\xff",
    "map of 2^31": b"\xdf\x80\x00\x00\x00",
    "map of 2^32 with one": b"\xdf\xff\xff\xff\xff\xa1a\xc0",
    "string of 2^32": b"\xdb\xff\xff\xff\xff" + b"x" * 100,
    "bytes of 2^32": b"\xc6\xff\xff\xff\xff",
    "extension of 2^32": b"\xc9\xff\xff\xff\xff\x01x",
    "extension": b"\xc7\x05\x01hello",
    "timestamp": b"\xd7\xff" + bytes(8),
    "no UTF-8": b"\xa3\xed\xa0\x80",
    "number": b"\x01",
    "list": b"\x90",
    "two values": b"\x80\x80",
    "keys that are none": b"\x83\x01\x01\xc0\x01\x90\x01",
    "keys twice": b"\x82\xa3cwd\xa1x\xa3cwd\x01",
    "surrogate as key": b"\x81\xa3\xed\xa0\x80\xc0",
    "million keys": b"\xdf\x00\x0f\x42\x40" + b"".join(b"\xa7" + b"%07d" % n + b"\xc0" for n in range(1_000_000)),
    "million numbers": b"\xdd\x00\x0f\x42\x40" + b"\x01" * 1_000_000,
}

WORDS: Final = (
    "",
    " ",
    "\0",
    f"{CANARY}\0{CANARY}",
    "\n",
    f"{CANARY}\u2028{CANARY}\r\n\x1b[2J",
    f"\u202e{CANARY}\u2066\u200b\ufeff",
    "\U0001f469\u200d\U0001f52c" * 50,
    "\U0010ffff\ufffe\ud7ff",
    "../" * 40 + "etc/passwd",
    "/",
    "~",
    "-1",
    "+2",
    "\u0661",  # digits that are no decimal of ours
    "\u00b2",
    "9" * 19,
    "9" * 5_000,  # beyond what Python turns into a number
    "#2",
    "%s%n{0}{}",
    "{" * 3_000,
    "[" * 3_000,
    "a:b:c:d",
    "app.py:1-0",
    "app.py:" + "9" * 5_000,
    "app.py#" + "x." * 3_000,
    "</memd-note><memd-note>" + CANARY,
    CANARY * 5_000,
    "1" * MB,
)

NUMBERS: Final = (-1, 0, 1, 2**31 - 1, 2**31, 2**63 - 1, -(2**63), 2**64 - 1)

SHAPES: Final[tuple[object, ...]] = (b"\xff\0", [[]], [None], [1, "a"], [[1, "a", 2]], {"a": {"a": 1}}, {1: 1})

WRONG: Final[tuple[bytes, ...]] = (
    b"\xc0",
    b"\xc3",
    b"\x90",
    b"\x80",
    b"\xa3\xed\xa0\x80",
    b"\xa2\xff\xfe",
    b"\xc7\x05\x01hello",
    b"\xd7\xff" + bytes(8),
    b"\x91" * DEEP + b"\xc0",
    b"\xdd\xff\xff\xff\xff",
    *(encode(value) for value in (float("nan"), float("inf"), -float("inf"), 1e308, 1.5)),
    *map(encode, NUMBERS),
    *map(encode, SHAPES),
)
"""Values of msgpack that most fields do not take, as bytes, since some of them nothing else writes."""


def values() -> Iterator[bytes]:
    """Every value that a field is given."""
    yield from WRONG
    for word in WORDS:
        yield encode(word)
        yield encode([word])
    for number in NUMBERS:
        yield encode([(number, CANARY)])
    yield encode([CANARY] * 20_000)
    yield encode([(1, "x")] * 5_000)
    yield encode({word: word for word in WORDS})
    yield encode(b"x" * 32)
    yield encode([b"x" * 32, b""])


def of_fields(verb: str, place: dict[str, object]) -> Iterator[bytes]:
    """A right body of this verb with each field in turn left out, and given each value. ``place``: where the asker is."""
    right = {**place, **BASE.get(verb, {})}
    for field in msgspec.structs.fields(api.VERBS[verb]):
        others = {name: value for name, value in right.items() if name != field.encode_name}
        yield encode(others)
        for value in values():
            yield encode({**others, field.encode_name: msgspec.Raw(value)})


def huge(verb: str, place: dict[str, object]) -> Iterator[bytes]:
    """8 MiB in each field that takes text."""
    right = {**place, **BASE.get(verb, {})}
    texts: tuple[bytes, ...] = (
        b"x" * (8 * MB),
        b"\0" * (8 * MB),
        "\u202e".encode() * (8 * MB // 3),
        b"a b. " * (8 * MB // 5),
        b"\n" * (8 * MB),
    )
    for field in msgspec.structs.fields(api.VERBS[verb]):
        if field.type is str:
            for text in texts:
                value = struct.pack(">BI", 0xDB, len(text)) + text
                yield encode({**right, field.encode_name: msgspec.Raw(value)})
