"""Notes imagined in a history, and what became of them: one round after another, the same for the same seed.

A round is a step of the history and a distance. Its notes are on functions of files that one of the steps in between wrote: in a
file that nobody wrote nothing is flagged by any anchor and no function has changed, so such a note tells nothing. Files are
drawn with a weight of their bytes, functions of a file evenly.

Truth of a note, after the file was followed through renames:

    ""        the words of the function of that name are what they were
    changed   they are others
    moved     no function of that name is in the file: it has another name, or is in another file, or is gone
    gone      the file is no more
"""

import random
from collections import Counter
from typing import Final

import msgspec

from memd_daemon.histories import flags, truth
from memd_daemon.histories.flags import Noted, Sources, Unnamed
from memd_daemon.histories.truth import Function, Unreadable
from memd_daemon.histories.walk import Followed, History, Stood, total

DISTANCES: Final = (1, 5, 20, 100)
CONTENTS_READ_MAX: Final = 2_000

Functions = tuple[Function, ...]


class Round(msgspec.Struct, frozen=True):
    """So many notes at one step, looked at ``distance`` steps later."""

    distance: int
    number: int
    notes: int


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """A note and what became of it. ``left_out``: why it counts nowhere (ambiguous, unreadable, unnamed); "" where it counts."""

    distance: int
    commit: str  # at which the note was written
    later: str  # at which it was looked at
    path: str
    name: str
    language: str
    now_path: str = ""  # "" where the file is gone
    truth: str = ""
    signals: dict[str, str] = {}
    left_out: str = ""


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """What a round brought: its notes, and the bytes of source that stood there, in all files and in those written later."""

    distance: int
    observed: list[Observed]
    source_bytes: int
    written_bytes: int


class Trial:
    """The rounds on a repository: for each distance ``commits`` of them with ``notes`` in all. Raises NoHistory."""

    def __init__(self, root: str, notes: int, commits: int, seed: int) -> None:
        self._history = History(root)
        self._seed = seed
        self._sources = Sources()
        self._read: dict[tuple[str, str], Functions | None] = {}
        self.head = self._history.steps[-1]
        self.steps = len(self._history.steps)
        self.rounds = [one for distance in DISTANCES for one in self._drawn(distance, notes, commits)]

    def close(self) -> None:
        self._history.close()

    def _drawn(self, distance: int, notes: int, commits: int) -> list[Round]:
        """At steps after which a source file was written in time, drawn evenly."""
        possible = [n for n in range(self.steps - distance) if self._history.written(n, distance) - {""}]
        drawn = sorted(self._chance(distance).sample(possible, min(commits, len(possible))))
        return [Round(distance, number, -(-notes // len(drawn))) for number in drawn]

    def _chance(self, *of: int) -> random.Random:
        return random.Random(f"{self._seed} {of}")  # noqa: S311 -- a sample that can be drawn again

    def run(self, round_: Round) -> Done:
        """One round."""
        tree = self._history.tree(round_.number)
        written = {
            path: tree[path] for path in sorted(self._history.written(round_.number, round_.distance) & set(tree))
        }
        became = self._history.followed(round_.number, round_.distance, written)
        observed = [
            self._observed(round_, path, written[path], function, twice, became[path])
            for path, function, twice in self._notes(round_, written)
        ]
        return Done(
            distance=round_.distance,
            observed=observed,
            source_bytes=total(tree.values()),
            written_bytes=total(written.values()),
        )

    def _notes(self, round_: Round, files: dict[str, Stood]) -> list[tuple[str, Function, bool]]:
        """(path, function, whether another one of its file has its name) of this round's notes, none twice."""
        chance = self._chance(round_.distance, round_.number)
        left = dict(files)
        drawn: dict[str, list[Function]] = {}
        notes: list[tuple[str, Function, bool]] = []
        while left and len(notes) < round_.notes:
            (path,) = chance.choices(list(left), [one.size + 1 for one in left.values()])
            functions = self._functions(path, files[path].oid) or ()
            if path not in drawn:
                drawn[path] = chance.sample(functions, len(functions))
            if drawn[path]:
                one = drawn[path].pop()
                notes.append((path, one, _times(functions, one.name) > 1))
            else:
                del left[path]
        return notes

    def _observed(
        self, round_: Round, path: str, stood: Stood, function: Function, twice: bool, became: Followed
    ) -> Observed:
        steps = self._history.steps
        seen = Observed(
            distance=round_.distance,
            commit=steps[round_.number],
            later=steps[round_.number + round_.distance],
            path=path,
            name=function.name,
            language=truth.language_of(path),
            now_path=became.path if became.oid else "",
        )
        try:
            if twice:
                raise _Ambiguous
            what = self._truth(function, became)
            signals = self._signals(function, path, stood, became)
        except (_Ambiguous, Unreadable, Unnamed) as why:
            return msgspec.structs.replace(seen, left_out=_LEFT_OUT[type(why)])
        return msgspec.structs.replace(seen, truth=what, signals=signals)

    def _truth(self, function: Function, became: Followed) -> str:
        """See the module's docstring. Raises Unreadable, _Ambiguous."""
        if not became.oid:
            return "gone"
        functions = self._functions(became.path, became.oid)
        if functions is None:
            raise Unreadable
        if _times(functions, function.name) > 1:
            raise _Ambiguous
        for one in functions:
            if one.name == function.name:
                return "" if one.code == function.code else "changed"
        return "moved"

    def _signals(self, function: Function, path: str, stood: Stood, became: Followed) -> dict[str, str]:
        """Raises Unnamed, Unreadable."""
        content = self._content(stood.oid)
        noted = Noted(self._sources.of(path, stood.oid, content), content, path, function)
        if not became.oid:
            return flags.gone()
        if became.oid == stood.oid:
            return flags.unchanged(became.is_written)
        now = self._content(became.oid)
        return noted.flagged(self._sources.of(became.path, became.oid, now), now, became.is_written)

    def _content(self, oid: str) -> bytes:
        content = self._history.content(oid)
        if content is None:
            raise Unreadable
        return content

    def _functions(self, path: str, oid: str) -> Functions | None:
        """Those of a content, read once; None where it is unreadable."""
        key = (truth.language_of(path), oid)
        if key not in self._read:
            if len(self._read) >= CONTENTS_READ_MAX:
                self._read.clear()
            try:
                self._read[key] = truth.functions(path, self._content(oid))
            except Unreadable:
                self._read[key] = None
        return self._read[key]


class _Ambiguous(Exception):
    """More than one function of the file has the name."""


_LEFT_OUT: Final = {_Ambiguous: "ambiguous", Unreadable: "unreadable", Unnamed: "unnamed"}


def _times(functions: Functions, name: str) -> int:
    return Counter(one.name for one in functions)[name]
