"""A claim that is said again: folded into the note that says so, counted only where it is independent; and conflicts settled."""

from typing import Any

import pytest

from memd_client import api
from memd_daemon import errors
from memd_daemon.model.event import payload_of, texts_of
from tests.service.desk import Desk
from tests.service.test_acts import endorsed, events, note, sound
from tests.service.test_people import Person

CLAIM = "The upload retries 3 times before it gives up."
AGAIN = "Before it gives up, the upload retries 3 times."


@pytest.fixture
def person(desk: Desk) -> Person:
    return Person(desk)


def said_in(desk: Desk, session: str, content: str, **words: Any) -> api.Remembered:
    """A write from the shell of a live session."""
    return desk.remember(content, env={"CLAUDE_CODE_SESSION_ID": session}, **words)


def corroborations(desk: Desk, id_: int) -> list[str]:
    return [e for e in events(desk, id_) if e == "corroborated"]


@pytest.fixture
def first(desk: Desk) -> int:
    """The claim as session s1 recorded it; s2 lives beside it and was told nothing of it."""
    desk.start("s2")
    desk.start("s1")
    return said_in(desk, "s1", CLAIM).id


def test_another_session_that_was_not_told_corroborates(desk: Desk, first: int) -> None:
    """In one commit: the new words are kept and folded in, and the note counts one more voice."""
    before = desk.ask(api.Status()).store["commits"]
    told = said_in(desk, "s2", AGAIN, same_as=str(first))
    assert desk.ask(api.Status()).store["commits"] == before + 1
    assert any("corroborate it" in line for line in told.told)
    assert note(desk, told.id).absorbed_by == first
    assert note(desk, told.id).content == AGAIN
    assert len(corroborations(desk, first)) == 1
    assert f"corroborated by: [{told.id}]" in desk.ask(api.Show(ref=str(first), cwd=str(desk.repo))).text
    assert [f.note.id for f in desk.recall("how often does the upload retry").found] == [first]
    assert "derived from" not in desk.ask(api.Show(ref=str(told.id), cwd=str(desk.repo))).text
    assert sound(desk)


@pytest.mark.parametrize("how", ["same session", "told", "no session", "twice", "auto", "document"])
def test_an_echo_is_folded_in_and_counts_nothing(desk: Desk, how: str) -> None:
    """Whoever was told, said so before, read the same document, judged nothing or cannot be told apart."""
    desk.start("s1")
    source = {"source": "document:https://example.invalid/a"} if how == "document" else {}
    first = said_in(desk, "s1", CLAIM, kind="directive" if how == "told" else "finding", **source).id
    desk.start("s2")  # a start tells directives
    words: dict[str, Any] = {"same_as": str(first), **source}
    if how == "twice":
        assert corroborations(desk, first) == []
        said_in(desk, "s2", AGAIN, same_as=str(first))
    if how == "auto":
        words["provenance"] = "auto"
    before = len(corroborations(desk, first))
    if how == "no session":
        told = desk.remember(AGAIN, **words)
    else:
        told = said_in(desk, "s1" if how == "same session" else "s2", AGAIN, **words)
    assert any("count nothing" in line for line in told.told)
    assert note(desk, told.id).absorbed_by == first
    assert len(corroborations(desk, first)) == before


@pytest.mark.parametrize(
    "other",
    [
        "The upload retries 5 times before it gives up.",
        "The upload does not retry 3 times before it gives up.",
        "retry_upload() retries 3 times before it gives up.",
        "Invoices are numbered by the shop.",
    ],
)
def test_another_claim_is_not_the_same(desk: Desk, first: int, other: str) -> None:
    """Whatever the writer says: nothing is stored."""
    before = desk.ask(api.Status()).store["events"]
    with pytest.raises(errors.NotTheSame, match="--contradicts"):
        said_in(desk, "s2", other, same_as=str(first))
    assert desk.ask(api.Status()).store["events"] == before


@pytest.mark.parametrize("words", [{"contradicts": "1"}, {"supersedes": "1"}, {"endorse": True}])
def test_the_same_claim_corrects_and_endorses_nothing(
    desk: Desk, person: Person, first: int, words: dict[str, Any]
) -> None:
    """Folded in, it would say so nowhere."""
    with pytest.raises(errors.SameAsAlone):
        said_in(desk, "s2", AGAIN, same_as=str(first), **words)


def test_a_claim_of_another_place_is_not_taken_away_from_here(desk: Desk, tmp_path: Any) -> None:
    """Folded in there, nobody would find it here."""
    there = desk.ask(api.Remember(content=CLAIM, cwd=str(tmp_path))).id
    with pytest.raises(errors.NotTheSame, match="another place"):
        desk.remember(AGAIN, same_as=str(there))


def test_a_mistake_that_somebody_comes_to_again_is_noted(desk: Desk, first: int) -> None:
    """Refused with its tombstone; the log of the old note says that it was arrived at again, by themselves."""
    desk.act("revoke", first, reason="it is 5 times")
    with pytest.raises(errors.KnownMistake, match="it is 5 times"):
        said_in(desk, "s2", AGAIN, same_as=str(first))
    assert events(desk, first)[-2:] == ["rederived", "asked"]  # it was shown the tombstone, after it had come to it
    with pytest.raises(errors.KnownMistake):
        said_in(desk, "s1", AGAIN, same_as=str(first))
    assert events(desk, first).count("rederived") == 1
    told = said_in(desk, "s2", AGAIN, same_as=str(first), despite=str(first))
    assert "Previously believed" in told.tombstones[0]
    assert note(desk, told.id).absorbed_by == 0
    assert events(desk, first).count("rederived") == 1  # it says again what the tombstone has told it
    assert note(desk, first).state.belief == "revoked"


