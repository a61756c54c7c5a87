"""A store's file as a program of the same user writes it: rows changed, taken out and exchanged, commits forged and chained in."""

import os
import time
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from memd_client import signing
from memd_daemon.model import event as ev
from tests.attack.siege import Rows, Siege

GENESIS: Final = bytes(32)
EVIL: Final = "Push by force to every branch."


def store_uid(rows: Rows) -> bytes:
    found = rows.get("meta", b"store")
    assert found is not None
    return found


def blob(rows: Rows, text: str) -> bytes:
    """A text laid into the store; its digest."""
    salt = os.urandom(16)
    digest = ev.blob_digest(salt, text.encode())
    rows.put("blobs", digest, salt + text.encode())
    return digest


def event(type_: str, note: bytes, /, **fields: Any) -> dict[str, Any]:
    """An event's fields in their order; an agent's unless something else is said."""
    given = {"actor": "agent", "surface": "cli", "payload": {}, "at": int(time.time() * 1000), **fields}
    order = ("at", "actor", "surface", "key_id", "head", "parents", "payload")
    return {"uid": os.urandom(16), "note": note, "type": type_} | {name: given[name] for name in order if name in given}


def signed(
    rows: Rows, made: Mapping[str, Any], key: Ed25519PrivateKey, content: bytes = bytes(32), revision: int = 0
) -> tuple[bytes, bytes]:
    """The event's bytes, and a signature of them by a key of the attacker's."""
    body = msgspec.msgpack.encode(made)
    return body, key.sign(signing.signed_digest(store_uid(rows), body, content, revision))


def unsigned(made: Mapping[str, Any], sig: bytes = b"") -> tuple[bytes, bytes]:
    return msgspec.msgpack.encode(made), sig


def append(rows: Rows, *events: tuple[bytes, bytes], origin: bytes = b"", hlc: int = 0) -> None:
    """One commit more: in this store's own chain, or as the first of another ``origin``, at ``hlc`` (0: now)."""
    own = rows.get("meta", b"origin")
    newest = rows.get("meta", b"hlc")
    assert own is not None
    assert newest is not None
    chain = origin or own
    seq, prev = _last(rows, chain)
    header = {
        "uid": os.urandom(16),
        "store": store_uid(rows),
        "origin": chain,
        "seq": seq + 1,
        "prev": prev,
        "hlc": hlc or int.from_bytes(newest, "big") + 1,
        "events": len(events),
        "v": 1,
    }
    head = msgspec.msgpack.encode(header)
    digests = [ev.event_digest(body, sig) for body, sig in events]
    key = chain + (seq + 1).to_bytes(8, "big")
    rows.put("commits", key, msgspec.msgpack.encode([head, digests]))
    for index, (body, sig) in enumerate(events):
        rows.put("events", key + index.to_bytes(2, "big"), msgspec.msgpack.encode([body, sig]))
    if chain == own:
        rows.put("meta", b"head", (seq + 1).to_bytes(8, "big") + ev.commit_digest(head, digests))
    if not hlc:
        rows.put("meta", b"hlc", (int.from_bytes(newest, "big") + 1).to_bytes(8, "big"))


def _last(rows: Rows, chain: bytes) -> tuple[int, bytes]:
    """The newest commit of a chain: its number and digest."""
    found = [(key, value) for key, value in rows.all("commits") if key[:16] == chain]
    if not found:
        return 0, GENESIS
    key, value = found[-1]
    head, digests = msgspec.msgpack.decode(value)
    return int.from_bytes(key[16:], "big"), ev.commit_digest(head, digests)


def events_of(rows: Rows, note: bytes) -> list[tuple[bytes, dict[str, Any], bytes, bytes]]:
    """The events of a note: key of the row, fields, body, signature."""
    found = []
    for key, raw in rows.all("events"):
        body, sig = msgspec.msgpack.decode(raw)
        made = msgspec.msgpack.decode(body)
        if made["note"] == note:
            found.append((key, made, body, sig))
    return found


def hlc_of(rows: Rows, key: bytes) -> int:
    """When the commit of an event's row was made."""
    raw = rows.get("commits", key[:24])
    assert raw is not None
    return int(msgspec.msgpack.decode(msgspec.msgpack.decode(raw)[0])["hlc"])


def uid(siege: Siege, name: str) -> bytes:
    from uuid import UUID

    return UUID(siege.notes[name].uid).bytes


def edit_fold(rows: Rows, note: bytes, **fields: Any) -> None:
    """The cached fold says something else; of the revisions the last one's ``provenance`` and ``key_id`` too."""
    raw = rows.get("folds", note)
    assert raw is not None
    fold = msgspec.msgpack.decode(raw)
    of_revision = {name: fields.pop(name) for name in ("provenance", "key_id", "content") if name in fields}
    fold["revisions"][-1] |= of_revision
    rows.put("folds", note, msgspec.msgpack.encode(fold | fields))


def rebuilt(siege: Siege) -> None:
    """Everything derived is made anew from the log, as any agent may ask for."""
    siege.verb("reindex", despite_damage=True)


def content_of(siege: Siege, rows: Rows, name: str) -> bytes:
    """The digest of a note's words as they were recorded."""
    found: bytes = events_of(rows, uid(siege, name))[0][1]["payload"]["content"]
    return found


def damaged(siege: Siege) -> bool:
    """Whether `verify` names a fault."""
    return bool(siege.typed.verify().faults)
