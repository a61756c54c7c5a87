"""Which keys a person has or had in this store, and what each of them signed, for people (trust-boundary.md, "Enrolment").

Only enrolments and rejections that the identity log accepts are told: what somebody wrote into the store's file is not. What a key
signed before it was rejected stands, so that is listed for a person to look at, and to take back.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from memd_client import api, signing
from memd_daemon import limits
from memd_daemon.model import event as ev
from memd_daemon.model.event import Stored
from memd_daemon.model.trust import Enrolment
from memd_daemon.model.words import Provenance
from memd_daemon.service.explain import iso
from memd_daemon.service.parts import Parts
from memd_daemon.store.port import Snapshot


class RecentEnrolment(msgspec.Struct, frozen=True, kw_only=True):
    """A key that was enrolled a short while ago, as a session's start tells it. ``at_ms``: UTC, Unix milliseconds."""

    fingerprint: str
    at_ms: int
    terminal: str
    rejected: bool


class Enrolled(msgspec.Struct, frozen=True, kw_only=True):
    """One stretch in which a key counts, for people. ``by`` and ``rejected_by`` name who signed it; 0 and "" while it stands."""

    key_id: bytes
    public: bytes
    terminal: str
    at_ms: int
    by: str
    rejected_ms: int = 0
    rejected_by: str = ""

    @property
    def fingerprint(self) -> str:
        return signing.fingerprint(self.public)


ITSELF: Final = "itself"
CODE: Final = "a recovery code"


def enrolments(snapshot: Snapshot, store: bytes) -> list[Enrolled]:
    """Every enrolment of the identity log that counts, first one first, with the rejection that ended it."""
    accepted = snapshot.identity().accepted
    found: list[Enrolled] = []
    for stored in snapshot.events_of(store):
        payload = ev.payload_of(stored.event) if stored.event.uid in accepted else None
        at, signer = stored.event.at, stored.event.key_id
        if isinstance(payload, ev.KeyEnrolled):
            by = ITSELF if signer in (b"", payload.key_id) else _named(signer, found)
            found.append(
                Enrolled(key_id=payload.key_id, public=payload.public, terminal=payload.terminal, at_ms=at, by=by)
            )
        elif isinstance(payload, ev.KeyRejected):
            by = _named(signer, found)
            found = [_ended(one, at, by) if one.key_id == payload.key_id else one for one in found]
    return found


def _named(signer: bytes, known: Sequence[Enrolled]) -> str:
    return next((one.fingerprint for one in known if one.key_id == signer), CODE)


def _ended(one: Enrolled, at_ms: int, by: str) -> Enrolled:
    return one if one.rejected_ms else msgspec.structs.replace(one, rejected_ms=at_ms, rejected_by=by)


def recent_enrolments(parts: Parts, snapshot: Snapshot, now_ms: int) -> list[RecentEnrolment]:
    """The enrolments of the last days (limits.ENROLMENT_TOLD_DAYS) that count, first one first."""
    since = now_ms - limits.ENROLMENT_TOLD_DAYS * limits.TIME_MS_PER_DAY
    return [
        RecentEnrolment(
            fingerprint=one.fingerprint, at_ms=one.at_ms, terminal=one.terminal, rejected=one.rejected_ms > 0
        )
        for one in enrolments(snapshot, parts.store.info.store)
        if one.at_ms >= since
    ]


def keys_out(snapshot: Snapshot, store: bytes, *, with_acts: bool) -> list[api.KeyOut]:
    """Every enrolment that counts, first one first. ``with_acts``: with what it signed, which looks at every event there is."""
    signed = sorted(snapshot.signed_events(), key=lambda s: s.place) if with_acts else []
    stretches = zip(enrolments(snapshot, store), snapshot.identity().enrolments, strict=True)
    return [_key_out(snapshot, one, [s for s in signed if _made_by(stretch, s)]) for one, stretch in stretches]


def _made_by(stretch: Enrolment, stored: Stored) -> bool:
    return stored.event.key_id == stretch.key_id and stretch.stands_at(stored.place)


def _key_out(snapshot: Snapshot, one: Enrolled, signed: Sequence[Stored]) -> api.KeyOut:
    return api.KeyOut(
        fingerprint=one.fingerprint,
        at=iso(one.at_ms),
        terminal=one.terminal,
        by=one.by,
        rejected=iso(one.rejected_ms),
        rejected_by=one.rejected_by,
        acts=[
            api.KeyActOut(type=s.event.type, id=snapshot.id_of(s.event.note) or 0, at=iso(s.event.at)) for s in signed
        ],
        endorses=sorted({snapshot.id_of(s.event.note) or 0 for s in signed if _still_endorses(snapshot, s)}),
    )


def _still_endorses(snapshot: Snapshot, stored: Stored) -> bool:
    """Whether it is this signature that makes the note `human` today."""
    payload = ev.payload_of(stored.event)
    note = snapshot.note(stored.event.note)
    if not isinstance(payload, ev.Promoted) or note is None or note.forgotten or note.revoked:
        return False
    return note.provenance == Provenance.HUMAN and note.shown.content == payload.content
