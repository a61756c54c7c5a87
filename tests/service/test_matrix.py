"""The table of delivery.md through a whole daemon: every kind, priority, class, state and scope at every moment of a session, what
arrives and in which order, and for what does not the rule that `memd why` names.

The budgets are out of the way here, so that one block holds all that qualifies; what they do is in test_field_cases.py.
"""

import itertools
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from memd_client import api
from memd_client.reasons import ForeseenOut
from memd_daemon.rules import WHY, situation
from memd_hooks.harness import claude
from tests.service.desk import context_of, desk_at, reason_of
from tests.service.matrix import (
    FILE,
    FILE_MOMENTS,
    KINDS,
    MOMENTS,
    OLD_FILE,
    PRIORITIES,
    SESSION,
    Cell,
    Matrix,
    kept_back_by,
    told,
)

PLENTY = 10**8
OWN_START = "post-compaction"
"""Where a session starts anew, its own notes hold, as after a compaction; `session-start` in the table is another session's."""

_turns = itertools.count()


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Matrix]:
    folder: Path = tmp_path_factory.mktemp("matrix")
    with pytest.MonkeyPatch.context() as patch, desk_at(folder) as desk:
        patch.setattr(claude, "CAP_UNITS", PLENTY)
        patch.setattr(import_module("memd_daemon.rules.pack"), "REVOKED_DIRECTIVES_MAX_TOKENS", PLENTY)
        patch.setattr(situation, "BUDGET_SUBAGENTS_TURN_TOKENS", PLENTY)
        patch.setattr(situation, "_BUDGETS", dict.fromkeys(situation._BUDGETS, PLENTY))
        yield Matrix(desk)


def arriving(matrix: Matrix, at: str, file: str = "") -> list[Cell]:
    found = [cell for cell in matrix.ids if not kept_back_by(cell, at)]
    return [cell for cell in found if not file or cell.file == file]


def newest_first(matrix: Matrix, cell: Cell) -> tuple[int, int]:
    """Priority, then newest."""
    return PRIORITIES.index(cell.priority), -matrix.ids[cell]


def begin(matrix: Matrix, source: str = "startup") -> str:
    """A new epoch of the session, a minute later; what it is told."""
    matrix.desk.clock.ms += 60_000
    return context_of(matrix.desk.start(SESSION, source))


def read(matrix: Matrix, file: str) -> str:
    return context_of(matrix.desk.read(file, SESSION, prompt_id=f"turn {next(_turns)}"))


@pytest.mark.parametrize("source", ["startup", "clear", "fork", "compact"])
def test_a_start_brings_rules_tasks_and_last_the_fallen_rules(matrix: Matrix, source: str) -> None:
    """Rules: human before agent, then priority, then newest; tasks newest first; revoked rules at the end, all in one order."""
    due = arriving(matrix, OWN_START)
    rules = [c for c in due if c.kind == "directive"]
    rules.sort(key=lambda c: (c.fallen, c.cls != "human", *newest_first(matrix, c)))
    tasks = sorted((c for c in due if c.kind == "task"), key=lambda c: -matrix.ids[c])
    fallen = [c for c in rules if c.fallen]
    wanted = [c for c in rules if not c.fallen] + tasks + fallen
    assert told(begin(matrix, source)) == [matrix.ids[c] for c in wanted]
    assert len(tasks) > 1
    assert len(fallen) > 1


def test_a_resume_brings_nothing_that_stands(matrix: Matrix) -> None:
    """What the start said stands, and `why` says so of each of its notes; another kind has other moments."""
    begin(matrix)
    assert matrix.desk.start(SESSION, "resume") == ""
    for cell, id_ in matrix.ids.items():
        if cell.priority == "high":
            rule = why(matrix, id_, "resume")[0].rule
            assert rule == (kept_back_by(cell, OWN_START) or "standing"), cell


@pytest.mark.parametrize("file", [FILE, OLD_FILE])
def test_a_read_brings_the_gotchas_of_the_file(matrix: Matrix, file: str) -> None:
    """By priority, then newest, tombstones in their place; once in the context."""
    begin(matrix)
    wanted = sorted(arriving(matrix, "read", file), key=lambda c: newest_first(matrix, c))
    assert told(read(matrix, file)) == [matrix.ids[c] for c in wanted]
    assert read(matrix, file) == ""
    assert any(c.fallen for c in wanted) == (file == FILE)


