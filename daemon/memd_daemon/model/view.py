"""A note as it is about to be shown: its state with texts, ids and ground looked up, so that frames and rules stay pure.

The service builds views (service/views.py); `frames` turns them into words, `rules` decides about them.
"""

from collections.abc import Collection
from enum import IntEnum
from typing import Final

import msgspec

from memd_daemon.model.event import Stored
from memd_daemon.model.note import Note
from memd_daemon.model.words import Attestation, Kind, Provenance


class Weight(IntEnum):
    """What stands behind a rendering: the envelope speaks for the weakest of its notes, and a start's order goes by it."""

    AUTO = 0
    UNTRUSTED = 1
    AGENT = 2
    USER_STATED = 3
    HUMAN = 4


class Status(IntEnum):
    """How the ground of a note counts in its rendering digest, whose last byte this is (frames/digest.py).

    `OPEN` equals every other status: there is no anchor, there was no time to look, or the context changed the file itself.
    """

    OPEN = 0
    MATCHES = 1
    CHANGED = 2
    CONFIRMED = 3  # a process or environment fact, nothing drifted


class GroundStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What one anchor looks like in the checkout that asks (staleness.md).

    ``signal`` is "" where the anchor stands as it was, else one of `anchor_changed`, `anchor_missing`, `anchor_renamed`,
    `block_changed`, `block_missing`, `claim_broken`, `mtime_newer`, and `absent` for a file that is absent on this branch;
    ``unknown`` says that there was no time to look, or that it cannot be looked at.
    """

    path: str
    form: str = "file"  # as an `Anchor`'s
    part: str = ""
    proxy: bool = False
    mention: bool = False  # no anchor: a file that the content names by path
    signal: str = ""
    detail: str = ""  # where it was renamed to; the new value of a claim
    to: str = ""  # where the file of a block or claim was renamed to, where what changed in it is the signal
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
    reason: str = ""  # of the first
    by: int = 0  # the other note that takes part
    times: int = 1  # that it was proposed
    at_command_line: bool = False  # by the CLI outside a live agent session: whose hand it was is not known


class TombstoneView(msgspec.Struct, frozen=True, kw_only=True):
    """The first revocation of the present fall: its date and reason are what the tombstone keeps."""

    revoked_at: int
    reason: str  # as it is to be quoted; `contradicted by [52]` for a contradiction
    signed: bool


class StripeView(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of a content: ``turn`` is the user's turn that it was found in, sentence by sentence; 0: the note's own words."""

    text: str
    turn: int = 0


class QuoteView(msgspec.Struct, frozen=True, kw_only=True):
    """A whole sentence of the user's that the content has words of, so that the reader sees what was said.

    ``attestation`` is what is known of its turn now; ``turn`` 0: the turn is not kept here, and what the event says of it counts
    for nothing.
    """

    turn: int
    sentence: str
    attestation: str

    @property
    def is_typed(self) -> bool:
        """Whether it is known, here and now, that a person typed it."""
        return self.turn > 0 and self.attestation == Attestation.TYPED


class SpokenView(msgspec.Struct, frozen=True, kw_only=True):
    """How a content stands to the user's own words (evidence.md), checked against the turns that are here (service/spoken.py).

    Only turns that are known to have been typed give ``stated`` and ``stripes``.
    """

    stated: int = 0  # the one turn that the whole content was said in; 0: none
    stripes: tuple[
        StripeView, ...
    ] = ()  # the content in order, where parts of it were said; () where none was, or all of it
    quotes: tuple[QuoteView, ...] = ()
    claimed: QuoteView | None = None  # a turn that the whole content stands in, of which nobody knows that it was typed


SILENT: Final = SpokenView()
"""No word of the content is known to be the user's."""


