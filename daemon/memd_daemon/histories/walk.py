"""A repository's history along first parents, read with git and never written: no checkout, nothing of its settings is run.

A **step** is a commit on the first-parent chain of HEAD, the oldest first; a merge counts as one step with all that it brought in.
What a step wrote comes from git's own comparison with the step before (`-M`: a file of which at least half stayed is a rename).
"""

import contextlib
import subprocess
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from memd_daemon.ground.repository import git, harmless
from memd_daemon.histories.truth import language_of

HISTORY_DEADLINE_S: Final = 600.0  # git compares every step, with renames
TREE_DEADLINE_S: Final = 60.0
RENAMES_COMPARED_MAX: Final = 1_000  # files a side and step, as git's own default
SOURCE_MAX_BYTES: Final = 256 * 1_024  # a longer file was made by a program
NOT_ITS_OWN: Final = frozenset({"vendor", "node_modules", "third_party"})  # folders of other projects' code
_REGULAR: Final = ("100644", "100755")


class NoHistory(Exception):
    """There is no git history there that can be read."""


class Change(NamedTuple):
    """What a step did to a file: ``path`` before and ``to`` after ("" where it was not or is no more), the content's id after."""

    path: str
    to: str
    oid: str


class Stood(NamedTuple):
    """A source file in a step's tree."""

    oid: str
    size: int


class Followed(NamedTuple):
    """What became of a file some steps later: where it is and its content's id, "" where it is gone; whether any step wrote it."""

    path: str
    oid: str
    is_written: bool


def is_source(path: str) -> bool:
    """Whether notes are imagined in it: a language that truth is known in, of the project itself."""
    return bool(language_of(path)) and NOT_ITS_OWN.isdisjoint(path.split("/"))


class History:
    """The steps of the repository at ``root``, which may be bare. Raises NoHistory."""

    def __init__(self, root: str) -> None:
        self._root = root
        told = git(root, *_LOG, deadline_s=HISTORY_DEADLINE_S)
        if not told:
            raise NoHistory
        self.steps: list[str] = []
        self.changes: list[list[Change]] = []
        for commit, changes in _steps(told):
            self.steps.append(commit)
            self.changes.append(changes)
        self._blobs: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        if self._blobs is not None and self._blobs.stdin and self._blobs.stdout:
            with contextlib.suppress(OSError):
                self._blobs.stdin.close()
            self._blobs.wait()
            self._blobs.stdout.close()

    def tree(self, number: int) -> dict[str, Stood]:
        """The source files after a step, by path."""
        told = git(
            self._root, "ls-tree", "-r", "-z", "-l", "--full-tree", self.steps[number], deadline_s=TREE_DEADLINE_S
        )
        found = {}
        for line in filter(None, (told or "").split("\0")):
            what, _, path = line.partition("\t")
            mode, _, oid, size = what.split()
            if mode in _REGULAR and size.isdecimal() and int(size) <= SOURCE_MAX_BYTES and is_source(path):
                found[path] = Stood(oid, int(size))
        return found

    def content(self, oid: str) -> bytes | None:
        """A content; None where the repository lacks it."""
        if self._blobs is None:
            command, environ = harmless(self._root, "cat-file", "--batch")
            self._blobs = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ
            )
        asked, answered = self._blobs.stdin, self._blobs.stdout
        if asked is None or answered is None:
            raise NoHistory
        asked.write(oid.encode() + b"\n")
        asked.flush()
        told = answered.readline().split()
        if len(told) != len(("oid", "type", "size")):  # "missing"
            return None
        content = answered.read(int(told[2]) + 1)
        return content[:-1]

    def written(self, number: int, steps: int) -> set[str]:
        """The source files that any of the next ``steps`` steps wrote, by the path they had then."""
        return {one.path for changes in self._next(number, steps) for one in changes if is_source(one.path)}

    def followed(self, number: int, steps: int, files: dict[str, Stood]) -> dict[str, Followed]:
        """What becomes of these files in the next ``steps`` steps. A path that is taken away and comes back is the same file."""
        now = {path: Followed(path, stood.oid, is_written=False) for path, stood in files.items()}
        at = {path: path for path in files}  # by the present path
        for changes in self._next(number, steps):
            moved = [(at.pop(one.path), one) for one in changes if one.path in at]
            for path, one in moved:
                now[path] = Followed(one.to or one.path, one.oid, is_written=True)
            gone = {one.to: path for path, one in moved if one.to}
            back = {one.path: path for path, one in moved if not one.to}
            at |= {place: path for place, path in back.items() if place not in at} | gone
            for one in changes:
                if not one.path and one.to in at and not now[at[one.to]].oid:
                    now[at[one.to]] = Followed(one.to, one.oid, is_written=True)
        return now

    def _next(self, number: int, steps: int) -> list[list[Change]]:
        return self.changes[number + 1 : number + 1 + steps]


_LOG: Final = (
    "log",
    "--first-parent",
    "-m",
    "--reverse",
    "--raw",
    "-z",
    "--no-abbrev",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=all",
    "-M",
    f"-l{RENAMES_COMPARED_MAX}",
    "--format=%x01%H",
    "HEAD",
)


def _steps(told: str) -> Iterator[tuple[str, list[Change]]]:
    for step in told.split("\x01")[1:]:
        fields = step.split("\0")
        yield fields[0].strip(), list(_changes(iter(fields[1:])))


def _changes(fields: Iterator[str]) -> Iterator[Change]:
    for field in fields:
        words = field.strip("\n").split()
        if not field.lstrip("\n").startswith(":"):
            continue
        mode, oid, status = words[1], words[3], words[4]
        path = next(fields)
        if status[0] in "RC":
            yield Change(path if status[0] == "R" else "", next(fields), oid)
        elif status[0] == "A":
            yield Change("", path, oid)
        else:
            is_gone = status[0] == "D" or mode not in _REGULAR
            yield Change(path, "" if is_gone else path, "" if is_gone else oid)


def total(files: Iterable[Stood]) -> int:
    """Their bytes."""
    return sum(one.size for one in files)
