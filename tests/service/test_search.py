"""The derived indexes: at any time behind the store, never in front of it, and made anew from it."""

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memd_client import api
from memd_daemon import errors, limits
from memd_daemon.index.terms import terms_of
from memd_daemon.model.ids import uid_from_text
from memd_daemon.service.recall import weighed
from tests.service.desk import Desk, make_repo
from tests.service.test_people import Person

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
    words = again.daemon.parts.search._words
    assert words is not None
    assert words.pending == 0  # all of it is committed, none is said once more
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


def test_a_note_just_written_comes_before_an_endorsed_one_that_says_nothing_of_it(desk: Desk) -> None:
    """Before its vector is in as after: nothing that is merely there is made relevant by being alone with its vector."""
    search = desk.daemon.parts.search
    search.load_model()
    Person(desk).rule("Never commit to main.")
    search.embed_waiting(lambda: False)
    made = desk.remember("The zulu thing is kept in zulu.cfg")
    for _ in range(2):
        first, *rest = desk.recall("zulu thing").found
        assert first.note.id == made.id
        assert all(other.factors["relevance"] < 0.1 for other in rest)
        search.embed_waiting(lambda: False)


def test_a_recall_waits_for_the_vector_of_what_was_written_just_now(tmp_path: Path) -> None:
    """With the index thread at work: a note that no word of the question names is there at once, by its meaning."""
    desk = opened(tmp_path)
    search = desk.daemon.parts.search
    search.begin()
    desk.remember("The lorry is repainted every spring.")
    desk.recall("x")  # the model is in, or on its way
    made = desk.remember("Unhappy customers get their money returned.")
    (first, *_) = desk.recall("refund policy for complaints").found
    assert (first.note.id, first.factors["cosine"] > 0) == (made.id, True)
    desk.close()


@pytest.mark.parametrize("why", ["nobody embeds", "a long queue", "trouble"])
def test_a_recall_waits_for_no_vector_that_will_not_come_soon(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    """No index thread, an import's queue, a full disk: it answers with what is in."""
    monkeypatch.setattr(limits, "RECALL_QUEUE_NOTES_MAX", 0 if why == "a long queue" else 16)
    search = desk.daemon.parts.search
    search.load_model()
    desk.remember("The service listens on port 7.")
    ended = threading.Event()
    if why != "nobody embeds":
        search._thread = threading.Thread(target=ended.wait)
        search._thread.start()
        search.trouble = "OSError" if why == "trouble" else ""
    assert not search._is_catching_up()
    ended.set()


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
    search._are_words_current = False
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


def test_an_error_ends_no_indexing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is told in the status; with the next write it is tried again, and then nothing is wrong."""
    desk = opened(tmp_path)
    search = desk.daemon.parts.search
    tried = threading.Event()
    embed = search.embed_waiting

    def full(*_: object) -> int:
        tried.set()
        raise OSError("No space left on device")

    monkeypatch.setattr(search, "embed_waiting", full)
    search.begin()
    assert tried.wait(60)
    while not search.trouble:
        search._wake.set()
    assert any("OSError" in p["what"] for p in desk.ask(api.Status()).problems)
    monkeypatch.setattr(search, "embed_waiting", embed)
    made = desk.remember("The service listens on port 7.")
    while search.vector_count == 0:
        search._wake.set()
    assert [f.note.id for f in desk.recall(QUESTION).found] == [made.id]
    while search.trouble:
        search._wake.set()
    assert desk.ask(api.Status()).problems == []
    desk.close()


def test_a_vector_that_comes_late_lies_where_its_note_is_by_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A note that is superseded while its vector is computed is not found warm."""
    desk = opened(tmp_path)
    search = desk.daemon.parts.search
    search.load_model()
    older = desk.remember("The service listens on port 7.")
    newer = desk.remember("Ask the port of whoever deployed it.")
    embed, seen = search.embed, []

    def superseded_meanwhile(text: str) -> Any:
        if not seen:
            seen.append(text)
            desk.act("supersede", older.id, by=str(newer.id))
        return embed(text)

    monkeypatch.setattr(search, "embed", superseded_meanwhile)
    search.embed_waiting(lambda: False)
    monkeypatch.undo()
    vectors, scope = search._vectors, desk.ask(api.Show(ref=str(older.id))).note.scope
    assert vectors is not None
    vector = embed("The service listens on port 7.")
    assert older.id not in dict(vectors.search([scope], vector, 10))
    assert older.id in dict(vectors.search([f"cold {scope}"], vector, 10))
    desk.close()


def test_a_commit_that_is_recalled_wakes_the_queue(tmp_path: Path) -> None:
    """Its vector is wanted from then on, and comes without another write."""
    desk = opened(tmp_path)
    search = desk.daemon.parts.search
    desk.hook("git-commit", b"")
    desk.daemon.parts.store.write(lambda _: None)
    search._wake.clear()
    assert desk.recall("first").found
    assert search._wake.wait(60)
    desk.close()


def test_a_conflict_weighs_on_both_of_its_sides(tmp_path: Path) -> None:
    """The older loses a fifth, once a pair; the one that brought it starts at a half; a person's stands."""
    desk = opened(tmp_path)
    uids = []
    for text in ("The port is 1.", "The port is 2."):
        uids.append(uid_from_text(desk.remember(text).uid) or b"")
        desk.clock.ms += 1
    first, second = uids

    def sure(uid: bytes, *others: bytes, provenance: str = "agent") -> float:
        with desk.daemon.parts.store.read() as snapshot:
            note = snapshot.note(uid)
        assert note is not None
        last = msgspec.structs.replace(note.revisions[-1], provenance=provenance)
        note = msgspec.structs.replace(note, conflicts=others, revisions=(last,))
        return round(weighed(desk.daemon.parts, note, 1.0)[1]["confidence"], 3)

    assert (sure(first), sure(second)) == (0.7, 0.7)
    assert (sure(first, second), sure(second, first)) == (0.5, 0.5)
    assert sure(first, second, second) == 0.5
    assert (sure(second, first, provenance="auto"), sure(first, second, provenance="auto")) == (0.4, 0.2)
    assert sure(first, second, provenance="human") == sure(second, first, provenance="human") == 1.0
    desk.close()


def test_a_rules_new_wording_does_not_wait_for_the_next_note(tmp_path: Path) -> None:
    """Its vector is asked for at once: what waits unasked keeps every recall waiting for it."""
    desk = opened(tmp_path)
    atom = desk.remember("Tokens of the old gateway are five seconds ahead.")
    words: dict[str, Any] = {
        "level": "principle",
        "slug": "leeway",
        "sources": [str(atom.id)],
        "why": "it came up twice",
    }
    desk.remember("Validate tokens with five seconds of leeway.", **words)
    search = desk.daemon.parts.search
    search._wake.clear()
    desk.act("revise", "leeway", text="Validate tokens with ten seconds of leeway.", reason="five were too few")
    assert search._wake.is_set()
    desk.close()
