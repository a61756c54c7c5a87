"""A person's proof: enrolment, and plans that wait for a signature (trust-boundary.md, "Proof of a person").

A plan holds the very bytes that will be stored. The client shows them, signs, and sends the signatures back under the plan's
token; the daemon verifies and writes. Nothing is recorded by asking for a plan, and there is no unlocked state here.
"""

import os
import threading
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from memd_client import api, signing, terminal
from memd_daemon import errors, limits
from memd_daemon.model import event as ev
from memd_daemon.model.ids import uid_text
from memd_daemon.model.trust import NO_CONTENT, is_public_key
from memd_daemon.model.words import Surface
from memd_daemon.service.asker import system
from memd_daemon.service.clients import ancestors, process
from memd_daemon.service.parts import Parts
from memd_daemon.store.check import verify as check_store
from memd_daemon.store.port import Draft, Snapshot, Txn

Finish = Callable[[list[bytes]], api.Sealed]


class SignedAct(msgspec.Struct, frozen=True, kw_only=True):
    """An event whose signature is asked for, and what the signature is bound to."""

    body: bytes
    content: str
    salt: bytes
    digest: bytes
    revision: int
    act: str
    id: int
    change: str
    kind: str
    scope: str
    priority: str
    reason: str = ""
    reason_salt: bytes = b""


class Waiting(NamedTuple):
    """A plan until it is sealed. ``public``: the key that seals it, where that is not enrolled yet."""

    expires_ms: int
    acts: list[SignedAct]
    key_id: bytes
    public: bytes
    finish: Finish


class RecentEnrolment(msgspec.Struct, frozen=True, kw_only=True):
    """A key that was enrolled a short while ago, as a session's start tells it. ``at_ms``: UTC, Unix milliseconds."""

    fingerprint: str
    at_ms: int
    terminal: str
    rejected: bool


class Enrolled(msgspec.Struct, frozen=True, kw_only=True):
    """One stretch in which a key counts, for people. ``rejected_ms``: 0 while it stands."""

    key_id: bytes
    public: bytes
    terminal: str
    at_ms: int
    rejected_ms: int = 0

    @property
    def fingerprint(self) -> str:
        return signing.fingerprint(self.public)


def enrolments(snapshot: Snapshot, store: bytes) -> list[Enrolled]:
    """Every enrolment of the identity log that counts, first one first, with the rejection that ended it."""
    accepted = snapshot.identity().accepted
    found: list[Enrolled] = []
    for stored in snapshot.events_of(store):
        payload = ev.payload_of(stored.event) if stored.event.uid in accepted else None
        if isinstance(payload, ev.KeyEnrolled):
            at = stored.event.at
            found.append(Enrolled(key_id=payload.key_id, public=payload.public, terminal=payload.terminal, at_ms=at))
        elif isinstance(payload, ev.KeyRejected):
            found = [_ended(one, payload.key_id, stored.event.at) for one in found]
    return found


def _ended(one: Enrolled, key_id: bytes, at_ms: int) -> Enrolled:
    ends = one.key_id == key_id and not one.rejected_ms
    return msgspec.structs.replace(one, rejected_ms=at_ms) if ends else one


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


def key_in_use(snapshot: Snapshot) -> bytes:
    """The id of the enrolled key, by the identity log. Raises NoKey."""
    key_id = snapshot.key_in_use()
    if key_id is None:
        raise errors.NoKey
    return key_id


