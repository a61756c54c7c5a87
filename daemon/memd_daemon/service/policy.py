"""Policy files as they count: who stands behind each, what it locks, which of its rules hold where (trust-boundary.md).

They lie in `ground.policy_files.SYSTEM_FOLDER` and in the home's `policy`. A file of the system's folder counts where it is out of
this user's reach; either counts where its signature file is one of a key that stands in this store. What counts takes effect in
two ways: its settings are locks (model/settings.py), and its directives are told before any note at the start of every context. It
is no note: it stands in no event, so no surface can revoke it, put another in its place or rank it lower.

**Looking** is asked for at a daemon's start, when a session starts or has been compacted, and by whoever asks about policy files.
It costs a few looks at folders; only where they, or the store's keys, have changed is anything read. Between two looks what counted
last goes on counting.

**Losing a rule is told.** Of each file that has counted the store keeps (a fact of this machine, in no event) when, and the time of
its signature: one that counts no more is told of at every start, with why, until it counts again, and a version older than the one
that counted last never does. A file of another user, which this one cannot have taken away, is told of for a week. An empty file,
signed, holds nothing that could be lost: so is one ended.
"""

import contextlib
import hashlib
import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from memd_client import policy_signing, signing
from memd_daemon import errors, limits
from memd_daemon.frames import policy as words
from memd_daemon.ground import policy_files as files
from memd_daemon.ground.policy_files import Unfit
from memd_daemon.ground.repository import clean
from memd_daemon.model import policy as reading
from memd_daemon.model.policy import BadPolicy, Behind, Directive, Policy, Why
from memd_daemon.model.settings import Change, Settings
from memd_daemon.model.trust import Identity
from memd_daemon.model.words import Actor
from memd_daemon.store.port import Snapshot, Txn

if TYPE_CHECKING:
    from memd_daemon.service.parts import Parts

log: Final = logging.getLogger("memd.policy")

SYSTEM: Final = "system"
HOME: Final = "home"
PLACES: Final = (SYSTEM, HOME)
"""In the order in which they count: where two files lock one setting, the first stands."""

_KEPT: Final = "policy/"
"""Settings `policy/<place>/<name>`: `Counted`."""


