"""What a rule's sentence leaves open in one case: which note, which file, how far below (`memd why`)."""

from collections.abc import Callable, Mapping
from typing import Final

from memd_daemon.limits import GATE_TERMS_MIN, GATE_WEIGHT_MIN
from memd_daemon.model.settings import IGNORED_RULE, PAUSED_RULE
from memd_daemon.model.words import Kind, Provenance
from memd_daemon.rules.situation import Candidate, Situation

MOMENTS: Final[Mapping[str, str]] = {
    Kind.DIRECTIVE: "a directive arrives at a session's start, after a compaction and at a subagent's start",
    Kind.TASK: "a task arrives at a session's start and after a compaction",
    Kind.GOTCHA: "a gotcha arrives when its file is read or about to be edited, a high one at a subagent's start too",
    Kind.FINDING: "a finding arrives when a prompt is about it",
    Kind.DECISION: "a decision is only told when it is asked for",
}
"""When each kind arrives."""


def detail(rule: str, now: Situation, one: Candidate) -> str:
    """The case behind the name of a rule that leaves this note out at this moment; "" where the rule's sentence says it all."""
    said = _DETAILS.get(rule)
    return said(now, one) if said else ""


def _auto(now: Situation, one: Candidate) -> str:
    if one.view.damaged:
        return "its text is not the one that was recorded: `memd verify` names it"
    return "" if one.view.note.provenance == Provenance.AUTO else "by what it is built on"


def _gate(now: Situation, one: Candidate) -> str:
    gate, seen = now.terms(one).gate, one.gate
    if seen is None:
        return ""
    nearness = "not known yet" if seen.cosine is None else f"{seen.cosine:.2f}"
    terms = f"{seen.terms} term{'' if seen.terms == 1 else 's'}"
    return (
        f"cosine {nearness} of {gate.near(seen.by_table):.2f}{' by the token table' if seen.by_table else ''}; "
        f"words in common {seen.idf_share:.2f} of {gate.idf_share:.2f}, {terms} of {GATE_TERMS_MIN}, "
        f"{seen.identifiers} of 1 identifier, a weight of {seen.weight:.1f} of {GATE_WEIGHT_MIN:g}"
    )


def _budget(now: Situation, one: Candidate) -> str:
    return f"{now.terms(one).budget_tokens:,} tokens for the whole block"


def _files(now: Situation, one: Candidate) -> str:
    paths = dict.fromkeys(anchor.path for anchor in one.view.note.anchors)
    return f"its files: {', '.join(paths)}" if paths else "it has no anchor"


def _setting(now: Situation, one: Candidate) -> str:
    return "`memd config list` shows the setting"


_DETAILS: Final[Mapping[str, Callable[[Situation, Candidate], str]]] = {
    "other-repository": lambda now, one: f"in {one.view.scope_label}" if one.view.scope_label else "",
    "other-path": lambda now, one: f"under {one.view.note.under}",
    "superseded": lambda now, one: f"[{one.view.superseded_by}]" if one.view.superseded_by else "",
    "absorbed": lambda now, one: f"[{one.view.absorbed_by}]" if one.view.absorbed_by else "",
    "auto": _auto,
    "other-moment": lambda now, one: MOMENTS.get(one.view.note.kind, ""),
    "task-not-high": lambda now, one: f"this one is {one.view.note.priority}",
    "gotcha-not-high": lambda now, one: f"this one is {one.view.note.priority}",
    "other-file": _files,
    "below-gate": _gate,
    "budget": _budget,
    PAUSED_RULE: _setting,
    IGNORED_RULE: _setting,
}
