"""What is left without an effect for want of a signature is what `needs_signature` names; a store refuses by the same word."""

import pytest

from memd_daemon.model import event as ev
from memd_daemon.model import fold
from memd_daemon.model.fold import Effect
from memd_daemon.model.proof import needs_signature
from tests.daemon.lives import Life, payload_for, states

WIDER = ev.Amended(scope="global")

CASES = [(start, type_, False) for start in states() for type_ in sorted(fold.TRANSITIONS)]
CASES += [(start, "amended", True) for start in states()]


@pytest.mark.parametrize(("start", "type_", "wider"), CASES)
def test_the_fold_ignores_unsigned_what_needs_a_signature_and_nothing_else(start: str, type_: str, wider: bool) -> None:
    """Whatever a person could do there by a signature: a session's same event is ignored exactly where it needs one."""
    before = states()[start].now
    payload = WIDER if wider else payload_for(type_, before)
    unsigned = states()[start].then(type_, payload)
    signed = states()[start].then(type_, payload, actor="human", signed=True)
    needs = needs_signature(before, unsigned.events[-1].event, payload)
    if signed.effect != Effect.NONE:
        assert (unsigned.effect == Effect.NONE) is needs
    elif needs:
        assert unsigned.effect == Effect.NONE


@pytest.mark.parametrize(
    ("start", "type_"),
    [("agent", "forgotten"), ("agent", "promoted"), ("directive", "amended"), ("human archived", "restored")],
)
def test_these_are_a_persons_alone(start: str, type_: str) -> None:
    """The four that no session does, not even as a proposal."""
    made = {**states(), "human archived": _archived_by_person()}
    before = made[start].now
    payload = WIDER if type_ == "amended" else payload_for(type_, before)
    assert needs_signature(before, made[start].then(type_, payload).events[-1].event, payload)


def _archived_by_person() -> Life:
    return Life().then("promoted", actor="human", signed=True).then("archived", actor="human", signed=True)


@pytest.mark.parametrize("type_", sorted(fold.TRANSITIONS))
def test_whatever_claims_a_person_needs_one(type_: str) -> None:
    """On any note, and on none."""
    life = Life().then(type_, actor="human")
    assert life.effect == Effect.NONE
    for note in (None, Life().now):
        assert needs_signature(note, life.events[-1].event, payload_for(type_, Life().now))
