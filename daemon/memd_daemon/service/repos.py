"""Repository identity: one resolver for reads and writes (hooks.md, section 5).

Settings of the store hold the table: `repo/common/<digest of the real path>`, `repo/remote/<digest>` and
`repo/root/<digest>/<uid>` name a uid, `repo/about/<uid>` holds `Known`. Matched in the order common directory, primary remote,
root commits; a root commit counts only if every older path is gone (shallow clones report another one, forks share one). A remote
that a repository is given later is learned then, and a directory that becomes a repository stays what it was. What matches nothing
gets a new uid.
"""

import hashlib
import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec

from memd_daemon import limits
from memd_daemon.ground.repository import (
    Checkout,
    is_within,
    led,
    may_lie_in_git,
    normalize_remote,
    paths_of,
    real_path,
    root_commits,
)
from memd_daemon.model.ids import UID_BYTES, uid_text
from memd_daemon.service.names import is_safe, name_kept
from memd_daemon.service.parts import Parts
from memd_daemon.store import theirs
from memd_daemon.store.port import Snapshot, Txn


class Known(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of a repository."""

    uid: bytes
    path: (
        str  # of the common directory, or of the directory itself outside git, where last seen first; as it may be kept
    )
    others: tuple[str, ...] = ()  # its clones and earlier paths, as far as they were there when it was last seen first


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where somebody stands: the checkout, its repository's scope, and the path from the checkout's root."""

    checkout: Checkout
    scope: str  # "repo:<uid>"
    inside: str  # "" at the root


class Files(msgspec.Struct, frozen=True, kw_only=True):
    """Files as a repository that their own checkout lies in sees them."""

    at: Place
    paths: tuple[str, ...]  # from the root of that checkout


GLOBAL: Final = "global"


def session_scope(session: str) -> str:
    return f"session:{session}"


def scopes_at(place: Place, *sessions: str) -> tuple[str, ...]:
    """The exact scopes whose notes hold here, before `under` is looked at. ``sessions``: the asker's, and those it continues."""
    return (GLOBAL, place.scope, *(session_scope(session) for session in sessions if session))


def place_of(parts: Parts, directory: str) -> Place:
    """The place of a directory; a repository that is seen for the first time is given its uid."""
    real = real_path(directory)
    checkout = _checkout_at(parts, real)
    known = parts.places.get(real)
    if known is not None and known.checkout is checkout:
        return known
    with parts.store.read() as snapshot:
        uid = _uid_at(snapshot, checkout)
        learns = bool(checkout.remote) and snapshot.setting(_key("remote", checkout.remote)) is None
    if uid is None or learns:
        uid = _first_look(parts, checkout)
    place = Place(checkout=checkout, scope=f"repo:{uid_text(uid)}", inside=_inside(checkout, real))
    if len(parts.places) >= limits.CHECKOUTS_KNOWN_MAX:
        parts.places.clear()
    parts.places[real] = place  # for as long as the checkout is the very same: a repository keeps its uid
    return place


def place_where(parts: Parts, directory: str, scope: str) -> Place:
    """The place of a directory that a session says it works in, and that may be there no more: a worktree that was removed.

    The session then still is of the repository that it was of (``scope``; "" where none is known), at the checkout that stands.
    """
    is_gone = scope.startswith("repo:") and not os.path.isdir(directory)
    return (is_gone and _still_known(parts, scope)) or place_of(parts, directory)


def _still_known(parts: Parts, scope: str) -> Place | None:
    with parts.store.read() as snapshot:
        known = path_of(snapshot, scope)
    place = place_of(parts, known) if known and Path(known).is_dir() else None
    return place if place is not None and place.scope == scope else None


def files_at(parts: Parts, place: Place, cwd: str, given: tuple[str, ...]) -> tuple[Place, tuple[str, ...]]:
    """Where files that an event names lie, by the first of them, and their paths from that checkout's root.

    The place itself, save for a file in another checkout of a repository that is known. A symbolic link stands behind the file
    that it leads to. A path that may not be kept is left out.
    """
    found = [led(cwd, path) for path in given if path and "\0" not in path]
    at = _known_place(parts, place, os.path.dirname(found[0].real)) if found else place
    paths = (path for one in found for path in paths_of(at.checkout.root, one))
    return at, tuple(dict.fromkeys(path for path in paths if path and is_safe(path)))


def enclosing(parts: Parts, at: Place) -> Iterator[Place]:
    """The known repositories that a checkout lies in, nearest first: it is a submodule of theirs, or a clone inside."""
    root = at.checkout.root if at.checkout.common else "/"
    while root != "/" and may_lie_in_git(above := os.path.dirname(root)):
        outer = _checkout_at(parts, above)
        if not outer.common or outer.common == at.checkout.common:  # none, or a worktree kept in its own repository
            return
        root = outer.root
        with parts.store.read() as snapshot:
            uid = _uid_at(snapshot, outer) or _by_remote(snapshot, outer)
        if uid:
            yield Place(checkout=outer, scope=f"repo:{uid_text(uid)}", inside=_inside(outer, at.checkout.root))


def _known_place(parts: Parts, place: Place, real: str) -> Place:
    if is_within(place.checkout, real):
        return place
    checkout = _checkout_at(parts, real)
    if not checkout.common or checkout.root == place.checkout.root:
        return place
    if checkout.common == place.checkout.common or _is_same_folder(checkout.common, place.checkout.common):
        return Place(checkout=checkout, scope=place.scope, inside=_inside(checkout, real))
    with parts.store.read() as snapshot:
        uid = _uid_at(snapshot, checkout) or _by_remote(snapshot, checkout)
    return Place(checkout=checkout, scope=f"repo:{uid_text(uid)}", inside=_inside(checkout, real)) if uid else place


def _inside(checkout: Checkout, real: str) -> str:
    return real[len(checkout.root) + 1 :] if real.startswith(checkout.root.rstrip("/") + "/") else ""


def _checkout_at(parts: Parts, real: str) -> Checkout:
    """The checkout, its branch as it may be kept; where the disk fails, the directory itself."""
    try:
        found = parts.checkouts.at(real)
    except (OSError, ValueError):
        return Checkout(root=real)
    return found if is_safe(found.branch) else msgspec.structs.replace(found, branch=name_kept(found.branch))


@lru_cache(limits.CHECKOUTS_KNOWN_MAX)
def _key(family: str, value: str) -> str:
    return f"repo/{family}/{hashlib.sha256(os.fsencode(value)).hexdigest()[: limits.NAME_DIGEST_CHARS]}"


def _path_of(checkout: Checkout) -> str:
    return checkout.common or checkout.root


def _named(snapshot: Snapshot, family: str, value: str) -> bytes | None:
    """The repository that a row of the table names; none where the row holds no uid: it was damaged, and the next look mends it."""
    uid = snapshot.setting(_key(family, value))
    return uid if uid is not None and len(uid) == UID_BYTES else None


def _uid_at(snapshot: Snapshot, checkout: Checkout) -> bytes | None:
    return _named(snapshot, "common", _path_of(checkout))


def _first_look(parts: Parts, checkout: Checkout) -> bytes:
    path = _path_of(checkout)
    roots = _roots_if_needed(checkout)

    def work(txn: Txn) -> tuple[bytes, bool]:
        found = _named(txn, "common", path) or _elsewhere(txn, checkout, roots)
        uid = found or parts.new_uid()
        txn.put_setting(_key("common", path), uid)
        if checkout.remote:
            _claim(txn, _key("remote", checkout.remote), uid)
            if checkout.remote.startswith("/"):
                _claim(txn, _key("common", checkout.remote), uid)
        _put_roots(txn, roots, uid)
        txn.put_setting(_about(uid), msgspec.msgpack.encode(_seen_at(txn, uid, path)))
        return uid, _take_up(txn, checkout, roots, uid)

    uid, has_taken_up = parts.store.write(work)
    if has_taken_up:
        _notes_came(parts)
    if not roots and _needs_roots(checkout):
        parts.behind.add(lambda: _learn_roots(parts, checkout, uid))
    return uid


def _learn_roots(parts: Parts, checkout: Checkout, uid: bytes) -> None:
    """A long history is read behind the answer: it is asked for only once the repository has moved."""
    roots = root_commits(checkout.root, deadline_s=limits.GIT_HISTORY_DEADLINE_S)

    def work(txn: Txn) -> bool:
        _put_roots(txn, roots, uid)
        return _take_up(txn, checkout, roots, uid)

    came = parts.store.write(work) if roots else False
    if came:
        _notes_came(parts)


def _put_roots(txn: Txn, roots: tuple[str, ...], uid: bytes) -> None:
    for root in roots:
        txn.put_setting(f"{_key('root', root)}/{uid_text(uid)}", uid)


def _claim(txn: Txn, key: str, uid: bytes) -> None:
    """The key names this repository unless it names another."""
    if len(txn.setting(key) or b"") != UID_BYTES:
        txn.put_setting(key, uid)


def _about(uid: bytes) -> str:
    return f"repo/about/{uid_text(uid)}"


def _known(snapshot: Snapshot, uid: bytes) -> Known | None:
    about = snapshot.setting(_about(uid))
    try:
        return None if about is None else msgspec.msgpack.decode(about, type=Known)
    except (msgspec.MsgspecError, RecursionError):  # a damaged row: what it knew is learned again
        return None


def _seen_at(snapshot: Snapshot, uid: bytes, path: str) -> Known:
    before = _known(snapshot, uid)
    older = (before.path, *before.others) if before else ()
    kept = name_kept(path)
    others = [p for p in dict.fromkeys(older) if p != kept and _may_stand(p)]
    return Known(uid=uid, path=kept, others=tuple(others[: limits.REPOSITORY_PATHS_MAX]))


def _roots_if_needed(checkout: Checkout) -> tuple[str, ...]:
    """Root commits only where no remote can tell: this may stand on the hook path, once in a repository's life."""
    if not _needs_roots(checkout):
        return ()
    return root_commits(checkout.root, deadline_s=limits.GIT_REPOSITORY_DEADLINE_S)


def _needs_roots(checkout: Checkout) -> bool:
    return bool(checkout.common) and not checkout.remote


def _elsewhere(snapshot: Snapshot, checkout: Checkout, roots: tuple[str, ...]) -> bytes | None:
    by_remote = _by_remote(snapshot, checkout)
    if by_remote is not None:
        return by_remote
    sharers = {uid for root in roots for _, uid in snapshot.settings(f"{_key('root', root)}/") if len(uid) == UID_BYTES}
    mounted = [uid for uid in sorted(sharers) if _is_mounted_at(snapshot, uid, checkout.common)]
    if len(mounted) == 1:
        return mounted[0]
    gone = [uid for uid in sorted(sharers) if _is_gone(snapshot, uid)]
    if len(gone) == 1:
        return gone[0]
    began_here = checkout.common == f"{checkout.root}/.git"
    return _named(snapshot, "common", checkout.root) if began_here else None


def _by_remote(snapshot: Snapshot, checkout: Checkout) -> bytes | None:
    if not checkout.remote:
        return None
    by_remote = _named(snapshot, "remote", checkout.remote)
    if by_remote is None and checkout.remote.startswith("/"):
        return _named(snapshot, "common", checkout.remote)
    return by_remote


def is_named(snapshot: Snapshot, place: Place, named: str) -> bool:
    """Whether a remote, or the path of a folder that it is or lies in, names the repository of a place.

    A repository that was known under a remote stays so, whatever stands in its own settings since.
    """
    if named.startswith("/"):
        real = real_path(named)
        names = [("common", path) for path in (real, f"{real}/.git")]
        here = f"{place.checkout.root}/{place.inside}"
        if here.startswith(real.rstrip("/") + "/"):
            return True
    else:
        names = [("remote", remote) for remote in (normalize_remote(named), _bare_remote(named))]
    found = (_named(snapshot, *name) for name in names)
    return any(uid is not None and place.scope == f"repo:{uid_text(uid)}" for uid in found)


def _bare_remote(named: str) -> str:
    """``host/path`` as somebody may write it without a scheme."""
    host, _, path = named.partition("/")
    return f"{host.lower()}/{path.strip('/').removesuffix('.git')}"


def _is_gone(snapshot: Snapshot, uid: bytes) -> bool:
    """Whether every path at which the repository was seen is there no more."""
    known = _known(snapshot, uid)
    return known is not None and not any(map(_may_stand, (known.path, *known.others)))


def _is_mounted_at(snapshot: Snapshot, uid: bytes, path: str) -> bool:
    """Whether the repository is seen at another path too, as over a bind mount: the same folder to the system, which no copy is."""
    known = _known(snapshot, uid)
    return known is not None and any(_is_same_folder(path, other) for other in (known.path, *known.others))


def _is_same_folder(one: str, other: str) -> bool:
    try:
        return bool(one and other) and Path(one).samefile(other)
    except (OSError, ValueError):
        return False


def _may_stand(kept: str) -> bool:
    """Whether something stands at the path, as far as can be told: one that was not kept as it is may, and so may a hidden one."""
    if any(mark in kept for mark in _CHANGED):
        return True
    try:
        Path(kept).stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True
    return True


_CHANGED: Final = ("\ufffd", "[redacted:")
"""What stands in a path in the place of what is not kept."""


def name_of(snapshot: Snapshot, scope: str) -> str:
    """A repository's name for people; its scope where it is unknown here."""
    path = path_of(snapshot, scope)
    return Path(path).name or path if path else scope


def path_of(snapshot: Snapshot, scope: str) -> str:
    """Where a repository was last seen first, for people; "" where it is unknown here."""
    about = snapshot.setting(f"repo/about/{scope.removeprefix('repo:')}")
    return "" if about is None else msgspec.msgpack.decode(about, type=Known).path.removesuffix("/.git")


def _take_up(txn: Txn, checkout: Checkout, roots: tuple[str, ...], uid: bytes) -> bool:
    """Repositories of other stores that waited for this one to be seen, or for its remote (store/theirs.py); whether any did."""
    if _leads_here(checkout.remote):
        _claim(txn, _key("common", checkout.remote), uid)  # as a path is: so it is no other store's
    remote = [_key("remote", checkout.remote)] if checkout.remote else []
    return theirs.take_up(txn, [*remote, *(f"{_key('root', root)}/{uid_text(uid)}" for root in roots)])


def _leads_here(remote: str) -> bool:
    """Whether a remote, as the table has it, names no host but this very machine: on another one it leads elsewhere."""
    host, _, path = remote.partition("/")
    named = host.rstrip(".")
    is_nobody = named in _THIS_MACHINE or named.endswith((".localhost", "@")) or path.startswith(":")
    return bool(named) and (is_nobody or named.startswith(_NUMBERS))


_THIS_MACHINE: Final = ("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback")
_NUMBERS: Final = ("127.", "0.", "[")  # one in brackets may be this machine in many ways of writing


def _notes_came(parts: Parts) -> None:
    """Notes hold here that did not a moment ago, without a word in the log."""
    parts.forget()
    parts.search.learn_names()
