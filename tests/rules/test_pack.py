"""What fits, in which order, and what is said of the rest."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memd_daemon.frames.envelope import bundle
from memd_daemon.frames.push import renderings
from memd_daemon.limits import REVOKED_DIRECTIVES_MAX_TOKENS
from memd_daemon.model.event import Anchor
from memd_daemon.model.note import Reinstatement
from memd_daemon.model.view import ProposalView, TombstoneView
from memd_daemon.rules import Candidate, Decision, Situation, budget_tokens, decide
from memd_hooks.events import Moment
from tests.frames.grammar import read_block
from tests.frames.make import MARCH_4, TAGS
from tests.rules.make import cost, make_now, make_one, utf16_units

RULE: dict[str, Any] = {"kind": "directive"}
GOTCHA: dict[str, Any] = {"kind": "gotcha"}


def ids(decision: Decision) -> list[int]:
    return [chosen.candidate.view.id for chosen in decision.chosen]


def rules(decision: Decision) -> dict[int, str]:
    return {left.id: left.rule for left in decision.left_out}


def test_a_start_has_rules_then_tasks_then_fallen_rules() -> None:
    """Human before user-stated before agent, then priority, then newest; tombstones last."""
    taken_back = Reinstatement(at=MARCH_4, actor="agent", revoked_by_person_at=MARCH_4)
    task = {"kind": "task", "task": "open", "priority": "high"}
    candidates = [
        make_one(1, **RULE, revoked="x", priority="high", provenance="human"),
        make_one(2, **task, created_at=MARCH_4),
        make_one(3, **task, created_at=MARCH_4 + 1),
        make_one(4, **RULE, priority="high", created_at=MARCH_4 + 9),
        make_one(5, **RULE, user_stated=7, priority="low"),
        make_one(6, **RULE, provenance="human", priority="low"),
        make_one(7, **RULE, provenance="human", priority="high", created_at=MARCH_4),
        make_one(8, **RULE, provenance="human", priority="high", created_at=MARCH_4 + 1),
        make_one(9, **RULE, provenance="human", priority="medium", reinstated=taken_back),
    ]
    decision = decide(make_now(), candidates)
    assert ids(decision) == [8, 7, 6, 5, 4, 9, 3, 2, 1]
    assert not decision.left_out


def test_gotchas_and_findings_have_their_orders() -> None:
    """Priority, then block before file, then newest; findings by score."""
    block = {"anchors": (Anchor(form="symbol", path="a.py", part="f"),)}
    gotchas = [
        make_one(1, **GOTCHA, created_at=MARCH_4 + 9),
        make_one(2, **GOTCHA, created_at=MARCH_4, **block),
        make_one(3, **GOTCHA, created_at=MARCH_4 + 10),
        make_one(4, **GOTCHA, priority="high", created_at=MARCH_4),
    ]
    assert ids(decide(make_now(Moment.READ), gotchas)) == [4, 2, 3, 1]
    elsewhere = {"anchors": (Anchor(path="a.py"), Anchor(form="symbol", path="b.py", part="f")), "matched_path": "a.py"}
    beside = [*gotchas, make_one(5, **GOTCHA, **elsewhere, created_at=MARCH_4)]
    assert ids(decide(make_now(Moment.READ), beside)) == [4, 2, 3, 1, 5]  # a block of another file makes it no preciser
    findings = [make_one(1, score=0.2), make_one(2, score=0.9), make_one(3, score=0.2, created_at=MARCH_4 + 1)]
    assert ids(decide(make_now(Moment.PROMPT_SUBMIT), findings)) == [2, 3, 1]


def test_what_does_not_fit_is_dropped_whole_and_named() -> None:
    """A smaller one after it still goes in; rules stand first among the names."""
    long_, short = "long word " * 300, "short."
    candidates = [
        make_one(1, **RULE, priority="high", content=long_),
        make_one(2, **RULE, priority="medium", content=short),
        make_one(3, kind="task", task="open", priority="high", content=long_, created_at=MARCH_4 + 5),
        make_one(4, **RULE, priority="low", content=long_),
    ]
    decision = decide(make_now(budget_tokens=500), candidates)
    assert ids(decision) == [2]
    assert rules(decision) == {1: "budget", 3: "budget", 4: "budget"}
    assert decision.text.endswith(
        "\nmemd: end; 3 more qualified and did not fit: [1] [4] [3] (ask for them with recall or show)."
    )


def test_what_a_person_endorsed_is_not_crowded_out() -> None:
    """However many an agent writes, of whatever kind and however new: the endorsed ones have their room first, and their place."""
    crowd = [make_one(i, **RULE, frame_class="agent", priority="high", content="word " * 30) for i in range(10, 60)]
    task = {"kind": "task", "task": "open", "priority": "high"}
    crowd += [make_one(i, **task, content="word " * 30, created_at=MARCH_4 + i) for i in range(60, 90)]
    mine = [make_one(1, **RULE, frame_class="human", priority="low"), make_one(2, **task, frame_class="human")]
    told = ids(decide(make_now(budget_tokens=500), [*crowd, *mine]))
    assert (told[0], 2 in told) == (1, True)
    assert {"budget"} == set(rules(decide(make_now(budget_tokens=500), [*crowd, *mine])).values())


def test_the_cap_is_counted_in_the_clients_own_unit() -> None:
    """Emojis count two UTF-16 units; the whole text with its envelope stays within."""
    candidates = [make_one(i, **RULE, content="👍" * 100) for i in range(1, 40)]
    decision = decide(make_now(budget_tokens=100_000, cap_units=3_000), candidates)
    assert 5 < len(decision.chosen) < 15
    assert utf16_units(decision.text) <= 3_000
    assert set(rules(decision).values()) == {"harness-cap"}


def test_a_rule_that_does_not_fit_alone_is_named_all_the_same() -> None:
    """Where nothing fits, the last line still names the rule; other kinds leave silence."""
    rule = make_one(1, **RULE, content="word " * 400)
    decision = decide(make_now(budget_tokens=60), [rule])
    assert read_block(decision.text) == ([], [1])
    assert decide(make_now(Moment.PROMPT_SUBMIT, budget_tokens=60), [make_one(content="word " * 400)]).text == ""
    assert decide(make_now(budget_tokens=3), [rule]).text == ""


def test_lines_never_decide_that_a_note_is_dropped() -> None:
    """First every note, then as many lines as there is room for, in the bundle's order."""
    warned = {"provenance": "human", "proposals": (ProposalView(act="revoke", at=MARCH_4, reason="w " * 70),)}
    candidates = [make_one(i, **RULE, **warned) for i in (1, 2, 3)]
    forms = [renderings(one.view, TAGS) for one in candidates]
    roomy = decide(make_now(), candidates)
    assert [chosen.text for chosen in roomy.chosen] == [full for full, _, _ in reversed(forms)]
    bare = cost(bundle([one.view for one in candidates], [form[-1] for form in forms]))
    tight = decide(make_now(budget_tokens=bare + 35), candidates)
    assert ids(tight) == [3, 2, 1]
    assert tight.chosen[0].text == forms[2][1]
    assert tight.chosen[2].text == forms[0][2]
    assert tight.chosen[0].digest == roomy.chosen[0].digest


