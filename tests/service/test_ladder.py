"""Principles and doctrines: what they need, how they are revised, and what a person's endorsement holds still."""

import threading
from typing import Any

import numpy as np
import pytest

from memd_client import api
from memd_daemon import errors
from memd_daemon.service.embedding import EmbedQueue, key_of, of_key
from tests.service.desk import Desk
from tests.service.test_acts import events, note, sound
from tests.service.test_people import Person

RULE = "Validate time-sensitive tokens with leeway."
SLUG = "validate-tokens-with-leeway"
WHY = "two outages had the same cause"


@pytest.fixture
def person(desk: Desk) -> Person:
    return Person(desk)


@pytest.fixture
def atom(desk: Desk) -> int:
    return desk.remember("The JWT check failed by three seconds of clock skew.").id


def principle(desk: Desk, atom: int, content: str = RULE, **words: Any) -> api.Remembered:
    given = {"level": "principle", "slug": SLUG, "sources": [str(atom)], "why": WHY, **words}
    return desk.remember(content, **given)


def shown(desk: Desk, ref: object) -> str:
    return desk.ask(api.Show(ref=str(ref), cwd=str(desk.repo))).text


def revise(desk: Desk, ref: object = SLUG, **words: Any) -> api.Acted:
    return desk.act("revise", ref, **{"reason": "it grew", **words})


def test_a_principle_has_a_name_sources_and_a_reason(desk: Desk, atom: int) -> None:
    """It is named by its slug everywhere, and its reason and sources are told."""
    made = principle(desk, atom)
    found = note(desk, SLUG)
    assert (found.id, found.level, found.slug, found.revision_count) == (made.id, "principle", SLUG, 1)
    assert [s.note.id for s in desk.ask(api.Trace(ref=SLUG, cwd=str(desk.repo))).down] == [atom]
    assert f"  revision 1 (2026-03-04, agent, the one told), why: {WHY}" in shown(desk, SLUG)
    told = desk.ask(api.Log(ref=SLUG))
    assert told.head.startswith(f"[{made.id}] finding (principle {SLUG}): held, ")
    assert f"; principle {SLUG}; " in told.events[0].line


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"level": "dogma"}, errors.UnknownWord),
        ({"level": "atom"}, errors.SourceUnknown),
        ({"level": "atom", "source_ref": "L0-2026-01-05-auth-debug#L2"}, errors.TranscriptsNotKept),
        ({"level": ""}, errors.OnlyOnLadder),
        ({"slug": ""}, errors.SlugWrong),
        ({"slug": "Has Spaces"}, errors.SlugWrong),
        ({"slug": "-edge"}, errors.SlugWrong),
        ({"slug": "47"}, errors.SlugWrong),
        ({"slug": "0" * 32}, errors.SlugWrong),
        ({"slug": "x" * 81}, errors.SlugWrong),
        ({"sources": []}, errors.SourcesNeeded),
        ({"sources": ["99"]}, errors.NoSuchNote),
        ({"why": " "}, errors.LevelWhyNeeded),
        ({"provenance": "auto"}, errors.JudgmentNeeded),
    ],
)
def test_what_is_no_principle(desk: Desk, atom: int, words: dict[str, Any], error: type[Exception]) -> None:
    """Each is refused with what to do, and nothing is stored."""
    before = desk.ask(api.Status()).store["events"]
    with pytest.raises(error) as refused:
        principle(desk, atom, **words)
    assert "{" not in str(refused.value)
    assert desk.ask(api.Status()).store["events"] == before


def test_a_source_that_was_found_wrong_teaches_nothing(desk: Desk, atom: int) -> None:
    """A rule is not built on a tombstone."""
    desk.act("revoke", atom, reason="the clock was right")
    with pytest.raises(errors.NoteRevoked):
        principle(desk, atom)


def test_a_slug_is_one_notes(desk: Desk, atom: int) -> None:
    """Taken for ever, also by what was absorbed or revoked."""
    made = principle(desk, atom)
    desk.act("revoke", made.id, reason="too broad")
    with pytest.raises(errors.SlugTaken):
        principle(desk, atom, "Deploys are frozen on Fridays.")


def test_a_rule_near_another_is_a_revision_of_it(desk: Desk, atom: int) -> None:
    """Unless the writer says why it is another one."""
    principle(desk, atom)
    near = "Validate all time-sensitive tokens with leeway."
    with pytest.raises(errors.NearRule, match=f"memd revise {SLUG}"):
        principle(desk, atom, near, slug="another")
    assert principle(desk, atom, near, slug="another", distinct=True, why="it is about other tokens").id
    assert principle(desk, atom, "Deploys are frozen on Fridays.", slug="a-third").id


