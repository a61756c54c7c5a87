"""The order inside a bundle (delivery.md, the table of kinds). Total: equal notes go by id, so equal inputs give equal bytes.

A start's bundle holds the rules first, then the tasks, then gotchas; revoked directives stand last.
"""

from collections.abc import Callable
from typing import Final

from memd_daemon.model.view import Weight
from memd_daemon.model.words import Kind, Priority
from memd_daemon.rules.situation import Candidate

_GROUPS: Final[dict[str, int]] = {Kind.DIRECTIVE: 0, Kind.TASK: 1, Kind.GOTCHA: 2, Kind.FINDING: 3, Kind.DECISION: 4}
_LAST: Final = len(_GROUPS)
_RANKS: Final = {str(priority): priority.rank for priority in Priority}

Place = tuple[int, float, int, int, int]


def place(one: Candidate) -> Place:
    """The candidate's sort key: group, two keys of its kind, then newest, then highest id."""
    view, note = one.view, one.view.note
    first, second = _KEYS.get(note.kind, _no_key)(one)
    return (_group(one), first, second, -note.created_at, -view.id)


def is_revoked_directive(one: Candidate) -> bool:
    return one.view.revoked and one.view.note.kind == Kind.DIRECTIVE


def _group(one: Candidate) -> int:
    return _LAST if is_revoked_directive(one) else _GROUPS.get(one.view.note.kind, _LAST)


def _rank(one: Candidate) -> int:
    return -_RANKS.get(one.view.note.priority, 0)


def _directive(one: Candidate) -> tuple[float, int]:
    return -max(one.view.weight, Weight.AGENT), _rank(one)


def _gotcha(one: Candidate) -> tuple[float, int]:
    view = one.view
    block = any(a.form != "file" for a in view.note.anchors if a.path == view.matched_path)
    return _rank(one), 0 if block else 1


def _finding(one: Candidate) -> tuple[float, int]:
    return -one.score, 0


def _no_key(one: Candidate) -> tuple[float, int]:
    return 0.0, 0


_KEYS: Final[dict[str, Callable[[Candidate], tuple[float, int]]]] = {
    Kind.DIRECTIVE: _directive,
    Kind.GOTCHA: _gotcha,
    Kind.FINDING: _finding,
}
