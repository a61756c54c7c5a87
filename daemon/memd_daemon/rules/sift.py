"""The rules that judge one note by itself. `RULES` is a tuple, and the order IS the tuple: the first that leaves a note out
names the reason that `memd deliveries` and `memd why` give.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from memd_daemon.frames.digest import stands
from memd_daemon.limits import GATE_TERMS_MIN, GATE_WEIGHT_MIN
from memd_daemon.model.settings import IGNORED_RULE, PAUSED_RULE
from memd_daemon.model.view import NoteView
from memd_daemon.model.words import RULELESS_SOURCES, Currency, Kind, Priority, Provenance, Shelf, TaskState
from memd_daemon.rules.situation import Candidate, Gate, GateEvidence, Situation
from memd_hooks.events import Moment

ARRIVES: Final[dict[Moment, frozenset[Kind]]] = {
    Moment.SESSION_START: frozenset({Kind.DIRECTIVE, Kind.TASK}),
    Moment.POST_COMPACTION: frozenset({Kind.DIRECTIVE, Kind.TASK}),
    Moment.PROMPT_SUBMIT: frozenset({Kind.FINDING}),
    Moment.READ: frozenset({Kind.GOTCHA}),
    Moment.PRE_EDIT: frozenset({Kind.GOTCHA}),
    Moment.SUBAGENT_START: frozenset({Kind.DIRECTIVE, Kind.GOTCHA}),
}
"""Which kinds arrive at which moment; at every other moment none does, and a decision never."""

_FILE_MOMENTS: Final = frozenset({Moment.READ, Moment.PRE_EDIT})

# An enum looks its members up at each use; these rules run for every candidate of every edit.
_SUPERSEDED: Final = Currency.SUPERSEDED
_ABSORBED: Final = Currency.ABSORBED
_DIRECTIVE: Final = Kind.DIRECTIVE
_GOTCHA: Final = Kind.GOTCHA
_TASK: Final = Kind.TASK
_PROMPT_SUBMIT: Final = Moment.PROMPT_SUBMIT
_SUBAGENT_START: Final = Moment.SUBAGENT_START
_HIGH: Final = Priority.HIGH
_AUTO: Final = Provenance.AUTO
_ARCHIVED: Final = Shelf.ARCHIVED
_CLOSED: Final = TaskState.CLOSED
_GATE: Final = Gate()


class Rule(NamedTuple):
    """``leaves_out`` says whether the note stays out; ``says`` is the sentence behind ``name``."""

    name: str
    says: str
    leaves_out: Callable[[Situation, Candidate], bool]


def _other_repository(now: Situation, one: Candidate) -> bool:
    scope = one.view.note.scope
    is_here = scope == now.repo or scope in now.around
    return not is_here and scope != "global" and not scope.startswith("session:")


def _other_session(now: Situation, one: Candidate) -> bool:
    scope = one.view.note.scope
    return scope.startswith("session:") and scope.removeprefix("session:") not in (now.session, *now.continues)


def _other_path(now: Situation, one: Candidate) -> bool:
    """The work is not under the note's path; a session that works above it may come to it, so its start counts as well."""
    under = one.view.note.under
    if not under or not one.view.note.scope.startswith("repo:"):
        return False
    if now.trigger in _FILE_MOMENTS and now.paths:
        return not any(_inside(path, under) for path in now.paths)
    return not _inside(now.directory, under) and not _inside(under, now.directory)


def _inside(path: str, folder: str) -> bool:
    return not folder or path == folder or path.startswith(folder.rstrip("/") + "/")


def _superseded(now: Situation, one: Candidate) -> bool:
    return not one.view.revoked and one.view.note.currency == _SUPERSEDED


def _absorbed(now: Situation, one: Candidate) -> bool:
    return not one.view.revoked and one.view.note.currency == _ABSORBED


def _archived(now: Situation, one: Candidate) -> bool:
    return not one.view.revoked and one.view.note.shelf == _ARCHIVED


def _everywhere(now: Situation, one: Candidate) -> bool:
    """Only a person has a directive or a gotcha hold in every repository; no write makes one that nobody signed, an import may."""
    note = one.view.note
    if note.scope != "global" or note.kind not in (_DIRECTIVE, _GOTCHA):
        return False
    return not one.endorsed and not note.scope_signed


def _second_hand(now: Situation, one: Candidate) -> bool:
    """Text that was read is data, not a rule: no write makes a directive of it, an import may."""
    note = one.view.note
    return note.kind == _DIRECTIVE and note.source.type in RULELESS_SOURCES and not one.endorsed


def _other_moment(now: Situation, one: Candidate) -> bool:
    return one.view.note.kind not in ARRIVES.get(now.trigger, ())