def test_a_revision_gets_sharper_and_takes_atoms_in(desk: Desk, atom: int) -> None:
    """The number of rules stays; each revision has its reason, its atoms and its words."""
    made = principle(desk, atom)
    second = desk.remember("A session cookie expired early on a slow host.").id
    done = revise(desk, text="Validate tokens and cookies with leeway.", absorb=[str(second)], reason="cookies too")
    assert done.effect == "applied"
    found = note(desk, SLUG)
    assert (found.id, found.revision_count, found.content) == (made.id, 2, "Validate tokens and cookies with leeway.")
    assert note(desk, second).absorbed_by == made.id
    down = desk.ask(api.Trace(ref=SLUG, cwd=str(desk.repo))).down
    assert [(s.how, s.note.id) for s in down] == [("absorbed", second), ("derived from", atom)]
    text = shown(desk, SLUG)
    for part in ("revision 1", "revision 2", WHY, "cookies too", RULE):
        assert part in text
    assert events(desk, SLUG) == ["recorded", "revised"]
    assert sound(desk)


def test_absorbing_alone_counts_a_revision(desk: Desk, atom: int) -> None:
    """Same words, one more revision."""
    principle(desk, atom)
    assert revise(desk, absorb=[str(atom)]).effect == "applied"
    found = note(desk, SLUG)
    assert (found.revision_count, found.content) == (2, RULE)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"text": "New words.", "reason": ""}, errors.WhyNeeded),
        ({}, errors.NothingToDo),
        ({"text": RULE}, errors.NothingToDo),
        ({"text": "New words.", "expected_revision": 2}, errors.RevisionMoved),
        ({"text": "x" * 9000}, errors.ContentTooLarge),
        ({"absorb": ["99"]}, errors.NoSuchNote),
        ({"absorb": [SLUG]}, errors.SameNote),
    ],
)
def test_what_is_no_revision(desk: Desk, atom: int, words: dict[str, Any], error: type[Exception]) -> None:
    """Refused, and the rule is as it was."""
    principle(desk, atom)
    with pytest.raises(error):
        revise(desk, **words)
    assert note(desk, SLUG).revision_count == 1


def test_a_revision_says_no_known_mistake(desk: Desk, atom: int) -> None:
    """As a new note would not: told with its tombstone, unless the writer names it."""
    principle(desk, atom)
    wrong = desk.remember("Tokens never expire early.").id
    desk.act("revoke", wrong, reason="they do")
    with pytest.raises(errors.KnownMistake, match="they do"):
        revise(desk, text="Note that tokens never expire early.")
    assert revise(desk, text="Note that tokens never expire early.", despite=str(wrong)).effect == "applied"


def test_only_what_stands_and_is_a_rule_is_revised(desk: Desk, atom: int) -> None:
    """A plain note is superseded instead; a revoked rule is reinstated first; an absorbed one leads to its taker."""
    with pytest.raises(errors.NotCurated, match="--supersedes"):
        revise(desk, atom, text="New words.")
    made = principle(desk, atom)
    desk.act("revoke", made.id, reason="too broad")
    with pytest.raises(errors.NoteRevoked):
        revise(desk, text="New words.")
    desk.act("reinstate", made.id)
    taker = principle(desk, atom, "Deploys are frozen on Fridays.", slug="taker").id
    desk.act("absorb", made.id, by="taker")
    with pytest.raises(errors.AbsorbedInto, match=f"\\[{taker}\\]"):
        revise(desk, text="New words.")


def test_the_second_of_two_writers_is_told(desk: Desk, atom: int) -> None:
    """Both read revision 1; the second hears that it moved, and nothing of its wording is lost on the way: it was never taken."""
    principle(desk, atom)
    assert revise(desk, text="First.", expected_revision=1).effect == "applied"
    with pytest.raises(errors.RevisionMoved, match="revision 2, not 1"):
        revise(desk, text="Second.", expected_revision=1)
    assert note(desk, SLUG).content == "First."


def endorsed(desk: Desk, person: Person, atom: int) -> int:
    return person.seal(principle(desk, atom, endorse=True).plan).id


def test_an_endorsed_wording_goes_on_until_a_person_signs_the_next(desk: Desk, person: Person, atom: int) -> None:
    """An agent's revision waits, its atoms stand for themselves, and promoting it makes it the one that is told."""
    made = endorsed(desk, person, atom)
    more = desk.remember("A cookie expired early.").id
    done = revise(desk, text="Validate tokens and cookies with leeway.", absorb=[str(more)])
    assert done.effect == "proposed"
    assert any(f"[{more}] stand for themselves" in told for told in done.told)
    found = note(desk, SLUG)
    assert (found.content, found.provenance, found.revision_count) == (RULE, "human", 2)
    assert [p.act for p in found.proposals] == ["revise"]
    assert note(desk, more).absorbed_by == 0
    assert "somebody at the command line proposed to revise this" in desk.recall("tokens with leeway").text
    assert "not endorsed" in shown(desk, SLUG)
    person.seal(desk.act("promote", SLUG, to="human", sign=True).plan)
    found = note(desk, SLUG)
    assert (found.content, found.provenance, found.proposals) == (
        "Validate tokens and cookies with leeway.", "human", [],
    )  # fmt: skip
    assert found.id == made
    assert sound(desk)


