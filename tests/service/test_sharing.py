"""An owed bundle and the gotchas of an edit in one answer, drawn by hypothesis: who gives way, and what is said of it."""

import re
from collections.abc import Iterable
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from memd_daemon import limits
from memd_daemon.frames.hold import HELD
from memd_daemon.frames.push import renderings
from memd_daemon.model.view import ProposalView, TombstoneView
from memd_daemon.rules import Candidate, Decision, Leeway, decide, endorsed_of
from memd_daemon.service.bundle import BLOCK_BREAK, Owed, Question, sharing
from memd_hooks.events import Moment
from memd_hooks.harness import claude
from tests.frames.grammar import CLOSING
from tests.frames.make import MARCH_4, TAGS
from tests.rules.make import make_now, make_one

ENDS: Final = 2 * (110 + 170) + len(HELD)
"""More than the first lines and the last ones of both blocks may take."""
SAYING: Final = "memd: end; 99 more qualified and did not fit: [999] and 98 others (ask for them with recall or show)."
"""No last line with one name is longer."""
STRUCK: Final = TombstoneView(revoked_at=MARCH_4, reason="it was wrong", signed=True)
PROPOSED: Final = (ProposalView(act="revoke", at=MARCH_4, reason="w " * 40),)

SORTS: Final[tuple[dict[str, Any], ...]] = (
    {"kind": "directive"},
    {"kind": "directive", "provenance": "human"},
    {"kind": "directive", "provenance": "human", "proposals": PROPOSED},
    {"kind": "directive", "tombstone": STRUCK, "belief": "revoked"},
    {"kind": "directive", "revoked": "no longer"},
    {"kind": "task", "priority": "high"},
    {"kind": "task", "priority": "high", "provenance": "human"},
)
WORTH: Final[tuple[dict[str, Any], ...]] = (
    {"kind": "gotcha", "priority": "high"},
    {"kind": "gotcha", "priority": "high", "provenance": "human", "proposals": PROPOSED},
    {"kind": "gotcha", "priority": "medium"},
)
PERCENT: Final = st.integers(30, 120)
LENGTHS: Final = st.sampled_from((3, 20, 60, 200, 400))


@st.composite
def bundles(draw: st.DrawFn) -> list[Candidate]:
    """Rules and tasks; what a person struck through may wait for the rule after it."""
    found = []
    drawn = draw(st.lists(st.tuples(st.sampled_from(SORTS), LENGTHS), min_size=4, max_size=30))
    for id_, (sort, words) in enumerate(drawn, 1):
        is_replaced = id_ < len(drawn) and sort.get("tombstone") and draw(st.booleans())
        replaced: dict[str, Any] = {"replaced_by": id_ + 1} if is_replaced else {}
        found.append(make_one(id_, **sort, **replaced, content=f"note {id_} " + "word " * words))
    return found


GOTCHAS: Final = st.lists(st.tuples(st.sampled_from(WORTH), LENGTHS), min_size=1, max_size=5).map(
    lambda drawn: [make_one(100 + n, **sort, content="word " * words) for n, (sort, words) in enumerate(drawn)]
)


often = settings(deadline=None, max_examples=200)
beside = given(
    found=bundles(),
    gotchas=GOTCHAS,
    percent=PERCENT,
    moment=st.sampled_from((Moment.PRE_EDIT, Moment.READ)),
)


@often
@given(
    found=bundles(),
    gotchas=GOTCHAS,
    percent=PERCENT,
    budget_tokens=st.sampled_from((300, 2_000, 2_000, 8_000)),
    moment=st.sampled_from((Moment.PRE_EDIT, Moment.READ)),
    shuffled=st.randoms(use_true_random=False),
)
def test_the_bundle_keeps_what_is_endorsed_and_gives_way_in_the_rest(
    found: list[Candidate], gotchas: list[Candidate], percent: int, budget_tokens: int, moment: Moment, shuffled: Any
) -> None:
    """Within what the client takes; each note is told once or left out by one rule; what fits as it is alone stays so."""
    cap_units = of_both(percent, found, gotchas)
    of_bundle = Question(make_now(budget_tokens=budget_tokens, cap_units=cap_units), found)
    of_own = Question(make_now(moment, cap_units=cap_units), gotchas)
    alone, own_alone = decide(*of_bundle), decide(*of_own)
    owed, own = sharing(claude, Owed(alone), of_bundle, own_alone, of_own)
    text = together(owed.told, own)
    assert claude.cost_units(text) <= cap_units
    assert endorsed_of(alone) <= endorsed_of(owed.told)
    assert is_each_once(owed.told, found)
    assert is_each_once(own, gotchas)
    assert all(one in ids(owed.told) for one in corrections(owed.told, found))
    if claude.cost_units(together(alone, own_alone)) <= cap_units and not by_cap(own_alone):
        assert (owed.told, own) == (alone, own_alone)
    if barest((*chosen(alone), *chosen(own_alone))) + ENDS <= cap_units and not by_cap(own_alone):
        assert ids(owed.told) == ids(alone), "no line takes the room of a note"
    shuffled.shuffle(found)
    again = sharing(claude, Owed(decide(*of_bundle)), of_bundle, decide(*of_own), of_own)
    assert together(again[0].told, again[1]) == text, "the order in which they were found is nothing to it"


