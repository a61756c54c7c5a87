"""Repositories of other stores: what their exports say of them, and which of this store's repositories each is.

What an export says of a repository stands in no chain and is signed by nobody, so it is kept apart from this store's own table
(service/repos.py), as something that a store has said:

    repo/theirs/<theirs>/<family>/<digest>   uid of the store that said it   truth; ``family``: remote, root
    theirs/<family>/<digest>/<theirs>        the same                        the way back, put with it

and it serves for one thing: to decide, once, that the repository is one of this store's (scoped.py, `repo/same/<theirs>`), as
repos.py matches a directory: **by the remote; else, where neither has one, by its first commits.** By nothing else, and never by a
guess:

- A remote is one that hosts name. One that is a path, or that leads to this very machine, may be another repository on another
  machine.
- Remotes that are several repositories here decide nothing; nor do first commits that several here have, or several of the same
  other store: forks share them.
- What is not known here waits. A repository that is seen for the first time, or that is given a remote, takes what waits for it.

What a false word can do is bounded by that: notes of one store's repository are then told in the wrong one of this store's, as
anybody's notes could be who writes them into an export with that very scope. It raises nothing that stands behind a note. No row of
this store's own table is written, and a repository that this store knows, under its own uid, is no other store's and becomes none.
The first store that speaks of a repository is the only one that is listened to about it. A decision is never changed. And no
export takes the places of those that come later: a store says a remote of few repositories, and what it passes on of third ones
leaves room for what they say themselves.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

import msgspec

from memd_daemon.limits import (
    NAME_DIGEST_CHARS,
    REPOSITORY_NAMES_HEARD_MAX,
    REPOSITORY_NAMES_MAX,
    REPOSITORY_NAMES_OF_STORE_MAX,
    REPOSITORY_SAID_MAX,
)
from memd_daemon.model.ids import UID_BYTES, uid_from_text, uid_text
from memd_daemon.store.port import Snapshot, Txn
from memd_daemon.store.scoped import NAMES, SAME

REMOTE: Final = "remote"
ROOT: Final = "root"
SAID: Final = "repo/theirs/"
_BACK: Final = "theirs/"
_UID: Final = r"([0-9a-f-]+)"
_DIGEST: Final = rf"([0-9a-f]{{{NAME_DIGEST_CHARS}}})"
_OWN_REMOTE: Final = re.compile(rf"repo/(remote)/{_DIGEST}")
_OWN_ROOT: Final = re.compile(rf"repo/(root)/{_DIGEST}/{_UID}")
_SAID: Final = re.compile(rf"{SAID}{_UID}/(remote|root)/{_DIGEST}")


class Claim(msgspec.Struct, frozen=True):
    """A store's word that a repository has this remote, or this first commit."""

    theirs: bytes
    family: str
    digest: str
    store: bytes
    is_heard: bool = False  # from a third store, which passes it on


def is_decision(name: str) -> bool:
    """Whether a fact says which repository of this store's another store's is."""
    return name.startswith(SAME)


def take_decision(txn: Txn, name: str, ours: bytes) -> bool:
    """A decision out of this very store's export. Whether it is taken: none is about a repository of this store's own."""
    theirs = _uid(name.removeprefix(SAME))
    if theirs is None or _is_own(txn, theirs) or not _is_own(txn, ours):
        return False
    put_same(txn, theirs, ours)
    return True


def claim_of(name: str, value: bytes, store: bytes) -> Claim | None:
    """What a fact of an export says of a repository; None for one that says nothing of that kind, or fits no such row.

    ``store``: whose export it is. What it was told by another store is that one's word.
    """
    if found := _OWN_REMOTE.fullmatch(name):
        return Claim(value, found[1], found[2], store)
    if found := _OWN_ROOT.fullmatch(name):
        return Claim(value, found[1], found[2], store) if uid_text(value) == found[3] else None
    found = _SAID.fullmatch(name)
    theirs = _uid(found[1]) if found else None
    return Claim(theirs, found[2], found[3], value, is_heard=value != store) if found and theirs else None


def put_claim(txn: Txn, claim: Claim) -> bool:
    """Whether it is kept, and was not known."""
    theirs = uid_text(claim.theirs)
    back = f"{_BACK}{claim.family}/{claim.digest}/"
    if txn.setting(f"{back}{theirs}") is not None or _is_own(txn, claim.theirs):
        return False
    first = next(txn.settings(f"{SAID}{theirs}/"), None)
    if (first is not None and first[1] != claim.store) or not _has_room(txn, claim, theirs, back):
        return False
    txn.put_setting(f"{SAID}{theirs}/{claim.family}/{claim.digest}", claim.store)
    txn.put_setting(f"{back}{theirs}", claim.store)
    return True


