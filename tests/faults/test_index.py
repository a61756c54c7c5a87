"""An index that was made from another store than lies there now: known by its mark, and made anew."""

import shutil
from pathlib import Path

import pytest

from tests.service.desk import Desk, make_repo


def _found(desk: Desk, words: str) -> list[int]:
    with desk.daemon.parts.store.read() as snapshot:
        scopes = {note.scope for _, note in snapshot.notes()}
    return [id_ for id_, _ in desk.daemon.parts.search.by_words(words, scopes)]


def _saved(desk: Desk) -> None:
    desk.daemon.parts.search.load_model()
    desk.daemon.parts.search.rebuild(embed=False)
    desk.daemon.parts.search._flush_words()
    desk.daemon.parts.search._save_vectors()
    desk.close()


@pytest.mark.parametrize("also", [0, 1, 3], ids=["fewer commits", "as many commits", "more commits"])
def test_no_note_is_found_by_the_words_of_one_that_is_not_here(tmp_path: Path, also: int) -> None:
    """A copy of the store put back, also where it has gone on since to the same numbers with other notes."""
    make_repo(tmp_path / "repo")
    home, copy = tmp_path / "home", tmp_path / "copy"
    desk = Desk(home, tmp_path / "repo")
    desk.remember("The relay listens on port 4000.")
    _saved(desk)
    shutil.copytree(home, copy)
    if also:
        desk = Desk(copy, tmp_path / "repo")
        for number in range(also):
            desk.remember(f"The lamp number {number} is green.")
        desk.close()
    desk = Desk(home, tmp_path / "repo")
    desk.remember("The cache is written at midnight.")
    assert _found(desk, "midnight") == [2]
    _saved(desk)
    shutil.rmtree(home / "store")
    shutil.copytree(copy / "store", home / "store")
    desk = Desk(home, tmp_path / "repo")
    try:
        assert _found(desk, "midnight cache") == []
        assert _found(desk, "relay") == [1]
        assert desk.remember("The door is red.").id == 2 + also
        assert _found(desk, "door") == [2 + also]
        assert _found(desk, "midnight") == []
    finally:
        desk.close()


def test_an_index_that_is_deleted_is_made_anew_and_finds_the_same(tmp_path: Path) -> None:
    """From the log alone, vectors from the store: nothing is embedded again."""
    make_repo(tmp_path / "repo")
    desk = Desk(tmp_path / "home", tmp_path / "repo")
    for claim in ("The relay listens on port 4000.", "The cache is written at midnight.", "The queue drains in order."):
        desk.remember(claim)
    _saved(desk)
    desk = Desk(tmp_path / "home", tmp_path / "repo")
    before = desk.recall("when is the cache written?").text
    desk.close()
    shutil.rmtree(tmp_path / "home" / "index")
    desk = Desk(tmp_path / "home", tmp_path / "repo")
    try:
        assert desk.recall("when is the cache written?").text == before
        assert desk.daemon.parts.search.vector_count == 3
    finally:
        desk.close()
