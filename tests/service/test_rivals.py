"""Notes that cannot both hold, and one of them comes back: nobody is told the one without the other (recall.md, "Conflicts")."""

from collections.abc import Callable

import pytest

from memd_daemon import limits
from tests.service.desk import Desk, context_of
from tests.service.test_acts import REASON, endorsed, note, sound
from tests.service.test_people import Person

Pair = Callable[[Desk], tuple[int, int]]


@pytest.fixture
def person(desk: Desk) -> Person:
    return Person(desk)


def contradicted(desk: Desk) -> tuple[int, int]:
    """(revoked, what it was revoked for)"""
    old = desk.remember("The cache lives in tmpfs.").id
    return old, desk.remember("The cache lives on the disk.", contradicts=str(old), reason="df says so").id


def conflicts(desk: Desk, *ids: int) -> list[list[int]]:
    return [note(desk, id_).conflicts for id_ in ids]


def test_what_comes_back_is_in_conflict_with_what_it_was_revoked_for(desk: Desk) -> None:
    """Both are told with a warning, whoever reinstated it is told so, and somebody settles it."""
    old, new = contradicted(desk)
    done = desk.act("reinstate", old, reason=REASON)
    assert any(f"[{new}] stands too" in line for line in done.told)
    assert conflicts(desk, old, new) == [[new], [old]]
    text = desk.recall("where does the cache live").text
    assert f"in conflict with [{new}], unresolved" in text
    assert f"in conflict with [{old}], unresolved" in text
    assert desk.act("resolve", old, by=str(new), resolution="a_wins", reason=REASON).effect == "applied"
    assert note(desk, new).state.belief == "revoked"
    desk.act("reinstate", new, reason=REASON)
    assert conflicts(desk, old, new) == [[new], [old]]
    assert sound(desk)


def test_the_correction_may_be_the_one_that_comes_back(desk: Desk) -> None:
    """While it is revoked there is nothing to weigh."""
    old, new = contradicted(desk)
    desk.act("revoke", new, reason=REASON)
    desk.act("reinstate", old)
    assert conflicts(desk, old, new) == [[], []]
    desk.act("reinstate", new)
    assert conflicts(desk, old, new) == [[new], [old]]


def test_a_conflict_that_a_revocation_closed_is_open_again(desk: Desk, person: Person) -> None:
    """Also with what a person endorsed, on which it had stayed open."""
    rule = endorsed(desk, person, "Deploys go out on Tuesdays.")
    other = desk.remember("Deploys go out on any day.", contradicts=str(rule), reason=REASON).id
    desk.act("revoke", other, reason=REASON)
    desk.act("reinstate", other)
    assert conflicts(desk, rule, other) == [[other], [rule]]
    assert sound(desk)


def test_what_was_settled_to_stand_side_by_side_stays_so(desk: Desk) -> None:
    """A later revocation for another reason does not bring the conflict back."""
    old, new = contradicted(desk)
    desk.act("reinstate", old)
    desk.act("resolve", old, by=str(new), resolution="both_demoted", reason=REASON)
    desk.act("revoke", old, reason="it was moved")
    desk.act("reinstate", old)
    assert conflicts(desk, old, new) == [[], []]


@pytest.mark.parametrize("act", ["revoke", "supersede", "absorb"])
def test_a_correction_that_stands_no_more_contends_with_nothing(desk: Desk, act: str) -> None:
    """What took its place said nothing of the note that comes back."""
    old, new = contradicted(desk)
    third = desk.remember("The lamp is red.").id
    desk.act(act, new, reason=REASON, **({} if act == "revoke" else {"by": str(third)}))
    done = desk.act("reinstate", old)
    assert done.told == []
    assert conflicts(desk, old, third) == [[], []]


def test_what_was_recorded_again_agrees_with_the_note_that_comes_back(desk: Desk) -> None:
    """`despite` a tombstone the same is claimed."""
    old = desk.remember("The cache lives in tmpfs.").id
    desk.act("revoke", old, reason=REASON)
    again = desk.remember("The cache lives in tmpfs.", despite=str(old)).id
    desk.act("reinstate", old)
    assert conflicts(desk, old, again) == [[], []]


def merged(desk: Desk) -> tuple[int, int]:
    """(what was taken in, what took it in), once in conflict"""
    old, new = contradicted(desk)
    desk.act("reinstate", old)
    desk.act("resolve", new, by=str(old), resolution="merged", reason=REASON)
    return old, new


