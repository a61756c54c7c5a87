"""Deliveries: what memd told a context, when and why (delivery.md). Local.

A **context** is one (session, agent) from its start, clear or compaction to the next: ``epoch`` counts those. The ledger is keyed
(session, agent, epoch, turn, note, rendering digest, state).

What comes with a hook is **offered**, and delivered once its receipt is there. What somebody **asked** for (a recall, a note shown)
is an answer of another kind: it was shown to who asked, and changes nothing of what hooks tell.
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

NO_NOTES: Final = frozenset({NOTICES_UID, POLICY_UID})


class DeliveryState(StrEnum):
    OFFERED = "offered"  # sent; no receipt yet, so it is still owed
    DELIVERED = "delivered"
    ASKED = "asked"  # the answer to a question; nobody says whether it arrived


class DeliveredNote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    uid: bytes
    id: int
    digest: bytes  # 16 bytes of SHA-256 over the rendered text with its status word left out where it does not count
    tokens: int


class LeftOut(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    uid: bytes
    id: int
    rule: str


class HoldOutcome(StrEnum):
    """What came of an edit that was held back once."""

    OPEN = "open"  # nothing yet, and its turn goes on
    REPEATED = "repeated"  # the very same call again
    CHANGED = "changed"  # another edit of that file
    ABANDONED = "abandoned"  # its turn or its session ended without either


class Hold(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An edit that was held back: one in a turn of an agent. What the edit was stands nowhere, but a digest to know it again by."""

    at: int  # UTC, Unix milliseconds
    session: str
    agent: str = ""
    turn: str = ""
    repo: str = ""
    paths: tuple[str, ...] = ()
    call: bytes = b""  # 16 bytes of SHA-256 over the tool's name and its input
    notes: tuple[bytes, ...] = ()  # uids of the notes that it was held for
    outcome: str = HoldOutcome.OPEN
    settled_at: int = 0


class Delivery(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One answer of a hook, or to a question."""

    request: bytes  # of a hook; b"" for a question
    at: int  # UTC, Unix milliseconds
    trigger: str  # the moment, or what was asked: recall, show, trace, decisions, list, stale, remember, revise
    harness: str
    session: str
    agent: str = ""
    epoch: int = 0
    turn: str = ""
    repo: str = ""
    state: str = DeliveryState.OFFERED
    event: bytes = b""  # tells the event from others of its session (twins.py), 16 bytes; b"" where nothing does
    held: bool = False  # the edit was held back
    hold: Hold | None = None  # as it began; what came of it is the ledger's to tell
    bundle: bool = False  # the start bundle that this context was owed is in it
    bundle_trigger: str = ""  # the moment that bundle was owed from, and what it cost of ``tokens``
    bundle_tokens: int = 0
    notes: tuple[DeliveredNote, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    over: tuple[bytes, ...] = ()  # what is over and memd's own lines in it tell a person of (service/notices.py)
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
    bundle: str = "owed"  # of this epoch's start bundle: owed, offered, delivered; part-… of one that a silence keeps back in part
    bundle_trigger: str = "session-start"
    bundle_at: int = 0  # when it was offered last
    repo: str = ""
    started_at: int = 0
    last_at: int = 0
    ended: bool = False
    entry_point: str = ""
    with_person: bool = True
    continues: tuple[
        str, ...
    ] = ()  # sessions it was forked from, or came after in its client by a clear; the nearest first
    client_pid: int = 0  # the client process that this context lives in; 0: not known
    client_started: int = 0  # when it started, in clock ticks of the system
    read: tuple[str, ...] = ()  # paths in the repository, the latest last
    edited: tuple[str, ...] = ()
    read_elsewhere: tuple[tuple[str, str], ...] = ()  # (scope of another repository, path in it), the latest last
    edited_elsewhere: tuple[tuple[str, str], ...] = ()
    above: tuple[tuple[int, int], ...] = ()  # the client processes that its own was started from: (pid, started)
    carried: bool = False  # it began with a conversation that memd had not heard of: a resume, a fork
