"""The note as its events have made it: the value that `fold` computes (model.md, sections 1 and 2).

Free text is not here: ``content``, ``summary`` and reasons are blob digests. The encoding is deterministic, so that a cached
fold can be compared byte for byte with a fold from the log.
"""

from typing import Final

import msgspec

from memd_daemon.model.event import Anchor, Evidence, Source
from memd_daemon.model.ids import NO_UID


class Revision(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One wording of the note; only curated notes get more than one."""

    content: bytes
    summary: bytes
    provenance: str
    at: int
    event: bytes
    key_id: bytes = b""  # who endorsed this wording
    reason: bytes = b""  # blob: what changed and why; b"" for the first wording where none was given


class Revocation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    event: bytes
    at: int
    reason: bytes = b""
    by: bytes = NO_UID
    actor: str = "agent"
    signed: bool = False


class Reinstatement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    at: int
    actor: str
    signed: bool = False
    revoked_by_person_at: int = 0  # 0: the revocation it lifted was not signed


class Proposal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A wish that waits for a person: the first of those for one act and one other note, whose reasons the log has."""

    event: bytes
    act: str
    at: int
    reason: bytes = b""
    by: bytes = NO_UID
    times: int = 1


class ReviewFlag(msgspec.Struct, frozen=True, kw_only=True):
    ancestor: bytes
    cause: bytes
    what: str
    at: int


class Note(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A claim and all that has happened to it."""

    uid: bytes
    kind: str
    priority: str
    source: Source
    scope: str
    under: str = ""
    scope_signed: bool = False  # a person signed that it holds there
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
    session: str = ""
    agent: str = ""
    turn: int = 0
    harness: str = ""
    surface: str = ""
    actor: str = ""
    created_at: int
    last_confirmed_at: int = 0  # 0: never
    person_confirmed_at: int = 0
    valid_until: int = 0  # 0: open
    revisions: tuple[Revision, ...]
    belief: str = "held"
    revocations: tuple[Revocation, ...] = ()  # of the present revocation, first one first
    past_revocations: tuple[Revocation, ...] = ()
    reinstated: Reinstatement | None = None
    currency: str = "current"
    superseded_by: bytes = NO_UID
    absorbed_by: bytes = NO_UID
    shelf: str = "active"
    task: str = ""  # "" unless kind is task
    forgotten: bool = False
    proposals: tuple[Proposal, ...] = ()
    flags: tuple[ReviewFlag, ...] = ()
    conflicts: tuple[bytes, ...] = ()  # notes with which a conflict is open
    demoted: tuple[bytes, ...] = ()  # notes with which a conflict was settled against both sides
    corroborations: tuple[bytes, ...] = ()
    heads: tuple[bytes, ...]  # events that no other event names as parent
    events: int

    @property
    def revision(self) -> int:
        """The number of the newest wording, from 1."""
        return len(self.revisions)

    @property
    def shown(self) -> Revision:
        """The wording that renders: the newest endorsed one if there is one, else the newest."""
        endorsed = [r for r in self.revisions if r.provenance == "human"]
        return (endorsed or list(self.revisions))[-1]

    @property
    def wordings(self) -> list[tuple[int, bytes, bytes]]:
        """(its place among the revisions, uid of what brought it, content) of each different wording, the first one first.

        The note is found by all of them; the first belongs to the note's own uid, a further one to that of its event.
        """
        found: dict[bytes, tuple[int, bytes, bytes]] = {}
        for place, one in enumerate(self.revisions):
            found.setdefault(one.content, (place, one.event if place else self.uid, one.content))
        return list(found.values())

    @property
    def provenance(self) -> str:
        """The class of the wording that renders."""
        return self.shown.provenance

    @property
    def revoked(self) -> bool:
        return self.belief == "revoked"

    @property
    def live(self) -> bool:
        """Whether the note is in the working set: a tombstone always, another note while it is current and active."""
        return not self.forgotten and (self.revoked or (self.currency == "current" and self.shelf == "active"))


_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(Note)


def encode_note(note: Note) -> bytes:
    return _encoder.encode(note)


def decode_note(stored: bytes) -> Note:
    return _decoder.decode(stored)
