"""Which rules of policy files go into a bundle: in their order, each whole, as many as there is room for.

They come before any note, and nothing that a session or a note says takes one out: only the room does, and then it is named. A rule
of high priority goes first, then the files in their order (the system's, then the home's, each by name), then the rules of a file.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from memd_daemon.frames import policy
from memd_daemon.limits import LEFT_OUT_IDS_MAX
from memd_daemon.model.words import Priority

_RANKS: Final = {str(priority): -priority.rank for priority in Priority}


class Rule(NamedTuple):
    """A rule that holds here, as it goes out. ``file``: its place in the order of files."""

    file: int
    name: str
    number: int
    priority: str
    text: str

    @property
    def place(self) -> tuple[int, int, int]:
        return _RANKS.get(self.priority, 0), self.file, self.number


class Room(NamedTuple):
    """What a block may cost, in both measures."""

    cost: Callable[[str], int]
    tokens: int
    units: Callable[[str], int]
    cap_units: int

    def holds(self, text: str) -> bool:
        return self.cost(text) <= self.tokens and self.units(text) <= self.cap_units


def packed(rules: Sequence[Rule], room: Room) -> str:
    """The block of these rules that fits; "" where there is none, or where not even the count of what is left out fits."""
    rules = sorted(rules, key=lambda rule: rule.place)
    if not rules:
        return ""
    if room.holds(everything := policy.block([rule.text for rule in rules])):
        return everything
    taken = _taken(rules, room)
    while True:
        for named in range(LEFT_OUT_IDS_MAX, -1, -1):
            left = [(rule.name, rule.number) for rule in rules if rule not in taken]
            text = policy.block([rule.text for rule in taken], left, named)
            if room.holds(text):
                return text
        if not taken:
            return ""
        taken.pop()


def _taken(rules: Sequence[Rule], room: Room) -> list[Rule]:
    """The rules that fit one after the other, while room is kept for naming all of them; a smaller one after one that did not may
    still go in."""
    ends = policy.opening(len(rules)), policy.closing([(rule.name, rule.number) for rule in rules])
    tokens, units = (sum(measure(end) + 1 for end in ends) for measure in (room.cost, room.units))
    taken = []
    for rule in rules:
        more_tokens, more_units = room.cost(rule.text) + 1, room.units(rule.text) + 1
        if tokens + more_tokens <= room.tokens and units + more_units <= room.cap_units:
            taken.append(rule)
            tokens, units = tokens + more_tokens, units + more_units
    return taken
