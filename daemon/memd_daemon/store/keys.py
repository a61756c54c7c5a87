"""The key layout, to the byte. Every integer is big-endian, so that keys sort as numbers do; every key is at most 511 bytes (LMDB).

    uid, origin, store   16 bytes
    seq, id, number, hlc u64
    index                u16
    digest16(x)          the first 16 bytes of SHA-256 over the UTF-8 text or the bytes x
    place                hlc ‖ origin ‖ seq ‖ index = 34 bytes; sorts as `Stored.place` does

The store environment, ``<home>/store/log``, is durable: each commit is synced before anybody hears of it.

    table           key                                 value                                        is
    commits         origin ‖ seq                        msgpack [header bin, [event digest bin, …]]  truth
    events          origin ‖ seq ‖ index                msgpack [body bin, sig bin]; absent: withheld  truth
    blobs           digest (32)                         salt (16) ‖ UTF-8 text; absent: forgotten    truth
    ids             id                                  uid                                          truth: people quote it
    aliases         uid                                 id                                           truth, with ids
    turns           number                              msgpack Turn                                 truth
    raised          turn's number                       msgpack Raised                               truth, local
    settings        name (UTF-8, 1 to 511)              bytes                                        truth, local
    unwanted        id                                  "" : not to be embedded until asked for      truth, local
    meta            format store origin hlc head turn model  u64, uid, uid, u64, seq ‖ digest, u64, name  truth
                    passed                              msgpack [[first number, last], …] (numbers.py)
    vectors         digest16(model) ‖ uid               float16 little-endian                        derived, kept by rebuild
                    (uid: the note's for its first wording, the event's for a further one)
    unembedded      id                                  "" : waits for a vector of the model in meta derived
    event_uids      event uid                           place of its first copy                      derived
    subjects        subject uid ‖ place                 ""                                           derived
    tails           subject uid                         msgpack [last place, events, waiting]        derived
    folds           uid                                 encoded Note                                 derived
    kinds           kind ‖ 0x00 ‖ digest16(scope) ‖ id  priority (UTF-8) ; live notes only           derived
    paths           digest16(scope) ‖ digest16(path) ‖ id  "" ; live gotchas only                    derived
    anchored        digest16(scope) ‖ anchor digest ‖ id  "" ; live gotchas only                     derived
    children        parent uid ‖ child uid              ""                                           derived
    absorbed        uid ‖ absorbed uid                  ""                                           derived
    slugs           digest16(slug) ‖ id                 uid                                          derived
    turn_requests   digest16(request)                   number                                       derived
    turn_prompts    digest16(session) ‖ digest16(prompt id)  number                                  derived
    turn_sessions   digest16(session) ‖ number          turns of the session so far, u64             derived

``head`` in meta is this origin's newest commit, so that a commit cut off at the end leaves a gap that `memd verify` names; ``turn``
is the last number given, so that no number is given twice; ``model`` is the one that the queue of unembedded notes is for.

The ledger environment, ``<home>/store/ledger``, is written without a sync: it outlives the process, and a power cut may lose its
last moments. context = digest16(session) ‖ digest16(agent).

    contexts        context                             msgpack Context                              truth, local
    deliveries      number                              msgpack Delivery                             truth, local
    requests        digest16(request)                   number ‖ reply bytes                         truth, local
    by_session      digest16(session) ‖ number          ""                                           derived
    standing        context ‖ epoch (u32) ‖ uid         msgpack [delivered digest, offered digest, offered at, held]  derived
    turn_notes      context ‖ digest16(turn) ‖ uid      ""                                           derived
    turn_tokens     digest16(session) ‖ digest16(turn) ‖ digest16(trigger)  tokens, u64              derived
    turn_holds      context ‖ digest16(turn)            msgpack Hold                                 truth, local
    open_holds      context ‖ digest16(turn)            "" : its outcome is open                     derived
    clients         pid (u32) ‖ started (u64)           session whose main agent was heard there last  derived
    moved           digest16(root) ‖ digest16(path) ‖ digest16(old path)  old path (UTF-8)           truth, local
    asked           context ‖ epoch (u32) ‖ uid         ""                                           derived
    turn_asked      context ‖ digest16(turn) ‖ uid      ""                                           derived
    shown           uid ‖ digest16(session)             ""                                           truth, local
    stale           uid ‖ digest16(root) ‖ state ‖ 1 raised, 0 cleared  msgpack StaleFlag            truth, local
    stale_now       uid ‖ digest16(root)                msgpack StaleFlag: the one that stands       derived
    results         number                              msgpack ToolResult                           truth, local
    results_by_session  digest16(session) ‖ number      its hashes, u64                              derived
    bursts          uid                                 msgpack BurstNote                            truth, local

Deliveries, what follows from them and what tools gave go after a time (prune.py). ``shown`` stays as long as its note: whether a
session was ever shown it decides whether the session's word for it counts.
"""

