"""A person's proof: enrolment, and plans that wait for a signature (trust-boundary.md, "Proof of a person").

A plan holds the very bytes that will be stored. The client shows them, signs, and sends the signatures back under the plan's
token; the daemon verifies and writes. Nothing is recorded by asking for a plan, and there is no unlocked state here.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from memd_client import api, signing
from memd_daemon import errors, limits
from memd_daemon.model import event as ev
from memd_daemon.model.words import Surface
from memd_daemon.service.asker import Asker, system
from memd_daemon.service.parts import Parts
from memd_daemon.store.port import Snapshot, Txn

Finish = Callable[[list[bytes]], api.Sealed]

KEY_IN_USE: Final = "person/key"
"""The setting that names the key id enrolled on this machine."""


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


def key_in_use(snapshot: Snapshot) -> bytes:
    """The id of the enrolled key. Raises NoKey."""
    key_id = snapshot.setting(KEY_IN_USE)
    if key_id is None or snapshot.enrolled(key_id) is None:
        raise errors.NoKey
    return key_id


class PlanBook:
    """Plans that wait; each is used once and none lives long. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[bytes, tuple[int, list[SignedAct], bytes, Finish]] = {}

    def open(self, parts: Parts, acts: Sequence[SignedAct], key_id: bytes, finish: Finish) -> api.Plan:
        """A plan of these acts; ``finish`` gets the signatures and writes."""
        now = parts.now_ms()
        token = parts.chance(limits.SALT_BYTES)
        with self._lock:
            self._waiting = {t: w for t, w in self._waiting.items() if w[0] > now}
            self._waiting[token] = (now + limits.PLAN_LIFE_MS, list(acts), key_id, finish)
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
            expires, acts, key_id, finish = self._waiting.pop(request.token, (0, [], b"", None))
        if finish is None or expires < parts.now_ms() or len(request.signatures) != len(acts):
            raise errors.BadSignature
        with parts.store.read() as snapshot:
            public = snapshot.enrolled(key_id)
        for act, signature in zip(acts, request.signatures, strict=True):
            digest = signing.signed_digest(parts.store.info.store, act.body, act.digest, act.revision)
            if public is None or not signing.verify(public, digest, signature):
                raise errors.BadSignature
        return finish(request.signatures)


def enrol(parts: Parts, request: api.Enrol, asker: Asker) -> api.EnrolReply:
    """Enrols the first key of this store, or says what is enrolled. Raises KeyKnown, BadRequest for what is no key."""
    with parts.store.read() as snapshot:
        known = snapshot.setting(KEY_IN_USE)
        public = snapshot.enrolled(known) if known else None
    if not request.public:
        return _enrolled(parts, public)
    if public is not None:
        raise errors.KeyKnown(signing.fingerprint(public))
    if any(len(key) != signing.PUBLIC_BYTES for key in (request.public, request.recovery_public)):
        raise errors.BadRequest("a public key has 32 bytes, and so has that of the recovery code")
    key_id = signing.key_id_of(request.public)
    payload = ev.KeyEnrolled(
        key_id=key_id,
        public=request.public,
        recovery_public=request.recovery_public,
        terminal=parts.redact(request.terminal)[: limits.LINE_MAX_CHARS],
    )

    def work(txn: Txn) -> None:
        if txn.setting(KEY_IN_USE) is not None:
            raise errors.KeyKnown("enrolled a moment ago")
        draft = parts.draft("key_enrolled", parts.store.info.store, payload, asker=system(Surface.CLI))
        txn.append([draft], at=parts.now_ms())
        txn.put_setting(KEY_IN_USE, key_id)

    parts.store.write(work)
    return _enrolled(parts, request.public)


def _enrolled(parts: Parts, public: bytes | None) -> api.EnrolReply:
    told = [signing.fingerprint(public)] if public else []
    return api.EnrolReply(store=parts.store.info.store, enrolled=told)
