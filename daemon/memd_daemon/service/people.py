"""A person's proof: enrolment, and plans that wait for a signature (trust-boundary.md, "Proof of a person").

A plan holds the very bytes that will be stored. The client shows them, signs, and sends the signatures back under the plan's
token; the daemon verifies and writes. Nothing is recorded by asking for a plan, and there is no unlocked state here.
"""

import os
import threading
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from memd_client import api, signing, terminal
from memd_daemon import errors, limits
from memd_daemon.model import event as ev
from memd_daemon.model.ids import uid_text
from memd_daemon.model.trust import NO_CONTENT, Identity, is_public_key
from memd_daemon.model.words import Surface
from memd_daemon.service.asker import system
from memd_daemon.service.clients import PEER, ancestors, process
from memd_daemon.service.enrolments import RecentEnrolment as RecentEnrolment
from memd_daemon.service.enrolments import keys_out
from memd_daemon.service.enrolments import recent_enrolments as recent_enrolments
from memd_daemon.service.parts import Parts
from memd_daemon.service.repos import path_of
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
    """A plan until it is sealed. ``peer``: the pid of who asked for it; ``public``: the key that seals it, where that is not yet
    enrolled."""

    peer: int
    expires_ms: int
    acts: list[SignedAct]
    key_id: bytes
    public: bytes
    finish: Finish


def key_in_use(parts: Parts, snapshot: Snapshot) -> bytes:
    """The id of the key that signs here: of those that stand the newest whose file lies in this home, else the newest of all.

    Raises NoKey.
    """
    standing = [one.key_id for one in snapshot.identity().standing()]
    if not standing:
        raise errors.NoKey
    return next((key_id for key_id in standing if Path(signing.key_path(parts.home, key_id)).is_file()), standing[0])


class PlanBook:
    """Plans that wait; each is used once and none lives long. Safe to use from any thread.

    There is room for so many (limits.PLANS_WAITING_MAX). Where one more comes, the process that holds the most loses its oldest: so
    whoever asks for plans without end takes none away from a person who types a passphrase meanwhile.
    """

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
            self._waiting[token] = Waiting(PEER.get(), now + limits.PLAN_LIFE_MS, list(acts), key_id, public, finish)
            if len(self._waiting) > limits.PLANS_WAITING_MAX:
                self._make_room()
        with parts.store.read() as snapshot:
            names = {scope: path_of(snapshot, scope) for scope in {a.scope for a in acts} if scope.startswith("repo:")}
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
                    scope_name=names.get(a.scope, ""),
                    reason=a.reason,
                    reason_salt=a.reason_salt,
                )
                for a in acts
            ],
        )

    def _make_room(self) -> None:
        (greediest, _), *_ = Counter(w.peer for w in self._waiting.values()).most_common(1)
        del self._waiting[next(token for token, w in self._waiting.items() if w.peer == greediest)]

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


class Signer(NamedTuple):
    """Who signs what happens to keys, and the log as it is shown to him: its newest commit, and every chain's."""

    public: bytes
    head: bytes
    chains: tuple[tuple[bytes, int], ...]


def enrol(parts: Parts, plans: PlanBook, request: api.Enrol) -> api.EnrolReply:
    """Which keys there are; where one is to be enrolled or rejected, the plan of that, to be signed by ``request.signer``.

    The first key signs its own enrolment. Raises KeyKnown for a further one that signs itself, and for one that stands already,
    SignerUnknown, NoSuchKey, BadRequest for what is no key. Sealing raises StoreDamaged for an enrolment where the log is not
    whole: what is missing may be the enrolment of somebody else, or a rejection.
    """
    with parts.store.read() as snapshot:
        identity = snapshot.identity()
        by = Signer(request.signer or request.public, snapshot.head(), tuple(snapshot.chains()))
        keys = keys_out(snapshot, parts.store.info.store, with_acts=request.acts)
    standing = [one.public for one in identity.standing()]
    told = api.EnrolReply(
        store=parts.store.info.store,
        enrolled=[signing.fingerprint(public) for public in standing],
        keys=keys,
        recovery=list(identity.recovery_now()),
    )
    if not request.public and not request.rejects:
        return told
    _refuse_key_act(identity, request, by.public)
    drafted = [*_enrolment(parts, request, by), *(_rejection(parts, one, by) for one in request.rejects)]
    is_first = not identity.enrolments

    def finish(signatures: list[bytes]) -> api.Sealed:
        if request.public:
            refuse_unsound(parts)

        def work(txn: Txn) -> None:
            if is_first and txn.identity().enrolments:
                raise errors.KeyKnown("enrolled a moment ago")
            drafts = [Draft(body=act.body, sig=sig) for act, sig in zip(drafted, signatures, strict=True)]
            txn.append(drafts, at=parts.now_ms())

        parts.store.write(work)
        return api.Sealed(id=0, uid=uid_text(ev.decode_event(drafted[0].body).uid))

    plan = plans.open(parts, drafted, signing.key_id_of(by.public), finish, public=by.public)
    return msgspec.structs.replace(told, plan=plan)


def _refuse_key_act(identity: Identity, request: api.Enrol, signer: bytes) -> None:
    standing = {one.public: one.key_id for one in identity.standing()}
    if request.public:
        if not all(is_public_key(key) for key in (request.public, request.recovery_public)):
            what = "a public key is 32 bytes that stand for a point of Ed25519, and so is the recovery code's"
            raise errors.BadRequest(what)
        if request.public in standing:
            raise errors.KeyKnown(signing.fingerprint(request.public))
    for key_id in request.rejects:
        if key_id not in standing.values():
            raise errors.NoSuchKey(signing.fingerprint_of(key_id[: signing.KEY_ID_BYTES]))
    if not identity.enrolments and signer == request.public:
        return
    if signer == request.public and standing:
        raise errors.KeyKnown(signing.fingerprint(next(iter(standing))))
    if signer not in standing and signer not in identity.recovery_now():
        raise errors.SignerUnknown


def _enrolment(parts: Parts, request: api.Enrol, by: Signer) -> list[SignedAct]:
    """The enrolment that is asked for, if one is."""
    if not request.public:
        return []
    payload = ev.KeyEnrolled(
        key_id=signing.key_id_of(request.public),
        public=request.public,
        recovery_public=request.recovery_public,
        terminal=parts.redact(request.terminal)[: limits.LINE_MAX_CHARS],
    )
    return [_key_act(parts, "enrol", "key_enrolled", payload, payload.key_id, by)]


def _rejection(parts: Parts, key_id: bytes, by: Signer) -> SignedAct:
    return _key_act(parts, "reject", "key_rejected", ev.KeyRejected(key_id=key_id, seen=by.chains), key_id, by)


def _key_act(parts: Parts, act: str, type_: str, payload: msgspec.Struct, key_id: bytes, by: Signer) -> SignedAct:
    store, signer = parts.store.info.store, signing.key_id_of(by.public)
    event = parts.event(type_, store, payload, asker=system(Surface.CLI), key_id=signer, head=by.head)
    digest, revision = NO_CONTENT
    return SignedAct(
        body=ev.encode_event(event),
        content="",
        salt=b"",
        digest=digest,
        revision=revision,
        act=act,
        id=0,
        change=signing.fingerprint_of(key_id),
        kind="",
        scope="",
        priority="",
    )


def refuse_unsound(parts: Parts) -> None:
    """Raises StoreDamaged where the log itself is not whole, or signed by keys that nobody enrolled."""
    found = next((fault for fault in check_store(parts.store) if not fault.derived), None)
    if found is not None:
        raise errors.StoreDamaged(f"{found.where} {found.what}, so no key can be enrolled")
