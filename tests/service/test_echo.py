"""memd's own blocks make no statement, no note's source and no support."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memd_client import api
from memd_daemon.model.words import Attestation
from tests.service.copying import say
from tests.service.desk import Desk, desk_at

RULE = "Every branch is reviewed by two people before it is merged into the trunk."


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with desk_at(tmp_path) as opened:
        opened.start("s1")
        yield opened


def env(session: str) -> dict[str, str]:
    return {"CLAUDE_CODE_SESSION_ID": session}


def block(content: str = RULE) -> str:
    opening = "memd: 1 note of unendorsed memory: verify against the code before relying on it."
    return f"{opening}\n[1] [agent, inferred] Recorded 2026-03-04: {content}\nmemd: end."


def shown(desk: Desk, id_: int) -> api.NoteOut:
    return desk.ask(api.Show(ref=str(id_), cwd=str(desk.repo))).note


def test_a_typed_prompt_with_a_block_states_nothing_of_it(desk: Desk) -> None:
    """The turn is kept as it was said; the block's words are not the user's."""
    say(desk, f"Use tabs in the parser.\n\n{block()}")
    note = shown(desk, desk.remember(RULE, env=env("s1"), kind="directive").id)
    assert (note.source.type, note.evidence) == ("inference", [])
    own = shown(desk, desk.remember("Use tabs in the parser.", env=env("s1"), kind="directive").id)
    assert own.source.type == "user"


def test_a_block_in_a_prompt_is_shown_to_its_session(desk: Desk) -> None:
    """Who says again what was pasted to it is an echo, though no hook ever told it."""
    first = desk.remember(RULE, env=env("s1")).id
    desk.start("s2")
    say(desk, block(), session="s2")
    told = desk.remember(f"{RULE} Always.", env=env("s2"), same_as=str(first)).told
    assert any("count nothing, since this session was shown" in line for line in told), told
    assert "corroborated" not in [one.type for one in desk.ask(api.Log(ref=str(first))).events]


def test_who_was_not_shown_it_counts(desk: Desk) -> None:
    """The same words as a person's own make no echo of a session."""
    first = desk.remember(RULE, env=env("s1")).id
    desk.start("s2")
    say(desk, "How is this done here?", session="s2")
    desk.remember(f"{RULE} Always.", env=env("s2"), same_as=str(first))
    assert "corroborated" in [one.type for one in desk.ask(api.Log(ref=str(first))).events]


def test_a_note_that_copies_a_delivered_one_is_derived_from_it(desk: Desk) -> None:
    """It is no new support, whoever says so."""
    first = desk.remember(RULE, env=env("s1"), kind="directive").id
    desk.start("s2")
    made = desk.remember(f"In this project: {RULE}", env=env("s2"))
    assert f"derived from: [{first}]" in desk.ask(api.Show(ref=str(made.id), cwd=str(desk.repo))).text
    told = desk.remember(f"{RULE} Always.", env=env("s2"), same_as=str(first)).told
    assert any("count nothing, since this session was shown" in line for line in told), told


def test_a_block_is_no_evidence_by_name(desk: Desk) -> None:
    """Binding an excerpt of it marks nothing as the user's."""
    say(desk, block(), Attestation.TYPED)
    turn = desk.ask(api.Turns()).turns[0].turn
    made = desk.remember(RULE, env=env("s1"), evidence=[(turn, RULE)])
    assert "User-stated" not in desk.ask(api.Show(ref=str(made.id), cwd=str(desk.repo))).text