@pytest.mark.parametrize("length", range(0, 60, 5))
def test_what_room_is_left_goes_to_the_lines(length: int) -> None:
    """Whatever numbers the last line names: warnings on what a person endorsed are left out only where there is no room for one."""
    proposed = (ProposalView(act="revoke", at=MARCH_4, reason="w " * 30),)
    mine = [
        make_one(i, **RULE, provenance="human", proposals=proposed, content="Keep it. " + "x" * length)
        for i in range(1, 10)
    ]
    crowd = [make_one(1_000_000 + i, **RULE, content=f"rule {i:05} " + "word " * 80) for i in range(60)]
    decision = decide(make_now(budget_tokens=8_000), [*mine, *crowd])
    told = [chosen for chosen in decision.chosen if chosen.candidate.endorsed]
    bare = [chosen for chosen in told if chosen.text == renderings(chosen.candidate.view, TAGS)[-1]]
    assert len(told) == len(mine)
    assert 9_500 - utf16_units(decision.text) < min(
        utf16_units(renderings(chosen.candidate.view, TAGS)[1]) - utf16_units(chosen.text) for chosen in bare
    )


@pytest.mark.parametrize("spare", range(30, 90, 5))
def test_the_names_of_agents_rules_keep_out_no_endorsed_one(spare: int) -> None:
    """What the endorsed ones leave free is enough to name one of the others: so all of them are told, and the others counted."""
    mine = [make_one(i, **RULE, provenance="human", content=f"rule {i} " + "word " * 30) for i in range(1, 9)]
    alone = decide(make_now(), mine)
    assert len(alone.chosen) == 8
    crowd = [make_one(100_000 + i, **RULE, content="word " * 90) for i in range(40)]
    decision = decide(make_now(budget_tokens=alone.tokens + len(mine) + 20 + spare), [*mine, *crowd])
    assert ids(decision) == ids(alone)
    assert read_block(decision.text)[1][0] == 100_039
    assert "memd: end; 40 more qualified" in decision.text