def _task_can_wait(now: Situation, one: Candidate) -> bool:
    return one.view.note.kind == _TASK and one.view.note.priority != _HIGH


def _other_file(now: Situation, one: Candidate) -> bool:
    return one.view.note.kind == _GOTCHA and not one.view.matched_path


def _gotcha_can_wait(now: Situation, one: Candidate) -> bool:
    note = one.view.note
    return now.trigger == _SUBAGENT_START and note.kind == _GOTCHA and note.priority != _HIGH


def _absent(now: Situation, one: Candidate) -> bool:
    """The anchor that brought the note here, or every one of them, is absent on this branch."""
    view: NoteView = one.view
    matched = [g for g in view.ground if g.path == view.matched_path] or list(view.ground)
    return bool(matched) and all(g.signal == "absent" for g in matched)


def _standing(now: Situation, one: Candidate) -> bool:
    seen = now.standing.get(one.view.note.uid)
    return seen is not None and stands(seen, one.view, now.tags, now.edited_here)


def passes_gate(one: Candidate, gate: Gate = _GATE) -> bool:
    """Whether a prompt has reason enough for this note (delivery.md, "Silence is the default on the prompt")."""
    seen = one.gate
    if seen is None or seen.weight < GATE_WEIGHT_MIN or is_too_far(seen, gate):
        return False
    if seen.cosine is not None and seen.cosine >= gate.near(seen.by_table):
        return True
    return seen.idf_share >= gate.idf_share and (seen.terms >= GATE_TERMS_MIN or seen.identifiers > 0)


def is_too_far(seen: GateEvidence, gate: Gate = _GATE) -> bool:
    """Whether the two are too far from each other in meaning for any words in common to open the gate."""
    near = min(gate.near(seen.by_table), gate.near_enough_for_words(seen.by_table))
    return seen.cosine is not None and seen.cosine < near


def _below_gate(now: Situation, one: Candidate) -> bool:
    return now.trigger == _PROMPT_SUBMIT and not passes_gate(one, now.terms(one).gate)


def _silent(rule: str) -> Callable[[Situation, Candidate], bool]:
    return lambda now, one: now.rest is not None and now.rest.silent == rule and not one.endorsed


RULES: Final[tuple[Rule, ...]] = (
    Rule("forgotten", "it was forgotten", lambda now, one: one.view.note.forgotten),
    Rule("other-repository", "it holds in another repository", _other_repository),
    Rule("other-session", "it holds in another session only", _other_session),
    Rule("other-path", "it holds under another path of the repository", _other_path),
    Rule("superseded", "a newer note took its place", _superseded),
    Rule("absorbed", "it was folded into another note", _absorbed),
    Rule("archived", "it is archived", _archived),
    Rule("closed-task", "the task is done", lambda now, one: one.view.note.task == _CLOSED),
    Rule("auto", "a note of class auto is never told unasked", lambda now, one: one.view.frame_class == _AUTO),
    Rule("everywhere", "nobody signed that it holds in every repository", _everywhere),
    Rule("second-hand", "what comes from a document, a tool or a commit is no rule", _second_hand),
    Rule("quarantined", "it came in a burst that nobody has looked at yet", lambda now, one: one.view.quarantined),
    Rule(
        "no-person",
        "a session without a person gets directives only",
        lambda now, one: not now.with_person and one.view.note.kind != _DIRECTIVE,
    ),
    Rule("other-moment", "its kind does not arrive at this moment", _other_moment),
    Rule("task-not-high", "only tasks of high priority arrive unasked", _task_can_wait),
    Rule("other-file", "none of its anchors is a file that is read or edited here", _other_file),
    Rule("gotcha-not-high", "a subagent's start has room for gotchas of high priority only", _gotcha_can_wait),
    Rule("absent-on-branch", "its file is absent on this branch", _absent),
    Rule(
        "sent-this-turn", "it was told in this turn already", lambda now, one: one.view.note.uid in now.sent_this_turn
    ),
    Rule("standing", "it stands in this context with the same rendering", _standing),
    Rule(PAUSED_RULE, "memd is paused", _silent(PAUSED_RULE)),
    Rule(IGNORED_RULE, "memd is kept out of this repository", _silent(IGNORED_RULE)),
    Rule("below-gate", "the prompt gives too little reason for it", _below_gate),
)

_IN_ORDER: Final = tuple((rule.name, rule.leaves_out) for rule in RULES)
"""Unpacked ahead: an edit of a file with fifty gotchas asks every rule of each."""


def sift(now: Situation, one: Candidate) -> str:
    """The name of the first rule that leaves the candidate out, "" where none does."""
    for name, leaves_out in _IN_ORDER:
        if leaves_out(now, one):
            return name
    return ""
