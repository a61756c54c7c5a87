"""Repository identity: one resolver for reads and writes (hooks.md, section 5).

Settings of the store hold the table: `repo/common/<digest of the real path>`, `repo/remote/<digest>` and
`repo/root/<digest>/<uid>` name a uid, `repo/about/<uid>` holds `Known`. Matched in the order common directory, primary remote,
root commits; a root commit counts only if the older path is gone (shallow clones report another one, forks share one). What
matches nothing gets a new uid.
"""

import hashlib
import os
from pathlib import Path
from typing import Final

import msgspec

from memd_daemon import limits
from memd_daemon.ground.repository import Checkout, root_commits
from memd_daemon.model.ids import uid_text
from memd_daemon.service.parts import Parts
from memd_daemon.store.port import Snapshot, Txn


class Known(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of a repository."""

    uid: bytes
    path: str  # of the common directory, or of the directory itself outside git, where last seen
    remote: str = ""
    roots: tuple[str, ...] = ()


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where somebody stands: the checkout, its repository's scope, and the path from the checkout's root."""

    checkout: Checkout
    scope: str  # "repo:<uid>"
    inside: str  # "" at the root


GLOBAL: Final = "global"


def session_scope(session: str) -> str:
    return f"session:{session}"


def scopes_at(place: Place, session: str) -> tuple[str, ...]:
    """The exact scopes whose notes hold here, before `under` is looked at."""
    return (GLOBAL, place.scope, *((session_scope(session),) if session else ()))


def holds_under(under: str, inside: str) -> bool:
    """Whether a note for the subtree ``under`` holds at the path ``inside`` (both from the checkout's root)."""
    return not under or inside == under or inside.startswith(under + "/")


def place_of(parts: Parts, directory: str) -> Place:
    """The place of a directory; a repository that is seen for the first time is given its uid."""
    real = os.path.realpath(directory or "/")
    checkout = parts.checkouts.at(real)
    with parts.store.read() as snapshot:
        uid = _uid_at(snapshot, checkout)
    if uid is None:
        uid = _first_look(parts, checkout)
    inside = real[len(checkout.root) + 1 :] if real.startswith(checkout.root.rstrip("/") + "/") else ""
    return Place(checkout=checkout, scope=f"repo:{uid_text(uid)}", inside=inside)


def _key(family: str, value: str) -> str:
    return f"repo/{family}/{hashlib.sha256(os.fsencode(value)).hexdigest()[: limits.NAME_DIGEST_CHARS]}"


def _path_of(checkout: Checkout) -> str:
    return checkout.common or checkout.root


def _uid_at(snapshot: Snapshot, checkout: Checkout) -> bytes | None:
    return snapshot.setting(_key("common", _path_of(checkout)))


def _first_look(parts: Parts, checkout: Checkout) -> bytes:
    path = _path_of(checkout)
    roots = _roots_if_needed(checkout)

    def work(txn: Txn) -> bytes:
        found = txn.setting(_key("common", path)) or _elsewhere(txn, checkout, roots)
        uid = found or parts.new_uid()
        txn.put_setting(_key("common", path), uid)
        if checkout.remote:
            txn.put_setting(_key("remote", checkout.remote), uid)
            if checkout.remote.startswith("/"):
                txn.put_setting(_key("common", checkout.remote), uid)
        for root in roots:
            txn.put_setting(f"{_key('root', root)}/{uid_text(uid)}", uid)
        known = Known(uid=uid, path=path, remote=checkout.remote, roots=roots)
        txn.put_setting(f"repo/about/{uid_text(uid)}", msgspec.msgpack.encode(known))
        return uid

    return parts.store.write(work)


def _roots_if_needed(checkout: Checkout) -> tuple[str, ...]:
    """Root commits only where no remote can tell: this may stand on the hook path, once in a repository's life."""
    if not checkout.common or checkout.remote:
        return ()
    return root_commits(checkout.root, deadline_s=limits.GIT_REPOSITORY_DEADLINE_S)


def _elsewhere(snapshot: Snapshot, checkout: Checkout, roots: tuple[str, ...]) -> bytes | None:
    if checkout.remote:
        by_remote = snapshot.setting(_key("remote", checkout.remote))
        if by_remote is None and checkout.remote.startswith("/"):
            by_remote = snapshot.setting(_key("common", checkout.remote))
        if by_remote:
            return by_remote
    sharers = {uid for root in roots for _, uid in snapshot.settings(f"{_key('root', root)}/")}
    gone = [uid for uid in sorted(sharers) if _is_gone(snapshot, uid)]
    return gone[0] if len(gone) == 1 else None


def _is_gone(snapshot: Snapshot, uid: bytes) -> bool:
    """Whether the repository's last known path is there no more."""
    about = snapshot.setting(f"repo/about/{uid_text(uid)}")
    return about is not None and not Path(msgspec.msgpack.decode(about, type=Known).path).exists()


def name_of(snapshot: Snapshot, scope: str) -> str:
    """A repository's name for people; its uid where it is unknown here."""
    about = snapshot.setting(f"repo/about/{scope.removeprefix('repo:')}")
    if about is None:
        return scope
    known = msgspec.msgpack.decode(about, type=Known)
    return Path(known.path.removesuffix("/.git")).name or known.path
