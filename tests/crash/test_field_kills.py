"""What the field saw happen to others' memories when a process was killed, done to memd: AT9 and AT10.

AT9's other half, the thousand kills, is test_daemon_kills.py; a usearch index is made here far below its usual size.
"""

import os
import random
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from memd_client import Memd, api
from memd_client.memd import MemdError, Refused, Unreachable
from memd_daemon import limits
from memd_daemon.index.embed import Embedder
from memd_daemon.store.lmdb_log import open_store
from tests.cli.world import World
from tests.crash.seeds import SEED
from tests.crash.test_daemon_kills import Place
from tests.daemon.test_lifecycle import end, reached, spawn
from tests.service import corpus
from tests.service.desk import Desk

WRITERS: Final = 8
NOTES: Final = 160
SMALL_SCOPE: Final = 40  # in place of limits.EXACT_MAX_NOTES
TOP: Final = 10
QUERIES: Final = tuple(question for question, _ in corpus.ON_TOPIC[:12])
KEPT: Final = 0.97  # of the ten nearest of twelve questions, by another graph
SIZE_BAR: Final = 1.2


class Killed:
    """A home that eight writers filled until its daemon was killed; ``told``: id -> text of each answer."""

    def __init__(self) -> None:
        self.world, self.told = World(), dict[int, str]()
        texts = [note.content for note in corpus.notes() if note.kind == "finding"][:NOTES]
        process = spawn(self.world.home)
        try:
            pid = reached(self.world.home, process).pid
            writers = [threading.Thread(target=self._write, args=(texts[n::WRITERS], pid)) for n in range(WRITERS)]
            for writer in writers:
                writer.start()
            for writer in writers:
                writer.join()
        finally:
            end(process)

    def _write(self, texts: list[str], pid: int) -> None:
        """One writer; whoever is told of the 140th note kills the daemon under the others."""
        with self.world.client(starts=False) as memd:
            for text in texts:
                try:
                    self.told[memd.remember(text).id] = text
                except Unreachable:
                    return
                if len(self.told) == NOTES - 20:
                    os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def killed() -> Iterator[Killed]:
    made = Killed()
    yield made
    made.world.close()


def test_at9_what_eight_writers_were_told_is_there_and_no_more_than_they_sent(killed: Killed) -> None:
    """AT9: acknowledged notes are stored notes, each once; what was under way is whole or not there."""
    sent = {note.content for note in corpus.notes()}
    store = open_store(killed.world.home)
    try:
        with store.read() as snapshot:
            stored = {id_: snapshot.text(note.shown.content) or "" for id_, note in snapshot.notes()}
    finally:
        store.close()
    assert len(killed.told) >= NOTES - 20
    assert killed.told.items() <= stored.items()
    assert len(set(stored.values())) == len(stored)
    assert set(stored.values()) <= sent


class Found(NamedTuple):
    """What one question finds, best first: notes of a recall, notes by words alone, vectors alone."""

    recalled: list[int]
    words: list[int]
    vectors: list[int]


def kept(before: list[list[int]], after: list[list[int]]) -> float:
    """Which share of what was found is found."""
    same = sum(len(set(old) & set(new)) for old, new in zip(before, after, strict=True))
    return same / sum(map(len, before))


class Finder:
    """Opens the home as a daemon does, with one model for all times, and asks the same questions."""

    def __init__(self, world: World) -> None:
        self._world, self._model = world, Embedder()
        self._model.load()
        self.index = world.home / "index"

    def open(self) -> Desk:
        desk = Desk(self._world.home, self._world.repository)
        desk.daemon.parts.search._embedder = self._model
        return desk

    def found(self) -> list[Found]:
        """With the indexes as they lie there."""
        desk = self.open()
        with desk.daemon.parts.store.read() as snapshot:
            scopes = sorted({note.scope for _, note in snapshot.notes()})
        answers = [self._answer(desk, scopes, query) for query in QUERIES]
        close(desk)
        return answers

    def _answer(self, desk: Desk, scopes: list[str], query: str) -> Found:
        search = desk.daemon.parts.search
        assert search._words is not None
        assert search._vectors is not None
        return Found(
            [found.note.id for found in desk.recall(query, k=TOP).found],
            [id_ for id_, _ in search._words.search(query, scopes, TOP)],
            [key for key, _ in search._vectors.search(scopes, self._model.embed(query), TOP)],
        )