def test_a_person_revises_and_endorses_in_one_act(desk: Desk, person: Person, atom: int) -> None:
    """One plan, whose signature covers the new wording; what it takes in goes with it, endorsed or not."""
    endorsed(desk, person, atom)
    plain = desk.remember("A cookie expired early.").id
    theirs = person.seal(desk.remember("Clocks drift by seconds.", endorse=True).plan).id
    before = desk.ask(api.Status()).store["commits"]
    plan = revise(desk, text="Allow for drift.", absorb=[str(plain), str(theirs)], sign=True).plan
    assert plan is not None
    assert [(e.act, e.id) for e in plan.events] == [("revise", note(desk, SLUG).id), ("revise", theirs)]
    assert plan.events[0].content == "Allow for drift."
    person.seal(plan)
    assert desk.ask(api.Status()).store["commits"] == before + 1
    found = note(desk, SLUG)
    assert (found.content, found.provenance, found.proposals) == ("Allow for drift.", "human", [])
    assert note(desk, plain).absorbed_by == note(desk, theirs).absorbed_by == found.id
    assert sound(desk)


def test_a_revision_overtaken_before_its_signature_is_refused(desk: Desk, person: Person, atom: int) -> None:
    """Another writer's revision came between."""
    endorsed(desk, person, atom)
    plan = revise(desk, text="Allow for drift.", sign=True).plan
    revise(desk, text="An agent's wording.")
    with pytest.raises(errors.ChangedMeanwhile):
        person.seal(plan)
    assert note(desk, SLUG).content == RULE


def test_a_rule_is_found_by_every_wording(desk: Desk, atom: int) -> None:
    """By the words of the first and the newest at once, and by a vector of its own for each."""
    made = principle(desk, atom)
    revise(desk, text="Give cookies a grace period.")
    for query in ("tokens with leeway", "grace period for cookies"):
        assert made.id in [f.note.id for f in desk.recall(query).found]
    parts = desk.daemon.parts
    queue = EmbedQueue(parts.store, threading.Event())
    model, dim = parts.search.model_id, desk.daemon.parts.search.table_vector("x").shape[0]
    waiting = [one for one in queue.take(model) if one.id == made.id]
    assert [one.text for one in waiting] == ["Give cookies a grace period.", RULE]
    rows = {one.uid: np.eye(dim, dtype="<f2")[n] for n, one in enumerate(waiting)}
    queue.put(model, [(one, rows[one.uid].tobytes()) for one in waiting])
    assert made.id not in [one.id for one in queue.take(model)]
    with parts.store.read() as snapshot:
        uid = snapshot.uid_of(made.id)
        held = snapshot.note(uid) if uid else None
    assert held is not None
    parts.search.move(made.id, held)
    for place, one in ((1, waiting[0]), (0, waiting[1])):
        assert np.array_equal(queue.rows(model, [key_of(made.id, place)], dim)[0], rows[one.uid])
        hits = parts.search.find("zzz", (held.scope,), 5, vector=rows[one.uid].astype(np.float32))
        assert [(h.id, round(h.cosine or 0.0, 3)) for h in hits][:1] == [(made.id, 1.0)]
    revise(desk, text="A third wording.")
    assert made.id in [one.id for one in queue.take(model)]


@pytest.mark.parametrize(("id_", "place"), [(1, 0), (2**48 - 1, 0), (7, 3), (2**47, 1000)])
def test_a_vectors_key_says_whose_it_is(id_: int, place: int) -> None:
    """A first wording's key is the note's number, as it always was."""
    assert of_key(key_of(id_, place)) == (id_, place)
    assert place or key_of(id_, place) == id_


def test_a_note_lies_in_one_scope(desk: Desk, tmp_path: Any) -> None:
    """Its vectors move with it, out of the scope it held in before."""
    made = desk.remember("The mirror is at mirror.example.")
    parts = desk.daemon.parts
    queue = EmbedQueue(parts.store, threading.Event())
    (one,) = queue.take(parts.search.model_id)
    dim = parts.search.table_vector("x").shape[0]
    row = np.eye(dim, dtype="<f2")[0]
    queue.put(parts.search.model_id, [(one, row.tobytes())])
    parts.search.move(made.id, one.note)
    desk.act("amend", made.id, scope="global")
    look = row.astype(np.float32)
    assert parts.search.find("zzz", (one.note.scope,), 5, vector=look) == []
    assert [h.id for h in parts.search.find("zzz", ("global",), 5, vector=look)] == [made.id]