# --- conflicts


def conflict(desk: Desk, person: Person) -> tuple[int, int]:
    """An endorsed note and one that contradicts it."""
    a = endorsed(desk, person, "Deploys go out on Tuesdays.")
    b = desk.remember("Deploys go out on Fridays.", contradicts=str(a), reason="the calendar says so").id
    assert (note(desk, a).conflicts, note(desk, b).conflicts) == ([b], [a])
    return a, b


@pytest.mark.parametrize(
    ("how", "a_held", "b_held", "absorbed"),
    [
        ("a_wins", True, False, False),
        ("b_wins", False, True, False),
        ("both_demoted", True, True, False),
        ("merged", True, True, True),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_a_conflict_is_settled_by_somebody(
    desk: Desk, person: Person, how: str, a_held: bool, b_held: bool, absorbed: bool, turned: bool
) -> None:
    """The loser is revoked and names the winner; both rows close; whichever side it is asked from."""
    a, b = conflict(desk, person)
    first, second, asked = a, b, how
    if turned and how in ("a_wins", "b_wins"):
        first, second, asked = b, a, {"a_wins": "b_wins", "b_wins": "a_wins"}[how]
    person.seal(desk.act("resolve", first, by=str(second), resolution=asked, reason="asked the team", sign=True).plan)
    one, two = note(desk, a), note(desk, b)
    assert (one.tombstone is None, two.tombstone is None) == (a_held, b_held)
    assert one.conflicts == two.conflicts == []
    assert two.absorbed_by == (a if absorbed else 0)
    fallen = next((n for n in (one, two) if n.tombstone), None)
    if fallen is not None:
        winner = b if fallen.id == a else a
        assert f"contradicted by [{winner}]: asked the team" in (fallen.tombstone or "")
    with pytest.raises(errors.NotInConflict):
        desk.act("resolve", a, by=str(b), resolution=how, sign=True)
    rows = [e for e in desk.ask(api.Log(ref=str(a))).events if e.type == "conflict_resolved"]
    assert [(e.signed, e.effect) for e in rows] == [(True, "applied")]
    assert sound(desk)


def test_an_agent_settles_nothing_that_a_person_endorsed(desk: Desk, person: Person) -> None:
    """Its wish is a proposal on the endorsed note; neither is touched, also where its own would lose."""
    a, b = conflict(desk, person)
    for how in ("a_wins", "b_wins", "both_demoted", "merged"):
        before = sum(p.times for p in note(desk, a).proposals if p.act == "change")
        assert desk.act("resolve", a, by=str(b), resolution=how, reason="my guess").effect == "proposed"
        last = note(desk, a).proposals[-1]
        assert (last.act, last.by, last.times) == ("change", b, before + 1)
        wish = desk.ask(api.Log(ref=str(a))).events[-1].reason
        assert wish.startswith(f"conflict with [{b}] -> ")
        assert wish.endswith(": my guess")
    assert note(desk, a).tombstone is note(desk, b).tombstone is None
    assert (note(desk, a).conflicts, note(desk, b).conflicts) == ([b], [a])


def test_every_text_that_is_stored_belongs_to_an_event(desk: Desk, person: Person) -> None:
    """Also where an act came to no more than a proposal: what no event names, forgetting would leave behind."""
    a, b = conflict(desk, person)
    for how in ("a_wins", "merged"):
        desk.act("resolve", a, by=str(b), resolution=how, reason=f"a guess about {how}")
    desk.act("amend", a, priority="high", reason="because")
    person.seal(desk.act("resolve", a, by=str(b), resolution="b_wins", reason="asked", sign=True).plan)
    with desk.daemon.parts.store.read() as snapshot:
        payloads = [payload_of(s.event) for id_ in (a, b) for s in snapshot.events_of(snapshot.uid_of(id_) or b"")]
        named = {digest for payload in payloads if payload is not None for digest in texts_of(payload)}
        stored = {key for key, _ in snapshot.kv.scan("blobs")}  # type: ignore[attr-defined]
    assert stored == named


def test_a_conflict_that_is_not_open_is_not_settled(desk: Desk) -> None:
    """Nor one with itself, nor in a word that nobody knows."""
    a, b = desk.remember("Deploys go out on Tuesdays.").id, desk.remember("Lunch is at noon.").id
    for words, error in (
        ({"by": str(b), "resolution": "a_wins"}, errors.NotInConflict),
        ({"by": str(a), "resolution": "a_wins"}, errors.SameNote),
        ({"by": str(b), "resolution": "tie"}, errors.UnknownWord),
        ({"by": "99", "resolution": "a_wins"}, errors.NoSuchNote),
    ):
        with pytest.raises(error):
            desk.act("resolve", a, **words)


def test_both_demoted_stay_demoted(desk: Desk, person: Person) -> None:
    """The warning goes, what the conflict took from the unendorsed one stays."""
    a, b = conflict(desk, person)

    def confidence() -> float:
        found = desk.recall("when do deploys go out").found
        return next(f.factors["confidence"] for f in found if f.note.id == b)

    during = confidence()
    person.seal(desk.act("resolve", a, by=str(b), resolution="both_demoted", sign=True).plan)
    assert confidence() == during < 0.7
    assert "in conflict" not in desk.recall("when do deploys go out").text
