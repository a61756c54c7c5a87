"""The lines of an export (docs/export.md says what each is for): JSON, one value a line, told apart by ``is``.

Their order is fixed, so that who reads them needs to remember nothing: the head; the numbers of notes; each commit followed by its
events, each event followed by the texts that it names; turns; facts; held notes; the end, with a digest of every byte before it.

Bytes that are hashed or signed (a header, an event's body, a signature) are base64 of exactly these bytes; uids and digests are
hexadecimal. What an event says is written out beside its body for whoever reads the file: a line whose two halves differ is wrong.
"""

from typing import Any, Final

import msgspec

from memd_daemon.model.burst import BurstNote
from memd_daemon.model.ids import UID_BYTES
from memd_daemon.model.turn import Raised, Turn


class Line(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", forbid_unknown_fields=True):
    """One line."""


class Head(Line, tag="memd-export", frozen=True, kw_only=True, omit_defaults=True):
    """The first: whose export this is. The counts are what follows, but for numbers, of which there may be more than notes."""

    format: int
    store_format: int
    store: str
    origin: str
    last_turn: int  # the last number that was given to a turn
    notes: int
    commits: int
    events: int
    turns: int
    passed: tuple[tuple[int, int], ...] = ()  # stretches of numbers that stand for no note and are given to none


class Number(Line, tag="number", frozen=True, kw_only=True, omit_defaults=True):
    """The number that people quote, of a note."""

    id: int
    note: str
    unwanted: bool = False  # not to be embedded until it is asked for


class Commit(Line, tag="commit", frozen=True, kw_only=True):
    """A commit. ``digests``: of its events, those that are withheld too, of which no line follows."""

    origin: str
    seq: int
    header: bytes
    digests: list[str]


class EventLine(Line, tag="event", frozen=True, kw_only=True, omit_defaults=True):
    """An event of the commit before it; ``index`` is its place there."""

    index: int
    body: bytes
    sig: bytes = b""
    says: Any = None


class Text(Line, tag="text", frozen=True, kw_only=True):
    """A text that the event before it names."""

    digest: str
    salt: str
    text: str


class TurnLine(Line, tag="turn", frozen=True, kw_only=True, omit_defaults=True):
    """What a user said, and what became known of who typed it."""

    turn: Turn
    raised: Raised | None = None


class Fact(Line, tag="fact", frozen=True, kw_only=True):
    """A row of the repository table, or which note a git commit has."""

    name: str
    value: bytes


class Held(Line, tag="held", frozen=True, kw_only=True):
    """A note of a burst, which is held, or was looked at since."""

    burst: BurstNote


class End(Line, tag="end", frozen=True, kw_only=True):
    """The last: how many lines stand before it, and SHA-256 of all their bytes."""

    lines: int
    sha256: str


AnyLine = Head | Number | Commit | EventLine | Text | TurnLine | Fact | Held | End

PORTABLE_FACTS: Final = ("repo/", "commit/")
"""How the names of local facts begin that hold elsewhere too; the others are of this machine and its daemon."""

_ABOUT: Final = "repo/about/"


class _About(msgspec.Struct, frozen=True, kw_only=True):
    """As much of what is known of a repository as every reader needs (service/repos.py)."""

    uid: bytes
    path: str
    others: tuple[str, ...] = ()


def is_fact(name: str, value: bytes) -> bool:
    """Whether a portable fact says what its readers expect: what is known of a repository, else the uid of one or of a note."""
    if not name.startswith(_ABOUT):
        return len(value) == UID_BYTES
    try:
        return len(msgspec.msgpack.decode(value, type=_About).uid) == UID_BYTES
    except (msgspec.MsgspecError, RecursionError):
        return False


ORDER: Final[dict[type[Line], int]] = {
    Head: 0, Number: 1, Commit: 2, EventLine: 2, Text: 2, TurnLine: 3, Fact: 4, Held: 5, End: 6,
}  # fmt: skip
"""Which kind may follow which: never one of a smaller number."""

_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder(AnyLine)
_heads: Final = msgspec.json.Decoder(dict[str, Any])


def encode(line: Line) -> bytes:
    return _encoder.encode(line) + b"\n"


def decode(raw: bytes) -> AnyLine:
    """Raises msgspec.DecodeError, msgspec.ValidationError."""
    return _decoder.decode(raw)


def decode_loosely(raw: bytes) -> dict[str, Any]:
    """The first line of a file, whatever made it. Raises msgspec.DecodeError, msgspec.ValidationError."""
    return _heads.decode(raw)


def said(body: bytes) -> Any:
    """What an event's body says, for a reader: bytes as hexadecimal. None where JSON has no words for it."""
    try:
        return _plain(msgspec.msgpack.decode(body))
    except (msgspec.MsgspecError, TypeError, RecursionError):
        return None


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {_name(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, str | int | bool):
        return value
    raise TypeError(type(value))


def _name(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(type(key))
    return key


def words_in(value: Any) -> list[str]:
    """Every text in a decoded value, names of fields too."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [word for pair in value.items() for one in pair for word in words_in(one)]
    if isinstance(value, list | tuple):
        return [word for one in value for word in words_in(one)]
    return []


def digests_in(value: Any) -> list[bytes]:
    """Every 32 bytes in a decoded value that may be the digest of a text, each once."""
    if isinstance(value, bytes):
        return [value] if len(value) == DIGEST_BYTES else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return list(dict.fromkeys(digest for one in inner for digest in digests_in(one)))


DIGEST_BYTES: Final = 32


def named_texts(body: bytes) -> list[bytes]:
    """The digests that an event's payload names, of whatever type and version it is."""
    try:
        event = msgspec.msgpack.decode(body)
    except msgspec.MsgspecError:
        return []
    return digests_in(event.get("payload")) if isinstance(event, dict) else []
