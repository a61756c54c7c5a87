"""A turn for each peer, and bounds: what one asks for does not depend on how much another does."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_daemon import limits
from memd_daemon.fair import FairQueue

PEERS = st.sampled_from([b"a", b"b", b"c"])


@given(st.lists(PEERS, max_size=60))
def test_every_peer_is_served_in_turn_and_in_its_own_order(asked: list[bytes]) -> None:
    """Nobody is served twice while another one waits, and everything that was taken in comes out once."""
    waiting: FairQueue[tuple[bytes, int]] = FairQueue(60)
    for number, peer in enumerate(asked):
        assert waiting.put(peer, (peer, number), 1)
    taken = [one for _ in asked if (one := waiting.take()) is not None]
    assert waiting.take() is None
    assert sorted(taken, key=lambda one: one[1]) == list(zip(asked, range(len(asked)), strict=True))
    for peer in set(asked):
        own = [number for whose, number in taken if whose == peer]
        assert own == sorted(own)
        places = [place for place, (whose, _) in enumerate(taken) if whose == peer]
        for other in set(asked) - {peer}:
            others = [place for place, (whose, _) in enumerate(taken) if whose == other]
            for first, second in itertools.pairwise(places):
                assert any(first < place < second for place in others) or not others or others[-1] < first


def test_a_peer_has_its_bound_and_another_its_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """One peer's share, all together beyond the first of each, and the bytes that they hold."""
    monkeypatch.setattr(limits, "PEER_WAITING_MAX", 2)
    monkeypatch.setattr(limits, "WAITING_MAX", 3)
    monkeypatch.setattr(limits, "WAITING_MAX_BYTES", 10)
    waiting: FairQueue[int] = FairQueue(10)
    asked = [(b"a", 1), (b"a", 1), (b"a", 1), (b"b", 1), (b"b", 1), (b"c", 6), (b"d", 2), (b"d", 1)]
    assert [waiting.put(peer, 0, size) for peer, size in asked] == [True, True, False, True, False, True, False, True]
    assert len(waiting) == 5
    while waiting.take() is not None:
        pass
    assert waiting.put(b"e", 0, 10)


def test_a_peer_has_so_many_in_hand_and_no_more() -> None:
    """What is beyond waits for one of its own to be done, and keeps nobody else waiting."""
    waiting: FairQueue[str] = FairQueue(each=2)
    for number in range(4):
        assert waiting.put(b"a", f"a{number}", 1)
    assert [waiting.take() for _ in range(3)] == ["a0", "a1", None]
    assert waiting.put(b"b", "b0", 1)
    assert waiting.take() == "b0"
    waiting.done(b"b")
    assert waiting.take() is None
    waiting.done(b"a")
    assert [waiting.take(), waiting.take()] == ["a2", None]
    waiting.done(b"a")
    waiting.done(b"a")
    assert [waiting.take(), waiting.take()] == ["a3", None]


@given(st.lists(st.tuples(PEERS, st.booleans()), max_size=60), st.integers(1, 3))
def test_nothing_that_was_taken_in_stays_behind(steps: list[tuple[bytes, bool]], each: int) -> None:
    """However puts, takes and ends come between each other: all comes out once, never more of one peer in hand than may be."""
    waiting: FairQueue[tuple[bytes, int]] = FairQueue(each)
    put, taken, in_hand = 0, [], []
    for number, (peer, ends) in enumerate(steps):
        put += waiting.put(peer, (peer, number), 1)
        if ends and in_hand:
            waiting.done(in_hand.pop())
        if (one := waiting.take()) is not None:
            taken.append(one)
            in_hand.append(one[0])
        assert all(in_hand.count(peer) <= each for peer in in_hand)
    while in_hand:
        waiting.done(in_hand.pop())
        while (one := waiting.take()) is not None:
            taken.append(one)
            in_hand.append(one[0])
    assert len(set(taken)) == len(taken) == put
    assert len(waiting) == 0
