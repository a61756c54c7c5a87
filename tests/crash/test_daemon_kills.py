"""kill -9 of a whole daemon while clients write to it: what they were told is there, what they were not told is whole or not there.

AT9: eight writers, and daemons killed at random moments; `scripts/crash` runs the long form, a thousand. Each is killed after some
number of answers, while others are under way: the seed, which a failure names, says which.
"""

import os
import random
import shutil
import signal
import threading
import time
from dataclasses import dataclass, field
from typing import Final

import pytest

from memd_client import Memd, api
from memd_client.memd import Unreachable
from memd_daemon.store.lmdb_log import open_store
from tests.cli.world import World, end_daemons_of
from tests.crash import tally
from tests.crash.seeds import KILLS, SEED
from tests.crash.wholeness import corrected_by, is_whole
from tests.daemon.test_lifecycle import end, reached, spawn
from tests.service.desk import Desk
from tests.service.test_people import Person

WRITERS: Final = 8
COMMAND_SHARE: Final = 0.2  # of the rounds in which `memd remember --contradicts` writes along, a process of its own
FOUND: Final = 8  # notes that are asked for at the end
KILLS_OF_A_STORE: Final = 25  # then a new one, so that looking through it stays short


@dataclass
class Told:
    """What the writers were told, in all rounds: ids of notes with what became of them."""

    held: dict[int, str] = field(default_factory=dict)  # id -> content
    corrected: dict[int, int] = field(default_factory=dict)  # id -> the note that contradicts or supersedes it
    endorsed: set[int] = field(default_factory=set)
    back: set[int] = field(default_factory=set)  # revoked, then reinstated
    answers: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)

    def answered(self) -> None:
        with self.changed:
            self.answers += 1
            self.changed.notify_all()

    def wait_for(self, answers: int, writers: list[threading.Thread]) -> None:
        """Until so many answers were given, or no writer is left to get one."""
        with self.changed:
            while self.answers < answers and any(writer.is_alive() for writer in writers):
                self.changed.wait(0.1)


