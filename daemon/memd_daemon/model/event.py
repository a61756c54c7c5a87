"""Commits and events: their bytes, their digests, and what each type of event carries (model.md, section 2).

The format is for ever. What is signed and hashed are the bytes as stored, never a re-encoding:

- an **event** is stored as ``msgpack [body: bin, sig: bin]``; ``body`` is the msgpack map of `Event`, ``sig`` is empty or the 64
  bytes of an Ed25519 signature over `memd_client.signing.signed_digest` of ``body``;
- event digest = SHA-256("memd/event/1" ‖ u32 len(body) ‖ body ‖ sig);
- a **commit** is stored as ``msgpack [header: bin, [event digest, …]]``; ``header`` is the msgpack map of `Header`;
- commit digest = SHA-256("memd/commit/1" ‖ u32 len(header) ‖ header ‖ event digests), so that a commit whose events are withheld
  still stands in its chain;
- a **blob** holds one free text; its digest = SHA-256("memd/blob/1" ‖ salt (16 bytes) ‖ UTF-8 text). Events hold digests only, so
  forgetting drops blob and salt and the log stays verifiable.

All integers in digests are big-endian. Types are stable strings with a version; a stored event is never rewritten: `upcast`
takes an old payload one version at a time at read.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from memd_daemon.model.ids import NO_UID


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One event about one subject. ``note`` is the note's uid; for the store's own life (keys, settings) it is the store's uid."""

    uid: bytes
    note: bytes
    type: str
    v: int = 1
    at: int  # UTC, Unix milliseconds by the writer's wall clock; for people, never for order
    actor: str
    surface: str
    session: str = ""
    agent: str = ""
    key_id: bytes = b""  # set exactly on signed events
    head: bytes = (
        b""  # of signed ones: the digest of this chain's newest commit when they were shown to be signed; b"" is none
    )
    parents: tuple[bytes, ...] = ()  # uids of the subject's latest events that the writer saw
    payload: msgspec.Raw = msgspec.Raw(b"\x80")


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The head of a commit."""

    uid: bytes
    store: bytes
    origin: bytes
    seq: int  # from 1, without gaps, per origin
    prev: bytes  # digest of this origin's previous commit; 32 zero bytes before the first
    hlc: int
    events: int
    v: int = 1


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """An event as it lies in a store, with its place and what is known of its signature."""

    event: Event
    body: bytes
    sig: bytes
    hlc: int
    origin: bytes
    seq: int
    index: int
    store: bytes
    signed: bool = False  # the signature verifies under a key that was enrolled at this place

    @property
    def place(self) -> tuple[int, bytes, int, int]:
        """The order among events that do not depend on each other."""
        return (self.hlc, self.origin, self.seq, self.index)


GENESIS: Final = bytes(32)
DIGEST_BITS: Final = 8 * len(GENESIS)

_U32 = 4


def _framed(tag: bytes, head: bytes, *tail: bytes) -> bytes:
    return hashlib.sha256(b"".join((tag, len(head).to_bytes(_U32, "big"), head, *tail))).digest()


def event_digest(body: bytes, sig: bytes) -> bytes:
    return _framed(b"memd/event/1", body, sig)


def commit_digest(header: bytes, event_digests: Sequence[bytes]) -> bytes:
    return _framed(b"memd/commit/1", header, *event_digests)


def blob_digest(salt: bytes, text: bytes) -> bytes:
    return hashlib.sha256(b"memd/blob/1" + salt + text).digest()


# --- payloads


class Source(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who or what said it, e.g. ``Source("document", "https://…")``."""

    type: str
    ref: str = ""


