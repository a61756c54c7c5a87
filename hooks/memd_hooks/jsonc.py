"""JSON with comments as text: where each value stands, and how one is put in or taken out with no other byte touched.

What is read: JSON, with ``//`` and ``/* */`` comments, trailing commas and a byte order mark. ``add`` only inserts, in the style
that it finds (indentation, line ends, on one line or on many); ``remove`` takes away what ``add`` put in, and the comma that
went with it. A comment stays where it is. A key that stands twice means its last value, as in JavaScript.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec

Step = str | int
_SCALAR = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null', re.DOTALL)
_SPACE = re.compile(r"[ \t\r\n]*")
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_INDENT = re.compile(r"[ \t]*")


class Malformed(ValueError):
    """Not JSON: ``what`` is wrong at ``line``, ``column`` (both from 1)."""

    def __init__(self, text: str, at: int, what: str) -> None:
        self.line = text.count("\n", 0, at) + 1
        self.column = at - (text.rfind("\n", 0, at) + 1) + 1
        self.what = what
        super().__init__(f"line {self.line}, column {self.column}: {what}")


class Value(msgspec.Struct):
    """One value in the text: ``data`` is what it means, ``[start, end)`` where it stands."""

    data: Any
    start: int
    end: int
    children: "list[Child]" = []
    tail: int = 0  # of an object or array: where the blank space before its closing bracket begins


class Child(msgspec.Struct):
    """One member or element: its key ("" in an array), where it and the blank space before it begin, its value, its comma."""

    key: str
    lead: int
    start: int
    value: Value
    comma: int = -1  # -1: none


def parse(text: str) -> Value:
    """The whole text as one value. Raises Malformed."""
    try:
        return _Reader(text).document()
    except RecursionError:
        raise Malformed(text, 0, "nested too deeply") from None


def find(root: Value, path: Sequence[Step]) -> Value | None:
    """The value at ``path`` (keys and indices), None when there is none."""
    value = root
    for step in path:
        index = _index(value, step)
        if index is None:
            return None
        value = value.children[index].value
    return value


def add(text: str, path: Sequence[Step], data: Any, key: str = "") -> str:
    """``text`` with ``data`` put in as the last member ``key`` of the object, or the last element of the array, at ``path``."""
    root = parse(text)
    box = find(root, path)
    if box is None or not isinstance(box.data, dict | list):
        raise LookupError("there is no object or array at this path")
    last = box.children[-1] if box.children else None
    piece = (
        _on_many_lines(text, root, box, data, key) if _has_many_lines(text, root, box) else _on_one_line(box, data, key)
    )
    edits = [(last.value.end, last.value.end, ",")] if last and last.comma < 0 else []
    return _edited(text, [*edits, (box.tail, box.tail, piece)])


def remove(text: str, path: Sequence[Step]) -> str:
    """``text`` without the member or element at ``path``; an object or array left with nothing in it closes up."""
    box = find(parse(text), path[:-1])
    index = None if box is None else _index(box, path[-1])
    if box is None or index is None:
        raise LookupError("there is nothing at this path")
    child = box.children[index]
    if child.comma >= 0:
        return _edited(text, [(child.lead, child.comma + 1, "")])
    if index > 0:
        comma = box.children[index - 1].comma
        return _edited(text, [(comma, comma + 1, ""), (child.lead, child.value.end, "")])
    is_alone = child.lead == box.start + 1 and box.tail == child.value.end
    return _edited(text, [(box.start + 1, box.end - 1, "") if is_alone else (child.lead, child.value.end, "")])


def _index(value: Value, step: Step) -> int | None:
    if isinstance(step, int):
        return step if isinstance(value.data, list) and step < len(value.children) else None
    found = [i for i, child in enumerate(value.children) if child.key == step] if isinstance(value.data, dict) else []
    return found[-1] if found else None


def _edited(text: str, edits: list[tuple[int, int, str]]) -> str:
    pieces, at = [], 0
    for start, end, new in edits:
        pieces += [text[at:start], new]
        at = end
    return "".join([*pieces, text[at:]])


def _has_many_lines(text: str, root: Value, box: Value) -> bool:
    """Whether something new in ``box`` gets lines of its own: as its neighbours have, else as the file has, else yes."""
    if box.start == root.start and not box.children:
        return True
    model = box if box.children else root
    return "\n" in text[model.start : model.end]


def _on_one_line(box: Value, data: Any, key: str) -> str:
    return (" " if box.children else "") + _member(key) + json.dumps(data, ensure_ascii=False)


def _on_many_lines(text: str, root: Value, box: Value, data: Any, key: str) -> str:
    line_end = "\r\n" if "\r\n" in text else "\n"
    outer = _line_indent(text, box.start)
    unit = _own_line_indent(text, root.children[0].start) if root.children else None
    unit = unit or "  "
    inner = _own_line_indent(text, box.children[-1].start) if box.children else None
    inner = outer + unit if inner is None else inner
    body = json.dumps(data, ensure_ascii=False, indent=unit).replace("\n", line_end + inner)
    closes = "" if "\n" in text[box.tail : box.end] else line_end + outer
    return line_end + inner + _member(key) + body + closes


def _member(key: str) -> str:
    return f"{json.dumps(key, ensure_ascii=False)}: " if key else ""


def _line_indent(text: str, at: int) -> str:
    match = _INDENT.match(text, text.rfind("\n", 0, at) + 1)
    return match.group() if match else ""


def _own_line_indent(text: str, at: int) -> str | None:
    """The indentation of what begins its line at ``at``; None when something stands before it."""
    before = text[text.rfind("\n", 0, at) + 1 : at]
    return before if "\n" in text[:at] and not before.strip(" \t") else None


class _Reader:
    """A recursive descent over the text, which keeps positions."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 1 if text.startswith("\ufeff") else 0

    def document(self) -> Value:
        self.blank()
        value = self.value()
        self.blank()
        if self.at < len(self.text):
            raise self.wrong("the end was expected")
        return value

    def value(self) -> Value:
        opener = self.text[self.at : self.at + 1]
        if opener == "{":
            return self.box("}", self.member)
        if opener == "[":
            return self.box("]", lambda: ("", self.value()))
        return self.scalar()

    def scalar(self) -> Value:
        start = self.at
        match = _SCALAR.match(self.text, start)
        if not match:
            raise self.wrong("a value was expected")
        try:
            data = json.loads(match.group())
        except ValueError:
            raise self.wrong("not a string or number of JSON") from None
        self.at = match.end()
        return Value(data, start, self.at)

    def box(self, closer: str, child: Any) -> Value:
        start = self.at
        self.at += 1
        children: list[Child] = []
        lead = self.blank()
        while self.text[self.at : self.at + 1] != closer:
            if children and children[-1].comma < 0:
                raise self.wrong(f"a comma or {closer} was expected")
            begins = self.at
            key, value = child()
            children.append(Child(key, lead, begins, value))
            lead = self.blank()
            if self.text[self.at : self.at + 1] == ",":
                children[-1].comma = self.at
                self.at += 1
                lead = self.blank()
        self.at += 1
        values = [c.value.data for c in children]
        data: Any = values if closer == "]" else dict(zip((c.key for c in children), values, strict=True))
        return Value(data, start, self.at, children, lead)

    def member(self) -> tuple[str, Value]:
        key = self.scalar() if self.text[self.at : self.at + 1] == '"' else None
        if key is None:
            raise self.wrong("a key in double quotes was expected")
        self.blank()
        if self.text[self.at : self.at + 1] != ":":
            raise self.wrong("a colon was expected")
        self.at += 1
        self.blank()
        return key.data, self.value()

    def blank(self) -> int:
        """Steps over blank space and comments; returns where the last of the blank space begins."""
        while True:
            lead = self.at
            space = _SPACE.match(self.text, lead)
            self.at = space.end() if space else lead
            comment = _COMMENT.match(self.text, self.at)
            if not comment:
                return lead
            self.at = comment.end()

    def wrong(self, what: str) -> Malformed:
        found = repr(self.text[self.at]) if self.at < len(self.text) else "the end of the file"
        return Malformed(self.text, self.at, f"{what}, not {found}")
