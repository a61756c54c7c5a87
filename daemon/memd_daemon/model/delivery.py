"""Deliveries: what memd offered to a context, when and why (delivery.md). Local.

A **context** is one (session, agent) from its start, clear or compaction to the next: ``epoch`` counts those. The ledger is keyed
(session, agent, epoch, turn, note, rendering digest, state).
"""

import hashlib
from enum import StrEnum
from typing import Final

import msgspec

from memd_daemon.model.ids import UID_BYTES

NOTICES_UID: Final = hashlib.sha256(b"memd/notices").digest()[:UID_BYTES]
"""Stands among the notes of a delivery for memd's own lines that were in it (service/notices.py); no note's, since no UUIDv7."""


POLICY_UID: Final = hashlib.sha256(b"memd/policy").digest()[:UID_BYTES]
"""Likewise for the standing rules of policy files (service/policy.py)."""


class DeliveryState(StrEnum):
    OFFERED = "offered"  # sent; no receipt yet, so it is still owed
    DELIVERED = "delivered"


class DeliveredNote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    uid: bytes
    id: int
    digest: bytes  # 16 bytes of SHA-256 over the rendered text with its status word left out where it does not count
    tokens: int


class LeftOut(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    uid: bytes
    id: int
    rule: str


class Delivery(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One answer of a hook."""

    request: bytes
    at: int  # UTC, Unix milliseconds
    trigger: str
    harness: str
    session: str
    agent: str = ""
    epoch: int = 0
    turn: str = ""
    repo: str = ""
    state: str = DeliveryState.OFFERED
    held: bool = False  # the edit was held back
    bundle: bool = False  # the start bundle that this context was owed is in it
    notes: tuple[DeliveredNote, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    tokens: int = 0
    vectors: str = ""  # "full", "table" or "" where none were used


class Context(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of one (session, agent)."""

    session: str
    agent: str = ""
    harness: str = ""
    epoch: int = 0
    turn: str = ""  # the harness's prompt id, else the count as text
    turns: int = 0
    bundle: str = "owed"  # of this epoch's start bundle: owed, offered, delivered, none
    bundle_trigger: str = "session-start"
    repo: str = ""
    started_at: int = 0
    last_at: int = 0
    ended: bool = False
    entry_point: str = ""
    with_person: bool = True
    client_pid: int = 0  # the client process that this context lives in; 0: not known
    client_started: int = 0  # when it started, in clock ticks of the system
    read: tuple[str, ...] = ()  # paths in the repository, the latest last
    edited: tuple[str, ...] = ()
