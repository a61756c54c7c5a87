"""A view for each form of anchor and each signal of it."""

from typing import Any

import msgspec

from memd_daemon.model.event import Anchor
from memd_daemon.model.view import GroundStatus, NoteView
from tests.frames.make import make_view

PARTS = {
    "file": {"path": "agent/lock.py"},
    "lines": {"path": "agent/lock.py", "form": "lines", "part": "L10-L42"},
    "symbol": {"path": "agent/lock.py", "form": "symbol", "part": "Lock.take"},
    "value": {"path": "agent/lock.py", "form": "claim", "part": "TIMEOUT=30"},
    "text": {"path": "agent/lock.py", "form": "claim", "part": '~ "with open"'},
    "absence": {"path": "agent/old.py", "form": "claim", "part": "!"},
}
RENAMED = {"signal": "anchor_renamed", "detail": "agent/locks.py"}
GONE: tuple[dict[str, str], ...] = (RENAMED, {"signal": "anchor_missing"}, {"signal": "absent"})
BLOCK: tuple[dict[str, str], ...] = (
    {"signal": "block_changed"},
    {"signal": "block_missing"},
    {"signal": "block_changed", "to": "agent/locks.py"},
)
SIGNALS: dict[str, tuple[dict[str, str], ...]] = {
    "file": ({"signal": "anchor_changed"}, *GONE),
    "lines": (*BLOCK, *GONE),
    "symbol": (*BLOCK, *GONE),
    "value": (
        {"signal": "claim_broken", "detail": "45"},
        {"signal": "claim_broken", "detail": "45, 60", "to": "agent/locks.py"},
        *GONE,
    ),
    "text": ({"signal": "claim_broken", "detail": "gone"}, *GONE),
    "absence": ({"signal": "claim_broken", "detail": "exists"},),
}


def grounds() -> dict[str, NoteView]:
    """One gotcha for each form of anchor and each signal of it, one where it stands, and those of files that a content names."""
    views: dict[str, NoteView] = {}
    for form, where in PARTS.items():
        for said in ({"signal": ""}, *SIGNALS[form]):
            name = " ".join(filter(None, (form, said["signal"] or "stands", "in a renamed file" * ("to" in said))))
            views[name] = grounded(GroundStatus(**where, **said))
    mentioned = GroundStatus(path="agent/conf.toml", mention=True, signal="mtime_newer")
    block = GroundStatus(**PARTS["symbol"])
    late = msgspec.structs.replace(mentioned, signal="", unknown=True)
    return {
        **views,
        "mention": make_view(ground=(mentioned,)),
        "mention not looked at": make_view(ground=(late,)),
        "mention beside an anchor that stands": grounded(block, mentioned),
        "block changed in one file, another stands": grounded(
            GroundStatus(path="agent/other.py", form="symbol", part="f", signal="block_changed"), block
        ),
        "directive whose claim is broken": grounded(
            GroundStatus(**PARTS["value"], signal="claim_broken", detail="45"), kind="directive", provenance="human"
        ),
        "revoked, its claim broken": grounded(
            GroundStatus(**PARTS["value"], signal="claim_broken", detail="45"), revoked="measured again"
        ),
    }


def grounded(*ground: GroundStatus, **changes: Any) -> NoteView:
    anchors = tuple(Anchor(path=g.path, form=g.form, part=g.part) for g in ground if not g.mention)
    fields = {"kind": "gotcha", "content": "Mind the lock.", "matched_path": "agent/lock.py", **changes}
    return make_view(ground=ground, anchors=anchors, **fields)