def test_a_finding_is_not_lost_to_the_count_of_those_behind_it() -> None:
    """The best one fits alone, and beside others that do not: the line names fewer of them then."""
    best = make_one(1, score=0.9, content="word " * 300)
    others = [make_one(100_000 + i, score=0.5, content="word " * 300) for i in range(12)]
    alone = decide(make_now(Moment.PROMPT_SUBMIT), [best]).tokens
    for spare in range(35, 80):
        decision = decide(make_now(Moment.PROMPT_SUBMIT, budget_tokens=alone + spare), [best, *others])
        assert ids(decision) == [1]
        assert "memd: end; 12 more qualified and did not fit: [100011]" in decision.text
        assert decision.tokens <= alone + spare


@pytest.mark.parametrize("number", [5, 100_000])
def test_rules_of_one_class_are_all_named_up_to_ten(number: int) -> None:
    """Room for their names is kept whatever else asks for it, be they all endorsed or none."""
    for provenance in ("human", "agent"):
        made = [
            make_one(number + i, **RULE, provenance=provenance, content=f"rule {i} " + "word " * 30) for i in range(60)
        ]
        for budget in range(150, 900, 50):
            decision = decide(make_now(budget_tokens=budget), made)
            named = read_block(decision.text)[1]
            assert named == [left for left in range(number + 59, number - 1, -1) if left not in ids(decision)][:10]


def test_revoked_rules_take_a_share_and_no_more() -> None:
    """At most 300 tokens of tombstones, however many there are; rules are not crowded out."""
    fallen = [make_one(i, **RULE, revoked="because " * 15) for i in range(1, 30)]
    held = [make_one(100 + i, **RULE, content="keep " * 20) for i in range(10)]
    decision = decide(make_now(), [*fallen, *held])
    tombstones = [chosen for chosen in decision.chosen if chosen.candidate.view.revoked]
    assert len(decision.chosen) - len(tombstones) == len(held)
    assert len(tombstones) > 1
    assert sum(chosen.tokens for chosen in tombstones) <= REVOKED_DIRECTIVES_MAX_TOKENS
    assert set(rules(decision).values()) == {"tombstone-share"}


def test_a_correction_is_not_dropped_before_what_it_corrects() -> None:
    """The correction is tried first although it stands later; where it does not fit, its tombstone does not go either."""
    old = make_one(1, **GOTCHA, priority="high", revoked="contradicted by [2]", replaced_by=2)
    new = make_one(2, **GOTCHA, priority="low", content="word " * 60)
    other = make_one(3, **GOTCHA, priority="medium", content="word " * 60)
    now = make_now(Moment.READ)
    assert ids(decide(now, [old, new, other])) == [1, 3, 2]
    tight = decide(make_now(Moment.READ, budget_tokens=260), [old, new, other])
    assert ids(tight) == [1, 2]
    assert rules(tight) == {3: "budget"}
    huge = make_one(2, **GOTCHA, priority="low", content="word " * 900)
    assert rules(decide(now, [old, huge])) == {1: "correction-first", 2: "budget"}
    assert ids(decide(make_now(Moment.READ, sent_this_turn=frozenset({new.view.note.uid})), [old, new])) == [1]


def test_a_later_correction_is_one_too() -> None:
    """One that was written against a note that had fallen already: the tombstone names another note, or none, and waits for it."""
    old = make_one(1, **GOTCHA, priority="high", revoked="it was wrong")
    later = make_one(2, **GOTCHA, priority="low", corrects=(1,), content="word " * 60)
    other = make_one(3, **GOTCHA, priority="medium", content="word " * 60)
    assert ids(decide(make_now(Moment.READ, budget_tokens=260), [old, later, other])) == [1, 2]
    huge = make_one(2, **GOTCHA, priority="low", corrects=(1,), content="word " * 900)
    assert rules(decide(make_now(Moment.READ), [old, huge])) == {1: "correction-first", 2: "budget"}


@pytest.mark.parametrize(
    ("fallen", "correction", "waits"),
    [
        ({}, {"corrects": (1,)}, False),
        ({}, {"corrects": (1,), "provenance": "human"}, True),
        ({"replaced_by": 2}, {}, True),
    ],
)
def test_what_a_person_struck_through_waits_for_nothing_that_nobody_stands_behind(
    fallen: dict[str, Any], correction: dict[str, Any], waits: bool
) -> None:
    """Only for what that person named in its place, or what a person endorsed: what agents write against it may be any number."""
    struck = TombstoneView(revoked_at=MARCH_4, reason="it was wrong", signed=True)
    old = make_one(1, **{**GOTCHA, **fallen, "tombstone": struck})
    new = make_one(2, **{**GOTCHA, **correction, "content": "word " * 900})
    told = decide(make_now(Moment.READ), [old, new])
    assert ids(told) == ([] if waits else [1])
    assert rules(told) == {2: "budget"} | ({1: "correction-first"} if waits else {})


