"""The requests and replies of every verb but `hook`, as msgspec structs; the schema of ``--json`` too (docs/json.md).

Each request class names its verb and its reply; the values in replies stand in values.py, and have their names here too. One
msgpack map goes each way. Unknown fields are ignored by both ends, so a field may be added and none may change its meaning.
Times are UTC, as ISO 8601 text with a trailing ``Z``; "" is never.
"""

from typing import Any, ClassVar

import msgspec

from memd_client.asking import Count as Count
from memd_client.asking import Request as Request
from memd_client.exchanging import Backup as Backup
from memd_client.exchanging import BackupReply as BackupReply
from memd_client.exchanging import Export as Export
from memd_client.exchanging import ExportReply as ExportReply
from memd_client.policies import Policies as Policies
from memd_client.policies import PoliciesReply as PoliciesReply
from memd_client.policies import PolicyCheck as PolicyCheck
from memd_client.policies import PolicyChecked as PolicyChecked
from memd_client.policies import PolicyOut as PolicyOut
from memd_client.policies import PolicyRuleOut as PolicyRuleOut
from memd_client.reasons import Why as Why
from memd_client.reasons import WhyReply as WhyReply
from memd_client.setting_verbs import ChangeSetting as ChangeSetting
from memd_client.setting_verbs import Settings as Settings
from memd_client.setting_verbs import SettingsLog as SettingsLog
from memd_client.staleness import GroundDiffOut as GroundDiffOut
from memd_client.staleness import Stale as Stale
from memd_client.staleness import StaleNoteOut as StaleNoteOut
from memd_client.staleness import StaleReply as StaleReply
from memd_client.values import AnchorOut as AnchorOut
from memd_client.values import BehindOut as BehindOut
from memd_client.values import ChangedSetting as ChangedSetting
from memd_client.values import DeliveredOut as DeliveredOut
from memd_client.values import DeliveryOut as DeliveryOut
from memd_client.values import EventOut as EventOut
from memd_client.values import EvidenceOut as EvidenceOut
from memd_client.values import FaultOut as FaultOut
from memd_client.values import FlagOut as FlagOut
from memd_client.values import Found as Found
from memd_client.values import KeyActOut as KeyActOut
from memd_client.values import KeyOut as KeyOut
from memd_client.values import LeftOutOut as LeftOutOut
from memd_client.values import NoteOut as NoteOut
from memd_client.values import Plan as Plan
from memd_client.values import PlanEvent as PlanEvent
from memd_client.values import ProposalOut as ProposalOut
from memd_client.values import SettingEventOut as SettingEventOut
from memd_client.values import SettingOut as SettingOut
from memd_client.values import SettingsLogReply as SettingsLogReply
from memd_client.values import SettingsReply as SettingsReply
from memd_client.values import SourceOut as SourceOut
from memd_client.values import StaleOut as StaleOut
from memd_client.values import StateOut as StateOut
from memd_client.values import StepOut as StepOut
from memd_client.values import TurnOut as TurnOut


class Pong(msgspec.Struct, frozen=True, kw_only=True):
    pid: int
    version: str
    home: str
    ready: bool  # whether the embedding model is in
    store: str = ""  # its store's uid in hex; "" from a daemon that does not tell


class Ping(Request, frozen=True):
    VERB = "ping"
    REPLY = Pong


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    uid: str
    near: list[int] = []
    conflicts: list[int] = []
    tombstones: list[str] = []
    told: list[str] = []  # what else the writer should know, a sentence each
    plan: Plan | None = None  # set where a signature is asked for: nothing is recorded yet
    redacted: bool = False  # whether something was taken out of the content before it was stored
    revoked: int = 0  # the note that this one contradicts, where it stands revoked now; 0: none
    superseded: int = 0  # the one that it supersedes, where it is superseded now
    stated: int = 0  # of a directive that is told as the user's own words: the turn in which they typed it
    kept: bool = (
        False  # a note that stands says this already, word for word: it is the one named, and nothing was recorded
    )


class Remember(Request, frozen=True):
    VERB = "remember"
    REPLY = Remembered

    content: str
    kind: str = "finding"
    priority: str = "medium"
    provenance: str = "agent"
    source: str = ""  # TYPE or TYPE:REF; "" lets memd say it
    scope: str = "repo"
    under: str = ""
    anchors: list[str] = []
    proxies: list[str] = []
    process: bool = False
    tags: list[str] = []
    evidence: list[tuple[int, str]] = []
    derived_from: list[str] = []
    contradicts: str = ""
    supersedes: str = ""
    reason: str = ""
    despite: str = ""
    endorse: bool = False
    same_as: str = ""  # a note that says so already: these words are folded into it
    level: str = ""  # principle or doctrine
    slug: str = ""
    sources: list[str] = []  # what taught it
    source_ref: str = ""  # of an atom: the line of a transcript
    distinct: bool = False  # another rule than the near one, as ``why`` says
    why: str = ""