class PlanBook:
    """Plans that wait; each is used once and none lives long. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[bytes, Waiting] = {}

    def open(
        self, parts: Parts, acts: Sequence[SignedAct], key_id: bytes, finish: Finish, *, public: bytes = b""
    ) -> api.Plan:
        """A plan of these acts; ``finish`` gets the signatures and writes. ``public``: of a key that is not enrolled yet."""
        now = parts.now_ms()
        token = parts.chance(limits.SALT_BYTES)
        with self._lock:
            self._waiting = {t: w for t, w in self._waiting.items() if w.expires_ms > now}
            self._waiting[token] = Waiting(now + limits.PLAN_LIFE_MS, list(acts), key_id, public, finish)
        return api.Plan(
            token=token,
            store=parts.store.info.store,
            key_id=key_id,
            events=[
                api.PlanEvent(
                    body=a.body,
                    content=a.content,
                    content_salt=a.salt,
                    content_digest=a.digest,
                    revision=a.revision,
                    act=a.act,
                    id=a.id,
                    change=a.change,
                    kind=a.kind,
                    scope=a.scope,
                    priority=a.priority,
                    reason=a.reason,
                    reason_salt=a.reason_salt,
                )
                for a in acts
            ],
        )

    def seal(self, parts: Parts, request: api.Seal) -> api.Sealed:
        """Checks the signatures and carries the plan out. Raises BadSignature; the plan is gone either way."""
        with self._lock:
            plan = self._waiting.pop(request.token, None)
        if plan is None or plan.expires_ms < parts.now_ms() or len(request.signatures) != len(plan.acts):
            raise errors.BadSignature
        with parts.store.read() as snapshot:
            public = plan.public or snapshot.enrolled(plan.key_id)
        for act, signature in zip(plan.acts, request.signatures, strict=True):
            digest = signing.signed_digest(parts.store.info.store, act.body, act.digest, act.revision)
            if not public or not signing.verify(public, digest, signature):
                raise errors.BadSignature
        return plan.finish(request.signatures)


def refuse_driven(pid: int, names: Collection[str]) -> None:
    """Raises EnrolledByPerson where the process that asks stands under an agent's client or has no terminal.

    A hindrance, not a proof (SECURITY.md). Linux alone says who asks; there a process that cannot be looked at is refused.
    ``names``: process names of the clients.
    """
    if process(os.getpid()) is None:
        return  # a system without /proc
    peer = process(pid)
    above = [p.name for p in (*((peer,) if peer else ()), *ancestors(pid))]
    programs = [part for _, name, program in terminal.ancestors(pid) for part in (name, program) if part]
    reason = terminal.under_harness(_environment(pid), [*above, *programs])
    reason = reason or next((f"it runs under {name}" for name in above if name in names), None)
    if reason is not None:
        raise errors.EnrolledByPerson(f"this looks like an agent's shell ({reason})")
    if peer is None or not peer.terminal:
        raise errors.EnrolledByPerson("the process that asks has no terminal")


def _environment(pid: int) -> dict[str, str]:
    """What the process was started with."""
    try:
        told = Path(f"/proc/{pid}/environ").read_bytes().decode("utf-8", "replace")
    except OSError:
        return {}
    return {name: value for name, _, value in (one.partition("=") for one in told.split("\0"))}


def enrol(parts: Parts, plans: PlanBook, request: api.Enrol) -> api.EnrolReply:
    """What is enrolled; for a first key the plan of its enrolment, which it signs itself.

    Raises KeyKnown where one is enrolled, BadRequest for what is no key. Sealing the plan raises KeyKnown as well, and StoreDamaged
    where the log is not whole: what is missing may be the enrolment of somebody else.
    """
    with parts.store.read() as snapshot:
        known = snapshot.key_in_use()
        public = snapshot.enrolled(known) if known else None
    if not request.public or public is not None:
        if request.public and public is not None:
            raise errors.KeyKnown(signing.fingerprint(public))
        told = [signing.fingerprint(public)] if public else []
        return api.EnrolReply(store=parts.store.info.store, enrolled=told)
    if not all(is_public_key(key) for key in (request.public, request.recovery_public)):
        raise errors.BadRequest(
            "a public key is 32 bytes that stand for a point of Ed25519, and so is the recovery code's"
        )
    return api.EnrolReply(store=parts.store.info.store, enrolled=[], plan=_enrolment(parts, plans, request))


def _enrolment(parts: Parts, plans: PlanBook, request: api.Enrol) -> api.Plan:
    key_id = signing.key_id_of(request.public)
    payload = ev.KeyEnrolled(
        key_id=key_id,
        public=request.public,
        recovery_public=request.recovery_public,
        terminal=parts.redact(request.terminal)[: limits.LINE_MAX_CHARS],
    )
    event = parts.event("key_enrolled", parts.store.info.store, payload, asker=system(Surface.CLI), key_id=key_id)
    body = ev.encode_event(event)
    content, revision = NO_CONTENT
    act = SignedAct(
        body=body,
        content="",
        salt=b"",
        digest=content,
        revision=revision,
        act="enrol",
        id=0,
        change="",
        kind="",
        scope="",
        priority="",
    )

    def finish(signatures: list[bytes]) -> api.Sealed:
        refuse_unsound(parts)

        def work(txn: Txn) -> None:
            if txn.key_in_use() is not None:
                raise errors.KeyKnown("enrolled a moment ago")
            txn.append([Draft(body=body, sig=signatures[0])], at=parts.now_ms())

        parts.store.write(work)
        return api.Sealed(id=0, uid=uid_text(event.uid))

    return plans.open(parts, [act], key_id, finish, public=request.public)


def refuse_unsound(parts: Parts) -> None:
    """Raises StoreDamaged where the log itself is not whole, or signed by keys that nobody enrolled."""
    found = next((fault for fault in check_store(parts.store) if not fault.derived), None)
    if found is not None:
        raise errors.StoreDamaged(f"{found.where} {found.what}, so no key can be enrolled")
