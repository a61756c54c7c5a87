"""Files that are not in a checkout any more: absent on this branch, gone, or at another path (staleness.md).

`Renames.look` is asked about a path at which the checkout has nothing. What it says:

- **absent**: the file is not part of what is checked out, and nothing says that it was: the note's branch, or another one that has
  the note's commit, has it and this one never had (or the two went apart); it lies in a submodule that is not checked out, or
  outside a sparse checkout. Nothing has changed.
- **anchor_renamed**: git, or the content of what is not committed, says where to. A chain of renames is followed to its end.
- **anchor_missing**: it was here and is gone; or there are two places as likely, and memd does not guess; or nothing can be known.

Whether a file "was here" is a question to the history: where the note's commit is part of this branch's, the file went; where it is
not (another branch; rebased, squashed, or gone from this clone), the histories since both parted are asked.

On the way of a hook (with a deadline) no process is started: what was found before is told as long as the branch stands where it
stood, and else there was no time; the answer is found behind it. Nor is a file said to be missing while git is changing what is
checked out, file by file. An answer that something was found stays good while that stands.
"""

import os
import threading
import time
from pathlib import Path
from typing import Final

import msgspec

from memd_daemon import limits
from memd_daemon.ground.checkouts import Checkouts
from memd_daemon.ground.deadline import OutOfTime
from memd_daemon.ground.history import BETWEEN, History, Standing, Told, told_path
from memd_daemon.ground.repository import Checkout, resolved
from memd_daemon.ground.spelling import located
from memd_daemon.ground.unfiled import Unfiled
from memd_daemon.model.event import Anchor


class Gone(msgspec.Struct, frozen=True):
    """``signal``: "absent", "anchor_missing" or "anchor_renamed"; ``to``: where to, from the root of the checkout."""

    signal: str
    to: str = ""


ABSENT: Final = Gone("absent")
MISSING: Final = Gone("anchor_missing")

_Shape = tuple[int, int, int, int] | None


class _State(msgspec.Struct, frozen=True):
    """What an answer was found for: files that git replaces when a branch moves, or the index does."""

    branch: str
    refs: tuple[_Shape, ...] = ()
    index: _Shape = None


class _Known(msgspec.Struct, frozen=True):
    gone: Gone
    state: _State
    by_index: bool  # the file is committed: what is not decides
    found_ns: int  # monotonic


