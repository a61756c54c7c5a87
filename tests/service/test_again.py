"""Saving twice is saving once: what would add nothing is not recorded, and whatever would add something is."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memd_client import api
from memd_daemon import limits
from memd_daemon.frames.told import stands_already
from memd_daemon.frames.tools import recorded
from tests.service.desk import Desk
from tests.service.test_acts import commits, events
from tests.service.test_people import Person
from tests.service.test_same import said_in


@pytest.fixture
def person(desk: Desk) -> Person:
    return Person(desk)


CLAIM = "The zulu thing is kept in zulu.cfg"


def test_a_claim_that_stands_is_not_recorded_again(desk: Desk) -> None:
    """The same note is named, nothing is in the log, and blanks around it or its Unicode form make no other claim."""
    first = desk.remember("Café: " + CLAIM)
    before = commits(desk)
    for content in ("Café: " + CLAIM, f"  Cafe\u0301: {CLAIM}\n"):
        again = desk.remember(content)
        assert (again.id, again.uid, again.kept, again.near) == (first.id, first.uid, True, [])
        assert again.told == [f"note [{first.id}] says this already, word for word: nothing was recorded"]
    assert not first.kept
    assert (commits(desk), events(desk, first.id)) == (before, ["recorded"])


@pytest.mark.parametrize(
    "more",
    [
        {"kind": "decision"},
        {"priority": "high"},
        {"source": "document:https://example.org/zulu"},
        {"tags": ["zulu"]},
        {"anchors": ["README.md"]},
        {"process": True},
        {"derived_from": ["1"]},
        {"same_as": "1"},
        {"supersedes": "1"},
        {"contradicts": "1", "reason": "it was measured"},
    ],
    ids=lambda more: next(iter(more)),
)
def test_what_says_more_is_recorded(desk: Desk, more: dict[str, Any]) -> None:
    """Another kind, place, source or ground, or a word about another note."""
    (desk.repo / "README.md").write_text("read me\n")
    first = desk.remember(CLAIM)
    again = desk.remember(CLAIM, **more)
    assert (again.id != first.id, again.kept) == (True, False)


def test_a_higher_class_is_recorded_and_a_lower_one_is_not(desk: Desk, person: Person) -> None:
    """An agent's word for what was auto-captured is more; auto for what an agent said, or a person endorsed, is not."""
    auto = desk.remember(CLAIM, provenance="auto")
    agent = desk.remember(CLAIM)
    assert agent.id != auto.id
    assert desk.remember(CLAIM).id == agent.id
    ruled = person.rule("Use the zulu file.", kind="finding")
    assert (desk.remember("Use the zulu file.").id, desk.remember("Use the zulu file.").kept) == (ruled, True)
    assert not desk.remember("Use the zulu file.", endorse=True).kept  # a plan, which a person may sign or not


@pytest.mark.parametrize("fall", ["archive", "supersede", "amended", "changed file"])
def test_what_does_not_stand_as_it_did_is_recorded_anew(desk: Desk, fall: str) -> None:
    """Out of the working set, with another priority, or about a file that says something else now."""
    (desk.repo / "zulu.cfg").write_text("a\n")
    first = desk.remember(CLAIM, anchors=["zulu.cfg"])
    if fall == "archive":
        desk.act("archive", first.id, reason="no use")
    elif fall == "supersede":
        desk.act("supersede", first.id, by=str(desk.remember("The zulu thing moved to the database.").id))
    elif fall == "amended":
        desk.act("amend", first.id, priority="high")
    else:
        (desk.repo / "zulu.cfg").write_text("b\n")
    again = desk.remember(CLAIM, anchors=["zulu.cfg"])
    assert (again.id != first.id, again.kept) == (True, False)


def test_a_closed_task_may_be_set_again(desk: Desk) -> None:
    """The same thing to be done is done twice."""
    first = desk.remember("Renew the certificate.", kind="task")
    assert desk.remember("Renew the certificate.", kind="task").id == first.id
    desk.act("done", first.id)
    assert desk.remember("Renew the certificate.", kind="task").id != first.id


@pytest.mark.parametrize("known", [limits.SAID_KNOWN_MAX, 1])
def test_it_is_known_after_a_restart_and_behind_many_others(
    tmp_path: Path, desk: Desk, monkeypatch: pytest.MonkeyPatch, known: int
) -> None:
    """What is not among the last notes is found by the word index."""
    monkeypatch.setattr(limits, "SAID_KNOWN_MAX", known)
    first = desk.remember(CLAIM)
    for number in range(3):
        desk.remember(f"The service number {number} listens on port {8000 + number}.")
    desk.close()
    again = Desk(desk.home, desk.repo)
    assert again.remember(CLAIM).id == first.id
    again.close()


def test_two_writers_at_once_make_one_note(desk: Desk) -> None:
    """Whatever either of them saw before its turn came: the write of the second finds the note of the first."""
    ready = threading.Barrier(8)

    def write(_: int) -> api.Remembered:
        ready.wait()
        return desk.remember(CLAIM)

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(write, range(8)))
    assert len({one.id for one in told}) == 1
    assert [one.kept for one in told].count(False) == 1
    assert desk.ask(api.Status()).store["notes"] == 1


def test_another_session_is_told_how_to_count(desk: Desk) -> None:
    """Its word may be a second one: `same_as` says so, and memd does not guess it."""
    desk.start("s1")
    desk.start("s2")
    first = said_in(desk, "s1", CLAIM)
    assert said_in(desk, "s1", CLAIM).told == [
        f"note [{first.id}] says this already, word for word: nothing was recorded"
    ]
    told = said_in(desk, "s2", CLAIM)
    assert (told.id, told.told[1:]) == (first.id, [f"if you came to it by yourself, say so: same_as=[{first.id}]"])
    assert not said_in(desk, "s2", CLAIM, same_as=str(first.id)).kept
    assert events(desk, first.id).count("corroborated") == 1


def test_a_kept_note_reads_as_one() -> None:
    """The tool's answer: no word of a recording, none of what is near."""
    told = recorded(7, [], [], [], [stands_already(7)], kept=True)
    assert told == "[7] as it was\nnote [7] says this already, word for word: nothing was recorded"
