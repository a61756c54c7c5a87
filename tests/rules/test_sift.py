"""Which note may arrive at which moment, and the name of the rule that keeps the others out."""

from typing import Any

import pytest

from memd_daemon.frames.digest import rendering_digest
from memd_daemon.limits import (
    GATE_COSINE,
    GATE_IDF_SHARE,
    GATE_TABLE_COSINE,
    GATE_TERMS_MIN,
    GATE_WEIGHT_MIN,
    GATE_WORDS_COSINE,
    GATE_WORDS_TABLE_COSINE,
)
from memd_daemon.model.event import Source
from memd_daemon.model.view import GroundStatus
from memd_daemon.model.words import Kind
from memd_daemon.rules import RULES, WHY, Gate, GateEvidence, decide, sift
from memd_daemon.rules.sift import is_too_far, passes_gate
from memd_hooks.events import Moment
from tests.frames.make import TAGS
from tests.rules.make import make_now, make_one

ARRIVES = {
    Kind.DIRECTIVE: {Moment.SESSION_START, Moment.POST_COMPACTION, Moment.SUBAGENT_START},
    Kind.TASK: {Moment.SESSION_START, Moment.POST_COMPACTION},
    Kind.GOTCHA: {Moment.READ, Moment.PRE_EDIT, Moment.SUBAGENT_START},
    Kind.FINDING: {Moment.PROMPT_SUBMIT},
    Kind.DECISION: set(),
}


def test_the_rules_are_tried_in_this_order() -> None:
    """The tuple is the order; what it is at all comes before where, when, and whether it was said."""
    assert [rule.name for rule in RULES] == [
        "forgotten",
        "other-repository",
        "other-session",
        "other-path",
        "superseded",
        "absorbed",
        "archived",
        "closed-task",
        "auto",
        "everywhere",
        "second-hand",
        "quarantined",
        "no-person",
        "other-moment",
        "task-not-high",
        "other-file",
        "gotcha-not-high",
        "absent-on-branch",
        "sent-this-turn",
        "standing",
        "paused",
        "ignored",
        "below-gate",
    ]
    assert {rule.name for rule in RULES} < set(WHY)


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("moment", Moment)
def test_each_kind_has_its_moments(kind: Kind, moment: Moment) -> None:
    """The table of delivery.md, all cells; a note of high priority, anchored, that passes the gate."""
    task = {"task": "open"} if kind == Kind.TASK else {}
    one = make_one(kind=kind, priority="high", **task)
    wanted = "" if moment in ARRIVES[kind] else "other-moment"
    assert sift(make_now(moment), one) == wanted
    assert bool(decide(make_now(moment), [one]).chosen) == (not wanted)


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("moment", Moment)
@pytest.mark.parametrize("revoked", ["", "was wrong"])
def test_auto_is_never_told_unasked(kind: Kind, moment: Moment, revoked: str) -> None:
    """Its own class or a source's, held or revoked, by no trigger."""
    for own in ("auto", "human"):
        changes = {"kind": kind, "priority": "high", "provenance": own, "frame_class": "auto", "revoked": revoked}
        assert sift(make_now(moment), make_one(**changes)) == "auto"