def close(desk: Desk) -> None:
    """As a kill does it: nothing is saved. LMDB has to be let go of, since it is opened once in a process."""
    parts = desk.daemon.parts
    parts.search._flush_words = parts.search._save_vectors = lambda: None
    desk.close()


def _deleted(file: Path, chance: random.Random) -> None:
    file.unlink()


def _cut(file: Path, chance: random.Random) -> None:
    os.truncate(file, chance.randrange(file.stat().st_size))


def _emptied(file: Path, chance: random.Random) -> None:
    os.truncate(file, 0)


def _flipped(file: Path, chance: random.Random) -> None:
    held = bytearray(file.read_bytes())
    held[chance.randrange(len(held))] ^= 1 << chance.randrange(8)
    file.write_bytes(held)


def _foreign(file: Path, chance: random.Random) -> None:
    file.write_bytes(chance.randbytes(file.stat().st_size))


HARMS: Final[tuple[Callable[[Path, random.Random], None], ...]] = (_deleted, _cut, _emptied, _flipped, _foreign)


@pytest.mark.parametrize("kind", ["exact", "usearch"])
def test_at9_indexes_that_were_harmed_find_what_they_found(
    killed: Killed, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AT9: every file of the indexes deleted, cut, emptied, flipped or exchanged: made anew from the log, the same top ten.

    A scope of up to 10,000 notes is compared with whole, and finds the very same in the very same order. usearch looks at a part of
    a larger one; what it does not find by one graph it may by another.
    """
    monkeypatch.setattr(limits, "EXACT_MAX_NOTES", SMALL_SCOPE if kind == "usearch" else NOTES)
    finder, chance = Finder(killed.world), random.Random(SEED)
    shutil.rmtree(finder.index)
    desk = finder.open()
    desk.daemon.parts.search.embed_waiting(lambda: False)
    desk.close()
    assert f'"{kind}"'.encode() in (finder.index / "vectors" / "scopes.json").read_bytes()
    before = finder.found()
    assert all(len(found.vectors) == TOP for found in before)
    assert sum(len(found.recalled) for found in before) > TOP
    files = sorted(file.relative_to(finder.index) for file in finder.index.rglob("*") if file.is_file())
    harmed = [file for file in files if (finder.index / file).stat().st_size]
    assert {file.parts[0] for file in harmed} == {"vectors", "words"}
    for number, file in enumerate(harmed):
        harm = HARMS[(number + (kind == "exact")) % len(HARMS)]
        here = finder.index / file
        if here.exists():  # an index that was made anew has files of other names
            harm(here, chance)
        after = finder.found()
        told = f"seed {SEED}: {file} {harm.__name__}"
        if kind == "exact":
            assert after == before, told
        assert [found.words for found in after] == [found.words for found in before], told
        assert kept([found.vectors for found in before], [found.vectors for found in after]) >= KEPT, told
        assert kept([found.recalled for found in before], [found.recalled for found in after]) >= KEPT, told


def test_at9_the_files_take_no_more_of_the_disk_than_they_hold(killed: Killed) -> None:
    """AT9: blocks of the disk to bytes of the files, both ways: nothing is kept for nothing, and no file only seems to be large.

    Of every file of the home that is larger than a block of the disk; the others are rounded up to one by the file system.
    """
    seen = [file.stat() for file in killed.world.home.rglob("*") if file.is_file() and not file.is_symlink()]
    large = [one for one in seen if one.st_size > one.st_blksize]
    allocated, logical = sum(one.st_blocks * 512 for one in large), sum(one.st_size for one in large)
    assert logical > 100_000
    assert 1 / SIZE_BAR < allocated / logical < SIZE_BAR


# --- AT10


def test_at10_what_was_acknowledged_is_there_though_the_kill_came_at_once() -> None:
    """AT10: the answer, SIGKILL with nothing between, a new daemon: the note is there. Once for each kind of write."""
    place = Place(SEED)
    id_ = 0
    writes: tuple[Callable[[Memd], Any], ...] = (
        lambda memd: memd.remember("The lane lock is taken by address."),
        lambda memd: memd.remember("The lane lock is taken by name.", contradicts=str(id_), reason="measured"),
        lambda memd: memd.act("revoke", str(id_), reason="wrong after all"),
    )
    try:
        for write in writes:
            process = spawn(place.world.home)
            pid = reached(place.world.home, process).pid
            with place.client() as memd:
                answer = write(memd)
                os.kill(pid, signal.SIGKILL)
            end(process)
            process = spawn(place.world.home)
            reached(place.world.home, process)
            with place.client() as memd:
                shown = memd.show(str(answer.id)).note
                assert shown.state.belief == ("revoked" if isinstance(answer, api.Acted) else "held")
                assert memd.verify().faults == []
            end(process)
            id_ = answer.id
    finally:
        place.world.close()


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    made = Place(SEED)
    process = spawn(made.world.home)
    reached(made.world.home, process)
    yield made
    end(process)
    made.world.close()


def at_once(place: Place, *asks: Callable[[Memd], Any]) -> list[Any]:
    """What clients of their own are answered, or refused with, that ask in the same moment."""
    answers: list[Any] = [None] * len(asks)
    ready = threading.Barrier(len(asks))

    def ask(number: int) -> None:
        with place.client() as memd:
            memd.ping()
            ready.wait()
            try:
                answers[number] = asks[number](memd)
            except MemdError as refusal:
                answers[number] = refusal

    clients = [threading.Thread(target=ask, args=(number,)) for number in range(len(asks))]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    return answers


def test_at10_two_corrections_of_one_note_are_both_kept_and_told(place: Place) -> None:
    """AT10: each is a note that names the old one as what it corrects; who came second is told that another had come first."""
    with place.client() as memd:
        old = memd.remember("The worker pool has eight threads.").id
        new = at_once(
            place,
            lambda one: one.remember("The pool holds twelve.", contradicts=str(old), reason="counted"),
            lambda other: other.remember("Workers became processes in May.", contradicts=str(old), reason="read"),
        )
        assert sorted(len(one.told) for one in new) == [0, 1]
        assert f"note [{old}] was revoked already" in (new[0].told + new[1].told)[0]
        shown = [memd.show(str(one.id)) for one in new]
        assert all(one.note.state.belief == "held" and f"corrects: [{old}]" in one.text for one in shown)
        assert memd.show(str(old)).note.state.belief == "revoked"
        assert memd.verify().faults == []


def test_at10_two_edits_of_an_endorsed_note_stand_in_conflict_with_it(place: Place) -> None:
    """AT10: a person's note keeps its words; both claims are recorded beside it, and the conflict with each is shown."""
    with place.client() as memd:
        plan = memd.remember("Deploys go out on Tuesdays.", endorse=True).plan
        assert plan is not None
        old = memd.seal(plan.token, place.person.signatures(plan)).id
        new = at_once(
            place,
            lambda one: one.remember("Deploys go out on Mondays.", supersedes=str(old), reason="moved"),
            lambda other: other.remember("Deploys go out every day.", contradicts=str(old), reason="seen"),
        )
        shown = memd.show(str(old))
        assert shown.note.state.belief == "held"
        assert sorted(shown.note.conflicts) == sorted(one.id for one in new)
        assert "in conflict with" in shown.text
        assert all(f"[{one.id}]" in shown.text for one in new)
        assert memd.verify().faults == []


def test_at10_of_two_revisions_of_one_text_the_second_is_told(place: Place) -> None:
    """AT10: who says which revision he read is refused where another came first, with its number; nothing of the first is lost."""
    with place.client() as memd:
        atom = memd.remember("Tokens were accepted an hour late.").id
        made = memd.remember(
            "Check a token's time.", level="principle", slug="token-time", sources=[str(atom)], why="seen"
        )
        answers = at_once(
            place,
            *(
                lambda one, word=word: one.act(
                    "revise", str(made.id), text=f"Check a token's time {word}.", reason=word, expected_revision=1
                )
                for word in ("twice", "always")
            ),
        )
        refused = [answer for answer in answers if isinstance(answer, Refused)]
        assert [refusal.code for refusal in refused] == ["revision-moved"]
        shown = memd.show(str(made.id)).note
        won = ("twice", "always")[not isinstance(answers[0], api.Acted)]
        assert (shown.revision_count, shown.content) == (2, f"Check a token's time {won}.")