def _has_room(txn: Txn, claim: Claim, theirs: str, back: str) -> bool:
    """Whether one store, or one export, has not said too much by now: of what has these names, and of this repository."""
    speakers = [store for _, store in islice(txn.settings(back), REPOSITORY_NAMES_MAX)]
    most = REPOSITORY_NAMES_HEARD_MAX if claim.is_heard else REPOSITORY_NAMES_MAX
    is_crowded = len(speakers) >= most or speakers.count(claim.store) >= REPOSITORY_NAMES_OF_STORE_MAX
    return not is_crowded and not _are_many(txn, f"{SAID}{theirs}/", REPOSITORY_SAID_MAX)


def decide_all(txn: Txn) -> int:
    """Decides what can be decided of all that other stores said; how many repositories became known so."""
    theirs = list(dict.fromkeys(name.split("/")[2] for name, _ in txn.settings(SAID)))
    return sum(_decide(txn, uid) for text in theirs if (uid := _uid(text)))


def take_up(txn: Txn, rows: Iterable[str]) -> bool:
    """Decides what waited for these rows of this store's own table, which were just written; whether anything was."""
    families = [found for row in rows if (found := _OWN_REMOTE.fullmatch(row) or _OWN_ROOT.fullmatch(row))]
    waiting = [uid for found in families for uid in _who_has(txn, found[1], found[2])]
    return sum([_decide(txn, uid) for uid in dict.fromkeys(waiting)]) > 0


def known(snapshot: Snapshot, store: bytes) -> tuple[int, int]:
    """Of the repositories that a store spoke of: how many are ones of this store's, and how many wait."""
    spoken = dict.fromkeys(name.split("/")[2] for name, said in snapshot.settings(SAID) if said == store)
    here = sum(snapshot.setting(f"{SAME}{theirs}") is not None for theirs in spoken)
    return here, len(spoken) - here


def put_same(txn: Txn, theirs: bytes, ours: bytes) -> None:
    """From now on the repository ``theirs`` of another store is this store's ``ours``."""
    txn.put_setting(f"{SAME}{uid_text(theirs)}", ours)
    txn.put_setting(f"{NAMES}{uid_text(ours)}/{uid_text(theirs)}", theirs)


def _decide(txn: Txn, theirs: bytes) -> bool:
    if txn.setting(f"{SAME}{uid_text(theirs)}") is not None or _is_own(txn, theirs):
        return False
    ours = _ours(txn, uid_text(theirs))
    if ours is None or _are_many(txn, f"{NAMES}{uid_text(ours)}/", REPOSITORY_NAMES_MAX):
        return False
    put_same(txn, theirs, ours)
    return True


def _ours(txn: Txn, theirs: str) -> bytes | None:
    """The one repository of this store's that it is, by all that was said of it."""
    remotes = [name.rpartition("/")[2] for name, _ in txn.settings(f"{SAID}{theirs}/{REMOTE}/")]
    if remotes:
        return _only({uid for digest in remotes if (uid := _at_remote(txn, digest))})
    roots = [(name.rpartition("/")[2], store) for name, store in txn.settings(f"{SAID}{theirs}/{ROOT}/")]
    if any(_is_shared(txn, digest, store) for digest, store in roots):
        return None
    sharing = (uid for digest, _ in roots for _, uid in txn.settings(f"repo/{ROOT}/{digest}/"))
    ours = _only({uid for uid in sharing if len(uid) == UID_BYTES})
    return None if ours is None or _has_remote(txn, ours) else ours


def _only(found: set[bytes]) -> bytes | None:
    return next(iter(found)) if len(found) == 1 else None


def _at_remote(txn: Txn, digest: str) -> bytes | None:
    """The repository with this remote; none where that leads somewhere on this machine, and so is a place of it as well."""
    uid = txn.setting(f"repo/{REMOTE}/{digest}")
    is_path = txn.setting(f"repo/common/{digest}") is not None
    return None if uid is None or len(uid) != UID_BYTES or is_path else uid


def _has_remote(txn: Txn, ours: bytes) -> bool:
    """Whether it was given one: its first commits are known from before, and a fork of them may have none."""
    return any(uid == ours for _, uid in txn.settings(f"repo/{REMOTE}/"))


def _is_shared(txn: Txn, root: str, store: bytes) -> bool:
    """Whether several repositories of one other store begin with this commit."""
    return sum(said == store for _, said in txn.settings(f"{_BACK}{ROOT}/{root}/")) > 1


def _who_has(txn: Txn, family: str, digest: str) -> Iterator[bytes]:
    for name, _ in txn.settings(f"{_BACK}{family}/{digest}/"):
        uid = _uid(name.rpartition("/")[2])
        if uid is not None:
            yield uid


def _is_own(txn: Txn, uid: bytes) -> bool:
    """Whether this store knows a repository under this uid."""
    return txn.setting(f"repo/about/{uid_text(uid)}") is not None


def _are_many(txn: Txn, begin: str, most: int) -> bool:
    return len(list(islice(txn.settings(begin), most))) == most


def _uid(text: str) -> bytes | None:
    uid = uid_from_text(text)
    return uid if uid is not None and uid_text(uid) == text else None