import hashlib
import struct
from functools import lru_cache
from typing import Final

from memd_daemon.limits import DIGESTS_KNOWN_MAX
from memd_daemon.model.event import Stored

COMMITS: Final = "commits"
EVENTS: Final = "events"
BLOBS: Final = "blobs"
IDS: Final = "ids"
ALIASES: Final = "aliases"
TURNS: Final = "turns"
RAISED: Final = "raised"
SETTINGS: Final = "settings"
UNWANTED: Final = "unwanted"
META: Final = "meta"
VECTORS: Final = "vectors"
UNEMBEDDED: Final = "unembedded"
EVENT_UIDS: Final = "event_uids"
SUBJECTS: Final = "subjects"
TAILS: Final = "tails"
FOLDS: Final = "folds"
KINDS: Final = "kinds"
PATHS: Final = "paths"
ANCHORED: Final = "anchored"
CHILDREN: Final = "children"
ABSORBED: Final = "absorbed"
SLUGS: Final = "slugs"
TURN_REQUESTS: Final = "turn_requests"
TURN_PROMPTS: Final = "turn_prompts"
TURN_SESSIONS: Final = "turn_sessions"

TRUTH: Final = (COMMITS, EVENTS, BLOBS, IDS, ALIASES, TURNS, RAISED, SETTINGS, UNWANTED, META)
REBUILT: Final = (
    UNEMBEDDED, EVENT_UIDS, SUBJECTS, TAILS, FOLDS, KINDS, PATHS, ANCHORED, CHILDREN, ABSORBED, SLUGS,
    TURN_REQUESTS, TURN_PROMPTS, TURN_SESSIONS,
)  # fmt: skip
STORE_TABLES: Final = (*TRUTH, VECTORS, *REBUILT)

CONTEXTS: Final = "contexts"
DELIVERIES: Final = "deliveries"
REQUESTS: Final = "requests"
BY_SESSION: Final = "by_session"
STANDING: Final = "standing"
TURN_NOTES: Final = "turn_notes"
TURN_TOKENS: Final = "turn_tokens"
TURN_HOLDS: Final = "turn_holds"
OPEN_HOLDS: Final = "open_holds"
CLIENTS: Final = "clients"
MOVED: Final = "moved"
ASKED: Final = "asked"
TURN_ASKED: Final = "turn_asked"
SHOWN: Final = "shown"
STALE: Final = "stale"
STALE_NOW: Final = "stale_now"
RESULTS: Final = "results"
RESULTS_BY_SESSION: Final = "results_by_session"
BURSTS: Final = "bursts"

LEDGER_TABLES: Final = (
    CONTEXTS, DELIVERIES, REQUESTS, BY_SESSION, STANDING, TURN_NOTES, TURN_TOKENS, TURN_HOLDS, OPEN_HOLDS, CLIENTS, MOVED,
    ASKED, TURN_ASKED, SHOWN, STALE, STALE_NOW, RESULTS, RESULTS_BY_SESSION, BURSTS,
)  # fmt: skip

KEY_BYTES: Final = {
    COMMITS: 24, EVENTS: 26, BLOBS: 32, IDS: 8, ALIASES: 16, TURNS: 8, EVENT_UIDS: 16, SUBJECTS: 50, TAILS: 16, FOLDS: 16,
    TURN_SESSIONS: 24,
}  # fmt: skip
"""Tables whose keys are all of one length, as drawn above."""