class Counted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is kept of a file that has counted."""

    digest: bytes
    behind: str
    at: int  # when this version began to count: UTC, Unix milliseconds
    signed_at: int = 0  # the latest of all its versions
    rules: int = 0
    locks: int = 0
    lost: int = 0  # since when it counts no more

    def is_told(self, now_ms: int) -> bool:
        """Whether its loss still is."""
        if not self.lost or not (self.rules or self.locks):
            return False
        return self.behind == Behind.SIGNATURE or now_ms < self.lost + limits.POLICY_LOST_TOLD_MS


class File(msgspec.Struct, frozen=True, kw_only=True):
    """A policy file as it was found; it counts where ``behind`` says who stands behind it."""

    place: str
    name: str
    path: str
    behind: str = ""
    why: str = ""
    detail: str = ""
    key_id: bytes = b""
    signed_at: int = 0
    digest: bytes = b""
    policy: Policy = Policy()
    counted: Counted | None = None


class Policies:
    """The policy files of one home. Safe to call from any thread."""

    def __init__(self, system: str = files.SYSTEM_FOLDER) -> None:
        self.system = system
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, str], Counted] | None = None
        self._seen: tuple[object, ...] = ()
        self._settings: Settings | None = None
        self._vectors: dict[str, Any] = {}
        self._found: tuple[File, ...] = ()
        self._locks: dict[str, Change] = {}

    @property
    def counting(self) -> list[File]:
        """The files that count, in their order."""
        return [file for file in self._found if file.behind]

    def found(self, now_ms: int) -> list[File]:
        """Every file as it was at the last look, the system's first; one that is gone for as long as that is told."""
        return [f for f in self._found if f.why != Why.GONE or (f.counted is not None and f.counted.is_told(now_ms))]

    def folders(self, home: Path) -> dict[str, str]:
        """Place -> where its files lie."""
        return {SYSTEM: self.system, HOME: f"{home}/{files.HOME_FOLDER}"}

    def look(self, parts: "Parts") -> None:
        """Sees what there is by now, and has the locks hold that follow from it."""
        with self._lock, parts.store.read() as snapshot:
            if self._kept is None:
                self._kept = _kept_in(snapshot)
            folders, began_ns = self.folders(parts.home), time.time_ns()
            listings = {place: files.listed(folders[place], self._names(place)) for place in PLACES}
            seen = tuple(listing.mark for listing in listings.values())
            settings = parts.settings(snapshot)
            if settings is self._settings and seen == self._seen:
                return
            judge = _Judge(parts, snapshot.identity(), self._kept)
            found = [file for place in PLACES for file in judge.all_of(place, folders[place], listings[place])]
            self._keep(parts, found)
            self._found = tuple(msgspec.structs.replace(f, counted=self._kept.get((f.place, f.name))) for f in found)
            self._vectors = {}
            self._lock_fast(parts)
            self._settings = parts.settings(snapshot)
            self._seen = () if _is_fresh(seen, began_ns) else seen

    def _names(self, place: str) -> list[str]:
        return [name for at, name in self._kept or () if at == place]

    def _keep(self, parts: "Parts", found: Iterable[File]) -> None:
        """What is to be kept of these files, written behind whoever looks."""
        kept = self._kept if self._kept is not None else {}
        news: dict[str, Counted] = {}
        for file in found:
            key = (file.place, file.name)
            counted = _after(kept.get(key), file, parts.now_ms())
            if counted is not None and counted != kept.get(key):
                kept[key] = counted
                news[f"{_KEPT}{file.place}/{file.name}"] = counted
        if not news:
            return

        def work(txn: Txn) -> None:
            for key, counted in news.items():
                txn.put_setting(key, msgspec.msgpack.encode(counted))

        try:
            parts.store.submit(work).add_done_callback(_tell_failure)
        except errors.MemdError as refusal:  # closing: the next daemon looks again
            log.warning("what counts could not be kept: %s", refusal.code)

    def _lock_fast(self, parts: "Parts") -> None:
        locks = _locks_of(self.counting)
        if locks != self._locks:
            self._locks = locks
            parts.known_settings.hold_fast(locks)

    def lost(self, now_ms: int) -> list[File]:
        """The files that counted, count no more, and whose loss is told."""
        return [f for f in self._found if not f.behind and f.counted is not None and f.counted.is_told(now_ms)]

    def signed_at(self, name: str) -> int:
        """The latest time at which a version of this file was signed that has counted; 0: none has."""
        counted = (self._kept or {}).get((HOME, name))
        return counted.signed_at if counted is not None else 0

    def vector_of(self, parts: "Parts", text: str) -> Any:
        """A rule's vector, kept; None while the model is not in."""
        vector = self._vectors.get(text)
        if vector is None:
            vector = parts.search.embed(text)
            if vector is not None:
                self._vectors[text] = vector
        return vector


def _kept_in(snapshot: Snapshot) -> dict[tuple[str, str], Counted]:
    kept = {}
    for key, raw in snapshot.settings(_KEPT):
        place, _, name = key.removeprefix(_KEPT).partition("/")
        with contextlib.suppress(msgspec.MsgspecError):  # of whatever somebody may have written into the store
            if files.is_plain_name(name):
                kept[place, name] = msgspec.msgpack.decode(raw, type=Counted)
    return kept


def _after(before: Counted | None, file: File, now_ms: int) -> Counted | None:
    """What is kept of a file once it was looked at."""
    if file.behind:
        same = before if before is not None and before.digest == file.digest and not before.lost else None
        return Counted(
            digest=file.digest,
            behind=file.behind,
            at=same.at if same else now_ms,
            signed_at=max(file.signed_at, before.signed_at if before else 0),
            rules=len(file.policy.directives),
            locks=len(file.policy.settings),
        )
    if before is None or before.lost:
        return before
    return msgspec.structs.replace(before, lost=now_ms)


def _tell_failure(done: "Future[None]") -> None:
    failure = done.exception()
    if failure is not None:
        log.warning("what counts could not be kept: %s", type(failure).__name__)


def _is_fresh(seen: Iterable[Iterable[files.Mark]], began_ns: int) -> bool:
    """Whether a file was written so shortly before it was looked at that it may be written again and look the same."""
    since = began_ns - limits.RACY_MTIME_MS * limits.NS_PER_MS
    return any(mark[-1] >= since for marks in seen for mark in marks if mark)


