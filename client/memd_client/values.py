"""The values that replies are made of: notes, turns, deliveries, events, plans. Times and the rule for changes as in api.py."""

import msgspec


class SourceOut(msgspec.Struct, frozen=True, kw_only=True):
    type: str
    ref: str


class AnchorOut(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    part: str
    proxy: bool
    form: str = "file"  # file, lines, symbol, claim


class EvidenceOut(msgspec.Struct, frozen=True, kw_only=True):
    turn: int
    excerpt: str
    attestation: str  # as far as it is known now; of a turn that is not here as the event has it
    sentence: str = ""  # the whole sentences around it; "" where it is whole itself
    at: str = ""  # when it was said; "" where the turn is not here


class StateOut(msgspec.Struct, frozen=True, kw_only=True):
    belief: str
    currency: str
    shelf: str
    task: str


class StaleOut(msgspec.Struct, frozen=True, kw_only=True):
    """``signal``: as docs/staleness.md has them, or `unknown` for what could not be looked at."""

    path: str
    signal: str
    detail: str  # where it was renamed to; the value that a claim's name has now
    form: str = "file"
    part: str = ""
    to: str = ""  # where the file of a part that changed was renamed to


class ProposalOut(msgspec.Struct, frozen=True, kw_only=True):
    """What a session wants done to a note that a person endorsed, until a person decides."""

    act: str
    reason: str
    at: str
    by: int  # the other note that takes part; 0: none
    times: int = 1  # that it was proposed; ``at`` and ``reason`` are those of the first time, the log has the others


class FlagOut(msgspec.Struct, frozen=True, kw_only=True):
    """An ancestor of the note fell, and nobody has reviewed the note since."""

    id: int  # the ancestor
    what: str  # revoked, superseded, forgotten
    at: str


class NoteOut(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    uid: str
    content: str
    summary: str
    kind: str
    priority: str
    provenance: str
    frame_class: str
    source: SourceOut
    scope: str
    under: str
    tags: list[str]
    anchors: list[AnchorOut]
    evidence: list[EvidenceOut]
    level: str
    slug: str
    revision_count: int
    state: StateOut
    stale: list[StaleOut]
    created_at: str
    last_confirmed_at: str
    valid_until: str
    tombstone: str | None = None
    superseded_by: int = 0  # 0: by none
    absorbed_by: int = 0  # the note to which every reference to this one leads; 0: none
    conflicts: list[int] = []  # notes with which a conflict is open
    proposals: list[ProposalOut] = []
    review: list[FlagOut] = []
    stated: int = 0  # the turn in which the user typed all of it, as far as that is told of the note; 0: none


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One recalled note: how it is framed for an agent, and what its score is made of."""

    note: NoteOut
    text: str
    score: float
    factors: dict[str, float]


class TurnOut(msgspec.Struct, frozen=True, kw_only=True):
    turn: int
    session: str
    n: int
    text: str
    attestation: str  # as far as it is known now
    at: str
    harness: str
    agent: str
    not_typed: str = ""  # why it is not known to have been typed; "" where it is


class BehindOut(msgspec.Struct, frozen=True, kw_only=True):
    """What the user said that stands behind a note: the stretch that was bound, and the turn it stands in, whole."""

    excerpt: str
    attestation: str  # as it was judged when it was bound
    turn: TurnOut | None  # None where the turn is not here any more


class StepOut(msgspec.Struct, frozen=True, kw_only=True):
    """One note on the way down from a note to what it stands on, or up to what stands on it."""

    how: str  # "derived from", "absorbed", "built on", "absorbed into", "superseded by"
    of: int  # the note that this step leaves, by its id
    depth: int  # steps from the note that was asked for
    note: NoteOut
    text: str  # as it is framed for an agent
    behind: list[BehindOut] = []


class DeliveredOut(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    digest: str
    tokens: int


class LeftOutOut(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    rule: str
    says: str = ""  # the rule's sentence


class DeliveryOut(msgspec.Struct, frozen=True, kw_only=True):
    at: str
    trigger: str
    harness: str
    session: str
    agent: str
    turn: str
    epoch: int
    state: str
    held: bool
    notes: list[DeliveredOut]
    left_out: list[LeftOutOut]
    tokens: int
    vectors: str
    notices: bool = False  # whether lines of memd's own stood before the notes
    policy: bool = False  # whether standing rules of policy files did
    outcome: str = ""  # what came of an edit that was held: open, repeated, changed or abandoned


class EventOut(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened to a note. ``line`` is ``when``, ``who`` and ``what``."""

    uid: str  # "" for what is local
    type: str
    at: str
    actor: str
    surface: str
    session: str
    signed: bool
    effect: str  # applied, kept, proposed, without effect, waits; of a delivery: delivered, offered
    line: str
    when: str = ""
    who: str = ""
    what: str = ""
    agent: str = ""  # the subagent's id
    reason: str = ""  # whole, as it was given
    notes: list[int] = []  # ids of the other notes that take part
    local: bool = False  # happened on this machine alone, and stands in no commit
    times: int = 1  # of deliveries in a row at one kind of moment
    last_at: str = ""  # the last of them


class FaultOut(msgspec.Struct, frozen=True, kw_only=True):
    where: str
    what: str
    remedy: str
    origin: str = ""  # of the commit at which it is, "" where it is at none
    commit: int = 0
    event: str = ""  # its uid, where it can be read
    notes: list[int] = []  # ids of the notes that it is about


class KeyActOut(msgspec.Struct, frozen=True, kw_only=True):
    """An event that a key signed; ``id`` is the note's."""

    type: str
    id: int
    at: str


class KeyOut(msgspec.Struct, frozen=True, kw_only=True):
    """A key from its enrolment to its rejection. ``by`` and ``rejected_by``: `itself`, `a recovery code`, or a fingerprint."""

    fingerprint: str
    at: str
    terminal: str
    by: str
    rejected: str  # when; "" while it stands
    rejected_by: str
    acts: list[KeyActOut] = []
    endorses: list[int] = []  # notes that are `human` by its signature today


class SettingOut(msgspec.Struct, frozen=True, kw_only=True):
    """A setting as it stands. ``value`` and ``default``: a number, a word, or a list of directories (or scopes of repositories)."""

    key: str
    value: int | float | str | list[str]
    default: int | float | str | list[str]
    is_set: bool  # whether a change stands; the next five are of that change
    signed: bool
    at: str
    actor: str
    surface: str
    session: str
    says: str
    takes: str
    policy: str = ""  # the policy file that sets it, so that no change does


class SettingEventOut(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a setting. ``value`` is as people write it, "" where it was taken back to the default."""

    uid: str
    key: str
    value: str
    at: str
    actor: str
    surface: str
    session: str
    signed: bool
    effect: str  # applied, kept, or without effect


class PlanEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event that a signature is asked for: the very bytes, and what the signature is bound to."""

    body: bytes
    content: str
    content_salt: bytes
    content_digest: bytes
    revision: int
    act: str
    id: int  # 0: the note is recorded by this very plan
    change: str  # of class, or of state: "agent -> human"
    kind: str
    scope: str
    priority: str
    scope_name: str = ""  # where memd has seen that repository, for people: no signature covers it
    reason: str = ""  # as it will be stored
    reason_salt: bytes = b""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a person is about to sign; `Seal` carries the signatures back under the same token, once."""

    token: bytes
    store: bytes
    events: list[PlanEvent]
    key_id: bytes


class SettingsReply(msgspec.Struct, frozen=True, kw_only=True):
    settings: list[SettingOut]


class ChangedSetting(msgspec.Struct, frozen=True, kw_only=True):
    setting: SettingOut
    effect: str  # applied, kept, or planned
    told: list[str] = []
    plan: Plan | None = None  # of a signed change: nothing is recorded yet


class SettingsLogReply(msgspec.Struct, frozen=True, kw_only=True):
    events: list[SettingEventOut]
