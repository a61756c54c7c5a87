"""What git knows of a path: where it stands, how it went, on which branches it is. Off the hook path only.

Trees, commits and the index are compared, never the content of the working tree: to compare that, git would run the filters that
a repository's settings name. All questions of one look share one time; past it, as where git is missing or fails, the answer is
that nothing is known. Paths are literal, from the root; notes spell them NFC, a tree may hold one decomposed.
"""

import os
import re
import threading
import time
import unicodedata
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from memd_daemon import limits
from memd_daemon.ground.repository import clean, git

_HEX: Final = re.compile(r"[0-9a-f]{7,64}")
_TREE_LINE: Final = re.compile(r"[0-7]+ (\w+) ([0-9a-f]+)\t(.*)", re.DOTALL)
_GITLINK: Final = "commit"
_SCORED: Final = "RC"


class Standing(msgspec.Struct, frozen=True):
    """What a commit's tree has at a path. ``kind``: "blob"; "commit" inside a submodule; "tree"; "" for nothing."""

    kind: str = ""
    blob: str = ""
    path: str = ""  # as the tree spells it

    @property
    def is_file(self) -> bool:
        return self.kind == "blob"


class Change(msgspec.Struct, frozen=True):
    """One row of a comparison. ``score``: likeness in percent, of renames and copies."""

    status: str
    old_blob: str
    new_blob: str
    old: str
    new: str = ""
    score: int = 0


class Turned(msgspec.Struct, frozen=True):
    """What became of a path that went. ``commit``: which one took it away; ``to``: where it went, "" where that is not known."""

    commit: str
    to: str = ""


