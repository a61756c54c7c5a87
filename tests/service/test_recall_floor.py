"""A recall gives what bears on the question, and where nothing does it says so (docs/delivery.md, "A recall")."""

import pytest

from memd_daemon import limits
from memd_daemon.frames.recall import left_out, nothing_bears
from memd_daemon.service.bearing import FULL, TABLE, Far, Floors, far_of
from memd_daemon.service.lookup import Hit
from tests.service.desk import Desk

NOTES = (
    "The importer retries three times on a locked database.",
    "The resolver keeps its lock in the state folder.",
    "Releases happen on the first Tuesday of each month.",
    "The web server listens on port 8080 in development.",
    "Tests run with the project's own virtual environment.",
    "The cache lives in tmpfs and is lost at a reboot.",
)
NOTHING = "memd: no notes here bear on that: ask in other words"
BELOW = 1e-6
FLOOR, NEAREST = 0.1, 0.2


@pytest.fixture
def told(desk: Desk) -> Desk:
    """Six notes with their vectors, and the model in."""
    desk.daemon.parts.search.load_model()
    for content in NOTES:
        desk.remember(content)
    desk.daemon.parts.search.embed_waiting(lambda: False)
    return desk


def hit(id_: int, cosine: float | None, *, lexical: float = 0.0) -> Hit:
    return Hit(id=id_, relevance=0.5, lexical=lexical, cosine=cosine)


@pytest.mark.parametrize(
    ("hits", "far"),
    [
        ([], []),
        ([hit(1, NEAREST)], []),
        ([hit(1, NEAREST - BELOW)], [1]),
        ([hit(1, NEAREST), hit(2, FLOOR)], []),
        ([hit(1, NEAREST), hit(2, FLOOR - BELOW)], [2]),
        ([hit(1, FLOOR, lexical=1.0), hit(2, FLOOR)], []),  # who shares a word opens the question to what is near it
        ([hit(1, -1.0, lexical=BELOW), hit(2, FLOOR - BELOW)], [2]),
        ([hit(1, None, lexical=0.3)], []),  # its vector is not in yet
        ([hit(1, 0.0), hit(2, 0.15), hit(3, 0.05), hit(4, 0.15)], [2, 4, 3, 1]),
    ],
)
def test_a_floor_for_each_and_one_for_the_nearest(hits: list[Hit], far: list[int]) -> None:
    """A word in common passes at any distance; the others are told the nearest first."""
    assert [one.id for one in far_of(hits, Floors(FLOOR, NEAREST))] == far


def test_each_is_told_by_the_floor_that_it_is_under() -> None:
    """The same note: too far by itself, or with every other."""
    floors = Floors(FLOOR, NEAREST)
    assert far_of([hit(1, 0.05), hit(2, 0.3)], floors) == [Far(1, 0.05, FLOOR, "below-floor")]
    assert far_of([hit(1, 0.05)], floors) == [Far(1, 0.05, NEAREST, "none-near")]


def test_the_floors_stand_in_their_order() -> None:
    """The token table's cosines are lower; the nearest has to be nearer than what comes beside it; and neither is a gate."""
    assert TABLE.note <= FULL.note < FULL.nearest < limits.GATE_WORDS_COSINE
    assert TABLE.note < TABLE.nearest <= FULL.nearest


@pytest.mark.parametrize("question", ["zzzz qqqq", "how far is the moon", "capital of Mongolia"])
def test_a_question_that_nothing_bears_on_brings_nothing(told: Desk, question: str) -> None:
    """And the answer says so, says what to do, and names three of those that came nearest."""
    reply = told.recall(question)
    assert reply.found == []
    first, last, end = reply.text.split("\n")
    assert first.startswith(NOTHING)
    assert first.endswith(" (show tells one).")
    assert first.count("[") == limits.RECALL_NAMED_MAX
    assert (last, end) == ("memd: end.", "")
    assert ", ".join(f"[{one.id}]" for one in reply.left_out[: limits.RECALL_NAMED_MAX]) in first
    assert {one.rule for one in reply.left_out} == {"none-near"}
    assert len(reply.left_out) == len(NOTES)


@pytest.mark.parametrize(
    ("question", "note"),
    [
        ("when do releases happen?", 3),
        ("8080", 4),
        ("how often does the import try again when sqlite is busy?", 1),
        ("what is gone after the machine restarts?", 6),
    ],
)
def test_what_bears_on_it_comes(told: Desk, question: str, note: int) -> None:
    """By a word, or by its meaning alone; first, and what says nothing of it is left out with the reason."""
    reply = told.recall(question)
    assert reply.found[0].note.id == note
    assert NOTHING not in reply.text
    assert len(reply.found) + len(reply.left_out) == len(NOTES)
    assert reply.left_out
    floor = f"{FULL.note:.2f}"
    assert all(one.rule == "below-floor" and one.says.endswith(f"is below {floor}") for one in reply.left_out)


def test_a_question_by_the_token_table_has_floors_too(desk: Desk) -> None:
    """While the model is not in, its vectors' cosines are held against their own."""
    desk.daemon.parts.search.load_model()
    for content in NOTES:
        desk.remember(content)
    desk.daemon.parts.search.embed_waiting(lambda: False)
    desk.daemon.parts.search._embedder = None
    reply = desk.recall("capital of Mongolia")
    assert (reply.vectors, reply.found) == ("table", [])
    assert all(f"{TABLE.nearest:.2f}" in one.says for one in reply.left_out)
    assert desk.recall("when do releases happen?").found[0].note.id == 3


def test_a_store_without_notes_says_that(desk: Desk) -> None:
    """Nothing was left out, so nothing is named."""
    reply = desk.recall("anything")
    assert (reply.text, reply.left_out) == ("memd: no notes here.\nmemd: end.\n", [])


def test_notes_that_cannot_be_compared_are_not_denied(desk: Desk) -> None:
    """Before any vector is in, and where there is none of the kind: notes are here, and none is near enough to be named."""
    desk.remember(NOTES[0])
    said = f"{NOTHING}.\nmemd: end.\n"
    assert desk.recall("zzzz qqqq").text == said
    assert desk.recall(NOTES[0], kind="task").text == said


def test_the_words_of_an_answer_that_has_nothing() -> None:
    """Letter for letter."""
    assert nothing_bears([51, 60]) == f"{NOTHING}; nearest [51], [60] (show tells one).\nmemd: end."
    assert left_out("below-floor", 0.081, 0.12) == (
        "no word in common with the question, and a cosine of 0.08 is below 0.12"
    )
    assert left_out("none-near", 0.2, 0.25) == (
        "no note has a word in common with the question or is near it: a cosine of 0.20 is below 0.25"
    )


def test_another_kind_is_neither_given_nor_left_out(told: Desk) -> None:
    """Whether one of a kind bears on the question is asked of that kind."""
    task = told.remember("Write the release notes for Tuesday.", kind="task").id
    told.daemon.parts.search.embed_waiting(lambda: False)
    assert [one.note.id for one in told.recall("when do releases happen?", kind="task").found] == [task]
    reply = told.recall("zzzz qqqq", kind="task")
    assert [one.id for one in reply.left_out] == [task]


def test_a_tombstone_bears_on_what_would_have_found_the_mistake(told: Desk) -> None:
    """A revoked note comes as its tombstone by the words it had."""
    told.act("revoke", 4, reason="it is 9090")
    assert told.recall("which port does the web server listen on?").found[0].note.tombstone
    assert told.recall("zzzz qqqq").found == []