NOT_NOW: list[tuple[str, Moment, dict[str, Any], dict[str, Any]]] = [
    ("forgotten", Moment.PROMPT_SUBMIT, {"forgotten": True}, {}),
    ("other-repository", Moment.PROMPT_SUBMIT, {"scope": "repo:ff"}, {}),
    ("other-repository", Moment.PROMPT_SUBMIT, {}, {"repo": ""}),
    ("other-session", Moment.PROMPT_SUBMIT, {"scope": "session:s2"}, {}),
    ("", Moment.PROMPT_SUBMIT, {"scope": "session:s1"}, {}),
    ("", Moment.PROMPT_SUBMIT, {"scope": "global"}, {"repo": ""}),
    ("", Moment.PROMPT_SUBMIT, {"under": "crates/a"}, {"directory": "crates/a/src"}),
    ("", Moment.PROMPT_SUBMIT, {"under": "crates/a"}, {"directory": ""}),
    ("other-path", Moment.PROMPT_SUBMIT, {"under": "crates/a"}, {"directory": "crates/ab"}),
    ("other-path", Moment.PROMPT_SUBMIT, {"under": "crates/a"}, {"directory": "crates/b"}),
    ("", Moment.READ, {"kind": "gotcha", "under": "crates/a"}, {"paths": ("b", "crates/a/x.rs")}),
    ("other-path", Moment.READ, {"kind": "gotcha", "under": "crates/a"}, {"paths": ("crates/x.rs",)}),
    ("superseded", Moment.PROMPT_SUBMIT, {"currency": "superseded"}, {}),
    ("absorbed", Moment.PROMPT_SUBMIT, {"currency": "absorbed"}, {}),
    ("", Moment.PROMPT_SUBMIT, {"currency": "superseded", "revoked": "x"}, {}),
    ("archived", Moment.PROMPT_SUBMIT, {"shelf": "archived"}, {}),
    ("closed-task", Moment.SESSION_START, {"kind": "task", "task": "closed", "priority": "high"}, {}),
    ("task-not-high", Moment.SESSION_START, {"kind": "task", "task": "open"}, {}),
    ("", Moment.SESSION_START, {"kind": "directive", "priority": "low"}, {}),
    ("everywhere", Moment.SESSION_START, {"kind": "directive", "scope": "global"}, {}),
    ("everywhere", Moment.READ, {"kind": "gotcha", "scope": "global"}, {}),
    ("", Moment.SESSION_START, {"kind": "directive", "scope": "global", "provenance": "human"}, {}),
    ("", Moment.SESSION_START, {"kind": "directive", "scope": "global", "scope_signed": True}, {}),
    ("", Moment.SESSION_START, {"kind": "task", "scope": "global", "task": "open", "priority": "high"}, {}),
    *[
        ("second-hand", Moment.SESSION_START, {"kind": "directive", "source": Source(type_, "x")}, {})
        for type_ in ("document", "tool", "commit")
    ],
    ("", Moment.SESSION_START, {"kind": "directive", "source": Source("document", "x"), "provenance": "human"}, {}),
    ("", Moment.PROMPT_SUBMIT, {"source": Source("document", "x")}, {}),
    ("quarantined", Moment.PROMPT_SUBMIT, {"quarantined": True}, {}),
    ("no-person", Moment.PROMPT_SUBMIT, {}, {"with_person": False}),
    ("no-person", Moment.PRE_EDIT, {"kind": "gotcha"}, {"with_person": False}),
    ("", Moment.SESSION_START, {"kind": "directive"}, {"with_person": False}),
    ("other-file", Moment.READ, {"kind": "gotcha", "matched_path": ""}, {}),
    ("gotcha-not-high", Moment.SUBAGENT_START, {"kind": "gotcha"}, {}),
    ("", Moment.READ, {"kind": "gotcha", "priority": "low"}, {}),
    ("", Moment.READ, {"kind": "gotcha", "revoked": "x"}, {}),
]


@pytest.mark.parametrize(("rule", "moment", "note", "now"), NOT_NOW)
def test_a_rule_names_itself(rule: str, moment: Moment, note: dict[str, Any], now: dict[str, Any]) -> None:
    """Each rule at its edge."""
    decision = decide(make_now(moment, **now), [make_one(**note)])
    assert [left.rule for left in decision.left_out] == ([rule] if rule else [])
    assert bool(decision.text) == (not rule)


def test_a_file_absent_on_this_branch_keeps_its_note_back() -> None:
    """The matched file decides; for other kinds every anchor has to be absent."""
    gone, there = GroundStatus(path="a.py", signal="absent"), GroundStatus(path="b.py")
    read, prompt = make_now(Moment.READ), make_now(Moment.PROMPT_SUBMIT)
    assert sift(read, make_one(kind="gotcha", ground=(gone, there), matched_path="a.py")) == "absent-on-branch"
    assert sift(read, make_one(kind="gotcha", ground=(gone, there), matched_path="b.py")) == ""
    assert sift(prompt, make_one(ground=(gone, there))) == ""
    assert sift(prompt, make_one(ground=(gone,))) == "absent-on-branch"