class Renames:
    """Says what became of files that are gone, each once per state of the branch. Safe to call from any thread."""

    def __init__(self) -> None:
        self._checkouts = Checkouts()
        self._asking = threading.Lock()
        self._known: dict[tuple[str, Anchor], _Known] = {}
        self._slow: dict[str, int] = {}
        self._told = Told()

    def look(self, root: Path, branch: str, anchor: Anchor, deadline_ns: int | None) -> Gone:
        """What became of the anchor's file, which is not in the checkout at ``root``, a real path.

        ``branch`` is the checkout's, "" where it is detached. Raises OutOfTime where a deadline (monotonic ns; which one does not
        matter) is given and nothing is known yet, and where git is changing what is checked out.
        """
        root, inner = self._home(root, anchor)
        checkout = self._checkouts.at(str(root))
        if not checkout.common or checkout.root != resolved(str(root)):
            return MISSING  # no git to ask
        state = _state(checkout, inner)
        known = self._known.get((str(root), inner))
        if known is not None and _holds(root, known, state, is_hurried=deadline_ns is not None):
            return self._as_of(known.gone, anchor, inner)
        if deadline_ns is not None:
            raise OutOfTime
        return self._as_of(self._ask(root, checkout.branch, inner), anchor, inner)

    def _home(self, root: Path, anchor: Anchor) -> tuple[Path, Anchor]:
        """The checkout that the file belongs to: the one at ``root``, or a submodule's inside it, whose history is another."""
        parts = anchor.path.split("/")
        for depth in range(len(parts) - 1, 0, -1):
            inner = located(str(root), "/".join(parts[:depth]))
            if os.path.lexists(os.path.join(inner, ".git")):
                path = "/".join(parts[depth:])
                return Path(inner), msgspec.structs.replace(anchor, path=path, commit="", checkout_branch="")
        return root, anchor

    def _as_of(self, gone: Gone, anchor: Anchor, inner: Anchor) -> Gone:
        above = anchor.path[: len(anchor.path) - len(inner.path)]
        return Gone(gone.signal, above + gone.to) if gone.to else gone

    def _ask(self, root: Path, branch: str, anchor: Anchor) -> Gone:
        with self._asking:  # one at a time: what many wait for is found once
            state = _state(self._checkouts.at(str(root)), anchor)
            known = self._known.get((str(root), anchor))
            if known is not None and _holds(root, known, state, is_hurried=False):
                return known.gone
            began_ns = time.monotonic_ns()
            until_ns = began_ns + self._time_ns(str(root), began_ns)
            look = _Look(History(root, until_ns, self._told), root, branch, anchor)
            gone = look.found()
            self._refuse_moving(root, anchor, state, gone)
            if look.history.is_over:
                self._slow[str(root)] = time.monotonic_ns()
            self._keep((str(root), anchor), _Known(gone, state, look.by_index, time.monotonic_ns()))
        return gone

    def _refuse_moving(self, root: Path, anchor: Anchor, before: _State, gone: Gone) -> None:
        """Raises OutOfTime where git changed the checkout during a look that found nothing, or is changing it now."""
        if gone == MISSING:
            checkout = self._checkouts.at(str(root))
            if _state(checkout, anchor) != before or _is_at_work(checkout):
                raise OutOfTime

    def _time_ns(self, root: str, now_ns: int) -> int:
        """How long a look may take: less after one that took too long, since a recall may wait for many."""
        slow_ns = self._slow.get(root)
        is_slow = slow_ns is not None and now_ns - slow_ns < limits.RENAME_SLOW_S * limits.MS_PER_S * limits.NS_PER_MS
        return round((limits.RENAME_SLOW_LOOK_MS if is_slow else limits.RENAME_LOOK_MS) * limits.NS_PER_MS)

    def _keep(self, key: tuple[str, Anchor], known: _Known) -> None:
        if len(self._known) >= limits.RENAMES_KNOWN_MAX:
            self._known.clear()
        self._known[key] = known


def _holds(root: Path, known: _Known, state: _State, *, is_hurried: bool) -> bool:
    """Whether what was found is to be told. In a hurry also what most likely still is so, rather than that nothing is known."""
    gone = known.gone
    if gone.to and not os.path.lexists(located(str(root), gone.to)):
        return False
    is_same = known.state.refs == state.refs and (not known.by_index or known.state.index == state.index)
    if is_hurried:
        return is_same or bool(gone.to) or (gone == ABSENT and known.state.branch == state.branch)
    age_ns = time.monotonic_ns() - known.found_ns
    return is_same and (bool(gone.to) or age_ns < limits.RENAME_MISSING_KNOWN_S * limits.MS_PER_S * limits.NS_PER_MS)


def _state(checkout: Checkout, anchor: Anchor) -> _State:
    heads = os.path.join(checkout.common, "refs", "heads")
    branches = dict.fromkeys(name for name in (checkout.branch, anchor.checkout_branch) if name)
    files = (
        os.path.join(checkout.git_dir, "HEAD"),
        os.path.join(checkout.common, "packed-refs"),
        os.path.join(checkout.common, "reftable", "tables.list"),
        *(os.path.join(heads, name) for name in branches),
    )
    index = _shape(os.path.join(checkout.git_dir, "index"))
    return _State(checkout.branch, tuple(map(_shape, files)), index)


def _is_at_work(checkout: Checkout) -> bool:
    """Whether git is changing what is checked out: it holds the index meanwhile. A lock that was left behind is no such sign."""
    try:
        since_s = os.stat(os.path.join(checkout.git_dir, "index.lock")).st_mtime
    except OSError:
        return False
    return abs(time.time() - since_s) < limits.GIT_AT_WORK_S


