"""Notes and views for tests, short to write: every field has a plain value that a test changes by name."""

from typing import Any

import msgspec

from memd_daemon.model.event import Anchor, Source
from memd_daemon.model.note import Note, Revision
from memd_daemon.model.view import GroundStatus, NoteView, SpokenView, TombstoneView

DAY_MS = 86_400_000
MARCH_4 = 1_772_582_400_000  # 2026-03-04T00:00:00Z
TAGS = ("system-reminder", "hook_context", "command-name")
REPO = "repo:0f"

NOTE_FIELDS = set(Note.__struct_fields__)


def make_view(id_: int = 47, **changes: Any) -> NoteView:
    """A held finding of class agent; ``changes`` name fields of the view, of its note, or `provenance` of its wording.

    ``changed="path"`` and ``stands="path"`` add an anchor with its ground, ``revoked="reason"`` a tombstone; ``user_stated`` is the
    turn that the whole content was typed in.
    """
    if turn := changes.pop("user_stated", 0):
        changes["spoken"] = SpokenView(stated=turn)
    for key, signal in (("stands", ""), ("changed", "anchor_changed")):
        if path := changes.pop(key, ""):
            changes["anchors"] = (*changes.get("anchors", ()), Anchor(path=path))
            changes["ground"] = (*changes.get("ground", ()), GroundStatus(path=path, signal=signal))
    if reason := changes.pop("revoked", ""):
        changes["tombstone"] = TombstoneView(revoked_at=MARCH_4 + 8 * DAY_MS, reason=reason, signed=False)
        changes["belief"] = "revoked"
    provenance = changes.pop("provenance", changes.get("frame_class", "agent"))
    wording = Revision(content=b"c", summary=b"s", provenance=provenance, at=MARCH_4, event=b"e")
    note: dict[str, Any] = {
        "uid": id_.to_bytes(16, "big"),
        "kind": "finding",
        "priority": "medium",
        "source": Source("inference"),
        "scope": REPO,
        "created_at": MARCH_4,
        "revisions": (wording,),
        "heads": (b"e",),
        "events": 1,
        "actor": "agent",
        "surface": "mcp",
    }
    view: dict[str, Any] = {
        "content": "lock_workspace() at resolver.rs:214 acquires a PID-scoped lock; it drops on scope exit.",
        "frame_class": provenance,
    }
    for key, value in changes.items():
        (note if key in NOTE_FIELDS and key not in VIEW_FIELDS else view)[key] = value
    view.setdefault("summary", view["content"].partition(". ")[0][:160])
    return NoteView(id=id_, note=Note(**note), **view)


VIEW_FIELDS = set(NoteView.__struct_fields__)


def with_note(view: NoteView, **changes: Any) -> NoteView:
    return msgspec.structs.replace(view, note=msgspec.structs.replace(view.note, **changes))