@pytest.mark.parametrize("file", [FILE, OLD_FILE])
def test_an_edit_is_held_for_the_high_ones_and_brings_the_others(matrix: Matrix, file: str) -> None:
    """The hold tells those that are high and stand; the same call again brings the rest as context, a third one nothing."""
    begin(matrix)
    due = sorted(arriving(matrix, "pre-edit", file), key=lambda c: newest_first(matrix, c))
    worth = [c for c in due if c.priority == "high" and not c.fallen]
    turn = f"turn {next(_turns)}"
    edits = [matrix.desk.edit(file, SESSION, prompt_id=turn) for _ in range(3)]
    assert told(reason_of(edits[0])) == [matrix.ids[c] for c in worth]
    assert told(context_of(edits[1])) == [matrix.ids[c] for c in due if c not in worth]
    assert edits[2] == ""


def test_a_subagent_gets_the_rules_and_the_high_gotchas_of_touched_files(matrix: Matrix) -> None:
    """In a context of its own, whatever its session was told; rules, then gotchas, then fallen rules."""
    desk = matrix.desk
    begin(matrix)
    for file in (FILE, OLD_FILE):
        read(matrix, file)
    due = arriving(matrix, "subagent-start")
    rules = [c for c in due if c.kind == "directive"]
    rules.sort(key=lambda c: (c.fallen, c.cls != "human", *newest_first(matrix, c)))
    gotchas = sorted((c for c in due if c.kind == "gotcha"), key=lambda c: newest_first(matrix, c))
    wanted = [c for c in rules if not c.fallen] + gotchas + [c for c in rules if c.fallen]
    payload = desk.payload("SubagentStart", SESSION, agent_id=f"agent {next(_turns)}", agent_type="general-purpose")
    assert told(context_of(desk.hook("subagent-start", payload))) == [matrix.ids[c] for c in wanted]
    assert gotchas


@pytest.mark.parametrize("kind", KINDS)
def test_a_prompt_about_it_brings_a_finding_alone(matrix: Matrix, kind: str) -> None:
    """Each note is asked for by a name that stands in no other; what comes beside it is due as well."""
    begin(matrix)
    due = {matrix.ids[c] for c in arriving(matrix, "prompt-submit")}
    for cell, id_ in matrix.ids.items():
        if cell.kind == kind:
            out = matrix.desk.prompt(f"tell me about {matrix.name_of(cell)}()", SESSION, f"turn {next(_turns)}")
            came = told(context_of(out))
            assert (id_ in came) == (id_ in due), cell
            assert set(came) <= due


@pytest.mark.parametrize(("event", "name"), [("stop", "Stop"), ("session-end", "SessionEnd")])
def test_nothing_is_told_at_an_end(matrix: Matrix, event: str, name: str) -> None:
    """Neither of a turn nor of a session."""
    desk = matrix.desk
    assert desk.hook(event, desk.payload(name, SESSION, reason="other")) == ""


def why(matrix: Matrix, id_: int, *at: str, prompt: str = "") -> list[ForeseenOut]:
    request = api.Why(ref=str(id_), session=SESSION, cwd=str(matrix.here), at=at, prompt=prompt)
    return matrix.desk.ask(request).foreseen


def outcome(cell: Cell, at: str) -> tuple[str, str]:
    """(what `why` foretells, by which rule)."""
    rule = kept_back_by(cell, at)
    if rule:
        return "left-out", rule
    if at != "pre-edit":
        return "arrives", ""
    return ("holds", "") if cell.priority == "high" and not cell.fallen else ("left-out", "after-the-hold")


@pytest.mark.parametrize("kind", KINDS)
def test_why_names_the_rule_of_every_cell(matrix: Matrix, kind: str) -> None:
    """At every moment, in a context that has been told its start alone; with the rule's own sentence. Nothing is recorded."""
    begin(matrix)
    for file in (FILE, OLD_FILE):
        read(matrix, file)  # so that a subagent's session has touched them
    begin(matrix)
    matrix.desk.prompt("go on", SESSION, f"turn {next(_turns)}")
    before = len(matrix.desk.ask(api.Deliveries(limit=0)).deliveries)
    moments = [at for at in MOMENTS if at != "resume"]
    for cell, id_ in matrix.ids.items():
        if cell.kind != kind:
            continue
        seen = {one.moment: one for one in why(matrix, id_, *moments, prompt=f"tell me about {matrix.name_of(cell)}()")}
        assert {at: (one.outcome, one.rule) for at, one in seen.items()} == {at: outcome(cell, at) for at in moments}, (
            cell
        )
        assert all(one.says == WHY.get(one.rule, "") for one in seen.values())
        assert all(
            one.path == (cell.anchor if kind == "gotcha" else "") for at, one in seen.items() if at in FILE_MOMENTS
        )
    assert len(matrix.desk.ask(api.Deliveries(limit=0)).deliveries) == before
