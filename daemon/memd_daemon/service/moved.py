"""Anchored files that are at another path now: found by what they hold, at one lookup, with no walk through the tree.

On the way of a hook the content of the file at hand is compared, by its digest, with what anchored files held when their notes were
recorded, and when they were last looked at (at a read, at an edit, behind a session's start). One of them that is gone from this
checkout counts as moved here, and its gotchas come along. That stays known in the ledger, since the next edit makes another content
of it, and counts for as long as the old path stays empty.

Behind a session's start, and now and then behind a file that no gotcha is about, those that are gone are asked for in the
repository (ground/renames.py): what was renamed in a commit, by whomever, or moved and changed since, is remembered likewise. It is
there at the next hook: an edit comes after a read.

Very small files are alike by chance, so they are not followed; large ones would take too long.
"""

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import msgspec

from memd_daemon import limits
from memd_daemon.ground.deadline import OutOfTime
from memd_daemon.ground.files import Glance
from memd_daemon.ground.repository import clean, relative_path
from memd_daemon.ground.spelling import located
from memd_daemon.model.event import Anchor
from memd_daemon.model.view import GroundStatus, NoteView
from memd_daemon.model.words import Kind
from memd_daemon.service.known import Known
from memd_daemon.service.names import is_safe
from memd_daemon.service.parts import Parts
from memd_daemon.service.repos import Place, scopes_at
from memd_daemon.service.text import normal
from memd_daemon.store.ledger_port import LedgerSnapshot
from memd_daemon.store.port import Snapshot

GONE = frozenset({"anchor_missing", "absent"})


def moved_here(
    parts: Parts, place: Place, sessions: Sequence[str], paths: Sequence[str], glance: Glance, *, keeps: bool
) -> dict[str, str]:
    """Where each gotcha's file that is at one of these paths now was before: old path -> path, both from the checkout's root.

    ``glance``: the answer's, which looks at the files themselves here; ``keeps``: what is found is remembered.
    """
    if not paths:
        return {}
    root, scopes, ledger = place.checkout.root, scopes_at(place, *sessions), parts.ledger
    digests: dict[str, bytes | None] = {}

    def look(snapshot: Snapshot) -> tuple[dict[str, str], dict[str, str], bool]:
        """(what is known to have moved, what is found to have, whether no gotcha is about any of the files)"""
        log = parts.known_at(snapshot)
        if not log(("gotchas", scopes), partial(_with_gotchas, scopes)).rows:
            return {}, {}, False
        for path in paths:
            if path not in digests:
                digests[path] = _digest(parts, root, path, glance)
        known = known_moves(ledger, root, paths)
        found = {
            old: path
            for path, digest in digests.items()
            if digest is not None
            for old in _held_before(parts, log, root, scopes, digest)
            if old not in known and old != path and _is_gone(root, old)
            if _has_gotcha(log, scopes, old) or ledger.moved_from(root, old)
        }
        return known, found, not (found or known or any(_has_gotcha(log, scopes, path) for path in paths))

    known, found, is_strange = parts.look(look)
    if keeps and parts.views.is_to_sift():
        parts.behind.add(parts.sift)
    further = {older: path for old, path in found.items() for older in known_moves(ledger, root, [old])}
    for old, path in found.items() if keeps else ():
        ledger.put_moved(root, path, old)
    if keeps and is_strange and _is_due(parts, root):
        parts.behind.add(partial(look_for_gone, parts, place))
    moved = known | found | further
    in_order = sorted(moved)  # the next look, which knows all of them, names a note by the same
    return {old: moved[old] for old in in_order if old != moved[old]}


def known_moves(ledger: LedgerSnapshot, root: str, paths: Iterable[str]) -> dict[str, str]:
    """What is remembered of files at these paths: old path -> path, also over several moves."""
    found: dict[str, str] = {}
    for path in paths:
        waiting = [path]
        while waiting:
            before = ledger.moved_from(root, waiting.pop())
            new = [old for old in before if old not in found and old != path]
            found |= dict.fromkeys(new, path)
            waiting += new
    return {old: path for old, path in found.items() if _is_gone(root, old)}


def _with_gotchas(scopes: Sequence[str], snapshot: Snapshot) -> tuple[str, ...]:
    """Those of the scopes that have any."""
    return tuple(scope for scope in scopes if any(True for _ in snapshot.notes_of_kind(scope, Kind.GOTCHA)))


def _held_before(parts: Parts, log: Known, root: str, scopes: tuple[str, ...], digest: bytes) -> Iterator[str]:
    """Paths of the same checkout at which this content is known to have been."""
    if not log.lacks(digest):
        yield from log(("content", scopes, digest), partial(_anchored_as, scopes, digest)).rows
    below = root.rstrip("/") + "/"
    for seen in parts.ground.seen_at(digest):
        if seen.startswith(below):
            yield normal(clean(seen[len(below) :]))