def test_a_tombstone_costs_its_own_line_and_not_what_it_buries() -> None:
    """The summary is what it quotes, however long the content was."""
    long = make_one(1, **GOTCHA, revoked="it was wrong", content="word " * 1500)
    assert ids(decide(make_now(Moment.READ), [long])) == [1]


def test_a_fallen_rule_takes_nobodys_place_and_is_no_rule_that_has_to_be_named() -> None:
    """Whoever struck it through: rules that hold have their room first, and where it alone finds none there is silence."""
    struck = TombstoneView(revoked_at=MARCH_4, reason="because " * 15, signed=True)
    fallen = [make_one(i, **RULE, tombstone=struck) for i in (1, 2, 3)]
    held = [make_one(10 + i, **RULE, content="keep " * 20) for i in range(10)]
    alone = decide(make_now(), held)
    tight = decide(make_now(budget_tokens=alone.tokens + len(held) + 90), [*fallen, *held])
    assert [id_ for id_ in ids(tight) if id_ >= 10] == ids(alone)
    assert len(ids(tight)) < len(held) + len(fallen)
    assert decide(make_now(budget_tokens=50), fallen).text == ""


def test_below_the_users_words_rules_are_all_alike() -> None:
    """One that builds on a document goes by its priority, as any that an agent recorded."""
    built = make_one(1, **RULE, untrusted=True, priority="high")
    plain = make_one(2, **RULE, priority="medium")
    assert ids(decide(make_now(), [plain, built])) == [1, 2]


def test_two_that_revoked_each_other_are_both_told() -> None:
    """No circle of corrections can silence a tombstone."""
    one = make_one(1, **GOTCHA, revoked="contradicted by [2]", replaced_by=2)
    two = make_one(2, **GOTCHA, revoked="contradicted by [1]", replaced_by=1)
    assert ids(decide(make_now(Moment.READ), [one, two])) == [2, 1]


def test_a_note_arrives_once() -> None:
    """Two files that bring one gotcha bring it once."""
    decision = decide(make_now(Moment.READ), [make_one(**GOTCHA), make_one(**GOTCHA)])
    assert (ids(decision), rules(decision)) == ([47], {47: "once"})


def test_ten_thousand_candidates_deliver_what_twenty_would() -> None:
    """The best of a large store and nothing beyond the budget, the rest counted."""
    best = [make_one(i, **RULE, priority="high", content=f"rule {i:05} " + "word " * 80) for i in range(20)]
    others = [make_one(100 + i, **RULE, content=f"rule {i:05} " + "word " * 80) for i in range(9_980)]
    few, many = decide(make_now(), best), decide(make_now(), [*best, *others])
    assert ids(many) == ids(few)
    assert len(many.left_out) == 10_000 - len(many.chosen)
    assert many.tokens <= budget_tokens(Moment.SESSION_START)
    assert utf16_units(many.text) < 10_000
    assert f"memd: end; {10_000 - len(many.chosen)} more qualified" in many.text


def test_repeated_blocks_are_byte_identical() -> None:
    """Start, clear and compaction of an unchanged store give the same bytes; a resume gives none."""
    candidates = [make_one(i, **RULE, stands="a.py") for i in range(1, 9)]
    first = decide(make_now(), candidates)
    shuffled = random.Random(7).sample(candidates, len(candidates))
    assert decide(make_now(Moment.POST_COMPACTION), shuffled).text == first.text
    standing = {chosen.candidate.view.note.uid: chosen.digest for chosen in first.chosen}
    assert decide(make_now(standing=standing), candidates).text == ""


def test_the_finished_block_is_measured_as_it_is_sent() -> None:
    """A meter by which the whole is more than its parts gives up lines first, then the last notes, never the limit."""

    def dear(text: str) -> int:
        return cost(text) + (100 if text.startswith("memd:") and "\n" in text else 0)

    candidates = [make_one(i, **RULE, conflicts=(60,), content="word " * 20) for i in (1, 2, 3)]
    whole = decide(make_now(), candidates).tokens
    lines_gone = decide(make_now(cost=dear, budget_tokens=whole + 60), candidates)
    assert (ids(lines_gone), lines_gone.tokens <= whole + 60) == ([3, 2, 1], True)
    assert "WARNING" not in lines_gone.text
    note_gone = decide(make_now(cost=dear, budget_tokens=whole + 20), candidates)
    assert (ids(note_gone), rules(note_gone)) == ([3], {1: "budget", 2: "budget"})
    assert note_gone.tokens <= whole + 20


