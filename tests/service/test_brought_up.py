"""What is looked up while a prompt's vector is being computed changes no answer: each is held against the same question asked
plainly, with everything looked up when the vector is there."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memd_daemon import limits
from memd_daemon.model.words import Shelf
from memd_daemon.rules.situation import Candidate
from memd_daemon.service import candidates
from memd_daemon.service.brought_up import BroughtUp
from memd_daemon.service.candidates import Asked
from memd_daemon.service.lookup import Hit
from memd_daemon.service.repos import Place, place_of, scopes_at
from tests.service import corpus, prompts
from tests.service.bulk import Planted, plant
from tests.service.desk import Desk, desk_at

NOTES = 260
WITHOUT_VECTOR = 40
ASKED = [*(said for said, _ in prompts.ON_TOPIC), *prompts.OFF_TOPIC, *prompts.SMALL_TALK, "", "the of and"]


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Notes as a store holds them: most with a vector, some revoked, of class auto, superseded."""
    with desk_at(tmp_path_factory.mktemp("stocked")) as desk:
        search = desk.daemon.parts.search
        search.load_model()
        said = corpus.notes()
        bulk, others = said[: NOTES - WITHOUT_VECTOR], said[NOTES - WITHOUT_VECTOR : NOTES]
        ids = plant(desk, (Planted(content=one.content, kind=one.kind) for one in bulk))
        search.embed_waiting(lambda: False)
        for id_ in ids[1:60:6]:
            desk.act("revoke", id_, reason="measured again")
        for id_ in ids[2:60:12]:
            desk.remember(f"In its place: {bulk[ids.index(id_)].content}", supersedes=str(id_))
        for one in bulk[100:110]:
            desk.remember(f"Perhaps: {one.content}", provenance="auto")
        plant(desk, (Planted(content=one.content, kind=one.kind) for one in others))
        desk.start("s1")
        yield desk


def _place(desk: Desk) -> tuple[Place, tuple[str, ...]]:
    place = place_of(desk.daemon.parts, str(desk.repo))
    return place, scopes_at(place, "s1")


def _plainly(desk: Desk, scopes: tuple[str, ...], prompt: str, vector: Any, *, by_table: bool) -> list[Hit]:
    """The hits of a prompt, the cosine of each that has a vector by the very bytes of the store."""
    search = desk.daemon.parts.search
    found = []
    for hit in search.find(prompt, scopes, limits.FUSION_CANDIDATES, vector=vector):
        (row,) = search._fetch([hit.id])
        is_far = hit.cosine is None and vector is not None and vector.any() and row.any()
        cosine = float(row @ vector) if is_far else hit.cosine
        found.append(msgspec.structs.replace(hit, cosine=cosine, by_table=by_table))
    return found


@pytest.mark.parametrize("by", ["full", "table", "none"])
def test_hits_are_the_same(stocked: Desk, by: str) -> None:
    """The same notes with the same numbers in the same order, by the model's vector, by the token table's, and without one."""
    place, scopes = _place(stocked)
    search = stocked.daemon.parts.search
    makes: dict[str, Callable[[str], Any]] = {
        "full": search.embed,
        "table": search.table_vector,
        "none": lambda _: search.table_vector("") * 0,
    }
    far = 0
    for prompt in ASKED:
        vector = makes[by](prompt)
        hits = Asked(stocked.daemon.parts, place, scopes, prompt).hits(vector, by_table=by == "table")
        plain = _plainly(stocked, scopes, prompt, vector, by_table=by == "table")
        assert hits == plain, prompt
        near = {id_ for id_, _ in search._vectors.search(scopes, vector, limits.FUSION_CANDIDATES)}  # type: ignore[union-attr]
        far += sum(hit.id not in near for hit in hits)
    assert far > len(ASKED)  # also of notes that only words brought up


