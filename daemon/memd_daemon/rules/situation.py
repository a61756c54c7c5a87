"""What the rules look at, and what they answer: plain values, filled in by the service."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from memd_daemon.limits import (
    BUDGET_EDIT_TOKENS,
    BUDGET_PROMPT_TOKENS,
    BUDGET_START_TOKENS,
    BUDGET_SUBAGENT_TOKENS,
    BUDGET_SUBAGENTS_TURN_TOKENS,
    GATE_COSINE,
    GATE_IDF_SHARE,
    GATE_TABLE_COSINE,
    GATE_WORDS_COSINE,
    GATE_WORDS_TABLE_COSINE,
)
from memd_daemon.model.delivery import DeliveredNote, LeftOut
from memd_daemon.model.view import NoteView
from memd_daemon.model.words import Provenance
from memd_hooks.events import Moment

Measure = Callable[[str], int]


class GateEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """How a prompt and a note agree, unnormalized: what the gate reads."""

    cosine: float | None = None  # None: no vector was there to compare
    by_table: bool = False  # the prompt's vector was the token table's, whose cosines are of another scale
    idf_share: float = 0.0  # of the prompt's idf mass, carried by words of the note
    terms: int = 0  # content terms that match
    identifiers: int = 0  # of these, the identifiers
    weight: float = 0.0  # idf mass of what the prompt and the note both speak of


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """What a prompt has to bring for a note to be told (delivery.md, "Silence is the default on the prompt")."""

    cosine: float = GATE_COSINE
    idf_share: float = GATE_IDF_SHARE

    def near(self, by_table: bool) -> float:
        """The cosine from which the two are near in meaning. What a person set for full vectors is carried over to the table's
        scale: default to default, and the ends to the ends."""
        if not by_table:
            return self.cosine
        if self.cosine <= GATE_COSINE:
            return self.cosine * GATE_TABLE_COSINE / GATE_COSINE
        return 1 - (1 - self.cosine) * (1 - GATE_TABLE_COSINE) / (1 - GATE_COSINE)

    @staticmethod
    def near_enough_for_words(by_table: bool) -> float:
        """The cosine that words alone need."""
        return GATE_WORDS_TABLE_COSINE if by_table else GATE_WORDS_COSINE


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A note that may be told now. ``score`` and ``gate`` are set where a prompt found it (recall.md)."""

    view: NoteView
    score: float = 0.0
    gate: GateEvidence | None = None

    @property
    def endorsed(self) -> bool:
        """Whether a person stands behind what would be told: the note, or that it is struck through."""
        view = self.view
        return view.frame_class == Provenance.HUMAN or (view.tombstone is not None and view.tombstone.signed)


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What the settings make of a moment, where they differ for what nobody endorsed (model/settings.py)."""

    budget_tokens: int
    gate: Gate = Gate()
    hold_enabled: bool = True
    silent: str = ""  # the name of the rule that keeps everything else out: "paused" or "ignored"


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """One moment in one context (session, agent, epoch).

    ``budget_tokens``, ``gate`` and ``hold_enabled`` are what a person set, or the defaults. ``rest`` is set where a change that
    nobody signed makes something else of them for notes that nobody endorsed.
    """

    trigger: Moment
    session: str
    continues: tuple[str, ...] = ()  # sessions that it was forked from, or came after by a clear: their notes hold too
    repo: str = ""  # scope of the repository, "repo:<uid>"; "" where there is none
    around: tuple[str, ...] = ()  # scopes of the repositories that the files' own one lies in
    paths: tuple[str, ...] = ()  # read or about to be edited, relative to the repository's root, and to those around it
    directory: str = ""  # where the client works, relative to the repository's root; "" is the root
    with_person: bool = True
    permission_mode: str = ""
    hold_enabled: bool = True  # the setting, and for a headless run the setting for those
    held_this_turn: bool = False
    held_for: frozenset[bytes] = frozenset()  # uids of notes that an edit of this epoch was held for
    sent_this_turn: frozenset[bytes] = frozenset()  # uids
    standing: Mapping[bytes, bytes] = {}  # uid -> rendering digest, of this epoch
    edited_here: frozenset[str] = frozenset()  # repository paths that this context has edited
    tags: Sequence[str] = ()  # names of the tags of all supported clients
    cost: Measure  # tokens of a text, never less than a quarter of its UTF-8 bytes (delivery.md, "Budget")
    budget_tokens: int  # for the whole block, the envelope included
    gate: Gate = Gate()
    rest: Terms | None = None
    units: Measure  # size of a text in the harness's own unit
    cap_units: int  # what the harness still takes in this answer

    def terms(self, one: Candidate) -> "Situation | Terms":
        """What holds for this note."""
        return self if self.rest is None or one.endorsed else self.rest

    @property
    def block_tokens(self) -> int:
        """What the block may cost at most, whatever is in it."""
        return self.budget_tokens if self.rest is None else max(self.budget_tokens, self.rest.budget_tokens)


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """A note as it goes out."""

    candidate: Candidate
    text: str
    tokens: int
    digest: bytes

    def delivered(self) -> DeliveredNote:
        """The ledger's row."""
        view = self.candidate.view
        return DeliveredNote(uid=view.note.uid, id=view.id, digest=self.digest, tokens=self.tokens)


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What is told now. Each candidate stands in ``chosen`` or in ``left_out``, exactly once."""

    text: str = ""  # the whole block, ready to send; "" is silence
    tokens: int = 0  # of the whole block
    chosen: tuple[Chosen, ...] = ()  # in the block's order
    left_out: tuple[LeftOut, ...] = ()  # with the name of the rule that did it
    hold: Candidate | None = None  # the edit is held back for this note; ``text`` is then the reason


_BUDGETS = {
    Moment.SESSION_START: BUDGET_START_TOKENS,
    Moment.POST_COMPACTION: BUDGET_START_TOKENS,
    Moment.PROMPT_SUBMIT: BUDGET_PROMPT_TOKENS,
    Moment.READ: BUDGET_EDIT_TOKENS,
    Moment.PRE_EDIT: BUDGET_EDIT_TOKENS,
    Moment.SUBAGENT_START: BUDGET_SUBAGENT_TOKENS,
}


def budget_tokens(trigger: Moment, spent_on_subagents: int = 0, setting: int | None = None) -> int:
    """The budget of one block; 0 at a moment that tells nothing. ``spent_on_subagents``: tokens in this turn so far.

    ``setting`` takes the place of the default.
    """
    budget = _BUDGETS.get(trigger, 0) if setting is None else setting
    if trigger == Moment.SUBAGENT_START:
        return max(0, min(budget, BUDGET_SUBAGENTS_TURN_TOKENS - spent_on_subagents))
    return budget