@often
@beside
def test_a_gotcha_has_the_room_that_endorsed_notes_leave(
    found: list[Candidate], gotchas: list[Candidate], percent: int, moment: Moment
) -> None:
    """All that the moment brings comes as it does alone, a hold among it, wherever the endorsed notes and both last lines leave the
    room. What has none is named, wherever a last line with a name has room."""
    cap_units = of_both(percent, found, gotchas)
    of_bundle = Question(make_now(cap_units=cap_units), found)
    of_own = Question(make_now(moment, cap_units=cap_units), gotchas)
    alone, own_alone = decide(*of_bundle), decide(*of_own)
    owed, own = sharing(claude, Owed(alone), of_bundle, own_alone, of_own)
    kept = barest(one for one in chosen(alone) if one.view.note.uid in endorsed_of(alone))
    if kept + barest(chosen(own_alone)) + ENDS <= cap_units:
        assert ids(own) == ids(own_alone)
        assert (own.hold is None) == (own_alone.hold is None)
    missing = {one.id for one in own.left_out if one.rule in ("harness-cap", "budget")}
    is_room_for_a_name = kept + 110 + len(SAYING) <= cap_units and alone.tokens < limits.BUDGET_START_TOKENS - 100
    if by_cap(own) and is_room_for_a_name:
        assert missing & named(together(owed.told, own))


@often
@beside
def test_which_gotchas_come_is_decided_beside_the_endorsed_notes_alone(
    found: list[Candidate], gotchas: list[Candidate], percent: int, moment: Moment
) -> None:
    """However many others stand in the bundle, and whatever room the lines then have; so is whether they hold."""
    cap_units = of_both(percent, found, gotchas)
    of_bundle = Question(make_now(cap_units=cap_units), found)
    of_own = Question(make_now(moment, cap_units=cap_units), gotchas)
    alone, own_alone = decide(*of_bundle), decide(*of_own)
    _, own = sharing(claude, Owed(alone), of_bundle, own_alone, of_own)
    kept = endorsed_of(alone)
    least = of_bundle.within(cap_units, Leeway(sure=kept, only_sure=True, bare=True))
    room = cap_units - (claude.cost_units(least.text + BLOCK_BREAK) if least.text else 0)
    bare = of_own.within(room, Leeway(bare=True, names=True))
    if claude.cost_units(together(alone, own_alone)) > cap_units and kept <= uids(least):
        assert ids(own) == ids(bare)
        assert (own.hold is None) == (bare.hold is None)


def uids(decision: Decision) -> set[bytes]:
    return {one.view.note.uid for one in chosen(decision)}


def of_both(percent: int, found: list[Candidate], gotchas: list[Candidate]) -> int:
    """Units: a share of what both have to say by their budgets."""
    both = (decide(make_now(cap_units=100_000), found), decide(make_now(Moment.READ, cap_units=100_000), gotchas))
    return max(300, claude.cost_units(together(*both)) * percent // 100)


def together(bundle: Decision, own: Decision) -> str:
    return BLOCK_BREAK.join(filter(None, (bundle.text, own.text)))


def chosen(decision: Decision) -> list[Candidate]:
    return [one.candidate for one in decision.chosen]


def corrections(decision: Decision, found: list[Candidate]) -> list[int]:
    """Ids of those that hold, and that a note told was replaced by."""
    replaced = (one.view.replaced_by for one in chosen(decision) if one.view.replaced_by)
    return [id_ for id_ in replaced if not found[id_ - 1].view.revoked]


def barest(notes: Iterable[Candidate]) -> int:
    """Units of these notes without their lines."""
    return sum(claude.cost_units(renderings(one.view, TAGS)[-1]) + 1 for one in notes)


def ids(decision: Decision) -> list[int]:
    return [one.view.id for one in chosen(decision)]


def by_cap(decision: Decision) -> bool:
    return any(one.rule == "harness-cap" for one in decision.left_out)


def is_each_once(decision: Decision, found: list[Candidate]) -> bool:
    return sorted([*ids(decision), *(one.id for one in decision.left_out)]) == sorted(one.view.id for one in found)


def named(text: str) -> set[int]:
    ends = filter(None, map(CLOSING.fullmatch, text.removesuffix(HELD).split("\n")))
    return {int(id_) for end in ends for id_ in re.findall(r"\[(\d+)\]", end[2] or "")}