def _shape(path: str) -> _Shape:
    try:
        seen = os.stat(path)
    except (OSError, ValueError):
        return None
    return seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns


class _Look:
    """One search for one file, with git."""

    def __init__(self, history: History, root: Path, branch: str, anchor: Anchor) -> None:
        self.history = history
        self.by_index = False
        self._root, self._branch, self._anchor = root, branch, anchor

    def found(self) -> Gone:
        head = self.history.head()
        here = self.history.at(head, self._anchor.path) if head else Standing()
        if not head:
            return self._untold()
        if here.kind == "commit" or (here.is_file and self.history.is_left_out(here.path)):
            return ABSENT
        if here.is_file:
            return self._unfiled(head, here)
        gone = self._by_commits(head)
        return self._untold() if self.history.is_over and gone == MISSING else gone

    def _untold(self) -> Gone:
        """Where git says nothing: all that is known is which branch each was on."""
        elsewhere = self._anchor.checkout_branch and self._branch and self._branch != self._anchor.checkout_branch
        return ABSENT if elsewhere else MISSING

    def _unfiled(self, head: str, here: Standing) -> Gone:
        """The commit has it, the working tree does not: moved or deleted, and not committed."""
        self.by_index = True
        to = Unfiled(self.history, self._root, self._anchor).place_of(head, here)
        return Gone("anchor_renamed", to) if to else MISSING

    def _by_commits(self, head: str) -> Gone:
        """The commit has it no more, or never had it."""
        asked, anchor = self.history, self._anchor
        base = asked.commit(anchor.commit)
        parting = asked.merge_base(base, head) if base else ""
        was_common = bool(parting) and asked.at(parting, anchor.path).is_file
        if base and was_common and parting == base:
            return self._went(parting, base, head) or MISSING
        came = self._went(parting, base, head) if base and not was_common else None  # by a squash, and went since
        if came is not None:
            return came
        if anchor.checkout_branch not in ("", self._branch) and asked.stands_on(anchor.checkout_branch, anchor.path):
            return ABSENT
        went = self._went(parting, base, head)
        if went is None and not base and asked.is_shallow():
            return self._untold()
        return went or (ABSENT if base and self._is_beyond(base, parting, head) else MISSING)

    def _went(self, parting: str, base: str, head: str) -> Gone | None:
        """Where the file went in this history; None where it never was in it, as far as that is known."""
        gone = self._followed(parting, head)
        if gone in (None, MISSING) and base:
            return self._apart(base, head) or gone
        return gone

    def _is_beyond(self, base: str, parting: str, head: str) -> bool:
        """Whether the file is part of another branch than this one, or of a later commit than the one that is checked out."""
        is_later = not self._branch and parting == head and self.history.at(base, self._anchor.path).is_file
        return is_later or self.history.stands_beyond(base, self._anchor.path)

    def _followed(self, since: str, head: str) -> Gone | None:
        """Where the history from ``since`` on leads; None where it never took the file away."""
        path = self._anchor.path
        for hop in range(limits.RENAME_HOPS_MAX):
            turned = self.history.taken_away(path, since, head)
            if turned is None:
                return MISSING if hop else None
            if not turned.to:
                return MISSING
            path, since = turned.to, turned.commit
            here = self.history.at(head, path)
            if here.is_file:
                return self._at(head, here)
        return MISSING

    def _apart(self, base: str, head: str) -> Gone | None:
        """Where two commits, compared with nothing between them, say that the file went: a squashed or a rebased rename."""
        to = self.history.moved(self._anchor.path, BETWEEN, (base, head), limits.RENAME_APART_LIKE_PERCENT)
        here = self.history.at(head, to) if to else Standing()
        return self._at(head, here) if here.is_file else None

    def _at(self, head: str, here: Standing) -> Gone:
        """A file of the commit that the anchor's became: where it is in the working tree."""
        path = told_path(here.path)
        if os.path.lexists(located(str(self._root), path)):
            return Gone("anchor_renamed", path)
        return self._unfiled(head, here)