class Told:
    """What git said to questions about commits by their full names: it would say so again. Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._told: OrderedDict[tuple[str, ...], str] = OrderedDict()
        self._bytes = 0

    def get(self, question: tuple[str, ...]) -> str | None:
        with self._lock:
            if question in self._told:
                self._told.move_to_end(question)
            return self._told.get(question)

    def put(self, question: tuple[str, ...], answer: str) -> None:
        if len(answer) > limits.GIT_TOLD_MAX_BYTES:
            return
        with self._lock:
            self._bytes += len(answer) - len(self._told.get(question, ""))
            self._told[question] = answer
            while self._bytes > limits.GIT_TOLD_KEPT_BYTES or len(self._told) > limits.RENAMES_KNOWN_MAX:
                self._bytes -= len(self._told.popitem(last=False)[1])


class History:
    """Questions to the repository of one checkout, until ``until_ns`` (monotonic)."""

    def __init__(self, root: Path, until_ns: int, told: Told | None = None) -> None:
        self._root = str(root)
        self._until_ns = until_ns
        self._told = told or Told()

    @property
    def is_over(self) -> bool:
        """Whether there was no time for all the questions."""
        return time.monotonic_ns() >= self._until_ns

    def ask(self, *words: str) -> str | None:
        """What git prints; None where it fails, or there is no time."""
        left_ns = self._until_ns - time.monotonic_ns()
        if left_ns <= 0:
            return None
        left_s = left_ns / (limits.NS_PER_MS * limits.MS_PER_S)
        return git(self._root, "--literal-pathspecs", *words, deadline_s=left_s)

    def fixed(self, *words: str) -> str:
        """Likewise of a question whose commits are named in full; "" where git fails. Asked once."""
        question = (self._root, *words)
        told = self._told.get(question)
        if told is None:
            told = self.ask(*words)
            if told is not None:
                self._told.put(question, told)
        return told or ""

    def head(self) -> str:
        """The commit that is checked out; "" before the first."""
        return (self.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}") or "").strip()

    def commit(self, name: str) -> str:
        """The full name of a commit that is here; "" of any other, and of what is no commit's name."""
        known = _HEX.fullmatch(name) and self.ask("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        return (known or "").strip()

    def merge_base(self, one: str, other: str) -> str:
        """The newest commit that both come from; "" where there is none."""
        return self.fixed("merge-base", one, other).strip()

    def at(self, commit: str, path: str) -> Standing:
        """What the commit's tree has there."""
        for name in spelled(path):
            told = self.fixed("ls-tree", "-z", commit, "--", *_above(name), name)
            rows = (_TREE_LINE.fullmatch(row) for row in told.split("\0"))
            found = [Standing(row[1], row[2], row[3]) for row in rows if row]
            for one in found:
                if one.path == name or one.kind == _GITLINK:
                    return one
        return Standing()

    def is_shallow(self) -> bool:
        """Whether the history ends where a clone was cut off."""
        return (self.ask("rev-parse", "--is-shallow-repository") or "").strip() == "true"

    def is_left_out(self, path: str) -> bool:
        """Whether a sparse checkout leaves the file out."""
        return (self.ask("ls-files", "-t", "-z", "--", path) or "").startswith("S ")

    def taken_away(self, path: str, since: str, head: str) -> Turned | None:
        """Which commit up to ``head`` took the file away, and where to: the first one after ``since``; without it the newest."""
        span = (head, f"^{since}") if since else (head,)
        words = (
            f"--max-count={limits.RENAME_COMMITS_MAX if since else 1}",
            "--no-renames",
            "--diff-filter=D",
            "--format=%H",
        )
        found = self.fixed("log", *words, *span, "--", *spelled(path)).split()
        return Turned(found[-1], self.moved(path, BETWEEN, (f"{found[-1]}^", found[-1]))) if found else None

    def moved(
        self, path: str, command: Sequence[str], between: Sequence[str], least: int = limits.RENAME_LIKE_PERCENT
    ) -> str:
        """Where a comparison says that the file went; "" where it says nothing, or there is another place as likely."""
        changes = self.changes(command, between, least)
        names = spelled(path)
        told = next((c for c in changes if c.status == "R" and c.old in names), None)
        if told is None or self._is_too_small(told.old_blob):
            return ""
        alike = [c.new for c in changes if c.new and c.status in "RCA" and c.new_blob == told.old_blob]
        if alike:
            return likeliest(told.old, alike)
        rest = self._without(told.new, command, between, least)
        rivals = [
            c for c in rest if c.status == "R" and c.old == told.old and c.score + limits.RENAME_MARGIN > told.score
        ]
        return told.new if all(tail(told.old, c.new) < tail(told.old, told.new) for c in rivals) else ""

    def changes(self, command: Sequence[str], between: Sequence[str], least: int) -> list[Change]:
        """The rows of a comparison with its renames found."""
        words = (*command, *_FINDING, f"-M{least}%", *between)
        return list(_rows(self.fixed(*words) if command == BETWEEN else self.ask(*words) or ""))

    def _without(self, new: str, command: Sequence[str], between: Sequence[str], least: int) -> list[Change]:
        """The same comparison as if ``new`` were not there."""
        left_ns = self._until_ns - time.monotonic_ns()
        words = (*command, *_FINDING, f"-M{least}%", *between, "--", ".", f":(exclude,literal,top){new}")
        if left_ns <= 0:
            return []
        return list(_rows(git(self._root, *words, deadline_s=left_ns / (limits.NS_PER_MS * limits.MS_PER_S)) or ""))

    def _is_too_small(self, blob: str) -> bool:
        return self.size(blob) < limits.MOVED_FILE_MIN_BYTES

    def size(self, blob: str) -> int:
        """Bytes of a blob; 0 of one that is not here."""
        told = self.fixed("cat-file", "-s", blob).strip()
        return int(told) if told.isdigit() else 0

    def content(self, blob: str) -> bytes | None:
        """What a blob holds; None where it is not here, or is too large to be looked at."""
        if not 0 <= self.size(blob) <= limits.MOVED_FILE_MAX_BYTES:
            return None
        told = self.ask("cat-file", "blob", blob)
        return None if told is None else told.encode("utf-8", "surrogateescape")

    def stands_on(self, branch: str, path: str) -> bool:
        """Whether a branch, here or as a remote had it, has the file; committed, or in a working tree that it is checked out in."""
        wanted = (f"refs/heads/{branch}", f"refs/remotes/*/{branch}")
        return any(
            (tree and os.path.isfile(os.path.join(tree, path))) or self.at(tip, path).is_file
            for tip, tree in self._tips(wanted)
        )

    def stands_beyond(self, commit: str, path: str) -> bool:
        """Whether one of the branches that have the commit has the file."""
        tips = self._tips((f"--contains={commit}", "refs/heads", "refs/remotes"))
        return any(self.at(tip, path).is_file for tip in dict.fromkeys(tip for tip, _ in tips))

    def _tips(self, wanted: Sequence[str]) -> list[tuple[str, str]]:
        """(commit, working tree or "") of each branch."""
        shape = "--format=%(objectname)%00%(worktreepath)"
        told = self.ask("for-each-ref", f"--count={limits.RENAME_BRANCHES_MAX}", shape, *wanted) or ""
        rows = (line.partition("\0") for line in told.split("\n") if line)
        return [(tip, tree) for tip, _, tree in rows]

    def untracked(self) -> list[str]:
        """Files of the working tree that git does not know and was not told to ignore."""
        told = self.ask("ls-files", "--others", "--exclude-standard", "-z") or ""
        return [name for name in told.split("\0", limits.RENAME_UNTRACKED_MAX)[: limits.RENAME_UNTRACKED_MAX] if name]

    def versions(self, path: str, head: str, *, since: str = "") -> Iterator[tuple[str, str]]:
        """(commit, blob) of the contents that the path had up to ``head``, newest first; ``since``: and not of that commit."""
        how = ("--no-renames", "--raw", "--no-abbrev", "-z", "--diff-filter=AM", "--format=%x01%H")
        span = (f"--max-count={limits.RENAME_VERSIONS_MAX}", head, *([f"^{since}"] if since else []))
        told = self.fixed("log", *how, *span, "--", *spelled(path))
        for block in told.split("\x01")[1:]:
            commit, _, rows = block.partition("\0")
            for change in _rows(rows):
                yield commit.strip(), change.new_blob


BETWEEN: Final = ("diff-tree", "-r")
"""Compares two commits."""

STAGED: Final = ("diff-index", "--cached")
"""Compares a commit with the index."""

_FINDING: Final = ("--raw", "-z", "--no-abbrev", "--no-ext-diff", "--no-textconv", f"-l{limits.RENAME_PAIRS_MAX}")


def _rows(told: str) -> Iterator[Change]:
    """The rows of `--raw -z`: ``:mode mode blob blob STATUS``, a path, and of renames and copies another one."""
    words = iter(told.split("\0"))
    for word in words:
        parts = word.lstrip("\n").split(" ")
        if len(parts) != 5 or not parts[0].startswith(":"):
            continue
        status, old = parts[4][:1], next(words, "")
        score = parts[4][1:]
        new = next(words, "") if status in _SCORED else (old if status == "A" else "")
        yield Change(status, parts[2], parts[3], old, new, int(score) if score.isdigit() else 0)


def _above(path: str) -> list[str]:
    """The folders on the way to a path."""
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def spelled(path: str) -> tuple[str, ...]:
    """The ways in which a tree may spell an NFC path."""
    return tuple(dict.fromkeys((path, unicodedata.normalize("NFD", path))))


def tail(one: str, other: str) -> int:
    """How many parts two paths have in common at their ends."""
    count = 0
    for mine, its in zip(reversed(one.split("/")), reversed(other.split("/")), strict=False):
        if mine != its:
            break
        count += 1
    return count


def likeliest(old: str, places: Sequence[str]) -> str:
    """Which of equal contents is the one that was at ``old``: the one whose path ends most as it did; "" where two do."""
    best = max(tail(old, place) for place in places)
    found = [place for place in dict.fromkeys(places) if tail(old, place) == best]
    return found[0] if len(found) == 1 else ""


def told_path(path: str) -> str:
    """A path of git's as notes spell it."""
    return unicodedata.normalize("NFC", clean(path))