class Place:
    """A home with a person's key and a daemon that is killed and started again."""

    def __init__(self, seed: int) -> None:
        self.world = World()
        desk = Desk(self.world.home, self.world.repository)
        self.person = Person(desk)
        desk.close()
        self.told = Told()
        self.live: set[int] = set()  # as the store says: what nobody was told of may have taken another's place
        self.chance = random.Random(seed)

    def client(self) -> Memd:
        return self.world.client(starts=False)

    def claim(self) -> str:
        """A claim that no other is like: its marks are its own."""
        return f"queue_{os.urandom(6).hex()} drains into buffer_{os.urandom(6).hex()} before the commit"

    # what writers do, each step acknowledged before the next

    def correct(self, memd: Memd, word: str) -> None:
        """A note, another that is built on it, and the one that puts it right."""
        old = self._held(memd.remember(first := self.claim()), first)
        child = self.claim()
        self._held(memd.remember(child, derived_from=[str(old)]), child)
        new = self.claim()
        answer = memd.remember(new, reason="measured", **{word: str(old)})  # type: ignore[arg-type]  # both are texts
        self.told.corrected[old] = answer.id
        self._held(answer, new)

    def endorse(self, memd: Memd) -> None:
        """Recorded and endorsed in one commit."""
        content = self.claim()
        plan = memd.remember(content, endorse=True).plan
        assert plan is not None
        sealed = memd.seal(plan.token, self.person.signatures(plan))
        self.told.endorsed.add(sealed.id)
        self._held(sealed, content)

    def climb(self, memd: Memd) -> None:
        """auto, then agent, then human."""
        content = self.claim()
        id_ = self._held(memd.remember(content, provenance="auto"), content)
        memd.act("promote", str(id_), to="agent")
        self.told.answered()
        plan = memd.act("promote", str(id_), to="human", sign=True).plan
        assert plan is not None
        memd.seal(plan.token, self.person.signatures(plan))
        self.told.endorsed.add(id_)
        self.told.answered()

    def take_back(self, memd: Memd) -> None:
        """Revoked with something built on it, then reinstated, which clears the flag."""
        content, child = self.claim(), self.claim()
        id_ = self._held(memd.remember(content), content)
        self._held(memd.remember(child, derived_from=[str(id_)]), child)
        memd.act("revoke", str(id_), reason="thought to be wrong")
        self.told.answered()
        memd.act("reinstate", str(id_))
        self.told.back.add(id_)
        self.told.answered()

    def _held(self, answer: api.Remembered | api.Sealed, content: str) -> int:
        self.told.held[answer.id] = content
        self.told.answered()
        return answer.id

    def write(self, seed: float) -> None:
        """One writer, until the daemon is gone."""
        chance = random.Random(seed)
        acts = (lambda m: self.correct(m, "contradicts"), lambda m: self.correct(m, "supersedes"))
        with self.client() as memd:
            try:
                while True:
                    chance.choice((*acts, self.endorse, self.climb, self.take_back))(memd)
            except Unreachable:
                return

    def command(self, old: int) -> None:
        """`memd remember --contradicts`, which starts a daemon where it finds none."""
        content = self.claim()
        ran = self.world.memd("remember", content, "--contradicts", str(old), "--reason", "measured", "--json")
        assert ran.code in (0, 3), ran.err
        if ran.code == 0:
            self.told.corrected[old] = ran.json["id"]
            self.told.held[ran.json["id"]] = content

    def nearest(self, memd: Memd, ids: list[int]) -> list[int]:
        """What the indexes say is nearest to the words of each of these notes, whatever else its place in an answer depends on."""
        answers = (memd.recall(self.told.held[id_]).found for id_ in ids)
        return [max(found, key=lambda one: one.factors["relevance"]).note.id for found in answers]

    # rounds

    def round(self) -> None:
        """A daemon from its start to its kill; first it is asked what it thinks of what the last one left."""
        process = spawn(self.world.home)
        try:
            pid = reached(self.world.home, process).pid
            with self.client() as memd:
                assert memd.verify().faults == []
                content = self.claim()
                old = self._held(memd.remember(content), content)
            threads = [threading.Thread(target=self.write, args=(self.chance.random(),)) for _ in range(WRITERS)]
            with_command = self.chance.random() < COMMAND_SHARE
            threads += [threading.Thread(target=self.command, args=(old,))] if with_command else []
            for thread in threads:
                thread.start()
            self.told.wait_for(self.told.answers + self.chance.randrange(200 if with_command else 30), threads)
            os.kill(pid, signal.SIGKILL)
            for thread in threads:
                thread.join()
        finally:
            end_daemons_of(self.world.home)  # one that a command started in the dead one's place, too
            end(process)

    def look(self) -> None:
        """What was told is there; whatever else is there is whole."""
        store = open_store(self.world.home)
        try:
            with store.read() as snapshot:
                notes = dict(snapshot.notes())
                said = {id_: snapshot.text(note.shown.content) for id_, note in notes.items()}
        finally:
            store.close()
        assert sorted(notes) == list(range(1, len(notes) + 1))
        assert {id_: said.get(id_) for id_ in self.told.held} == self.told.held
        assert {old: corrected_by(notes, old) for old in self.told.corrected} == self.told.corrected
        assert {id_ for id_ in self.told.endorsed if notes[id_].provenance != "human"} == set()
        assert {id_ for id_ in self.told.back if notes[id_].revoked or notes[id_].reinstated is None} == set()
        assert [id_ for id_ in notes if not is_whole(notes, id_)] == []
        self.live = {id_ for id_, note in notes.items() if note.live}


@pytest.mark.parametrize("group", range(-(-KILLS // KILLS_OF_A_STORE)))
def test_what_a_killed_daemon_acknowledged_is_there_and_the_rest_is_whole(group: int) -> None:
    """AT9: contradictions, supersessions, endorsements, promotions and reinstatements of several clients, and the command's.

    At the end the indexes are taken away: what is nearest to each note's own words is that note, before and after.
    """
    place = Place(SEED + group)
    try:
        for _ in range(min(KILLS_OF_A_STORE, KILLS - group * KILLS_OF_A_STORE)):
            place.round()
            place.look()
            tally.counted[tally.KILLS] += 1
        tally.counted[tally.ANSWERS] += place.told.answers
        assert place.told.answers > 0
        asked = [id_ for id_ in place.told.held if id_ in place.live][-FOUND:]
        with place.world.client() as memd:
            assert memd.verify().faults == []
            memd.reindex()  # waits for every vector
            assert place.nearest(memd, asked) == asked
            memd.stop(announced=False)
        shutil.rmtree(place.world.home / "index")
        with place.world.client() as memd:
            while not memd.ping().ready:  # until then by the token table
                time.sleep(0.01)
            assert place.nearest(memd, asked) == asked
            memd.reindex()
            assert place.nearest(memd, asked) == asked
    finally:
        place.world.close()