class NoteView(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that can be said of a note in a frame."""

    id: int
    note: Note
    content: str
    summary: str
    frame_class: str  # "human", "agent" or "auto": the lowest of its own and its living sources'
    spoken: SpokenView = SILENT
    at_command_line: bool = False  # written by the CLI outside a live agent session
    untrusted: bool = False  # its source, or one of its living sources', is a document or a tool
    ground: tuple[GroundStatus, ...] = ()
    tombstone: TombstoneView | None = None
    derived_from: tuple[int, ...] = ()
    fallen_sources: tuple[NotedNote, ...] = ()  # ancestors that were revoked, superseded or forgotten, not yet reviewed
    conflicts: tuple[int, ...] = ()
    proposals: tuple[ProposalView, ...] = ()
    reinstated_at_command_line: bool = False  # as a proposal's
    superseded_by: int = 0
    replaced_by: int = 0  # the note that a contradiction named: the correction of this tombstone
    corrects: tuple[int, ...] = ()
    scope_label: str = "repo"  # "repo", "global", "session", or the repository's name where it is another one
    elsewhere: bool = False  # its files are not those of the place that asks, so they are not looked at
    matched_path: str = ""  # the anchor that brought a gotcha here
    absorbed_by: int = 0
    damaged: bool = False  # its text is not the one that was recorded, or is lost: nothing of it is shown
    quarantined: bool = False  # one of a burst that nobody looked at yet: held from push (evidence.md)
    text_digest: bytes = b""  # frames/digest.py's, where somebody took it of this very view; its ground does not count

    @property
    def revoked(self) -> bool:
        return self.tombstone is not None

    @property
    def reinstated_over_person(self) -> bool:
        """Whether an agent took back what a person had revoked: no imperative any more, and never endorsed by the user."""
        back = self.note.reinstated
        return not self.revoked and back is not None and not back.signed and back.revoked_by_person_at > 0

    @property
    def said(self) -> SpokenView:
        """What of the content is to be told as the user's words: nothing of a note that is endorsed as a whole, that builds on a
        weaker one or on a document, or that a person took back."""
        held_back = self.untrusted or self.reinstated_over_person or self.frame_class != Provenance.AGENT
        return SILENT if held_back or self.revoked else self.spoken

    @property
    def stated_turn(self) -> int:
        """The turn behind a note that is to be framed as the user's own words, else 0."""
        return self.said.stated

    @property
    def weight(self) -> Weight:
        """A tombstone weighs as `agent`, as `human` if a person signed the revocation (delivery.md, "The envelope")."""
        if self.tombstone is not None:
            return Weight.HUMAN if self.tombstone.signed else Weight.AGENT
        if self.frame_class == Provenance.HUMAN:
            return Weight.AGENT if self.reinstated_over_person else Weight.HUMAN
        if self.frame_class != Provenance.AGENT:
            return Weight.AUTO
        if self.untrusted:
            return Weight.UNTRUSTED
        return Weight.USER_STATED if self.stated_turn else Weight.AGENT

    @property
    def imperative(self) -> bool:
        """Whether the note is a rule that the user endorsed and never took back."""
        return self.note.kind == Kind.DIRECTIVE and self.weight == Weight.HUMAN and not self.revoked

    @property
    def process(self) -> bool:
        """Whether the note describes a process or an environment, which ages by time."""
        return self.note.process or any(a.proxy for a in self.note.anchors)

    @property
    def confirmed_at(self) -> int:
        """When it was last said to be so: its confirmation, else its recording."""
        return self.note.last_confirmed_at or self.note.created_at

    @property
    def unchecked(self) -> bool:
        """Whether there was no time to look at (all of) the ground."""
        return any(g.unknown for g in self.ground) or bool(self.note.anchors and not self.ground)

    def status(self, edited_here: Collection[str] = ()) -> Status:
        """The worst of its anchors; a change of ``edited_here``, the files this context edited itself, does not count."""
        drifted = {g.path for g in self.ground if g.drifted}
        if self.revoked or self.unchecked or (drifted and drifted <= set(edited_here)):
            return Status.OPEN
        if drifted:
            return Status.CHANGED
        if self.process:
            return Status.CONFIRMED
        return Status.MATCHES if any(not g.signal for g in self.ground) else Status.OPEN

    @property
    def stale(self) -> bool:
        """Whether [STALE] stands in the header; a tombstone shows none of it."""
        return not self.revoked and (bool(self.superseded_by) or any(g.drifted for g in self.ground))


class ReasonView(msgspec.Struct, frozen=True, kw_only=True):
    """One judgment on a note, as `show` lists all of them: a revocation, a reinstatement, a proposal."""

    what: str  # "revoked", "reinstated", "proposed to revoke"
    at: int
    actor: str
    signed: bool = False
    reason: str = ""
    by: int = 0
    at_command_line: bool = False  # unsigned, and by the CLI outside a live agent session
    with_signed: bool = False  # unsigned itself, in one commit with what a person signed on the note that it names


class RevisionView(msgspec.Struct, frozen=True, kw_only=True):
    """One wording of a curated note. ``content`` is "" where nothing of it is to be shown."""

    number: int
    at: int
    provenance: str
    reason: str = ""
    content: str = ""
    told: bool = False  # the one that renders
    waits: bool = False  # for a person's signature: an endorsed one goes on rendering


class EvidenceView(msgspec.Struct, frozen=True, kw_only=True):
    """One excerpt that is bound to a note, as `show` tells it. ``at`` 0: its turn is not kept here."""

    turn: int
    attestation: str
    excerpt: str
    at: int = 0
    holds: bool = True  # whether the turn has these words
    sentence: str = ""  # the whole sentences around it; "" where it is whole itself


class FullView(msgspec.Struct, frozen=True, kw_only=True):
    """A note with everything that `show` tells of it."""

    view: NoteView
    reasons: tuple[ReasonView, ...] = ()  # oldest first
    evidence: tuple[EvidenceView, ...] = ()
    informed_by: tuple[int, ...] = ()
    corroborated_by: tuple[int, ...] = ()
    sessions: int = 0  # that came to it, its own and its corroborations'; 0 where there is no corroboration
    revisions: tuple[RevisionView, ...] = ()  # of a curated note, oldest first
    absorbed: tuple[int, ...] = ()  # what it has taken in
    demoted_with: tuple[int, ...] = ()  # conflicts that were settled against both sides
    holder: NoteView | None = None  # the note to which every reference to this one leads


class BehindView(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that stands behind a note. ``text``: the turn, whole or the part around the excerpt; "" where it is gone."""

    turn: int
    attestation: str
    excerpt: str
    at: int = 0
    text: str = ""
    more_chars: int = 0  # of the turn, that are not in ``text``


class StepView(msgspec.Struct, frozen=True, kw_only=True):
    """One note on the way down or up from another (service/chronicle.py). ``text``: as recalled; "" where it stands above."""

    how: str
    of: int
    view: NoteView
    text: str = ""
    behind: tuple[BehindView, ...] = ()


class EventView(msgspec.Struct, frozen=True, kw_only=True):
    """An event with what its payload points to looked up. ``effect`` as `fold.trace` tells it."""

    stored: Stored
    effect: str
    ids: dict[bytes, int] = {}  # uids in the payload that are known here: of notes, and of events by their notes
    texts: dict[bytes, str] = {}  # blobs in the payload that are still there
    settled: int = 0  # proposals that stood before it and do no more


class TellingView(msgspec.Struct, frozen=True, kw_only=True):
    """How a note was told at one kind of moment, between two of its events: each time, or many times in a row."""

    trigger: str
    times: int
    at: int
    last_at: int
    session: str  # of the first
    agent: str = ""  # likewise
    sessions: int = 1
    unconfirmed: int = 0  # of these, the answers whose receipt never came
    held: int = 0  # those that held an edit back
    asked: bool = False  # they were asked for; then ``trigger`` is how