def _locks_of(counting: Iterable[File]) -> dict[str, Change]:
    locks: dict[str, Change] = {}
    for file in counting:
        for key, (text, value) in file.policy.settings.items():
            lock = Change(
                key=key,
                text=text,
                value=value,
                event=b"",
                at=file.counted.at if file.counted else 0,
                actor=Actor.SYSTEM,
                surface=file.path,
                session="",
                signed=True,
            )
            locks.setdefault(key, lock)
    return locks


# --- one file


class _Judge:
    """Says of each file whether it counts, under the keys as they stand."""

    def __init__(self, parts: "Parts", identity: Identity, kept: Mapping[tuple[str, str], Counted]) -> None:
        self._parts = parts
        self._identity = identity
        self._kept = kept

    def all_of(self, place: str, folder: str, listing: files.Listing) -> Iterator[File]:
        for name in listing.names:
            file = _unjudged(place, folder, name)
            try:
                found = self._judged(file, f"{folder}/{name}", name)
            except Unfit as unfit:
                found = msgspec.structs.replace(file, why=unfit.why, detail=unfit.detail)
            if found.why != Why.GONE or (place, name) in self._kept:  # it may have gone between two looks
                yield found
        for name in listing.over[: limits.POLICY_FILES_MAX]:
            yield msgspec.structs.replace(_unjudged(place, folder, name), why=Why.TOO_MANY)

    def _judged(self, file: File, path: str, name: str) -> File:
        """The file with who stands behind it and what it says. Raises Unfit."""
        if not files.is_plain_name(name):
            raise Unfit(Why.BAD_NAME, "letters, digits, `.`, `_` and `-`, up to 64 with `.toml`")
        content = files.read(path)
        reach = files.why_in_reach(path) if file.place == SYSTEM else "it lies in memd's own home"
        signed: dict[str, Any] = {}
        if reach:
            signature = self._signature(file, path, content, reach)
            signed = {"key_id": signature.key_id, "signed_at": signature.signed_at}
        try:
            policy = reading.read(content)
        except BadPolicy as bad:
            raise Unfit(Why.MALFORMED, str(bad)) from None
        return msgspec.structs.replace(
            file,
            behind=Behind.SIGNATURE if reach else Behind.OWNER,
            digest=hashlib.sha256(content).digest(),
            policy=msgspec.structs.replace(policy, directives=tuple(map(self._redacted, policy.directives))),
            **signed,
        )

    def _redacted(self, rule: Directive) -> Directive:
        """What is told is kept with the answer it was told in."""
        return msgspec.structs.replace(rule, text=self._parts.redact(rule.text))

    def _signature(self, file: File, path: str, content: bytes, reach: str) -> policy_signing.PolicySignature:
        """The signature of a file that this user could change. Raises Unfit where it is none of a key that stands here."""
        try:
            raw = files.read(path + policy_signing.SUFFIX, policy_signing.SIGNATURE_FILE_MAX_BYTES)
        except Unfit as unfit:
            if unfit.why == Why.GONE:
                raise _unsigned(file, reach) from None
            raise Unfit(Why.BAD_SIGNATURE_FILE, words.REASONS[unfit.why]) from None
        signature = policy_signing.decode_signature(raw)
        if signature is None:
            raise Unfit(Why.BAD_SIGNATURE_FILE)
        if signature.store != self._identity.store:
            raise Unfit(Why.OTHER_STORE)
        public = self._identity.public_now(signature.key_id)
        if public is None:
            known = any(one.key_id == signature.key_id for one in self._identity.enrolments)
            raise Unfit(Why.KEY_REJECTED if known else Why.KEY_UNKNOWN, signing.fingerprint_of(signature.key_id))
        digest = policy_signing.policy_digest(signature.store, signature.signed_at, file.name, content)
        if not signing.verify(public, digest, signature.sig):
            raise Unfit(Why.CHANGED)
        counted = self._kept.get((file.place, file.name))
        if counted is not None and signature.signed_at < counted.signed_at:
            raise Unfit(Why.OLDER)
        return signature


def _unjudged(place: str, folder: str, name: str) -> File:
    return File(place=place, name=clean(name), path=clean(f"{folder}/{name}"))


def _unsigned(file: File, reach: str) -> Unfit:
    if file.place == HOME:
        return Unfit(Why.NOT_SIGNED)
    return Unfit(Why.ROOT if 0 in (os.getuid(), os.geteuid()) else Why.IN_REACH, reach)
