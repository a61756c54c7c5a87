"""Files that the commit has and the working tree has not: where they went, without a commit that says so.

First what the index says (`git mv`). Then files that git does not know, or that were only added: one of the same content is the
file; else one that has the anchor's block as it was; else one that is mostly the same, as git counts it. Two places as likely are
none. Bounded in files and bytes, since nobody says how much lies about in a working tree.
"""

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from memd_daemon import errors, limits
from memd_daemon.ground.contents import Unreadable, is_below, read_below
from memd_daemon.ground.digests import lasting, unified
from memd_daemon.ground.history import STAGED, History, Standing, likeliest, told_path
from memd_daemon.ground.repository import unfollowed
from memd_daemon.ground.source import Source
from memd_daemon.ground.spelling import located
from memd_daemon.model.event import Anchor


class Unfiled:
    """Looks for one file of a commit in the working tree at ``root``."""

    def __init__(self, history: History, root: Path, anchor: Anchor) -> None:
        self._history, self._root, self._anchor = history, root, anchor

    def place_of(self, head: str, here: Standing) -> str:
        """Where it is now, from the root; "" where that is not known."""
        staged = self._history.moved(here.path, STAGED, (head,))
        if staged:
            return told_path(staged) if self._is_file(staged) else ""
        old = self._history.content(here.blob)
        if old is None or len(old) < limits.MOVED_FILE_MIN_BYTES:
            return ""
        return told_path(self._among(self._strange(head), here.path, old))

    def _strange(self, head: str) -> list[str]:
        """What stands in the working tree and not in the commit."""
        added = self._history.changes(STAGED, (head,), limits.RENAME_LIKE_PERCENT)
        return [*(change.new for change in added if change.status == "A"), *self._history.untracked()]

    def _among(self, names: Sequence[str], path: str, old: bytes) -> str:
        """Which of the files is the one that held ``old`` at ``path``; "" where none is, or two are."""
        same = [name for name in self._as_large(names, old) if self._is_equal(self._read(name), old)]
        if same:
            return likeliest(path, same)
        kin = list(islice(_kin(names, path), limits.RENAME_READ_MAX))
        read = {name: content for name in kin if (content := self._read(name)) is not None}
        blocks = [name for name, content in read.items() if self._has_block(name, content)]
        return likeliest(path, blocks) if blocks else _most_alike(read, old)

    def _as_large(self, names: Iterable[str], old: bytes) -> Iterator[str]:
        """Files that may hold the same: as large, or larger by a byte for each line where line ends differ."""
        ends = old.count(b"\n")
        found = (name for name in names if abs(self._size(name) - len(old)) in {0, ends})
        return islice(found, limits.RENAME_READ_MAX)

    def _is_equal(self, content: bytes | None, old: bytes) -> bool:
        if content is None:
            return False
        text = unified(content)
        return text == unified(old) or (self._anchor.form == "file" and lasting(text) == self._anchor.digest)

    def _has_block(self, name: str, content: bytes) -> bool:
        """Whether the anchor's symbol or lines stand in this content as they were."""
        if self._anchor.form not in ("symbol", "lines"):
            return False
        source = Source(name, content)
        try:
            block = source.block(self._anchor)
            return block is not None and source.is_same(self._anchor, block)
        except errors.NoGrammar:
            return False

    def _is_file(self, name: str) -> bool:
        return self._size(name) >= 0 and is_below(str(self._root), located(str(self._root), name))

    def _size(self, name: str) -> int:
        """Bytes of a regular file; -1 of anything else."""
        try:
            seen = os.lstat(located(str(self._root), name))
        except (OSError, ValueError):
            return -1
        return seen.st_size if stat.S_ISREG(seen.st_mode) else -1

    def _read(self, name: str) -> bytes | None:
        if not 0 <= self._size(name) <= limits.MOVED_FILE_MAX_BYTES:
            return None
        root = str(self._root)
        try:
            return read_below(root, located(root, name), limits.MOVED_FILE_MAX_BYTES, unfollowed)
        except (OSError, Unreadable):  # it has grown, or become something else
            return None


def _kin(names: Iterable[str], path: str) -> Iterator[str]:
    """Files of that name, then files of that kind."""
    name, (_, kind) = os.path.basename(path), os.path.splitext(path)
    listed = list(names)
    yield from (one for one in listed if os.path.basename(one) == name)
    yield from (one for one in listed if os.path.basename(one) != name and os.path.splitext(one)[1] == kind)


def _most_alike(read: dict[str, bytes], old: bytes) -> str:
    ranked = sorted(((likeness(old, content), name) for name, content in read.items()), reverse=True)
    if not ranked or ranked[0][0] < limits.RENAME_LIKE_PERCENT:
        return ""
    is_clear = len(ranked) == 1 or ranked[0][0] - ranked[1][0] >= limits.RENAME_MARGIN
    return ranked[0][1] if is_clear else ""


def likeness(one: bytes, other: bytes) -> int:
    """How much of the larger of two contents stands in both, in percent of its bytes, by lines."""
    mine, its = Counter(one.splitlines()), Counter(other.splitlines())
    common = sum((len(line) + 1) * count for line, count in (mine & its).items())
    whole = max(sum((len(line) + 1) * count for line, count in lines.items()) for lines in (mine, its))
    return common * limits.PERCENT // whole if whole else 0