META_FORMAT: Final = b"format"
META_STORE: Final = b"store"
META_ORIGIN: Final = b"origin"
META_HLC: Final = b"hlc"
META_HEAD: Final = b"head"
META_TURN: Final = b"turn"
META_MODEL: Final = b"model"
META_PASSED: Final = b"passed"

KEY_MAX_BYTES: Final = 511
_U64: Final = struct.Struct(">Q")
_U32: Final = struct.Struct(">I")
_PROCESS: Final = struct.Struct(">IQ")
_COMMIT: Final = struct.Struct(">16sQ")
_EVENT: Final = struct.Struct(">16sQH")
_PLACE: Final = struct.Struct(">Q16sQH")

Place = tuple[int, bytes, int, int]


def number(value: int) -> bytes:
    """An id, a turn's number or a count as a key or a value."""
    return _U64.pack(value)


def of_number(key: bytes) -> int:
    """The number in the last eight bytes."""
    return int.from_bytes(key[-_U64.size :], "big")


@lru_cache(DIGESTS_KNOWN_MAX)
def digest16(text: str | bytes) -> bytes:
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return hashlib.sha256(raw).digest()[:16]


def commit_key(origin: bytes, seq: int) -> bytes:
    return _COMMIT.pack(origin, seq)


def of_commit_key(key: bytes) -> tuple[bytes, int]:
    """(origin, seq)."""
    origin, seq = _COMMIT.unpack(key)
    return origin, seq


def event_key(origin: bytes, seq: int, index: int) -> bytes:
    return _EVENT.pack(origin, seq, index)


def of_event_key(key: bytes) -> tuple[bytes, int, int]:
    """(origin, seq, index)."""
    origin, seq, index = _EVENT.unpack(key)
    return origin, seq, index


def place_bytes(place: Place) -> bytes:
    return _PLACE.pack(*place)


def of_place(raw: bytes) -> Place:
    hlc, origin, seq, index = _PLACE.unpack(raw)
    return hlc, origin, seq, index


def subject_key(stored: Stored) -> bytes:
    return stored.event.note + _PLACE.pack(*stored.place)


def place_of_subject_key(key: bytes) -> bytes:
    return key[-_PLACE.size :]


def of_subject_key(key: bytes) -> tuple[bytes, bytes]:
    """(subject, place)."""
    return key[: -_PLACE.size], key[-_PLACE.size :]


def kind_prefix(scope: str, kind: str) -> bytes:
    return kind.encode() + b"\0" + digest16(scope)


def path_prefix(scope: str, path: str) -> bytes:
    return digest16(scope) + digest16(path)


def anchored_prefix(scope: str, digest: bytes) -> bytes:
    return digest16(scope) + digest


def of_anchored_key(key: bytes) -> bytes:
    """The anchor's digest."""
    return key[16 : -_U64.size]


def vector_key(model: str, uid: bytes) -> bytes:
    return digest16(model) + uid


def context_prefix(session: str, agent: str) -> bytes:
    return digest16(session) + digest16(agent)


def epoch_prefix(session: str, agent: str, epoch: int) -> bytes:
    return context_prefix(session, agent) + _U32.pack(epoch)


def turn_prefix(session: str, agent: str, turn: str) -> bytes:
    return context_prefix(session, agent) + digest16(turn)


def process_key(pid: int, started: int) -> bytes:
    return _PROCESS.pack(pid, started)


def moved_prefix(root: str, path: str) -> bytes:
    return digest16(root) + digest16(path)


def tokens_key(session: str, turn: str, trigger: str) -> bytes:
    return digest16(session) + digest16(turn) + digest16(trigger)


def shown_key(uid: bytes, session: str) -> bytes:
    return uid + digest16(session)


def stale_key(uid: bytes, root: str) -> bytes:
    return uid + digest16(root)


def after(prefix: bytes) -> bytes:
    """The first key that sorts behind every key with this prefix; b"" where there is none."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else b""