@pytest.fixture
def weighed(monkeypatch: pytest.MonkeyPatch) -> list[list[Candidate]]:
    """What each prompt weighed."""
    found: list[list[Candidate]] = []
    on_prompt = candidates.on_prompt

    def noted(*words: Any) -> list[Candidate]:
        found.append(on_prompt(*words))
        return found[-1]

    monkeypatch.setattr(candidates, "on_prompt", noted)
    return found


def _read_nothing(asked: Asked, is_enough: Callable[[], bool]) -> None:
    """The way that everything is looked up when it is decided."""


def _read_all(asked: Asked, is_enough: Callable[[], bool]) -> None:
    REALLY(asked, lambda: False)


REALLY = Asked.read_ahead


def test_candidates_are_the_same(
    stocked: Desk, monkeypatch: pytest.MonkeyPatch, weighed: list[list[Candidate]]
) -> None:
    """The same candidates, and the same bytes for the model, whether the notes were read ahead or not."""
    monkeypatch.setattr(
        limits, "QUERY_EMBEDDING_SHARE_MS", 10_000
    )  # never the table's vector, however busy the machine is
    for prompt in ASKED:
        said = []
        for read in (_read_nothing, _read_all):
            monkeypatch.setattr(Asked, "read_ahead", read)
            said.append(stocked.prompt(prompt, probe=True))
        assert said[0] == said[1], prompt
    assert weighed[::2] == weighed[1::2]
    assert sum(map(len, weighed)) > len(ASKED)


CLAIM = "flush_queue() waits for the night worker, and retry_lease() gives up after seven tries."
ASKING = "why does flush_queue() wait, and when does retry_lease() give up?"


@pytest.mark.parametrize("act", ["revoke", "archive"])
def test_a_write_in_between_counts(
    tmp_path: Path, act: str, monkeypatch: pytest.MonkeyPatch, weighed: list[list[Candidate]]
) -> None:
    """A note that somebody revokes or archives between the look ahead and the decision is told as it is at the decision."""
    with desk_at(tmp_path) as desk:
        desk.start("s1")
        id_ = desk.remember(CLAIM).id

        def read_then_written(asked: Asked, is_enough: Callable[[], bool]) -> None:
            _read_all(asked, is_enough)
            desk.act(act, id_, reason="it waits no more")

        monkeypatch.setattr(Asked, "read_ahead", read_then_written)
        said = desk.prompt(ASKING, probe=True)
        ((one,),) = weighed
        assert (one.view.revoked, one.view.note.shelf == Shelf.ARCHIVED) == (act == "revoke", act == "archive")
        assert ("Do not re-derive" in said) == (act == "revoke")


def test_what_was_read_is_read_once(desk: Desk) -> None:
    """In the same state of the store nothing is looked up a second time; in doubt all of it is."""
    id_ = desk.remember(CLAIM).id
    place, scopes = _place(desk)
    asked = Asked(desk.daemon.parts, place, scopes, ASKING)
    asked.read_ahead(lambda: False)
    found: BroughtUp = asked.brought_up
    with desk.daemon.parts.store.read() as snapshot:
        found.come_to(snapshot, in_doubt=False)
        note = found.note(None, id_)  # type: ignore[arg-type]  # no snapshot is asked
        assert note is not None
        assert found.view(None, note).content == CLAIM  # type: ignore[arg-type]
        found.come_to(snapshot, in_doubt=True)
        again = found.note(snapshot, id_)
        assert again == note
        assert again is not note


def test_nothing_is_read_once_the_vector_is_there(desk: Desk) -> None:
    """A prompt never waits for the look ahead."""
    id_ = desk.remember(CLAIM).id
    place, scopes = _place(desk)
    asked = Asked(desk.daemon.parts, place, scopes, ASKING)
    asked.read_ahead(lambda: True)
    with desk.daemon.parts.store.read() as snapshot:
        asked.brought_up.come_to(snapshot, in_doubt=False)
        with pytest.raises(AttributeError):
            asked.brought_up.note(None, id_)  # type: ignore[arg-type]
