"""Every kind of note in every standing that it can come to, in one store; and when each is to arrive, written down from the page
(delivery.md), not from the code: `KEPT_BACK` is its own table.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final

from tests.service.desk import Desk, git, make_repo
from tests.service.test_people import Person

SESSION: Final = "s1"
OTHER_SESSION: Final = "s2"
FILE, OLD_FILE = "app.py", "old.py"

KINDS: Final = ("directive", "task", "gotcha", "finding", "decision")
PRIORITIES: Final = ("high", "medium", "low")
CLASSES: Final = ("human", "agent", "auto", "derived-auto")
STATES: Final = ("held", "revoked", "superseded", "archived", "closed", "stale")
SCOPES: Final = ("under-here", "under-elsewhere", "other-repo", "global", "this-session", "other-session")
MOMENTS: Final = (
    "session-start", "resume", "post-compaction", "prompt-submit", "read", "pre-edit", "subagent-start", "stop", "session-end",
)  # fmt: skip

FILE_MOMENTS: Final = ("read", "pre-edit")
AT: Final = {
    "directive": ("session-start", "post-compaction", "subagent-start"),
    "task": ("session-start", "post-compaction"),
    "gotcha": ("read", "pre-edit", "subagent-start"),
    "finding": ("prompt-submit",),
    "decision": (),
}


_ID: Final = re.compile(r"^\[(\d+)\] ", re.MULTILINE)


def told(text: str) -> list[int]:
    """Ids of the notes in a block, in its order."""
    return [int(id_) for id_ in _ID.findall(text)]


@dataclass(frozen=True)
class Cell:
    """One note of the matrix: what it is, and what befell it (``case``: a state here, or a scope while it is held)."""

    kind: str
    priority: str
    cls: str
    case: str

    @property
    def fallen(self) -> bool:
        return self.case == "revoked"

    @property
    def file(self) -> str:
        return OLD_FILE if self.case == "stale" else FILE

    @property
    def anchor(self) -> str:
        """The file from the root of its own repository."""
        return self.file if self.case == "other-repo" else f"web/{self.file}"


Rule = Callable[[Cell, str], bool]

KEPT_BACK: Final[tuple[tuple[str, Rule], ...]] = (
    ("other-repository", lambda c, at: c.case == "other-repo"),
    ("other-session", lambda c, at: c.case == "other-session" or (c.case == "this-session" and at == "session-start")),
    ("other-path", lambda c, at: c.case == "under-elsewhere"),
    ("superseded", lambda c, at: c.case == "superseded"),
    ("archived", lambda c, at: c.case == "archived"),
    ("closed-task", lambda c, at: c.case == "closed"),
    ("auto", lambda c, at: c.cls in ("auto", "derived-auto")),
    ("other-moment", lambda c, at: at not in AT[c.kind]),
    ("task-not-high", lambda c, at: c.kind == "task" and c.priority != "high"),
    ("gotcha-not-high", lambda c, at: c.kind == "gotcha" and at == "subagent-start" and c.priority != "high"),
)
"""In their order: the first that applies is named. To a session that is only starting, this one's notes are another session's."""


def kept_back_by(cell: Cell, at: str) -> str:
    """The rule that keeps the note back at this moment, in a context that was told nothing yet; "" where it arrives."""
    return next((name for name, applies in KEPT_BACK if applies(cell, at)), "")


def is_reachable(cell: Cell) -> bool:
    """Whether a note can come to stand like this: the refusals of model.md, section 4, and what an act may not do."""
    of_everywhere = cell.case == "global" and cell.kind in ("directive", "gotcha")
    return not (
        (cell.kind == "directive" and cell.cls == "auto")
        or (cell.case == "closed" and cell.kind != "task")
        or (cell.case == "archived" and cell.kind in ("directive", "task"))
        or (of_everywhere and cell.cls != "human")
    )


def cells() -> Iterator[Cell]:
    """All that can be."""
    every = (Cell(*one) for one in product(KINDS, PRIORITIES, CLASSES, (*STATES, *SCOPES)))
    return filter(is_reachable, every)


class Matrix:
    """The store with all of them. ``ids``: the note's number by its cell; the desk works in a folder of its repository."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.root = desk.repo
        self.elsewhere = make_repo(self.root.parent / "elsewhere" / "repo")
        self.person = Person(desk)
        self.desk.clock.ms += 8 * 86_400_000  # no start tells of the key any more
        self.here = self._folder()
        desk.repo = self.here
        for session in (SESSION, OTHER_SESSION):
            desk.start(session)
        self.source = desk.remember("Nobody reviewed zq0x().", provenance="auto").id
        self.newer = desk.remember("zq0y() took the place of what was there.").id
        self._numbers = {cell: number for number, cell in enumerate(cells())}
        self.ids: dict[Cell, int] = {}
        for cell in cells():
            self.ids[cell] = self._record(cell)
            self._befall(cell, self.ids[cell])
        (self.here / OLD_FILE).write_text("changed = True\n")

    def _folder(self) -> Path:
        for folder, name in (("web", FILE), ("web", OLD_FILE), ("lib", FILE)):
            (self.root / folder).mkdir(exist_ok=True)
            (self.root / folder / name).write_text(f"{folder} = 1\n")
        git(self.root, "add", ".")
        git(self.root, "commit", "-qm", "folders")
        return self.root / "web"

    def name_of(self, cell: Cell) -> str:
        """An identifier that stands in no other note."""
        return f"zq{self._numbers[cell]}x"

    def _record(self, cell: Cell) -> int:
        desk, self.desk.clock.ms = self.desk, self.desk.clock.ms + 1000
        words: dict[str, Any] = {"kind": cell.kind, "priority": cell.priority}
        words["provenance"] = "auto" if cell.cls == "auto" else "agent"
        words["derived_from"] = [str(self.source)] if cell.cls == "derived-auto" else []
        words["anchors"] = [cell.file] if cell.kind == "gotcha" or cell.case == "stale" else []
        words["under"] = {"under-here": ".", "under-elsewhere": "../lib"}.get(cell.case, "")
        words["scope"] = {"global": "global", "this-session": "session", "other-session": "session"}.get(
            cell.case, "repo"
        )
        words["env"] = {"CLAUDE_CODE_SESSION_ID": OTHER_SESSION if cell.case == "other-session" else SESSION}
        words["endorse"] = cell.cls == "human"
        desk.repo = self.elsewhere if cell.case == "other-repo" else self.here
        made = desk.remember(
            f"{self.name_of(cell)}() is a {cell.kind}, {cell.cls}, {cell.case}, {cell.priority}.", **words
        )
        desk.repo = self.here
        return self.person.seal(made.plan).id if made.plan is not None else made.id

    def _befall(self, cell: Cell, id_: int) -> None:
        acts: dict[str, dict[str, str]] = {
            "revoked": {"act": "revoke", "reason": "it was wrong"},
            "superseded": {"act": "supersede", "by": str(self.newer)},
            "archived": {"act": "archive"},
            "closed": {"act": "done"},
        }
        if cell.case not in acts:
            return
        done = self.desk.act(ref=id_, sign=cell.cls == "human", **acts[cell.case])
        if done.plan is not None:
            self.person.seal(done.plan)
        else:
            assert done.effect == "applied"
