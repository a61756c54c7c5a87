"""A note as it is about to be shown: its state with texts, ids and ground looked up, so that frames and rules stay pure.

The service builds views (service/views.py); `frames` turns them into words, `rules` decides about them.
"""

import msgspec

from memd_daemon.model.note import Note


class GroundStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What one anchor looks like in the checkout that asks (staleness.md).

    ``signal`` is "" where the anchor stands as it was, else one of `anchor_changed`, `anchor_missing`, `anchor_renamed`,
    `block_changed`, `block_missing`, `claim_broken`, `mtime_newer`, and `absent` for a file that is absent on this branch;
    ``unknown`` says that there was no time to look.
    """

    path: str
    part: str = ""
    proxy: bool = False
    signal: str = ""
    detail: str = ""  # where it was renamed to; the new value of a claim
    unknown: bool = False

    @property
    def drifted(self) -> bool:
        return self.unknown or self.signal not in ("", "absent")


class NotedNote(msgspec.Struct, frozen=True, kw_only=True):
    """Another note that a line names: its id, and when."""

    id: int
    what: str = ""  # revoked, superseded, forgotten
    at: int = 0


class ProposalView(msgspec.Struct, frozen=True, kw_only=True):
    act: str
    at: int
    reason: str = ""


class TombstoneView(msgspec.Struct, frozen=True, kw_only=True):
    """The first revocation of the present fall: its date and reason are what the tombstone keeps."""

    revoked_at: int
    reason: str  # as it is to be quoted; `contradicted by [52]` for a contradiction
    signed: bool


class NoteView(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that can be said of a note in a frame."""

    id: int
    note: Note
    content: str
    summary: str
    frame_class: str  # "human", "agent" or "auto": the lowest of its own and its living sources'
    user_stated: int = 0  # the turn that the whole content was said in, checked; 0: not user-stated
    at_command_line: bool = False  # written by the CLI outside a live agent session
    untrusted: bool = False  # its source, or one of its living sources', is a document or a tool
    ground: tuple[GroundStatus, ...] = ()
    tombstone: TombstoneView | None = None
    derived_from: tuple[int, ...] = ()
    fallen_sources: tuple[NotedNote, ...] = ()  # ancestors that were revoked, superseded or forgotten, not yet reviewed
    conflicts: tuple[int, ...] = ()
    proposals: tuple[ProposalView, ...] = ()
    superseded_by: int = 0
    replaced_by: int = 0  # the note that a contradiction named: the correction of this tombstone
    corrects: tuple[int, ...] = ()
    scope_label: str = "repo"  # "repo", "global", "session", or the repository's name where it is another one
    matched_path: str = ""  # the anchor that brought a gotcha here

    @property
    def revoked(self) -> bool:
        return self.tombstone is not None

    @property
    def stale(self) -> bool:
        """Whether [STALE] stands in the header; a tombstone shows none of it."""
        return not self.revoked and (bool(self.superseded_by) or any(g.drifted for g in self.ground))
