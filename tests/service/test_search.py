"""The derived indexes: at any time behind the store, never in front of it, and made anew from it."""

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memd_client import api
from memd_daemon import errors, limits
from memd_daemon.index.terms import terms_of
from tests.service.desk import Desk, make_repo

QUESTION = "which port does the service listen on?"


def opened(tmp_path: Path) -> Desk:
    desk = Desk.__new__(Desk)
    repo = tmp_path / "repo"
    Desk.__init__(desk, tmp_path / "home", repo if repo.exists() else make_repo(repo))
    return desk


def abandoned(desk: Desk) -> None:
    """The process dies: nothing is flushed, the store alone is closed so that it can be opened again here."""
    desk.daemon.parts.ledger.close()
    desk.daemon.parts.store.close()


def answers(desk: Desk) -> list[tuple[int, float]]:
    found = desk.recall(QUESTION, superseded=True, k=50).found
    return [(f.note.id, round(f.score, 6)) for f in found]


def fill(desk: Desk) -> None:
    for number in range(12):
        desk.remember(f"The service number {number} listens on port {8000 + number}.")
    desk.act("supersede", 3, by="4")
    desk.act("revoke", 5, reason="measured otherwise")


@pytest.mark.parametrize("loss", ["nothing", "words", "everything", "half a file"])
def test_a_lost_or_harmed_index_is_made_anew_with_equal_answers(tmp_path: Path, loss: str) -> None:
    """Deleted, cut off or left behind by a killed daemon: the same question gets the same notes with the same scores."""
    desk = opened(tmp_path)
    desk.daemon.parts.search.load_model()
    fill(desk)
    desk.daemon.parts.search.embed_waiting(lambda: False)
    before = answers(desk)
    desk.close()
    index = tmp_path / "home" / "index"
    if loss == "everything":
        shutil.rmtree(index)
    elif loss == "words":
        shutil.rmtree(index / "words")
    elif loss == "half a file":
        for path in [p for p in index.rglob("*") if p.is_file()]:
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    again = opened(tmp_path)
    again.daemon.parts.search.load_model()
    assert answers(again) == before
    assert len(before) == 12
    again.close()


def test_what_a_killed_daemon_had_not_flushed_is_said_again(tmp_path: Path) -> None:
    """Notes, moves and tombstones after the last commit of the index are found at the next start."""
    desk = opened(tmp_path)
    desk.remember("The service listens on port 1.")
    desk.close()
    desk = opened(tmp_path)
    fill(desk)
    abandoned(desk)
    again = opened(tmp_path)
    ids = {f.note.id for f in again.recall(QUESTION, k=50).found}
    assert 2 in ids
    assert 3 not in ids  # superseded: in the cold index only
    assert {f.note.id for f in again.recall(QUESTION, k=50, superseded=True).found} >= {2, 3, 5}
    again.close()


def test_reindex_changes_no_answer(tmp_path: Path) -> None:
    """Folds, words and vectors anew, also computed again, give the same notes and scores."""
    desk = opened(tmp_path)
    desk.daemon.parts.search.load_model()
    fill(desk)
    desk.daemon.parts.search.embed_waiting(lambda: False)
    before = answers(desk)
    for embed in (False, True):
        report = desk.ask(api.Reindex(embed=embed))
        assert (report.notes, report.vectors) == (12, 12)
        assert answers(desk) == before
    desk.close()


def test_a_note_is_found_before_any_index_is_in(tmp_path: Path) -> None:
    """What is written while the indexes load is there once they are; a recall before that finds nothing and harms nothing."""
    desk = opened(tmp_path)
    search = desk.daemon.parts.search
    search._words = search._vectors = search._table = None
    made = desk.remember("The service listens on port 7.")
    assert desk.recall(QUESTION).found == []
    search.load_words()
    assert [f.note.id for f in desk.recall(QUESTION).found] == [made.id]
    desk.close()


def test_words_are_committed_although_vectors_still_wait(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """An import writes faster than vectors come: what every search looks through word by word must not grow meanwhile."""
    monkeypatch.setattr(limits, "WORDS_PENDING_MAX", 3)
    search = desk.daemon.parts.search
    search.load_model()
    for number in range(5):
        desk.remember(f"The service number {number} listens on port {8000 + number}.")
    assert search.embed_waiting(search._is_interrupted) == 0
    search._flush_words()
    assert search.embed_waiting(search._is_interrupted) == 5


def test_a_reindex_with_embed_computes_every_vector_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of notes whose vector is stored: that is what the flag is for."""
    search = desk.daemon.parts.search
    fill(desk)
    asked: list[str] = []

    class Counting:
        def embed(self, text: str) -> Any:
            asked.append(text)
            return search.table_vector(text)

    monkeypatch.setattr(search, "_embedder", Counting())
    search.embed_waiting(lambda: False)
    first, asked[:] = sorted(asked), []
    assert desk.ask(api.Reindex(embed=True)).vectors == 12
    assert sorted(asked) == first
    asked.clear()
    desk.ask(api.Reindex())
    assert asked == []


def test_an_explicit_question_waits_for_the_words(tmp_path: Path) -> None:
    """While the index loads, a recall is not told "nothing", and a revoked belief is not recorded again unnoticed."""
    desk = opened(tmp_path)
    made = desk.remember("The service listens on port 7.")
    desk.act("revoke", made.id, reason="it is 8")
    desk.close()
    again = opened(tmp_path)
    search = again.daemon.parts.search
    search._words = search._vectors = None
    search._words_in.clear()
    may_load, load = threading.Event(), search.load_words

    def load_when_told() -> None:
        may_load.wait(60)
        load()

    search.load_words = load_when_told  # type: ignore[method-assign]
    search.begin()
    with ThreadPoolExecutor(2) as pool:
        asked = pool.submit(again.recall, QUESTION)
        written = pool.submit(again.remember, "The service listens on port 7.")
        may_load.set()
        assert [f.note.id for f in asked.result(60).found] == [made.id]
        with pytest.raises(errors.KnownMistake):
            written.result(60)
    again.close()


def test_ten_thousand_letters_cost_no_square() -> None:
    """A pasted sequence is one term, judged by its beginning; counted by the characters that the judge is given."""
    assert terms_of("A" * 100_000).identifiers == frozenset()
    assert len(terms_of("ab1" * 100_000).exact) <= 4
