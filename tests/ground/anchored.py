"""Anchors of a real repository as a write would take them, and what is said of them."""

import os
from typing import Any

import msgspec

from memd_daemon.ground.claims import parse_anchor
from memd_daemon.ground.contents import content_digest
from memd_daemon.ground.files import FileGround
from memd_daemon.ground.judged import taken
from memd_daemon.ground.source import Source
from memd_daemon.model.event import Anchor
from memd_daemon.model.view import GroundStatus
from tests.ground.gitted import Gitted

CORE = """\
\"\"\"Timeouts of the importer.\"\"\"

TIMEOUT = 30


class Lock:
    def take(self):
        self.held = True
        return TIMEOUT

    def drop(self):
        self.held = False


def run(lock):
    lock.take()
"""
LONG_AGO_NS = 1_700_000_000_000_000_000

SYMBOL, LINES, FILE = "core.py::Lock.take", "core.py#L7-L9", "core.py"
VALUE, TEXT, ABSENCE = "core.py::TIMEOUT=30", 'core.py ~ "self.held = True"', "!legacy.py"
ALL = (SYMBOL, LINES, VALUE, TEXT, FILE)


def anchored(repo: Gitted, *given: str) -> tuple[Anchor, ...]:
    return tuple(one(repo, text) for text in given)


def one(repo: Gitted, given: str) -> Anchor:
    """An anchor as a write would take it."""
    split = parse_anchor(given)
    head = repo.git("rev-parse", "HEAD")
    anchor = Anchor(form=split.form, path=split.path, part=split.part, commit=head, checkout_branch=repo.branch)
    if split.form == "claim":
        return anchor
    content = (repo.top / split.path).read_bytes()
    if split.form == "file":
        return msgspec.structs.replace(anchor, digest=content_digest([content]))
    source = Source(split.path, content)
    block = source.lines(split.first, split.last) if split.form == "lines" else source.named(split.part)[0]
    assert block is not None
    return taken(anchor, source, block)


def told(repo: Gitted, *anchors: Anchor, ground: FileGround | None = None, **more: Any) -> list[str]:
    """Each signal with what it says further; "?" for what could not be looked at."""
    return [said(g) for g in (ground or FileGround()).statuses(repo.top, repo.branch, anchors, **more)]


def said(g: GroundStatus) -> str:
    return "?" if g.unknown else " ".join(filter(None, (g.signal, g.detail, g.to and f"to {g.to}")))


def aged(repo: Gitted, name: str = "core.py", at: int = LONG_AGO_NS) -> None:
    """Written long ago: nothing that was read of it may be another thing by now."""
    os.utime(repo.top / name, ns=(at, at))
