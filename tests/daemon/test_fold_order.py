"""The fold depends on the set of events, not on the order of their arrival."""

import random

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from memd_daemon.model import event as ev
from memd_daemon.model import fold
from memd_daemon.model.event import Stored
from memd_daemon.model.note import encode_note
from tests.daemon import model_replay as replay
from tests.daemon.lives import payload_for, states
from tests.store.making import event, fresh_uid, recorded, stored

TYPES = sorted(fold.TRANSITIONS)
LEVELS = ("", "principle")


@st.composite
def branching_lives(draw: st.DrawFn) -> list[Stored]:
    """Events of one note by up to three origins, each seeing some of what the others wrote."""
    uid = fresh_uid()
    kind = draw(st.sampled_from(["finding", "task", "directive"]))
    first = stored(event("recorded", uid, recorded(kind=kind, level=draw(st.sampled_from(LEVELS)))), origin=b"0" * 16)
    made = [first]
    begun = fold.fold(made)
    assert begun is not None
    for seq in range(2, draw(st.integers(2, 9))):
        seen = draw(st.lists(st.sampled_from(made), min_size=1, max_size=3, unique_by=lambda s: s.event.uid))
        type_ = draw(st.sampled_from(TYPES))
        signed = draw(st.booleans())
        actor = "human" if signed else draw(st.sampled_from(["agent", "system", "human"]))
        parents = tuple(s.event.uid for s in seen)
        step = event(type_, uid, payload_for(type_, begun), actor=actor, parents=parents, at=seq)
        origin = draw(st.sampled_from([b"0" * 16, b"1" * 16, b"2" * 16]))
        hlc = draw(st.integers(1, 4))  # clocks of others may stand anywhere
        made.append(stored(step, origin=origin, hlc=hlc, seq=seq, signed=signed))
    return made


@given(branching_lives(), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=150)
def test_any_order_with_duplicates_folds_to_the_same_bytes(life: list[Stored], chance: random.Random) -> None:
    """Shuffled and partly doubled, the same events make the same note."""
    folded = fold.fold(life)
    assert folded is not None
    again = life + chance.sample(life, len(life) // 2)
    chance.shuffle(again)
    other = fold.fold(again)
    assert other is not None
    assert encode_note(other) == encode_note(folded)


@given(branching_lives())
@settings(deadline=None, max_examples=100)
def test_parents_come_before_children(life: list[Stored]) -> None:
    """Whatever the clocks say."""
    done, waiting = fold.order(life)
    place = {s.event.uid: at for at, s in enumerate(done)}
    assert waiting == []
    assert all(place[parent] < place[s.event.uid] for s in done for parent in s.event.parents)


def test_heads_are_what_nobody_names() -> None:
    """Two that did not see each other are both heads; one that saw both is the only one."""
    life = states()["agent"]
    root = life.events[0]
    left, right = (stored(event("confirmed", life.uid, payload_for("confirmed", life.now), parents=(root.event.uid,)), hlc=n) for n in (2, 3))  # fmt: skip  # noqa: E501 - one line for one pair
    both = stored(
        event("confirmed", life.uid, payload_for("confirmed", life.now), parents=(left.event.uid, right.event.uid)),
        hlc=4,
    )
    note = fold.fold([root, right, left])
    assert note is not None
    assert note.heads == fold.heads_of([root, left, right]) == tuple(sorted((left.event.uid, right.event.uid)))
    joined = fold.fold([both, right, left, root])
    assert joined is not None
    assert joined.heads == (both.event.uid,)


def test_an_event_waits_for_a_parent_that_is_not_here() -> None:
    """It has no effect until the parent comes, and the trace says that it waits; so do two that wait for each other."""
    life = states()["revoked"]
    begun, fallen = life.events
    assert fold.fold([fallen]) is None
    assert fold.trace([fallen]) == [(fallen, "waits")]
    lost = stored(event("confirmed", life.uid, payload_for("confirmed", life.now), parents=(b"?" * 16,)), hlc=9)
    assert [told for _, told in fold.trace([lost, begun, fallen])] == ["applied", "applied", "waits"]
    one, two = event("confirmed", life.uid), event("confirmed", life.uid)
    ring = [
        stored(msgspec.structs.replace(one, parents=(two.uid,))),
        stored(msgspec.structs.replace(two, parents=(one.uid,))),
    ]
    assert fold.order(ring)[0] == []


@given(branching_lives())
@settings(deadline=None, max_examples=150)
def test_an_endorsement_comes_before_what_its_person_did_not_see(life: list[Stored]) -> None:
    """Whatever the clocks say; of two endorsements that did not see each other one comes first, and the other sees it."""
    done, _ = fold.order(life)
    assert done == replay.in_order(life)
    known = {s.event.uid: s for s in life}
    first = next((at for at, s in enumerate(done) if s.signed and s.event.type == "promoted"), None)
    if first is not None:
        seen, due = set(), [done[first].event.uid]
        while due:
            seen.add(uid := due.pop())
            due.extend(known[uid].event.parents)
        assert {s.event.uid for s in done[: first + 1]} == seen


def test_what_is_dated_back_finds_an_endorsed_note() -> None:
    """A revocation of another origin that stands, by its time, between the recording and the endorsement is a proposal."""
    life = states()["human"]
    root = life.events[0]
    back = event("revoked", life.uid, ev.Reasoned(reason=b"r" * 32), parents=(root.event.uid,))
    twin = event("recorded", life.uid, recorded(content=b"other" * 8))
    forged = [stored(back, hlc=root.hlc, origin=b"0" * 16), stored(twin, hlc=0, origin=b"0" * 16)]
    note = fold.fold([*forged, *life.events])
    assert note is not None
    assert (note.provenance, note.belief, [p.act for p in note.proposals]) == ("human", "held", ["revoke"])
    assert note.revisions == life.now.revisions


def test_later_by_the_clock_wins_between_those_that_did_not_see_each_other() -> None:
    """Archived here, restored there: the later hybrid time decides, on both machines."""
    life = states()["archived"]
    heads = life.now.heads
    again = stored(
        event("archived", life.uid, payload_for("archived", life.now), parents=heads), hlc=20, origin=b"1" * 16
    )
    back = stored(
        event("restored", life.uid, payload_for("restored", life.now), parents=heads), hlc=10, origin=b"2" * 16
    )
    note = fold.fold([*life.events, again, back])
    assert note is not None
    assert note.shelf == "archived"
