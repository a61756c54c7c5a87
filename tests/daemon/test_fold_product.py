"""Every state × event × actor × signature: what must hold whatever happens."""

import pytest

from memd_daemon.model import fold, trust
from memd_daemon.model.fold import Effect
from memd_daemon.model.note import Note, decode_note, encode_note
from memd_daemon.model.words import Actor, Provenance
from tests.daemon.lives import Life, axes, payload_for, states

TYPES = sorted(fold.TRANSITIONS)
ACTS = [(str(actor), signed) for actor in Actor for signed in (False, True)]


def class_of(note: Note) -> int:
    return Provenance(note.provenance).rank


def after(start: str, type_: str, actor: str, signed: bool) -> tuple[Note, Life]:
    life = states()[start]
    before = life.now
    return before, life.then(type_, payload_for(type_, before), actor=actor, signed=signed)


@pytest.mark.parametrize("start", sorted(states()))
@pytest.mark.parametrize("type_", TYPES)
def test_no_step_breaks_a_law(start: str, type_: str) -> None:
    """No demotion, one rung at a time and human by signature; memd revokes nothing; forgetting absorbs; what is endorsed moves by
    signature alone; a revocation leaves words and validity; the fold can be stored and read."""
    for actor, signed in ACTS:
        before, life = after(start, type_, actor, signed)
        now = life.now
        assert 0 <= class_of(now) - class_of(before) <= 1
        if class_of(now) > class_of(before):
            assert type_ == "promoted"
            assert signed or now.provenance != "human"
        if actor == "system":
            assert now.belief == before.belief or before.revoked
        if before.forgotten:
            assert (axes(now), life.effect) == (axes(before), Effect.NONE)
        if now.forgotten and not before.forgotten:
            assert (type_, signed) == ("forgotten", True)
        if before.provenance == "human" and not signed and type_ != "reinstated":
            assert axes(now) == axes(before)
            assert now.shown == before.shown
            assert (now.scope, now.priority, now.tags) == (before.scope, before.priority, before.tags)
        if now.revoked and not before.revoked:
            assert type_ == "revoked"
            assert (now.revisions, now.valid_until, now.currency) == (
                before.revisions,
                before.valid_until,
                before.currency,
            )
        assert decode_note(encode_note(now)) == now
        assert now.events == before.events + 1


@pytest.mark.parametrize("start", sorted(states()))
def test_a_step_is_the_fold_of_all_events(start: str) -> None:
    """Carrying the fold one step further gives the bytes that folding anew gives."""
    for type_ in TYPES:
        for actor, signed in ACTS:
            _, life = after(start, type_, actor, signed)
            folded = fold.fold(life.events)
            assert folded is not None
            assert encode_note(folded) == encode_note(life.now)


@pytest.mark.parametrize("start", sorted(states()))
def test_what_rests_on_a_signature_says_so(start: str) -> None:
    """A cached fold that a person stands behind is checked against the log before it is believed."""
    life = states()[start]
    rests = any(stored.signed for stored in life.events)
    assert trust.says_a_person_acted(life.now) == rests


def test_revocation_and_reinstatement_go_on_for_ever() -> None:
    """Anybody, any number of times, and the tombstone of each fall is its own."""
    life = Life()
    for turn in range(1, 6):
        life.then("revoked").then("reinstated")
        assert (life.now.revoked, len(life.now.past_revocations)) == (False, turn)