def superseded(desk: Desk) -> tuple[int, int]:
    """(a note that another has taken the place of, what it was revoked for)"""
    old, new = contradicted(desk)
    desk.act("supersede", old, by=str(desk.remember("The lamp is red.").id), reason=REASON)
    return old, new


@pytest.mark.parametrize(("made", "back"), [(merged, "release"), (superseded, "unsupersede")])
def test_what_stands_for_another_contends_once_it_stands_for_itself(desk: Desk, made: Pair, back: str) -> None:
    """What was taken in speaks through what took it in, which is in no conflict with itself; what was superseded says nothing."""
    old, new = made(desk)
    desk.act("revoke", old, reason="it was moved")
    assert not any("both cannot hold" in line for line in desk.act("reinstate", old).told)
    assert conflicts(desk, old, new) == [[], []]
    done = desk.act(back, old)
    assert any(f"[{new}] stands too" in line for line in done.told)
    assert conflicts(desk, old, new) == [[new], [old]]
    assert sound(desk)


@pytest.mark.parametrize(("made", "back"), [(merged, "release"), (superseded, "unsupersede")])
def test_a_tombstone_contends_with_nothing_before_it_is_held(desk: Desk, made: Pair, back: str) -> None:
    """Current again and revoked still, it is told as what was believed."""
    old, new = made(desk)
    desk.act("revoke", old, reason="it was moved")
    assert not any("both cannot hold" in line for line in desk.act(back, old).told)
    assert conflicts(desk, old, new) == [[], []]
    desk.act("reinstate", old)
    assert conflicts(desk, old, new) == [[new], [old]]


def test_a_correction_that_was_superseded_contends_when_it_stands_again(desk: Desk) -> None:
    """The two sides are the same, whichever comes back last."""
    old, new = contradicted(desk)
    desk.act("supersede", new, by=str(desk.remember("The lamp is red.").id), reason=REASON)
    desk.act("reinstate", old)
    assert conflicts(desk, old, new) == [[], []]
    desk.act("unsupersede", new)
    assert conflicts(desk, old, new) == [[new], [old]]


def test_a_loop_of_contradictions_floods_neither_an_answer_nor_a_start(desk: Desk, person: Person) -> None:
    """A note that falls and comes back again and again: a few of its rivals are named, the others counted; what a person endorsed
    keeps its words, its frame and its place whatever is said against it, and reads as often."""
    rule = endorsed(desk, person, "Deploys go out on Tuesdays.", kind="directive")
    old, told = desk.remember("The cache lives in tmpfs.", kind="directive").id, list[str]()
    for n in range(limits.WARNINGS_ALIKE_MAX + 3):
        desk.remember(f"Deploys go out on day {n} of the month.", contradicts=str(rule), reason=REASON)
        desk.remember(f"The cache lives on disk {n}.", contradicts=str(old), reason=REASON)
        desk.act("revoke", rule, reason=REASON)
        told = desk.act("reinstate", old).told
        desk.act("reinstate", rule)
    assert len(told) == limits.WARNINGS_ALIKE_MAX + 1
    assert told[-1] == f"[{old}] is in conflict with 3 more notes: show [{old}] has them"
    assert len(note(desk, old).conflicts) == limits.WARNINGS_ALIKE_MAX + 3
    lines = context_of(desk.start()).splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith(f"[{rule}]"))
    assert lines[first] == f"[{rule}] DIRECTIVE (standing rule from the user — follow it): Deploys go out on Tuesdays."
    assert first < next(n for n, line in enumerate(lines) if line.startswith(f"[{old}]"))
    assert sum("in conflict with" in line for line in lines) == 2 * (limits.WARNINGS_ALIKE_MAX + 1)
    assert note(desk, rule).state.belief == "held"
    assert sound(desk)


def test_a_loop_of_contradictions_opens_so_many_rows_at_a_return(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest: whoever writes meanwhile, be it a prompt, would wait for all of them."""
    monkeypatch.setattr(limits, "NAMED_NOTES_MAX", 2)
    old = desk.remember("The cache lives in tmpfs.").id
    rivals = []
    for n in range(4):
        desk.clock.ms += 1
        rivals.append(desk.remember(f"The cache lives on disk {n}.", contradicts=str(old), reason=REASON).id)
        desk.act("reinstate", old)
    assert note(desk, old).conflicts == rivals[-2:]
    assert conflicts(desk, *rivals) == [[], [], [old], [old]]
    assert sound(desk)