def test_what_stands_is_not_said_again_until_it_changes() -> None:
    """The same rendering is silence; a revocation, another's edit, or a new context brings it back."""
    one = make_one(kind="gotcha")
    seen = {one.view.note.uid: rendering_digest(one.view, TAGS)}
    now = make_now(Moment.READ, standing=seen)
    changed = make_one(kind="gotcha", changed="a.py", matched_path="a.py")
    assert sift(now, one) == "standing"
    assert sift(make_now(Moment.READ, standing=seen, edited_here=frozenset({"a.py"})), changed) == "standing"
    assert sift(now, changed) == ""
    assert sift(now, make_one(kind="gotcha", revoked="x")) == ""
    assert sift(make_now(Moment.READ), one) == ""
    assert sift(make_now(Moment.READ, sent_this_turn=frozenset(seen)), changed) == "sent-this-turn"


SHARED: dict[str, Any] = {"idf_share": GATE_IDF_SHARE, "terms": GATE_TERMS_MIN, "weight": GATE_WEIGHT_MIN}
"""Just enough words in common for words to decide."""

EVIDENCE: list[tuple[GateEvidence | None, bool]] = [
    (None, False),
    (GateEvidence(), False),
    (GateEvidence(cosine=GATE_COSINE, weight=GATE_WEIGHT_MIN), True),
    (GateEvidence(cosine=1.0, weight=GATE_WEIGHT_MIN - 0.01), False),
    (GateEvidence(cosine=GATE_COSINE - 0.01, idf_share=1.0, terms=1, weight=99.0), False),
    (GateEvidence(**SHARED), True),
    (GateEvidence(**{**SHARED, "terms": 1, "identifiers": 1}), True),
    (GateEvidence(**{**SHARED, "terms": 1}), False),
    (GateEvidence(**{**SHARED, "weight": GATE_WEIGHT_MIN - 0.01}), False),
    (GateEvidence(**{**SHARED, "idf_share": GATE_IDF_SHARE - 0.01}), False),
    (GateEvidence(cosine=GATE_WORDS_COSINE, **SHARED), True),
    (GateEvidence(cosine=GATE_WORDS_COSINE - 0.01, **SHARED), False),
    (GateEvidence(cosine=GATE_TABLE_COSINE, weight=GATE_WEIGHT_MIN), False),
    (GateEvidence(cosine=GATE_TABLE_COSINE, by_table=True, weight=GATE_WEIGHT_MIN), True),
    (GateEvidence(cosine=GATE_TABLE_COSINE - 0.01, by_table=True, weight=99.0), False),
    (GateEvidence(cosine=GATE_WORDS_TABLE_COSINE, by_table=True, **SHARED), True),
    (GateEvidence(cosine=GATE_WORDS_TABLE_COSINE - 0.01, by_table=True, **SHARED), False),
]


@pytest.mark.parametrize(("gate", "passes"), EVIDENCE)
def test_the_gate_reads_evidence_and_not_the_score(gate: GateEvidence | None, passes: bool) -> None:
    """Cosine by either kind of vector, or a share of the words with two terms or one identifier, and always some weight in common;
    no score opens it."""
    one = make_one(score=99.0, gate=gate, provenance="human")
    assert sift(make_now(Moment.PROMPT_SUBMIT), one) == ("" if passes else "below-gate")


@pytest.mark.parametrize("by_table", [False, True])
@pytest.mark.parametrize("near", [0.2, GATE_COSINE, 0.9])
@pytest.mark.parametrize("cosine", [None, 0.0, 0.05, 0.179, 0.18, 0.2, 0.349, 0.35, 0.6, 1.0])
def test_words_are_asked_for_only_where_they_count(cosine: float | None, near: float, by_table: bool) -> None:
    """What is too far passes with no words at all, whatever a person set; what is not passes with all of them."""
    seen = GateEvidence(cosine=cosine, by_table=by_table, idf_share=1.0, terms=9, identifiers=9, weight=99.0)
    gate = Gate(cosine=near)
    assert passes_gate(make_one(gate=seen), gate) is not is_too_far(seen, gate)


def test_a_set_gate_is_carried_over_to_the_tables_scale() -> None:
    """The default is the default there, the ends are the ends, and more is more."""
    at = [Gate(cosine=cosine).near(True) for cosine in (0.0, 0.2, GATE_COSINE, 0.6, 0.8, 1.0)]
    assert at == sorted(at)
    assert [at[0], at[2], at[-1]] == pytest.approx([0.0, GATE_TABLE_COSINE, 1.0])
    assert [Gate(cosine=cosine).near(False) for cosine in (0.2, 0.8)] == [0.2, 0.8]
