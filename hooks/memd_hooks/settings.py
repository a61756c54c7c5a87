"""memd's groups in a client's settings text, and the permissions that a person gave its tools: put in, found again, taken out.

The shape is Claude Code's, ``{"hooks": {EVENT: [{"matcher": …, "hooks": [{"type": "command", "command": …, "timeout": …}]}]}}``.
A hook is memd's when its command is one of memd's lines for this home, wherever a person has moved it to.
"""

import copy
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec

from memd_hooks import jsonc

Path = tuple[str, ...]

ALLOW: Path = ("permissions", "allow")


class Group(msgspec.Struct, frozen=True):
    """One group as memd writes it: the client's event, the matcher (None: left out), the command, its timeout in seconds."""

    event: str
    matcher: str | None
    command: str
    timeout_s: int

    def data(self) -> dict[str, Any]:
        """The group as it stands in the settings. An empty matcher would make Copilot reject a whole file."""
        hook = {"type": "command", "command": self.command, "timeout": self.timeout_s}
        return {"hooks": [hook]} if self.matcher is None else {"matcher": self.matcher, "hooks": [hook]}


class WrongShape(ValueError):
    """The settings are JSON, but not settings: ``what`` stands at ``line``, ``column``."""

    def __init__(self, text: str, at: int, what: str) -> None:
        place = jsonc.Malformed(text, at, what)
        self.line, self.column, self.what = place.line, place.column, what
        super().__init__(str(place))


def merged(text: str, groups: Sequence[Group], permissions: Sequence[str] = ()) -> tuple[str, tuple[Path, ...]]:
    """``text`` with ``groups`` and ``permissions`` put in, and the paths of what had to be made to hold them.

    An empty text counts as ``{}``.

    Raises Malformed, WrongShape.
    """
    made: list[Path] = []
    if _is_blank(text):
        text, made = text + "{}\n", [()]
    check(text)
    wanted = copy.deepcopy(jsonc.parse(text).data)
    for permission in permissions:
        text = _with_boxes(text, (("permissions",), {}), (ALLOW, []), made)
        text = jsonc.add(text, ALLOW, permission)
        wanted.setdefault("permissions", {}).setdefault("allow", []).append(permission)
    for group in groups:
        text = _with_boxes(text, (("hooks",), {}), (("hooks", group.event), []), made)
        text = jsonc.add(text, ("hooks", group.event), group.data())
        wanted.setdefault("hooks", {}).setdefault(group.event, []).append(group.data())
    if jsonc.parse(text).data != wanted:
        raise AssertionError("the text that was put together does not mean what it should")
    return text, tuple(made)


def _with_boxes(text: str, outer: tuple[Path, Any], inner: tuple[Path, Any], made: list[Path]) -> str:
    """``text`` with the object and the array in it; what had to be made is noted in ``made``. Raises WrongShape."""
    for path, empty in (outer, inner):
        box = jsonc.find(jsonc.parse(text), path)
        if box is None:
            text = jsonc.add(text, path[:-1], empty, key=path[-1])
            made.append(path)
        elif not isinstance(box.data, type(empty)):
            raise WrongShape(
                text, box.start, f"`{'.'.join(path)}` should be {'an object' if empty == {} else 'a list'}"
            )
    return text


def stripped(text: str, commands: Collection[str], made: Iterable[Path], permissions: Collection[str] = ()) -> str:
    """``text`` without every hook whose command is one of ``commands``, its group when nothing else is in it, without
    ``permissions``, and without those of the ``made`` objects and arrays that are then empty. Raises Malformed, WrongShape."""
    check(text)
    if _is_blank(text):
        return text
    while (path := _first(jsonc.parse(text).data, commands)) is not None:
        text = jsonc.remove(text, path)
    for permission in permissions:
        there = allowed(text)
        if permission in there:
            text = jsonc.remove(text, (*ALLOW, there.index(permission)))
    for path in sorted(made, key=len, reverse=True):
        value = jsonc.find(jsonc.parse(text), path) if path else None
        if value is not None and not value.data:
            text = jsonc.remove(text, path)
    return text


def standing(text: str, commands: Collection[str]) -> list[Group]:
    """memd's hooks in ``text``, as groups; a timeout that was taken away counts as 0. Raises Malformed, WrongShape."""
    check(text)
    if _is_blank(text):
        return []
    return [
        Group(event, group.get("matcher"), hook["command"], hook.get("timeout", 0))
        for event, groups in jsonc.parse(text).data.get("hooks", {}).items()
        for group in groups
        for hook in _hooks(group)
        if _is_ours(hook, commands)
    ]


def allowed(text: str) -> list[Any]:
    """What the client may do without asking. Raises Malformed."""
    found = None if _is_blank(text) else jsonc.find(jsonc.parse(text), ALLOW)
    return found.data if found is not None and isinstance(found.data, list) else []


def missing(there: Iterable[Group], wanted: Iterable[Group]) -> list[Group]:
    """Those of ``wanted`` that are not ``there``, told by event and command: a matcher and a timeout are a person's to change.

    A line may stand for two things, one matcher for each; then it has to be there twice.
    """
    left = Counter((group.event, group.command) for group in there)
    lacking = []
    for group in wanted:
        left[group.event, group.command] -= 1
        if left[group.event, group.command] < 0:
            lacking.append(group)
    return lacking


def check(text: str) -> None:
    """Raises Malformed or WrongShape unless ``text`` can hold hooks; one with nothing in it can."""
    if _is_blank(text):
        return
    root = jsonc.parse(text)
    if not isinstance(root.data, dict):
        raise WrongShape(text, root.start, "settings are one object in braces")
    hooks = jsonc.find(root, ("hooks",))
    if hooks is None:
        return
    if not isinstance(hooks.data, dict):
        raise WrongShape(text, hooks.start, "`hooks` is an object of events")
    for child in hooks.children:
        if not isinstance(child.value.data, list):
            raise WrongShape(text, child.value.start, f"`{child.key}` is a list of groups")


def _is_blank(text: str) -> bool:
    return not text.strip("\ufeff \t\r\n")


def _first(data: dict[str, Any], commands: Collection[str]) -> tuple[str | int, ...] | None:
    """The path of memd's first hook, or of its whole group when the group holds nothing else."""
    for event, groups in data.get("hooks", {}).items():
        for i, group in enumerate(groups):
            hooks = _hooks(group)
            ours = [j for j, hook in enumerate(hooks) if _is_ours(hook, commands)]
            if ours:
                whole = ("hooks", event, i)
                return whole if len(hooks) == 1 else (*whole, "hooks", ours[0])
    return None


def _hooks(group: Any) -> list[Any]:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return hooks if isinstance(hooks, list) else []


def _is_ours(hook: Any, commands: Collection[str]) -> bool:
    command = hook.get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and command in commands