class Anchor(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a note is about in a repository. ``path`` is relative to its root, ``/``-separated, NFC; ``digest`` is compared.

    Digests are 16 bytes. ``digest`` is, by form, of: the file's content with line ends normalized; the text of the lines; the
    syntax tree of the symbol; a claim has none, it is evaluated again.
    """

    form: str = "file"  # "file", "lines", "symbol", "claim"
    path: str
    part: str = ""  # the symbol, line range or claim, as written
    proxy: bool = False
    digest: bytes = b""
    checkout_branch: str = ""
    commit: str = ""  # HEAD when the digest was taken, hex; "" where there was none
    first: int = 0  # of a block: its first line when the digest was taken, from 1
    lines: int = 0  # of a block: how many lines it had then
    lead: bytes = b""  # of lines: a digest of the first one, by which the stretch is looked for
    text: bytes = b""  # of a symbol: the digest of its text; one that is equal is no change, whatever grammar reads it
    grammar: str = ""  # of a symbol: whose tree was hashed; trees of another one are not compared


class Evidence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A stretch of a user's turn that stands behind a note."""

    turn: int
    turn_uid: bytes
    excerpt: bytes  # blob
    start: int  # offsets in the stored text of the turn, in characters
    end: int
    attestation: str
    sentence: bytes = b""  # blob: the whole sentences that the excerpt is part of; b"" where it is whole itself


class Recorded(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    content: bytes  # blob
    summary: bytes  # blob
    kind: str
    priority: str
    provenance: str
    source: Source
    scope: str
    under: str = ""
    tags: tuple[str, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    mentions: tuple[Anchor, ...] = ()  # files that the content names by path and no anchor does
    evidence: tuple[Evidence, ...] = ()
    derived_from: tuple[bytes, ...] = ()
    informed_by: tuple[bytes, ...] = ()
    corrects: tuple[bytes, ...] = ()
    process: bool = False
    level: str = ""
    slug: str = ""
    turn: int = 0
    harness: str = ""
    reason: bytes = b""  # blob: why a principle or doctrine was made


class Promoted(msgspec.Struct, frozen=True, kw_only=True):
    to: str
    revision: int
    content: bytes


class Reasoned(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why, and which note put it right: carried by `revoked`, `archived`, `closed` and their like."""

    reason: bytes = b""  # blob; b"" is none given
    by: bytes = NO_UID


class ByNote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Another note takes part: `superseded`, `unsuperseded`, `absorbed`, `released`, `corroborated`."""

    by: bytes = NO_UID
    reason: bytes = b""


class Revised(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    content: bytes
    summary: bytes
    expected_revision: int
    reason: bytes = b""
    provenance: str = "agent"


class Confirmed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    anchors: tuple[Anchor, ...] = ()
    mentions: tuple[Anchor, ...] = ()


class ConflictOpened(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    other: bytes
    detected_by: str = ""


class ConflictResolved(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    other: bytes
    resolution: str
    reason: bytes = b""


class Amended(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    priority: str = ""
    tags: tuple[str, ...] | None = None
    anchors: tuple[Anchor, ...] | None = None
    scope: str = ""
    under: str | None = None


class EvidenceBound(msgspec.Struct, frozen=True, kw_only=True):
    evidence: tuple[Evidence, ...]


class ReviewFlagged(msgspec.Struct, frozen=True, kw_only=True):
    """An ancestor fell: ``cause`` is the uid of the event that did it, ``what`` is revoked, superseded or forgotten."""

    ancestor: bytes
    cause: bytes
    what: str


class Reviewed(msgspec.Struct, frozen=True, kw_only=True):
    causes: tuple[bytes, ...]


class Proposed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    act: str  # revoke, supersede, absorb, revise, archive, change, close
    reason: bytes = b""
    by: bytes = NO_UID


class KeyEnrolled(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A person's key; the subject is the store.

    The first stands by itself; any later one is signed by an enrolled key or by the recovery key.
    """

    key_id: bytes
    public: bytes
    recovery_public: bytes = b""
    terminal: str = ""


class KeyRejected(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A key ends. ``seen``: (origin, number) of the newest commit of each chain that whoever rejected it knew; () is not said."""

    key_id: bytes
    reason: bytes = b""
    seen: tuple[tuple[bytes, int], ...] = ()


class SettingChanged(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    value: str


class Nothing(msgspec.Struct, frozen=True):
    """Events that carry only themselves: `reinstated`, `restored`, `reopened`, `forgotten`."""


PAYLOADS: Final[dict[str, type[msgspec.Struct]]] = {
    "recorded": Recorded,
    "promoted": Promoted,
    "revoked": Reasoned,
    "reinstated": Reasoned,
    "superseded": ByNote,
    "unsuperseded": ByNote,
    "absorbed": ByNote,
    "released": ByNote,
    "revised": Revised,
    "confirmed": Confirmed,
    "corroborated": ByNote,
    "rederived": ByNote,
    "conflict_opened": ConflictOpened,
    "conflict_resolved": ConflictResolved,
    "archived": Reasoned,
    "restored": Reasoned,
    "amended": Amended,
    "closed": Reasoned,
    "reopened": Reasoned,
    "evidence_bound": EvidenceBound,
    "review_flagged": ReviewFlagged,
    "reviewed": Reviewed,
    "proposed": Proposed,
    "forgotten": Nothing,
    "key_enrolled": KeyEnrolled,
    "key_rejected": KeyRejected,
    "setting_changed": SettingChanged,
}
"""Every shared type of event and what it carries at its newest version."""

LOCAL_TYPES: Final = ("turn_stored", "delivered", "stale_raised", "stale_cleared", "used", "quarantined", "cleared")
"""Types that never stand in a commit and never leave the machine; each has a database of its own (store/keys.py)."""

VERSIONS: Final[dict[str, int]] = dict.fromkeys(PAYLOADS, 1)
"""The newest version of each type."""

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]
UPCASTERS: Final[dict[tuple[str, int], Upcaster]] = {}
"""(type, version) -> the payload one version later."""

_body_encoder = msgspec.msgpack.Encoder()
_body_decoder = msgspec.msgpack.Decoder(Event)
_payload_decoders: Final = {type_: msgspec.msgpack.Decoder(shape) for type_, shape in PAYLOADS.items()}


def encode_event(event: Event) -> bytes:
    """The body bytes; computed once, when the event is made."""
    return _body_encoder.encode(event)


def decode_event(body: bytes) -> Event:
    """The event in stored body bytes. Raises msgspec.DecodeError or ValidationError for anything else."""
    return _body_decoder.decode(body)


def make_payload(payload: msgspec.Struct) -> msgspec.Raw:
    return msgspec.Raw(_body_encoder.encode(payload))


def upcast(type_: str, version: int, payload: dict[str, Any], newest: int) -> dict[str, Any]:
    """``payload`` taken from ``version`` to ``newest``, one version at a time. Raises KeyError where a step is missing."""
    for step in range(version, newest):
        payload = UPCASTERS[type_, step](payload)
    return payload


def reading() -> bytes:
    """By what events are read: the newest version of each type. Folds that were made by another may be others."""
    return ",".join(f"{type_} {version}" for type_, version in sorted(VERSIONS.items())).encode()


def payload_of(event: Event) -> msgspec.Struct | None:
    """What the event carries, at its newest version; None for a type or a version that this memd does not know.

    Raises msgspec.ValidationError where the payload does not fit its type or its version.
    """
    shape = PAYLOADS.get(event.type)
    if shape is None or not 1 <= event.v <= VERSIONS[event.type]:
        return None
    raw = event.payload
    if event.v == VERSIONS[event.type]:
        return _payload_decoders[event.type].decode(raw)
    old = msgspec.msgpack.decode(raw, type=dict[str, Any])
    try:
        newest = upcast(event.type, event.v, old, VERSIONS[event.type])
    except (KeyError, TypeError, ValueError) as error:
        raise msgspec.ValidationError(f"version {event.v} of {event.type} does not fit") from error
    return msgspec.convert(newest, type=shape)


def readable_payload_of(event: Event) -> msgspec.Struct | None:
    """`payload_of`; None too where the payload cannot be read."""
    try:
        return payload_of(event)
    except (msgspec.ValidationError, msgspec.DecodeError):
        return None


def texts_of(payload: msgspec.Struct) -> list[bytes]:
    """The blobs that a payload refers to."""
    named = [getattr(payload, field, b"") for field in ("content", "summary", "reason")]
    spoken = [digest for e in getattr(payload, "evidence", ()) for digest in (e.excerpt, e.sentence)]
    return [digest for digest in (*named, *spoken) if digest]