@pytest.mark.parametrize(
    ("trigger", "spent", "budget"),
    [
        (Moment.SESSION_START, 0, 2000),
        (Moment.POST_COMPACTION, 0, 2000),
        (Moment.PROMPT_SUBMIT, 0, 800),
        (Moment.READ, 0, 600),
        (Moment.PRE_EDIT, 0, 600),
        (Moment.SUBAGENT_START, 0, 600),
        (Moment.SUBAGENT_START, 3_900, 100),
        (Moment.SUBAGENT_START, 5_000, 0),
        (Moment.STOP, 0, 0),
    ],
)
def test_each_moment_has_its_budget(trigger: Moment, spent: int, budget: int) -> None:
    """All subagents of one turn share 4,000."""
    assert budget_tokens(trigger, spent) == budget


@st.composite
def candidates_of(draw: st.DrawFn) -> list[Candidate]:
    """Up to a dozen notes of every kind and state."""
    found = []
    for id_ in draw(st.lists(st.integers(1, 30), max_size=12)):
        signed = draw(st.booleans())
        fallen = TombstoneView(revoked_at=MARCH_4, reason="because " * draw(st.integers(0, 15)), signed=signed)
        changes: dict[str, Any] = {
            "kind": draw(st.sampled_from(["directive", "task", "gotcha", "finding", "decision"])),
            "priority": draw(st.sampled_from(["low", "medium", "high"])),
            "frame_class": draw(st.sampled_from(["human", "agent", "auto"])),
            "content": draw(st.sampled_from(["word ", "日本", "👍\n", "a_b.c "])) * draw(st.integers(1, 150)),
            "created_at": MARCH_4 + draw(st.integers(0, 3)),
            "conflicts": tuple(draw(st.lists(st.integers(1, 30), max_size=3))),
            "corrects": tuple(draw(st.lists(st.integers(1, 30), max_size=2))),
            "scope": draw(st.sampled_from(["global", "repo:0f", "repo:ff"])),
            **({"tombstone": fallen, "replaced_by": draw(st.integers(0, 30))} if draw(st.booleans()) else {}),
        }
        found.append(make_one(id_, score=draw(st.floats(0, 1)), **changes))
    return found


moments = st.builds(
    make_now,
    st.sampled_from(list(Moment)),
    budget_tokens=st.integers(0, 900),
    cap_units=st.integers(0, 4_000),
    with_person=st.booleans(),
    hold_enabled=st.booleans(),
    held_this_turn=st.booleans(),
    sent_this_turn=st.frozensets(st.integers(1, 30).map(lambda i: i.to_bytes(16, "big")), max_size=3),
)


@settings(max_examples=150, deadline=None)
@given(moments, candidates_of(), st.randoms(use_true_random=False))
def test_what_holds_at_every_moment(now: Situation, candidates: list[Candidate], chance: random.Random) -> None:
    """Never auto, over a limit or cut; each candidate once; the order of the candidates changes nothing."""
    decision = decide(now, candidates)
    assert decision.tokens == (cost(decision.text) if decision.text else 0)
    assert decision.tokens <= now.budget_tokens
    assert utf16_units(decision.text) <= now.cap_units or not decision.text
    told = [(chosen.candidate.view.note.uid, chosen.candidate.view.id) for chosen in decision.chosen]
    left = [(row.uid, row.id) for row in decision.left_out]
    assert sorted(told + left) == sorted((one.view.note.uid, one.view.id) for one in candidates)
    assert len(set(told)) == len(told)
    for chosen in decision.chosen:
        assert chosen.candidate.view.frame_class != "auto"
        assert chosen.text in renderings(chosen.candidate.view, TAGS)
        assert chosen.text in decision.text
    unique = {one.view.id: one for one in candidates}
    unique_decision = decide(now, list(unique.values()))
    shuffled = chance.sample(list(unique.values()), len(unique))
    assert decide(now, shuffled).text == unique_decision.text
    told_ids = set(ids(unique_decision))
    pool = told_ids | {i for i, rule in rules(unique_decision).items() if rule in ("budget", "harness-cap")}
    for one in unique.values():
        if one.view.id in told_ids and one.view.revoked and one.view.replaced_by in pool:
            correction = unique[one.view.replaced_by].view
            assert correction.revoked or correction.id in told_ids