def _anchored_as(scopes: Sequence[str], digest: bytes, snapshot: Snapshot) -> tuple[str, ...]:
    """The paths of anchors that held this content when their notes were recorded."""
    uids = (snapshot.uid_of(id_) for scope in scopes for id_ in snapshot.notes_anchored_as(scope, digest))
    notes = (snapshot.note(uid) for uid in uids if uid)
    return tuple(dict.fromkeys(a.path for note in notes if note for a in note.anchors if a.digest == digest))


def _digest(parts: Parts, root: str, path: str, glance: Glance | None = None) -> bytes | None:
    """The digest of a file that is worth following; None where there is none, or no time."""
    until_ns = time.monotonic_ns() + limits.GROUND_DEADLINE_MS * limits.NS_PER_MS
    followed = range(limits.MOVED_FILE_MIN_BYTES, limits.MOVED_FILE_MAX_BYTES + 1)
    try:
        return parts.ground.digest(root, path, until_ns, followed, glance)
    except OutOfTime:
        return None


def _is_gone(root: str, path: str) -> bool:
    """Whether the checkout has no file of that very name: none at all, or a link to another one."""
    return relative_path(root, root, path) != path or not os.path.lexists(located(root, path))


def _has_gotcha(log: Known, scopes: tuple[str, ...], path: str) -> bool:
    return is_safe(path) and bool(log(("any on path", scopes, path), partial(_first_on_path, scopes, path)).rows)


def _first_on_path(scopes: Sequence[str], path: str, snapshot: Snapshot) -> tuple[int, ...]:
    """The id of a gotcha that is about the file, if there is one."""
    return tuple(islice((id_ for scope in scopes for id_ in snapshot.notes_on_path(scope, path)), 1))


def as_moved(view: NoteView, moved: Mapping[str, str]) -> NoteView:
    """The view with the anchors that are gone, of files that have been found again, saying so and where to."""
    if view.matched_path not in moved:
        return view
    return msgspec.structs.replace(view, ground=tuple(_status(ground, moved) for ground in view.ground))


def _status(ground: GroundStatus, moved: Mapping[str, str]) -> GroundStatus:
    if ground.path not in moved or ground.signal not in GONE:
        return ground
    return msgspec.structs.replace(ground, signal="anchor_renamed", detail=moved[ground.path])


def look_around(parts: Parts, place: Place) -> None:
    """Looks at the files of a repository's newest gotchas, so that they are known again wherever they come to be, or are."""
    for path in dict.fromkeys(anchor.path for anchor in _anchors(parts, place)):
        _digest(parts, place.checkout.root, path)
        parts.behind.give_way()
    look_for_gone(parts, place)


def look_for_gone(parts: Parts, place: Place) -> None:
    """Asks the repository where the files of its newest gotchas went that are gone, and remembers it."""
    root, branch = place.checkout.root, place.checkout.branch
    gone = [anchor for anchor in _anchors(parts, place) if _is_gone(root, anchor.path)]
    for anchor in dict.fromkeys(gone):
        (found,) = parts.ground.statuses(Path(root), branch, [anchor])
        to = found.detail if found.signal == "anchor_renamed" else found.to
        if to and is_safe(to) and is_safe(anchor.path) and anchor.path not in parts.ledger.moved_from(root, to):
            parts.ledger.put_moved(root, to, anchor.path)


def _anchors(parts: Parts, place: Place) -> list[Anchor]:
    """Of the repository's newest gotchas."""
    with parts.store.read() as snapshot:
        uids = (snapshot.uid_of(id_) for id_ in snapshot.notes_of_kind(place.scope, Kind.GOTCHA))
        notes = [snapshot.note(uid) for uid in islice(uids, limits.MOVED_GOTCHAS_LOOKED_AT) if uid]
    return [anchor for note in notes if note is not None for anchor in note.anchors]


def _is_due(parts: Parts, root: str) -> bool:
    """Whether the last look for what is gone from a checkout is some time ago; then this is the next one."""
    now_ns, pause_ns = time.monotonic_ns(), limits.MOVED_LOOK_PAUSE_S * limits.MS_PER_S * limits.NS_PER_MS
    last_ns = parts.looks.get(root)
    if last_ns is not None and now_ns - last_ns < pause_ns:
        return False
    if len(parts.looks) >= limits.CHECKOUTS_KNOWN_MAX:
        parts.looks.clear()
    parts.looks[root] = now_ns
    return True