class Sealed(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    uid: str
    told: list[str] = []
    revoked: int = 0  # of a write, as in `Remembered`
    superseded: int = 0


class Seal(Request, frozen=True):
    """The signatures of a plan, one per event that asked for one."""

    VERB = "seal"
    REPLY = Sealed

    token: bytes
    signatures: list[bytes]


class RecallReply(msgspec.Struct, frozen=True, kw_only=True):
    found: list[Found]
    text: str  # byte for byte what an agent gets, those rules first
    vectors: str
    policy: list[PolicyRuleOut] = []  # standing rules of policy files that bear on the question
    left_out: list[LeftOutOut] = []  # the nearest of the notes that do not, each with the reason


class Recall(Request, frozen=True):
    VERB = "recall"
    REPLY = RecallReply

    query: str
    k: int = 10
    kind: str = ""
    all_scopes: bool = False
    superseded: bool = False


class NotesReply(msgspec.Struct, frozen=True, kw_only=True):
    notes: list[NoteOut]
    more: int = 0  # how many further ones there are


class ListNotes(Request, frozen=True):
    VERB = "list"
    REPLY = NotesReply

    kind: str = ""
    provenance: str = ""
    all_scopes: bool = False
    revoked: bool = False
    superseded: bool = False
    limit: Count = 50
    offset: Count = 0


class ShowReply(msgspec.Struct, frozen=True, kw_only=True):
    note: NoteOut
    text: str


class Show(Request, frozen=True):
    VERB = "show"
    REPLY = ShowReply

    ref: str


class LogReply(msgspec.Struct, frozen=True, kw_only=True):
    """The newest page, oldest first."""

    id: int
    events: list[EventOut]
    head: str = ""  # how the note stands, in a line
    more: int = 0  # how many earlier ones there are
    local_since: str = ""  # deliveries before this time are not kept, or were not looked through; "" where all were


class Log(Request, frozen=True):
    VERB = "log"
    REPLY = LogReply

    ref: str
    limit: Count = 0  # 0: all
    offset: Count = 0  # of the newest


class DecisionsReply(msgspec.Struct, frozen=True, kw_only=True):
    """Decisions in the order of their recording. ``before`` and ``after``: how many more there are on either side."""

    found: list[Found]  # `score` and `factors` are empty: the order is that of time
    text: str  # byte for byte what an agent gets
    before: int = 0
    after: int = 0


class Decisions(Request, frozen=True):
    """The decisions that hold here, as a sequence; with ``ref`` the stretch around that one."""

    VERB = "decisions"
    REPLY = DecisionsReply

    ref: str = ""
    around: Count = 3  # neighbours on either side of ``ref``
    all_scopes: bool = False
    limit: Count = 50  # without ``ref``: the newest so many; 0 is all
    offset: Count = 0  # of the newest, left out


class TraceReply(msgspec.Struct, frozen=True, kw_only=True):
    """A note with what it stands on, down to the user's own words, and what stands on it; nearest steps first."""

    note: NoteOut
    behind: list[BehindOut]
    down: list[StepOut]
    up: list[StepOut]
    text: str
    left_out: int = 0  # steps beyond the bound


class Trace(Request, frozen=True):
    VERB = "trace"
    REPLY = TraceReply

    ref: str


class Act(Request, frozen=True):
    """One act on one note. ``sign``: the asker can sign, so an act on an endorsed note comes back as a plan.

    ======================================  ==================================================================
    act                                     takes, beside ``reason``
    ======================================  ==================================================================
    promote                                 ``to``
    revoke reinstate                        (revoke: ``reason`` is needed)
    supersede absorb                        ``by``: the newer note, the note that takes it in
    unsupersede release                     nothing
    revise                                  ``text``, ``absorb``, ``expected_revision``, ``despite``; ``reason`` is needed
    resolve                                 ``by``: the other note of the conflict; ``resolution``
    confirm                                 nothing
    review                                  ``of``: only what these ancestors' falls raised
    link_evidence                           ``evidence``
    archive restore-note done reopen        nothing
    amend                                   ``priority``, ``tags``, ``untags``, ``anchors``, ``scope``, ``under``
    ======================================  ==================================================================
    """

    VERB = "act"
    REPLY: ClassVar[Any] = None  # Acted, set below

    act: str
    ref: str
    to: str = ""
    by: str = ""
    reason: str = ""
    sign: bool = False
    text: str = ""  # the new wording; "" only absorbs
    absorb: list[str] = []  # notes that are folded into this one
    expected_revision: int = 0  # the revision that the writer saw; 0: whichever stands
    despite: str = ""  # a revoked note that the new wording says again, known to the writer
    resolution: str = ""  # a_wins, b_wins, both_demoted or merged; a is ``ref``, b is ``by``
    of: list[str] = []
    evidence: list[tuple[int, str]] = []  # (turn, excerpt)
    priority: str = ""
    tags: list[str] = []  # added
    untags: list[str] = []  # taken off
    anchors: list[str] = []  # in the place of those it had; its proxies stay
    scope: str = ""
    under: str = ""  # the repository's root: the whole of it


class Acted(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    uid: str
    effect: str  # applied, kept, proposed
    told: list[str] = []
    plan: Plan | None = None


Act.REPLY = Acted


class TurnsReply(msgspec.Struct, frozen=True, kw_only=True):
    turns: list[TurnOut]
    more: int = 0


class Turns(Request, frozen=True):
    VERB = "turns"
    REPLY = TurnsReply

    session: str = ""
    turn: int = 0  # only the turn of this number
    limit: Count = 50
    offset: Count = 0


class DeliveriesReply(msgspec.Struct, frozen=True, kw_only=True):
    deliveries: list[DeliveryOut]
    more: int = 0


class Deliveries(Request, frozen=True):
    VERB = "deliveries"
    REPLY = DeliveriesReply

    session: str = ""
    told: bool = False  # only those in which something was told
    limit: Count = 50
    offset: Count = 0


class EnrolReply(msgspec.Struct, frozen=True, kw_only=True):
    store: bytes
    enrolled: list[str]  # fingerprints of the keys that nobody rejected, the newest first
    keys: list[KeyOut] = []  # every key that counts or counted, first one first
    recovery: list[bytes] = []  # the public halves of the recovery codes that may sign here
    plan: Plan | None = None  # set where a key is to be enrolled or rejected: nothing is recorded yet


class Enrol(Request, frozen=True):
    """A person's keys. With neither ``public`` nor ``rejects``: only asks which there are.

    The plan has an event for the key that is enrolled and one for each that is rejected; all are signed by ``signer``.
    """

    VERB = "enrol"
    REPLY = EnrolReply

    public: bytes = b""  # of the key to be enrolled
    recovery_public: bytes = b""  # of its recovery code
    terminal: str = ""
    signer: bytes = b""  # a public key; b"" is the new key itself, which makes the first of a store
    rejects: list[bytes] = []  # ids of keys
    acts: bool = False  # tell what each key signed, too


class StatusReply(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of `memd status`; every part is a map of plain values (docs/json.md)."""

    daemon: dict[str, Any]
    store: dict[str, Any]
    index: dict[str, Any]
    hooks: dict[str, Any]
    last_delivery: dict[str, Any] | None
    spool: dict[str, Any]
    queue: dict[str, Any]
    sessions: list[dict[str, Any]]
    people: list[dict[str, Any]]
    problems: list[dict[str, str]]
    settings: dict[str, Any] = {}
    policy: list[dict[str, Any]] = []
    holds: dict[str, int] = {}


class Status(Request, frozen=True):
    VERB = "status"
    REPLY = StatusReply


class StopReply(msgspec.Struct, frozen=True, kw_only=True):
    pid: int


class Stop(Request, frozen=True):
    """``announced``: a person asked for it, so only the next session start, a start or a write begins again."""

    VERB = "stop"
    REPLY = StopReply

    announced: bool = True


class VerifyReply(msgspec.Struct, frozen=True, kw_only=True):
    events: int
    commits: int
    seconds: float
    faults: list[FaultOut]


class Verify(Request, frozen=True):
    VERB = "verify"
    REPLY = VerifyReply


class ReindexReply(msgspec.Struct, frozen=True, kw_only=True):
    notes: int
    vectors: int
    seconds: float


class Reindex(Request, frozen=True):
    """Folds, word index and vector indexes made anew; ``embed`` computes every vector again too.

    ``despite_damage``: also where the log is not whole, which is refused else.
    """

    VERB = "reindex"
    REPLY = ReindexReply

    embed: bool = False
    despite_damage: bool = False


class FiredReply(msgspec.Struct, frozen=True, kw_only=True):
    """When each (harness, event) was last answered, Unix ms, and how long the daemon took, microseconds."""

    fired: dict[str, int]
    took_us: dict[str, int]


class FiredAt(Request, frozen=True):
    VERB = "fired"
    REPLY = FiredReply


class ErrorOut(msgspec.Struct, frozen=True, kw_only=True):
    code: str
    message: str


VERBS: dict[str, type[Request]] = {
    r.VERB: r
    for r in (
        Ping, Remember, Seal, Recall, ListNotes, Show, Log, Decisions, Trace, Act, Turns, Deliveries, Why, Stale,
        Settings, ChangeSetting, SettingsLog, Policies, PolicyCheck, Enrol, Status, Stop, Verify, Reindex, FiredAt,
        Backup, Export,
    )
}  # fmt: skip
